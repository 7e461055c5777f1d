"""Masks: comparisons of query and key positions, combined, and turned into something to add or to fill with."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.positions import axes_only, back_to_positions
from openmodelatlas.annotation.roles.view import MOVING

COMPARISONS = frozenset(["le", "lt", "ge", "gt", "eq", "ne"])
CONNECTIVES = frozenset(["logical_and", "logical_or", "logical_not"])


def name_mask(board: Board, tensor: str) -> None:
    """Name what a mask is made of, from where the scores take it back to the positions."""
    view, pending = board.view, [(tensor, "mask")]
    for current, asked in pending:
        kind = asked
        root = view.root(current)
        producer = view.producer(root)
        word = view.word(producer)
        if word in COMPARISONS | CONNECTIVES or word in ("new_ones", "ones", "full", "tril", "triu"):
            kind = "visible"
        if not board.mark(root, kind) or producer is None:
            continue
        inputs = view.inputs(producer)
        if word in COMPARISONS:
            _comparison(board, producer)
        elif word in CONNECTIVES:
            name = {"logical_and": "both visible", "logical_or": "either visible", "logical_not": "hidden"}[word]
            board.place(producer, name, x=root)
            pending += [(operand, "visible") for operand in inputs]
        elif word == "where":
            board.place(producer, "additive mask", x=root)
            if inputs:
                pending.append((inputs[0], "visible"))
            for operand in inputs[1:]:
                board.place(view.made_by(operand), "visible value", x=root)
        elif word in ("masked_fill", "multiply", "subtract", "rsub"):
            board.place(producer, "additive mask", x=root)
            pending += [(operand, "mask") for operand in inputs]
        elif word in ("tril", "triu"):
            board.place(producer, "triangle", x=root)
            pending += [(operand, "visible") for operand in inputs]
        elif word in ("new_ones", "ones", "full", "zeros"):
            board.place(producer, "all visible", x=root)
        elif word in MOVING:
            name = "insert axes" if word == "getitem" and axes_only(board, producer) else "part of mask"
            board.place(producer, name, x=root)
            pending += [(operand, kind) for operand in inputs[:1]]


def _comparison(board: Board, address: str) -> None:
    """``key <= query`` is causal; ``key > query - window`` keeps a window; equality joins the same sequence."""
    view, word = board.view, board.view.word(address)
    inputs = view.inputs(address)
    if len(inputs) != 2:
        board.place(address, "visible by number", x=inputs[0] if inputs else None)
        return
    shifted = [_offset(board, tensor) for tensor in inputs]
    if any(shifted):
        board.place(address, "window", x=inputs[0])
        board.anchor("window", address)
    elif word in ("eq", "ne"):
        board.place(address, "same sequence", x=inputs[0])
    else:
        board.place(address, "causal", x=inputs[0])
        board.anchor("causal", address)
    first, second = (
        ("key positions", "query positions") if word in ("le", "lt") else ("query positions", "key positions")
    )
    if any(shifted):
        first, second = ("query positions", "key positions") if shifted[0] else ("key positions", "query positions")
    for operand, kind in zip(inputs, (first, second), strict=True):
        tensor, offset = operand, _offset(board, operand)
        if offset is not None:
            board.place(offset, "window edge", x=view.inputs(offset)[0])
            board.mark(tensor, "window edge")
            tensor = view.inputs(offset)[0]
        back_to_positions(board, tensor, kind)


def _offset(board: Board, tensor: str) -> str | None:
    """What subtracts a number from positions; ``None`` if nothing does."""
    maker = board.view.made_by(tensor)
    is_offset = maker is not None and board.view.word(maker) == "subtract" and len(board.view.inputs(maker)) == 1
    return maker if is_offset else None
