"""How far a reference is from the captured values, where these are not all numbers."""

from __future__ import annotations

import numpy as np
import pytest

from openmodelatlas.annotation.mechanisms.evaluate import relative_error


@pytest.mark.parametrize(
    ("given", "expected", "error"),
    [
        ([1.0, np.nan], [1.0, np.nan], 0.0),
        ([np.nan, np.nan], [np.nan, np.nan], 0.0),
        ([1.0, np.inf], [1.0, np.inf], 0.0),
        ([1.0, -np.inf], [1.0, np.inf], np.inf),
        ([1.0, np.nan], [1.0, np.inf], np.inf),
        ([1.0, np.nan], [1.0, 2.0], np.inf),
        ([1.0, 2.0], [1.0, np.nan], np.inf),
        ([], [], 0.0),
        ([1.0, 2.0], [1.0], np.inf),
        ([1.0, 2.0], [1.0, 4.0], 0.5),
        ([0.5, 0.0], [0.0, 0.0], 0.5),
    ],
)
def test_missing_numbers_and_infinities_stand_in_the_same_places(
    given: list[float], expected: list[float], error: float
) -> None:
    assert relative_error(np.array(given), np.array(expected)) == error
