"""How places of mechanisms are worded: titles, sentences, what the result is called, role and colour.

In the templates ``{x}`` and ``{y}`` are the tensors that a place speaks of as nouns (``queries``), ``{xs}`` and
``{ys}`` the same before another noun (``query``), and further fields come from the rule or from the arguments.
"""

from __future__ import annotations

from typing import NamedTuple

from openmodelatlas.annotation.knowledge import Family


class Wording(NamedTuple):
    """One line of the table.

    Attributes:
        title, sentence: templates.
        result: template of what the result is called, after "the"; empty: by what the tensor is.
        role: the structural role.
        family: for the colour; ``None`` takes that of the tensor.
    """

    title: str
    sentence: str
    result: str
    role: str
    family: Family | None


PLACES: dict[str, Wording] = {
    # Norms
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
        "Subtract the mean of the {x}, divide by {their} standard deviation, then apply gain and bias.",
        "",
        "layer norm",
        "norm",
    ),
    "rms norm": Wording(
        "RMSNorm of the {x}", "Divide the {x} by {their} root mean square and apply the gain.", "", "rms norm", "norm"
    ),
    "length norm": Wording(
        "Normalise the {x} to unit length", "Divide the {x} by {their} length.", "", "length normalisation", "norm"
    ),
    "group norm": Wording("Group norm of the {x}", "Normalise the {x} within groups.", "", "group norm", "norm"),
    # Positions
    "count": Wording("Count the {x}", "Number the {x} from zero.", "{x}", "position count", "embedding"),
    "offset": Wording(
        "Offset the {x}",
        "Add the number of positions before this call.",
        "{x} with offset",
        "position offset",
        "embedding",
    ),
    "moved": Wording("Take a part of the {x}", "Take a part of the {x}.", "part of the {x}", "part", None),
    "insert axes": Wording(
        "Insert axes into the {x}",
        "Insert axes of size 1, so that the {x} spread over the other axes.",
        "{x} with new axes",
        "new axes",
        None,
    ),
    "angles": Wording(
        "Rotary angles",
        "Multiply each position by each frequency: the angle by which that pair of features turns.",
        "rotary angles",
        "rotary angles",
        "embedding",
    ),
    "repeat angles": Wording(
        "Repeat the angles",
        "Join the angles with themselves, once for each feature of a pair.",
        "rotary angles of all features",
        "rotary angles",
        "embedding",
    ),
    "cos": Wording("Cosines of the angles", "Take the cosine of each angle.", "cosines", "rotary cosines", "embedding"),
    "sin": Wording("Sines of the angles", "Take the sine of each angle.", "sines", "rotary sines", "embedding"),
    "scale table": Wording(
        "Scale the {x}",
        "Multiply the {x} by a constant of the position scheme ({number}).",
        "scaled {x}",
        "rotary scale",
        "embedding",
    ),
    "part of table": Wording(
        "Take the {x} used here", "Take the {x} used here.", "{x} used here", "part of table", "embedding"
    ),
    "times cosines": Wording(
        "Multiply the {x} by the cosines",
        "Multiply the {x} by the cosines.",
        "{x} times cosines",
        "rotation product",
        "attention",
    ),
    "times sines": Wording(
        "Multiply the {x} by the sines",
        "Multiply the {x} by the sines.",
        "{x} times sines",
        "rotation product",
        "attention",
    ),
    "rotated sum": Wording(
        "Rotate the {x}",
        "Add the products with cosines and sines: each pair of features turns by its angle.",
        "rotated {x}",
        "rotation",
        "attention",
    ),
    "rotated difference": Wording(
        "Rotate the first of each {xs} pair",
        "Subtract the products with sines from those with cosines: the first feature of each pair turns by its angle.",
        "rotated first features of the {x}",
        "rotation",
        "attention",
    ),
    "rotated second": Wording(
        "Rotate the second of each {xs} pair",
        "Add the products with cosines and sines: the second feature of each pair turns by its angle.",
        "rotated second features of the {x}",
        "rotation",
        "attention",
    ),
    "join rotated": Wording(
        "Join the rotated {x}",
        "Join the rotated first and second features of all pairs.",
        "rotated {x}",
        "rotation",
        "attention",
    ),
    "negated half": Wording(
        "Negate the second half of the {x}",
        "Change the sign of the second half of the {x}.",
        "negated second half of the {x}",
        "half turn",
        "attention",
    ),
    "turned halves": Wording(
        "Swap the halves of the {x}",
        "Put the negated second half before the first, so that each feature meets its partner.",
        "{x} with halves swapped",
        "half turn",
        "attention",
    ),
    # Attention
    "scores": Wording(
        "Scores",
        "Multiply each query by each key: one score for each pair of positions and each head.",
        "attention scores",
        "attention scores",
        "attention",
    ),
    "scale scores": Wording(
        "Scale the scores",
        "Multiply the scores by the scale {number}.",
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
        "Add the mask to the scores: hidden positions get a score near minus infinity.",
        "masked attention scores",
        "masking",
        "attention",
    ),
    "fill mask": Wording(
        "Hide positions",
        "Overwrite the scores of hidden positions with a value near minus infinity.",
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
        "Drop {x} at random while training; here nothing changes.",
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
        "Output gate", "Apply {activation} to the gate projection.", "output gate", "output gate", "attention"
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
    "copied in": Wording(
        "Copy into the {x}", "Copy the {y} into {their} part of the {x}.", "{x}", "joining in place", None
    ),
    # Masks
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
        "Put 0 where a pair is visible and a value near minus infinity where it is hidden.",
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
    # Residual stream
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
    # Feed-forward
    "activation": Wording(
        "Activate the {x}",
        "Apply {activation} to the {x}, element by element.",
        "activated {x}",
        "activation",
        "feed-forward",
    ),
    "bound": Wording(
        "Bend the {x}",
        "Take the hyperbolic tangent of the {x}, a soft bound.",
        "bent {x}",
        "soft bound",
        "feed-forward",
    ),
    "clamp": Wording("Clamp the {x}", "Keep the {x} within bounds.", "clamped {x}", "clamp", "feed-forward"),
    "rescale": Wording(
        "{Verb} the {x} by a constant", "{Verb} the {x} by {number}.", "scaled {x}", "scale", "feed-forward"
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
        "Part of the activation: {word}",
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
    # Routing
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
        "Keep the best {k} of {n} groups",
        "Choose the {k} groups with the best scores.",
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
        "Multiply the weights by the constant {number}.",
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
        "Bias of this expert",
        "Pick the bias of this expert from those of all.",
        "bias of this expert",
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
    # Recurrence
    "short convolution": Wording(
        "Short convolution",
        "Mix each channel over its last few positions.",
        "convolved {x}",
        "short convolution",
        "state",
    ),
    "prepend window": Wording(
        "Prepend the window",
        "Put the last positions of the call before ahead of the new ones.",
        "{x} with window",
        "convolution window",
        "state",
    ),
    "empty window": Wording(
        "Empty window", "Start from a window of zeros.", "empty convolution window", "convolution window", "state"
    ),
    "keep window": Wording(
        "Keep the window",
        "Keep the last positions for the next call.",
        "convolution window",
        "convolution window",
        "state",
    ),
    "convolution activation": Wording(
        "Activate the {x}", "Apply {activation} to the convolved {x}.", "activated {x}", "activation", "state"
    ),
    "drop excess": Wording(
        "Drop the padding", "Keep as many positions as came in.", "convolved {x}", "short convolution", "state"
    ),
    "gated norm kernel": Wording(
        "Gated RMSNorm",
        "Divide the {x} by {their} root mean square, apply the gain, and multiply by the activated gate.",
        "gated output",
        "rms norm",
        "norm",
    ),
    "delta kernel": Wording(
        "Delta rule",
        "Run the gated delta rule over all positions in one kernel.",
        "mixed values",
        "recurrence kernel",
        "state",
    ),
    "linear attention kernel": Wording(
        "Linear attention",
        "Run linear attention over all positions in one kernel.",
        "mixed values",
        "recurrence kernel",
        "state",
    ),
    "update state": Wording(
        "Update the state", "Add what is written to the decayed state.", "recurrent state", "state update", "state"
    ),
    "decay state": Wording(
        "Decay the state", "Multiply the state by its decay.", "decayed state", "state decay", "state"
    ),
    "empty state": Wording("Empty state", "Start from a state of zeros.", "empty state", "state start", "state"),
    "decay": Wording(
        "Decay: exponential of the {x}",
        "Take the exponential of the {x}: a factor between 0 and 1.",
        "exponential of the {x}",
        "decay",
        "state",
    ),
    "cumulative decay": Wording(
        "Add up the log decay",
        "Add up the log decay from the start of the chunk to each position.",
        "cumulative log decay",
        "cumulative decay",
        "state",
    ),
    "decay between": Wording(
        "Log decay between positions",
        "Subtract the cumulative log decays of two positions of a chunk.",
        "log decay between positions",
        "decay between positions",
        "state",
    ),
    "hide later": Wording(
        "Hide later positions",
        "Overwrite the pairs in which the second position comes later.",
        "log decay between positions, later ones hidden",
        "decay masking",
        "state",
    ),
    "decay bias": Wording(
        "Add the decay bias",
        "Add a learned bias to the decay projection.",
        "shifted decay projection",
        "decay bias",
        "state",
    ),
    "decay rate": Wording(
        "Decay rate",
        "Take the exponential of the stored logarithm: the decay rate of each head.",
        "decay rate",
        "decay rate",
        "state",
    ),
    "negative rate": Wording(
        "Negate the decay rate", "Change the sign of the decay rate.", "negative decay rate", "decay rate", "state"
    ),
    "decay rate product": Wording(
        "Multiply by the decay rate", "Multiply by the decay rate of each head.", "", "decay rate", "state"
    ),
    "decay bound": Wording(
        "Bound the log decay",
        "Multiply by the lower bound {number}: the log decay lies between it and 0.",
        "log decay",
        "decay bound",
        "state",
    ),
    "decay softplus": Wording(
        "Softplus", "Take the softplus, which is positive.", "step size", "decay softplus", "state"
    ),
    "decay sigmoid": Wording("Sigmoid", "Map to between 0 and 1.", "decay between 0 and 1", "decay sigmoid", "state"),
    "negate decay": Wording("Negate", "Change the sign.", "negated rate", "decay sign", "state"),
    "part of decay": Wording(
        "Step of the log decay: {word}",
        "One step of the log decay: {does}",
        "step of the log decay",
        "log decay step",
        "state",
    ),
    "recall product": Wording(
        "Multiply the state by the keys",
        "Multiply the state by the key, element by element.",
        "products of state and keys",
        "recall",
        "state",
    ),
    "recall": Wording(
        "Recall the values", "Read from the state what it holds for each key.", "recalled values", "recall", "state"
    ),
    "read state product": Wording(
        "Multiply the state by the {x}",
        "Multiply the state by the {x}, element by element.",
        "products of state and {x}",
        "state read",
        "state",
    ),
    "read state": Wording(
        "Read the state", "Read the state with the {x}.", "what is read from the state", "state read", "state"
    ),
    "value error": Wording(
        "Value errors",
        "Subtract the recalled values from the values: what the state does not hold yet.",
        "value errors",
        "value error",
        "state",
    ),
    "scale errors": Wording(
        "Scale the value errors",
        "Multiply the value errors by the write strength.",
        "scaled value errors",
        "write strength",
        "state",
    ),
    "beta sigmoid": Wording(
        "Write strength",
        "Map the projection to a write strength between 0 and 1.",
        "write strength",
        "write strength",
        "state",
    ),
    "write": Wording(
        "Write to the state",
        "Multiply {x} and {y}: what is added to the state.",
        "what is written",
        "state write",
        "state",
    ),
    "add readings": Wording(
        "Add what was read",
        "Add what was read from the state to what comes from the same stretch of positions.",
        "mixed values",
        "state read",
        "state",
    ),
    "store window": Wording(
        "Store the window",
        "Keep the last positions in the cache for the next call.",
        "convolution window",
        "convolution window",
        "state",
    ),
    "store state": Wording(
        "Store the state", "Keep the state in the cache for the next call.", "recurrent state", "state write", "state"
    ),
    "key overlap product": Wording(
        "Multiply keys with keys",
        "Multiply the decayed keys of two positions, feature by feature.",
        "products of keys",
        "key overlap",
        "state",
    ),
    "key overlap": Wording(
        "Overlap of the keys",
        "Add up the products: how much the keys of two positions overlap.",
        "overlaps of the keys",
        "key overlap",
        "state",
    ),
    "query overlap product": Wording(
        "Multiply queries with keys",
        "Multiply the query of one position with the decayed key of another.",
        "products of queries and keys",
        "query overlap",
        "state",
    ),
    "query overlap": Wording(
        "Overlap of queries and keys",
        "Add up the products: how much each query overlaps each earlier key.",
        "overlaps of queries and keys",
        "query overlap",
        "state",
    ),
    "scale": Wording("Scale the {x}", "{Verb} the {x} by {number}.", "scaled {x}", "scale", None),
    "pairs of positions": Wording(
        "Pairs of positions",
        "Make a matrix of ones, one for each pair of positions.",
        "pairs of positions",
        "mask start",
        "state",
    ),
    "triangle of positions": Wording(
        "Pairs with {pairs}",
        "Mark the pairs of positions with {pairs} in the second place.",
        "pairs with {pairs}",
        "position mask",
        "state",
    ),
    "other pairs": Wording(
        "Other pairs", "Mark the pairs of positions left out.", "other pairs", "position mask", "state"
    ),
    "decayed": Wording(
        "Decay the {x}", "Multiply the {x} by their decay, feature by feature.", "decayed {x}", "decay", "state"
    ),
    "scale by strength": Wording(
        "Scale the {x} by the write strength",
        "Multiply the {x} by the write strength of their position.",
        "{x} times write strength",
        "write strength",
        "state",
    ),
    "bias": Wording("Add the bias", "Add the bias to the {x}.", "", "bias", None),
    "indices": Wording("Number the {x}", "Count the {x} from zero.", "{x}", "index count", "attention"),
    # Ends
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
        "Step of the logit cap: {word}",
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
}
