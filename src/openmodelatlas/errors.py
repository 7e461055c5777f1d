"""The exception tree. Imports nothing, so that every folder can raise from it.

::

    AtlasError                        exit code
    ├── UsageError                    2   an argument, address or name that does not fit
    ├── SourceError                   3   a source could not be read
    │   ├── SourceNotFoundError       3   no such repository, revision, folder, package or file
    │   ├── SourceGatedError          3   the repository exists, access to it is not granted
    │   ├── HubUnreachableError       3   the hub does not answer (or offline mode is on)
    │   ├── HashMismatchError         3   a file differs from the hash it is pinned to
    │   └── ConfigurationError        3   a configuration key is missing, absurd or not understood
    ├── TrustError                    4   code would run that nobody has said to trust
    ├── CaptureError                  5   running the model's code failed
    │   ├── ModelCodeError            5   the model's code raised; carries its file and line
    │   ├── MissingStandInError       5   an import nobody has a stand-in for
    │   ├── LimitError                5   time, memory, output or processes exceeded their limit
    │   ├── SandboxError              5   the sandbox refused something, or cannot be set up
    │   ├── OverlayError              5   the asked-for package versions could not be installed
    │   └── RecordingError            5   what came back from the child does not validate
    ├── ShapeError                    6   dimensions contradict each other or the model at full size
    ├── GraphError                    6   an invariant of the graph does not hold
    ├── CatalogueError                6   an entry of the catalogue is not written as the format says
    ├── DrawingError                  7   diagrams or formulas cannot be made: an engine is missing
    └── BundleError                   7   a bundle could not be written or read (disk full, corrupt, other version)
"""

from __future__ import annotations

INSTALL_CAPTURE = (
    "Install openmodelatlas with its extra `capture` from where it came: pip install '.[capture]' in the folder of its "
    "source."
)
"""Advice where something is missing that building and checking need, and reading does not. The package is on no index,
so that no name can be given to pip."""


class AtlasError(Exception):
    """Base of every error that this package raises on purpose.

    Attributes:
        what: one sentence: what is wrong.
        where: file and line, configuration key, or address it concerns; ``None`` where there is no such place.
        advice: one sentence: what to do next; ``None`` where nothing can be done.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str | None = None, advice: str | None = None) -> None:
        self.what = what
        self.where = where
        self.advice = advice
        super().__init__(str(self))

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" {self.advice}" if self.advice else ""
        return f"{place}{self.what}{advice}"


class UsageError(AtlasError):
    """An argument, address or name does not fit."""

    exit_code = 2


class SourceError(AtlasError):
    """A source could not be read."""

    exit_code = 3


class SourceNotFoundError(SourceError):
    """There is no such repository, revision, folder, package or file."""


class SourceGatedError(SourceError):
    """The repository exists, but access to it is not granted."""


class HubUnreachableError(SourceError):
    """The hub does not answer, or offline mode forbids asking it."""


class HashMismatchError(SourceError):
    """A file differs from the hash it is pinned to."""


class ConfigurationError(SourceError):
    """A configuration key is missing, absurd or not understood."""


class TrustError(AtlasError):
    """Code would run that nobody has said to trust."""

    exit_code = 4


class CaptureError(AtlasError):
    """Running the model's code failed."""

    exit_code = 5


class ModelCodeError(CaptureError):
    """The model's own code raised; ``where`` is its file and line."""


class MissingStandInError(CaptureError):
    """The code imports a package that is absent and that nobody has a stand-in for."""


class LimitError(CaptureError):
    """Time, memory, output or processes exceeded their limit."""


class SandboxError(CaptureError):
    """The sandbox refused something, or cannot be set up on this machine."""


class OverlayError(CaptureError):
    """The asked-for package versions could not be installed."""


class RecordingError(CaptureError):
    """What came back from the child process does not validate."""


class ShapeError(AtlasError):
    """Dimensions contradict each other, or the model at full size."""

    exit_code = 6


class GraphError(AtlasError):
    """An invariant of the graph does not hold; ``where`` names the node."""

    exit_code = 6


class CatalogueError(AtlasError):
    """An entry of the catalogue is not written as the format says; ``where`` names its file."""

    exit_code = 6


class DrawingError(AtlasError):
    """Diagrams or formulas cannot be made: an engine is missing."""

    exit_code = 7


class BundleError(AtlasError):
    """A bundle could not be written or read: full disk, corrupt file, other version."""

    exit_code = 7
