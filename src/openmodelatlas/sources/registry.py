"""Named models: where their code comes from, in order of preference, and what was published about them."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import msgspec

from openmodelatlas.errors import UsageError
from openmodelatlas.sources.configuration import parse_configuration


class PublishedParameters(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter count that somebody else published, to check ours against.

    Attributes:
        total: number of parameters, in units of one; rounded to ``precision`` if the publication rounds.
        precision: the publication's last digit counts this many parameters; 1 if it is exact.
        counts: what the number includes, and whether a tied weight counts once.
        origin: where the number was read.
    """

    total: int
    precision: int = 1
    counts: str
    origin: str

    def agrees_with(self, counted: int) -> bool:
        """Whether ``counted`` parameters round to the published total."""
        return 2 * abs(counted - self.total) <= self.precision if self.precision > 1 else counted == self.total


class RegisteredSource(msgspec.Struct, frozen=True, kw_only=True):
    """One place that a registered model can be read from.

    Attributes:
        spec: as :func:`openmodelatlas.sources.resolve` takes it; a hub source names its pinned revision.
        pins: SHA-256 of every ``*.py`` and of ``config.json`` at that revision, by path. Empty as long as nobody has
            read the files' hashes from the hub itself; then the user decides about trust (--trust-remote-code).
        measured_parameters: what this source's code counts at the true configuration, on the meta device, tied weights
            once, buffers not; ``None`` if it could not be run where the entry was written.
    """

    spec: str
    pins: dict[str, str] = {}
    measured_parameters: int | None = None

    @property
    def label(self) -> str:
        """The source as a message names it: a full commit hash cut to 12 digits."""
        return re.sub(r"(@[0-9a-f]{12})[0-9a-f]{28}$", r"\1", self.spec)

    @property
    def is_hub(self) -> bool:
        """Whether the files come from a hub."""
        return ":" not in self.spec


class RegisteredModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that can be asked for by name.

    Attributes:
        name: ``kimi-k2``.
        display_name: ``Kimi K2``.
        description: one sentence on what it is.
        sources: where to read it from, best first.
        configuration_file: name of the packaged JSON file with the true published configuration.
        configuration_origin: where that was read from, and what was done with it.
        parameters: published count; its ``counts`` says what a source's code leaves out of it.
    """

    name: str
    display_name: str
    description: str
    sources: tuple[RegisteredSource, ...]
    configuration_file: str
    configuration_origin: str
    parameters: PublishedParameters

    def configuration(self) -> dict[str, Any]:
        """The true published configuration, read anew from the packaged file."""
        resource = files("openmodelatlas.sources").joinpath("configurations", self.configuration_file)
        return parse_configuration(resource.read_bytes(), self.configuration_file)


def model(name: str) -> RegisteredModel:
    """The registered model called ``name``.

    Raises:
        UsageError: there is none; the advice names those that are near.
    """
    import difflib

    found = MODELS.get(name.lower())
    if found is None:
        near = difflib.get_close_matches(name.lower(), MODELS, n=3) or sorted(MODELS)
        raise UsageError(f"There is no registered model {name!r}.", advice=f"There are: {', '.join(near)}.")
    return found


def _read_models() -> dict[str, RegisteredModel]:
    data = files("openmodelatlas.sources").joinpath("models.json").read_bytes()
    return {entry.name: entry for entry in msgspec.json.decode(data, type=list[RegisteredModel])}


MODELS: dict[str, RegisteredModel] = _read_models()
"""Every registered model, by name, in the order they are listed."""
