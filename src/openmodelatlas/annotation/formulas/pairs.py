r"""Pairs of positions: ``D_{ij} = G_i - G_j`` for tensors that an inserted axis spreads over rows or columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from openmodelatlas.annotation.formulas.calls import Call, Operand
from openmodelatlas.annotation.formulas.entry import SYMBOL
from openmodelatlas.annotation.formulas.writing import Piece
from openmodelatlas.shapes.dimension import Constant, Dimension

_ELEMENTWISE = frozenset({"add", "subtract", "rsub", "multiply", "divide"})
_BOTH = "_{ij}"

Axes = Callable[[str], Sequence[Dimension]]
"""The axes of a tensor."""


def pair(shape: Sequence[Dimension]) -> tuple[int, int] | None:
    """The two axes next to each other that count the same: each element belongs to a pair of positions."""
    for first, (one, other) in enumerate(pairwise(shape)):
        if one == other and not isinstance(one, Constant):
            return first, first + 1
    return None


def indices(call: Call, axes: Axes) -> dict[Operand, str]:
    """The index of each operand of an element-wise operation that spreads one of them over pairs.

    Args:
        call: the operation.
        axes: gives the axes of its operands and of its result.

    Returns:
        ``i``, ``j`` or ``ij`` by operand; empty if the operation spreads nothing over pairs.
    """
    if call.name not in _ELEMENTWISE or len(call.operands) != 2 or len(call.node.outputs) != 1:
        return {}
    shape = axes(call.node.outputs[0].tensor)
    found = pair(shape)
    if found is None:
        return {}
    index: dict[Operand, str] = {}
    for operand in call.operands:
        own = axes(operand.name)
        if len(own) != len(shape):
            return {}
        index[operand] = "".join(letter for letter, axis in zip("ij", found, strict=True) if own[axis] == shape[axis])
    whole = {letter for letters in index.values() for letter in letters}
    spread = any(letters in ("i", "j") for letters in index.values())
    return index if whole == {"i", "j"} and spread and all(index.values()) else {}


def indexed(piece: Piece, letters: str) -> Piece:
    """A piece with its index; primes need no brackets before it."""
    return Piece(f"{{{piece.within(SYMBOL)}}}_{{{letters}}}", piece.level) if letters else piece


def is_pairwise(latex: str) -> bool:
    """Whether an expression speaks of pairs."""
    return _BOTH in latex
