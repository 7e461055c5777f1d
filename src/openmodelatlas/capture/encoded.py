"""Walks encoded values (:mod:`openmodelatlas.capture.recording` has their format), of recordings and of documents.

What lies inside is asked for by its kind: names in a mapping are the model's, and one of them may be ``tensor``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any


def inside(value: Any) -> Iterable[Any]:
    """The encoded values directly inside one: elements of a sequence or mapping, bounds of a slice."""
    if type(value) is not dict:
        return ()
    if "dict" in value:
        return value["dict"].values()  # type: ignore[no-any-return]
    return value.get("list") or value.get("slice") or ()


def references(value: Any) -> Iterator[dict[str, Any]]:
    """The tensors in an encoded value, as they are encoded, in its order."""
    if type(value) is dict:
        if "tensor" in value:
            yield value
        else:
            for part in inside(value):
                yield from references(part)


def tensors(value: Any) -> Iterator[Any]:
    """The tensors in an encoded value: their numbers in recordings, their names in documents."""
    return (reference["tensor"] for reference in references(value))


def replaced(value: Any, change: Callable[[dict[str, Any]], Any]) -> Any:
    """An encoded value with what ``change`` gives for each of its tensors in the place of it."""
    if type(value) is not dict:
        return value
    if "tensor" in value:
        return change(value)
    return {kind: _replaced(content, change) for kind, content in value.items()}


def _replaced(content: Any, change: Callable[[dict[str, Any]], Any]) -> Any:
    if type(content) is list:
        return [replaced(part, change) for part in content]
    return {name: replaced(part, change) for name, part in content.items()} if type(content) is dict else content


def numbered(value: Any, numbers: Sequence[int] | Mapping[int, int]) -> Any:
    """An encoded value whose tensors have the numbers that ``numbers`` gives for those that they have."""
    if type(value) is not dict:
        return value
    if "tensor" in value:
        return {"tensor": numbers[value["tensor"]]}
    return replaced(value, lambda reference: {"tensor": numbers[reference["tensor"]]})
