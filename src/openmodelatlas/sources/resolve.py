"""From what a user writes to a pinned source."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from openmodelatlas.errors import (
    HubUnreachableError,
    SourceError,
    SourceGatedError,
    SourceNotFoundError,
    UsageError,
)
from openmodelatlas.sources.configuration import read_configuration
from openmodelatlas.sources.files import path_text
from openmodelatlas.sources.hub import hub_source
from openmodelatlas.sources.modules import factory_source, reference_source
from openmodelatlas.sources.registry import MODELS, RegisteredModel, RegisteredSource, model
from openmodelatlas.sources.repository import folder_source
from openmodelatlas.sources.source import Source
from openmodelatlas.sources.transformers import transformers_source

FORMS = "OWNER/NAME[@REVISION], transformers:MODEL_TYPE, ./FOLDER, package.module:factory or reference:NAME"
"""How a source is written, for messages and help texts."""

_HUB = re.compile(r"[^\s:@]+/[^\s:@]+(@[^\s:@]+)?")
_PASSED_OVER = (HubUnreachableError, SourceGatedError, SourceNotFoundError)


class ResolvedModel(msgspec.Struct, frozen=True):
    """A registered model with the one source that was chosen for it.

    Attributes:
        model: the registry's entry.
        source: where code and configuration come from; the two are never mixed with another source's.
        passed_over: one sentence for every source before it that could not be used, with the reason.
    """

    model: RegisteredModel
    source: Source
    passed_over: tuple[str, ...] = ()


def resolve(
    spec: str, *, revision: str | None = None, configuration: Path | None = None, trust: bool = False
) -> Source:
    """The source that ``spec`` names, pinned to exact bytes.

    An existing path is a folder, whatever else it looks like. Code of transformers, of our own reference models and of
    a factory named on the command line is trusted; code of a hub or folder only if ``trust`` says so (nobody is asked
    here: ``Source.trusted`` tells, and capture refuses).

    Args:
        spec: ``owner/name[@revision]``, ``transformers:model_type``, a path, ``package.module:factory`` or
            ``reference:name``.
        revision: branch, tag, full or short hash of a hub source; not together with ``@revision``.
        configuration: JSON file to use instead of the source's own or the class's defaults.
        trust: whether the user said that the source's code may run.

    Raises:
        UsageError: ``spec`` has none of these forms, or a revision is given for a source that has none.
        SourceError: as the source's kind says, see :mod:`openmodelatlas.errors`.
    """
    if not spec.isprintable() or not spec.strip():
        raise UsageError(f"{spec!r} is not a source.", advice=f"Give {FORMS}, or one of {', '.join(MODELS)}.")
    if spec.startswith((".", "/", "~")) or exists(spec):
        _refuse_revision(revision, spec)
        return folder_source(Path(spec), configuration=configuration, trust=trust)
    kind, separator, rest = spec.partition(":")
    if separator:
        _refuse_revision(revision, spec)
        return _resolve_module(kind, rest, configuration)
    if not _HUB.fullmatch(spec):
        raise UsageError(f"{spec!r} is not a source.", advice=f"Give {FORMS}, or one of {', '.join(MODELS)}.")
    repository, _, inline = spec.partition("@")
    if inline and revision and inline != revision:
        raise UsageError(f"Two revisions are given: {inline} and {revision}.", advice="Give one.")
    return hub_source(repository, revision or inline or None, configuration=configuration, trust=trust)


def resolve_model(
    name: str, *, revision: str | None = None, configuration: Path | None = None, trust: bool = False
) -> ResolvedModel:
    """The registered model ``name`` with the best of its sources that can be used here.

    Sources are tried in the registry's order. One is passed over if it is out of reach, gated or missing, and a hub
    source also if its code is neither trusted by the user nor pinned by hashes in the registry, as long as a later
    source can be used; the sentences in ``passed_over`` say so. A hash that differs is an error, never passed over.
    With ``revision`` only hub sources are used, since no other has revisions, and they are never passed over for want
    of trust.

    Args:
        name: ``kimi-k2``.
        revision: revision to use instead of the registry's; its pins do not apply then.
        configuration: JSON file to use instead of the true published configuration.
        trust: whether the user said that a hub's code may run.

    Raises:
        UsageError: no such model, or ``revision`` for a model without a hub source.
        HashMismatchError: a file differs from its pin.
        SourceError: no source can be used; the message tells the reason for each.
    """
    entry = model(name)
    candidates = [source for source in entry.sources if revision is None or source.is_hub]
    if not candidates:
        raise UsageError(f"{entry.display_name} has no hub source, so no revision can be chosen.")
    if configuration is not None:
        read_configuration(configuration)  # a file that is no good is not the fault of any source
    untrusted = [s for s in candidates if s.is_hub and not (trust or s.pins or revision)]
    passed_over: list[str] = []
    errors: list[SourceError] = []
    # Untrusted ones come last: they are asked only where nothing else is left, and then capture refuses to run them.
    for candidate in [s for s in candidates if s not in untrusted] + untrusted:
        try:
            source = _resolve_registered(entry, candidate, revision, configuration, trust)
        except _PASSED_OVER as error:
            reason = f"{error.what} {error.advice}" if error.advice else error.what
            passed_over.append(f"{candidate.label} was passed over: {reason}")
            errors.append(error)
        else:
            before = candidates[: candidates.index(candidate)]
            refused = [_untrusted_sentence(s) for s in untrusted if s in before]
            return ResolvedModel(entry, source, tuple(refused + passed_over))
    raise type(errors[0])(f"No source of {entry.display_name} can be used. " + " ".join(passed_over))


def _untrusted_sentence(source: RegisteredSource) -> str:
    return (
        f"{source.label} was passed over: its code runs only when it is trusted, and the registry pins no hashes of "
        "it; --trust-remote-code uses it."
    )


def _resolve_registered(
    entry: RegisteredModel, source: RegisteredSource, revision: str | None, given: Path | None, trust: bool
) -> Source:
    if source.is_hub:
        repository, _, pinned = source.spec.partition("@")
        pins = source.pins if revision is None else {}
        return hub_source(repository, revision or pinned, configuration=given, trust=trust, pins=pins)
    values, origin = entry.configuration(), entry.configuration_origin
    if given is not None:
        values, origin = read_configuration(given), path_text(given)
    kind, _, rest = source.spec.partition(":")
    return (
        transformers_source(rest, values, origin) if kind == "transformers" else reference_source(rest, values, origin)
    )


def _resolve_module(kind: str, rest: str, given: Path | None) -> Source:
    values: dict[str, Any] = {}
    origin = ""
    if given is not None:
        values, origin = read_configuration(given), path_text(given)
    if kind == "transformers":
        if given is None:
            values, origin = _registered_configuration(f"{kind}:{rest}", f"defaults of transformers' {rest} class")
        return transformers_source(rest, values, origin)
    if kind == "reference":
        if given is None:
            values, origin = _registered_configuration(f"{kind}:{rest}", f"defaults of {kind}:{rest}")
        return reference_source(rest, values, origin)
    return factory_source(kind, rest, values, origin or "none: the factory takes none")


def _registered_configuration(spec: str, otherwise: str) -> tuple[dict[str, Any], str]:
    """Configuration of the registered model meant by ``spec``, if there is exactly one, or none and ``otherwise``.

    For a reference it is the one that has this source; for transformers, the one whose configuration is of this model
    type, or else has a part that is.
    """
    kind, _, name = spec.partition(":")
    if kind == "reference":
        entries = [entry for entry in MODELS.values() if any(source.spec == spec for source in entry.sources)]
    else:
        types = {entry.name: _model_types(entry.configuration()) for entry in MODELS.values()}
        entries = [entry for entry in MODELS.values() if types[entry.name][0] == name]
        entries = entries or [entry for entry in MODELS.values() if name in types[entry.name]]
    if len(entries) == 1:
        return entries[0].configuration(), entries[0].configuration_origin
    return {}, otherwise


def _model_types(configuration: dict[str, Any]) -> list[object]:
    parts = [value for value in configuration.values() if isinstance(value, dict)]
    return [part.get("model_type") for part in (configuration, *parts)]


def exists(spec: str) -> bool:
    """Whether there is a file or folder of this name; false for what cannot be a name."""
    try:
        return Path(spec).exists()
    except (OSError, ValueError):  # longer than any path may be
        return False


def _refuse_revision(revision: str | None, spec: str) -> None:
    if revision is not None:
        raise UsageError(f"{spec} has no revisions; only a hub source has.", advice="Leave out --revision.")
