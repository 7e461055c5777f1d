"""Positions: their numbers, rotary angles with cosines and sines, and the rotation of features by them."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board, Place
from openmodelatlas.annotation.roles.view import MOVING

TABLES = {"cos": "cosines", "sin": "sines"}


def find_rotary(board: Board) -> None:
    """Cosines and sines of angles, and what is multiplied by both."""
    view = board.view
    for address in view.computing:
        word = view.word(address)
        if word not in TABLES:
            continue
        board.place(address, word, x=view.inputs(address)[0])
        output = view.output(address)
        if output is not None:
            board.flow([output], TABLES[word])
        _angles(board, view.inputs(address)[0])
    for tensor, kind in list(board.kinds.items()):
        if kind in TABLES.values():
            board.side.add(tensor)
            _name_table(board, tensor, kind)
    _products(board)


def _angles(board: Board, tensor: str) -> None:
    """What the cosine is taken of: positions times frequencies, perhaps repeated for both halves."""
    view = board.view
    current: str | None = view.root(tensor)
    while current is not None and board.mark(current, "angles"):
        producer = view.producer(current)
        if producer is None:
            return
        word = view.word(producer)
        if word in ("cat", "stack", "getitem", "repeat", "repeat_interleave"):
            board.place(
                producer, "repeat angles" if word in ("cat", "stack", "repeat", "repeat_interleave") else "moved"
            )
            current = view.root(view.inputs(producer)[0])
            continue
        if word in ("multiply", "matmul", "outer", "einsum", "bmm"):
            inputs = view.inputs(producer)
            board.place(producer, "angles", x=inputs[0])
            for operand in inputs:
                if view.is_weight(operand):
                    name = view.parameter_of(operand)
                    if name is not None:
                        board.kinds.setdefault(name, "frequencies")
                else:
                    back_to_positions(board, operand, "positions")
        return


def back_to_positions(board: Board, tensor: str, kind: str) -> None:
    """Name counted positions backwards through moves, casts and offsets, to the counting itself."""
    view = board.view
    current: str | None = view.root(tensor)
    while current is not None:
        if board.kinds.setdefault(current, kind) not in (kind, "positions"):
            return
        producer = view.producer(current)
        if producer is None:
            return
        word = view.word(producer)
        if word == "arange":
            board.place(producer, "count", x=current)
            return
        if word == "add" and len(view.inputs(producer)) == 1:
            board.place(producer, "offset", x=current)
        elif word in MOVING:
            board.place(
                producer, "insert axes" if word == "getitem" and axes_only(board, producer) else "moved", x=current
            )
        else:
            return
        current = view.root(view.inputs(producer)[0])


def axes_only(board: Board, address: str) -> bool:
    """Whether an index only inserts axes: whole slices, an ellipsis and ``None``."""
    if board.view.word(address) != "getitem":
        return False
    index = board.view.nodes[address].arguments.get("1")
    items = index.get("list") if isinstance(index, dict) else None
    if not isinstance(items, list) or None not in items:
        return False
    whole = ({"slice": [None, None, None]}, {"ellipsis": True}, None)
    return all(item in whole for item in items)


def _name_table(board: Board, tensor: str, kind: str) -> None:
    view = board.view
    producer = view.producer(tensor)
    if producer is None:
        return
    word = view.word(producer)
    if word == "multiply":
        board.place(producer, "scale table", x=tensor)
    elif word in MOVING:
        board.place(producer, "part of table" if not axes_only(board, producer) else "insert axes", x=tensor)


def _products(board: Board) -> None:
    """Features times cosines or sines; a sum, difference or concatenation of both kinds is the rotation."""
    view = board.view
    for address in view.computing:
        if view.word(address) != "multiply":
            continue
        inputs = view.inputs(address)
        tables = [tensor for tensor in inputs if board.kind(tensor) in TABLES.values()]
        features = [tensor for tensor in inputs if tensor not in tables]
        if len(tables) != 1 or len(features) != 1:
            continue
        board.place(address, f"times {board.kind(tables[0])}", x=features[0], y=tables[0])
        board.carried[address] = (features[0],)
    for address in view.computing:
        if view.word(address) not in ("add", "subtract"):
            continue
        makers = [view.made_by(tensor) for tensor in view.inputs(address)]
        names = sorted(place.name for maker in makers if maker and (place := board.places.get(maker)))
        if names == ["times cosines", "times sines"]:
            board.place(
                address, "rotated sum" if view.word(address) == "add" else "rotated difference", x=view.output(address)
            )
            board.anchor("rotation", address)
            _half_turn(board, address)
    for address in view.computing:
        if view.word(address) in ("cat", "stack"):
            _joined_pairs(board, address)


def _joined_pairs(board: Board, address: str) -> None:
    """First and second features of all pairs, rotated apart and joined."""
    view = board.view
    makers = [view.made_by(tensor) for tensor in view.inputs(address)]
    names = [place.name if maker and (place := board.places.get(maker)) else "" for maker in makers]
    if sorted(names) != ["rotated difference", "rotated sum"]:
        return
    second = makers[names.index("rotated sum")]
    if second is not None:
        board.places[second] = Place("rotated second", x=view.output(second))
    board.place(address, "join rotated", x=view.output(address))


def _half_turn(board: Board, address: str) -> None:
    """``cat(-second, first)``: what is multiplied by the sines in the half-split form."""
    view = board.view
    for tensor in view.inputs(address):
        maker = view.made_by(tensor)
        if maker is None or board.places[maker].name != "times sines":
            continue
        turned = view.made_by(board.places[maker].x or "")
        if turned is None or view.word(turned) not in ("cat", "stack"):
            continue
        for part in view.inputs(turned):
            negation = view.made_by(part)
            if negation is not None and view.word(negation) == "neg":
                board.place(negation, "negated half", x=part)
                board.place(turned, "turned halves", x=view.output(turned))
