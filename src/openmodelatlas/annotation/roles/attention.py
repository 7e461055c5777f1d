"""Attention: a softmax of products between two tensors, whose weights mix a third."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.masks import name_mask

KEEPING = frozenset(["dropout", "getitem", "clone", "nan_to_num"])
BETWEEN = (
    frozenset(["multiply", "divide", "add", "subtract", "masked_fill", "where", "clamp", "tanh", "cat", "maximum"])
    | KEEPING
)
FUSED = frozenset(
    ["scaled_dot_product_attention", "flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache"]
)


def find_attention(board: Board) -> None:
    """Every softmax over scores, and every fused attention."""
    for address in board.view.computing:
        word = board.view.word(address)
        if word == "softmax":
            _around_softmax(board, address)
        elif word in FUSED:
            _fused(board, address)


def _fused(board: Board, address: str) -> None:
    """A call that takes queries, keys and values in this order."""
    inputs = board.view.inputs(address)
    if len(inputs) < 3:
        return
    for tensor, kind in zip(inputs, ("queries", "keys", "values"), strict=False):
        board.spread(tensor, kind)
    board.place(address, "fused attention", x=inputs[0])
    board.mark(board.view.output(address), "mixed values")
    board.anchor("attention", address)
    for tensor in inputs[3:]:
        name_mask(board, tensor)


def _around_softmax(board: Board, softmax: str) -> None:
    """scores = product of two tensors, both made from features; mix = product of the weights with a third."""
    view = board.view
    if not view.inputs(softmax):
        return
    scores, between = _scores(board, softmax)
    weights = view.output(softmax)
    mix = _mix(board, weights) if weights is not None else None
    if scores is None or mix is None or weights is None:
        return
    product, values = mix
    if view.word(scores) == "sum" or view.projected(scores) is not None:
        return
    queries, keys = view.inputs(scores)[:2]
    board.anchor("attention", product)
    board.place(scores, "scores", x=queries, y=keys)
    board.place(softmax, "softmax", x=view.inputs(softmax)[0])
    board.place(product, "mix", x=weights, y=values)
    board.mark(view.output(product), "mixed values")
    board.mark(view.output(scores), "scores")
    _name_between(board, between)
    board.flow([weights], "weights")
    _name_after(board, weights)
    board.spread(queries, "queries")
    board.spread(keys, "keys")
    board.spread(values, "values")


def _scores(board: Board, softmax: str) -> tuple[str | None, list[str]]:
    """The product that the softmax is of, and what lies between (scale, mask, sinks), last first."""
    view, between = board.view, list[str]()
    current = view.made_by(view.inputs(softmax)[0])
    for _ in range(20):
        if current is None:
            return None, between
        word = view.word(current)
        features = [tensor for tensor in view.inputs(current) if not view.is_weight(tensor)]
        if word in ("matmul", "einsum", "bmm", "baddbmm") and len(features) >= 2:
            return current, between
        if word not in BETWEEN:
            return None, between
        between.append(current)
        following = [tensor for tensor in features if _leads_to_product(board, tensor)]
        if not following:
            return None, between
        current = view.made_by(following[0])
    return None, between


def _leads_to_product(board: Board, tensor: str) -> bool:
    view = board.view
    for _ in range(20):
        maker = view.made_by(tensor)
        if maker is None:
            return False
        word = view.word(maker)
        if word in ("matmul", "einsum", "bmm", "baddbmm"):
            return True
        if word not in BETWEEN:
            return False
        features = [candidate for candidate in view.inputs(maker) if not view.is_weight(candidate)]
        if not features:
            return False
        if len(features) > 1:
            return any(_leads_to_product(board, candidate) for candidate in features)
        tensor = features[0]
    return False


def _mix(board: Board, weights: str) -> tuple[str, str] | None:
    """The product of the weights with something else, behind casts, dropout and slices."""
    view, pending = board.view, [weights]
    for tensor in pending:
        for reader in view.readers(tensor):
            word, inputs = view.word(reader), view.inputs(reader)
            if word in ("matmul", "einsum", "bmm") and len(inputs) >= 2:
                others = [other for other in inputs if view.root(other) != view.root(tensor)]
                if others:
                    return reader, others[0]
            output = view.output(reader)
            if word in KEEPING and output is not None and len(pending) < 12:
                pending.append(output)
    return None


def _name_between(board: Board, between: list[str]) -> None:
    view = board.view
    for address in between:
        word, inputs = view.word(address), view.inputs(address)
        output = view.output(address)
        board.mark(output, "scores")
        features = [tensor for tensor in inputs if not view.is_weight(tensor)]
        accompanying = [tensor for tensor in features if not _leads_to_product(board, tensor)]
        if word in ("multiply", "divide") and len(inputs) == 1:
            board.place(address, "scale scores", x=inputs[0])
        elif word == "cat":
            board.place(address, "append sinks", x=inputs[0])
            for tensor in inputs:
                if view.is_weight(tensor):
                    board.kinds.setdefault(view.parameter_of(tensor) or "", "sinks")
        elif word == "tanh":
            board.place(address, "cap scores", x=inputs[0])
        elif word == "subtract":
            board.place(address, "subtract largest", x=inputs[0])
            for tensor in accompanying:
                board.place(view.made_by(tensor), "largest score", x=inputs[0])
        elif word in ("add", "masked_fill", "where") and accompanying:
            board.place(address, "add mask" if word == "add" else "fill mask", x=features[0], y=accompanying[0])
            for tensor in accompanying:
                name_mask(board, tensor)


def _name_after(board: Board, weights: str) -> None:
    view, pending = board.view, [weights]
    for tensor in pending:
        for reader in view.readers(tensor):
            output = view.output(reader)
            if view.word(reader) in KEEPING and output is not None and len(pending) < 12:
                board.place(reader, "drop sinks" if view.word(reader) == "getitem" else "dropout", x=tensor)
                board.mark(output, "weights")
                pending.append(output)
