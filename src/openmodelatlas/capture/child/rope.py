"""Fit the lists of a rotary configuration to a shrunken head: one entry a pair of dimensions, or sections of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

FACTOR_LISTS = ("short_factor", "long_factor")
SECTION_LISTS = ("mrope_section",)
BRANCHES = ("rope_parameters", "rope_scaling")


def fit_lists(values: dict[str, Any], published: Mapping[str, Any]) -> None:
    """Change ``values`` in place: lists with one factor a pair are thinned out, sections of pairs are scaled.

    Long-RoPE keeps ``rotary // 2`` factors (``transformers/modeling_rope_utils.py``, ``_compute_longrope_parameters``);
    the sections of a multi-axis rotary embedding add up to ``rotary // 2`` pairs.

    Args:
        values: the probe's configuration, sizes set.
        published: the effective configuration as published.
    """
    before, after = rotary_pairs(published, published), rotary_pairs(values, published)
    if before is None or after is None or before == after:
        return
    for branch in BRANCHES:
        rope = values.get(branch)
        if isinstance(rope, dict):
            _fit(rope, before, after)


def _fit(rope: dict[str, Any], before: int, after: int) -> None:
    for key, value in rope.items():
        if isinstance(value, dict):
            _fit(value, before, after)
        elif isinstance(value, list) and key in FACTOR_LISTS and len(value) == before:
            rope[key] = [value[index * before // after] for index in range(after)]
        elif isinstance(value, list) and key in SECTION_LISTS and sum(value) == before:
            rope[key] = sections(value, after)


def rotary_pairs(values: Mapping[str, Any], published: Mapping[str, Any]) -> int | None:
    """Rotated pairs of dimensions in a head: ``head_dim * partial_rotary_factor // 2``; ``None`` if not known."""

    def value(key: str) -> Any:
        return values.get(key) if values.get(key) is not None else published.get(key)

    hidden, heads = value("hidden_size"), value("num_attention_heads")
    dimension = value("qk_rope_head_dim") or values.get("head_dim")
    if dimension is None:
        dimension = hidden // heads if isinstance(hidden, int) and isinstance(heads, int) and heads else None
    fractions = [value("partial_rotary_factor")]
    fractions += [branch.get("partial_rotary_factor") for name in BRANCHES if isinstance(branch := value(name), dict)]
    fraction = next((item for item in fractions if item), 1.0)
    return int(dimension * fraction) // 2 if isinstance(dimension, int) else None


def sections(published: Sequence[int], total: int) -> list[int]:
    """As many sections as published, in their proportions, at least one pair each, that add up to ``total`` pairs.

    Fewer pairs than sections leave the last sections empty.
    """
    whole = sum(published)
    result = [min(1, part) for part in published]
    while sum(result) > total:
        result[max(index for index, part in enumerate(result) if part)] -= 1
    while sum(result) < total:
        missing = [part * total / whole - size for part, size in zip(published, result, strict=True)]
        result[missing.index(max(missing))] += 1
    return result
