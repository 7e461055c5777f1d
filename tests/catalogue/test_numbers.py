"""Sentences of the catalogue stand on pages of every model: numbers in them are read from the code, or hold in all."""

from __future__ import annotations

import re

import pytest

from openmodelatlas.annotation.markup import split
from openmodelatlas.catalogue.entry import Mechanism
from openmodelatlas.catalogue.load import load

MECHANISMS = list(load().mechanisms.values())

NO_NUMBERS = re.compile(
    r"\{[A-Za-z_]\w*\}"  # what is read from the code
    r"|<!?\w+(?::\w+)?>"
    r"|\bb?float\d+\b"
    r"|\b[A-Z][\w-]*[- ]?[A-Z]?\d+\b"  # names: Mamba-1, DeepSeek-V2, Kimi K3, L2
)
NUMBER = re.compile(r"\d[\d.,]*")
OF_ALL = {
    "rotary-table": {"100,000": "where bfloat16 ends"},
    "yarn-softmax-scale": {"0.1": "part of YaRN's definition"},
    "softplus-decay": {"20": "where torch's softplus becomes the identity"},
}
"""Larger numbers that hold in every model, and why."""


def numbers(text: str) -> set[str]:
    """Numbers above 2, and fractions, in a note, LaTeX and code included."""
    bare = "".join(NO_NUMBERS.sub(" ", content) for _, content in split(NO_NUMBERS.sub(" ", text)))
    found = {each.strip(".,") for each in NUMBER.findall(bare)}
    return {each for each in found if "." in each or float(each.replace(",", "")) > 2}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.id)
def test_no_sentence_has_the_number_of_one_model(mechanism: Mechanism) -> None:
    told = {number for note in (*mechanism.why, *mechanism.porting, *mechanism.scope) for number in numbers(note.text)}
    assert told <= set(OF_ALL.get(mechanism.id, {}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("of 33.94 bfloat16 makes 34.0", {"33.94", "34.0"}),
        (r"with $\alpha = 1.702$ and $e^{80}$", {"1.702", "80"}),
        ("{eps}, in float32, as in Mamba-2 and DeepSeek-V3; two of $W - 1$", set()),
        ("keeps 70,272 bytes.", {"70,272"}),
    ],
)
def test_numbers_are_found(text: str, told: set[str]) -> None:
    assert numbers(text) == told
