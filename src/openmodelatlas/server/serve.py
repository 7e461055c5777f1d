"""The HTTP server: this machine only unless told otherwise, reading only."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import uvicorn

from openmodelatlas.errors import UsageError
from openmodelatlas.server.app import application
from openmodelatlas.server.pages import Pages

ADDRESS = "127.0.0.1"
_BACKLOG = 1024


class AtlasServer:
    """Serves the pages of some bundles. ``port`` and ``url`` say where; bound and ready when made."""

    def __init__(self, pages: Pages, port: int, host: str = ADDRESS) -> None:
        self.pages = pages
        self.host = host
        self._socket = _bound(host, port)
        configuration = uvicorn.Config(
            application(pages),
            loop="asyncio",
            ws="none",
            lifespan="off",
            access_log=False,
            log_level="error",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=2,
            backlog=_BACKLOG,
        )
        self._server = uvicorn.Server(configuration)
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.server_close()

    @property
    def server_address(self) -> tuple[str, int]:
        """Host and port that it listens at."""
        name = self._socket.getsockname()
        return str(name[0]), int(name[1])

    @property
    def port(self) -> int:
        """The port it listens at, also where 0 was asked for."""
        return self.server_address[1]

    @property
    def url(self) -> str:
        """Web address of the list of models."""
        host = self.server_address[0]
        if host in ("0.0.0.0", "::"):  # noqa: S104  (shown, not bound: every address of this machine)
            host = "localhost"
        return f"http://[{host}]:{self.port}/" if ":" in host else f"http://{host}:{self.port}/"

    def serve_forever(self) -> None:
        """Answers requests until :meth:`shutdown`, or until the process is told to end."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._ended.set()

    def shutdown(self) -> None:
        """Ends :meth:`serve_forever`, called from another thread, and waits until it has ended."""
        self._server.should_exit = True
        self._ended.wait(timeout=10)

    def server_close(self) -> None:
        """Gives the port back."""
        self._socket.close()


def serve(home: Path, port: int = 0, models: Sequence[str] | None = None, host: str = ADDRESS) -> AtlasServer:
    """A server that is bound and ready; the caller runs ``serve_forever``.

    Args:
        home: see :func:`openmodelatlas.bundle.home.home`.
        port: TCP port, 0 for any free one (then see ``AtlasServer.port``).
        models: what to show; ``None`` for everything that is built.
        host: address or name to listen at.

    Raises:
        UsageError: the port is taken or not allowed, or the host is not one of this machine's.
    """
    return AtlasServer(Pages(home, models), port, host)


def _bound(host: str, port: int) -> socket.socket:
    """A listening socket."""
    if not 0 <= port <= 65535:
        raise UsageError(f"Port {port} cannot be used: ports are 0 to 65535.", advice=_ADVICE)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError, OverflowError) as error:
        reason = str(error) if not isinstance(error, OSError) else error.strerror
        raise UsageError(f"{host} port {port} cannot be used: {reason}.", advice=_ADVICE) from error
    found = socket.socket(family, kind, protocol)
    try:
        if os.name != "nt":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_BACKLOG)
        with contextlib.suppress(OSError, ValueError):
            found.set_inheritable(False)
    except (OSError, OverflowError) as error:
        found.close()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"Port {port} cannot be used: {reason}.", advice=_ADVICE) from error
    return found


_ADVICE = "Choose another with --port, or 0 for any free one."
