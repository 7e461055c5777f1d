"""Arguments of operations and calls, and attributes of modules, as pages show them: at the published configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openmodelatlas.annotation.operations import argument_text, name_arguments
from openmodelatlas.graph.document import Node
from openmodelatlas.site.fields import PageArgument

# The largest finite number of each type (IEEE 754, and bfloat16's seven bits of fraction).
_LARGEST = {65504.0: "float16", 3.3895313892515355e38: "bfloat16", 3.4028234663852886e38: "float32"}


def published_arguments(node: Node) -> dict[str, Any]:
    """The encoded arguments of a node at the published configuration; see ``graph.document.Node.published``."""
    return {name: node.published.get(name, value) for name, value in node.arguments.items()}


def page_arguments(node: Node) -> tuple[PageArgument, ...]:
    """The arguments that are no tensors, by name where the operation table knows it."""
    named = name_arguments(node.function or "", published_arguments(node))
    return tuple(_argument(name, value) for name, value in named.items())


def page_attributes(node: Node) -> tuple[PageArgument, ...]:
    """The attributes of a module at run time, empty names left out."""
    return tuple(_argument(name, value) for name, value in node.attributes.items() if value != "")


def _argument(name: str, value: Any) -> PageArgument:
    text = argument_text(value)
    notes = [
        f"= {size['size']}" if str(size["value"]) == text else f"{size['value']} = {size['size']}"
        for size in _sizes(value)
        if size["value"] is not None
    ]
    if isinstance(value, float) and abs(value) in _LARGEST:
        sign = "smallest" if value < 0 else "largest"
        notes.append(f"the {sign} finite number of {_LARGEST[abs(value)]}")
    if is_probe(value):
        notes.append("known of the probe only")
    return PageArgument(name=name, text=text, note="; ".join(dict.fromkeys(notes)) or None)


def is_probe(value: Any) -> bool:
    """Whether an encoded value, or something in it, is known of the probe only."""
    if isinstance(value, Mapping):
        return "probe" in value or any(is_probe(item) for item in value.values())
    return isinstance(value, list) and any(is_probe(item) for item in value)


def _sizes(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if "size" in value:
            yield value
        else:
            for item in value.values():
                yield from _sizes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _sizes(item)
