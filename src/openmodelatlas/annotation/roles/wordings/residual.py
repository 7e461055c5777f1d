"""Wordings: the residual stream and its stored sums."""

from __future__ import annotations

from openmodelatlas.annotation.roles.wordings.wording import Wording

PLACES: dict[str, Wording] = {
    "add attention update": Wording(
        "Add attention update",
        "Add the mechanism’s update to the residual stream element by element.",
        "",
        "residual addition",
        "residual",
    ),
    "add feed-forward update": Wording(
        "Add feed-forward update",
        "Add the mechanism’s update to the residual stream element by element.",
        "",
        "residual addition",
        "residual",
    ),
    "add mixer update": Wording(
        "Add mixer update",
        "Add the mechanism’s update to the residual stream element by element.",
        "",
        "residual addition",
        "residual",
    ),
    "join sums": Wording(
        "Join the sums",
        "Join the stored sums with the running sum: what this mixture can choose from.",
        "stored sums and the running sum",
        "sums of the stream",
        "residual",
    ),
    "learned query": Wording(
        "Learned query",
        "Multiply the gain of the norm into the weight of the score: one learned query.",
        "learned query",
        "learned query",
        "residual",
    ),
    "score sums product": Wording(
        "Weigh the features of the sums",
        "Multiply the normalised sums by the learned query, feature by feature.",
        "products of sums and query",
        "sum score product",
        "residual",
    ),
    "score sums": Wording(
        "Score the sums", "Add up the products: one score for each sum.", "scores of the sums", "sum scores", "residual"
    ),
    "weigh sums": Wording(
        "Weigh the sums",
        "Turn the scores into positive weights that sum to 1 over the sums.",
        "weights of the sums",
        "sum weights",
        "residual",
    ),
    "weighted sums": Wording(
        "Weigh each sum",
        "Multiply each sum by its weight.",
        "weighted sums",
        "weighted sums",
        "residual",
    ),
    "mix sums": Wording(
        "Mix the sums",
        "Add up the sums, each weighted by its weight.",
        "mixture of the sums",
        "sum mixture",
        "residual",
    ),
    "store sum": Wording(
        "Store the running sum", "Append the running sum to the stored sums.", "stored sums", "stored sum", "residual"
    ),
    "no sums": Wording(
        "No stored sums yet",
        "Start with an empty list of stored sums.",
        "empty stored sums",
        "stored sums start",
        "residual",
    ),
}
