"""The operation table: one sentence for what a torch function does, with its arguments filled in.

The facts are those of the PyTorch documentation (https://docs.pytorch.org/docs/stable/torch.html); the sentences are
ours. What the table does not know is called by its name and nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from openmodelatlas.annotation.operation_table import ALIASES, OPERATIONS, SPECIAL

_OPTIONAL = re.compile(r"\[([^][]*)\]")
_FIELD = re.compile(r"\{(\w+)(?::(\w+))?\}")
_ABSENT = "\0"
_WORDS = {"ellipsis": "...", "tensor": "a tensor"}
# Here the axis named by an argument has another size in each input, or in the result.
_JOINING = frozenset({"cat", "stack", "unsqueeze"})
_ORDINALS = ("last", "second last", "third last", "fourth last")


def describe_operation(function: str, arguments: Mapping[str, Any], axes: Sequence[str] = ()) -> str:
    """One sentence (two for a write in place) saying what ``function`` does with these ``arguments``.

    Args:
        function: qualified name: ``torch.nn.functional.softmax``, ``torch.Tensor.__add__``, ``fla.ops.kda.chunk_kda``.
        arguments: encoded arguments that are no tensors, by name or by position (``"1"``; the first input is 0).
        axes: the sizes of the first input's axes in words (``T positions``), to name an axis by what lies along it.
    """
    kernel = _kernel_sentence(function)
    if kernel is not None:
        return kernel
    name, in_place = operation_name(function)
    entry = OPERATIONS.get(name)
    if entry is None:
        return f"Runs `{function}`."
    if name in _JOINING:
        axes = ()
    signature, sentences = entry
    named = _by_name(signature.split(), arguments)
    sentence = ""
    for template in sentences.split(" || "):
        sentence = _fill(template, named, axes)
        if _ABSENT not in sentence:
            break
    sentence = sentence.replace(_ABSENT, "…")
    return f"{sentence} The result is written into the first input." if in_place else sentence


def _kernel_sentence(function: str) -> str | None:
    """What a stand-in says of the kernel that it replaces; ``None`` for torch's own functions and unknown ones."""
    if function.startswith("torch.") or "." not in function:
        return None
    from openmodelatlas.annotation.kernel_specs import specs

    spec = specs().get(function)
    return spec.summary if spec is not None else None


def name_arguments(function: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with positions (``"1"``) replaced by names where the table knows them; order kept."""
    entry = OPERATIONS.get(operation_name(function)[0]) if _kernel_sentence(function) is None else None
    return _by_name(entry[0].split(), arguments) if entry is not None else dict(arguments)


_INFINITE = ({"float": "inf"}, {"float": "-inf"})


def _fill(template: str, named: Mapping[str, Any], axes: Sequence[str]) -> str:
    """The sentence with its arguments, ``_ABSENT`` in place of those that are not there."""

    def fill(match: re.Match[str]) -> str:
        if match[1] in ("min", "max") and named.get(match[1]) in _INFINITE:  # it bounds nothing
            return _ABSENT
        return _formatted(named.get(match[1]), match[2], axes) or _ABSENT

    def optional(match: re.Match[str]) -> str:
        text = _FIELD.sub(fill, match[1])
        return "" if _ABSENT in text else text

    return _FIELD.sub(fill, _OPTIONAL.sub(optional, template))


@lru_cache(maxsize=4096)
def operation_name(function: str) -> tuple[str, bool]:
    """The table's name of a torch function, and whether this form of it writes into its first input.

    ``torch.Tensor.__radd__`` is ``add``; ``torch.Tensor.add_`` and ``__iadd__`` are ``add`` in place.
    """
    name = function.rpartition(".")[2]
    in_place = False
    if name in SPECIAL:
        name = SPECIAL[name]
    elif name.startswith("__") and name.endswith("__"):
        name = name.strip("_")
        if name not in OPERATIONS and name not in ALIASES and name[:1] in ("i", "r"):
            in_place = name[0] == "i"
            name = name[1:]
    elif name.endswith("_"):
        in_place = True
        name = name.rstrip("_")
    return ALIASES.get(name, name), in_place


def _by_name(signature: Sequence[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name; a ``*`` at the end of the signature takes all further positions as a list."""
    named: dict[str, Any] = {}
    rest: list[Any] = []
    for key, value in arguments.items():
        if not key.isdecimal():
            named[key] = value
        elif int(key) < len(signature) and not signature[int(key)].startswith("*"):
            named[signature[int(key)]] = value
        else:
            rest.append(value)
    if rest and signature and signature[-1].startswith("*"):
        named[signature[-1][1:]] = rest[0] if len(rest) == 1 else {"list": rest}
    return named


def _formatted(value: Any, form: str | None, axes: Sequence[str]) -> str | None:
    """The argument in words; ``None`` where there is none, so that its part of the sentence is left out."""
    if value is None or value is False:
        return None
    if form == "axis":
        return _axis(value, axes)
    if form == "index":
        text = argument_text(value)
        return f"`[{text.removeprefix('(').removesuffix(')').removesuffix(',')}]`"
    text = argument_text(value)
    return f"−{text[1:]}" if isinstance(value, int | float) and value < 0 else text


def _axis(value: Any, axes: Sequence[str]) -> str | None:
    if isinstance(value, Mapping) and isinstance(value.get("list"), list):
        parts = [_axis(item, axes) for item in value["list"]]
        return " and ".join(part for part in parts if part) or None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    name = f"the {_ORDINALS[-value - 1]} axis" if 0 > value >= -len(_ORDINALS) else f"axis {value}"
    if -len(axes) <= value < len(axes):
        name += f" ({axes[value]})"
    return name


def argument_text(value: Any) -> str:
    """An encoded argument as one would write it in the code.

    The forms are those of ``capture.recording`` and of ``graph.document.Node.published``: a solved size is its
    published value, or its expression where the run decides; what is known of the probe only says so.
    """
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, Mapping) and "size" in value:
        return str(value["size"]).replace("*", "·") if value.get("value") is None else str(value["value"])
    if not isinstance(value, Mapping) or len(value) != 1:
        return str(value)
    (kind, inner), *_ = value.items()
    if kind == "list" and isinstance(inner, list):
        text = f"({', '.join(argument_text(item) for item in inner)}{',' if len(inner) == 1 else ''})"
    elif kind == "dict" and isinstance(inner, Mapping):
        text = "{" + ", ".join(f"{key}: {argument_text(item)}" for key, item in inner.items()) + "}"
    elif kind == "slice" and isinstance(inner, list) and len(inner) == 3:
        start, stop, step = ("" if item is None else argument_text(item) for item in inner)
        text = f"{start}:{stop}" + (f":{step}" if step else "")
    elif kind == "probe":
        text = f"{argument_text(inner)} in the probe"
    elif kind in _WORDS:
        text = _WORDS[kind]
    else:
        text = inner if isinstance(inner, str) else str(value)
    return text
