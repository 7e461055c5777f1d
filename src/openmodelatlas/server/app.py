"""The application behind the server: answers with their headers, compressed, told apart by what the reader has."""

from __future__ import annotations

import gzip
import threading
from base64 import b64encode
from collections import OrderedDict
from functools import lru_cache
from hashlib import sha256
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from openmodelatlas import __version__
from openmodelatlas.drawing.style import STYLE
from openmodelatlas.server.pages import Answer, Pages
from openmodelatlas.site.html import CONTENT_SECURITY_POLICY

_COMPRESSIBLE = ("text/", "application/json", "image/svg+xml")
_WORTH_COMPRESSING = 512
_KEPT_BYTES = 64 * 1024 * 1024
_FIXED = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Server": f"openmodelatlas/{__version__}",
}

_OF_PICTURES = CONTENT_SECURITY_POLICY.replace(
    "style-src 'self'", f"style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
)
"""A diagram that is a file of its own has its style sheet inside."""


def application(pages: Pages) -> Starlette:
    """The application that answers from ``pages``: GET and HEAD, nothing else."""
    made = Starlette()
    # Routes are matched on decoded paths and do not know line ends: every path is ours to answer.
    made.router.default = _Answers(pages)
    return made


class _Answers:
    """Answers every request."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._compressed = _Compressed()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; see https://asgi.readthedocs.io/en/latest/specs/www.html."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        if request.method not in ("GET", "HEAD"):
            refused = Response(status_code=405, headers={**_FIXED, "Allow": "GET, HEAD", "Cache-Control": "no-store"})
            await refused(scope, receive, send)
            return
        # The path as it stands in the request line: what is encoded in it is told apart by `pages`.
        target = scope.get("raw_path", request.url.path.encode()).decode("latin-1")
        found = await run_in_threadpool(self._pages.answer, target)
        response = await run_in_threadpool(_respond, request, found, self._compressed)
        await response(scope, receive, send)


def _respond(request: Request, answer: Answer, compressed: _Compressed) -> Response:
    headers = dict(_FIXED)
    if answer.content_type == "image/svg+xml":
        headers["Content-Security-Policy"] = _OF_PICTURES
    tag = f'"{answer.etag}"' if answer.etag is not None else None
    coding = _coding(request.headers.get("accept-encoding", "")) if _is_compressible(answer) else None
    if tag is not None:
        headers["ETag"] = f'{tag[:-1]}-{coding}"' if coding else tag
    if answer.lasting:
        headers["Cache-Control"] = "public, max-age=31536000, immutable"
    else:
        headers["Cache-Control"] = "no-cache" if tag is not None else "no-store"
    if _is_compressible(answer):
        headers["Vary"] = "Accept-Encoding"
    if answer.location is not None:
        headers["Location"] = answer.location
    if answer.status == 200 and tag is not None and _has(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    body = answer.body
    if coding is not None:
        body = compressed.body(answer, coding)
        headers["Content-Encoding"] = coding
    headers["Content-Type"] = answer.content_type
    return Response(content=body, status_code=answer.status, headers=headers)


def _is_compressible(answer: Answer) -> bool:
    return len(answer.body) >= _WORTH_COMPRESSING and answer.content_type.startswith(_COMPRESSIBLE)


def _has(request: Request, tag: str) -> bool:
    """Whether the reader has what the tag says (RFC 9110, section 13.1.2)."""
    known = [text.strip().removeprefix("W/") for text in request.headers.get("if-none-match", "").split(",")]
    return tag in known or "*" in known


def _coding(accepted: str) -> str | None:
    """The best coding that the reader takes (RFC 9110, section 12.5.3)."""
    weights: dict[str, float] = {}
    for item in accepted.lower().split(","):
        name, _, parameter = item.strip().partition(";")
        try:
            weights[name.strip()] = float(parameter.partition("=")[2] or 1)
        except ValueError:
            weights[name.strip()] = 0.0
    for name in ("br", "gzip"):
        if weights.get(name, weights.get("*", 0.0) if name == "gzip" else 0.0) > 0 and (name != "br" or _brotli()):
            return name
    return None


class _Compressed:
    """Compressed bodies of answers that have a tag, each compressed once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str, int], bytes] = OrderedDict()
        self._bytes = 0

    def body(self, answer: Answer, coding: str) -> bytes:
        """The body of ``answer`` in this coding."""
        key = (answer.etag or "", coding, hash(answer.body))
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        made = _compress(answer.body, coding)
        if answer.etag is not None:
            with self._lock:
                if key not in self._kept:
                    self._kept[key] = made
                    self._bytes += len(made)
                while self._bytes > _KEPT_BYTES:
                    _, dropped = self._kept.popitem(last=False)
                    self._bytes -= len(dropped)
        return made


def _compress(body: bytes, coding: str) -> bytes:
    if coding == "br":
        made: bytes = _brotli().compress(body, quality=5)
        return made
    return gzip.compress(body, 6, mtime=0)


@lru_cache(maxsize=1)
def _brotli() -> Any:
    """The module ``brotli``; ``None`` where it is not installed."""
    try:
        import brotli  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return None
    return brotli
