"""The decay of a recurrent state: from its projection to the exponential, and its sums over a chunk."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.view import MOVING


def mark_chain(board: Board, tensor: str, kind: str) -> None:
    """Name a tensor, and what it was before it was moved."""
    view, current = board.view, tensor
    for _ in range(20):
        board.mark(current, kind)
        maker = view.made_by(current)
        if maker is None or view.word(maker) not in MOVING or view.word(maker) in ("cat", "stack"):
            return
        current = view.inputs(maker)[0]


def name_decay(board: Board, decay: str) -> None:
    """The decay is the exponential of a log decay; its cumulative sum belongs to chunks."""
    view, current = board.view, decay
    for _ in range(12):
        maker = view.made_by(current)
        if maker is None:
            return
        word = view.word(maker)
        if word in ("exp", "exp2"):
            board.place(maker, "decay", x=view.inputs(maker)[0])
            board.mark(current, "decay")
            board.mark(view.output(maker), "decay")
            current = view.inputs(maker)[0]
            break
        board.mark(current, "decay")
        current = view.inputs(maker)[0]
    cumulative = through_moves(board, current)
    maker = view.made_by(cumulative)
    if maker is not None and view.word(maker) == "cumsum":
        board.place(maker, "cumulative decay", x=view.inputs(maker)[0])
        mark_chain(board, current, "total decay")
        current = view.inputs(maker)[0]
    mark_chain(board, current, "log decay")
    _log_decay(board, through_moves(board, current))


def through_moves(board: Board, tensor: str) -> str:
    """What a tensor was before it was moved."""
    view = board.view
    for _ in range(12):
        maker = view.made_by(tensor)
        if maker is None or view.word(maker) not in MOVING or view.word(maker) in ("cat", "stack"):
            return view.root(tensor)
        tensor = view.inputs(maker)[0]
    return view.root(tensor)


def _log_decay(board: Board, tensor: str) -> None:
    """Steps from a projection with bias and rate to the log decay; before its sigmoid or softplus it is a gate."""
    view, seen = board.view, set[str]()
    pending = [(tensor, "log decay")]
    for current, kind in pending:
        maker = view.made_by(current)
        if maker is None or maker in seen or len(seen) > 25:
            continue
        seen.add(maker)
        if view.projected(maker) is not None:
            board.mark(view.output(maker), kind)
            continue
        word, inputs = view.word(maker), view.inputs(maker)
        features = [operand for operand in inputs if not view.is_weight(operand)]
        weights = [operand for operand in inputs if view.is_weight(operand)]
        if word in MOVING:
            pending.extend((operand, kind) for operand in inputs[:1])
            continue
        names = {
            "add": "decay bias" if weights else "part of decay",
            "multiply": "decay rate product" if weights else _bound(board, features),
            "softplus": "decay softplus",
            "sigmoid": "decay sigmoid",
            "neg": "negate decay",
        }
        board.place(maker, names.get(word, "part of decay"), x=features[0] if features else None)
        made, before = _kinds(board, maker, kind)
        board.mark(view.output(maker), made)
        for weight in weights:
            _rate(board, weight)
        pending.extend((operand, before) for operand in features)


def _kinds(board: Board, maker: str, kind: str) -> tuple[str, str]:
    """What a step of the log decay makes, and what it was before.

    A softplus or clamp whose result more than the rate reads gives a step size, which the inputs are scaled by too.
    """
    view, word = board.view, board.view.word(maker)
    if word in ("softplus", "clamp"):
        sized = kind == "step size" or len(_readers(board, view.output(maker) or "")) > 1
        return ("step size", "step size") if sized else ("forget gate", "forget gate")
    if word in ("sigmoid", "log", "log1p"):  # a softplus that is written out ends in a logarithm
        return "forget gate", "forget gate"
    if word == "where":
        return "forget gate" if kind == "log decay" else kind, "forget gate" if kind == "log decay" else kind
    return kind, kind


def _readers(board: Board, tensor: str) -> set[str]:
    """What computes with a tensor, also after it was moved."""
    view, found, pending = board.view, set[str](), [tensor]
    for current in pending:
        for reader in view.readers(current):
            if view.word(reader) in MOVING and view.word(reader) not in ("cat", "stack", "copy", "setitem"):
                pending.extend(view.outputs(reader))
            else:
                found.add(reader)
    return found


def _bound(board: Board, features: list[str]) -> str:
    """A number times a sigmoid bounds the log decay; times anything else it is one more step."""
    maker = board.view.made_by(features[0]) if len(features) == 1 else None
    return "decay bound" if board.view.word(maker) == "sigmoid" else "part of decay"


def _rate(board: Board, weight: str) -> None:
    """exp of a parameter (negated or not): the rate of decay of each head."""
    view = board.view
    for _ in range(6):
        maker = view.made_by(weight)
        if maker is None or not view.inputs(maker):
            return
        if view.word(maker) in ("exp", "neg", "exp2"):
            board.place(maker, "decay rate" if view.word(maker) != "neg" else "negative rate", x=view.output(maker))
        weight = view.inputs(maker)[0]


def find_cumulative(board: Board, address: str) -> None:
    """A cumulative sum whose differences are exponentiated: decays between positions of a chunk."""
    view = board.view
    output = view.output(address)
    for reader in view.readers(output) if output is not None else ():
        result = view.output(reader)
        if view.word(reader) == "subtract" and result is not None and _grows_exponential(board, result):
            board.place(address, "cumulative decay", x=view.inputs(address)[0])
            board.place(reader, "decay between", x=output)
            board.mark(output, "total decay")
            board.mark(result, "decay between")
            board.anchor("chunk", address)
            mark_chain(board, view.inputs(address)[0], "log decay")
            _log_decay(board, through_moves(board, view.inputs(address)[0]))


def _grows_exponential(board: Board, tensor: str, depth: int = 3) -> bool:
    view = board.view
    for reader in view.readers(tensor):
        if view.word(reader) == "exp":
            board.place(reader, "decay", x=view.inputs(reader)[0])
            board.mark(view.output(reader), "decay")
            return True
        output = view.output(reader)
        hiding = view.word(reader) in ("masked_fill", "tril", "where", "getitem")
        if depth and output and hiding and _grows_exponential(board, output, depth - 1):
            board.place(reader, "hide later", x=view.inputs(reader)[0], y=view.inputs(reader)[-1])
            return True
    return False
