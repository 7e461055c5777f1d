"""What ``build``, ``serve`` and ``export`` share: building with progress, and telling what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openmodelatlas.bundle.home import home, list_built, origin_of
from openmodelatlas.cli.progress import Reporter

if TYPE_CHECKING:
    from openmodelatlas.bundle.atlas import Atlas


def ensure_built(names: Sequence[str], *, trust: bool = False) -> list[str]:
    """Builds those of the models or sources that are not built, telling about each. Returns all identifiers, once.

    Raises:
        AtlasError: one of them cannot be built.
    """
    from openmodelatlas.cli.locate import built_name  # with it, everything that reads a bundle

    found: list[str] = []
    for name in names:
        model = built_name(name, list_built(home()))
        if model is None:
            from openmodelatlas.builder import build

            with Reporter() as report:
                atlas = build(name, trust=trust, progress=report)
            tell(atlas, err=True)
            model = atlas.document.model
        if model not in found:
            found.append(model)
    return found


def tell(atlas: Atlas, *, err: bool = False) -> None:
    """Prints which source an atlas shows, what was passed over, the verdicts, and where it lies."""
    from openmodelatlas.site.visible import visible

    document, origin = atlas.document, atlas.document.provenance
    click.secho(visible(document.title), bold=True, nl=False, err=err)
    click.echo(f"  {len(atlas):,} pages, {atlas.root.parameter_count:,} parameters", err=err)
    revision = origin.revision[:12] if len(origin.revision) >= 40 else origin.revision
    click.echo(f"  source   {origin.repository} {revision} ({origin.entry}; {origin.source})", err=err)
    path = origin_of(atlas.folder.parent) if origin.source == "folder" else None
    if path is not None:
        click.echo(f"  from     {visible(path)}", err=err)
    click.echo(f"  config   {origin.configuration_origin}", err=err)
    for sentence in origin.preferred:
        click.secho(f"  instead  {sentence}", fg="yellow", err=err)
    for note in document.notes:
        click.echo(f"  note     {visible(note)}", err=err)
    for check in document.checks:
        word, colour = {True: ("ok", "green"), False: ("FAILED", "red"), None: ("not made", "yellow")}[check.passed]
        click.secho(f"  {word:9}", fg=colour, bold=check.passed is False, nl=False, err=err)
        click.echo(f"{check.name}: {check.detail}", err=err)
    failed = sum(check.passed is False for check in document.checks)
    if failed:
        number = "1 check" if failed == 1 else f"{failed} checks"
        click.secho(f"  {number} FAILED: what they concern is not to be relied on.", fg="red", bold=True, err=err)
    click.echo(f"  atlas    {atlas.folder.parent}", err=err)


def no_data(requested: str) -> dict[str, Any]:
    """What :func:`as_data` gives, where nothing came of it."""
    unknown = ("model", "title", "folder", "nodes", "parameters", "source", "passed_over", "notes", "checks", "error")
    return {"requested": requested, **dict.fromkeys(unknown)}


def as_data(requested: str, atlas: Atlas) -> dict[str, Any]:
    """The same for a program; ``requested`` is what the user wrote."""
    document, origin = atlas.document, atlas.document.provenance
    return no_data(requested) | {
        "model": document.model,
        "title": document.title,
        "folder": str(Path(atlas.folder).parent),
        "nodes": len(atlas),
        "parameters": atlas.root.parameter_count,
        "source": {
            "kind": origin.source,
            "repository": origin.repository,
            "origin": origin_of(atlas.folder.parent),
            "revision": origin.revision,
            "requested_revision": origin.requested_revision,
            "entry": origin.entry,
            "configuration": origin.configuration_origin,
        },
        "passed_over": origin.preferred,
        "notes": document.notes,
        "checks": document.checks,
    }
