"""Small places that many mechanisms have: scales, dropout, triangles of positions, and what overlaps become."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board, is_exponential
from openmodelatlas.annotation.roles.view import MOVING, View

OVERLAPS = frozenset(["key overlap", "query overlap"])
KEEPING = frozenset(["sum", "masked_fill", "tril", "triu", "neg", "clone", "getitem", "setitem", "where"])
STREAM = frozenset(
    [
        "block input",
        "block output",
        "embedding",
        "running sum",
        "next running sum",
        "after attention",
        "sum after attention",
        "depth mixture",
        "sums",
    ]
)


def find_dropouts(board: Board) -> None:
    """Dropout changes nothing here: what comes out is what went in."""
    for address in reversed(board.view.computing):
        if board.view.word(address) == "dropout" and address not in board.places:
            source = board.view.inputs(address)[0]
            kind = board.kind(board.view.output(address)) or board.kind(source)
            if kind is not None:
                board.mark(source, kind)
                board.mark(board.view.output(address), kind)
            board.place(address, "dropout", x=source)


def flow_norms(board: Board) -> None:
    """What a norm makes of something known keeps its name, unless a mechanism reads it under another."""
    view = board.view
    for address in view.computing:
        place = board.places.get(address)
        if place is None or address not in board.carried or not place.name.startswith(("normalise by", "gain")):
            continue
        kind = board.kind(board.carried[address][0])
        if kind is not None and kind not in STREAM:
            board.mark(view.output(address), kind)


def find_scales(board: Board) -> None:
    """Products of something known with a number."""
    view = board.view
    for address in view.computing:
        word, inputs = view.word(address), view.inputs(address)
        if word not in ("multiply", "divide") or len(inputs) != 1 or address in board.places or view.squares(address):
            continue
        kind = board.kind(inputs[0]) or board.kind(view.output(address))
        if kind is not None:
            board.place(address, "scale", x=inputs[0])
            board.mark(inputs[0], kind)
            board.mark(view.output(address), kind)


COMPARISONS = frozenset(["eq", "ne", "lt", "le", "gt", "ge", "any", "all", "logical_not", "isnan"])


def find_tests(board: Board) -> None:
    """Values that the code reads to decide which way to go, and the comparison before."""
    view = board.view
    for address in view.computing:
        if view.word(address) != "truth" or address in board.places or not view.inputs(address):
            continue
        test = view.made_by(view.inputs(address)[0])
        board.place(address, "read test", x=view.inputs(address)[0])
        while test is not None and view.word(test) in COMPARISONS and view.inputs(test):
            board.place(test, "test", x=view.inputs(test)[0])
            test = view.made_by(view.inputs(test)[0])


def find_triangles(board: Board) -> None:
    """One triangle of a matrix of ones: which pairs of positions come later, or earlier."""
    view = board.view
    for address in view.computing:
        word, inputs = view.word(address), view.inputs(address)
        if word not in ("tril", "triu") or not inputs or address in board.places:
            continue
        start = view.made_by(inputs[0])
        if start is None or view.word(start) not in ("ones", "new_ones", "ones_like", "full"):
            continue
        diagonal = view.nodes[address].arguments.get("diagonal", view.nodes[address].arguments.get("1", 0))
        name = _triangle(word, diagonal if isinstance(diagonal, int) else 0)
        board.place(start, "pairs of positions", x=view.output(start))
        board.place(address, "triangle of positions", x=view.output(address), pairs=name)
        board.mark(view.output(address), name)
        for reader in view.readers(view.output(address) or ""):
            if view.word(reader) == "logical_not":
                board.place(reader, "other pairs", x=view.output(address), pairs=REST[name])
                board.mark(view.output(reader), REST[name])


REST = {
    "later positions": "same and earlier positions",
    "same and later positions": "earlier positions",
    "earlier positions": "same and later positions",
    "same and earlier positions": "later positions",
}
"""Which pairs a triangle leaves out."""


def _triangle(word: str, diagonal: int) -> str:
    if word == "triu":
        return "later positions" if diagonal > 0 else "same and later positions"
    return "earlier positions" if diagonal < 0 else "same and earlier positions"


def flow_overlaps(board: Board) -> None:
    """Overlaps of positions stay what they are when masked, negated, copied, or scaled by one number a position."""
    view = board.view
    for address in view.computing:
        inputs, word, output = view.inputs(address), view.word(address), view.output(address)
        if word in ("solve_triangular", "matmul", "bmm", "einsum"):
            _used(board, address)
        if not inputs or output is None or board.kind(output) is not None:
            continue
        if word in KEEPING:
            kind = board.kind(inputs[0])
            if word in ("setitem", "where"):
                kind = kind or board.kind(inputs[-1])
        elif word in ("multiply", "add"):
            kinds = [board.kind(tensor) for tensor in inputs if not _plain(view, tensor)]
            kinds = [kind for kind in kinds if kind not in ("beta", "decay")]
            kind = kinds[0] if len(set(kinds)) == 1 else None
        else:
            continue
        if kind in OVERLAPS and kind is not None:
            board.mark(output, kind)
            if word in STEPS:
                others = [tensor for tensor in inputs if view.root(tensor) != view.root(inputs[0])]
                alone = word == "multiply" and not others
                board.place(address, "scale" if alone else STEPS[word], x=output, y=others[0] if others else None)


STEPS = {
    "masked_fill": "mask overlaps",
    "tril": "mask overlaps",
    "triu": "mask overlaps",
    "neg": "negate overlaps",
    "multiply": "scale overlaps",
    "add": "add identity",
    "setitem": "fill overlaps",
}


def _used(board: Board, address: str) -> None:
    """What overlaps are multiplied with, or solved for."""
    view = board.view
    inputs = view.inputs(address)
    kinds = [board.kind(tensor) for tensor in inputs]
    if len(inputs) != 2 or kinds[0] not in OVERLAPS:
        return
    if view.word(address) == "solve_triangular":
        board.place(address, "solve chunk", x=inputs[1])
    elif view.word(address) in ("matmul", "bmm", "einsum"):
        reads = kinds[0] == "query overlap"
        board.place(address, "read chunk" if reads else "correct chunk", x=inputs[1])


def _plain(view: View, tensor: str) -> bool:
    maker = view.made_by(tensor)
    return view.is_weight(tensor) or (maker is not None and view.word(maker) in ("eye", "sigmoid", "pad"))


def find_decays(board: Board) -> None:
    """Differences of cumulative log decays, and exponentials of log decays of any kind."""
    view = board.view
    for flowing in ("total decay", "log decay", "step size"):
        board.flow([tensor for tensor, kind in board.kinds.items() if kind == flowing], flowing)
    logs = ("log decay", "total decay", "decay between")
    for tensor in [tensor for tensor, kind in board.kinds.items() if kind == "total decay"]:
        for reader in view.readers(tensor):
            output = view.output(reader)
            if view.word(reader) in MOVING and view.word(reader) not in ("cat", "stack"):
                board.mark(output, "total decay")
    for address in view.computing:
        word, inputs, output = view.word(address), view.inputs(address), view.output(address)
        kinds = {board.kind(tensor) for tensor in inputs}
        if word == "cumsum" and _masked_log(board, inputs[0]):
            board.place(address, "decay between sums", x=inputs[0])
            board.mark(output, "decay between")
        elif word == "subtract" and kinds == {"total decay"}:
            board.place(address, "decay between", x=inputs[0])
            board.mark(output, "decay between")
        elif word in ("masked_fill", "where") and inputs and board.kind(inputs[0]) == "decay between":
            board.place(address, "hide later", x=inputs[0], y=inputs[-1])
            board.mark(output, "decay between")
        elif word in ("exp", "exp2") and inputs and board.kind(inputs[0]) in logs:
            board.place(address, "decay", x=inputs[0])
            board.mark(output, "decay")
        elif word == "multiply" and len(inputs) == 2 and is_exponential(view, inputs[1]):
            kind = board.kind(inputs[0])
            if kind in ("keys", "queries"):
                board.place(address, "decayed", x=inputs[0])
                board.mark(output, kind)


def _masked_log(board: Board, tensor: str) -> bool:
    """Whether a tensor is a log decay of which a triangle is set to 0."""
    maker = board.view.made_by(tensor)
    if maker is None or board.view.word(maker) not in ("masked_fill", "tril", "triu"):
        return False
    source = board.view.inputs(maker)[0]
    if board.kind(source) not in ("log decay", "total decay"):
        return False
    board.place(maker, "masked decay", x=source)
    board.mark(tensor, board.kind(source) or "log decay")
    return True
