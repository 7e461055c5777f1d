"""Experts run over tokens sorted by expert: the order, the counts, the way back, and the weighed sum."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.view import MOVING

STARTS = frozenset(["new_zeros", "zeros", "zeros_like", "empty_like", "new_empty", "empty"])


def find_sorted_experts(board: Board) -> None:
    """A product of something with the expert weights that is summed over the choices, and how it came about."""
    view = board.view
    for address in view.computing:
        if view.word(address) == "multiply" and address not in board.places and len(view.inputs(address)) == 2:
            _weighed(board, address)
    for address in view.computing:
        word = view.word(address)
        if word in ("argsort", "sort") and board.kind(view.inputs(address)[0]) == "chosen experts":
            _order(board, address)
        elif word == "scatter" and "chosen experts" in [board.kind(tensor) for tensor in view.inputs(address)[1:]]:
            _counts(board, address)


def _weighed(board: Board, address: str) -> None:
    view = board.view
    kinds = [board.kind(tensor) for tensor in view.inputs(address)]
    output = view.output(address)
    total = next((reader for reader in view.readers(output or "") if view.word(reader) == "sum"), None)
    if kinds.count("expert weights") != 1 or total is None:
        return
    result = view.inputs(address)[1 - kinds.index("expert weights")]
    board.place(address, "weigh expert", x=result)
    board.mark(output, "weighed output")
    board.place(total, "sum experts", x=output)
    board.mark(view.output(total), "routed output")
    board.anchor("experts", total)
    for projection in board.spread(result, "expert output"):
        board.mark(view.output(projection), "expert output")
    _way_back(board, result)


def _way_back(board: Board, tensor: str) -> None:
    """From the weighed rows back to the loop over experts: the rows put back in order, joined."""
    view, pending, seen = board.view, [board.view.root(tensor)], set[str]()
    for current in pending:
        maker = view.producer(current)
        if maker is None or maker in seen or len(seen) > 12:
            continue
        seen.add(maker)
        word = view.word(maker)
        if word in ("setitem", "index_put", "copy"):
            board.place(maker, "restore order", x=view.output(maker))
            first = view.made_by(view.inputs(maker)[0])
            if first is not None and view.word(first) in STARTS:
                board.place(first, "room", x=view.output(maker))
        elif word == "cat":
            board.place(maker, "join experts", x=view.output(maker))
        elif view.projected(maker) is not None:
            loops = [each for each in view.enclosing(maker) if view.nodes[each].kind == "loop"]
            if loops:
                board.anchor("experts", maker)
                board.anchor("expert loop", loops[0])
            continue
        pending.extend(view.root(operand) for operand in board.carries(maker))


def _order(board: Board, address: str) -> None:
    """The order of all choices by expert; divided by the choices of a token it gives rows; rows pick the tokens."""
    view = board.view
    order = view.outputs(address)[-1]
    board.place(address, "sort choices", x=order)
    board.mark(order, "order of the choices")
    rows = [order]
    for reader in view.readers(order):
        output = view.output(reader)
        if view.word(reader) == "floor_divide" and output is not None:
            board.place(reader, "rows of choices", x=output)
            board.mark(output, "token rows")
            rows.append(output)
    for row in rows:
        for reader in view.readers(row):
            inputs, output = view.inputs(reader), view.output(reader)
            picks = view.word(reader) in ("getitem", "index_select") and len(inputs) == 2
            if picks and view.root(inputs[1]) == view.root(row) and board.kind(inputs[0]) != "expert weights":
                board.place(reader, "sort tokens", x=inputs[0])
                board.mark(output, "sorted tokens")
                _of_experts(board, output or "")


def _of_experts(board: Board, tensor: str) -> None:
    view = board.view
    for reader in view.readers(tensor):
        if view.word(reader) in MOVING and any(view.nodes[each].kind == "loop" for each in view.enclosing(reader)):
            board.place(reader, "dispatch", x=view.output(reader))
            board.mark(view.output(reader), "expert tokens")


def _counts(board: Board, address: str) -> None:
    """Ones put at the chosen experts of every token and summed: the tokens of each expert."""
    view = board.view
    table = view.output(address)
    board.place(address, "choice table", x=table)
    board.mark(table, "choice table")
    start = view.made_by(view.inputs(address)[0])
    if start is not None and view.word(start) in STARTS:
        board.place(start, "empty table", x=table)
        board.mark(view.inputs(address)[0], "choice table")
    for reader in view.readers(table or ""):
        if view.word(reader) == "sum":
            board.place(reader, "tokens per expert", x=view.output(reader))
            board.mark(view.output(reader), "tokens per expert")
            for last in view.readers(view.output(reader) or ""):
                if view.word(last) in ("numpy", "tolist", "item"):
                    board.place(last, "read counts", x=view.output(reader))
