"""Wordings: positions and rotary tables."""

from __future__ import annotations

from openmodelatlas.annotation.roles.wordings.wording import Wording

PLACES: dict[str, Wording] = {
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
        "Multiply the {x} by {number}, a factor of the position scheme.",
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
}
