"""Wordings: routers and experts."""

from __future__ import annotations

from openmodelatlas.annotation.roles.wordings.wording import Wording

PLACES: dict[str, Wording] = {
    "router": Wording(
        "Router logits", "Score every expert for every token.", "router logits", "router logits", "routing"
    ),
    "router scores": Wording(
        "Router scores", "Apply {activation} to the router logits.", "router scores", "router scores", "routing"
    ),
    "correction bias": Wording(
        "Add the correction bias",
        "Add a bias for each expert that takes part in the choice only.",
        "scores for the choice",
        "correction bias",
        "routing",
    ),
    "router bias": Wording(
        "Add the router bias",
        "Add a bias for each expert to its score.",
        "biased router scores",
        "router bias",
        "routing",
    ),
    "best of each group": Wording(
        "Best {k} scores of each group",
        "Take the {k} best scores of each group of experts.",
        "best scores of each group",
        "group scores",
        "routing",
    ),
    "group scores": Wording(
        "Score the groups", "Add up the best scores of each group.", "group scores", "group scores", "routing"
    ),
    "choose groups": Wording(
        "{Groups}",
        "{groups}",
        "chosen groups",
        "group choice",
        "routing",
    ),
    "no groups": Wording(
        "No group chosen yet", "Start from a mask without any group.", "empty group mask", "group mask", "routing"
    ),
    "mark groups": Wording(
        "Mark the chosen groups", "Put 1 at the chosen groups.", "group mask", "group mask", "routing"
    ),
    "other groups": Wording(
        "Groups not chosen",
        "Turn the mask of chosen groups into that of the others.",
        "mask of the other groups",
        "group mask",
        "routing",
    ),
    "hide groups": Wording(
        "Hide the other groups",
        "Overwrite the scores of experts in other groups.",
        "scores for the choice",
        "group masking",
        "routing",
    ),
    "choose experts": Wording(
        "Keep the best {k} of {n} experts",
        "Choose for every token the {k} experts with the best scores.",
        "",
        "expert choice",
        "routing",
    ),
    "gather weights": Wording(
        "Weights of the chosen experts",
        "Pick the scores of the chosen experts.",
        "expert weights",
        "expert weights",
        "routing",
    ),
    "sum of weights": Wording(
        "Sum the expert weights",
        "Add up the weights of the chosen experts.",
        "sum of the expert weights",
        "weight sum",
        "routing",
    ),
    "epsilon of weights": Wording(
        "Add epsilon",
        "Add a small constant to the sum, so that it is not zero.",
        "sum of the expert weights plus epsilon",
        "epsilon",
        "routing",
    ),
    "normalise weights": Wording(
        "Normalise the expert weights",
        "Divide the weights by their sum, so that they sum to 1.",
        "normalised expert weights",
        "weight normalisation",
        "routing",
    ),
    "scale weights": Wording(
        "Scale the expert weights",
        "Multiply the weights by {number}.",
        "scaled expert weights",
        "weight scale",
        "routing",
    ),
    "weights after choice": Wording(
        "Weights of the chosen experts",
        "Apply {activation} to the logits of the chosen experts only.",
        "expert weights",
        "expert weights",
        "routing",
    ),
    "spread weights": Wording(
        "Spread the expert weights",
        "Put the weights at the places of their experts.",
        "expert weights of all experts",
        "expert weights",
        "routing",
    ),
    "choice table": Wording(
        "Table of choices", "Mark for every token which experts it chose.", "choice table", "choice table", "routing"
    ),
    "tokens per expert": Wording(
        "Count the tokens of each expert",
        "Add up how many tokens chose each expert.",
        "tokens of each expert",
        "token counts",
        "routing",
    ),
    "has tokens": Wording(
        "Experts with tokens",
        "Find the experts that at least one token chose.",
        "which experts have tokens",
        "experts with tokens",
        "routing",
    ),
    "hit experts": Wording(
        "List the experts with tokens",
        "List the experts that at least one token chose.",
        "experts with tokens",
        "experts with tokens",
        "routing",
    ),
    "each hit expert": Wording(
        "Take the experts one by one",
        "Take the listed experts apart.",
        "experts one by one",
        "experts with tokens",
        "routing",
    ),
    "numbers of experts": Wording(
        "Read the expert numbers",
        "Read the numbers of the experts with tokens.",
        "expert numbers",
        "experts with tokens",
        "routing",
    ),
    "expert number": Wording(
        "Number of this expert",
        "Take the number of this expert out of its row.",
        "expert number",
        "expert number",
        "routing",
    ),
    "no expert": Wording(
        "Compare with the number of experts",
        "Test whether this row stands for no expert.",
        "whether this is no expert",
        "expert check",
        "routing",
    ),
    "skip no expert": Wording(
        "Skip if it is none",
        "Read the test: a row that stands for no expert is passed over.",
        "",
        "expert check",
        "routing",
    ),
    "tokens of expert": Wording(
        "Choices of this expert",
        "Mark where a token chose this expert.",
        "choices of this expert",
        "choice table",
        "routing",
    ),
    "find tokens": Wording(
        "Find the tokens of this expert",
        "List the tokens that chose this expert, and as which of their choices.",
        "rows of this expert",
        "dispatch",
        "routing",
    ),
    "dispatch": Wording(
        "Dispatch tokens to this expert",
        "Pick the rows of the tokens that chose this expert.",
        "tokens of this expert",
        "dispatch",
        "routing",
    ),
    "expert matrix": Wording(
        "{Weight} of this expert",
        "Pick the weights of this expert from those of all.",
        "{weight} of this expert",
        "expert weights",
        "feed-forward",
    ),
    "pick weights": Wording(
        "Weights of these tokens",
        "Pick the weight that each of these tokens gives this expert.",
        "weights of these tokens",
        "expert weights",
        "routing",
    ),
    "weigh expert": Wording(
        "Weigh the expert output",
        "Multiply the expert’s output by the token’s weight for it.",
        "weighed expert output",
        "weighing",
        "routing",
    ),
    "combine": Wording(
        "Combine the expert outputs",
        "Add the weighed output to the rows of the tokens it belongs to.",
        "combined expert outputs",
        "combine",
        "routing",
    ),
    "empty output": Wording(
        "Empty output",
        "Start from zeros, to which the experts’ outputs are added.",
        "empty output",
        "combine start",
        "routing",
    ),
    "join shared": Wording(
        "Add the shared experts",
        "Add the output of the shared experts, unweighed, to that of the routed ones.",
        "output of all experts",
        "shared branch",
        "routing",
    ),
    "sum experts": Wording(
        "Combine the expert outputs",
        "Add up the weighed outputs of each token’s experts.",
        "combined expert outputs",
        "combine",
        "routing",
    ),
    "restore order": Wording(
        "Restore the order of the tokens",
        "Put the expert outputs back in the order of the tokens.",
        "expert outputs in order of the tokens",
        "combine",
        "routing",
    ),
    "join experts": Wording(
        "Join the expert outputs",
        "Join the outputs of all experts along the rows.",
        "outputs of all experts",
        "combine",
        "routing",
    ),
    "sort choices": Wording(
        "Sort the choices by expert",
        "Find the order that puts the choices of one expert next to each other.",
        "order of the choices",
        "dispatch",
        "routing",
    ),
    "rows of choices": Wording(
        "Rows of the choices",
        "Divide by the number of choices of a token: the token that each choice belongs to.",
        "token rows",
        "dispatch",
        "routing",
    ),
    "sort tokens": Wording(
        "Sort the tokens by expert",
        "Pick the tokens in the order of their experts, once for each choice.",
        "sorted tokens",
        "dispatch",
        "routing",
    ),
    "empty table": Wording(
        "Empty table of choices", "Start from a table without choices.", "empty choice table", "choice table", "routing"
    ),
    "read counts": Wording(
        "Read the token counts",
        "Read the counts as numbers, for the loop over the experts.",
        "token counts",
        "token counts",
        "routing",
    ),
    "expert bias": Wording(
        "Bias of this expert{for}",
        "Pick the bias of this expert{for} from those of all.",
        "bias of this expert{for}",
        "expert weights",
        "feed-forward",
    ),
    "widen experts": Wording(
        "Expert up-projection",
        "Project the combined expert outputs from the experts’ latent back to the width of the residual stream.",
        "routed output",
        "expert latent up-projection",
        "routing",
    ),
    "narrow experts": Wording(
        "Expert latent projection",
        "Project the tokens to the narrower latent that the routed experts work in.",
        "expert latent",
        "expert latent projection",
        "routing",
    ),
    "gate shared": Wording(
        "Gate the shared experts",
        "Multiply the shared output by its gate.",
        "gated shared output",
        "shared gate",
        "feed-forward",
    ),
}
