"""What layers keep from one step to the next: cached keys and values, latents, recurrent states, in elements and bytes.

The tensors are those that the decode step reads from the prefill. How many elements they have follows from their
shapes, evaluated at the published configuration for one sequence and several numbers of tokens: those that grow with
each token, those that grow until a window is full, and those of one size whatever the length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from openmodelatlas.annotation.counting import few_layers, listed
from openmodelatlas.annotation.explanations.titles import Titles
from openmodelatlas.annotation.explanations.verbs import noun_phrase
from openmodelatlas.annotation.knowledge import Statement
from openmodelatlas.annotation.material import Drafts
from openmodelatlas.errors import ShapeError
from openmodelatlas.graph.document import Document, Lines, Node
from openmodelatlas.shapes.dimension import Constant, Dimension, Symbolic
from openmodelatlas.shapes.expression import evaluate
from openmodelatlas.shapes.parsing import parse

_FEW, _MANY = 2, 1 << 30
"""Tokens below every window, and beyond every one."""
_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "int64": 8, "int32": 4, "int8": 1, "uint8": 1}


@dataclass(frozen=True)
class Kept:
    """One tensor that each layer of a group keeps.

    Attributes:
        title: what it is called.
        dtype: its element type; ``None`` if it is not recorded.
        published: whether that is the type in a model of the published type.
        early, late: elements by which it grows with a token while no window is full, and when all are.
        most: elements where it does not grow any more; 0 if it always grows.
        lines: where it is written.
    """

    title: str
    dtype: str | None
    published: bool
    early: int
    late: int
    most: int
    lines: Lines | None


class Caches:
    """Says of groups of layers, and of the model, what they keep for the next step."""

    def __init__(self, document: Document, drafts: Drafts) -> None:
        self._document = document
        self._nodes = document.nodes
        self._titles = Titles(document, drafts)
        self._values = {key: size.value for key, size in document.sizes.items() if size.value is not None}
        self._kept: dict[str, list[Kept]] = {}
        for tensor in self._crossing():
            group = self._group(self._nodes[tensor])
            kept = self._measure(self._nodes[tensor])
            if group is not None and kept is not None:
                self._kept.setdefault(group.address, []).append(kept)

    def statements(self, node: Node) -> list[Statement]:
        """For a group of layers what each keeps, for the layers together and the model what all keep."""
        own = self._kept.get(node.address)
        if own is not None:
            return [self._of_group(node, own)]
        inside = {
            address: kept
            for address, kept in self._kept.items()
            if node.phase == "prefill" and (node.kind == "model" or address.startswith(f"{node.address}/"))
        }
        if not inside or node.kind not in ("model", "layer group"):
            return []
        return list(self._together(inside))

    def _crossing(self) -> list[str]:
        """Tensors of the prefill that the decode step reads, each once, in the order in which it does."""
        found: dict[str, None] = {}
        for node in self._nodes.values():
            if node.phase != "decode" or node.kind not in ("operation", "kernel"):
                continue
            for port in node.inputs:
                tensor = self._nodes.get(port.tensor)
                if port.source == "tensor" and tensor is not None and tensor.phase == "prefill":
                    found[port.tensor] = None
        return list(found)

    def _group(self, tensor: Node) -> Node | None:
        """The innermost group of layers around a tensor."""
        current: Node | None = tensor
        while current is not None and (current.kind != "layer group" or not current.members):
            current = self._nodes[current.parent] if current.parent is not None else None
        return current

    def _measure(self, tensor: Node) -> Kept | None:
        fact = tensor.tensor
        assert fact is not None
        try:
            counts = [self._elements(fact.shape, tokens) for tokens in (_FEW, _FEW + 1, _MANY, _MANY + 1)]
        except (ShapeError, KeyError, ArithmeticError):
            return None
        late = counts[3] - counts[2]
        producer = self._nodes.get(fact.producer or "")
        return Kept(
            title=self._titles.of(tensor),
            dtype=fact.dtype,
            published=fact.dtype_note is None,
            early=counts[1] - counts[0],
            late=late,
            most=0 if late else counts[2],
            lines=producer.symbol.lines if producer is not None and producer.symbol is not None else None,
        )

    def _elements(self, shape: Iterable[Dimension], tokens: int) -> int:
        """Elements of one sequence after so many tokens. Raises ``KeyError`` if a size is not known."""
        values = {**self._values, "B": 1, "T": tokens}
        total = 1
        for size in shape:
            if isinstance(size, Constant):
                total *= size.value
            elif isinstance(size, Symbolic):
                known = size.value
                total *= known if known is not None else evaluate(parse(size.expression), values)
            else:
                raise KeyError(size)
        return total

    def _of_group(self, node: Node, kept: list[Kept]) -> Statement:
        each = "The layer keeps" if len(node.members) == 1 else "Each of these layers keeps"
        each = f"{each} for the next step"
        parts = []
        growing = [item for item in kept if item.early]
        if growing:
            parts.append(self._growing(growing))
        fixed = [item for item in kept if not item.early]
        if fixed:
            parts.append(self._fixed(fixed))
        lines = tuple(dict.fromkeys(item.lines for item in kept if item.lines is not None))
        return Statement(text=f"{each} {', and '.join(parts)}.", lines=lines)

    def _growing(self, kept: list[Kept]) -> str:
        total = sum(item.early for item in kept)
        text = f"{total:,} elements per token ({_bytes(kept, [item.early for item in kept])})"
        if len(kept) > 1:
            text = f"{text}: {_parts([(item.title, item.early) for item in kept])}"
        windows = {item.most // item.early for item in kept if item.most}
        if len(windows) == 1 and all(item.most for item in kept):
            return f"{text}; of the last {windows.pop():,} tokens only"
        return text

    def _fixed(self, kept: list[Kept]) -> str:
        total = sum(item.most for item in kept)
        text = f"{total:,} elements whatever the length ({_bytes(kept, [item.most for item in kept])})"
        if len(kept) > 1:
            text = f"{text}: {_parts([(item.title, item.most) for item in kept])}"
        return text

    def _together(self, inside: dict[str, list[Kept]]) -> Iterator[Statement]:
        """The sum over all layers, each as often as there are layers of its group."""
        every = [(item, len(self._nodes[address].members)) for address, kept in inside.items() for item in kept]
        members = {number for address in inside for number in self._nodes[address].members}
        growing = [(item, count) for item, count in every if item.early]
        fixed = [(item, count) for item, count in every if not item.early]
        lines = tuple(dict.fromkeys(item.lines for item, _ in every if item.lines is not None))
        if growing:
            which = {
                number
                for address, kept in inside.items()
                if any(item.early for item in kept)
                for number in self._nodes[address].members
            }
            over = f"over {len(which)} layers" if which == members else f"in {few_layers(which)}"
            yield Statement(text=f"The caches {over} grow by {_growth(growing)}.", lines=lines)
        if fixed:
            total = sum(item.most * count for item, count in fixed)
            amount = _bytes([item for item, _ in fixed], [item.most * count for item, count in fixed])
            yield Statement(
                text=f"The states of the other layers are {total:,} elements whatever the length ({amount})."
                if growing
                else f"The states of {len(members)} layers are {total:,} elements whatever the length ({amount}).",
                lines=lines,
            )


def _growth(growing: list[tuple[Kept, int]]) -> str:
    kept = [item for item, _ in growing]
    early = [item.early * count for item, count in growing]
    text = f"{sum(early):,} elements per token ({_bytes(kept, early)})"
    windows = {item.most // item.early for item in kept if item.most}
    if not windows:
        return text
    late = [item.late * count for item, count in growing]
    full = f"{max(windows):,}" if len(windows) == 1 else f"{min(windows):,} to {max(windows):,}"
    further = f"{sum(late):,} ({_bytes(kept, late)}) per further token" if sum(late) else "nothing further"
    return f"{text} until the windows hold {full} tokens, and by {further}"


def _parts(counts: list[tuple[str, int]]) -> str:
    """``512 of the key-value latent and 64 of the shared key part``; equal titles together."""
    sums: dict[str, list[int]] = {}
    for title, count in counts:
        sums.setdefault(re.sub(r" \(\d+\)$", "", title), []).append(count)
    several = {title: f" ({len(each)} tensors)" if len(each) > 1 else "" for title, each in sums.items()}
    return listed([f"{sum(each):,} of {noun_phrase(title)}{several[title]}" for title, each in sums.items()])


def _bytes(kept: list[Kept], elements: list[int]) -> str:
    """``1,152 bytes in bfloat16``; of a type that the configuration leaves open, in bfloat16 too."""
    types = sorted({item.dtype or "" for item in kept})
    total = sum(_BYTES.get(item.dtype or "", 0) * count for item, count in zip(kept, elements, strict=True))
    if any(item.dtype not in _BYTES for item in kept):
        return "of a type that is not recorded"
    if not all(item.published for item in kept) and types == ["float32"]:
        return f"{sum(elements) * 2:,} bytes in bfloat16, {total:,} in float32"
    return f"{total:,} bytes in {listed(types)}"
