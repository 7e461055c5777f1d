"""Values of options: sizes of probes and of memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_OVERRIDE = re.compile(r"([A-Za-z_][\w.]*)=(\d+(?:,\d+)*)")
_YEAR = 366 * 24 * 3600
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


class Memory(click.ParamType[int]):
    """An amount of memory, ``12G`` or ``800M``, in bytes (units are powers of 1024)."""

    name = "SIZE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        if isinstance(value, int):
            return value
        match = _MEMORY.fullmatch(str(value).strip())
        amount = float(match.group(1)) * 1024 ** _POWERS[match.group(2).upper()] if match else 0
        if amount < 1 or amount >= 2**62:
            self.fail(f"{value!r} is not an amount of memory; write 12G or 800M.", param, ctx)
        return int(amount)


class Seconds(click.ParamType[float]):
    """A time from one second to a year."""

    name = "S"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number of seconds."""
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = 0.0
        if not 1 <= seconds <= _YEAR:  # nor is that true of "nan"
            self.fail(f"{value!r} is not a number of seconds from 1 to {_YEAR}.", param, ctx)
        return seconds


def read_overrides(
    context: click.Context, parameter: click.Parameter, texts: Sequence[str]
) -> dict[str, int | list[int]]:
    """``KEY=VALUE`` or ``KEY=VALUE,VALUE,…`` as sizes by configuration key: one for all probes, or one for each."""
    overrides: dict[str, int | list[int]] = {}
    for text in texts:
        match = _OVERRIDE.fullmatch(text.replace(" ", ""))
        if match is None:
            raise click.BadParameter(
                f"{text!r} is not KEY=VALUE[,VALUE…] with whole numbers.", ctx=context, param=parameter
            )
        if match.group(1) in overrides:
            raise click.BadParameter(f"{match.group(1)} is given twice.", ctx=context, param=parameter)
        sizes = [int(size) for size in match.group(2).split(",")]
        overrides[match.group(1)] = sizes[0] if len(sizes) == 1 else sizes
    return overrides
