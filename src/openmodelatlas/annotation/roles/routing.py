"""Routing: scores of experts, the choice of the best, their weights, and the loop that runs them."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board, Place
from openmodelatlas.annotation.roles.view import MOVING
from openmodelatlas.shapes.dimension import DataDependent

NORMALISERS = frozenset(["softmax", "sigmoid", "softplus", "sqrt", "relu"])


def find_routing(board: Board) -> None:
    """Every choice of the best whose scores come from a linear layer."""
    for address in board.view.computing:
        if board.view.word(address) == "topk":
            _choice(board, address)
    for address in board.view.computing:
        if board.view.word(address) == "topk" and address not in board.places:
            _groups(board, address)
    for address, node in board.view.nodes.items():
        if node.kind == "loop":
            _loop(board, address)


def _choice(board: Board, topk: str) -> None:
    """logits → (softmax or sigmoid) → (bias) → (groups) → top k; weights are gathered, normalised and scaled."""
    view = board.view
    chain = _to_logits(board, view.inputs(topk)[0])
    outputs = view.outputs(topk)
    if chain is None or len(outputs) < 2 or not _chooses_experts(board, outputs[1]):
        return
    logits, steps = chain
    board.place(logits, "router", x=view.projected(logits))
    board.mark(view.output(logits), "router logits")
    board.anchor("routing", topk)
    for step in steps:
        _name_score_step(board, step)
    board.place(topk, "choose experts", x=view.inputs(topk)[0])
    board.mark(outputs[1], "chosen experts")
    board.mark(view.inputs(topk)[0], "choice scores")
    if view.readers(outputs[0]):
        board.mark(outputs[0], "expert weights")
        _name_weights(board, outputs[0])
    if view.readers(outputs[0]):
        for step in steps:
            if step in board.places and board.places[step].name == "correction bias":
                board.places[step] = Place("router bias", x=board.places[step].x)
    for reader in view.readers(outputs[1]):
        if view.word(reader) in ("gather", "take_along_dim", "getitem") and board.kind(view.inputs(reader)[0]) in (
            "router scores",
            "router logits",
            "choice scores",
        ):
            board.place(reader, "gather weights", x=view.inputs(reader)[0], y=outputs[1])
            biased = view.made_by(view.inputs(reader)[0])
            if biased is not None and biased in board.places and board.places[biased].name == "correction bias":
                board.places[biased] = Place("router bias", x=board.places[biased].x)
            board.mark(view.output(reader), "expert weights")
            _name_weights(board, view.output(reader) or "")


def _chooses_experts(board: Board, indices: str) -> bool:
    """Whether chosen indices go on to weights or loops, or out of the function, not only into a mask."""
    view = board.view
    words = {view.word(reader) for reader in view.readers(indices)}
    if words:
        return bool(words - {"scatter"})
    producer = view.producer(indices)
    handed = {port.tensor for each in view.enclosing(producer or "") for port in view.nodes[each].outputs}
    return indices in handed


def _to_logits(board: Board, tensor: str) -> tuple[str, list[str]] | None:
    """The linear layer that scores come from, and the steps between, last first."""
    view, steps = board.view, list[str]()
    pending = [view.root(tensor)]
    logits: str | None = None
    seen = set[str]()
    for current in pending:
        maker = view.producer(current)
        if maker is None or current in seen or len(seen) > 40:
            continue
        seen.add(current)
        if view.projected(maker) is not None:
            logits = maker
            continue
        word = view.word(maker)
        if word in NORMALISERS | MOVING or word in (
            "add",
            "masked_fill",
            "where",
            "multiply",
            "divide",
            "topk",
            "sum",
            "scatter",
            "logical_not",
            "max",
        ):
            steps.append(maker)
            pending.extend(view.root(operand) for operand in view.inputs(maker) if not view.is_weight(operand))
        elif word in ("zeros_like", "new_zeros", "zeros", "ones_like"):
            steps.append(maker)
            pending.extend(view.root(operand) for operand in view.inputs(maker))
    return (logits, steps) if logits is not None else None


def _name_score_step(board: Board, step: str) -> None:
    view, word = board.view, board.view.word(step)
    inputs = view.inputs(step)
    output = view.output(step)
    biased = any(view.is_weight(tensor) for tensor in inputs)
    if word in NORMALISERS:
        board.place(step, "router scores", x=inputs[0], activation=word)
        board.mark(output, "router scores")
    elif word == "add" and biased:
        board.place(step, "correction bias", x=inputs[0])
        board.mark(output, "choice scores")
        for tensor in inputs:
            parameter = view.parameter_of(tensor) if view.is_weight(tensor) else None
            if parameter is not None:
                board.kinds.setdefault(parameter, "correction bias")
    elif word == "topk":
        readers = {view.word(reader) for reader in view.readers(view.outputs(step)[0])}
        if "sum" in readers:
            board.place(step, "best of each group", x=inputs[0])
        else:
            board.place(step, "choose groups", x=inputs[0])
            board.mark(view.outputs(step)[-1], "chosen groups")
    elif word in ("sum", "max"):
        board.place(step, "group scores", x=output)
        board.mark(output, "group scores")
    elif word in ("zeros_like", "new_zeros", "zeros"):
        board.place(step, "no groups", x=output)
        board.mark(output, "group mask")
    elif word == "scatter":
        board.place(step, "mark groups", x=output)
        board.kinds[view.root(output or "")] = "group mask"
    elif word == "logical_not":
        board.place(step, "other groups", x=output)
        board.mark(output, "group mask")
    elif word in ("masked_fill", "where"):
        board.place(step, "hide groups", x=inputs[0])
        board.mark(output, "choice scores")


def _groups(board: Board, topk: str) -> None:
    """A choice of groups whose result is only a mask on the scores."""
    chain = _to_logits(board, board.view.inputs(topk)[0])
    if chain is not None and board.kind(board.view.output(chain[0])) == "router logits":
        _name_score_step(board, topk)


def _name_weights(board: Board, tensor: str) -> None:
    """Normalising by the sum, scaling by a number, softmax after the choice."""
    view, pending = board.view, [tensor]
    for current in pending:
        for reader in view.readers(current):
            word, inputs, output = view.word(reader), view.inputs(reader), view.output(reader)
            if reader in board.places or output is None or len(pending) > 20:
                continue
            if word == "sum":
                board.place(reader, "sum of weights", x=current)
                board.mark(output, "sum of weights")
                pending.append(output)
            elif word == "add" and board.kind(current) == "sum of weights":
                board.place(reader, "epsilon of weights", x=current)
                board.mark(output, "sum of weights")
                pending.append(output)
            elif word == "divide" and len(inputs) == 2 and board.kind(inputs[1]) == "sum of weights":
                board.place(reader, "normalise weights", x=inputs[0])
                board.mark(output, "expert weights")
                pending.append(output)
            elif word in ("multiply", "divide") and len(inputs) == 1:
                board.place(reader, "scale weights", x=current)
                board.mark(output, "expert weights")
                pending.append(output)
            elif word in NORMALISERS:
                board.place(reader, "weights after choice", x=current, activation=word)
                board.mark(output, "expert weights")
                pending.append(output)
            elif word in ("scatter", "clone"):
                board.place(reader, "spread weights", x=current)
                board.mark(output, "expert weights")
                pending.append(output)


def _loop(board: Board, loop: str) -> None:
    """A loop in which rows of tokens are picked, projected and added back where they came from."""
    view = board.view
    inside = [address for address in view.computing if view.inside(address, loop) and address != loop]
    adding = [address for address in inside if view.word(address) in ("index_add", "scatter_add")]
    if not adding:
        return
    board.anchor("experts", adding[0])
    board.anchor("expert loop", loop)
    for address in adding:
        inputs = view.inputs(address)
        board.place(address, "combine", x=inputs[0])
        board.mark(view.output(address), "routed output")
        start = view.made_by(inputs[0])
        if start is not None:
            board.place(start, "empty output", x=inputs[0])
        board.mark(inputs[0], "routed output")
        if len(inputs) > 2:
            _expert_output(board, inputs[-1], loop)
        if len(inputs) > 1:
            _rows(board, inputs[1], loop)
    for address in inside:
        _picks(board, address)
    _hits(board, loop)


def _expert_output(board: Board, tensor: str, loop: str) -> None:
    """What is added back: the expert's output, weighed if a product with one column precedes."""
    view = board.view
    maker = view.made_by(tensor)
    if maker is not None and view.word(maker) == "multiply" and view.inside(maker, loop):
        output, weight = view.inputs(maker)[0], view.inputs(maker)[-1]
        board.place(maker, "weigh expert", x=output, y=weight)
        board.mark(tensor, "weighed output")
        board.mark(output, "expert output")
        picked = view.made_by(weight)
        if picked is not None and view.word(picked) == "getitem":
            board.place(picked, "pick weights", x=weight)
            board.mark(weight, "expert weights")
    else:
        board.mark(tensor, "expert output")


def _rows(board: Board, tensor: str, loop: str) -> None:
    """Where the rows come from: the places at which the choice table holds this expert."""
    view = board.view
    board.mark(tensor, "token rows")
    maker = view.made_by(tensor)
    if maker is None or view.word(maker) not in ("where", "nonzero"):
        return
    board.place(maker, "find tokens", x=tensor)
    for output in view.outputs(maker):
        board.mark(output, "token rows")
    table = view.made_by(view.inputs(maker)[0])
    if table is not None and view.word(table) in ("getitem", "eq"):
        board.place(table, "tokens of expert", x=tensor)
        board.mark(view.output(table), "choice table")
        start = view.made_by(view.inputs(table)[0])
        if start is not None and view.word(start) == "one_hot":
            board.place(start, "choice table", x=view.output(start))
            board.mark(view.output(start), "choice table")


def _picks(board: Board, address: str) -> None:
    """Rows of tokens by their places, and the matrices of this expert by its number."""
    view = board.view
    if view.word(address) != "getitem" or address in board.places:
        return
    inputs = view.inputs(address)
    output = view.output(address)
    if view.is_weight(inputs[0]) and len(inputs) > 1:
        bias = len(view.shape(output or "")) < 2
        board.place(address, "expert bias" if bias else "expert matrix", x=output)
        board.mark(output, "bias of this expert" if bias else "expert matrix")
    elif len(inputs) == 2 and board.kind(inputs[1]) == "token rows":
        board.place(address, "dispatch", x=output)
        board.mark(output, "expert tokens")
    elif len(inputs) == 1 and isinstance(view.nodes[address].arguments.get("1"), int) and not view.shape(output or ""):
        board.place(address, "expert number", x=output)
        board.mark(output, "expert number")


def _hits(board: Board, loop: str) -> None:
    """What decides which experts the loop runs: those with a token."""
    view = board.view
    parent = view.nodes[loop].parent or ""
    for address in view.computing:
        if not view.inside(address, parent) or address in board.places:
            continue
        word, inputs = view.word(address), view.inputs(address)
        kinds = {board.kind(tensor) for tensor in inputs}
        output = view.output(address)
        if word == "one_hot" and "chosen experts" in kinds:
            board.place(address, "choice table", x=output)
            board.mark(output, "choice table")
        elif word == "sum" and "choice table" in kinds:
            board.place(address, "tokens per expert", x=output)
            board.mark(output, "tokens per expert")
        elif word in ("gt", "ge", "ne") and "tokens per expert" in kinds:
            board.place(address, "has tokens", x=output)
            board.mark(output, "hit experts")
        elif word in ("nonzero", "unbind", "where", "unique", "tolist") and kinds & {"hit experts", "chosen experts"}:
            names = {"unbind": "each hit expert", "tolist": "numbers of experts", "unique": "hit experts"}
            board.place(address, names.get(word, "hit experts"), x=output)
            board.mark(output, "hit experts")
        elif word == "eq" and kinds & {"expert number", "hit experts"}:
            board.place(address, "no expert", x=output)
            board.mark(output, "no expert")
        elif word == "truth" and "no expert" in kinds:
            board.place(address, "skip no expert", x=inputs[0])


def routed(board: Board, tensor: str) -> bool:
    """Whether a tensor has one row for each token routed to an expert."""
    return any(isinstance(size, DataDependent) for size in board.view.shape(tensor))
