"""Wordings: attention, its projections and caches."""

from __future__ import annotations

from openmodelatlas.annotation.roles.wordings.wording import Wording

PLACES: dict[str, Wording] = {
    "scores": Wording(
        "Scores",
        "Multiply each query by each key: one score for each pair of positions and each head.",
        "attention scores",
        "attention scores",
        "attention",
    ),
    "scale scores": Wording(
        "Scale the scores",
        "Multiply the scores by {number}.",
        "scaled attention scores",
        "score scale",
        "attention",
    ),
    "cap scores": Wording(
        "Cap the scores", "Bend the scores softly towards a bound.", "capped attention scores", "score cap", "attention"
    ),
    "append sinks": Wording(
        "Append the sink logits",
        "Join one learned logit per head to the scores as a further column.",
        "attention scores with sinks",
        "attention sink",
        "attention",
    ),
    "drop sinks": Wording(
        "Keep the weights used",
        "Take the weights that the mix uses.",
        "attention weights used",
        "weights used",
        "attention",
    ),
    "subtract largest": Wording(
        "Subtract the largest score",
        "Subtract the largest score of each row, which keeps the exponentials small.",
        "shifted attention scores",
        "score shift",
        "attention",
    ),
    "largest score": Wording(
        "Largest score", "Take the largest score of each row.", "largest score", "largest score", "attention"
    ),
    "add mask": Wording(
        "Add the mask",
        "Add the mask to the scores, so that hidden positions drop out of the softmax.",
        "masked attention scores",
        "masking",
        "attention",
    ),
    "fill mask": Wording(
        "Hide positions",
        "Overwrite the scores of hidden positions, so that they drop out of the softmax.",
        "masked attention scores",
        "masking",
        "attention",
    ),
    "softmax": Wording(
        "Softmax over the keys",
        "Turn the scores of each query into positive weights that sum to 1.",
        "attention weights",
        "attention weights",
        "attention",
    ),
    "dropout": Wording(
        "Dropout of the {x}",
        "Drop elements of the {x} at random while training; here nothing changes.",
        "{x} after dropout",
        "dropout",
        None,
    ),
    "mix": Wording(
        "Mix the values",
        "Add up the values, each weighted by its attention weight.",
        "mixed values",
        "attention mix",
        "attention",
    ),
    "fused attention": Wording(
        "Attention",
        "Mix the values by the softmax of the scaled products of queries and keys.",
        "mixed values",
        "attention mix",
        "attention",
    ),
    "gate output": Wording(
        "Gate the output",
        "Multiply the mixed values by the output gate, element by element.",
        "gated output",
        "output gating",
        "attention",
    ),
    "output gate activation": Wording(
        "Activate the output gate",
        "Apply {activation} to the output gate, element by element.",
        "activated output gate",
        "output gate",
        "attention",
    ),
    "output projection": Wording(
        "Output projection",
        "Project the joined heads back to the width of the residual stream.",
        "",
        "output projection",
        "attention",
    ),
    "projection": Wording("{Xs} projection", "Project the {y} to the {x}.", "{x}", "{xs} projection", None),
    "append to cache": Wording(
        "Append the {x} to the cache",
        "Join what is cached of the {x} with that of this call, along the positions.",
        "cached {x}",
        "cache write",
        "state",
    ),
    "cut cache": Wording(
        "Cut the {x} to what is kept",
        "Take the part of the cached {x} that goes on: the window of a sliding cache.",
        "kept {x}",
        "cache window",
        "state",
    ),
    "empty cache": Wording(
        "Empty cache of the {x}", "Make an empty cache to append the {x} to.", "empty cache", "cache start", "state"
    ),
    "room": Wording(
        "Room for the {x}", "Make a tensor that the {x} are copied into.", "room for the {x}", "room", None
    ),
    "slice to fill": Wording(
        "Part of the {x} to fill", "Take the part of the {x} to copy into.", "part of the {x} to fill", "room", None
    ),
    "copied in": Wording("Copy into the {x}", "Fill a part of the {x}{filler}.", "{x}", "joining in place", None),
}
