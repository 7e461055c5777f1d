"""The static site: every page of some atlases as files that any web host, or none, can serve."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.errors import BundleError, UsageError
from openmodelatlas.graph.document import Node
from openmodelatlas.site.assets import asset, assets
from openmodelatlas.site.html import SiteHtml
from openmodelatlas.site.listing import list_atlas
from openmodelatlas.site.markdown import render_markdown
from openmodelatlas.site.mechanism_pages import MechanismPages
from openmodelatlas.site.node_html import NodeHtml
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.paths import ASSETS, contents_folder, page_folder
from openmodelatlas.site.search import search_script

MARKER = ".openmodelatlas-export"

Progress = Callable[[int, int], None]
"""Called with the number of finished pages and of all pages."""


def export(atlases: Sequence[Atlas], folder: Path, *, progress: Progress | None = None) -> int:
    """Writes the site into ``folder``, which is replaced as a whole when everything is written.

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
    building = folder.with_name(f".{folder.name}-building-{os.urandom(4).hex()}")
    try:
        building.mkdir(parents=True)
        pages = _write_site(atlases, building, progress)
        _swap(building, folder)
    except OSError as error:
        raise BundleError(
            f"The site could not be written: {error.strerror or error}.",
            where=str(folder),
            advice="An earlier export, if any, is still whole.",
        ) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
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
    builders = [PageBuilder(atlas) for atlas in atlases]
    models = [(atlas.document.model, atlas.document.title) for atlas in atlases]
    total = sum(len(atlas) for atlas in atlases)
    done = 0
    for name in assets():
        _write(folder / ASSETS / name, asset(name) or b"")
    (folder / MARKER).write_text("Made by `oma export`; replaced as a whole by the next one.\n", encoding="utf-8")
    mechanisms = MechanismPages(builders)
    listing = SiteHtml().index([list_atlas(builder) for builder in builders], has_mechanisms=mechanisms.any)
    _write(folder / "index.html", _encode(listing))
    for place, html in mechanisms.pages():
        _write(folder / place / "index.html", _encode(html))
    for builder in builders:
        renderer = NodeHtml(builder, models)
        model = builder.document.model
        _write(folder / ASSETS / "math" / f"{model}.css", renderer.typesetter.stylesheet())
        _write(folder / ASSETS / "search" / f"{model}.js", search_script(builder))
        _write(folder / contents_folder(model) / "index.html", _encode(renderer.contents()))
        for node in builder.atlas:
            _write_page(folder, builder, renderer, node)
            done += 1
            if progress is not None:
                progress(done, total)
    return done


def _write_page(folder: Path, builder: PageBuilder, renderer: NodeHtml, node: Node) -> None:
    page = builder.page(node)
    place = folder / page_folder(page.model, page.address)
    place.mkdir(parents=True, exist_ok=True)
    markdown = render_markdown(page)
    (place / "index.html").write_bytes(_encode(renderer.page(page, markdown=markdown)))
    (place / "index.md").write_bytes(_encode(markdown))
    (place / "index.json").write_bytes(msgspec.json.encode(page))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _swap(building: Path, folder: Path) -> None:
    """Puts the finished site in place; an earlier one is moved aside first and put back if that fails."""
    if not folder.exists():
        building.rename(folder)
        return
    aside = folder.with_name(f".{folder.name}-old-{os.urandom(4).hex()}")
    folder.rename(aside)
    try:
        building.rename(folder)
    except OSError:
        aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)
