"""Turns what the kernel refuses into one clear error that names the file and line of the model's code.

Where the kernel protects (the usual case) this costs nothing unless something is refused: the few functions that
Python code writes files and opens sockets with are wrapped, and only their errors are translated. Where the kernel
cannot protect, an audit hook (PEP 578) refuses by itself; it is a help against accidents and no wall.
"""

from __future__ import annotations

import builtins
import errno
import functools
import io
import os
import socket
import sys
import sysconfig
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from openmodelatlas.errors import SandboxError

_REFUSALS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_WRITING_MODES = frozenset("wax+")
_WRITING_FUNCTIONS = (
    "chmod", "chown", "link", "mkdir", "mkfifo", "mknod", "open", "remove", "rename", "replace", "rmdir", "symlink",
    "truncate", "unlink", "utime",
)  # fmt: skip
_NETWORK_EVENTS = frozenset({
    "socket.__new__", "socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname",
})  # fmt: skip
_WRITE_EVENTS = frozenset({
    "open", "os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate",
})  # fmt: skip
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_ADVICE_NETWORK = "Model code runs without a network; files it needs must lie in the source itself."
_ADVICE_FILES = "Model code may write to its temporary folder only and read its own source and installed packages."


class RefusedError(SandboxError, PermissionError):
    """The sandbox refused something. Also a ``PermissionError``, so that code which expects one goes on."""


def refusal(what: str, advice: str, source_root: str) -> RefusedError:
    """An error about ``what``, placed at the innermost line of the model's code that is running."""
    return RefusedError(what, where=model_line(source_root), advice=advice)


def model_line(source_root: str) -> str | None:
    """``file.py:12`` of the innermost running frame in the source or, failing that, outside Python's library."""
    own_folder = os.path.dirname(__file__)  # noqa: PTH120 - runs inside wrapped functions, which pathlib would call
    libraries = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), own_folder, "<frozen")
    root = source_root.rstrip("/") + "/"
    fallback: str | None = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(root) and not name.startswith(own_folder):
            return f"{name[len(root) :]}:{frame.f_lineno}"
        if fallback is None and not name.startswith(libraries):
            fallback = f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return fallback


def translate(source_root: str) -> None:
    """Wrap the functions that write files and make sockets, so that a refusal by the kernel names the model's line.

    Args:
        source_root: folder of the model's code.
    """
    opening = _translated(builtins.open, source_root, "open", only_writing=True)
    builtins.open = opening
    io.open = opening  # pathlib opens through this name
    for name in _WRITING_FUNCTIONS:
        original = getattr(os, name, None)
        if original is None:
            continue
        wrapped = _translated(original, source_root, name, only_writing=name == "open")
        for group in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if original in group:  # shutil asks these what a function can do
                group.add(wrapped)
        setattr(os, name, wrapped)
    _wrap_sockets(source_root)


def _translated(function: Callable[..., Any], source_root: str, name: str, *, only_writing: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except OSError as error:
            if error.errno not in _REFUSALS or isinstance(error, RefusedError):
                raise
            mode = arguments[1] if len(arguments) > 1 else keywords.get("mode", keywords.get("flags", "r"))
            writes = (
                bool(mode & _WRITE_FLAGS) if isinstance(mode, int) else bool(_WRITING_MODES.intersection(str(mode)))
            )
            reads = only_writing and not writes
            verb = "read" if reads else "write"
            path = arguments[0] if arguments else next(iter(keywords.values()), "")
            what = f"The sandbox refused to {verb} {_shown(path)} ({name})."
            raise refusal(what, _ADVICE_FILES, source_root) from error

    return wrapper


def _wrap_sockets(source_root: str) -> None:
    make = socket.socket.__init__

    @functools.wraps(make)
    def make_socket(self: socket.socket, *arguments: Any, **keywords: Any) -> None:
        try:
            make(self, *arguments, **keywords)
        except OSError as error:
            raise refusal("The sandbox refused to open a socket.", _ADVICE_NETWORK, source_root) from error

    def look_up(host: object = "", *_: Any, **__: Any) -> Any:
        raise refusal(f"The sandbox refused to look up the address of {_shown(host)}.", _ADVICE_NETWORK, source_root)

    socket.socket.__init__ = make_socket  # type: ignore[method-assign]
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
        setattr(socket, name, look_up)


def audit(*, source_root: str, writable: Sequence[str], network: bool, files: bool) -> None:
    """Refuse from Python what the kernel could not be asked to refuse.

    Args:
        source_root: folder of the model's code.
        writable: folders that may be written.
        network: refuse sockets.
        files: refuse writing outside ``writable``.
    """
    events = (_NETWORK_EVENTS if network else frozenset()) | (_WRITE_EVENTS if files else frozenset())
    allowed = tuple(os.path.realpath(path) for path in writable)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in events:
            return
        if event in _NETWORK_EVENTS:
            if event != "socket.__new__" or (len(arguments) > 1 and arguments[1] != getattr(socket, "AF_UNIX", None)):
                raise refusal(f"The sandbox refused {event}.", _ADVICE_NETWORK, source_root)
            return
        path = arguments[0]
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITE_FLAGS):
            return
        if not isinstance(path, str | bytes) or path in (os.devnull, os.devnull.encode()):
            return
        real = os.path.realpath(os.fsdecode(path))
        if not any(real == folder or real.startswith(folder + os.sep) for folder in allowed):
            raise refusal(f"The sandbox refused to write {_shown(path)} ({event}).", _ADVICE_FILES, source_root)

    sys.addaudithook(hook)


def _shown(path: object) -> str:
    text = os.fsdecode(path) if isinstance(path, bytes) else str(path)
    return text if len(text) <= 200 else text[:200] + "…"
