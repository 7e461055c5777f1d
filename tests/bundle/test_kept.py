"""Which values a bundle keeps."""

from __future__ import annotations

from typing import Any

import pytest

from openmodelatlas.bundle import kept


class Captured:
    """Values of given sizes in bytes, by number."""

    def __init__(self, sizes: dict[int, int]) -> None:
        self.entries = {number: Entry(size) for number, size in sizes.items()}

    def __contains__(self, number: object) -> bool:
        return number in self.entries


class Entry:
    def __init__(self, size: int) -> None:
        self.data_offsets = (100, 100 + size)


@pytest.mark.parametrize(
    ("sizes", "largest"),
    [({}, 0), ({1: 10, 2: 20}, 20), ({1: 60, 2: 30, 3: 20}, 30), ({1: 200}, 0), ({1: 50, 2: 50, 3: 1}, 50)],
)
def test_the_largest_values_are_left_out(monkeypatch: pytest.MonkeyPatch, sizes: dict[int, int], largest: int) -> None:
    monkeypatch.setattr(kept, "BUDGET", 101)
    monkeypatch.setattr(kept, "named_values", lambda document: map(str, sizes))
    assert kept._largest_that_fits(None, Captured(sizes)) == largest  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("operands", "keys"),
    [
        ({}, []),
        ({"0": {"tensor": "a", "value": "3"}}, ["3"]),
        ({"tensor": {"tensor": "a", "value": "3"}, "list": {"tensor": "b", "value": "4"}}, ["3", "4"]),
        ({"0": {"dict": {"tensor": {"tensor": "a", "value": "3"}, "value": {"tensor": "b", "value": None}}}}, ["3"]),
        ({"0": {"list": [{"tensor": "a"}, {"slice": [None, {"tensor": "b", "value": "5"}, None]}]}}, ["5"]),
    ],
)
def test_values_are_those_of_tensors_whatever_arguments_are_called(operands: dict[str, Any], keys: list[str]) -> None:
    assert list(kept.operand_values(operands)) == keys
