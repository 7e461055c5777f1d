"""``oma export``: the site as files, or one diagram as SVG."""

from __future__ import annotations

from pathlib import Path

import click

from openmodelatlas.bundle.home import home, model_folder
from openmodelatlas.bundle.store import read
from openmodelatlas.cli.building import ensure_built
from openmodelatlas.cli.damage import tell_damage
from openmodelatlas.cli.locate import open_page
from openmodelatlas.cli.progress import Reporter
from openmodelatlas.errors import BundleError, UsageError


@click.command("export", short_help="Write atlases as a static web site, or one diagram as SVG.")
@click.argument("names", metavar="MODEL…", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder to write: new, empty, or an earlier export, which is replaced as a whole. With --svg: the file to "
    "write; by default standard output.",
)
@click.option("--svg", is_flag=True, help="Write the diagram of one level: give a MODEL and an ADDRESS in it.")
@click.option("--trust-remote-code", "trust", is_flag=True, help="The code of hub repositories and folders may run.")
def command(names: tuple[str, ...], output: Path | None, svg: bool, trust: bool) -> None:
    """Write the site of MODELs as files that any web host, or none, can serve. What is not built yet is built first.

    Every page is there as HTML, Markdown and JSON. With --svg, write the diagram of what is inside the node at an
    address (of the whole model without one); its text can be selected, and it follows the viewer's light or dark theme.

    \b
    Examples:
      oma export kimi-k2 kimi-k3 -o site
      oma export --svg kimi-k2 layers/dense -o dense-block.svg
    """
    if svg:
        _export_diagram(names, output)
        return
    if output is None:
        raise UsageError("There is no folder to write the site to.", advice="Name one with -o.")
    from openmodelatlas.site.export import export

    atlases = [read(model_folder(home(), model)) for model in ensure_built(names, trust=trust)]
    for atlas in atlases:
        tell_damage(atlas)
    with Reporter() as report:
        pages = export(atlases, output, progress=lambda done, total: report.steps("Writing pages", done, total))
    click.echo(f"{pages:,} pages in {output}; open {output / 'index.html'}")


def _export_diagram(names: tuple[str, ...], output: Path | None) -> None:
    """Writes the diagram of one level."""
    if len(names) > 2:
        raise UsageError("--svg writes one diagram.", advice="Give one MODEL and one ADDRESS in it.")
    text = diagram(names[0], names[1] if len(names) > 1 else None)
    if output is None:
        click.echo(text.encode())  # XML is UTF-8 unless it says otherwise
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise BundleError(
            f"The diagram cannot be written: {error.strerror or error}.",
            where=str(output),
            advice="Name another file with -o.",
        ) from error
    click.echo(f"Wrote {output}.")


def diagram(model: str, address: str | None) -> str:
    """The diagram of the level at an address, as an SVG file.

    Raises:
        UsageError: the model is not built, nothing is called that, or nothing is inside it.
        BundleError: the atlas is damaged, or was built without diagrams.
    """
    from openmodelatlas.drawing.svg import svg

    atlas, inside = open_page(model, address)
    node = atlas[inside]
    drawing = atlas.drawings.levels.get(node.address)
    if drawing is not None:
        title = atlas.document.title if not node.address else f"{node.label or node.title}, {atlas.document.title}"
        return svg(drawing, href=None, inline=False, title=title)
    if any(atlas.document.nodes[child].kind != "tensor" for child in node.children):
        raise BundleError(
            f"The atlas of {atlas.document.title} was built without diagrams.",
            where=str(atlas.folder),
            advice=f"Build it anew: oma build {atlas.document.model} --force",
        )
    raise UsageError(
        "There is no diagram, since nothing is inside this node.",
        where=node.address,
        advice=f"Ask for what it is in: oma export --svg {atlas.document.model} {node.parent}".rstrip(),
    )
