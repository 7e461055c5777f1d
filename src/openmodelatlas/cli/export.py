"""``oma export``: the site as files."""

from __future__ import annotations

from pathlib import Path

import click

from openmodelatlas.bundle.home import home, model_folder
from openmodelatlas.bundle.store import read
from openmodelatlas.cli.building import ensure_built
from openmodelatlas.cli.progress import Reporter


@click.command("export", short_help="Write atlases as a static web site.")
@click.argument("models", metavar="MODEL…", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder to write: new, empty, or an earlier export, which is replaced as a whole.",
)
@click.option("--trust-remote-code", "trust", is_flag=True, help="The code of hub repositories and folders may run.")
def command(models: tuple[str, ...], output: Path, trust: bool) -> None:
    """Write the site of MODELs as files that any web host, or none, can serve. What is not built yet is built first.

    Every page is there as HTML, Markdown and JSON.

    \b
    Example:
      oma export kimi-k2 kimi-k3 -o site
    """
    from openmodelatlas.site.export import export

    atlases = [read(model_folder(home(), model)) for model in ensure_built(models, trust=trust)]
    with Reporter() as report:
        pages = export(atlases, output, progress=lambda done, total: report.steps("Writing pages", done, total))
    click.echo(f"{pages:,} pages in {output}; open {output / 'index.html'}")
