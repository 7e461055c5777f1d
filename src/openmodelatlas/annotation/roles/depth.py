"""Attention residuals: a softmax over stored sums of the residual stream, one score each from a learned query."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board, Place


def find_depth(board: Board) -> None:
    """Sums joined along an axis, normalised, scored against parameters, softmaxed, and mixed by the weights.

    What is mixed is what was scored: the values are the joined sums themselves (arXiv 2603.15031).
    """
    view = board.view
    for softmax in view.computing:
        if view.word(softmax) != "softmax" or softmax in board.places:
            continue
        scores = view.made_by(view.inputs(softmax)[0])
        weights = view.output(softmax)
        if scores is None or weights is None:
            continue
        product = view.made_by(view.inputs(scores)[0]) if view.word(scores) == "sum" else None
        keys = _keys(board, product or scores)
        weighted, mix = _mix(board, weights)
        if keys is None or mix is None:
            continue
        values = [tensor for tensor in view.inputs(weighted or mix) if view.root(tensor) != view.root(weights)]
        sources = _sources(board, keys)
        if not values or view.root(values[0]) not in sources:
            continue
        join = view.made_by(values[0])
        if join is None or view.word(join) not in ("cat", "stack"):
            continue
        _name(board, join, keys, product, scores, softmax, mix)
        if weighted is not None:
            board.place(weighted, "weighted sums", x=values[0])
            board.carried.pop(weighted, None)


def _mix(board: Board, weights: str) -> tuple[str | None, str | None]:
    """What mixes by the weights: one matrix product, or an elementwise product (the first of the two) and its sum."""
    view = board.view
    for reader in view.readers(weights):
        if view.word(reader) in ("matmul", "einsum", "bmm"):
            return None, reader
        result = view.output(reader) if view.word(reader) == "multiply" else None
        for adder in view.readers(result) if result is not None else ():
            if view.word(adder) == "sum":
                return reader, adder
    return None, None


def _keys(board: Board, address: str) -> str | None:
    """The operand that is not a weight, of a product with a weight."""
    view = board.view
    features = [tensor for tensor in view.inputs(address) if not view.is_weight(tensor)]
    return features[0] if len(features) == 1 and len(view.inputs(address)) == 2 else None


def _sources(board: Board, tensor: str) -> set[str]:
    """What a tensor was before norms."""
    view, pending, seen = board.view, [tensor], set[str]()
    for current in pending:
        root = view.root(current)
        seen.add(root)
        maker = view.producer(root)
        if maker is not None and maker in board.carried:
            pending.extend(board.carried[maker])
    return seen


def _name(board: Board, join: str, keys: str, product: str | None, scores: str, softmax: str, mix: str) -> None:
    view = board.view
    joined = view.output(join)
    board.place(join, "join sums", x=joined)
    board.mark(joined, "sums")
    board.mark(keys, "depth keys")
    if product is not None:
        board.places[product] = Place("score sums product", x=keys)
        board.carried.pop(product, None)
        for tensor in view.inputs(product):
            if view.is_weight(tensor):
                board.mark(tensor, "depth query")
                board.place(view.made_by(tensor), "learned query", x=tensor)
    board.place(scores, "score sums", x=keys)
    board.mark(view.output(scores), "depth scores")
    board.place(softmax, "weigh sums", x=view.output(scores))
    board.mark(view.output(softmax), "depth weights")
    board.place(mix, "mix sums", x=joined)
    board.mark(view.output(mix), "depth mixture")
    board.anchor("depth", mix)
    for tensor, kind in zip(view.inputs(join), ("stored sums", "running sum"), strict=False):
        board.mark(tensor, kind)
    _storing(board, join)


def _storing(board: Board, join: str) -> None:
    """A concatenation of the stored sums with the running sum that layers hand on is the storing of it."""
    view = board.view
    stored = [tensor for tensor in view.inputs(join) if board.kind(tensor) == "stored sums"]
    pending, seen = [view.root(tensor) for tensor in stored], set[str]()
    for tensor in pending:
        if tensor in seen:
            continue
        seen.add(tensor)
        maker = view.producer(tensor)
        word = view.word(maker)
        if word in ("cat", "stack") and maker is not None:
            board.place(maker, "store sum", x=tensor)
            board.kinds[tensor] = "stored sums"
            board.anchor("storing", maker)
            pending.extend(view.root(operand) for operand in view.inputs(maker)[:1])
        elif word in ("new_zeros", "zeros", "new_empty", "empty") and maker is not None:
            board.place(maker, "no sums", x=tensor)
            board.mark(tensor, "stored sums")
