"""What mixes positions: attention, linear attention and state spaces, with their convolutions and decays."""

from __future__ import annotations

from openmodelatlas.annotation.roles.content import Content, Found


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
    if content.node.phase == "decode":
        return (
            "State-space step",
            "Decay the state, write the new position to it, and read it.",
            "state-space scan",
            "state",
        )
    return "State-space scan", "Run the decaying state over all positions.", "state-space scan", "state"


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


def decay(content: Content) -> Found | None:
    """The log decay from its projection, bias and rate."""
    if not content.has("decay rate", "decay bias"):
        return None
    return "Log decay", "Compute the logarithm of the state’s decay for each position.", "log decay", "state"
