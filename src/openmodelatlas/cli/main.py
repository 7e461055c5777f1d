"""``oma``: finds the command, runs it, and turns whatever happens into one message and an exit code."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

import click

from openmodelatlas import __version__
from openmodelatlas.cli.settings import Settings, verbose_option
from openmodelatlas.cli.streams import output_fault, prepare_streams
from openmodelatlas.errors import AtlasError, BundleError

COMMANDS = {
    "models": "List the registered models and what is built.",
    "build": "Build the atlas of a model.",
    "tree": "Show what is inside a model.",
    "show": "Show one page.",
    "serve": "Serve atlases as a web site on this machine.",
    "export": "Write atlases as a static web site.",
    "verify": "Check an atlas against its sources and values.",
    "doctor": "Tell what this machine can do, and how to mend what is missing.",
}
"""Every command with the line that ``oma --help`` says of it."""

BUG, INTERRUPTED, BROKEN_PIPE, TERMINATED = 70, 130, 141, 143

EXIT_CODES = """\b
Exit codes:
  0    done
  1    `oma doctor` found something missing, or `oma verify` a difference
  2    an argument, address or name does not fit
  3    a source could not be read
  4    code would run that nobody has said to trust
  5    running the model's code failed, or what runs it is not installed
  6    dimensions, the graph or the catalogue contradict themselves
  7    an atlas could not be written, read or drawn
  70   a bug of this program
  130  stopped by Ctrl-C (143: by the system, 141: the reader of the output went away)
"""


class Commands(click.Group):
    """The commands; a module is imported when its command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order they are used, not of the alphabet."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, with the options that all have."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"openmodelatlas.cli.{cmd_name}").command
        if not any(parameter.name == "verbose" for parameter in command.params):
            command.params.append(verbose_option())
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As usual; a name that is unknown is refused with those that are near."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else f" There are: {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    "oma",
    cls=Commands,
    params=[verbose_option()],
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, message="openmodelatlas %(version)s")
def oma() -> None:
    """Atlases of open-weight models, made by running the models' own code.

    \b
    Examples:
      oma build kimi-k2
      oma tree kimi-k2 --depth 3
      oma show kimi-k2 layers/dense/self-attn
      oma serve kimi-k2 --open

    Atlases are kept in the folder OMA_HOME (by default the platform's folder for the data of a user).
    """


def main() -> NoReturn:
    """Runs the command line and ends the process with its exit code."""
    gc.set_threshold(200_000, 50, 100)  # an atlas is many small objects that stay: looking through them costs a sixth
    if sys.argv[1:2] == ["build"]:
        gc.disable()  # it collects between one build and the next, and after the last the process ends
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, _terminate)
    prepare_streams()
    try:
        code = run(sys.argv[1:])
    except BrokenPipeError:
        code = BROKEN_PIPE
    except OSError:  # standard error cannot be written: there is nobody to tell
        code = BundleError.exit_code
    _leave(code)


def _leave(code: int) -> NoReturn:
    """Ends the process at once: taking a million objects apart would cost a tenth of a second and change nothing."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def run(arguments: Sequence[str]) -> int:
    """Runs the command line with ``arguments`` and returns the exit code; errors are told on standard error."""
    settings = Settings()
    try:
        code = _invoke(arguments, settings)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except AtlasError as error:
        tell(error, verbose=settings.verbose)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("Stopped.", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # What is still buffered cannot be written either; the interpreter must not try at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        fault = output_fault() if isinstance(error, OSError) else None
        if fault is not None:
            tell(fault, verbose=settings.verbose)
            return fault.exit_code
        _tell_bug(error, verbose=settings.verbose)
        return BUG
    return code


def _invoke(arguments: Sequence[str], settings: Settings) -> int:
    """Not ``oma.main()``: that one answers a reader who went away, and Ctrl-C, in its own way."""
    try:
        with oma.make_context("oma", list(arguments), obj=settings) as context:
            result = oma.invoke(context)
    except click.exceptions.Exit as end:  # --help and --version
        return end.exit_code
    return result if isinstance(result, int) else 0


def tell(error: AtlasError, *, verbose: bool) -> None:
    """Prints what is wrong, where, and what to do, on standard error; with ``verbose`` also its notes."""
    from openmodelatlas.site.visible import visible

    click.secho("Error: ", fg="red", bold=True, nl=False, err=True)
    click.echo(visible(error.what), err=True)
    if error.where:
        click.echo(f"  where: {visible(error.where)}", err=True)
    if error.advice:
        click.echo(f"  next:  {visible(error.advice)}", err=True)
    notes: list[str] = getattr(error, "__notes__", [])
    for note in notes:
        heading = note.partition(":\n")[0]
        more = f"  more:  --verbose shows {heading[:1].lower()}{heading[1:]}."
        click.echo(f"\n{note}" if verbose else more, err=True)


def _tell_bug(error: Exception, *, verbose: bool) -> None:
    click.secho("Error: ", fg="red", bold=True, nl=False, err=True)
    click.echo(f"This is a bug of openmodelatlas {__version__}: {type(error).__name__}: {error}", err=True)
    if verbose:
        import traceback

        click.echo("".join(traceback.format_exception(error)), err=True)
    else:
        click.echo("  next:  Report it with the traceback, which --verbose shows.", err=True)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """Ends like Ctrl-C does, so that children and temporary files are cleaned up."""
    raise SystemExit(TERMINATED)
