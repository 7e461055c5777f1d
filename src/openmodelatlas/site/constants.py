"""The numbers that a model computes with, where it uses them: for the model's own page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from openmodelatlas.annotation.operations import argument_text, name_arguments
from openmodelatlas.graph.document import Node
from openmodelatlas.site.arguments import is_probe, published_arguments
from openmodelatlas.site.fields import PageConstant
from openmodelatlas.site.words import crumb_label, heading, one_line

# Operations (names without underscores) whose integers are numbers they compute with, rather than axes or sizes.
_ARITHMETIC = frozenset(
    {
        *("add", "radd", "iadd", "sub", "rsub", "isub", "mul", "rmul", "imul"),
        *("div", "truediv", "rtruediv", "itruediv", "pow", "rpow", "floordiv", "mod"),
        *("clamp", "clip", "maximum", "minimum", "masked_fill", "where", "topk"),
        *("softplus", "leaky_relu", "addcmul", "scaled_dot_product_attention"),
    }
)
_IDLE_WITH_ZERO = frozenset({"add", "radd", "iadd", "sub", "isub", "dropout"})
_NO_NUMBER = frozenset({"dim", "_stacklevel", "inplace", "training", "norm_type"})


def constants(nodes: Mapping[str, Node]) -> tuple[PageConstant, ...]:
    """Numbers that operations of the prefill take, each place of the code once, in order of execution."""
    found: dict[tuple[str, str, str], PageConstant] = {}
    for node in nodes.values():
        if node.kind not in ("operation", "kernel") or node.phase != "prefill" or node.symbol is None:
            continue
        for name, value in name_arguments(node.function or "", published_arguments(node)).items():
            if not _is_number(node, name, value):
                continue
            lines = node.symbol.lines
            key = (f"{lines.file}:{lines.first}:{lines.column}", name, argument_text(value))
            if key in found:
                members = tuple(sorted({*found[key].members, *node.members}))
                found[key] = msgspec.structs.replace(found[key], members=members)
                continue
            parent = nodes[node.parent] if node.parent is not None else None
            found[key] = PageConstant(
                text=argument_text(value),
                name=name,
                operation=heading(node),
                address=node.address,
                inside=crumb_label(parent) if parent is not None and parent.parent is not None else "",
                code=one_line(node.symbol.text, 100),
                members=node.members,
            )
    return tuple(found.values())


def _is_number(node: Node, name: str, value: Any) -> bool:
    if name in _NO_NUMBER or is_probe(value):
        return False
    if isinstance(value, Mapping):
        return "float" in value or ("size" in value and name == "k")
    function = (node.function or "").rpartition(".")[2].strip("_")
    if isinstance(value, bool) or not isinstance(value, int | float) or (value == 0 and function in _IDLE_WITH_ZERO):
        return False
    return isinstance(value, float) or function in _ARITHMETIC
