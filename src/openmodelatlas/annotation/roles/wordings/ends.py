"""Wordings: both ends of a model."""

from __future__ import annotations

from openmodelatlas.annotation.roles.wordings.wording import Wording

PLACES: dict[str, Wording] = {
    "token embedding": Wording(
        "Token embedding",
        "Look up one row of the embedding matrix for every token.",
        "token embeddings",
        "token embedding",
        "embedding",
    ),
    "position embedding": Wording(
        "Position embedding",
        "Look up one learned row for every position.",
        "position embeddings",
        "position embedding",
        "embedding",
    ),
    "embedding scale": Wording(
        "Scale the embeddings",
        "Multiply the token embeddings by {number}.",
        "scaled token embeddings",
        "embedding scale",
        "embedding",
    ),
    "add positions": Wording(
        "Add position embeddings",
        "Add the position embeddings to the token embeddings.",
        "embeddings with positions",
        "position addition",
        "embedding",
    ),
    "logits": Wording(
        "Logits", "Score every token of the vocabulary as the next one.", "logits", "logits", "embedding"
    ),
    "cap logits": Wording(
        "{step}",
        "One step of the soft cap of the logits: {does}",
        "logits",
        "logit cap",
        "embedding",
    ),
    "kept positions": Wording(
        "Positions that get logits",
        "Keep the positions whose logits are asked for.",
        "features that get logits",
        "kept positions",
        "embedding",
    ),
    "test": Wording(
        "Test the {x}", "Compare the {x}, to decide which way the code goes.", "result of the test", "test", None
    ),
    "read test": Wording(
        "Read the test", "Read the result as true or false: it decides which way the code goes.", "", "test", None
    ),
}
