"""Example inputs of a factory: what its model is called with, at the batch of a probe."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from openmodelatlas.capture.child.encode import is_tensor
from openmodelatlas.capture.child.subject import Inputs, tensors_in
from openmodelatlas.capture.recording import DEEPEST
from openmodelatlas.errors import ConfigurationError

_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def example_inputs(module: nn.Module, example: Any, entry: str) -> Inputs:
    """What a factory returned beside its module: a tensor, a tuple or list (by position), or a mapping (by name).

    Raises:
        ConfigurationError: it is something else, ``forward`` does not take it, or no tensor in it has an element.
    """
    if is_tensor(example):
        example = (example,)
    if isinstance(example, Mapping):
        inputs = Inputs({str(name): value for name, value in example.items()})
    elif isinstance(example, tuple | list):
        names = _names(module, len(example))
        inputs = Inputs(dict(zip(names, example, strict=True)), positional=len(example))
    else:
        raise ConfigurationError(
            f"The factory returned {type(module).__name__} and {type(example).__name__}, which is no example inputs.",
            where=entry,
            advice="Return the module and a tuple (by position) or a dictionary (by name) of what forward takes.",
        )
    check_taken(module, inputs, entry)
    tensors = inputs.tensors()
    if tensors and all(tensor.numel() == 0 for tensor in tensors.values()):
        name, tensor = next(iter(tensors.items()))
        raise ConfigurationError(
            f"The example inputs are empty: {name} is {list(tensor.shape)}.",
            where=entry,
            advice="Give at least one row; it is repeated for the batch of each probe.",
        )
    return inputs


def _names(module: nn.Module, count: int) -> list[str]:
    """Names of the first ``count`` arguments by position; those without one of their own are numbered."""
    try:
        parameters = list(inspect.signature(module.forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [parameter.name for parameter in parameters if parameter.kind in _BY_POSITION][:count]
    rest = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), "input")
    return names + [f"{rest}_{index}" for index in range(count - len(names))]


def check_taken(module: nn.Module, inputs: Inputs, entry: str) -> None:
    """See to it that ``forward`` takes the inputs, as far as its signature tells.

    Raises:
        ConfigurationError: one is missing, or has no place.
    """
    if module._forward_pre_hooks or type(module).__call__ is not nn.Module.__call__:
        return  # they may make other arguments of them
    args, kwargs = inputs.call()
    problems = []
    for through_wrappers in (True, False):
        try:
            signature = inspect.signature(module.forward, follow_wrapped=through_wrappers)
        except (TypeError, ValueError):
            return
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            problems.append(f"{type(module).__name__}.forward{signature} does not take the inputs: {error}.")
        else:
            return
    raise ConfigurationError(
        problems[0],
        where=entry,
        advice="Return from the factory the module and all that its forward needs: a tuple by position, or a "
        "dictionary by name.",
    )


def fitted(inputs: Inputs, batch: int, device: str, entry: str) -> Inputs:
    """The inputs on ``device``, the first axis of each tensor repeated or cut to ``batch``, also in what holds tensors.

    What has less than two axes has no batch, and sparse or nested tensors are left as they are.

    Raises:
        ConfigurationError: a tensor has no values, and ``device`` is one that has.
    """
    for name, tensor in inputs.tensors().items():
        if tensor.is_meta and device != "meta":
            raise ConfigurationError(
                f"The example input {name} is on the meta device, where it has no values.",
                where=entry,
                advice="Make it without naming a device.",
            )
    arguments = {name: _fit(value, batch, device, 0) for name, value in inputs.arguments.items()}
    return dataclasses.replace(inputs, arguments=arguments)


def _fit(value: Any, batch: int, device: str, depth: int) -> Any:
    if is_tensor(value):
        return _resized(value, batch).to(device)
    if depth >= DEEPEST or not tensors_in({"": value}):
        return value
    kind = type(value)
    if kind in (tuple, list):
        return kind(_fit(item, batch, device, depth + 1) for item in value)
    if isinstance(value, tuple) and hasattr(kind, "_make"):
        return kind._make(_fit(item, batch, device, depth + 1) for item in value)
    if kind is dict:
        return {key: _fit(item, batch, device, depth + 1) for key, item in value.items()}
    if dataclasses.is_dataclass(kind):
        changed = copy.copy(value)
        for name, item in vars(value).items():
            object.__setattr__(changed, name, _fit(item, batch, device, depth + 1))
        return changed
    return value


def _resized(value: torch.Tensor, batch: int) -> torch.Tensor:
    if value.layout is not torch.strided or value.is_nested or value.dim() < 2 or value.shape[0] == 0:
        return value
    return value[torch.arange(batch) % value.shape[0]]
