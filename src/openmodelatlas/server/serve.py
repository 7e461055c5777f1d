"""The HTTP server: this machine only, reading only."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from openmodelatlas import __version__
from openmodelatlas.errors import UsageError
from openmodelatlas.server.pages import Pages
from openmodelatlas.site.html import CONTENT_SECURITY_POLICY

ADDRESS = "127.0.0.1"


class AtlasServer(ThreadingHTTPServer):
    """Serves the pages of some bundles. ``port`` and ``url`` say where; ``serve_forever`` and ``shutdown`` as usual."""

    daemon_threads = True

    def __init__(self, pages: Pages, port: int) -> None:
        self.pages = pages
        super().__init__((ADDRESS, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away or was too slow is its own affair; anything else is told on one line."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"A request could not be answered: {type(error).__name__}: {error}", file=sys.stderr)

    @property
    def port(self) -> int:
        """The port it listens at, also where 0 was asked for."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """Web address of the list of models."""
        return f"http://{ADDRESS}:{self.port}/"


def serve(home: Path, port: int = 0, models: Sequence[str] | None = None) -> AtlasServer:
    """A server that is bound and ready; the caller runs ``serve_forever``.

    Args:
        home: see :func:`openmodelatlas.bundle.home.home`.
        port: TCP port, 0 for any free one (then see ``AtlasServer.port``).
        models: what to show; ``None`` for everything that is built.

    Raises:
        UsageError: the port is taken or not allowed.
    """
    try:
        return AtlasServer(Pages(home, models), port)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"Port {port} cannot be used: {reason}.", advice="Choose another with --port, or 0 for any free one."
        ) from error


class _Handler(BaseHTTPRequestHandler):
    """One request. Everything but GET and HEAD is answered with 501 by the base class."""

    server: AtlasServer
    server_version = f"openmodelatlas/{__version__}"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """Answers with a body."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Answers with the same headers, without the body."""
        self._answer(with_body=False)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class's name)
        """Requests are not logged."""

    def _answer(self, *, with_body: bool) -> None:
        answer = self.server.pages.answer(self.path)
        etag = f'"{answer.etag}"' if answer.etag is not None else None
        known = [tag.strip().removeprefix("W/") for tag in self.headers.get("If-None-Match", "").split(",")]
        unchanged = etag is not None and answer.status == 200 and (etag in known or "*" in known)
        self.send_response(304 if unchanged else answer.status)
        if etag is not None:
            self.send_header("ETag", etag)
        self.send_header("Cache-Control", "no-cache" if etag is not None else "no-store")
        self.send_header("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        if answer.location is not None:
            self.send_header("Location", answer.location)
        if not unchanged:
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if with_body and not unchanged:
            self.wfile.write(answer.body)
