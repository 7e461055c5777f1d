"""Feed-forward networks: a product of an activated gate with a second projection, or one activation between two."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.parts import indexed_part
from openmodelatlas.annotation.roles.view import MOVING

ACTIVATIONS = frozenset(
    [
        "silu",
        "gelu",
        "relu",
        "sigmoid",
        "tanh",
        "mish",
        "elu",
        "leaky_relu",
        "softplus",
        "relu_",
        "hardtanh",
        "logsigmoid",
    ]
)
SHAPING = (
    ACTIVATIONS
    | MOVING
    | frozenset(["clamp", "pow", "multiply", "divide", "add", "subtract", "erf", "exp", "square", "neg"])
)


def find_feed_forward(board: Board) -> None:
    """Every product whose result a linear layer reads, made of two projections, one of them activated."""
    view = board.view
    for address in view.computing:
        projected = view.projected(address)
        if projected is None:
            continue
        middle = view.made_by(projected)
        while middle is not None and view.word(middle) in ("dropout", "clone"):
            middle = view.made_by(view.inputs(middle)[0])
        if middle is None or middle in board.places:
            continue
        if view.word(middle) == "multiply" and len(view.inputs(middle)) == 2:
            _gated(board, middle, address)
        elif view.word(middle) in ACTIVATIONS or view.word(middle) in ("multiply", "pow", "square"):
            _plain(board, middle, address)


def _cone(board: Board, tensor: str) -> tuple[set[str], set[str]]:
    """Operations from a tensor back to the products with weights that it comes from, and these products."""
    view, pending, steps, products = board.view, [board.view.root(tensor)], set[str](), set[str]()
    seen = set[str]()
    for current in pending:
        if current in seen:
            continue
        seen.add(current)
        maker = view.producer(current)
        if maker is None:
            continue
        if view.projected(maker) is not None:
            products.add(maker)
        elif view.word(maker) in SHAPING:
            steps.add(maker)
            inputs = _own_half(board, maker)
            if view.word(maker) in MOVING and view.word(maker) not in ("cat", "stack"):
                inputs = inputs[:1]
            pending.extend(view.root(operand) for operand in inputs if not view.is_weight(operand))
        else:
            products.add("")
    return steps, products


def _own_half(board: Board, address: str) -> list[str]:
    """What an operation reads; of one half of two joined projections only the projection that it is."""
    view, inputs = board.view, board.view.inputs(address)
    joining = view.made_by(inputs[0]) if inputs else None
    if view.word(address) != "getitem" or joining is None or view.word(joining) != "cat":
        return inputs
    joined = view.inputs(joining)
    part = indexed_part(
        view.nodes[address].arguments.get("1"), view.shape(inputs[0]), view.shape(view.outputs(address)[0])
    )
    if len(joined) != 2 or part not in ("first half", "second half"):
        return inputs
    return [joined[0] if part == "first half" else joined[1]]


def _gated(board: Board, middle: str, down: str) -> None:
    """activation(gate(x)) * up(x), then down; both halves may come from one projection."""
    view = board.view
    first, second = view.inputs(middle)
    cones = {tensor: _cone(board, tensor) for tensor in (first, second)}
    if any("" in products or not products for _, products in cones.values()):
        return
    if cones[first][1] == cones[second][1] and not _splits(board, cones[first][0] | cones[second][0]):
        _plain(board, middle, down)
        return
    strength = {tensor: _activated(board, steps) for tensor, (steps, _) in cones.items()}
    if strength[first] == strength[second] or max(strength.values()) == 0:
        return
    gate, up = (first, second) if strength[first] > strength[second] else (second, first)
    same = {view.projected(product) for _, products in cones.values() for product in products}
    if len({view.root(source) for source in same if source is not None}) != 1:
        return
    _mark_cone(board, gate, "gate", cones[gate][0])
    _mark_cone(board, up, "up", cones[up][0])
    board.place(middle, "gate times up", x=gate, y=up)
    board.mark(view.output(middle), "activated")
    board.place(down, "down projection", x=view.output(middle))
    board.anchor("gated", middle)


def _splits(board: Board, steps: set[str]) -> bool:
    """Whether parts are taken of a joint projection."""
    return any(board.view.word(step) in MOVING - {"dropout", "clone"} for step in steps)


def _activated(board: Board, steps: set[str]) -> int:
    """How far a branch is a gate: a sigmoid-like activation counts more than a bounded one."""
    words = {board.view.word(step) for step in steps}
    if words & {"silu", "gelu", "sigmoid", "relu", "mish", "elu", "erf"}:
        return 2
    return 1 if words & ACTIVATIONS else 0


def _mark_cone(board: Board, tensor: str, kind: str, steps: set[str]) -> None:
    """Name a branch back to its projection, and its activation, bounds and scales."""
    view = board.view
    for step in steps:
        word, inputs = view.word(step), view.inputs(step)
        features = [operand for operand in inputs if not view.is_weight(operand)]
        if word in ACTIVATIONS:
            board.place(step, "bound" if word == "tanh" else "activation", x=features[0], activation=word)
        elif word in ("clamp", "clamp_minimum", "clamp_maximum"):
            board.place(step, "clamp", x=features[0])
        elif word in ("multiply", "divide") and len(inputs) == 1:
            bounded = view.word(view.made_by(features[0])) == "tanh" and word == "multiply"
            board.place(step, "rescale bounded" if bounded else "rescale", x=features[0])
        elif word == "multiply" and len(features) == 2:
            board.place(step, "self gate", x=features[0], y=features[1])
        elif word == "add" and len(inputs) == 1:
            board.place(step, "shift", x=features[0])
        for output in view.outputs(step)[:1]:
            if word not in ("chunk", "split", "unbind"):
                board._joined(view.root(output), kind)
    read = [operand for step in steps for operand in (*view.inputs(step), *_own_half(board, step))]
    for output in [tensor, *read]:
        root = view.root(output)
        maker = view.producer(root)
        if maker is None or view.is_weight(root):
            continue
        board._joined(root, kind)


def _plain(board: Board, middle: str, down: str) -> None:
    """down(activation(up(x))): an activation between two products with weights."""
    view = board.view
    output = view.output(middle)
    steps, products = _cone(board, output or "")
    words = {view.word(step) for step in steps}
    if "" in products or len(products) != 1 or not words & (ACTIVATIONS | {"erf"}):
        return
    for step in steps:
        word = view.word(step)
        inputs = view.inputs(step)
        if word in ACTIVATIONS and len(steps) == 1:
            board.place(step, "activation", x=inputs[0], activation=word)
        elif word not in MOVING:
            board.place(step, "part of activation", x=inputs[0] if inputs else None)
    (product,) = products
    board.mark(view.output(product), "expanded")
    board.mark(output, "activated")
    board.place(product, "up projection", x=view.projected(product))
    board.place(down, "down projection", x=output)
    board.anchor("activation", middle)
