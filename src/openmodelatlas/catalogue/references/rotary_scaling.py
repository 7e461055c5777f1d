"""Frequencies of rotary embeddings and how they are stretched to longer contexts; the table of angles.

``D`` is the number of rotated features of a head, D/2 the number of pairs. Functions without a file are those of
``transformers`` 5.24.0, ``modeling_rope_utils.py``.
"""

from __future__ import annotations

import math

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array


def rotary_frequencies(base: float, size: int) -> Array:
    """Angle per position of each pair, θ_i = base^(-2i/D), [D/2] in radians (arXiv 2104.09864, section 3.2.2).

    Args:
        base: ``rope_theta``.
        size: D.
    """
    exponents = np.arange(0, size, 2, dtype=np.float64) / size
    result: Array = base**-exponents
    return result


def table(positions: Array, frequencies: Array, attention_factor: float, doubled: int) -> tuple[Array, Array]:
    """Cosine and sine of every position's angle with every pair, each times ``attention_factor``.

    Args:
        positions: […, T] or […, T, 1].
        frequencies: [D/2] radians per position.
        attention_factor: 1 without YaRN.
        doubled: 1 to say all angles twice, one after the other, as the half-split pairing wants them.

    Returns:
        Cosine and sine, each […, T, D/2], or […, T, D] if doubled (arXiv 2104.09864, equation 34; the factor: arXiv
        2309.00071, section 3.4).
    """
    if positions.shape[-1:] != (1,):
        positions = positions[..., None]
    angles = positions * (np.concatenate([frequencies, frequencies]) if doubled else frequencies)
    return attention_factor * np.cos(angles), attention_factor * np.sin(angles)


def rotary_table(positions: Array, frequencies: Array, base: float, doubled: int = 0) -> tuple[Array, Array]:
    """The table of plain rotary embeddings: :func:`table` of :func:`rotary_frequencies`.

    Args:
        positions: as in :func:`table`.
        frequencies: the code's; only their number D/2 is read.
        base: ``rope_theta``.
        doubled: as in :func:`table`.

    Returns:
        As :func:`table`.
    """
    return table(positions, rotary_frequencies(base, 2 * frequencies.size), 1.0, doubled)


def linear_table(
    positions: Array, frequencies: Array, base: float, factor: float, doubled: int = 0
) -> tuple[Array, Array]:
    """As :func:`rotary_table`, of :func:`linear_frequencies`."""
    return table(positions, linear_frequencies(base, 2 * frequencies.size, factor), 1.0, doubled)


def llama3_table(
    positions: Array,
    frequencies: Array,
    base: float,
    factor: float,
    low_frequency_factor: float,
    high_frequency_factor: float,
    original_positions: float,
    doubled: int = 0,
) -> tuple[Array, Array]:
    """As :func:`rotary_table`, of :func:`llama3_frequencies`."""
    scaled = llama3_frequencies(
        base, 2 * frequencies.size, factor, low_frequency_factor, high_frequency_factor, original_positions
    )
    return table(positions, scaled, 1.0, doubled)


def yarn_table(
    positions: Array,
    frequencies: Array,
    base: float,
    factor: float,
    original_positions: float,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
    coefficient: float = 0.0,
    coefficient_of_all: float = 0.0,
    doubled: int = 0,
) -> tuple[Array, Array]:
    """As :func:`rotary_table`, of :func:`yarn_frequencies`, times :func:`yarn_table_factor`.

    Args:
        positions, frequencies, base, doubled: as in :func:`rotary_table`.
        factor, original_positions, beta_fast, beta_slow, truncate: as in :func:`yarn_frequencies`.
        coefficient, coefficient_of_all: ``mscale`` and ``mscale_all_dim``; where one of them is 0 or not given, the
            factor is m(factor, 1).

    Returns:
        As :func:`table`.
    """
    scaled = yarn_frequencies(base, 2 * frequencies.size, factor, original_positions, beta_fast, beta_slow, truncate)
    both = coefficient != 0.0 and coefficient_of_all != 0.0
    ratio = yarn_table_factor(factor, coefficient, coefficient_of_all) if both else yarn_magnitude(factor, 1.0)
    return table(positions, scaled, ratio, doubled)


def yarn_scores(queries: Array, keys: Array, factor: float, coefficient_of_all: float) -> Array:
    """Products of queries and keys times :func:`yarn_softmax_scale`.

    Args:
        queries: [B, H, T, D].
        keys: [B, H, D, S], transposed for the product.
        factor, coefficient_of_all: as in :func:`yarn_softmax_scale`.

    Returns:
        [B, H, T, S].
    """
    result: Array = yarn_softmax_scale(queries.shape[-1], factor, coefficient_of_all) * (queries @ keys)
    return result


def linear_frequencies(base: float, size: int, factor: float) -> Array:
    """Position interpolation: every frequency divided by ``factor``, [D/2] (arXiv 2306.15595)."""
    return rotary_frequencies(base, size) / factor


def llama3_frequencies(
    base: float,
    size: int,
    factor: float,
    low_frequency_factor: float,
    high_frequency_factor: float,
    original_positions: float,
) -> Array:
    """Llama 3.1's frequencies [D/2]: slow pairs divided by ``factor``, fast ones kept, a straight ramp between.

    A pair is slow if it turns less than ``low_frequency_factor`` times within ``original_positions``, fast if more than
    ``high_frequency_factor`` times (``_compute_llama3_parameters``).
    """
    frequencies = rotary_frequencies(base, size)
    turns = original_positions * frequencies / (2.0 * math.pi)
    kept = np.clip((turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor), 0.0, 1.0)
    result: Array = frequencies * (kept + (1.0 - kept) / factor)
    return result


def yarn_frequencies(
    base: float,
    size: int,
    factor: float,
    original_positions: float,
    beta_fast: float,
    beta_slow: float,
    truncate: bool = True,
) -> Array:
    """YaRN's frequencies [D/2]: fast pairs kept, slow pairs divided by ``factor``, a straight ramp between.

    The ramp runs over the pair's number i, from the pair that turns ``beta_fast`` times within ``original_positions``
    to the one that turns ``beta_slow`` times (arXiv 2309.00071, section 3.2; ``_compute_yarn_parameters``).

    Args:
        base: ``rope_theta``.
        size: D.
        factor: how many times longer the context gets.
        original_positions: positions of the first training.
        beta_fast, beta_slow: turns at the two ends of the ramp.
        truncate: whether the ends are rounded outwards to whole pairs.
    """

    def pair_that_turns(times: float) -> float:
        return size * math.log(original_positions / (times * 2.0 * math.pi)) / (2.0 * math.log(base))

    first, last = pair_that_turns(beta_fast), pair_that_turns(beta_slow)
    if truncate:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, size - 1)
    if first == last:
        last += 0.001
    slowness = np.clip((np.arange(size // 2, dtype=np.float64) - first) / (last - first), 0.0, 1.0)
    result: Array = rotary_frequencies(base, size) * (1.0 - slowness + slowness / factor)
    return result


def yarn_magnitude(factor: float, coefficient: float) -> float:
    """0.1 · coefficient · ln(factor) + 1, and 1 if ``factor`` is at most 1 (arXiv 2309.00071, section 3.4)."""
    return 1.0 if factor <= 1.0 else 0.1 * coefficient * math.log(factor) + 1.0


def yarn_table_factor(factor: float, coefficient: float, coefficient_of_all: float) -> float:
    """What multiplies cosine and sine: m(factor, coefficient) / m(factor, coefficient_of_all).

    With equal coefficients it is 1. Where the configuration gives neither, ``_compute_yarn_parameters`` uses
    m(factor, 1) alone, that is ``coefficient`` 1 and ``coefficient_of_all`` 0.
    """
    return yarn_magnitude(factor, coefficient) / yarn_magnitude(factor, coefficient_of_all)


def yarn_softmax_scale(size: int, factor: float, coefficient_of_all: float) -> float:
    """Scale of the attention scores, size^(-1/2) · m(factor, coefficient_of_all)².

    ``size`` is the whole size of a query's head, rotated and not rotated features together (``transformers`` 5.24.0,
    ``models/deepseek_v3/modeling_deepseek_v3.py``, ``yarn_apply_mscale``).
    """
    return float(size**-0.5 * yarn_magnitude(factor, coefficient_of_all) ** 2)
