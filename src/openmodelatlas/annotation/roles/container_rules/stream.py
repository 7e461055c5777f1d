"""The residual stream: its embedding, the blocks that add to it, mixtures of its stored sums, and norms."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.content import Content, Found
from openmodelatlas.annotation.roles.names import their
from openmodelatlas.annotation.roles.naming import NORM_ENDS
from openmodelatlas.annotation.roles.wordings import PLACES


def embedding(content: Content) -> Found | None:
    """A look-up of tokens, with what follows it."""
    if not content.has("token embedding") or content.has("logits"):
        return None
    return PLACES["token embedding"].found()


def block(content: Content) -> Found | None:
    """Additions to the residual stream inside: a whole layer."""
    if "stream" not in content.anchors or content.node.kind == "branch":
        return None
    return "Block", "A block: its mechanisms add their updates to the residual stream.", "block", "residual"


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


NORM_ROLES = frozenset(["normalisation", "length normalisation", "layer norm", "rms norm"])


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
