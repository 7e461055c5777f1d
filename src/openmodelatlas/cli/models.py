"""``oma models``: what is registered and what is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from openmodelatlas.bundle import store
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.home import build_again, home, list_built, model_folder, origin_of
from openmodelatlas.bundle.manifest import read_checked
from openmodelatlas.errors import BundleError

_PLAIN_WIDTH = 180
_PARAMETERS = "parameters, published"


@click.command("models", short_help="List the registered models and what is built.")
@click.option("--json", "as_json", is_flag=True, help="The list as JSON.")
def command(as_json: bool) -> None:
    """List the registered models, with their published parameter counts and sources, and which atlases are built.

    Atlases built from other sources are listed as well.

    \b
    Examples:
      oma models
      oma models --json
    """
    entries = listing()
    if as_json:
        from openmodelatlas.cli.settings import write_json

        write_json(entries)
        return
    from rich.table import Table
    from rich.text import Text

    from openmodelatlas.cli.console import output

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("name", "model", _PARAMETERS, "sources, best first", "atlas"):
        table.add_column(column, justify="right" if column == _PARAMETERS else "left", overflow="fold")
    for entry in entries:
        published = entry["published_parameters"]
        cells = (
            Text(entry["model"], "bold"),
            Text(entry["title"]),
            Text(f"{published:,}" if published is not None else ""),
            Text("\n".join(entry["sources"])),
            _built_text(entry["built"]),
        )
        table.add_row(*cells)
    output(_PLAIN_WIDTH).print(table)
    click.echo(f"\nAtlases are kept in {home()}.")


def listing() -> list[dict[str, Any]]:
    """Every registered model in the registry's order, then every other atlas."""
    from openmodelatlas.sources.registry import MODELS

    built = {model: _built(model) for model in list_built(home())}
    entries: list[dict[str, Any]] = [
        {
            "model": name,
            "title": entry.display_name,
            "description": entry.description,
            "published_parameters": entry.parameters.total,
            "sources": [source.label for source in entry.sources],
            "built": built.get(name),
        }
        for name, entry in MODELS.items()
    ]
    entries += [
        {
            "model": model,
            "title": atlas["title"] or model,
            "description": None,
            "published_parameters": None,
            "sources": [text] if (text := atlas["origin"] or atlas["repository"]) else [],
            "built": atlas,
        }
        for model, atlas in built.items()
        if model not in MODELS
    ]
    return entries


def _built(model: str) -> dict[str, Any]:
    folder = model_folder(home(), model)
    unknown = ("title", "kind", "repository", "revision", "nodes", "parameters", "build_seconds")
    facts: dict[str, Any] = {
        "folder": str(folder),
        "origin": origin_of(folder),
        **dict.fromkeys(unknown),
        "damaged_files": [],
    }
    try:
        atlas = store.read(folder)
    except BundleError as error:
        return facts | {"damage": error.what}
    origin = atlas.document.provenance
    return facts | {
        "title": atlas.document.title,
        "kind": origin.source,
        "repository": origin.repository,
        "revision": origin.revision,
        "nodes": len(atlas),
        "parameters": atlas.root.parameter_count,
        "build_seconds": atlas.manifest.seconds,
        "damaged_files": _damaged_files(atlas),
        "damage": None,
    }


def _damaged_files(atlas: Atlas) -> list[str]:
    """The files without which an atlas is shown incomplete, as far as their hashes tell; nothing is decoded."""
    damaged = []
    for name in ("knowledge.json", "drawings.json"):
        try:
            read_checked(atlas.folder, atlas.manifest, name)
        except BundleError:
            damaged.append(name)
    return damaged


def _built_text(built: dict[str, Any] | None) -> Any:
    from rich.text import Text

    if built is None:
        return Text("not built", "dim")
    if built["damage"]:
        return Text(f"damaged: {built['damage']}", "red")
    from openmodelatlas.site.words import duration_text

    seconds = built["build_seconds"]
    took = f"built in {duration_text(seconds)}" if seconds is not None else "build time not recorded"
    text = Text(f"{built['nodes']:,} pages of {built['repository']} {built['revision'][:12]}, {took}", "green")
    if built["damaged_files"]:
        text.append(f"\ndamaged: {', '.join(built['damaged_files'])}. {build_again(Path(built['folder']))}", "red")
    return text
