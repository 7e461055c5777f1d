"""Feed-forward networks, and mixtures of experts with their routers."""

from __future__ import annotations

from openmodelatlas.annotation.roles.content import Content, Found


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
