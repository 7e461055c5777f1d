"""Elision, names of cited code, and claims."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas.annotation.counting import layers_text, ranges_text
from openmodelatlas.evidence.excerpt import Part, divide, excerpt_text, omission
from openmodelatlas.evidence.names import qualified_name


def test_a_long_contextual_excerpt_keeps_fifteen_and_twenty_one_lines() -> None:
    parts = divide(1152, 1218, own=None, direct=False)
    assert [(part.first, part.last, part.omitted) for part in parts] == [
        (1152, 1166, False),
        (1167, 1197, True),
        (1198, 1218, False),
    ]
    assert omission(parts[1]) == "… lines 1167–1197 omitted …"


def test_direct_evidence_of_a_function_is_shown_whole() -> None:
    assert divide(973, 1046, own=(1023, 1026), direct=True) == (Part(first=973, last=1046, omitted=False),)


def test_own_lines_stay_in_view() -> None:
    shown = [(part.first, part.last) for part in divide(1, 300, own=(150, 152), direct=True) if not part.omitted]
    assert shown == [(1, 15), (147, 155), (280, 300)]


@given(st.integers(1, 500), st.integers(0, 400), st.data(), st.booleans())
def test_parts_cover_the_range(first: int, length: int, data: st.DataObject, direct: bool) -> None:
    last = first + length
    begin = data.draw(st.integers(first, last))
    own = data.draw(st.none() | st.tuples(st.just(begin), st.integers(begin, last)))
    parts = divide(first, last, own=own, direct=direct)
    assert parts[0].first == first
    assert parts[-1].last == last
    for before, after in itertools.pairwise(parts):
        assert after.first == before.last + 1
        assert before.omitted != after.omitted
    assert all(part.first <= part.last for part in parts)
    shown = {number for part in parts if not part.omitted for number in range(part.first, part.last + 1)}
    if own is not None:
        assert set(range(own[0], own[1] + 1)) <= shown
    lines = [f"line {number}" for number in range(1, last + 1)]
    text = excerpt_text(lines, parts)
    assert [line for line in text.split("\n") if line.startswith("line ")] == [f"line {n}" for n in sorted(shown)]


SOURCE = '''
class Outer(nn.Module):
    """Doc."""

    @decorator(
        argument
    )
    async def forward(
        self,
    ):
        def inner(x):
            return x

        return inner

def plain():
    pass
'''
LINES = SOURCE.split("\n")


@pytest.mark.parametrize(
    ("first", "last", "name"),
    [
        (2, 14, "Outer"),
        (5, 14, "Outer.forward"),
        (8, 14, "Outer.forward"),
        (11, 12, "Outer.forward.inner"),
        (16, 17, "plain"),
        (14, 14, None),
        (17, 17, None),
    ],
)
def test_names_are_read_from_the_indentation(first: int, last: int, name: str | None) -> None:
    assert qualified_name(LINES, first, last) == name


def test_layer_numbers_in_words() -> None:
    assert layers_text([1]) == "layer 1"
    assert layers_text(range(2, 62)) == "layers 2–61"
    assert ranges_text([1, 2, 13, 25, 26, 27]) == "1, 2, 13, 25–27"


@given(st.sets(st.integers(1, 200), min_size=1))
def test_ranges_name_exactly_the_numbers(numbers: set[int]) -> None:
    named: set[int] = set()
    for part in ranges_text(numbers).split(", "):
        first, _, last = part.partition("–")
        named |= set(range(int(first), int(last or first) + 1))
    assert named == numbers
