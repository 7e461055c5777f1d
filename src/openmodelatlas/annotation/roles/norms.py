"""Norms: by the root of a mean (or sum) of squares, with or without mean and gain."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board

COMPOSITE = {"layer_norm": "layer norm", "rms_norm": "rms norm", "normalize": "length norm", "group_norm": "group norm"}


def find_norms(board: Board) -> None:
    """All norms of the atlas: composed ones and those that torch has as one function."""
    for address in board.view.computing:
        word = board.view.word(address)
        if word in ("rsqrt", "sqrt", "norm", "vector_norm"):
            _composed(board, address)
        elif word in COMPOSITE:
            features = board.view.inputs(address)[0]
            board.place(address, COMPOSITE[word], x=features)
            board.carried[address] = (features,)
            board.anchor("norm", address)


def _composed(board: Board, root: str) -> None:
    """x / sqrt(mean(x²) + eps), whatever the order: ``rsqrt``, or ``sqrt`` and a division.

    The root is taken of a mean or sum of squares (plus a number, or kept above one); it scales what was squared.
    """
    view = board.view
    chain = _squares(board, root)
    if chain is None:
        return
    features, steps, total = chain
    inverse = view.output(root)
    if inverse is None:
        return
    users = [
        reader
        for reader in view.readers(inverse)
        if view.word(reader) in ("multiply", "divide", "mul")
        and view.root(features) in map(view.root, view.inputs(reader))
    ]
    clamped = None
    if not users:
        for reader in view.readers(inverse):
            if view.word(reader) in ("clamp", "add", "clamp_minimum", "maximum") and view.output(reader):
                clamped = reader
                users = [
                    user
                    for user in view.readers(view.output(reader) or "")
                    if view.word(user) in ("multiply", "divide")
                    and view.root(features) in map(view.root, view.inputs(user))
                ]
    if not users:
        return
    flavour = "length" if total else "rms"
    for address, name in steps:
        board.place(address, f"{name} of {flavour}" if name in ("total", "epsilon") else name, x=features)
    board.place(root, f"{view.word(root)} of {flavour}", x=features)
    board.side.add(view.root(inverse))
    if clamped is not None:
        board.place(clamped, "bounded root", x=features)
        board.side.add(view.root(view.output(clamped) or ""))
    for user in users:
        board.place(user, f"normalise by {flavour}", x=features)
        board.carried[user] = (features,)
        board.anchor("norm" if flavour == "rms" else "length norm", user)
        _gain(board, user)


def _squares(board: Board, root: str) -> tuple[str, list[tuple[str, str]], bool] | None:
    """What was squared, the steps up to the root with their names, and whether the squares were summed."""
    view, steps = board.view, list[tuple[str, str]]()
    if view.word(root) in ("norm", "vector_norm"):
        return view.inputs(root)[0], steps, True
    current = view.made_by(view.inputs(root)[0])
    while current is not None and view.word(current) in ("add", "clamp", "clamp_minimum"):
        steps.append((current, "epsilon"))
        if len(view.inputs(current)) != 1:
            return None
        current = view.made_by(view.inputs(current)[0])
    if current is None or view.word(current) not in ("mean", "sum"):
        return None
    total = view.word(current) == "sum"
    steps.append((current, "total"))
    square = view.made_by(view.inputs(current)[0])
    if square is None or not is_square(board, square):
        return None
    steps.append((square, "square"))
    return view.inputs(square)[0], steps, total


def is_square(board: Board, address: str) -> bool:
    """Whether an operation squares: ``square``, the power 2, or a product of a tensor with itself."""
    view, word = board.view, board.view.word(address)
    if word == "square":
        return True
    if word == "pow":
        return view.number(address) == 2
    return view.squares(address)


def _gain(board: Board, normalise: str) -> None:
    """The product of the normalised features with a parameter (or one plus it) is the gain."""
    view = board.view
    output = view.output(normalise)
    for reader in view.readers(output) if output is not None else ():
        inputs = view.inputs(reader)
        weights = [tensor for tensor in inputs if view.is_weight(tensor)]
        if view.word(reader) != "multiply" or len(inputs) != 2 or len(weights) != 1:
            continue
        shifted = view.made_by(weights[0])
        if shifted is not None and view.word(shifted) == "add":
            board.place(shifted, "shifted gain")
        board.place(reader, "gain", x=output, y=weights[0])
        board.carried[reader] = (output or "",)
        parameter = view.parameter_of(weights[0])
        if parameter is not None:
            board.kinds.setdefault(parameter, "gain")
