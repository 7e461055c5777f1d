"""The residual stream of a layer: additions from its input to its output, and which mechanism each one adds."""

from __future__ import annotations

from dataclasses import dataclass

from openmodelatlas.annotation.roles.board import Board, Place
from openmodelatlas.graph.document import Branch
from openmodelatlas.shapes.dimension import Varying

UPDATES = {
    "attention": "attention update",
    "feed-forward": "feed-forward update",
    "mixer": "mixer update",
}


@dataclass(frozen=True)
class Addition:
    """One addition to the residual stream.

    Attributes:
        address: the operation.
        stream, update: operands.
        result: what it makes.
        mechanism: ``attention``, ``feed-forward`` or ``mixer``.
    """

    address: str
    stream: str
    update: str
    result: str
    mechanism: str


def find_residual(board: Board) -> None:
    """Additions to the stream in every layer, then the same statements where another branch ran."""
    found: dict[str, list[Addition]] = {}
    for group in board.view.leaf_groups:
        found[group] = _additions(board, group)
    statements: dict[tuple[str, int, int], str] = {}
    for additions in found.values():
        for addition in additions:
            symbol = board.view.nodes[addition.address].symbol
            if symbol is not None:
                statements[symbol.lines.file, symbol.lines.first, symbol.lines.last] = addition.mechanism
    for group, additions in found.items():
        _elsewhere(board, group, additions, statements)
        _name(board, group, additions)
    _branches(board, statements)
    for group, additions in found.items():
        updates = [addition.update for addition in additions]
        updates += [
            port.tensor
            for address in board.regions
            if board.view.inside(address, group)
            for port in board.view.nodes[address].inputs
        ]
        known = {board.view.root(addition.stream) for addition in additions} | board.view.entries[group]
        for update in updates:
            if board.view.root(update) not in board.view.entries[group]:
                mechanism_of(board, update, known - {board.view.root(update)}, group)


def _additions(board: Board, group: str) -> list[Addition]:
    """The chain of additions from an input of the layer to an output of the same shape."""
    view = board.view
    node = view.nodes[group]
    entries = {tensor for port in node.inputs for tensor in (port.tensor, *port.others)}
    entries = {view.root(tensor) for tensor in entries}
    memory: dict[str, bool] = {}

    def leads(tensor: str, depth: int = 40) -> bool:
        root = view.root(tensor)
        if root in entries:
            return True
        if root not in memory:
            memory[root] = False
            producer = view.producer(root)
            if producer is not None and depth and view.word(producer) == "add" and view.inside(producer, group):
                memory[root] = any(leads(operand, depth - 1) for operand in view.inputs(producer))
        return memory[root]

    handed = [port.tensor for port in node.outputs] + [other for port in node.inputs for other in port.others]
    chain, pending = list[Addition](), list(dict.fromkeys(view.root(tensor) for tensor in handed))
    for tensor in pending:
        producer = view.producer(tensor)
        operands = view.inputs(producer) if producer is not None else []
        if producer is None or view.word(producer) != "add" or len(operands) != 2 or not view.inside(producer, group):
            continue
        streams = [operand for operand in operands if leads(operand) and view.shape(operand) == view.shape(tensor)]
        if len(streams) != 1 or any(addition.address == producer for addition in chain):
            continue
        update = operands[1] if streams[0] == operands[0] else operands[0]
        chain.append(Addition(producer, streams[0], update, tensor, ""))
        pending.append(view.root(streams[0]))
    known = {view.root(addition.stream) for addition in chain} | entries
    named = []
    for addition in reversed(chain):
        mechanism = mechanism_of(board, addition.update, known, group)
        if mechanism is not None:
            named.append(Addition(addition.address, addition.stream, addition.update, addition.result, mechanism))
    return named


def mechanism_of(board: Board, update: str, stream: set[str], group: str) -> str | None:
    """What lies between the stream and an update: attention, a recurrence, or a feed-forward network."""
    view = board.view
    seen, pending, cone = set[str](), [view.root(update)], set[str]()
    entering = set[str]()
    while pending:
        tensor = pending.pop()
        if tensor in seen or tensor in stream:
            continue
        seen.add(tensor)
        producer = view.producer(tensor)
        if producer is None or not view.inside(producer, group):
            continue
        cone.add(producer)
        operands = [view.root(operand) for operand in view.inputs(producer)]
        if _is_norm(board, producer) and any(_from_stream(board, operand, stream) for operand in operands):
            entering.add(tensor)
        pending.extend(operands)
    for mechanism, proofs in (
        ("attention", ("attention", "delta")),
        ("mixer", ("recurrence", "scan", "convolution")),
        ("feed-forward", ("gated", "activation", "routing", "experts")),
    ):
        if any(address in cone for proof in proofs for address in board.anchors.get(proof, ())):
            for tensor in entering:
                board.mark(tensor, f"{mechanism} input")
            return mechanism
    return None


NORMS = frozenset(["gain", "normalise by rms", "normalise by length", "layer norm", "rms norm", "group norm"])


def _is_norm(board: Board, address: str) -> bool:
    """Whether an operation is the last or last but one of a norm."""
    place = board.places.get(address)
    return place is not None and place.name in NORMS


def _from_stream(board: Board, tensor: str, stream: set[str], depth: int = 3) -> bool:
    """Whether a norm reads the stream itself, a mixture of its sums, or what a norm made of either."""
    view = board.view
    root = view.root(tensor)
    if root in stream or board.kinds.get(root) == "depth mixture":
        return True
    maker = view.producer(root)
    if maker is None or not _is_norm(board, maker) or not depth:
        return False
    return any(_from_stream(board, operand, stream, depth - 1) for operand in board.carried[maker])


def _elsewhere(
    board: Board, group: str, additions: list[Addition], statements: dict[tuple[str, int, int], str]
) -> None:
    """Statements that add to the stream in other layers do so in general, whatever one operand is here."""
    view, taken = board.view, {addition.address for addition in additions}
    for address in view.computing:
        symbol = view.nodes[address].symbol
        if address in taken or symbol is None or not view.inside(address, group) or view.word(address) != "add":
            continue
        mechanism = statements.get((symbol.lines.file, symbol.lines.first, symbol.lines.last))
        operands = view.inputs(address)
        result = view.output(address)
        if mechanism is None or len(operands) != 2 or result is None:
            continue
        additions.append(Addition(address, operands[0], operands[1], result, mechanism))


def stored_sums(board: Board, group: str) -> tuple[str, ...]:
    """Inputs of a layer that grow from layer to layer and come with one more axis than the stream."""
    view = board.view
    found = []
    for port in view.nodes[group].inputs:
        if any(isinstance(size, Varying) for size in view.shape(port.tensor)):
            found.append(port.tensor)
    return tuple(found)


def _name(board: Board, group: str, additions: list[Addition]) -> None:
    view = board.view
    summed = bool(board.anchors.get("depth")) and any(view.inside(address, group) for address in board.anchors["depth"])
    node = view.nodes[group]
    outputs = {view.root(port.tensor) for port in node.outputs}
    outputs |= {view.root(other) for port in node.inputs for other in port.others if view.inside(other, group)}
    for index, addition in enumerate(additions):
        last = view.root(addition.result) in outputs
        place = f"add {addition.mechanism} update"
        board.place(addition.address, place, x=addition.stream, y=addition.update)
        board.kinds[view.root(addition.update)] = UPDATES[addition.mechanism]
        if summed:
            board.kinds[view.root(addition.result)] = "next running sum" if last else "sum after attention"
        else:
            board.kinds[view.root(addition.result)] = "block output" if last else "after attention"
        _before_norm(board, addition)
        if index == 0 and not summed:
            board.mark(addition.stream, "block input")
        board.anchor("stream", addition.address)


def _before_norm(board: Board, addition: Addition) -> None:
    """An update that is normalised before it is added was the mechanism's output before."""
    view, current = board.view, board.view.root(addition.update)
    for _ in range(6):
        maker = view.producer(current)
        if maker is None or not _is_norm(board, maker):
            return
        current = board.view.root(board.carried[maker][0])
        board.kinds[current] = f"{addition.mechanism} output"


def _branches(board: Board, statements: dict[tuple[str, int, int], str]) -> None:
    """A branch whose statement adds to the stream in some layer is that addition in general."""
    view = board.view
    for address, node in view.nodes.items():
        if node.kind != "branch" or not node.branches:
            continue
        for (file, first, last), mechanism in statements.items():
            if _covers(node.branches[0], file, first, last):
                result = node.outputs[0].tensor if node.outputs else None
                board.regions[address] = _branch_place(mechanism, result)
                if len(node.inputs) == 1 and not any(view.inside(each, address) for each in board.anchors["stream"]):
                    board.kinds[view.root(node.inputs[0].tensor)] = UPDATES[mechanism]


def _covers(branch: Branch, file: str, first: int, last: int) -> bool:
    return branch.lines.file == file and branch.lines.first <= first and last <= branch.lines.last


def _branch_place(mechanism: str, result: str | None) -> Place:
    return Place(f"add {mechanism} update", x=None, y=result, words={"branch": "yes"})
