"""Wordings: masks."""

from __future__ import annotations

from openmodelatlas.annotation.roles.wordings.wording import Wording

PLACES: dict[str, Wording] = {
    "causal": Wording(
        "Compare positions",
        "Find the pairs in which the key does not come after the query.",
        "causal pairs",
        "causal mask",
        "attention",
    ),
    "window": Wording(
        "Keep the window",
        "Find the pairs in which the key lies within the window before the query.",
        "pairs within the window",
        "window mask",
        "attention",
    ),
    "window edge": Wording(
        "Window edge", "Subtract the window from each query position.", "window edges", "window edge", "attention"
    ),
    "same sequence": Wording(
        "Compare sequences",
        "Find the pairs that belong to the same sequence.",
        "pairs of one sequence",
        "sequence mask",
        "attention",
    ),
    "visible by number": Wording(
        "Compare with a number", "Find the places that a number allows.", "visible places", "mask", "attention"
    ),
    "both visible": Wording(
        "Combine the masks",
        "Keep the pairs that both masks allow.",
        "pairs that both allow",
        "combined mask",
        "attention",
    ),
    "either visible": Wording(
        "Join the masks",
        "Keep the pairs that either mask allows.",
        "pairs that either allows",
        "combined mask",
        "attention",
    ),
    "hidden": Wording(
        "Hidden pairs", "Turn visible pairs into hidden ones.", "hidden pairs", "hidden pairs", "attention"
    ),
    "additive mask": Wording(
        "Mask to add",
        "Put 0 where a pair is visible and a very large negative value where it is hidden.",
        "mask to add",
        "additive mask",
        "attention",
    ),
    "visible value": Wording(
        "Value of visible pairs",
        "Make the 0 that visible pairs get.",
        "value of visible pairs",
        "mask value",
        "attention",
    ),
    "triangle": Wording(
        "Triangle", "Keep one triangle of the pairs of positions.", "triangle of pairs", "causal mask", "attention"
    ),
    "all visible": Wording(
        "All pairs", "Start from a mask that allows every pair.", "all pairs", "mask start", "attention"
    ),
    "part of mask": Wording(
        "Take the mask used here", "Take the part of the mask used here.", "mask used here", "part of mask", "attention"
    ),
}
