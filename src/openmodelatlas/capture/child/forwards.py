"""Which code runs as the ``forward`` of a module, whatever its name is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any

from torch import nn
from torch.nn.modules import module as torch_module

CALL: CodeType = nn.Module._call_impl.__code__
"""torch's code that runs the hooks of a module and, between them, its ``forward``."""

_DEEPEST = 100
"""Wrappers around a function that are looked through."""


def other_forwards(modules: Iterable[nn.Module]) -> dict[int, CodeType]:
    """By ``id``, the code that is the ``forward`` of one of the modules and is not called so: an alias, a function set
    on the class or on one instance, the ``__call__`` of a class that has no ``forward``.

    A wrapper is no such code where what it wraps is found: that is the module's call, and the wrapper a call around it.
    """
    kinds: dict[int, type[nn.Module]] = {}
    found: list[FunctionType | None] = []
    for module in modules:
        kind = type(module)
        kinds[id(kind)] = kind
        own = module.__dict__.get("forward")
        if own is not None:
            found.append(_function(own))
    for kind in kinds.values():
        forward = inspect.getattr_static(kind, "forward", None)
        if forward is nn.Module.forward:
            forward = inspect.getattr_static(kind, "__call__", None)
            if forward is nn.Module.__call__:
                continue
        found.append(_function(forward))
    codes = (function.__code__ for function in found if function is not None and not _wraps_forward(function))
    return {id(code): code for code in codes if code.co_name != "forward"}


def _function(value: Any) -> FunctionType | None:
    """The innermost function behind methods, partial ones, and wrappers that say what they wrap."""
    for _ in range(_DEEPEST):
        if isinstance(value, FunctionType):
            wrapped = value.__dict__.get("__wrapped__")
            if wrapped is None:
                return value
            value = wrapped
        elif isinstance(value, MethodType):
            value = value.__func__
        elif isinstance(value, functools.partial | functools.partialmethod):
            value = value.func
        else:
            return None
    return None


def _wraps_forward(function: FunctionType) -> bool:
    """Whether a function called ``forward`` is among the variables that it has from outside: a silent wrapper."""
    for cell in function.__closure__ or ():
        try:
            inner = _function(cell.cell_contents)
        except ValueError:  # nothing is in it yet
            continue
        if inner is not None and inner.__code__.co_name == "forward":
            return True
    return False


def known_by_call(modules: Sequence[nn.Module]) -> frozenset[int]:
    """Indices of the modules whose call begins where torch calls their ``forward`` (:data:`CALL`), not with that: the
    model itself (the first), if it has hooks, which then are its own; and those whose ``forward`` is a function of one
    instance that is not told which.
    """
    hooks = (
        modules[0]._forward_hooks,
        modules[0]._forward_pre_hooks,
        torch_module._global_forward_hooks,
        torch_module._global_forward_pre_hooks,
    )
    found = {index for index, module in enumerate(modules) if _is_untold(module, module.__dict__.get("forward"))}
    return frozenset(found | {0} if any(hooks) else found)


def _is_untold(module: nn.Module, forward: Any) -> bool:
    told = forward is None or getattr(forward, "__self__", None) is module
    return not (told or (isinstance(forward, functools.partial) and any(value is module for value in forward.args[:1])))


def arguments_of(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What a module is called with, by the names that its ``forward`` has for it, as far as it has any."""
    try:
        return dict(inspect.signature(module.forward).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):  # a hook may make what forward takes out of something else
        return {"args": args, **kwargs}
