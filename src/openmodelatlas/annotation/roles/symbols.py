"""LaTeX of tensors and parameters, by what they are."""

from __future__ import annotations

from openmodelatlas.annotation.material import Drafts
from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.vocabulary import KINDS

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

    Within a function or module no two tensors have one symbol; primes tell them apart.
    """
    symbols = drafts.tensor_symbols
    view = board.view
    used: dict[str, set[str]] = {}
    for address, node in view.nodes.items():
        if not view.computes(node):
            continue
        scope = used.setdefault(node.parent or "", set())
        scope.update(symbols[root] for tensor in view.inputs(address) if (root := view.root(tensor)) in symbols)
        for port in node.outputs:
            if node.plumbing:
                source = symbols.get(view.root(port.tensor))
                if source is not None:
                    symbols[port.tensor] = source
                continue
            symbol = _symbol_of(board, address, port.tensor)
            if symbol is not None:
                fixed = board.kinds.get(port.tensor) in FIXED
                symbols[port.tensor] = symbol if fixed else primed(symbol, scope)
                scope.add(symbols[port.tensor])
    _parameters(board, drafts)
    for group in view.leaf_groups:
        _layer_inputs(board, drafts, group)
    _streams(board, drafts)


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


def primed(symbol: str, used: set[str]) -> str:
    """The symbol with as many primes as tell it from those used beside it."""
    if symbol not in used:
        return symbol
    for count in range(1, 99):
        prime = "'" * count if count < 3 else f"^{{({count})}}"
        candidate = f"{{{symbol}}}{prime}" if "^" in symbol else symbol + prime
        if candidate not in used:
            return candidate
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
            for tensor, symbol in zip(weights, (r"\gamma", "b"), strict=False):
                _symbol(board, drafts, tensor, symbol)
            continue
        letters = WEIGHTS.get(place.name)
        if place.name == "projection":
            letter = PROJECTED.get(board.kind(place.x) or "")
            letters = f"W_{{{letter}}}" if letter is not None else None
        if letters is None:
            continue
        for tensor in weights:
            bias = len(view.shape(tensor)) == 1
            _symbol(board, drafts, tensor, letters.replace("W", "b", 1) if bias else letters)


def _symbol(board: Board, drafts: Drafts, tensor: str, symbol: str) -> None:
    parameter = board.view.parameter_of(tensor)
    if parameter is not None:
        drafts.tensor_symbols.setdefault(parameter, symbol)
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
