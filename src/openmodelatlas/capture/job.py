"""What the parent tells the child process to do: one JSON file, decoded with validation on the other side."""

from __future__ import annotations

from typing import Any

import msgspec

JOB_FORMAT = 1

CONTROL_VARIABLE, STATUS_VARIABLE, PROGRESS_VARIABLE = "OMA_CONTROL", "OMA_STATUS", "OMA_PROGRESS"
"""Environment variables that name the descriptors of the pipes between parent and child."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What model code may use.

    Attributes:
        seconds: wall-clock seconds for the whole child.
        memory_bytes: address-space-independent limit on resident memory of the child and what it starts, in bytes.
        processes: processes and threads it may start beyond those of torch itself.
        output_bytes: bytes that it may print (what it reports of its progress included), and again bytes that it may
            write (into the output folder and its own scratch folder).
    """

    seconds: float = 900.0
    memory_bytes: int = 12 * 2**30
    processes: int = 64
    output_bytes: int = 2 * 2**30


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One capture.

    Attributes:
        format: ``JOB_FORMAT``.
        kind, entry, configuration, root: as in :class:`openmodelatlas.sources.source.Source`; ``root`` as text.
        repository: name used in messages.
        files: path within ``root`` to the SHA-256 the bytes must have when the child reads them.
        output: folder the child writes its recordings to; the only place it may write besides its own scratch folder.
        overrides: sizes the user fixed for the probes, by configuration key; one value for all probes or one for each.
        probes: number of solving probes; a held-out, a repeat and a true-size probe are added.
        dtype: floating-point type of the published weights, which one solving probe uses; ``None`` if unknown.
    """

    format: int
    kind: str
    repository: str
    entry: str
    configuration: dict[str, Any]
    root: str
    files: dict[str, str]
    output: str
    overrides: dict[str, int | list[int]] = {}
    probes: int = 3
    dtype: str | None = None


class Progress(msgspec.Struct, frozen=True):
    """One line on the child's progress pipe.

    Attributes:
        stage: sentence for the progress bar, ``Probe b: prefill``.
        done, total: steps finished, and of how many.
    """

    stage: str
    done: int
    total: int


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """How the child reports an error: ``failure.json`` in the output folder.

    Attributes:
        error: name of a class of ``openmodelatlas.errors``.
        what, where, advice: its fields; ``where`` names file and line of the model's code where there is one.
        traceback: frames of the model's own code, outermost first, as text; shown with ``--verbose`` only.
    """

    error: str
    what: str
    where: str | None
    advice: str | None
    traceback: str
