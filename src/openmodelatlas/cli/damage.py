"""Tells that an atlas is shown without what cannot be read of it."""

from __future__ import annotations

import click

from openmodelatlas.bundle.atlas import Atlas


def tell_damage(atlas: Atlas, *, drawn: bool = True) -> None:
    """Prints on standard error which files of ``atlas`` are damaged; without ``drawn``, only that of names."""
    from openmodelatlas.site.parts import drawings_of, knowledge_of
    from openmodelatlas.site.visible import visible

    told = [knowledge_of(atlas)[1], drawings_of(atlas)[1] if drawn else None]
    for text in told:
        if text is not None:
            click.secho(f"{visible(atlas.document.title)}: {visible(text)}", fg="yellow", err=True)
