"""Wordings: convolutions, delta rule, state spaces, and small places that they share."""

from __future__ import annotations

from openmodelatlas.annotation.roles.wordings.wording import Wording

PLACES: dict[str, Wording] = {
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
        "Keep the last positions of the {y} for the next call.",
        "{ys} window",
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
        "Run the gated delta rule {over} in one kernel.",
        "mixed values",
        "recurrence kernel",
        "state",
    ),
    "linear attention kernel": Wording(
        "Linear attention",
        "Run linear attention {over} in one kernel.",
        "mixed values",
        "recurrence kernel",
        "state",
    ),
    "update state": Wording(
        "Update the state", "Add its update to the decayed state.", "recurrent state", "state update", "state"
    ),
    "decay state": Wording(
        "Decay the state", "Multiply the state by its decay.", "decayed state", "state decay", "state"
    ),
    "empty state": Wording("Empty state", "Start from a state of zeros.", "empty state", "state start", "state"),
    "decay": Wording(
        "Decay: exponential of the {x}",
        "Take the exponential of the {x}: a decay factor.",
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
        "Hide the {y}",
        "Set the {x} to {fill} {where}.",
        "{x}, masked",
        "decay masking",
        "state",
    ),
    "decay bias": Wording(
        "Add the decay bias",
        "Add a learned bias to the {x}.",
        "{x} plus bias",
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
        "Multiply by the decay rate",
        "Multiply the {xp} by the decay rate of each head.",
        "{x} times the decay rate",
        "decay rate",
        "state",
    ),
    "decay bound": Wording(
        "Bound the log decay",
        "Multiply by {number}, the lower bound: the log decay lies between it and 0.",
        "log decay",
        "decay bound",
        "state",
    ),
    "decay softplus": Wording(
        "Softplus of the {x}",
        "Take the softplus of the {xp}, which is positive.",
        "{softplus}",
        "decay softplus",
        "state",
    ),
    "decay sigmoid": Wording(
        "Sigmoid of the {x}",
        "Map the {xp} to between 0 and 1, element by element.",
        "sigmoid of the {x}",
        "decay sigmoid",
        "state",
    ),
    "negate decay": Wording("Negate", "Change the sign.", "negated rate", "decay sign", "state"),
    "part of decay": Wording(
        "{step}",
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
        "Multiply the {xp} with the {yp}: what is added to the state.",
        "update of the state",
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
        "Multiply the key of one position with the decayed key of another, feature by feature.",
        "products of keys",
        "key overlap",
        "state",
    ),
    "key overlap": Wording(
        "Overlap of the keys",
        "Add up the products over the features: how much the keys of two positions overlap.",
        "overlaps of the keys",
        "key overlap",
        "state",
    ),
    "query overlap product": Wording(
        "Multiply queries with keys",
        "Multiply the query of one position with the decayed key of another, feature by feature.",
        "products of queries and keys",
        "query overlap",
        "state",
    ),
    "query overlap": Wording(
        "Overlap of queries and keys",
        "Add up the products over the features: how much the query of one position overlaps the key of another.",
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
        "Mark the pairs whose second position is {pair}.",
        "pairs with {pairs}",
        "position mask",
        "state",
    ),
    "other pairs": Wording(
        "Pairs with {pairs}",
        "Mark the pairs left out: those whose second position is {pair}.",
        "pairs with {pairs}",
        "position mask",
        "state",
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
    "indices": Wording("Count the {x}", "Number the {x} from zero.", "{x}", "index count", "attention"),
    "constant": Wording("Constant", "Make a tensor of {number}.", "constant", "constant", None),
    "decay between sums": Wording(
        "Add up the log decay between positions",
        "Add up the masked log decay: its sum between each two positions.",
        "log decay between positions",
        "decay between positions",
        "state",
    ),
    "masked decay": Wording(
        "Mask the {x}", "Set the {x} of pairs that do not count to 0.", "masked {x}", "decay masking", "state"
    ),
    "scan overlap": Wording(
        "Products of output and input matrices",
        "Multiply the output matrix of each position with the input matrix of each earlier one.",
        "products of output and input matrices",
        "scan",
        "state",
    ),
    "scan decay": Wording(
        "Decay the products",
        "Multiply the products by the decay between their positions.",
        "decayed products",
        "scan",
        "state",
    ),
    "scan mix": Wording(
        "Mix the chunk",
        "Add up the state inputs of the chunk, each weighted by its decayed product.",
        "outputs of the chunk",
        "scan",
        "state",
    ),
    "scan write": Wording(
        "States of the chunks",
        "Add up what each chunk writes to the state.",
        "states of the chunks",
        "state write",
        "state",
    ),
    "scan read": Wording(
        "Read the states",
        "Read the states of the chunks before with the output matrix.",
        "what is read from the states",
        "state read",
        "state",
    ),
    "scan pass": Wording(
        "Pass the states on",
        "Decay and add up the states from chunk to chunk.",
        "states before each chunk",
        "state update",
        "state",
    ),
    "skip weight": Wording(
        "Weigh the direct path",
        "Multiply the inputs by a learned weight for each head.",
        "weighed inputs",
        "direct path",
        "state",
    ),
    "add skip": Wording(
        "Add the direct path",
        "Add the weighed inputs, which go past the state.",
        "mixed values",
        "direct path",
        "state",
    ),
    "mask overlaps": Wording(
        "Mask the {x}",
        "Keep the {x} {kept}; set the others to 0.",
        "masked {x}",
        "overlap masking",
        "state",
    ),
    "negate overlaps": Wording("Negate the {x}", "Change the sign of the {x}.", "negated {x}", "overlap sign", "state"),
    "scale overlaps": Wording(
        "Scale the {x}",
        "Multiply {lines} of the {x} by the {y} of its position.",
        "scaled {x}",
        "overlap scale",
        "state",
    ),
    "add identity": Wording(
        "Add the identity to the {x}",
        "Add 1 on the diagonal of the {x}.",
        "{x} plus the identity",
        "overlap inverse",
        "state",
    ),
    "fill overlaps": Wording(
        "Fill a row of the {x}", "Write a row of the {x} in place.", "{x}", "overlap inverse", "state"
    ),
    "solve chunk": Wording(
        "Solve for what is written",
        "Solve the triangular system: what each position writes depends on what earlier ones of the chunk wrote.",
        "what is written",
        "chunk solution",
        "state",
    ),
    "correct chunk": Wording(
        "Correct the {x} within the chunk",
        "Multiply by the overlaps: each position takes away what earlier ones of the chunk wrote.",
        "corrected {x}",
        "chunk correction",
        "state",
    ),
    "read chunk": Wording(
        "Read the chunk",
        "Multiply the overlaps of queries and keys with what the chunk wrote.",
        "what is read from the chunk",
        "chunk read",
        "state",
    ),
}
