"""The static site: every page of some atlases as files that any web host, or none, can serve."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.errors import BundleError, UsageError
from openmodelatlas.site.assets import asset, assets
from openmodelatlas.site.beside import SHARES, Beside
from openmodelatlas.site.html import SiteHtml
from openmodelatlas.site.listing import list_atlas
from openmodelatlas.site.mechanism_pages import MechanismPages
from openmodelatlas.site.paths import ASSETS
from openmodelatlas.site.unfinished import Unfinished
from openmodelatlas.site.writing import SiteWriter, encode, write

MARKER = ".openmodelatlas-export"

Progress = Callable[[int, int], None]
"""Called with the number of finished pages and of all pages."""


def export(atlases: Sequence[Atlas], folder: Path, *, progress: Progress | None = None) -> int:
    """Writes the site into ``folder``, which is replaced as a whole when everything is written.

    What a killed export left beside ``folder`` is removed first, unless another export is at work there.

    Args:
        atlases: what to publish; their order is that of the list of models.
        folder: new, empty, or an earlier export.
        progress: told after every page.

    Returns:
        The number of pages.

    Raises:
        UsageError: ``folder`` holds something that is not an export, or a model is given twice.
        BundleError: the disk is full, or a bundle is damaged. An earlier export is untouched.
    """
    folder = Path(os.path.abspath(folder))  # noqa: PTH100  (a symbolic link given by the user is replaced, not followed)
    _check(folder, atlases)
    unfinished: Unfinished | None = None
    try:
        unfinished = Unfinished(folder)
        pages = _write_site(atlases, unfinished.folder, progress)
        unfinished.take_place()
    except OSError as error:
        raise BundleError(
            f"The site could not be written: {error.strerror or error}.",
            where=str(folder),
            advice="An earlier export, if any, is still whole.",
        ) from error
    finally:
        if unfinished is not None:
            unfinished.end()
    return pages


def _check(folder: Path, atlases: Sequence[Atlas]) -> None:
    models = [atlas.document.model for atlas in atlases]
    if len(set(models)) != len(models):
        raise UsageError("A model is given twice.", where=", ".join(models))
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError("This is not a folder.", where=str(folder), advice="Choose another.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).is_file():
        raise UsageError(
            "The folder is not empty and no earlier export.", where=str(folder), advice="Choose a new or empty folder."
        )


def _write_site(atlases: Sequence[Atlas], folder: Path, progress: Progress | None) -> int:
    total = sum(len(atlas) for atlas in atlases)
    done = 0

    def told(pages: int = 1) -> None:
        nonlocal done
        done += pages
        if progress is not None:
            progress(min(done, total), total)

    beside = Beside(atlases, folder)
    try:
        writer = SiteWriter(atlases, folder)
        _write_rest(writer, folder)
        if beside.runs:
            writer.write_pages(lambda: told(1 + beside.written()), share=0, shares=SHARES)
            if not beside.finish(told):
                writer.write_pages(told, share=1, shares=SHARES)
        else:
            writer.write_pages(told)
    finally:
        beside.end()
    return total


def _write_rest(writer: SiteWriter, folder: Path) -> None:
    """Everything that is no page of a node."""
    for name in assets():
        write(folder / ASSETS / name, asset(name) or b"")
    write(folder / MARKER, b"Made by `oma export`; replaced as a whole by the next one.\n")
    mechanisms = MechanismPages(writer.builders)
    listing = SiteHtml().index([list_atlas(builder) for builder in writer.builders], has_mechanisms=mechanisms.any)
    write(folder / "index.html", encode(listing))
    for path, text in mechanisms.files():
        write(folder / path, encode(text))
    writer.write_files()
