"""Rules that name what encloses operations by what lies in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openmodelatlas.annotation.knowledge import Family
from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.names import Names, their
from openmodelatlas.annotation.roles.naming import NORM_ENDS
from openmodelatlas.annotation.roles.positions import axes_only
from openmodelatlas.annotation.roles.wordings import PLACES
from openmodelatlas.graph.document import Node
from openmodelatlas.graph.naming import spoken

NORM_ROLES = frozenset(["normalisation", "length normalisation", "layer norm", "rms norm"])


@dataclass(frozen=True)
class Content:
    """What lies in a node.

    Attributes:
        node: it.
        board: what the rules found.
        names: names of operations.
        computing: operations inside, in order, plumbing apart.
        plumbing: views and casts inside.
        places: names of the places inside.
        anchors: what is proved inside.
    """

    node: Node
    board: Board
    names: Names
    computing: tuple[str, ...]
    plumbing: tuple[str, ...]
    places: frozenset[str]
    anchors: frozenset[str]

    def has(self, *places: str) -> bool:
        """Whether one of these places lies inside."""
        return any(place in self.places for place in places)

    def kinds(self) -> list[str]:
        """What the outputs are, in order, each once."""
        found = [self.board.kind(port.tensor) for port in self.node.outputs]
        return list(dict.fromkeys(kind for kind in found if kind is not None))


Found = tuple[str, str, str, Family | None]
"""Title, sentence, role and family."""


def contents(board: Board, names: Names) -> dict[str, Content]:
    """The content of every node that encloses others."""
    inside: dict[str, list[str]] = {}
    for address in board.view.computing:
        for enclosing in board.view.enclosing(address):
            inside.setdefault(enclosing, []).append(address)
    proofs: dict[str, set[str]] = {}
    for anchor, addresses in board.anchors.items():
        for address in addresses:
            for enclosing in (address, *board.view.enclosing(address)):
                proofs.setdefault(enclosing, set()).add(anchor)
    found = {}
    for address, node in board.view.nodes.items():
        if node.kind == "tensor" or board.view.computes(node):
            continue
        every = inside.get(address, [])
        found[address] = Content(
            node=node,
            board=board,
            names=names,
            computing=tuple(each for each in every if not board.view.nodes[each].plumbing),
            plumbing=tuple(each for each in every if board.view.nodes[each].plumbing),
            places=frozenset(place.name for each in every if (place := board.places.get(each))),
            anchors=frozenset(proofs.get(address, ())),
        )
    return found


def _model(content: Content) -> Found:
    return "", "The whole model: token numbers in, the logits of the next token out.", "model", None


def _phase(content: Content) -> Found:
    return "", "One further position, with the caches of the call before.", "decode step", None


def _group(content: Content) -> Found:
    children = content.node.children
    inner = [child for child in children if content.board.view.nodes[child].kind == "layer group"]
    if inner:
        sentence = "The layers, one after the other; each adds its updates to the residual stream."
        return "", sentence, "layers", None
    updates = list(
        dict.fromkeys(
            place.name.removeprefix("add ")
            for address, place in content.board.places.items()
            if place.name in ("add attention update", "add feed-forward update", "add mixer update")
            and content.board.view.inside(address, content.node.address)
        )
    )
    updates += [
        place.name.removeprefix("add ")
        for address, place in content.board.regions.items()
        if content.board.view.inside(address, content.node.address)
    ]
    updates = [update for update in UPDATES if update in updates]
    what = " and the ".join(updates)
    one = "One layer" if content.node.count == 1 else "Layers of one structure"
    computes = "it computes" if content.node.count == 1 else "each computes"
    sentence = f"{one}: {computes} the {what} of the residual stream."
    return "", sentence if what else f"{one}.", "layer", None


UPDATES = ("attention update", "mixer update", "feed-forward update")

WHOLES: dict[str, Callable[[Content], Found]] = {"model": _model, "phase": _phase, "layer group": _group}


def single(content: Content) -> Found | None:
    """Exactly one operation inside: the node is that operation, under the name of a module or function."""
    if len(content.computing) != 1 or content.node.kind == "loop":
        return None
    if content.plumbing and axes_only(content.board, content.computing[0]):
        return None
    name = content.names.operations[content.computing[0]]
    return name.title, name.sentence, name.role or "operation", name.family


def rearranging(content: Content) -> Found | None:
    """Only views and casts inside: it is named by the one that changes most, a head split first."""
    if not all(axes_only(content.board, each) for each in content.computing):
        return None
    if not content.plumbing:
        what = several([content.names.noun(port.tensor) for port in content.node.inputs])
        return f"Insert axes into the {what}", f"Insert axes of size 1 into the {what}.", "new axes", None
    names = [content.names.operations[address] for address in content.plumbing]
    order = ("head split", "head merge", "head sharing", "token list", "head move")
    best = min(names, key=lambda name: order.index(name.role) if name.role in order else len(order))
    return best.title, best.sentence, best.role or "rearrangement", best.family


def nothing(content: Content) -> Found | None:
    """No operation inside at all."""
    if content.computing or content.plumbing:
        return None
    title = spoken((content.node.function or content.node.title).rpartition(".")[2].strip("_"))
    return (
        f"{title}: no operation",
        "Prepares things; no operation on a tensor was recorded here.",
        "no operation",
        None,
    )


def block(content: Content) -> Found | None:
    """Additions to the residual stream inside: a whole layer."""
    if "stream" not in content.anchors or content.node.kind == "branch":
        return None
    return "Block", "A block: its mechanisms add their updates to the residual stream.", "block", "residual"


def mixture(content: Content) -> Found | None:
    """A choice of experts together with what runs them."""
    if content.node.kind == "loop" or "routing" not in content.anchors or "experts" not in content.anchors:
        return None
    return (
        "Mixture of experts",
        "A router chooses a few experts for every token; their weighed outputs are added up.",
        "mixture of experts",
        "routing",
    )


def router(content: Content) -> Found | None:
    """A choice of experts without what runs them."""
    if "routing" not in content.anchors:
        return None
    return "Router", "Score the experts, choose the best for every token, and weigh them.", "router", "routing"


def experts(content: Content) -> Found | None:
    """What runs chosen experts."""
    if "experts" not in content.anchors:
        return None
    if content.node.kind == "loop":
        return (
            "Each expert with tokens",
            "For each expert that has tokens: pick its tokens, run it, weigh the output and add it up.",
            "expert loop",
            "routing",
        )
    return (
        "Routed experts",
        "Run each chosen expert on its tokens and add up the weighed outputs.",
        "routed experts",
        "routing",
    )


def attention(content: Content) -> Found | None:
    """Scores, softmax and mix; with projections it is the whole mechanism."""
    if "attention" not in content.anchors:
        return None
    if content.has("output projection"):
        kinds = {content.board.kind(content.board.view.output(each)) for each in content.computing}
        if {"key-value latent", "latent and shared key"} & kinds:
            return (
                "Latent attention",
                "Attention whose keys and values are projected up from a shared latent.",
                "attention",
                "attention",
            )
        return (
            "Attention",
            "Project to queries, keys and values, mix the values by the scores, and project back.",
            "attention",
            "attention",
        )
    return (
        "Attention core",
        "Score the keys for each query, turn the scores into weights, and mix the values.",
        "attention core",
        "attention",
    )


def delta(content: Content) -> Found | None:
    """A recurrence whose writes correct what the state recalls."""
    if "delta" not in content.anchors:
        return None
    if content.has("output projection"):
        return (
            "Delta-rule attention",
            "Linear attention: a decaying state, corrected by the delta rule, stands in for stored keys and values.",
            "linear attention",
            "attention",
        )
    if content.node.kind == "loop":
        return (
            "Each part of the sequence",
            "Run the delta rule on one part of the sequence after the other.",
            "recurrence loop",
            "state",
        )
    return (
        "Delta rule",
        "Write to the state what it does not recall yet, and read it with the queries.",
        "delta rule",
        "state",
    )


def mixer(content: Content) -> Found | None:
    """A recurrence without correction, or a scan over chunks."""
    if not content.anchors & {"recurrence", "chunk", "scan"}:
        return None
    if content.has("short convolution"):
        return (
            "State-space mixer",
            "Mix positions by a short convolution and a decaying state.",
            "state-space mixer",
            "state",
        )
    return "State-space scan", "Run the decaying state over all positions.", "state-space scan", "state"


def depth(content: Content) -> Found | None:
    """A mixture over stored sums of the stream."""
    if "depth" not in content.anchors:
        return None
    before = next(
        (
            f" before {BEFORE[kind]}"
            for port in content.node.outputs
            for kind in [_reader_kind(content.board, port.tensor)]
            if kind in BEFORE
        ),
        "",
    )
    return (
        f"Mix the stored sums{before}",
        "Mix the stored sums and the running sum by a softmax over learned scores: attention over depth.",
        "depth mixture",
        "residual",
    )


BEFORE = {
    "attention input": "attention",
    "feed-forward input": "the feed-forward network",
    "mixer input": "the mixer",
    "final features": "the final norm",
}


def _reader_kind(board: Board, tensor: str) -> str | None:
    """What a norm makes of a tensor."""
    view, pending = board.view, [board.view.root(tensor)]
    for current in pending:
        for reader in view.readers(current):
            output = view.output(reader)
            if output is None or reader not in board.carried or len(pending) > 6:
                continue
            kind = board.kind(output)
            if kind in BEFORE:
                return kind
            pending.append(output)
    return None


def feed_forward(content: Content) -> Found | None:
    """A gated product or an activation, with or without its projections."""
    if not content.anchors & {"gated", "activation"} or content.has("output projection"):
        return None
    output = content.kinds()
    if not content.has("down projection"):
        if len(content.computing) > 1 and content.has("gate times up"):
            return (
                "Gated activation",
                "Activate the gate and multiply it with the up features.",
                "gating",
                "feed-forward",
            )
        return "Activation", "Apply the activation, element by element.", "activation", "feed-forward"
    if "shared output" in output:
        return (
            "Shared experts",
            "A feed-forward network that every token passes, besides its chosen experts.",
            "shared experts",
            "feed-forward",
        )
    if output and output[0] in ("expert output", "weighed output"):
        return "Expert", "The feed-forward network of one expert.", "expert", "feed-forward"
    if content.has("gate times up"):
        return (
            "Gated feed-forward network",
            "Project to gate and up, multiply the activated gate with up, and project back down.",
            "feed-forward network",
            "feed-forward",
        )
    return (
        "Feed-forward network",
        "Project up, activate, and project back down.",
        "feed-forward network",
        "feed-forward",
    )


def norm(content: Content) -> Found | None:
    """One norm, named by what it normalises and who reads it."""
    if not content.anchors & {"norm", "length norm"} or content.has("short convolution"):
        return None
    normalising = [address for address in content.computing if content.names.operations[address].role in NORM_ROLES]
    if len(normalising) != 1:
        return None
    place = content.board.places[normalising[0]]
    word = {"normalise by rms": "RMSNorm", "normalise by length": "Length norm", "layer norm": "Layer norm"}.get(
        place.name, "RMSNorm" if place.name == "rms norm" else "Norm"
    )
    noun = content.names.noun(place.x)
    kinds = content.kinds()
    own = their(noun)
    how = {
        "RMSNorm": f"by {own} root mean square",
        "Length norm": f"by {own} length",
    }.get(word, "to mean 0 and variance 1")
    gain = " and apply a gain for each feature" if content.has("gain", "layer norm", "rms norm") else ""
    gated = " and the gate" if content.has("gate output") else ""
    before = gated and content.board.kind(place.x) == "gated output"
    verb = "Normalise" if word == "Layer norm" else "Divide"
    sentence = f"{verb} the {noun} {how}{gain}{gated}."
    title = next((NORM_ENDS[kind].format(word) for kind in kinds if kind in NORM_ENDS), f"{word} of the {noun}")
    if before:
        title = f"Gated {word} of the mixed values"
        sentence = f"Multiply the mixed values by the output gate, then divide them {how.replace(own, 'their')}{gain}."
    elif gated:
        title = f"Gated {word} of the {noun}"
    return title, sentence, "norm", "norm"


def convolution(content: Content) -> Found | None:
    """A short convolution with its window and activation."""
    if "convolution" not in content.anchors or content.has("output projection"):
        return None
    noun = next((content.names.noun(port.tensor) for port in content.node.outputs), "features")
    return (
        f"Short convolution of the {noun}",
        f"Mix each channel of the {noun} over its last few positions.",
        "short convolution",
        "state",
    )


def rotation(content: Content) -> Found | None:
    """Rotation of queries, keys or both by the angles."""
    if "rotation" not in content.anchors:
        return None
    nouns = list(dict.fromkeys(content.names.noun(port.tensor) for port in content.node.outputs))
    what = " and the ".join(nouns) or "features"
    return (
        f"Rotate the {what}",
        f"Turn each pair of features of the {what} by the angle of its position.",
        "rotation",
        "attention",
    )


def table(content: Content) -> Found | None:
    """Cosines and sines of the angles of all positions."""
    if not content.has("cos", "sin"):
        return None
    return (
        "Rotary table",
        "Compute the cosines and sines of the angle of each position and feature pair.",
        "rotary table",
        "embedding",
    )


def mask(content: Content) -> Found | None:
    """A mask, by the comparisons inside."""
    causal, window = "causal" in content.anchors, "window" in content.anchors
    if not (causal or window):
        return None
    if causal and window:
        return (
            "Sliding-window mask",
            "Allow each query the keys up to its position, within a window.",
            "mask",
            "attention",
        )
    if window:
        return "Window mask", "Allow each query the keys within a window before it.", "mask", "attention"
    return "Causal mask", "Allow each query the keys up to its own position.", "mask", "attention"


def cache(content: Content) -> Found | None:
    """Appending to a cache, keeping a window or a state."""
    if "cache" in content.anchors:
        nouns = list(dict.fromkeys(content.names.noun(port.tensor) for port in content.node.inputs))
        what = " and the ".join(nouns[:2]) or "features"
        return (
            f"Append the {what} to the cache",
            f"Keep the {what} of this call for the next ones.",
            "cache update",
            "state",
        )
    for place in ("store window", "store state"):
        if content.has(place):
            wording = PLACES[place]
            return wording.title, wording.sentence, wording.role, wording.family
    if content.has("empty cache", "empty window", "empty state"):
        return "Empty cache", "Make an empty cache.", "cache start", "state"
    return None


def decay(content: Content) -> Found | None:
    """The log decay from its projection, bias and rate."""
    if not content.has("decay rate", "decay bias"):
        return None
    return "Log decay", "Compute the logarithm of the state’s decay for each position.", "log decay", "state"


def outputs(content: Content) -> Found | None:
    """What is known of the outputs alone."""
    kinds = content.kinds()
    if not kinds or content.node.kind == "loop":
        return None
    nouns = [content.names.noun(port.tensor) for port in content.node.outputs if content.board.kind(port.tensor)]
    what = several(nouns)
    return f"Prepare the {what}", f"Make the {what}.", f"{kinds[0]}", None


def several(nouns: list[str]) -> str:
    """Nouns in a row, at most two of them told."""
    different = list(dict.fromkeys(nouns))
    if len(different) <= 2:
        return " and the ".join(different)
    return f"{different[0]} and {len(different) - 1} more tensors"


def embedding(content: Content) -> Found | None:
    """A look-up of tokens, with what follows it."""
    if not content.has("token embedding") or content.has("logits"):
        return None
    wording = PLACES["token embedding"]
    return wording.title, wording.sentence, wording.role, wording.family


def last(content: Content) -> Found | None:
    """The last operation inside, for what nothing else names."""
    if not content.computing:
        return None
    name = content.names.operations[content.computing[-1]]
    title = spoken((content.node.function or content.node.title).rpartition(".")[2].strip("_"))
    if content.node.kind == "loop":
        return (
            f"Each round: {name.title[:1].lower()}{name.title[1:]}",
            f"Repeated: {name.sentence}",
            "loop",
            name.family,
        )
    return title, f"Ends with: {name.title[:1].lower()}{name.title[1:]}.", name.role or "", name.family


RULES: tuple[Callable[[Content], Found | None], ...] = (
    single,
    nothing,
    rearranging,
    block,
    embedding,
    mixture,
    router,
    experts,
    attention,
    delta,
    mixer,
    feed_forward,
    depth,
    norm,
    convolution,
    rotation,
    mask,
    table,
    decay,
    cache,
    outputs,
    last,
)
"""What proves most comes first; the last two know only results."""
