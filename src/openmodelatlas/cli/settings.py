"""What every command knows, and the option that every command has."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import click


@dataclass
class Settings:
    """Options of the whole command line.

    Attributes:
        verbose: whether tracebacks are shown.
    """

    verbose: bool = False


def verbose_option() -> click.Option:
    """``-v/--verbose``, which may stand before or after the command's name."""

    def note(context: click.Context, _: click.Parameter, value: bool) -> None:
        settings = context.find_object(Settings)
        if value and settings is not None:
            settings.verbose = True

    return click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        expose_value=False,
        callback=note,
        help="Show more with an error: the traceback of the model's code, what it printed, or a bug.",
    )


def write_json(value: Any) -> None:
    """Prints ``value`` as indented JSON on standard output."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:  # what cannot be printed as it is, JSON writes as an escape
        text = json.dumps(json.loads(text), indent=2)
    click.echo(text)
