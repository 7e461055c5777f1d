"""The worked examples show what one gets by hand, number by number."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import BY_HAND

from openmodelatlas.catalogue.load import load

CATALOGUE = load()


@pytest.mark.parametrize("identifier", sorted(BY_HAND))
def test_the_example_is_right(identifier: str) -> None:
    shown = CATALOGUE.mechanisms[identifier].front.example.outputs
    by_hand = BY_HAND[identifier]()
    assert set(shown) == set(by_hand)
    for name, numbers in by_hand.items():
        np.testing.assert_allclose(np.array(shown[name], dtype=float).ravel(), numbers, rtol=1e-9, atol=1e-10)
