"""LaTeX of tensors and parameters, by what they are."""

from __future__ import annotations

from openmodelatlas.annotation.material import Drafts
from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.scopes import Scopes
from openmodelatlas.annotation.roles.view import MOVING
from openmodelatlas.annotation.roles.vocabulary import KINDS
from openmodelatlas.annotation.roles.vocabulary import PARTS as PARTS_OF

STREAM = {"block output": "x_n", "next running sum": "s_n", "embedding": "x_n", "stored sums": "S_n"}

FIXED = frozenset(
    [
        "embedding",
        "block output",
        "after attention",
        "sum after attention",
        "next running sum",
        "stored sums",
        "attention update",
        "feed-forward update",
        "mixer update",
        "logits",
    ]
)
"""What has one symbol everywhere."""

WEIGHTS = {
    "output projection": r"W_o",
    "down projection": r"W_{\mathrm{down}}",
    "up projection": r"W_{\mathrm{up}}",
    "router": r"W_r",
    "logits": r"W_{\mathrm{head}}",
    "token embedding": r"E",
    "position embedding": r"P",
}

NORMED = {"query latent": "q", "key-value latent": "kv", "queries": "q", "keys": "k", "values": "v"}
"""Indices of gains, by what is normalised, where a layer has several norms."""

LETTERS = {"decay bias": "b", "decay rate": "A"}
"""Parameters that are no matrices."""

PROJECTED = {
    "queries": "q",
    "keys": "k",
    "values": "v",
    "keys and values": "kv",
    "queries, keys and values": "qkv",
    "query latent": "dq",
    "key-value latent": "dkv",
    "latent and shared key": "dkv",
    "gate": r"\mathrm{gate}",
    "up": r"\mathrm{up}",
    "gate and up": r"\mathrm{gate,up}",
    "output gate": r"g,\mathrm{out}",
    "low-rank features": r"\downarrow",
    "log decay": "g",
    "forget gate": "f",
    "step size": r"\Delta",
    "beta": r"\beta",
    "beta logits": r"\beta",
}


PARTS = {
    "even features": r"\mathrm{even}",
    "odd features": r"\mathrm{odd}",
    "first half": "1",
    "second half": "2",
    "rotary part": r"\mathrm{rot}",
    "unrotated part": r"\mathrm{nope}",
}


def give_symbols(board: Board, drafts: Drafts) -> None:
    """Symbols of tensors in order of execution, then of parameters, then what a page calls a layer's inputs.

    On the page of a function or module no two tensors have one symbol; names of the code and primes tell them apart.
    """
    symbols = drafts.tensor_symbols
    view = board.view
    scopes = Scopes(board, symbols)
    for address, node in view.nodes.items():
        if not view.computes(node):
            continue
        for port in node.outputs:
            if node.plumbing:
                source = symbols.get(view.root(port.tensor))
                if source is not None:
                    symbols[port.tensor] = source
                continue
            symbol = _symbol_of(board, address, port.tensor)
            if symbol is not None:
                fixed = board.kinds.get(port.tensor) in FIXED
                given = scopes.name(address, port.tensor, symbol, fixed=fixed)
                if given is not None:
                    symbols[port.tensor] = given
    _parameters(board, drafts)
    for group in view.leaf_groups:
        _layer_inputs(board, drafts, group)
    _streams(board, drafts)
    for (address, tensor), kind in board.rounds.items():
        symbol = KINDS[kind].symbol
        if symbol is not None and kind not in PARTS_OF:
            drafts.nodes[address].symbols[tensor] = symbol


def _symbol_of(board: Board, address: str, tensor: str) -> str | None:
    kind = board.kinds.get(tensor)
    symbol = KINDS[kind].symbol if kind in KINDS else None
    part, source = board.parts.get(tensor, ("", ""))
    if symbol is not None and part in PARTS and board.kind(source) == kind and "_" not in symbol:
        return f"{symbol}_{{{PARTS[part]}}}"
    place = board.places.get(address)
    if (
        symbol is not None
        and place is not None
        and place.name.startswith("normalise by")
        and symbol.startswith(r"\hat")
    ):
        return symbol.replace(r"\hat", r"\tilde", 1)
    return symbol


def _streams(board: Board, drafts: Drafts) -> None:
    """On the page of an addition to the stream its first operand is the stream, whatever else the tensor is."""
    view = board.view
    for address in board.anchors.get("stream", ()):
        place = board.places.get(address)
        if place is None or place.x is None or not place.name.startswith("add "):
            continue
        stream = place.x
        kind = board.kind(stream)
        group = view.group_of(address) or ""
        summed = any(view.inside(each, group) for each in board.anchors.get("depth", ()))
        if kind in ("attention update", "mixer update"):
            drafts.nodes[address].symbols[stream] = "s'_n" if summed else "r_n"


def _parameters(board: Board, drafts: Drafts) -> None:
    view = board.view
    for address in view.computing:
        place = board.places.get(address)
        if place is None:
            continue
        weights = [tensor for tensor in view.inputs(address) if view.is_weight(tensor)]
        if place.name == "gain" or place.name in ("layer norm", "rms norm"):
            index = NORMED.get(board.kind(view.output(address)) or "", "")
            for tensor, symbol in zip(weights, (r"\gamma", "b"), strict=False):
                _symbol(board, drafts, tensor, f"{symbol}_{{{index}}}" if index else symbol)
            continue
        if place.name == "short convolution":
            index = PROJECTED.get(board.kind(view.output(address)) or "", "")
            for tensor in weights:
                letter = "w" if len(view.shape(tensor)) > 1 else "b"
                _symbol(board, drafts, tensor, f"{letter}_{{{index}}}" if index else letter)
            continue
        if place.name in LETTERS:
            for tensor in weights:
                _symbol(board, drafts, tensor, LETTERS[place.name])
            continue
        letters = WEIGHTS.get(place.name)
        if place.name == "projection":
            projected = PROJECTED.get(board.kind(place.x) or "")
            letters = f"W_{{{projected}}}" if projected is not None else None
        if letters is None:
            continue
        for tensor in weights:
            bias = len(view.shape(tensor)) == 1
            _symbol(board, drafts, tensor, letters.replace("W", "b", 1) if bias else letters)


def _symbol(board: Board, drafts: Drafts, tensor: str, symbol: str) -> None:
    """Of a parameter; what is computed from it alone (one plus a stored gain) is another tensor, with a prime."""
    view = board.view
    parameter = view.parameter_of(tensor)
    if parameter is None:
        return
    own = drafts.tensor_symbols.setdefault(parameter, symbol)
    maker = view.made_by(tensor)
    if maker is not None and view.word(maker) not in MOVING:
        if drafts.tensor_symbols.get(tensor, own) == own:
            drafts.tensor_symbols[tensor] = f"{{{own}}}'" if "^" in own or "'" in own else f"{own}'"
        return
    drafts.tensor_symbols.setdefault(tensor, symbol)


def _layer_inputs(board: Board, drafts: Drafts, group: str) -> None:
    """Within a layer its input is x_n (or s_n), though the layer before calls the same tensor x_{n+1}."""
    view = board.view
    node = view.nodes[group]
    names = dict[str, str]()
    for port in node.inputs:
        symbol = STREAM.get(board.kind(port.tensor) or "")
        if symbol is not None:
            names[port.tensor] = symbol
    if "depth" in board.anchors and any(view.inside(each, group) for each in board.anchors["depth"]):
        names = {tensor: "s_n" if symbol == "x_n" else symbol for tensor, symbol in names.items()}
    for address, inner in view.nodes.items():
        if not view.inside(address, group) or inner.kind == "tensor":
            continue
        for port in inner.inputs:
            symbol = names.get(port.tensor) or names.get(view.root(port.tensor))
            if symbol is not None:
                place = board.places.get(address) or board.regions.get(address)
                carried = symbol == "s_n" and place is not None and place.name.endswith("update")
                drafts.nodes[address].symbols[port.tensor] = r"\bar{s}_n" if carried else symbol
    for address, place in board.regions.items():
        if view.inside(address, group) and place.y is not None:
            last = place.name.startswith("add feed-forward")
            summed = "s_n" in names.values()
            after = ("s_{n+1}" if last else "s'_n") if summed else ("x_{n+1}" if last else "r_n")
            drafts.nodes[address].symbols[place.y] = after
