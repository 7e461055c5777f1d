"""What wordings say in words of one place: conditions, fillings, rows and columns, and what an operand is exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openmodelatlas.annotation.roles.board import Place
from openmodelatlas.annotation.roles.names import Names, their
from openmodelatlas.graph.document import Node
from openmodelatlas.shapes.dimension import Constant

LONGEST = 6
"""Words of what an operation's result is called, up to which it stands in the sentence of the next operation."""

SECOND = {
    "later positions": "later than the first",
    "same and later positions": "the first or a later one",
    "earlier positions": "earlier than the first",
    "same and earlier positions": "the first or an earlier one",
}
"""Where the second position of a pair lies, by what a triangle of pairs marks."""
_KEPT = {
    ("tril", -1): "between each position and earlier ones",
    ("tril", 0): "between each position and itself or earlier ones",
    ("triu", 1): "between each position and later ones",
    ("triu", 0): "between each position and itself or later ones",
}
_REST = {"tril": "later than the first", "triu": "earlier than the first"}


def phrases(names: Names, address: str, place: Place) -> dict[str, str]:
    """Fields of a wording that tell more than what its operands are."""
    word = names.board.view.word(address)
    return {
        "xp": exact(names, place.x),
        "yp": exact(names, place.y),
        "times": "divided by" if word == "divide" else "times",
        "stays": "now lie" if their(names.noun(place.x)) == "their" else "now lies",
        "pair": SECOND.get(place.words.get("pairs", ""), "among them"),
        "fill": filling(names.board.view.nodes[address].arguments),
        "where": _where(names, address, place),
        "kept": _KEPT.get((word, _diagonal(names, address)), "that the mask allows"),
        "lines": _lines(names, address, place),
        "softplus": _softplus(names, address, place),
        "filler": "" if names.noun(place.x) == names.noun(place.y) else f" with the {names.noun(place.y)}",
        "over": over_positions(names.board.view.nodes[address]),
    }


def over_positions(node: Node) -> str:
    """Over which positions a recurrence runs: a decode step has one."""
    return "for the new position" if node.phase == "decode" else "over all positions"


def exact(names: Names, tensor: str | None) -> str:
    """What a tensor is called after "the": what the operation that made it calls it, else what it is."""
    view = names.board.view
    if tensor is not None:
        maker = names.operations.get(view.made_by(tensor) or "")
        if maker is not None and maker.result and len(maker.result.split()) <= LONGEST:
            return maker.result
    return names.noun(tensor)


def filling(arguments: Mapping[str, Any]) -> str:
    """What a mask is filled with; 0 where no argument says it."""
    value = arguments.get("value", arguments.get("2", 0))
    if isinstance(value, Mapping):
        value = value.get("float", value.get("value"))
    try:
        number = float(value)
    except (TypeError, ValueError):
        return "a constant"
    if number in (float("inf"), float("-inf")):
        return "∞" if number > 0 else "−∞"
    return f"{number:.6g}".replace("-", "−")


def _diagonal(names: Names, address: str) -> int:
    arguments = names.board.view.nodes[address].arguments
    diagonal = arguments.get("diagonal", arguments.get("1", 0))
    return diagonal if isinstance(diagonal, int) else 0


def _where(names: Names, address: str, place: Place) -> str:
    """Which pairs of positions a mask overwrites."""
    word = names.board.view.word(address)
    if word in _REST and _diagonal(names, address) == 0:
        return f"where the second position is {_REST[word]}"
    marked = names.noun(place.y)
    if marked in SECOND:
        return f"where the second position is {SECOND[marked]}"
    return f"at the {marked}" if marked.endswith("s") else "where the mask is true"


def _lines(names: Names, address: str, place: Place) -> str:
    """Whether one number for each position scales the rows or the columns of a matrix of pairs."""
    view = names.board.view
    inputs = view.inputs(address)
    shape = view.shape(view.arriving(address, inputs.index(place.y))) if place.y in inputs else ()
    ones = [isinstance(size, Constant) and size.value == 1 for size in shape[-2:]]
    if len(ones) == 2 and ones[0] != ones[1]:
        return "each row" if ones[1] else "each column"
    return "each element"


def _softplus(names: Names, address: str, place: Place) -> str:
    kind = names.board.kind(names.board.view.output(address))
    return "step size" if kind == "step size" else f"softplus of the {names.noun(place.x)}"
