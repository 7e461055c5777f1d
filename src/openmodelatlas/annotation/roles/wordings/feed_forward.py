"""Wordings: feed-forward networks."""

from __future__ import annotations

from openmodelatlas.annotation.roles.wordings.wording import Wording

PLACES: dict[str, Wording] = {
    "activation": Wording(
        "Activate the {x}",
        "Apply {activation} to the {x}, element by element.",
        "activated {x}",
        "activation",
        "feed-forward",
    ),
    "bound": Wording(
        "Tanh of the {x}",
        "Take the hyperbolic tangent of the {xp}, element by element: a soft bound.",
        "tanh of the {x}",
        "soft bound",
        "feed-forward",
    ),
    "clamp": Wording("Clamp the {x}", "Keep the {x} within bounds.", "clamped {x}", "clamp", "feed-forward"),
    "rescale": Wording(
        "{Verb} the {x} by {number}", "{Verb} the {x} by {number}.", "{x} {times} {number}", "scale", "feed-forward"
    ),
    "rescale bounded": Wording(
        "{Verb} the {x} by {number}",
        "{Verb} the {xp} by {number}: the {x} {stays} between −{number} and {number}.",
        "bounded {x}",
        "scale",
        "feed-forward",
    ),
    "shift": Wording("Shift the {x}", "Add {number} to the {x}.", "shifted {x}", "shift", "feed-forward"),
    "self gate": Wording(
        "Multiply the {x} by its activation",
        "Multiply the {x} by its own activation, element by element.",
        "activated {x}",
        "activation",
        "feed-forward",
    ),
    "part of activation": Wording(
        "{step}",
        "One step of the activation: {does}",
        "step of the activation",
        "activation step",
        "feed-forward",
    ),
    "gate times up": Wording(
        "Gate the up features",
        "Multiply the activated gate by the up features, element by element.",
        "gated features",
        "gating",
        "feed-forward",
    ),
    "down projection": Wording("Down projection", "Project the {x} back down.", "", "down projection", "feed-forward"),
    "up projection": Wording(
        "Up projection",
        "Project the features up to the inner width.",
        "expanded features",
        "up projection",
        "feed-forward",
    ),
}
