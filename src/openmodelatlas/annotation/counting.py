"""Layer numbers, and what there are several of, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_RANGES = 9


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
    """The same, cut where it gets long: ``24 layers (4, 8, 12, …, 93)``."""
    numbers = sorted(set(layers))
    text = ranges_text(numbers)
    if text.count(",") < _MOST_RANGES:
        return layers_text(numbers, noun)
    first = ", ".join(text.split(", ")[:3])
    return f"{len(numbers)} {noun}s ({first}, …, {text.rpartition(', ')[2]})"


def listed(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
