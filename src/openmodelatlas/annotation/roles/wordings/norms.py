"""Wordings: norms."""

from __future__ import annotations

from openmodelatlas.annotation.roles.wordings.wording import Wording

PLACES: dict[str, Wording] = {
    "square": Wording("Square the {x}", "Square every element of the {x}.", "squares of the {x}", "square", "norm"),
    "total of rms": Wording(
        "Average the squares", "Average the squares over the features.", "mean square", "mean square", "norm"
    ),
    "total of length": Wording(
        "Sum the squares", "Sum the squares over the features.", "squared length", "squared length", "norm"
    ),
    "epsilon of rms": Wording(
        "Add epsilon",
        "Add a small constant to the mean square, so that the root of zero features stays above zero.",
        "mean square plus epsilon",
        "epsilon",
        "norm",
    ),
    "epsilon of length": Wording(
        "Add epsilon",
        "Add a small constant to the squared length, so that its root stays above zero.",
        "squared length plus epsilon",
        "epsilon",
        "norm",
    ),
    "rsqrt of rms": Wording(
        "Inverse root mean square",
        "Take one over the root of the mean square.",
        "inverse root mean square",
        "inverse root mean square",
        "norm",
    ),
    "sqrt of rms": Wording(
        "Root mean square", "Take the root of the mean square.", "root mean square", "root mean square", "norm"
    ),
    "rsqrt of length": Wording(
        "Inverse length", "Take one over the length of each vector.", "inverse length", "inverse length", "norm"
    ),
    "sqrt of length": Wording("Length", "Take the length of each vector.", "length", "length", "norm"),
    "norm of length": Wording("Length", "Take the length of each vector.", "length", "length", "norm"),
    "vector_norm of length": Wording("Length", "Take the length of each vector.", "length", "length", "norm"),
    "bounded root": Wording(
        "Keep the length above zero",
        "Keep the divisor above a small constant.",
        "bounded length",
        "bounded length",
        "norm",
    ),
    "normalise by rms": Wording(
        "Normalise the {x}",
        "Divide the {x} by {their} root mean square.",
        "{x} with unit root mean square",
        "normalisation",
        "norm",
    ),
    "normalise by length": Wording(
        "Normalise the {x} to unit length",
        "Divide the {x} by {their} length.",
        "{x} of unit length",
        "length normalisation",
        "norm",
    ),
    "shifted gain": Wording(
        "One plus the stored gain",
        "Add 1 to the stored gain: the checkpoint holds its difference from 1.",
        "gain",
        "shifted gain",
        "norm",
    ),
    "gain": Wording("Apply the gain", "Multiply each feature by its learned gain.", "", "gain", "norm"),
    "layer norm": Wording(
        "Layer norm of the {x}",
        "Subtract the mean of the {x}, divide by {their} standard deviation{affine}.",
        "",
        "layer norm",
        "norm",
    ),
    "rms norm": Wording(
        "RMSNorm of the {x}", "Divide the {x} by {their} root mean square{affine}.", "", "rms norm", "norm"
    ),
    "length norm": Wording(
        "Normalise the {x} to unit length", "Divide the {x} by {their} length.", "", "length normalisation", "norm"
    ),
    "group norm": Wording("Group norm of the {x}", "Normalise the {x} within groups.", "", "group norm", "norm"),
}
