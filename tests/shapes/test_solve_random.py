"""The solver on random models: what it shows is right, and it shows nearly everything that its probes can decide."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmodelatlas.shapes.dimension import Constant, Symbolic, Unresolved
from openmodelatlas.shapes.expression import evaluate
from openmodelatlas.shapes.parsing import parse
from openmodelatlas.shapes.search import Search, pack
from openmodelatlas.shapes.transform import is_plain
from tests.shapes.random_models import FORMS, RandomModel, is_right, random_size

# Forms in which a run never crosses a window or chunk: probes of any sizes decide them.
PLAIN = tuple(form for form, text in FORMS.items() if "{s}" not in text)

SMALL = RandomModel(Random(7))


# Derandomized: coincidences of four or five sizes are rare, not impossible, and a rare failure helps nobody.
@settings(derandomize=True, max_examples=120, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(FORMS)), st.booleans())
def test_what_is_shown_is_right(seed: int, form: str, true_size: bool) -> None:
    random = Random(seed)
    model = RandomModel(random)
    node = random_size(random, form)
    shown = model.solve(node, true_size=true_size)
    if not isinstance(shown, Unresolved):
        assert isinstance(shown, Symbolic | Constant)
        assert is_right(shown, node, model, random), f"{node} was read as {shown}"


@pytest.mark.parametrize(("true_size", "least"), [(True, 0.98), (False, 0.92)])
def test_nearly_all_sizes_without_windows_are_resolved(true_size: bool, least: float) -> None:
    resolved = total = 0
    for seed in range(12):
        random = Random(seed)
        model = RandomModel(random)
        for form in PLAIN:
            shown = model.solve(random_size(random, form), true_size=true_size)
            resolved += isinstance(shown, Symbolic)
            total += 1
    assert resolved / total >= least  # measured: 1.00 with the run at full size, 0.96 without


@settings(deadline=None)
@given(st.lists(st.integers(1, 4), min_size=4, max_size=4))
def test_small_numbers_such_as_routed_tokens_are_read_as_names_at_most(counts: list[int]) -> None:
    shown = SMALL.solver.solve(counts[:3], counts[3], None)
    if isinstance(shown, Symbolic):
        assert is_plain(parse(shown.expression)), f"{counts} was read as {shown.expression}"


@given(st.lists(st.tuples(st.integers(-(10**9), 10**15), st.integers(0, 10**12)), min_size=1, max_size=5))
def test_packing_is_linear_and_tells_vectors_apart(pairs: list[tuple[int, int]]) -> None:
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    assert pack(left) + pack(right) == pack([a + b for a, b in pairs])
    assert 3 * pack(left) == pack([3 * a for a in left])
    assert (pack(left) == pack(right)) == (left == right)


def test_every_candidate_has_the_sizes_that_were_asked_for() -> None:
    random = Random(3)
    for _ in range(4):
        model = RandomModel(random)
        columns = model.columns[:3]
        search = Search({key: tuple(column[key] for column in columns) for key in columns[0]})
        for form in FORMS:
            vector = tuple(evaluate(random_size(random, form), column) for column in columns)
            for stage in search.stages(vector):
                for candidate in stage:
                    assert tuple(evaluate(candidate, column) for column in columns) == vector, str(candidate)
