"""Positions: the rotation by their angles, masks over them, and caches of earlier ones."""

from __future__ import annotations

from openmodelatlas.annotation.roles.content import Content, Found
from openmodelatlas.annotation.roles.wordings import PLACES


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
            return PLACES[place].found()
    if content.has("empty cache", "empty window", "empty state"):
        return "Empty cache", "Make an empty cache.", "cache start", "state"
    return None
