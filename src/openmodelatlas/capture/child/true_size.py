"""The model at its published size on the meta device: a run that has shapes but no values."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from openmodelatlas.capture.child.failures import message_of, place
from openmodelatlas.capture.child.probes import run_phases
from openmodelatlas.capture.child.recorder import Recorder
from openmodelatlas.capture.child.subject import Subject
from openmodelatlas.capture.recording import Probe, Recording

TRUE_SIZE_BATCH = 3
TRUE_SIZE_TOKENS = 29


def true_size_probe(dtype: str) -> Probe:
    """The probe of the true-size run: odd, distinct B and T, no chosen sizes."""
    return Probe(
        name="true-size",
        role="true-size",
        sizes={},
        batch=TRUE_SIZE_BATCH,
        tokens=TRUE_SIZE_TOKENS,
        dtype=dtype,
        seed=0,
    )


def run_true_size(subject: Subject, model: torch.nn.Module, probe: Probe) -> Recording:
    """Record the model on the meta device; where it asks for a value, the recording ends and says where."""
    recorder = Recorder(model, roots=subject.roots, keep_values=False)
    failure = None
    try:
        inputs = subject.inputs(model, probe, "meta")
        with _autocast_knows_meta():
            run_phases(model, recorder, inputs, probe.seed)
    except Exception as error:  # the model's code may raise anything; the prefix is kept
        where = place(error, subject.roots["source"])
        failure = f"{where or type(error).__module__}: {type(error).__name__}: {message_of(error)}"
    recording, _ = recorder.finish(probe, failure)
    recorder.forget()
    return recording


@contextlib.contextmanager
def _autocast_knows_meta() -> Iterator[None]:
    """Within, ``torch.autocast("meta")`` does nothing; torch 2.13 raises "unsupported scalarType" for it.

    Rotary embeddings switch autocast off for the device of their input (``transformers`` before 5.0).
    """
    original = torch.autocast

    def autocast(device_type: str, *args: Any, **keywords: Any) -> Any:
        return contextlib.nullcontext() if device_type == "meta" else original(device_type, *args, **keywords)

    torch.autocast = autocast  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        torch.autocast = original  # type: ignore[misc]
