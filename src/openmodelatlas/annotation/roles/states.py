"""What a recurrence keeps for the next call: windows of convolutions and states, written in place."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board, Place, is_exponential

STARTS = frozenset(["zeros", "new_zeros", "zeros_like", "empty", "new_empty", "empty_like"])


def find_kept(board: Board) -> None:
    """Copies in place of the last positions before a convolution, and of states."""
    view = board.view
    convolved = {
        view.root(tensor)
        for address in board.anchors.get("convolution", ())
        for tensor in (*view.inputs(address), *board.carried.get(address, ()))
    }
    for address in view.computing:
        inputs = view.inputs(address)
        if view.word(address) != "copy" or len(inputs) != 2:
            continue
        kept = inputs[1]
        cut = view.made_by(kept)
        taken = cut is not None and view.word(cut) == "getitem" and view.root(view.inputs(cut)[0]) in convolved
        if board.kind(kept) == "state":
            _store(board, address, "state")
        elif board.kind(kept) == "window" or taken:
            if cut is not None and view.word(cut) == "getitem":
                board.places[cut] = Place("keep window", x=view.output(cut), y=view.inputs(cut)[0])
            board.kinds[view.root(kept)] = "window"
            _store(board, address, "window")


def _store(board: Board, address: str, kind: str) -> None:
    view = board.view
    target = view.inputs(address)[0]
    board.place(address, f"store {kind}", x=target)
    for tensor in (target, *view.outputs(address)):
        board.mark(tensor, kind)
    start = view.made_by(target)
    if start is not None and view.word(start) in STARTS:
        board.place(start, f"empty {kind}", x=target)


def find_scan(board: Board) -> None:
    """A scan over chunks: decayed products of two matrices mix the inputs of a chunk, states go from chunk to chunk."""
    view = board.view
    for address in view.computing:
        inputs = view.inputs(address)
        if view.word(address) != "multiply" or len(inputs) != 2 or address in board.places:
            continue
        decayed = [tensor for tensor in inputs if is_exponential(view, tensor)]
        products = [view.made_by(tensor) for tensor in inputs if tensor not in decayed]
        product = products[0] if len(products) == 1 else None
        if len(decayed) != 1 or product is None or view.word(product) not in ("einsum", "matmul", "bmm"):
            continue
        mixing = [reader for reader in view.readers(view.output(address) or "") if view.word(reader) in MIXES]
        if mixing and len(view.inputs(product)) == 2 and product not in board.places:
            _scanned(board, product, address, mixing[0])


MIXES = frozenset(["einsum", "matmul", "bmm"])


def _scanned(board: Board, product: str, decayed: str, mixing: str) -> None:
    view = board.view
    reading, writing = view.inputs(product)
    board.place(product, "scan overlap", x=reading, y=writing)
    board.place(decayed, "scan decay", x=view.output(product))
    board.place(mixing, "scan mix", x=view.output(mixing))
    board.anchor("scan", mixing)
    board.mark(view.output(mixing), "mixed values")
    features = [tensor for tensor in view.inputs(mixing) if view.root(tensor) != view.root(view.output(decayed) or "")]
    for tensor in features[:1]:
        board.spread(tensor, "state input")
        for reader in view.readers(view.root(tensor)):
            if view.word(reader) in MIXES and reader != mixing:
                board.place(reader, "scan write", x=tensor)
                board.mark(view.output(reader), "state")
    if view.root(reading) != view.root(writing) or not _told_by_rounds(board, product):
        board.spread(reading, "output matrix")
        board.spread(writing, "input matrix")


def _told_by_rounds(board: Board, product: str) -> bool:
    """Two matrices that went through one loop, a round each, are one tensor: what code calls them tells them apart."""
    view = board.view
    reading, writing = view.ports(product)
    kinds = {reading.name: "output matrix", writing.name: "input matrix"}
    current, between = view.root(reading.tensor), list[str]()
    sources, rounds = tuple[str, ...](), ""
    for _ in range(12):
        maker = view.producer(current)
        if maker is None or len(board.carries(maker)) != 1:
            return False
        between.append(current)
        port = view.ports(maker)[0]
        if port.others:
            sources = (port.tensor, *port.others)
            rounds = maker
            break
        current = view.root(port.tensor)
    called = {_called(board, source): source for source in sources}
    if set(called) != set(kinds):
        return False
    board.rounds[rounds, view.root(sources[0])] = "input and output matrices"
    for tensor in between:
        board.mark(tensor, "input and output matrices")
    for variable, source in called.items():
        board.spread(source, kinds[variable])
    for reader in view.readers(between[0]):
        read = [port.name for port in view.ports(reader) if view.root(port.tensor) == between[0]]
        if len(read) == 1 and read[0] in kinds:
            board.rounds[reader, between[0]] = kinds[read[0]]
    return True


def _called(board: Board, tensor: str) -> str:
    """What the code calls a tensor; empty where it has no name."""
    fact = board.view.fact(tensor)
    return (fact.variable or "") if fact is not None else ""


def flow_states(board: Board) -> None:
    """States joined, passed from chunk to chunk, cut, and read."""
    view = board.view
    for _ in range(2):
        for address in view.computing:
            inputs, word, output = view.inputs(address), view.word(address), view.output(address)
            kinds = [board.kind(tensor) for tensor in inputs]
            if "state" not in kinds or output is None or board.kind(output) is not None:
                continue
            if word in ("getitem", "cat", "clone"):
                board.mark(output, "state")
            elif word in MIXES and any(is_exponential(view, tensor) for tensor in inputs):
                board.place(address, "scan pass", x=output)
                board.mark(output, "state")
            elif word in MIXES:
                board.place(address, "scan read", x=output)
                board.mark(output, "mixed values")


def find_overlaps(board: Board) -> None:
    """Sums over features of products of queries and keys (or keys with keys), perhaps decayed."""
    view = board.view
    for address in view.computing:
        if view.word(address) != "sum" or address in board.places or not view.inputs(address):
            continue
        factors, products = _factors(board, view.inputs(address)[0])
        kinds = {board.kind(tensor) for tensor in factors}
        if len(factors) < 2 or not products or not kinds <= {"queries", "keys"} or "keys" not in kinds:
            continue
        name = "query overlap" if "queries" in kinds else "key overlap"
        board.place(address, name, x=factors[0])
        board.mark(view.output(address), name)
        for product in products:
            plain = [each for each in view.inputs(product) if not _is_decay(board, each)]
            if len(plain) == 1 and len(view.inputs(product)) == 2 and board.kind(plain[0]) in ("queries", "keys"):
                board.place(product, "decayed", x=plain[0])
            else:
                board.place(product, f"{name} product", x=factors[0])


def _is_decay(board: Board, tensor: str) -> bool:
    return is_exponential(board.view, tensor) or board.kind(tensor) == "decay"


def _factors(board: Board, tensor: str) -> tuple[list[str], list[str]]:
    """The factors of a product of products, decays left out, and the products."""
    view, factors, products = board.view, list[str](), list[str]()
    pending = [tensor]
    for current in pending:
        maker = view.made_by(current)
        known = board.kind(current) is not None or maker in board.places
        if maker is not None and view.word(maker) == "multiply" and len(products) < 4 and not known:
            products.append(maker)
            pending.extend(view.inputs(maker))
            continue
        if not _is_decay(board, current):
            factors.append(current)
    return factors, products
