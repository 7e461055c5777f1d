"""Run one probe under the recorder: a prefill of T tokens, then one token with the cache the prefill left."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

import torch

from openmodelatlas.capture.child.recorder import Recorder
from openmodelatlas.capture.child.subject import Inputs, Subject
from openmodelatlas.capture.child.weights import fill
from openmodelatlas.capture.recording import Probe
from openmodelatlas.errors import ModelCodeError

CACHE_NAMES = ("past_key_values", "cache_params", "past_key_value", "cache", "state", "mems")
TOKEN_NAMES = ("input_ids", "tokens", "token_ids", "ids")
NO_CACHE = "The model returns no cache: there is no decode step."

_NOT_YET_RUN = (GeneratorType, CoroutineType, AsyncGeneratorType)


def run_probe(
    subject: Subject, settings: Mapping[str, int], probe: Probe, *, keep_values: bool
) -> tuple[Recorder, list[str]]:
    """Instantiate, fill and run the model at one probe's sizes.

    Returns:
        what was recorded, to be finished, and notes.
    """
    torch.manual_seed(probe.seed)
    model = subject.instantiate(settings, probe.dtype, "cpu")
    fill(model, probe.seed)
    recorder = Recorder(model, roots=subject.roots, keep_values=keep_values)
    inputs = subject.inputs(model, probe, "cpu")
    with _no_kernels_to_compile() if probe.dtype != "float32" else contextlib.nullcontext():
        notes = run_phases(model, recorder, inputs, probe.seed)
    return recorder, [*notes, *recorder.notes]


@contextlib.contextmanager
def _no_kernels_to_compile() -> Iterator[None]:
    """Within, oneDNN is left out: it compiles a kernel for every shape, and nearly every expert has tokens of its own
    number. Products of low precision cost 0.1 s and 90 MB less without it (Kimi K2, measured); others are not its.
    """
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(before)


def run_phases(model: torch.nn.Module, recorder: Recorder, inputs: Inputs, seed: int) -> list[str]:
    """Record the prefill with ``inputs`` and, if it leaves a cache, one decode step; returns notes.

    Raises:
        ModelCodeError: ``forward`` gave something that computes only when it is run, and recorded no operation.
    """
    parameters = inspect.signature(model.forward).parameters
    switch = _takes(parameters, "use_cache", inputs) and "use_cache" not in inputs.arguments
    switches = {"use_cache": True} if switch else {}
    torch.manual_seed(seed)
    args, kwargs = inputs.call()
    with torch.no_grad(), recorder.record("prefill", inputs=inputs.tensors()):
        output = model(*args, **kwargs, **switches)
    if isinstance(output, _NOT_YET_RUN):
        kind = type(output).__name__.replace("_", " ")
        if not recorder.operations:
            raise ModelCodeError(
                f"forward returned a {kind}, which nobody ran: no operation was recorded.",
                where=f"{type(model).__name__}.forward",
                advice="Build a module whose forward runs it to its end, and returns what it gives.",
            )
        return [f"forward returned a {kind}, which nobody ran: what it computes is not recorded.", NO_CACHE]
    found = _cache(output, is_named=inputs.passed_on or any(name in parameters for name in CACHE_NAMES))
    if found is None:
        return [NO_CACHE]
    returned, cache = found
    name = returned if returned in parameters else next((name for name in CACHE_NAMES if name in parameters), returned)
    if not _takes(parameters, name, inputs):
        return [f"The model returns {returned} but its forward takes none: there is no decode step."]
    step = _decode_inputs(inputs, parameters, name)
    if step is None:
        return ["The model's inputs have no token axis: there is no decode step."]
    torch.manual_seed(seed + 1)
    args, kwargs = step.call()
    with torch.no_grad(), recorder.record("decode", inputs=step.tensors()):
        model(*args, **kwargs, **{name: cache}, **switches)
    return []


def _takes(parameters: Mapping[str, inspect.Parameter], name: str, inputs: Inputs) -> bool:
    if name in parameters:
        return parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY
    return inputs.passed_on and any(value.kind is inspect.Parameter.VAR_KEYWORD for value in parameters.values())


def _cache(output: Any, *, is_named: bool) -> tuple[str, Any] | None:
    """The cache among a model's outputs with the name its ``forward`` takes it back by.

    The second of a bare pair is one only if it ``is_named``: if ``forward`` has a parameter for a cache.
    """
    for name in CACHE_NAMES:
        value = output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)
        if value is not None:
            return name, value
    if is_named and isinstance(output, tuple) and len(output) == 2 and not isinstance(output[1], torch.Tensor):
        return ("cache", output[1]) if output[1] is not None else None
    return None


def _decode_inputs(inputs: Inputs, parameters: Mapping[str, inspect.Parameter], cache: str) -> Inputs | None:
    """One further token per sequence: ``[B, 1]`` int64, masks one longer, positions one further; without a cache.

    What stands behind the cache by position is handed over by name.
    """
    tokens = next((value for name, value in inputs.arguments.items() if name in TOKEN_NAMES), None)
    if not isinstance(tokens, torch.Tensor) or tokens.dim() != 2:
        return None
    length = tokens.shape[1]
    step: dict[str, Any] = {}
    positional = inputs.positional
    for index, (name, value) in enumerate(inputs.arguments.items()):
        if name == cache:
            positional = min(positional, index)
        elif not isinstance(value, torch.Tensor):
            step[name] = value
        elif name == "attention_mask":
            step[name] = torch.ones((tokens.shape[0], length + 1), dtype=value.dtype, device=value.device)
        elif name == "position_ids":
            step[name] = value[:, -1:] + 1
        elif name == "decoder_input_ids" or value is tokens:
            step[name] = value[:, :1].clone()
        else:
            step[name] = value
    if cache == "cache_params" and "cache_position" in parameters:
        step["cache_position"] = torch.tensor([length], device=tokens.device)
    return replace(inputs, arguments=step, positional=positional)
