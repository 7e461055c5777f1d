"""The published JSON Schema of pages. ``python -m openmodelatlas.site.schema FOLDER`` writes it, and the atlas's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from openmodelatlas.bundle import schema as bundle_schema
from openmodelatlas.site.fields import PAGE_FORMAT, Page

PAGE_SCHEMA = "page.schema.json"


def page_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a page of format ``PAGE_FORMAT``: of ``index.json`` and ``oma show --json``."""
    return bundle_schema.publish(Page, title=f"OpenModelAtlas page, format {PAGE_FORMAT}")


def main(folder: Path) -> None:
    """Writes the schemas of the atlas and of its pages into ``folder``."""
    bundle_schema.main(folder)
    (folder / PAGE_SCHEMA).write_bytes(bundle_schema.encode_schema(page_schema()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
