"""Linear attention and state spaces: a state that decays and is added to, what is written, and what is read."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board, is_exponential
from openmodelatlas.annotation.roles.decay import find_cumulative, mark_chain, name_decay, through_moves
from openmodelatlas.shapes.dimension import Constant, Dimension

PRODUCTS = frozenset(["matmul", "einsum", "bmm"])

# Arguments that kernels of this name take, by what they are (fla, mamba_ssm and causal_conv1d document them).
KERNEL_PORTS = {
    "q": "queries",
    "k": "keys",
    "v": "values",
    "g": "log decay",
    "beta": "beta",
    "initial_state": "state",
    "state": "state",
    "A": "log decay",
    "B": "input matrix",
    "C": "output matrix",
    "dt": "step size",
    "x": "state input",
    "z": "output gate",
}


def find_recurrence(board: Board) -> None:
    """Convolutions over a window, kernels that run a recurrence, and recurrences written out."""
    view = board.view
    kernels = [address for address in view.computing if view.nodes[address].kind == "kernel"]
    for address in sorted(kernels, key=lambda each: "kda" in each or "delta" in each):
        _kernel(board, address)
    for address in view.computing:
        if view.word(address) == "add":
            _update(board, address)
    for address in view.computing:
        if view.word(address) == "cumsum":
            find_cumulative(board, address)


def find_convolutions(board: Board) -> None:
    """Short convolutions over positions, with the window that they keep."""
    for address in board.view.computing:
        if board.view.word(address) == "conv1d":
            _convolution(board, address)


def _convolution(board: Board, address: str) -> None:
    """A one-dimensional convolution with one group for each channel: every channel sees its last positions."""
    view = board.view
    features = [tensor for tensor in view.inputs(address) if not view.is_weight(tensor)]
    board.place(address, "short convolution", x=view.output(address))
    board.carried[address] = tuple(features[:1])
    board.anchor("convolution", address)
    for tensor in features[:1]:
        maker = view.made_by(tensor)
        if maker is not None and view.word(maker) == "cat" and len(view.inputs(maker)) == 2:
            window, fresh = view.inputs(maker)
            board.place(maker, "prepend window", x=fresh)
            board.carried[maker] = (fresh,)
            board.mark(window, "window")
            start = view.made_by(window)
            if start is not None and view.word(start) in ("new_zeros", "zeros", "zeros_like"):
                board.place(start, "empty window", x=window)
            for reader in view.readers(view.output(maker) or ""):
                if view.word(reader) == "getitem":
                    board.place(reader, "keep window", x=view.output(reader), y=fresh)
                    board.mark(view.output(reader), "window")
    output = view.output(address)
    for reader in view.readers(output) if output is not None else ():
        _after_convolution(board, reader)


def _after_convolution(board: Board, reader: str) -> None:
    view = board.view
    output = view.output(reader)
    if view.word(reader) in ("silu", "gelu", "relu"):
        board.place(reader, "convolution activation", x=output, activation=view.word(reader))
        board.carried[reader] = tuple(view.inputs(reader)[:1])
    elif view.word(reader) == "getitem" and output is not None:
        board.place(reader, "drop excess", x=output)
        for following in view.readers(output):
            _after_convolution(board, following)


def _kernel(board: Board, address: str) -> None:
    """A kernel that runs a recurrence: its arguments say what they are."""
    view, node = board.view, board.view.nodes[address]
    name = (node.function or "").lower()
    features = [port.tensor for port in node.inputs if not view.is_weight(port.tensor)]
    if "conv" in name.rpartition(".")[2]:
        board.place(address, "short convolution", x=view.output(address))
        board.anchor("convolution", address)
        board.carried[address] = tuple(features[:1])
        for window in view.outputs(address)[1:]:
            board.mark(window, "window")
        return
    if "norm" in name.rpartition(".")[2]:
        gated = "gate" in name and len(features) > 1
        board.place(address, "gated norm kernel" if gated else "rms norm", x=features[0] if features else None)
        board.carried[address] = tuple(features[:1])
        board.anchor("norm", address)
        if gated:
            board.spread(features[1], "output gate")
            board.mark(view.output(address), "gated output")
        return
    ports = {port.name.split(".")[0]: port.tensor for port in node.inputs}
    known = {KERNEL_PORTS[port]: tensor for port, tensor in ports.items() if port in KERNEL_PORTS}
    if {"queries", "keys", "values"} <= set(known):
        for kind, tensor in known.items():
            if kind in ("queries", "keys", "values"):
                board.spread(tensor, kind)
            else:
                mark_chain(board, tensor, kind)
        board.place(address, "delta kernel" if "beta" in known else "linear attention kernel", x=view.output(address))
        board.anchor("delta", address)
        board.mark(view.output(address), "mixed values")
        for output in view.outputs(address)[1:]:
            board.mark(output, "state")


def _decayed(board: Board, tensor: str) -> tuple[str, str, str] | None:
    """(operation, state, decay) if a tensor is a state times an exponential; else ``None``."""
    view = board.view
    maker = view.made_by(tensor)
    if maker is None or view.word(maker) != "multiply" or len(view.inputs(maker)) != 2:
        return None
    for state, decay in (view.inputs(maker), view.inputs(maker)[::-1]):
        if (
            is_exponential(board.view, decay)
            and len(view.shape(state)) >= 3
            and view.shape(state) == view.shape(tensor)
        ):
            return maker, state, decay
    return None


def _update(board: Board, add: str) -> None:
    """state ← state · decay + written: the state is what comes in from the round or the call before."""
    view = board.view
    result = view.output(add)
    if len(view.inputs(add)) != 2 or result is None:
        return
    for kept, written in (view.inputs(add), view.inputs(add)[::-1]):
        found = _decayed(board, kept)
        if found is None:
            continue
        decaying, state, decay = found
        if not _comes_from_before(board, add, state, result):
            continue
        board.place(add, "update state", x=state, y=written)
        board.place(decaying, "decay state", x=state, y=decay)
        for tensor in (state, kept, result):
            board.kinds[view.root(tensor)] = "state"
        name_decay(board, decay)
        errors = _reads(board, (state, kept, result), add)
        _written(board, written, errors)
        board.anchor("delta" if errors else "recurrence", add)
        _initial(board, state)
        return


def _comes_from_before(board: Board, add: str, state: str, result: str) -> bool:
    """Whether a state is handed on from round to round, from call to call, or starts empty."""
    view = board.view
    root = view.root(state)
    for port in view.nodes[add].inputs:
        if result in port.others:
            return True
    producer = view.producer(root)
    if producer is None or view.word(producer) in ("zeros", "new_zeros", "zeros_like", "copy"):
        return True
    if view.nodes[producer].phase != view.nodes[add].phase:
        return True
    return any(
        result in port.others or view.root(result) in port.others
        for enclosing in view.enclosing(add)
        for port in view.nodes[enclosing].inputs
    )


def _initial(board: Board, state: str) -> None:
    maker = board.view.made_by(state)
    if maker is not None and board.view.word(maker) in ("zeros", "new_zeros", "zeros_like"):
        board.place(maker, "empty state", x=state)


def _reads(board: Board, states: tuple[str, ...], add: str) -> list[str]:
    """What the state is multiplied by: keys where the result is subtracted from values, else queries.

    Returns the differences between values and what was recalled.
    """
    view = board.view
    errors = list[str]()
    region = view.nodes[add].parent or ""
    found = []
    for state in states:
        for reader in view.readers(view.root(state)):
            if reader == add or board.places.get(reader) or not view.inside(reader, region):
                continue
            result = _product_with(board, reader, state)
            if result is not None:
                found.append((state, *result))
    for state, other, output, steps in found:
        subtraction = next((user for user in view.readers(output) if view.word(user) == "subtract"), None)
        if subtraction is None:
            continue
        for step in steps:
            board.place(step, "recall product" if step != steps[-1] else "recall", x=other, y=state)
        board.mark(output, "recalled")
        board.spread(other, "keys")
        board.place(subtraction, "value error", x=view.inputs(subtraction)[0], y=output)
        board.spread(view.inputs(subtraction)[0], "values")
        board.mark(view.output(subtraction), "correction")
        errors.append(view.output(subtraction) or "")
        board.anchor("delta", subtraction)
    for state, other, output, steps in found:
        if board.kind(output) == "recalled":
            continue
        for step in steps:
            board.place(step, "read state product" if step != steps[-1] else "read state", x=other, y=state)
        board.mark(output, "mixed values")
        board.spread(other, "queries" if errors else "output matrix")
    for error in errors:
        _strength(board, error)
    return errors


def _product_with(board: Board, reader: str, state: str) -> tuple[str, str, list[str]] | None:
    """(other operand, result, operations) of a product with the state: a matmul, or a product and a sum."""
    view = board.view
    others = [tensor for tensor in view.inputs(reader) if view.root(tensor) != view.root(state)]
    output = view.output(reader)
    if len(others) != 1 or output is None:
        return None
    if view.word(reader) in PRODUCTS:
        return others[0], output, [reader]
    if view.word(reader) == "multiply":
        for user in view.readers(output):
            if view.word(user) == "sum" and view.output(user) is not None:
                return others[0], view.output(user) or "", [reader, user]
    return None


def _strength(board: Board, error: str) -> None:
    """The factor of the value errors is how strongly they are written."""
    view = board.view
    for reader in view.readers(error):
        others = [tensor for tensor in view.inputs(reader) if view.root(tensor) != view.root(error)]
        if view.word(reader) == "multiply" and len(others) == 1:
            board.place(reader, "scale errors", x=error, y=others[0])
            board.mark(view.output(reader), "correction")
            _beta(board, others[0])


def _beta(board: Board, tensor: str) -> None:
    view = board.view
    mark_chain(board, tensor, "beta")
    source = through_moves(board, tensor)
    maker = view.made_by(source)
    if maker is not None and view.word(maker) == "sigmoid":
        board.place(maker, "beta sigmoid", x=source)
        board.spread(view.inputs(maker)[0], "beta logits")


def find_strengths(board: Board) -> None:
    """Values and keys that are multiplied by one sigmoid a position before they meet the state."""
    view = board.view
    for address in view.computing:
        inputs = view.inputs(address)
        if view.word(address) != "multiply" or len(inputs) != 2 or address in board.places:
            continue
        kind, source = board.kind(inputs[0]), view.made_by(through_moves(board, inputs[1]))
        if kind in ("keys", "values") and source is not None and view.word(source) == "sigmoid":
            board.place(address, "scale by strength", x=inputs[0], y=inputs[1])
            _beta(board, inputs[1])


def _written(board: Board, written: str, errors: list[str]) -> None:
    """Keys (transposed) times corrections, or a product of two that broadcasts."""
    view = board.view
    maker = view.made_by(written)
    if maker is None or view.word(maker) not in PRODUCTS | {"multiply"} or len(view.inputs(maker)) != 2:
        return
    keys, values = view.inputs(maker)
    if board.kind(keys) == "correction":
        keys, values = values, keys
    board.place(maker, "write", x=keys, y=values)
    if errors:
        board.mark(values, "correction")
        board.spread(keys, "keys")
    else:
        _outer(board, maker)


def _outer(board: Board, write: str) -> None:
    """An input matrix times the inputs, one of them scaled by the step: ends of an axis say which is which.

    The inputs stand for one column of the state, so that their last axis has size one.
    """
    view = board.view
    sides = {
        _is_one(view.shape(view.arriving(write, number))[-1:]): tensor
        for number, tensor in enumerate(view.inputs(write))
    }
    if len(sides) < 2:
        return
    for last_is_one, tensor in sides.items():
        kind = "state input" if last_is_one else "input matrix"
        board.spread(tensor, kind)
        maker = view.made_by(tensor)
        if maker is None or view.word(maker) != "multiply":
            continue
        others = [other for other in view.inputs(maker) if board.kind(through_moves(board, other)) != "step size"]
        if len(others) == 1 and len(view.inputs(maker)) == 2:
            board.spread(others[0], kind)


def _is_one(sizes: tuple[Dimension, ...]) -> bool:
    return all(isinstance(size, Constant) and size.value == 1 for size in sizes)
