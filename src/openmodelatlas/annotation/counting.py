"""Layer numbers, and what there are several of, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_RANGES = 9
_LEAST_STEPS = 5
_FIRST, _LAST = 6, 2
"""How many of a long list stand before and behind what is left out."""


def layers_text(layers: Iterable[int], noun: str = "layer") -> str:
    """Layer numbers in words: ``layer 1``, ``layers 2–61``, ``layers 1, 13, 25``; those of another ``noun``: rounds."""
    numbers = sorted(set(layers))
    return f"{noun}{'' if len(numbers) == 1 else 's'} {ranges_text(numbers)}"


def in_layers(layers: Sequence[int]) -> str:
    """`` in layers 2–61``, to follow what runs there; empty without layers."""
    return f" in {layers_text(layers)}" if layers else ""


def ranges_text(numbers: Iterable[int]) -> str:
    """Sorted numbers with runs of three or more joined: ``1, 2, 5–9``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = []
    for run in runs:
        parts.extend([f"{run[0]}–{run[-1]}"] if len(run) > 2 else [str(number) for number in run])
    return ", ".join(parts)


def few_layers(layers: Iterable[int], noun: str = "layer") -> str:
    """The same, short where it gets long: ``23 layers (4, 8, 12, …, 92)``."""
    numbers = sorted(set(layers))
    if ranges_text(numbers).count(",") < _MOST_RANGES:
        return layers_text(numbers, noun)
    return f"{len(numbers)} {noun}s ({few_numbers(numbers)})"


def few_numbers(numbers: Iterable[int]) -> str:
    """Sorted numbers with even steps joined; where it is long for all that, its first and last: ``1, 3, …, 90, 91``."""
    rest = sorted(set(numbers))
    parts: list[str] = []
    while rest:
        step = rest[1] - rest[0] if len(rest) > 1 else 1
        length = next((place for place, number in enumerate(rest) if number != rest[0] + place * step), len(rest))
        if step == 1 and length > 2:
            parts.append(f"{rest[0]}–{rest[length - 1]}")
        elif length >= _LEAST_STEPS:
            parts.append(f"{rest[0]}, {rest[1]}, {rest[2]}, …, {rest[length - 1]}")
        else:
            length = 1
            parts.append(str(rest[0]))
        rest = rest[length:]
    if len(parts) > _MOST_RANGES:
        parts = [*parts[:_FIRST], "…", *parts[-_LAST:]]
    return ", ".join(parts)


def listed(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
