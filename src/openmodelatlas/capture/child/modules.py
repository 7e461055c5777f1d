"""The modules, parameters and buffers of the model, as tables."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Hashable
from pathlib import Path
from typing import cast

import torch
from torch import nn

from openmodelatlas.capture.child.encode import dtype_name
from openmodelatlas.capture.child.frames import STAND_INS, FileTable, file_lines, is_model_file
from openmodelatlas.capture.recording import Module, Parameter


def describe_modules(model: nn.Module, files: FileTable) -> list[Module]:
    """Every module once, in the order of ``model.named_modules()`` (a module used twice has its first name)."""
    return [_describe(name, module, files) for name, module in model.named_modules()]


def _describe(name: str, module: nn.Module, files: FileTable) -> Module:
    kind = type(module)
    filename = _source_file(cast(Hashable, kind))
    is_torch = kind.__module__.split(".", 1)[0] == "torch"
    file, first_line, last_line = -1, 0, 0
    if filename is not None and (is_model_file(filename) or filename.startswith(f"{STAND_INS}/")):
        lines = class_lines(filename, kind.__qualname__)
        if lines is not None:
            file, (first_line, last_line) = files.index(filename), lines
    return Module(
        name=name,
        class_name=f"torch.nn.{kind.__name__}" if is_torch else kind.__name__,
        file=file,
        first_line=first_line,
        last_line=last_line,
        attributes=_plain_attributes(module),
    )


@functools.cache
def _source_file(kind: Hashable) -> str | None:
    try:
        filename = inspect.getsourcefile(cast(type, kind))
    except (TypeError, OSError):
        return None
    return filename if filename is not None and Path(filename).is_file() else None


def _plain_attributes(module: nn.Module) -> dict[str, bool | int | float | str | None]:
    found: dict[str, bool | int | float | str | None] = {}
    for key, value in vars(module).items():
        if key.startswith("_"):
            continue
        kind = type(value)  # compared, not looked up: not every class can be hashed
        plain = kind is bool or kind is int or kind is str or (kind is float and value - value == 0)
        if value is None or plain:
            found[key] = value
    return found


@functools.cache
def class_lines(filename: str, qualified_name: str) -> tuple[int, int] | None:
    """First and last line of a class statement, ``None`` if the file has no such class (made at run time)."""
    every = file_lines(filename)
    text = "\n".join(every)
    simple = qualified_name.rsplit(".", 1)[-1]
    found = [m.start() for m in re.finditer(rf"^[ \t]*class[ \t]+{re.escape(simple)}\b", text, re.MULTILINE)]
    if len(found) != 1:
        return _class_lines_from_tree(text, qualified_name)
    first = text.count("\n", 0, found[0]) + 1
    block = inspect.getblock([f"{line}\n" for line in every[first - 1 :]])
    while block and not block[-1].strip():
        block.pop()
    return first, first + len(block) - 1


def _class_lines_from_tree(text: str, qualified_name: str) -> tuple[int, int] | None:
    found: list[tuple[int, int]] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{prefix}{child.name}"
                if isinstance(child, ast.ClassDef) and name == qualified_name:
                    found.append((child.lineno, child.end_lineno or child.lineno))
                name += "." if isinstance(child, ast.ClassDef) else ".<locals>."
            visit(child, name)

    visit(ast.parse(text), "")
    return found[-1] if found else None


def describe_parameters(model: nn.Module) -> list[tuple[Parameter, torch.Tensor]]:
    """Every parameter, then every buffer, once each with all its names, in module order.

    ``tensor`` is -1: the recorder numbers them, the true-size model never runs.
    """
    names: dict[int, list[str]] = {}
    held: dict[int, torch.Tensor] = {}
    kinds: dict[int, tuple[str, bool]] = {}
    for prefix, module in model.named_modules(remove_duplicate=False):
        transient = module._non_persistent_buffers_set
        groups = (("parameter", module._parameters), ("buffer", module._buffers))
        for kind, group in groups:
            for key, tensor in group.items():
                if tensor is None:
                    continue
                names.setdefault(id(tensor), []).append(f"{prefix}.{key}" if prefix else key)
                held[id(tensor)] = tensor
                kinds.setdefault(id(tensor), (kind, kind == "parameter" or key not in transient))
    described = [(_parameter(names[key], *kinds[key], tensor), tensor) for key, tensor in held.items()]
    return sorted(described, key=lambda pair: pair[0].kind != "parameter")


def _parameter(names: list[str], kind: str, persistent: bool, tensor: torch.Tensor) -> Parameter:
    return Parameter(
        name=names[0],
        aliases=names[1:],
        kind="parameter" if kind == "parameter" else "buffer",
        persistent=persistent,
        tensor=-1,
        shape=list(tensor.shape),
        dtype=dtype_name(tensor.dtype),
    )
