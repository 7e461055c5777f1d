"""Writes ``docs/seeds.md``: our pages beside the seeds', field by field. Code appears as line numbers and hashes only.

::

    python -m tests.seeds.report
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from openmodelatlas.bundle.atlas import Atlas
from tests.seeds.building import MISSING, PLACES, build_atlases, compared
from tests.seeds.compare import Row
from tests.seeds.seed import FOLDER

FILE = Path(__file__).parents[2] / "docs" / "seeds.md"

HEAD = """# The seeds, reproduced

Two pages specify the atlas by example: a tensor of Kimi K2 and an operation of Kimi K3. The same pages are made here by
the machinery that makes all others, from code that holds their excerpts at their true lines and stubs around them
(`tests/seeds`). A sentence has the *same meaning* if every word of the seed's that carries meaning occurs in ours;
everything else is compared as it stands. Excerpts are compared line for line; only their hashes are shown.
"""


def table(atlases: Mapping[str, Atlas]) -> str:
    """The comparison as Markdown."""
    parts = [HEAD]
    for model in PLACES:
        atlas = atlases[model]
        parts.append(f"## {atlas.document.title}: `{PLACES[model][1]}`\n")
        parts.append("| Field | Seed | Ours | |\n|---|---|---|---|")
        parts += [_row(row) for row in compared(atlas)]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _row(row: Row) -> str:
    verdict = f"{row.verdict}: {row.note}" if row.note else row.verdict
    return f"| {row.field} | {_cell(row.seed)} | {_cell(row.ours)} | {verdict} |"


def _cell(text: str) -> str:
    escaped = text.replace("|", "\\|").replace("\n", " ")
    if "\\" in escaped and not escaped.count("$"):
        return f"`{escaped}`"
    return escaped


def main() -> int:
    """Builds both atlases and writes the file."""
    if not FOLDER.is_dir():
        print(MISSING, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        FILE.write_text(table(build_atlases(Path(folder))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
