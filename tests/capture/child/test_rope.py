"""Rotary lists of shrunken heads."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas.capture.child.rope import fit_lists, rotary_pairs, sections


@given(st.lists(st.integers(1, 64), min_size=1, max_size=4), st.integers(0, 32))
def test_sections_add_up(published: list[int], total: int) -> None:
    result = sections(published, total)
    assert sum(result) == total
    assert len(result) == len(published)
    if total >= len(published):
        assert min(result) >= 1


def test_published_sections_stay() -> None:
    assert sections([16, 24, 24], 64) == [16, 24, 24]


def test_factors_are_thinned_out() -> None:
    published: dict[str, Any] = {"head_dim": 96, "rope_scaling": {"short_factor": list(range(48)), "type": "longrope"}}
    values = {"head_dim": 12, "rope_scaling": {"short_factor": list(range(48)), "type": "longrope"}}
    fit_lists(values, published)
    assert values["rope_scaling"] == {"short_factor": [0, 8, 16, 24, 32, 40], "type": "longrope"}


def test_pairs_follow_what_the_head_rotates() -> None:
    published = {"hidden_size": 3072, "num_attention_heads": 32, "partial_rotary_factor": 0.5}
    assert rotary_pairs(published, published) == 24
    assert rotary_pairs({"hidden_size": 48, "num_attention_heads": 6}, published) == 2
    assert rotary_pairs({"qk_rope_head_dim": 8}, published) == 2
    assert rotary_pairs({}, {}) is None


def test_other_lists_stay() -> None:
    published: dict[str, Any] = {"head_dim": 8, "rope_parameters": {"short_factor": [1.0], "other": [1, 2, 3, 4]}}
    values: dict[str, Any] = {"head_dim": 4, "rope_parameters": {"short_factor": [1.0], "other": [1, 2, 3, 4]}}
    fit_lists(values, published)
    assert values["rope_parameters"] == published["rope_parameters"]
