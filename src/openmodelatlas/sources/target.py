"""What is to be built: from the user's word to pinned code, and to the name of its atlas."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from openmodelatlas.errors import SourceError, UsageError
from openmodelatlas.sources import registry
from openmodelatlas.sources.modules import find_module
from openmodelatlas.sources.registry import MODELS, RegisteredModel
from openmodelatlas.sources.resolve import FORMS, exists, resolve, resolve_model
from openmodelatlas.sources.source import Source


@dataclass(frozen=True)
class Target:
    """What is to be built, pinned.

    Attributes:
        model: identifier of the atlas: the registered name, or one made from the source's, which another source may
            have as well (:func:`openmodelatlas.bundle.home.name_for` tells them apart).
        title: display name.
        source: code and configuration.
        origin: the whole source, see :func:`named`; the registered name of a registered model.
        passed_over: one sentence for every preferred source that could not be used.
        registered: the registry's entry, for a model asked for by name.
        own_configuration: whether the user gave a configuration instead of the published one.
    """

    model: str
    title: str
    source: Source
    origin: str
    passed_over: tuple[str, ...] = ()
    registered: RegisteredModel | None = None
    own_configuration: bool = False


def find(
    spec_or_model: str, *, revision: str | None = None, configuration: Path | None = None, trust: bool = False
) -> Target:
    """The pinned source of a registered model or a source as the user writes it, and what its atlas is called.

    A registered name wins over a folder of the same name (write ``./name`` for that).

    Raises:
        UsageError: nothing is called that; the advice names what comes close.
        SourceError: no source can be used.
    """
    name = spec_or_model.strip().lower()
    if name in MODELS:
        resolved = resolve_model(name, revision=revision, configuration=configuration, trust=trust)
        return Target(
            model=resolved.model.name,
            title=resolved.model.display_name,
            source=resolved.source,
            origin=resolved.model.name,
            passed_over=resolved.passed_over,
            registered=resolved.model,
            own_configuration=configuration is not None,
        )
    if re.fullmatch(r"[A-Za-z0-9][\w.-]*", spec_or_model) and not exists(spec_or_model):
        _refuse_unknown(spec_or_model)
    source = resolve(spec_or_model, revision=revision, configuration=configuration, trust=trust)
    model, origin = named(spec_or_model)
    return Target(
        model=model,
        title=title(source),
        source=source,
        origin=origin,
        own_configuration=configuration is not None,
    )


def named(spec: str) -> tuple[str, str]:
    """What the atlas of a source is called, and the whole source, by which two with one name are told apart.

    Nothing is asked but this machine's folders. The name says little (``owner-name``, ``module-factory``, the folder's
    name). The source is the path of a folder, ``owner/name`` in lower case (a hub tells no two apart by case) without
    its revision, or what was written, and for a factory also the folder that its package lies in.
    """
    if spec.startswith((".", "/", "~")) or exists(spec):
        try:
            path = Path(spec).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):  # no folder can be called that
            return _identifier(spec), spec
        return _identifier(path.name), str(path)
    kind, separator, rest = spec.partition(":")
    if not separator:
        repository = spec.partition("@")[0]
        return _identifier(repository), repository.lower()
    if kind in ("transformers", "reference"):
        return _identifier(spec), f"{kind}:{rest}"
    with contextlib.suppress(SourceError, OSError, ValueError):
        return _identifier(spec), f"{spec} in {find_module(kind)[1]}"
    return _identifier(spec), spec


def _identifier(text: str) -> str:
    """Never equal to a registered name, since that stands for the registry's own choice of sources."""
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:100].strip("-") or "model"
    return f"{slug}-source" if slug in MODELS else slug


def title(source: Source) -> str:
    """Display name of a source that no registered model names."""
    if source.kind == "transformers":
        return f"{source.entry} of transformers"
    if source.kind == "reference":
        name = source.repository.partition(":")[2]
        known = MODELS.get(name)
        return f"{known.display_name if known else name}, reference model"
    if source.kind == "factory":
        return source.repository.partition(":")[2]
    return source.repository.rpartition("/")[2]


def _refuse_unknown(name: str) -> None:
    """Raises for a bare word that is neither registered nor a path, with names that come close."""
    try:
        registry.model(name)
    except UsageError as error:
        raise UsageError(error.what, advice=f"{error.advice} Or give a source: {FORMS}.") from None
