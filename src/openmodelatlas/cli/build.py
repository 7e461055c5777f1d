"""``oma build``: from a model's own code to its atlas."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import click

from openmodelatlas.cli.building import as_data, no_data, tell
from openmodelatlas.cli.main import tell as tell_error
from openmodelatlas.cli.progress import Reporter
from openmodelatlas.cli.settings import Settings, write_json
from openmodelatlas.cli.values import Memory, Seconds, read_overrides
from openmodelatlas.errors import AtlasError

_HELD: list[object] = []
"""What the last atlas was made of, until the process ends."""


@click.command("build", short_help="Build the atlas of a model.")
@click.argument("sources", metavar="MODEL|SOURCE…", nargs=-1, required=True)
@click.option("--revision", metavar="R", help="Branch, tag, or full or short hash of a hub source.")
@click.option(
    "--config",
    "configuration",
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON file to use instead of the published configuration.",
)
@click.option(
    "--with",
    "packages",
    metavar="PACKAGE==VERSION",
    multiple=True,
    help="A further package for the process that runs the model's code. May be repeated.",
)
@click.option("--trust-remote-code", "trust", is_flag=True, help="The code of this hub repository or folder may run.")
@click.option("--force", is_flag=True, help="Build even if the atlas is up to date.")
@click.option(
    "--override",
    "overrides",
    metavar="KEY=VALUE[,VALUE…]",
    multiple=True,
    callback=read_overrides,
    help="Size of a configuration key in the probes: one for all, or one for each. May be repeated.",
)
@click.option(
    "--limit-seconds",
    type=Seconds(),
    metavar="S",
    help="Time the model's code may take. [default: 900]",
)
@click.option("--limit-memory", type=Memory(), help="Memory the model's code may use. [default: 12G]")
@click.option("--json", "as_json", is_flag=True, help="What came of it as a JSON list, one entry a source.")
@click.pass_obj
def command(
    settings: Settings,
    /,
    sources: tuple[str, ...],
    as_json: bool,
    limit_seconds: float | None,
    limit_memory: int | None,
    **options: Any,
) -> int:
    """Build atlases from registered models (see `oma models`) or sources.

    A source is OWNER/NAME[@REVISION] on the hub, transformers:MODEL_TYPE, ./FOLDER, package.module:factory, or
    reference:NAME. An atlas that is up to date is left alone. If a build fails, the atlas that was there stays as it
    was. Of several sources, the others are built when one fails; the exit code is that of the first failure.

    \b
    Examples:
      oma build kimi-k2 gpt-oss-120b
      oma build transformers:qwen3 --config config.json
      oma build moonshotai/Kimi-K2-Instruct@fd1984e2b7a3 --trust-remote-code
      oma build mypackage.models:tiny --override hidden_size=24,40,56
    """
    if len(sources) > 1 and (options["revision"] or options["configuration"]):
        raise click.UsageError("--revision and --config are for one source.")
    from openmodelatlas.builder import build
    from openmodelatlas.capture.job import Limits

    given = {"seconds": limit_seconds, "memory_bytes": limit_memory}
    limits = Limits(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    results: list[dict[str, Any]] = []
    code = 0
    for source in sources:
        if results:
            _HELD.clear()
            gc.collect()
        try:
            with Reporter(source if len(sources) > 1 else "") as report:
                atlas = build(source, limits=limits, progress=report, held=_HELD, **options)
        except AtlasError as error:
            code = code or error.exit_code
            results.append(no_data(source) | {"error": _error_data(error)})
            tell_error(error, verbose=settings.verbose)
        else:
            results.append(as_data(source, atlas))
            if not as_json:
                tell(atlas)
    if as_json:
        write_json(results)
    return code


def _error_data(error: AtlasError) -> dict[str, Any]:
    return {
        "error": type(error).__name__,
        "what": error.what,
        "where": error.where,
        "advice": error.advice,
        "exit_code": error.exit_code,
    }
