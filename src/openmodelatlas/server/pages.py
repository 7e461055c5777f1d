"""From a request's path to the bytes of a page, rendered when it is asked for."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import msgspec

from openmodelatlas import __version__
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.home import list_built, model_folder
from openmodelatlas.bundle.store import read
from openmodelatlas.errors import AtlasError, UsageError
from openmodelatlas.site.html import HtmlRenderer, icon, stylesheet
from openmodelatlas.site.listing import Listing, list_atlas, unreadable
from openmodelatlas.site.markdown import render_markdown
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.paths import ASSETS, address_in, page_folder

HTML = "text/html; charset=utf-8"
_TYPES = {"html": HTML, "md": "text/markdown; charset=utf-8", "json": "application/json"}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What to send.

    Attributes:
        status: HTTP status code.
        content_type: of ``body``.
        body: bytes.
        etag: changes whenever ``body`` may; ``None`` for answers that should not be kept.
        location: where to go instead, for redirections.
    """

    status: int
    content_type: str
    body: bytes
    etag: str | None = None
    location: str | None = None


class Pages:
    """Answers requests from the bundles below ``home``; safe to use from several threads.

    Args:
        home: see :func:`openmodelatlas.bundle.home.home`.
        models: the models to show, in order; ``None`` for all that are built, also those built later.
    """

    def __init__(self, home: Path, models: Sequence[str] | None = None) -> None:
        self._home = home
        self._models = tuple(models) if models is not None else None
        self._renderer = HtmlRenderer()
        self._lock = threading.Lock()
        self._open: dict[str, tuple[bytes, PageBuilder]] = {}

    def answer(self, target: str) -> Answer:
        """The answer to a request for ``target``, the path as it stands in the request line."""
        try:
            path = unquote(urlsplit(target).path)
        except ValueError:
            return self._message(400, "This is no address", "The request names no page.", [])
        parts = path.split("/")
        if "\0" in path or "\\" in path or ".." in parts:
            return self._message(404, "There is no such page", "The address leads outside the atlas.", [])
        with self._lock:
            try:
                return self._find(path)
            except UsageError as error:
                return self._message(404, "There is no such page", str(error), [])
            except AtlasError as error:
                return self._message(500, "This atlas cannot be shown", str(error), [])
            except Exception as error:  # the server goes on, whatever one page comes to
                text = f"This is a bug of openmodelatlas {__version__}: {type(error).__name__}: {error}"
                return self._message(500, "This page cannot be shown", text, [])

    def _find(self, path: str) -> Answer:
        if path in ("/", "/index.html"):
            return self._index()
        if path == f"/{ASSETS}/atlas.css":
            return _asset(stylesheet(), "text/css; charset=utf-8")
        if path in (f"/{ASSETS}/icon.svg", "/favicon.ico"):
            return _asset(icon(), "image/svg+xml")
        folder, form, whole = _split(path)
        if not whole:
            return Answer(status=308, content_type=HTML, body=b"", location=f"/{quote(path.strip('/'))}/")
        model, address = address_in(folder)
        builder = self._builder(model)
        if builder is None:
            built = [(title, f"/{title}/") for title in self._shown()]
            return self._message(404, f"{model} is not built", f"`oma build {model}` builds it.", built)
        atlas = builder.atlas
        node = atlas.document.nodes.get(address)
        if node is None:
            return self._missing(atlas, address)
        page = builder.page(node)
        if form == "json":
            body = msgspec.json.encode(page)
        elif form == "md":
            body = render_markdown(page).encode("utf-8", errors="replace")
        else:
            body = self._renderer.page(page, atlas).encode("utf-8", errors="replace")
        etag = f"{atlas.folder.name}-{__version__}-{form}"
        return Answer(status=200, content_type=_TYPES[form], body=body, etag=etag)

    def _shown(self) -> tuple[str, ...]:
        built = list_built(self._home)
        return built if self._models is None else tuple(model for model in self._models if model in built)

    def _index(self) -> Answer:
        entries = [self._listing(model) for model in self._shown()]
        body = self._renderer.index([entry for entry in entries if entry is not None]).encode(errors="replace")
        return _asset(body, HTML)

    def _listing(self, model: str) -> Listing | None:
        """What the list says of ``model``; of a damaged atlas that it is, so that it does not take the others along."""
        try:
            builder = self._builder(model)
        except AtlasError as error:
            return unreadable(model, str(error))
        return None if builder is None else list_atlas(builder.atlas)

    def _builder(self, model: str) -> PageBuilder | None:
        """The opened atlas of ``model``, opened anew when it was built anew; ``None`` if it is not shown."""
        if model not in self._shown():
            return None
        folder = model_folder(self._home, model)
        current = (folder / "current").read_bytes()
        opened = self._open.get(model)
        if opened is None or opened[0] != current:
            opened = self._open[model] = (current, PageBuilder(read(folder)))
        return opened[1]

    def _missing(self, atlas: Atlas, address: str) -> Answer:
        model = atlas.document.model
        close = [name for name in atlas.close_matches(address) if name in atlas.document.nodes]
        links = [(f"{model}/{name}", f"/{page_folder(model, name)}/") for name in close]
        links.append((atlas.document.title, f"/{model}/"))
        text = f"`{model}` has nothing at this address." + (" Close to it:" if close else "")
        return self._message(404, "There is no such page", text, links)

    def _message(self, status: int, title: str, text: str, links: list[tuple[str, str]]) -> Answer:
        body = self._renderer.message(title, text, links).encode("utf-8", errors="replace")
        return Answer(status=status, content_type=HTML, body=body)


def _asset(body: bytes, content_type: str) -> Answer:
    """What is the same until its bytes change."""
    return Answer(status=200, content_type=content_type, body=body, etag=hashlib.sha256(body).hexdigest()[:16])


def _split(path: str) -> tuple[str, str, bool]:
    """Folder and form of a page's path, and whether relative links work from it (else it needs a slash at the end)."""
    folder, _, name = path.rpartition("/")
    if name == "":
        return folder, "html", True
    stem, _, ending = name.rpartition(".")
    if ending in _TYPES and stem:
        return (folder, ending, True) if stem == "index" else (f"{folder}/{stem}", ending, True)
    return path, "html", False
