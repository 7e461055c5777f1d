"""Names of what only rearranges or casts: head splits, moves of axes, casts."""

from __future__ import annotations

from openmodelatlas.annotation.roles.generic import GENERIC
from openmodelatlas.annotation.roles.names import Name, Names, tidy
from openmodelatlas.annotation.roles.view import View, size_name
from openmodelatlas.annotation.roles.vocabulary import KINDS
from openmodelatlas.graph.naming import capital
from openmodelatlas.shapes.dimension import Constant, Dimension

CASTS = frozenset(
    ["to", "type", "type_as", "float", "double", "half", "bfloat16", "int", "long", "bool", "short", "byte"]
)
SPLITS = frozenset(["view", "reshape", "unflatten", "reshape_as", "view_as"])
JOINS = frozenset(["view", "reshape", "flatten", "reshape_as", "view_as"])
HEADED = frozenset(
    [
        "queries",
        "keys",
        "values",
        "keys and values",
        "queries, keys and values",
        "queries and keys",
        "output gate",
        "log decay",
        "forget gate",
        "mixed values",
        "gated output",
        "state input",
        "low-rank features",
    ]
)


def plumbing_name(names: Names, address: str) -> Name:
    """A name by the shapes before and after, and by what the tensor is."""
    view = names.board.view
    node = view.nodes[address]
    source = node.inputs[0].tensor if node.inputs else None
    through = node.inputs[0].via[-1] if node.inputs and node.inputs[0].via else None
    before = (view.output(through) if through is not None else source) or ""
    after = view.output(address) or ""
    noun = names.noun(source)
    kind = names.board.kind(source)
    twin = address.removeprefix("decode/")
    told = view.nodes.get(twin) if node.phase == "decode" else None
    if told is not None and told.function == node.function and told.inputs:
        before, after = view.arriving(twin), view.output(twin) or ""
    title, result, role = _worded(view, address, before, after, noun, kind)
    family = KINDS[kind].family if kind in KINDS else None
    title = tidy(title)
    return Name(title, f"{capital(title)}.", result, role, family)


Worded = tuple[str, str, str]
"""Title, what the result is called, role."""


def _worded(view: View, address: str, before: str, after: str, noun: str, kind: str | None) -> Worded:
    word = view.word(address)
    shape, new = view.shape(before), view.shape(after)
    if word in CASTS:
        fact = view.fact(view.output(address) or after)
        dtype = fact.dtype if fact is not None and fact.dtype else "another type"
        if dtype == "bool":
            return f"Read the {noun} as truth values", f"{noun} as truth values", "cast"
        return f"Cast the {noun} to {dtype}", f"{noun} in {dtype}", "cast"
    if word in SPLITS | JOINS:
        return _reshaped(shape, new, noun, kind)
    if word in ("transpose", "permute", "movedim") and shape:
        return _moved(view, before, after, noun)
    if word in SIMPLE:
        title, result, role = SIMPLE[word]
        return title.format(x=noun), result.format(x=noun), role
    if word in ("expand", "expand_as", "broadcast_to"):
        if kind in ("keys", "values") and len(new) >= 4:
            return f"Share the {noun} among the query heads", f"{noun} for every query head", "head sharing"
        return f"Spread the {noun} over new axes", f"{noun}, spread", "spreading"
    title, result = GENERIC.get(word, (word.replace("_", " ") + " of {x}", word.replace("_", " ") + " of {x}"))
    return title.format(x=f"the {noun}", y="a constant"), result.format(x=noun, y="a constant"), "rearrangement"


SIMPLE: dict[str, Worded] = {
    "unsqueeze": ("Insert an axis into the {x}", "{x} with a new axis", "new axis"),
    "squeeze": ("Remove an axis of the {x}", "{x} without an axis", "removed axis"),
    "contiguous": ("Store the {x} in row-major order", "{x} in row-major order", "storage order"),
}


def _reshaped(shape: tuple[Dimension, ...], new: tuple[Dimension, ...], noun: str, kind: str | None) -> Worded:
    """A view with one axis more splits heads or restores positions; one axis fewer joins heads or lists tokens."""
    if len(new) == len(shape) + 1:
        if _tokens(shape) and size_name(new[0]) == "B":
            return f"Restore batch and positions of the {noun}", f"{noun} by batch and position", "token split"
        single = _has_one(new) and not _has_one(shape)
        if kind in HEADED and len(shape) == 3 and not single:
            return f"Split the {noun} into heads", f"{noun} in heads", "head split"
        return f"Split an axis of the {noun}", f"{noun} with a split axis", "axis split"
    if len(new) == len(shape) - 1:
        if len(shape) == 4 and kind in HEADED:
            return f"Join the heads of the {noun}", f"{noun}, heads joined", "head merge"
        if len(shape) == 3 and _tokens(new):
            return f"List the tokens of the {noun}", f"{noun} by token", "token list"
        return f"Join axes of the {noun}", f"{noun} with joined axes", "axis merge"
    return f"Reshape the {noun}", f"{noun}, reshaped", "reshape"


def _has_one(shape: tuple[Dimension, ...]) -> bool:
    """Whether an axis has the size 1, such as that of positions in a decode step."""
    return any(isinstance(size, Constant) and size.value == 1 for size in shape)


def _tokens(shape: tuple[Dimension, ...]) -> bool:
    """Whether the first axis counts tokens of the whole batch."""
    first = size_name(shape[0]) if shape else ""
    names = set(first.replace("*", " ").replace("(", " ").replace(")", " ").split())
    return "B" in names and ("T" in names or (len(shape) == 2 and first == "B"))


def position_axis(view: View, tensor: str) -> int | None:
    """Which axis counts positions: the one whose size has ``T`` or ``P``; in a decode step that of the prefill."""
    candidates = [tensor, tensor.removeprefix("decode/")]
    for candidate in candidates:
        for axis, size in enumerate(view.shape(candidate)):
            words = set(size_name(size).replace("*", " ").replace("(", " ").replace(")", " ").replace(",", " ").split())
            if words & {"T", "P"} and "B" not in words:
                return axis
    return None


def counts_heads(view: View, size: Dimension) -> bool:
    """Whether an axis has the size of the head axis of some tensor of heads by features."""
    name = size_name(size)
    known = view.document.sizes.get(name)
    return known is not None and (known.symbol == "h" or known.symbol.startswith("h_"))


def _moved(view: View, before: str, after: str, noun: str) -> Worded:
    shape = view.shape(before)
    old, new = position_axis(view, before), position_axis(view, after)
    if len(shape) == 4 and old is not None and new is not None:
        if (old, new) == (1, 2):
            return f"Move heads before positions of the {noun}", f"{noun}, heads first", "head move"
        if (old, new) == (2, 1):
            return f"Move positions before heads of the {noun}", f"{noun}, positions first", "head move"
        if (old, new) == (2, 3):
            return f"Transpose the {noun}", f"transposed {noun}", "transpose"
    if len(shape) == 3 and old is not None and new is not None and old != new:
        channels = "heads" if counts_heads(view, shape[3 - old]) else "channels"
        role = "head move" if channels == "heads" else "channel move"
        if (old, new) == (1, 2):
            return f"Move {channels} before positions of the {noun}", f"{noun}, {channels} first", role
        return f"Move positions before {channels} of the {noun}", f"{noun}, positions first", role
    sizes = [size for size in shape if not (isinstance(size, Constant) and size.value == 1)]
    if len(sizes) == 2:
        return f"Transpose the {noun}", f"transposed {noun}", "transpose"
    return f"Reorder the axes of the {noun}", f"{noun} with reordered axes", "axis order"
