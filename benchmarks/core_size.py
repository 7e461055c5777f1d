"""What the core installs without its capture extra: the size on disk of every distribution in a fresh environment.

Usage: python benchmarks/core_size.py     (needs a package index; makes and removes an environment)
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT_MEGABYTES = 60
ROOT = Path(__file__).resolve().parent.parent

_SIZES = """
from importlib.metadata import distributions
for distribution in distributions():
    files = {path for entry in distribution.files or () if (path := entry.locate()).is_file()}
    print(distribution.metadata["Name"], sum(path.stat().st_size for path in files))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "environment"
        python = str(folder / "bin" / "python")
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        # Byte code is left out: it is written when a module is first imported.
        install = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
        subprocess.run([*install, str(ROOT)], check=True)
        listed = subprocess.run([python, "-I", "-B", "-c", _SIZES], check=True, capture_output=True, text=True)
    lines = (line.rsplit(" ", 1) for line in listed.stdout.splitlines())
    sizes = {name: int(size) / 1e6 for name, size in lines if name not in {"pip", "setuptools"}}
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"{name:24} {size:7.2f} MB")
    total = sum(sizes.values())
    print(f"{'total':24} {total:7.2f} MB, {'below' if total < LIMIT_MEGABYTES else 'NOT below'} {LIMIT_MEGABYTES} MB")


if __name__ == "__main__":
    main()
