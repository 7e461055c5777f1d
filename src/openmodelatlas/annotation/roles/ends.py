"""Both ends of a model, projections by what their result becomes, gates of outputs, and caches."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.plumbing import position_axis
from openmodelatlas.annotation.roles.positions import axes_only, back_to_positions
from openmodelatlas.annotation.roles.view import MOVING, size_name

ATTENTION = frozenset(
    [
        "queries",
        "keys",
        "values",
        "keys and values",
        "queries and keys",
        "queries, keys and values",
        "queries and values",
    ]
)
EMPTY = frozenset(["tensor", "zeros", "new_zeros", "empty", "new_empty", "zeros_like", "as_tensor"])


def find_ends(board: Board) -> None:
    """The embedding of tokens, and the projection to the logits that the model returns."""
    view = board.view
    for address in view.computing:
        if view.word(address) == "embedding":
            indices = [tensor for tensor in view.inputs(address) if not view.is_weight(tensor)]
            tokens = bool(indices) and board.kind(indices[0]) != "positions" and _from_input(board, indices[0])
            board.place(address, "token embedding" if tokens else "position embedding", x=view.output(address))
            kind = "embedding" if tokens else "position embedding"
            if tokens:
                board.mark(indices[0], "token numbers")
            for output in view.outputs(address):
                board.kinds[view.root(output)] = kind
            if not tokens and indices:
                back_to_positions(board, indices[0], "positions")
    for node in view.nodes.values():
        if node.kind not in ("model", "phase") or not node.outputs:
            continue
        maker = view.made_by(node.outputs[0].tensor)
        while maker is not None and view.word(maker) in ("multiply", "divide", "tanh", *MOVING):
            board.place(maker, "cap logits", x=node.outputs[0].tensor)
            maker = view.made_by(view.inputs(maker)[0])
        projected = view.projected(maker) if maker is not None else None
        if maker is not None and projected is not None:
            board.place(maker, "logits", x=projected)
            board.mark(view.output(maker), "logits")
            board.kinds[view.root(node.outputs[0].tensor)] = "logits"
            _before_logits(board, projected)


def _from_input(board: Board, tensor: str) -> bool:
    root = board.view.root(tensor)
    return root in board.view.document.inputs or board.view.producer(root) is None


def _before_logits(board: Board, tensor: str) -> None:
    """The final norm and the choice of positions before the head."""
    view, current = board.view, tensor
    for _ in range(10):
        maker = view.made_by(current)
        if maker is None:
            return
        if view.word(maker) in MOVING and maker not in board.carried:
            board.place(maker, "kept positions", x=current)
            board.mark(current, "final features")
            current = view.inputs(maker)[0]
        else:
            if maker not in board.carried or not board.mark(current, "final features"):
                return
            current = board.carried[maker][0]


def find_latents(board: Board) -> None:
    """What lies between two projections in a row is a latent."""
    for _ in range(3):
        for address in board.view.computing:
            if board.view.projected(address) is not None:
                _low_rank(board, address)


def find_projections(board: Board) -> None:
    """Every linear layer is named by what its result becomes."""
    for address in board.view.computing:
        source = board.view.projected(address)
        if source is None:
            continue
        kind = board.kind(board.view.output(address))
        if board.kind(source) in ("mixed values", "gated output"):
            board.place(address, "output projection", x=source)
        elif kind is not None:
            board.place(address, "projection", x=board.view.output(address), y=source)


def _low_rank(board: Board, address: str) -> None:
    """A projection of a projection (perhaps normalised) is low-rank; what lies between is the latent."""
    view = board.view
    source = view.projected(address)
    kind = board.kind(view.output(address))
    if (
        source is None
        or kind is None
        or board.kind(source) is not None
        or kind.endswith(("update", "output", "logits"))
    ):
        return
    current, chain = view.root(source), list[str]()
    for _ in range(12):
        chain.append(current)
        maker = view.producer(current)
        if maker is None:
            return
        if view.projected(maker) is not None:
            break
        carried = board.carries(maker)
        if not carried:
            return
        current = view.root(carried[-1] if view.word(maker) == "cat" else carried[0])
    else:
        return
    latent = {"queries": "query latent", "keys": "key-value latent", "values": "key-value latent"}.get(kind)
    if kind in ATTENTION and latent is None:
        latent = "key-value latent"
    for tensor in chain:
        known = board.kinds.get(tensor)
        if known == "keys" and latent == "key-value latent":
            board.kinds[tensor] = "latent and shared key"
        elif known is None:
            board.kinds[tensor] = latent or "low-rank features"


def find_gates(board: Board) -> None:
    """Mixed values times a sigmoid (or SiLU) of a projection: the output gate."""
    view = board.view
    for address in view.computing:
        if view.word(address) != "multiply" or len(view.inputs(address)) != 2 or address in board.places:
            continue
        for output, gate in (view.inputs(address), view.inputs(address)[::-1]):
            maker = view.made_by(gate)
            if maker is None or view.word(maker) not in ("sigmoid", "silu") or not _mixed(board, output):
                continue
            board.place(address, "gate output", x=output, y=gate)
            board.place(maker, "output gate activation", x=gate, activation=view.word(maker))
            board.mark(gate, "output gate")
            board.spread(view.inputs(maker)[0], "output gate")
            board.mark(view.output(address), "gated output")
            board.carried[address] = (output,)
            board.anchor("output gate", address)
            break


def _skipped(board: Board, tensor: str) -> str | None:
    """What multiplies features by a parameter for a path past the state; ``None`` if nothing does."""
    view = board.view
    maker = view.made_by(tensor)
    if maker is None or view.word(maker) != "multiply" or len(view.inputs(maker)) != 2:
        return None
    return maker if sum(view.is_weight(operand) for operand in view.inputs(maker)) == 1 else None


def _mixed(board: Board, tensor: str) -> bool:
    """Whether a tensor comes from an attention mix or a recurrence by moves and norms only."""
    view, current = board.view, tensor
    for _ in range(15):
        if board.kind(current) in ("mixed values", "gated output"):
            return True
        maker = view.made_by(current)
        if maker is None:
            return False
        carried = board.carries(maker)
        if not carried:
            return False
        current = carried[0]
    return False


def flow_mixed(board: Board) -> None:
    """Name what mixed values become until a projection reads them: moved, joined over chunks, summed, normalised."""
    view = board.view
    for _ in range(2):
        for address in view.computing:
            output = view.output(address)
            if (
                output is None
                or board.kind(output) is not None
                or (address in board.places and address not in board.carried)
            ):
                continue
            inputs = [tensor for tensor in view.inputs(address) if not view.is_weight(tensor)]
            inputs = list(board.carried.get(address, inputs))
            kinds = {board.kind(tensor) for tensor in inputs}
            word = view.word(address)
            if word == "add" and "mixed values" in kinds:
                board.mark(output, "mixed values")
                skip = next((maker for tensor in inputs if (maker := _skipped(board, tensor)) is not None), None)
                if skip is not None:
                    board.place(skip, "skip weight", x=view.output(skip))
                board.place(address, "add skip" if skip is not None else "add readings", x=inputs[0], y=inputs[-1])
                continue
            if word in ("setitem", "copy"):
                kinds = {board.kind(tensor) for tensor in inputs[-1:]}
            same = word in MOVING or address in board.carried
            if same and kinds and kinds <= {"mixed values", "gated output"}:
                board.mark(output, "gated output" if "gated output" in kinds else "mixed values")


def find_caches(board: Board) -> None:
    """What is appended to something from the call before, or to something empty, is a cache."""
    view = board.view
    for address in view.computing:
        if view.word(address) != "cat" or len(view.inputs(address)) != 2 or address in board.places:
            continue
        past, fresh = view.inputs(address)
        maker = view.made_by(past)
        if maker is None:
            continue
        earlier = view.nodes[maker].phase != view.nodes[address].phase
        empty = view.word(maker) in EMPTY and any(size_name(size) == "0" for size in view.shape(past))
        if earlier or empty:
            board.place(address, "append to cache", x=fresh, y=past)
            board.carried[address] = (fresh,)
            board.anchor("cache", address)
            for reader in view.readers(view.output(address) or ""):
                if view.word(reader) == "getitem" and not axes_only(board, reader):
                    board.place(reader, "cut cache", x=fresh)
            if empty:
                board.place(maker, "empty cache", x=fresh)
            kind = board.kind(fresh) or board.kind(view.output(address))
            if kind is not None:
                board.mark(view.output(address), kind)
                if empty:
                    board.mark(past, kind)


def find_rooms(board: Board) -> None:
    """A tensor made empty, of which parts are filled by copies: the join of these in place."""
    view = board.view
    for address in view.computing:
        inputs = view.inputs(address)
        whole = view.outputs(address)[-1] if view.outputs(address) else None
        if view.word(address) not in ("copy", "setitem") or len(inputs) < 2 or board.kind(whole) is None:
            continue
        if address in board.places:
            continue
        cut = view.made_by(inputs[0])
        board.place(address, "copied in", x=whole, y=inputs[-1])
        first = view.made_by(inputs[0])
        if first is not None and view.word(first) in EMPTY:
            board.mark(inputs[0], board.kind(whole) or "")
            board.place(first, "room", x=whole)
        if cut is not None and view.word(cut) == "getitem":
            board.place(cut, "slice to fill", x=whole)
            start = view.made_by(view.inputs(cut)[0])
            if start is not None and view.word(start) in EMPTY:
                board.place(start, "room", x=whole)


def find_shared_key(board: Board) -> None:
    """The part of a joint projection that is no latent but goes into the keys of all heads."""
    view = board.view
    pending = [
        output
        for address in view.computing
        if view.inputs(address) and board.kind(view.inputs(address)[0]) == "latent and shared key"
        for output in view.outputs(address)
        if board.kind(output) == "keys"
    ]
    for tensor in pending:
        root = view.root(tensor)
        if board.kinds.get(root) != "keys":
            continue
        board.kinds[root] = "shared key"
        for reader in view.readers(root):
            joins = view.word(reader) in ("cat", "copy", "stack") and reader not in board.places
            if not joins or (
                board.places.get(reader) and board.places[reader].name in ("append to cache", "join rotated")
            ):
                pending.extend(view.outputs(reader))


def find_biases(board: Board) -> None:
    """A sum with a vector of parameters (or that of one expert) is the bias of a projection."""
    view = board.view
    for address in view.computing:
        inputs = view.inputs(address)
        if view.word(address) != "add" or len(inputs) != 2 or address in board.places:
            continue
        biases = [tensor for tensor in inputs if view.is_weight(tensor) and len(view.shape(tensor)) == 1]
        features = [tensor for tensor in inputs if tensor not in biases]
        if len(biases) == 1 and len(features) == 1:
            board.place(address, "bias", x=features[0])
            board.carried.setdefault(address, (features[0],))
            kind = board.kind(features[0]) or board.kind(view.output(address))
            if kind is not None:
                board.mark(features[0], kind)
                board.mark(view.output(address), kind)


def find_indices(board: Board) -> None:
    """Counts beside positions in a mask: of the sequences of a batch, and of heads."""
    view = board.view
    masks = {
        enclosing
        for proof in ("causal", "window")
        for each in board.anchors.get(proof, ())
        for enclosing in view.enclosing(each)
        if view.nodes[enclosing].kind == "function"
    }
    for address in view.computing:
        output = view.output(address)
        inside = any(enclosing in masks for enclosing in view.enclosing(address))
        if view.word(address) != "arange" or address in board.places or output is None:
            continue
        if not inside:
            _uncounted(board, address, output)
            continue
        kind = "batch indices" if size_name(view.shape(output)[0]) == "B" else "head indices"
        board.mark(output, kind)
        board.place(address, "indices", x=output)
        for reader in view.readers(output):
            if view.word(reader) == "getitem" and axes_only(board, reader):
                board.place(reader, "insert axes", x=output)
                board.mark(view.output(reader), kind)


def _uncounted(board: Board, address: str, output: str) -> None:
    """A count as long as the positions, whatever reads it."""
    view = board.view
    if position_axis(view, output) != 0:
        return
    board.place(address, "count", x=output)
    board.mark(output, "positions")
    for reader in view.readers(output):
        if view.word(reader) == "add" and len(view.inputs(reader)) == 1:
            board.place(reader, "offset", x=output)
            board.mark(view.output(reader), "positions")


def find_constants(board: Board) -> None:
    """Tensors made of numbers alone, that nothing else explains."""
    view = board.view
    for address in view.computing:
        if view.word(address) in ("tensor", "as_tensor", "full") and not view.inputs(address):
            board.place(address, "constant", x=view.output(address))


def find_embedding_steps(board: Board) -> None:
    """What happens to token embeddings before the first layer: scale, added positions, dropout."""
    view = board.view
    pending = [tensor for tensor, kind in board.kinds.items() if kind == "embedding"]
    for tensor in pending:
        for reader in view.readers(tensor):
            output, word = view.output(reader), view.word(reader)
            if reader in board.places or output is None or view.group_of(reader) is not None:
                continue
            others = [other for other in view.inputs(reader) if view.root(other) != view.root(tensor)]
            if word == "multiply" and (not others or view.is_weight(others[0])):
                board.place(reader, "embedding scale", x=tensor)
            elif word == "add" and others and board.kind(others[0]) == "position embedding":
                board.place(reader, "add positions", x=tensor, y=others[0])
            elif word == "dropout":
                board.place(reader, "dropout", x=tensor)
            else:
                continue
            if board.kind(output) in (None, "block input", "running sum"):
                board.kinds[view.root(output)] = "embedding"
                pending.append(view.root(output))
