"""Which axis of a recurrent state holds key features and which holds value features: a convention between kernels.

What the state recalls for a key is a sum over the key features; the axis that is summed over is theirs, and the other
of the last two holds value features.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from openmodelatlas.annotation.knowledge import Statement
from openmodelatlas.annotation.material import Drafts
from openmodelatlas.graph.document import Document, Lines, Node

_PRODUCTS = frozenset({"matmul", "__matmul__", "bmm", "mm"})
_STATES = frozenset({"state write", "state update"})


class StateAxes:
    """Finds the order of the axes of recurrent states in one document."""

    def __init__(self, document: Document, drafts: Drafts) -> None:
        self._nodes = document.nodes
        self._drafts = drafts
        self._found: dict[str, dict[int, list[Lines]]] = {}
        for address, node in self._nodes.items():
            axis = self._key_axis(node) if drafts.nodes[address].role == "recall" else None
            group = self._group(node)
            if axis is not None and group is not None and node.symbol is not None:
                self._found.setdefault(group, {}).setdefault(axis, []).append(node.symbol.lines)

    def statements(self, node: Node) -> Iterator[Statement]:
        """For groups of layers with a state, and for the states themselves."""
        group = node.address if node.kind == "layer group" else self._group(node)
        found = self._found.get((group or "").removeprefix("decode/"), {})
        is_state = node.kind == "tensor" and self._drafts.nodes[node.address].role in _STATES
        if len(found) != 1 or not (is_state or (node.kind == "layer group" and node.phase == "prefill")):
            return
        axis, lines = next(iter(found.items()))
        order = "key features, value features" if axis == -2 else "value features, key features"
        yield Statement(
            text=f"The axes of the recurrent state are batch, heads, {order}: what it recalls for a key is a "
            "sum over the key features.",
            lines=tuple(dict.fromkeys(lines)),
        )

    def _key_axis(self, node: Node) -> int | None:
        """-2 or -1: the axis of the state that an operation sums over; ``None`` if it does not show."""
        function = (node.function or "").rpartition(".")[2]
        if function == "sum":
            axis = node.arguments.get("dim", node.arguments.get("1"))
            rank = self._rank(_tensor(node.operands.get("0")))
            if not isinstance(axis, int) or isinstance(axis, bool) or rank is None:
                return None
            axis = axis - rank if axis >= 0 else axis
            return axis if axis in (-2, -1) else None
        if function in _PRODUCTS:
            titles = [self._title(_tensor(node.operands.get(name))) for name in ("0", "1")]
            states = ["state" in title for title in titles]
            return -2 if states == [False, True] else -1 if states == [True, False] else None
        return None

    def _rank(self, tensor: str | None) -> int | None:
        node = self._nodes.get(tensor or "")
        return len(node.tensor.shape) if node is not None and node.tensor is not None else None

    def _title(self, tensor: str | None) -> str:
        draft = self._drafts.nodes.get(tensor or "")
        return (draft.title or "").lower() if draft is not None else ""

    def _group(self, node: Node) -> str | None:
        """Address of the innermost group of layers around a node, in the prefill."""
        current: Node | None = node
        while current is not None and (current.kind != "layer group" or not current.members):
            current = self._nodes[current.parent] if current.parent is not None else None
        return current.address.removeprefix("decode/") if current is not None else None


def _tensor(operand: object) -> str | None:
    name = operand.get("tensor") if isinstance(operand, Mapping) else None
    return name if isinstance(name, str) else None
