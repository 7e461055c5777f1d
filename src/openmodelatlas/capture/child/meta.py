"""The model at its published size on the meta device: parameters, and a run that has shapes but no values."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from openmodelatlas.capture.child.failures import place
from openmodelatlas.capture.child.probes import run_phases
from openmodelatlas.capture.child.recorder import Recorder
from openmodelatlas.capture.child.subject import Subject
from openmodelatlas.capture.recording import Parameter, Probe, Recording

TRUE_SIZE_BATCH = 3
TRUE_SIZE_TOKENS = 29

_NONZERO = {torch.nonzero, torch.Tensor.nonzero, torch.argwhere, torch.Tensor.argwhere}
_SELECT = {torch.masked_select, torch.Tensor.masked_select}
_WHERE = {torch.where}


class NoValues(TorchFunctionMode):
    """On the meta device nothing is selected: what depends on values has zero rows.

    ``nonzero``, ``where(condition)``, ``masked_select`` and indexing with a mask give empty results of the right
    rank; whatever asks for a value itself (``item``, ``tolist``, ``numpy``, ``bool``) raises, as torch does.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        subject = args[0] if args else keywords.get("input", keywords.get("condition"))
        if isinstance(subject, torch.Tensor) and subject.is_meta:
            if func in _NONZERO:
                return _nothing(subject, as_tuple=bool(keywords.get("as_tuple", len(args) > 1 and args[1])))
            if func in _WHERE and len(args) + len(keywords) == 1:
                return _nothing(subject, as_tuple=True)
            if func in _SELECT:
                return subject.new_empty((0,))
            if func is torch.Tensor.__getitem__:
                index = args[1]
                parts = index if isinstance(index, tuple) else (index,)
                if any(isinstance(part, torch.Tensor) and part.dtype is torch.bool and part.dim() for part in parts):
                    return func(subject, _without_masks(index), **keywords)
        return func(*args, **keywords)


def _nothing(subject: torch.Tensor, *, as_tuple: bool) -> Any:
    rank = max(subject.dim(), 1)
    if as_tuple:
        return tuple(torch.empty((0,), dtype=torch.int64, device="meta") for _ in range(rank))
    return torch.empty((0, subject.dim()), dtype=torch.int64, device="meta")


def _without_masks(index: Any) -> Any:
    """The same index with every mask replaced by as many empty index tensors as it has axes."""
    parts = index if isinstance(index, tuple) else (index,)
    result: list[Any] = []
    for part in parts:
        if isinstance(part, torch.Tensor) and part.dtype is torch.bool and part.dim():
            result.extend(torch.empty((0,), dtype=torch.int64, device="meta") for _ in range(part.dim()))
        else:
            result.append(part)
    return tuple(result)


def parameter_table(model: torch.nn.Module) -> list[Parameter]:
    """All parameters and buffers with their aliases, in module order; none is executed, so ``tensor`` is -1."""
    persistent = _persistent_names(model)
    names: dict[int, list[str]] = {}
    entries: list[tuple[str, str, torch.Tensor]] = []
    for kind, found in (
        ("parameter", model.named_parameters(remove_duplicate=False)),
        ("buffer", model.named_buffers(remove_duplicate=False)),
    ):
        for name, tensor in found:
            known = names.setdefault(id(tensor), [])
            if not known:
                entries.append((kind, name, tensor))
            known.append(name)
    return [
        Parameter(
            name=name,
            aliases=names[id(tensor)][1:],
            kind=kind,  # type: ignore[arg-type]
            persistent=kind == "parameter" or name in persistent,
            tensor=-1,
            shape=list(tensor.shape),
            dtype=str(tensor.dtype).removeprefix("torch."),
        )
        for kind, name, tensor in entries
    ]


def _persistent_names(model: torch.nn.Module) -> set[str]:
    result = set()
    for prefix, module in model.named_modules(remove_duplicate=False):
        for name in module._buffers:
            if name not in module._non_persistent_buffers_set:
                result.add(f"{prefix}.{name}" if prefix else name)
    return result


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
        with NoValues():
            run_phases(model, recorder, inputs, probe.seed)
    except Exception as error:  # the model's code may raise anything; the prefix is kept
        where = place(error, subject.roots["source"])
        message = " ".join(str(error).split())[:300]
        failure = f"{where or type(error).__module__}: {type(error).__name__}: {message}"
    recording, _ = recorder.finish(probe, failure)
    return recording
