"""Parts of tensors: halves, even and odd features, and the part that is rotated."""

from __future__ import annotations

from typing import Any

from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.vocabulary import PARTS
from openmodelatlas.shapes.dimension import Constant, Dimension, Symbolic

SPLITTING = frozenset(["split", "split_with_sizes", "chunk", "tensor_split"])


def find_parts(board: Board) -> None:
    """Say which part of its source every part is, where the index or the use tells."""
    view = board.view
    for address in view.computing:
        word = view.word(address)
        inputs, outputs = view.inputs(address), view.outputs(address)
        if not inputs or not outputs:
            continue
        if word == "getitem" and len(inputs) == 1:
            part = indexed_part(
                view.nodes[address].arguments.get("1"), view.shape(view.arriving(address)), view.shape(outputs[0])
            )
            if part is not None:
                board.parts[view.root(outputs[0])] = (part, view.root(inputs[0]))
        elif word == "chunk" and len(outputs) == 2:
            board.parts[view.root(outputs[0])] = ("first half", view.root(inputs[0]))
            board.parts[view.root(outputs[1])] = ("second half", view.root(inputs[0]))
        elif word in SPLITTING and len(outputs) == 2:
            rotated = [_is_rotated(board, output) for output in outputs]
            if sum(rotated) == 1:
                for output, turns in zip(outputs, rotated, strict=True):
                    part = "rotary part" if turns else "unrotated part"
                    board.parts[view.root(output)] = (part, view.root(inputs[0]))


def find_joints(board: Board) -> None:
    """What is cut into parts of different kinds is none of them: it is joint, back to its projection."""
    view = board.view
    for address in view.computing:
        outputs = view.outputs(address)
        if view.word(address) not in SPLITTING or len(outputs) < 2:
            continue
        source = view.root(view.inputs(address)[0])
        kind = board.kinds.get(source)
        allowed = PARTS.get(kind or "", frozenset({kind or ""})) | _RELATED.get(kind or "", frozenset())
        kinds = {board.kinds.get(view.root(output)) for output in outputs}
        if kind is not None and kinds <= allowed | {kind}:
            continue
        if len(kinds - {None}) == 0:
            continue
        for _ in range(12):
            board.kinds[source] = "joint features"
            maker = view.producer(source)
            carried = board.carries(maker) if maker is not None else ()
            if maker is None or view.projected(maker) is not None or len(carried) != 1:
                break
            source = view.root(carried[0])


_RELATED = {"latent and shared key": frozenset(["key-value latent", "shared key", "keys"])}


def indexed_part(index: Any, before: tuple[Dimension, ...], after: tuple[Dimension, ...]) -> str | None:
    """The part that an index of the last axis takes: every second feature, or one half."""
    items = index.get("list") if isinstance(index, dict) else None
    last = items[-1] if isinstance(items, list) and items else None
    bounds = last.get("slice") if isinstance(last, dict) else None
    if not isinstance(bounds, list) or len(bounds) != 3 or not before or len(before) != len(after):
        return None
    if any(old != new for old, new in zip(before[:-1], after[:-1], strict=True)):
        return None
    start, stop, step = bounds
    if step == 2:
        return "odd features" if start == 1 else "even features"
    if step in (None, 1) and _is_half(before[-1], after[-1]):
        if start in (None, 0) and stop is not None:
            return "first half"
        if start is not None and stop is None:
            return "second half"
    return None


def _is_half(whole: Dimension, part: Dimension) -> bool:
    if isinstance(whole, Symbolic | Constant) and isinstance(part, Symbolic | Constant):
        return whole.value is not None and part.value is not None and whole.value == 2 * part.value
    return False


def _is_rotated(board: Board, tensor: str, depth: int = 4) -> bool:
    """Whether a part is soon multiplied by cosines."""
    view = board.view
    for reader in view.readers(tensor):
        place = board.places.get(reader)
        if place is not None and place.name == "times cosines":
            return True
        follows = view.word(reader) in ("getitem", "chunk", "split", "stack", "view_as_complex")
        if depth and follows and any(_is_rotated(board, output, depth - 1) for output in view.outputs(reader)):
            return True
    return False
