"""Which Python files are the model's, and what of them is written down.

A *model file* is any Python file that is neither the standard library nor one of the libraries in
``LIBRARY_PACKAGES`` nor our own capture package: besides the source itself that includes helpers of other packages
(``transformers/cache_utils.py``), because tensors are made there as well.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import site
import sys
import sysconfig
from pathlib import Path
from typing import Literal

from openmodelatlas.capture.recording import RecordedFile
from openmodelatlas.capture.text import lines_of

Origin = Literal["source", "package", "stand-in"]

LIBRARY_PACKAGES = frozenset(
    {
        "torch",
        "torchgen",
        "functorch",
        "triton",
        "numpy",
        "safetensors",
        "msgspec",
        "huggingface_hub",
        "tqdm",
        "packaging",
        "regex",
        "yaml",
        "sympy",
        "mpmath",
    }
)
"""Top-level packages whose frames are never the model's own; torch calls made in them belong to their caller."""

_CAPTURE = Path(__file__).resolve().parent.parent
STAND_INS = _CAPTURE / "standins"
"""Folder of our stand-ins for GPU packages."""


@functools.cache
def package_roots() -> tuple[str, ...]:
    """Folders that hold installed packages, longest path first, each with a trailing separator."""
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
    folders.update(entry for entry in sys.path if Path(entry).name in {"site-packages", "dist-packages"})
    return tuple(sorted((folder.rstrip("/") + "/" for folder in folders), key=len, reverse=True))


@functools.cache
def _standard_library() -> tuple[str, ...]:
    return tuple({sysconfig.get_path(name).rstrip("/") + "/" for name in ("stdlib", "platstdlib")})


@functools.cache
def package_path(filename: str) -> str | None:
    """Path of ``filename`` below the folder of installed packages that holds it, ``None`` if none does."""
    for root in (*package_roots(), *_overlay_roots()):
        if filename.startswith(root):
            return filename[len(root) :]
    return None


def _overlay_roots() -> tuple[str, ...]:
    """Folders on ``sys.path`` filled by ``pip install --target``: they hold ``*.dist-info`` folders themselves."""
    return tuple(sorted(_overlays(tuple(sys.path)), key=len, reverse=True))


@functools.cache
def _overlays(entries: tuple[str, ...]) -> tuple[str, ...]:
    folders = [Path(entry) for entry in entries if entry]
    return tuple(f"{folder}/" for folder in folders if folder.is_dir() and any(folder.glob("*.dist-info")))


@functools.cache
def is_model_file(filename: str) -> bool:
    """Whether frames of ``filename`` (``co_filename``) are recorded as calls of the model's code."""
    if filename.startswith("<") or not filename.endswith(".py"):
        return False
    if Path(filename).is_relative_to(_CAPTURE):
        return False
    inside = package_path(filename)
    if inside is not None:
        return inside.split("/", 1)[0].removesuffix(".py") not in LIBRARY_PACKAGES
    return not filename.startswith(_standard_library())


@functools.cache
def is_module_file(filename: str) -> bool:
    """Whether ``filename`` defines modules (torch's, stand-ins') whose ``forward`` is a call without code."""
    if filename.startswith(f"{STAND_INS}/"):
        return True
    inside = package_path(filename)
    return inside is not None and inside.startswith(("torch/nn/", "torch/ao/nn/"))


@functools.cache
def distribution(top_level: str) -> str:
    """Name and version of the distribution that installed ``top_level``; empty if no metadata says so."""
    name = top_level.removesuffix(".py")
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(name)
    return f"{names[0]} {importlib.metadata.version(names[0])}" if names else ""


@functools.cache
def read_file(filename: str) -> tuple[str, str]:
    """SHA-256 and text of a file that ran; bytes that are no UTF-8 become U+FFFD (Python would not have run them)."""
    data = Path(filename).read_bytes()
    return hashlib.sha256(data).hexdigest(), data.decode("utf-8", errors="replace")


@functools.cache
def file_lines(filename: str) -> list[str]:
    """The lines of a file that ran, without their ends; not to be changed."""
    return lines_of(read_file(filename)[1])


class FileTable:
    """The files of one recording, numbered in the order in which they were first met.

    Attributes:
        roots: folders by origin; files below ``roots["source"]`` are the source's.
    """

    def __init__(self, roots: dict[str, Path]) -> None:
        self.roots = {name: f"{root.resolve()}/" for name, root in roots.items()}
        self._indices: dict[str, int] = {}
        self._paths: set[str] = set()
        self._files: list[RecordedFile] = []

    def index(self, filename: str) -> int:
        """Number of ``filename`` in ``Recording.files``; reads and hashes the file when it is first met."""
        known = self._indices.get(filename)
        if known is None:
            known = self._indices[filename] = len(self._files)
            self._files.append(self._describe(filename))
        return known

    def text(self, index: int) -> str:
        """The text of file ``index``."""
        return self._files[index].text

    def recorded(self) -> list[RecordedFile]:
        """All files so far, in order of their numbers."""
        return list(self._files)

    def _describe(self, filename: str) -> RecordedFile:
        digest, text = read_file(filename)
        path, origin, package = self._place(filename)
        while path in self._paths:
            path = f"other/{path}"
        self._paths.add(path)
        return RecordedFile(path=path, origin=origin, package=package, sha256=digest, text=text)

    def _place(self, filename: str) -> tuple[str, Origin, str]:
        resolved = str(Path(filename).resolve())
        for candidate in (filename, resolved):
            root = self.roots.get("source")
            if root is not None and candidate.startswith(root):
                return candidate[len(root) :], "source", ""
        if resolved.startswith(f"{STAND_INS}/"):
            return resolved[len(str(STAND_INS.parents[2])) + 1 :], "stand-in", ""
        inside = package_path(filename)
        if inside is not None:
            return inside, "package", distribution(inside.split("/", 1)[0])
        for entry in sorted(filter(None, sys.path), key=len, reverse=True):
            if resolved.startswith(entry.rstrip("/") + "/"):
                inside = resolved[len(entry.rstrip("/")) + 1 :]
                return inside, "package", distribution(inside.split("/", 1)[0])
        return Path(filename).name, "package", ""
