"""From a request's path to the bytes of a page, rendered when it is asked for."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import msgspec

from openmodelatlas import __version__
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.home import list_built, model_folder
from openmodelatlas.bundle.store import read
from openmodelatlas.errors import AtlasError, UsageError
from openmodelatlas.site.assets import asset, content_type
from openmodelatlas.site.html import SiteHtml
from openmodelatlas.site.listing import Listing, list_atlas, unreadable
from openmodelatlas.site.markdown import render_markdown
from openmodelatlas.site.mechanism_pages import FORMS, MechanismPages
from openmodelatlas.site.node_html import NodeHtml
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.paths import ASSETS, CONTENTS, MECHANISMS, address_in, page_folder
from openmodelatlas.site.search import search_script

HTML = "text/html; charset=utf-8"
_TYPES = {"html": HTML, "md": "text/markdown; charset=utf-8", "json": "application/json"}
_DIAGRAMS = {"diagram.js": "text/javascript; charset=utf-8", "diagram.svg": "image/svg+xml"}
_KEPT = 512
"""Rendered answers that are kept."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What to send.

    Attributes:
        status: HTTP status code.
        content_type: of ``body``.
        body: bytes.
        etag: changes whenever ``body`` may; ``None`` for answers that should not be kept.
        location: where to go instead, for redirections.
        lasting: whether the same address always gives the same bytes.
    """

    status: int
    content_type: str
    body: bytes
    etag: str | None = None
    location: str | None = None
    lasting: bool = False


class _Titled(msgspec.Struct):
    """The one field of an atlas that other models' pages name."""

    title: str


class _Opened:
    """One atlas with what renders it; ``generation`` is the pointer's bytes when it was opened."""

    def __init__(self, folder: Path, generation: bytes, models: Sequence[tuple[str, str]]) -> None:
        self.generation = generation
        self.models = models
        self.builder = PageBuilder(read(folder))
        self.html = NodeHtml(self.builder, models)
        self.mechanisms: MechanismPages | None = None
        self.listing: Listing | None = None


class Pages:
    """Answers requests from the bundles below ``home``; safe to use from several threads.

    Args:
        home: see :func:`openmodelatlas.bundle.home.home`.
        models: the models to show, in order; ``None`` for all that are built, also those built later.
    """

    def __init__(self, home: Path, models: Sequence[str] | None = None) -> None:
        self._home = home
        self._models = tuple(models) if models is not None else None
        self._site = SiteHtml()
        self._lock = threading.Lock()
        self._open: dict[str, _Opened] = {}
        self._titles: dict[str, tuple[bytes, str]] = {}
        self._kept: OrderedDict[tuple[str, str], Answer] = OrderedDict()
        self._everywhere: tuple[tuple[bytes, ...], MechanismPages] | None = None

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
        if path == "/favicon.ico":
            path = f"/{ASSETS}/icon.svg"
        if path.startswith(f"/{ASSETS}/"):
            return self._asset(path[len(ASSETS) + 2 :])
        folder, form, whole = _split(path)
        if not whole:
            return Answer(status=308, content_type=HTML, body=b"", location=f"/{quote(path.strip('/'))}/")
        parts = folder.strip("/").split("/")
        if parts[0] == MECHANISMS:
            return self._mechanism(None, parts[1:], form)
        model, address = address_in(folder)
        opened = self._opened(model)
        if opened is None:
            built = [(title, f"/{page_folder(title, '')}/") for title in self._shown()]
            return self._message(404, f"{model} is not built", f"`oma build {model}` builds it.", built)
        if parts[1:2] == [MECHANISMS]:
            return self._mechanism(opened, parts[2:], form)
        if parts[1:] == [CONTENTS] and form == "html":
            return self._keep(path, self._tag(opened, form), lambda: _made(opened, CONTENTS))
        if address not in opened.builder.document.nodes:
            return self._missing(opened.builder.atlas, address)
        if form in _DIAGRAMS:
            return self._diagram(opened, address, form)
        return self._keep(path, self._tag(opened, form), lambda: self._page(opened, address, form))

    def _diagram(self, opened: _Opened, address: str, form: str) -> Answer:
        """The diagram of a level, as the script or the picture that pages beside it show."""
        drawn = opened.html.drawing(address)
        if drawn is None:
            return self._missing(opened.builder.atlas, address)
        return _asset(drawn[form == "diagram.svg"], _DIAGRAMS[form])

    def _page(self, opened: _Opened, address: str, form: str) -> Answer:
        builder = opened.builder
        page = builder.page(builder.document.nodes[address])
        if form == "json":
            body = msgspec.json.encode(page)
        elif form == "md":
            body = render_markdown(page).encode("utf-8", errors="replace")
        else:
            body = opened.html.page(page).encode("utf-8", errors="replace")
        return Answer(status=200, content_type=_TYPES[form], body=body, etag=self._tag(opened, form))

    def _tag(self, opened: _Opened, form: str) -> str:
        """Changes with the atlas, what can be read of it, our own version, and the models that pages name."""
        others = hashlib.sha256(repr((opened.models, opened.builder.damage)).encode()).hexdigest()[:8]
        return f"{opened.builder.atlas.folder.name}-{__version__}-{others}-{form}"

    def _keep(self, path: str, tag: str, render: Callable[[], Answer]) -> Answer:
        """The answer that was rendered before, or a new one."""
        key = (path, tag)
        answer = self._kept.get(key)
        if answer is None:
            answer = self._kept[key] = render()
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return answer

    def _asset(self, name: str) -> Answer:
        kind, _, file = name.partition("/")
        model, _, ending = file.rpartition(".")
        if (kind, ending) in (("math", "css"), ("search", "js")):
            opened = self._opened(address_in(model)[0])
            if opened is not None:
                return self._keep(name, self._tag(opened, kind), lambda: _made(opened, kind))
        body = asset(name)
        if body is None:
            return self._message(404, "There is no such file", "The site has no file of this name.", [])
        return _asset(body, content_type(name), lasting=name.endswith(".woff2"))

    def _mechanism(self, opened: _Opened | None, rest: Sequence[str], form: str) -> Answer:
        """The list of mechanisms or the page of one, of one model or of all."""
        model = opened.builder.document.model if opened is not None else None
        if opened is None:
            pages = self._all_mechanisms()
        else:
            pages = opened.mechanisms = opened.mechanisms or MechanismPages([opened.builder], opened.models)
        name = rest[0] if rest and rest[0] else None
        if form not in FORMS or len(rest) > 1 or not pages.any or (name is not None and not pages.has(name, model)):
            links = [("Models", "/")]
            return self._message(404, "There is no such page", "No atlas that is built has this mechanism.", links)
        return _asset(pages.text(form, name, model).encode("utf-8", errors="replace"), _TYPES[form])

    def _all_mechanisms(self) -> MechanismPages:
        every = [opened for opened in map(self._whole, self._shown()) if opened is not None]
        generations = tuple(opened.generation for opened in every)
        if self._everywhere is None or self._everywhere[0] != generations:
            self._everywhere = (generations, MechanismPages([opened.builder for opened in every]))
        return self._everywhere[1]

    def _shown(self) -> tuple[str, ...]:
        built = list_built(self._home)
        return built if self._models is None else tuple(model for model in self._models if model in built)

    def _index(self) -> Answer:
        entries = [entry for entry in map(self._listing, self._shown()) if entry is not None]
        html = self._site.index(entries, has_mechanisms=any(entry.mechanisms for entry in entries))
        return _asset(html.encode(errors="replace"), HTML)

    def _listing(self, model: str) -> Listing | None:
        """What the list says of ``model``; of a damaged atlas that it is, so that it does not take the others along."""
        try:
            opened = self._opened(model)
        except AtlasError as error:
            return unreadable(model, str(error))
        if opened is None:
            return None
        if opened.listing is None:
            opened.listing = list_atlas(opened.builder)
        return opened.listing

    def _whole(self, model: str) -> _Opened | None:
        """The atlas of ``model`` unless it is damaged."""
        try:
            return self._opened(model)
        except AtlasError:
            return None

    def _opened(self, model: str) -> _Opened | None:
        """The opened atlas of ``model``, opened anew when it was built anew; ``None`` if it is not shown."""
        shown = self._shown()
        if model not in shown:
            return None
        folder = model_folder(self._home, model)
        try:
            current = (folder / "current").read_bytes()
        except OSError:  # it was removed a moment ago
            return None
        models = tuple((name, self._title(name)) for name in shown)
        opened = self._open.get(model)
        if opened is None or opened.generation != current or opened.models != models:
            opened = self._open[model] = _Opened(folder, current, models)
        return opened

    def _title(self, model: str) -> str:
        """The display name of ``model``; nothing else of the atlas is decoded. Its identifier if it cannot be read."""
        folder = model_folder(self._home, model)
        try:
            current = (folder / "current").read_bytes()
            known = self._titles.get(model)
            if known is None or known[0] != current:
                document = folder / Path(current.decode("ascii").strip()).name / "atlas.json"
                title = msgspec.json.decode(document.read_bytes(), type=_Titled).title
                known = self._titles[model] = (current, title)
        except (OSError, ValueError, RecursionError):  # also what msgspec and decoding raise
            return model
        return known[1]

    def _missing(self, atlas: Atlas, address: str) -> Answer:
        model = atlas.document.model
        close = [name for name in atlas.close_matches(address) if name in atlas.document.nodes]
        links = [(f"{model}/{name}", f"/{page_folder(model, name)}/") for name in close]
        links.append((atlas.document.title, f"/{model}/"))
        text = f"`{model}` has nothing at this address." + (" Close to it:" if close else "")
        return self._message(404, "There is no such page", text, links)

    def _message(self, status: int, title: str, text: str, links: list[tuple[str, str]]) -> Answer:
        body = self._site.message(title, text, links).encode("utf-8", errors="replace")
        return Answer(status=status, content_type=HTML, body=body)


def _made(opened: _Opened, kind: str) -> Answer:
    """What is made of an atlas as a whole: the styles of its formulas, its search entries, the list of its pages."""
    if kind == "math":
        return _asset(opened.html.typesetter.stylesheet(), "text/css; charset=utf-8")
    if kind == CONTENTS:
        return _asset(opened.html.contents().encode("utf-8", errors="replace"), HTML)
    return _asset(search_script(opened.builder), "text/javascript; charset=utf-8")


def _asset(body: bytes, kind: str, *, lasting: bool = False) -> Answer:
    """What is the same until its bytes change."""
    tag = hashlib.sha256(body).hexdigest()[:16]
    return Answer(status=200, content_type=kind, body=body, etag=tag, lasting=lasting)


def _split(path: str) -> tuple[str, str, bool]:
    """Folder and form of a page's path, and whether relative links work from it (else it needs a slash at the end)."""
    folder, _, name = path.rpartition("/")
    if name == "":
        return folder, "html", True
    if name in _DIAGRAMS:
        return folder, name, True
    stem, _, ending = name.rpartition(".")
    if ending in _TYPES and stem:
        return (folder, ending, True) if stem == "index" else (f"{folder}/{stem}", ending, True)
    return path, "html", False
