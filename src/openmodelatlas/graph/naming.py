"""Sober automatic names: titles, labels and address segments.

Nothing here knows a model. Names come from attribute names, class names, function names, variables, and from lists in
the configuration that happen to divide the layers exactly as the code does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z]|\d|$|_)|[A-Z]?[a-z]+|\d+|[A-Z]+")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")

OPERATOR_WORDS = {
    "mul": "multiply",
    "div": "divide",
    "true_divide": "divide",
    "sub": "subtract",
    "neg": "negate",
    "pow": "power",
    "eq": "equal",
    "ne": "not equal",
    "lt": "less",
    "le": "less or equal",
    "gt": "greater",
    "ge": "greater or equal",
    "__add__": "add",
    "__radd__": "add",
    "__iadd__": "add",
    "__sub__": "subtract",
    "__rsub__": "subtract",
    "__isub__": "subtract",
    "__mul__": "multiply",
    "__rmul__": "multiply",
    "__imul__": "multiply",
    "__truediv__": "divide",
    "__rtruediv__": "divide",
    "__itruediv__": "divide",
    "__div__": "divide",
    "__rdiv__": "divide",
    "__idiv__": "divide",
    "__floordiv__": "divide and round down",
    "__rfloordiv__": "divide and round down",
    "__mod__": "remainder",
    "__matmul__": "matmul",
    "__rmatmul__": "matmul",
    "__pow__": "power",
    "__rpow__": "power",
    "__neg__": "negate",
    "__invert__": "not",
    "__and__": "and",
    "__rand__": "and",
    "__iand__": "and",
    "__or__": "or",
    "__ror__": "or",
    "__ior__": "or",
    "__xor__": "exclusive or",
    "__eq__": "equal",
    "__ne__": "not equal",
    "__lt__": "less",
    "__le__": "less or equal",
    "__gt__": "greater",
    "__ge__": "greater or equal",
    "__getitem__": "select",
    "__setitem__": "write selection",
    "__iter__": "iterate",
    "__bool__": "read as truth value",
    "__int__": "read as integer",
    "__float__": "read as number",
    "__index__": "read as index",
    "__contains__": "contains",
}

PLUMBING = frozenset(
    [
        "view",
        "reshape",
        "view_as",
        "reshape_as",
        "transpose",
        "permute",
        "movedim",
        "moveaxis",
        "swapaxes",
        "swapdims",
        "t",
        "adjoint",
        "contiguous",
        "unsqueeze",
        "squeeze",
        "expand",
        "expand_as",
        "broadcast_to",
        "flatten",
        "unflatten",
        "ravel",
        "detach",
        "alias",
        "to",
        "type",
        "type_as",
        "float",
        "double",
        "half",
        "bfloat16",
        "int",
        "long",
        "short",
        "bool",
        "byte",
        "cpu",
        "cuda",
        "data",
        "T",
        "mT",
        "H",
        "mH",
        "requires_grad_",
        "__get__",
        "as_strided",
        "broadcast_tensors",
    ]
)
"""Functions that only rearrange or cast: they fold into the edge they sit on."""


def operation_word(function: str) -> str:
    """What an operation is called: ``softmax`` for ``torch.nn.functional.softmax``, ``add`` for ``Tensor.__add__``."""
    parts = function.split(".")
    short = parts[-1]
    if short in ("__get__", "__set__") and len(parts) > 1:
        return parts[-2]
    return OPERATOR_WORDS.get(short, short.strip("_").replace("_", " "))


def is_plumbing(function: str) -> bool:
    """Whether an operation only rearranges or casts."""
    parts = function.split(".")
    return parts[-1] in PLUMBING


def capital(text: str) -> str:
    """With a capital first letter."""
    return text[:1].upper() + text[1:]


def spoken(name: str) -> str:
    """An attribute or function name as words: ``q_a_proj`` becomes ``Q a proj``, ``*`` is left out."""
    words = re.sub(r"[._]+", " ", name.replace("*", "")).strip()
    return capital(words) if words else name


def slug(text: str) -> str:
    """An address segment: lower-case letters, digits and hyphens."""
    return _NOT_SLUG.sub("-", text.lower()).strip("-") or "step"


def class_words(class_name: str) -> list[str]:
    """The words of a class name: ``KimiMLAAttention`` becomes ``Kimi``, ``MLA``, ``Attention``."""
    return _WORD.findall(class_name.rpartition(".")[2])


def without_family(class_name: str, root_class: str) -> list[str]:
    """Words of a class name without those it shares with the model's class at the beginning (``DeepseekV3``)."""
    words, family = class_words(class_name), class_words(root_class)
    shared = 0
    while shared < min(len(words) - 1, len(family)) and words[shared] == family[shared]:
        shared += 1
    return words[shared:]


def phrase(words: Sequence[str]) -> str:
    """Words of a class name as lower-case prose, abbreviations kept: ``MLA attention``."""
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in words)


def is_mixture(class_name: str) -> bool:
    """Whether a class name says mixture of experts."""
    words = {word.lower() for word in class_words(class_name)}
    if "mixture" in words and words & {"expert", "experts"}:
        return True
    return "moe" in words or "MoE" in class_name or "Moe" in class_name


def is_attention(name: str, class_name: str) -> bool:
    """Whether an attribute or class name says attention."""
    text = f"{name} {class_name}".lower()
    return "attn" in text or "attention" in text


def unique(segment: str, taken: set[str]) -> str:
    """``segment``, with a number if it is taken; remembers the answer in ``taken``."""
    candidate, number = segment, 2
    while candidate in taken:
        candidate, number = f"{segment}-{number}", number + 1
    taken.add(candidate)
    return candidate


def configured_kinds(configuration: Mapping[str, Any], groups: Sequence[Sequence[int]]) -> list[str] | None:
    """Words for groups of layers from a list of words in the configuration that divides the layers in the same way.

    Args:
        configuration: the effective configuration; nested ones are searched too.
        groups: layer numbers (from 1) of each group.
    """
    total = sum(len(group) for group in groups)
    for value in configuration.values():
        if isinstance(value, Mapping):
            found = configured_kinds(value, groups)
            if found is not None:
                return found
        if not isinstance(value, list) or len(value) != total or not all(isinstance(word, str) for word in value):
            continue
        words = [{value[number - 1] for number in group if number <= total} for group in groups]
        if all(len(word) == 1 for word in words) and len(set.union(*words)) == len(groups):
            return [word.pop() for word in words]
    return None


def count_phrase(count: int, noun: str) -> str:
    """``1 dense block``, ``60 MoE blocks``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def member_ranges(numbers: Iterable[int]) -> str:
    """Layer numbers in short: ``1, 3–5``."""
    ordered = sorted(set(numbers))
    ranges: list[str] = []
    start = 0
    for index in range(1, len(ordered) + 1):
        if index == len(ordered) or ordered[index] != ordered[index - 1] + 1:
            first, last = ordered[start], ordered[index - 1]
            ranges.append(str(first) if first == last else f"{first}–{last}")
            start = index
    return ", ".join(ranges)
