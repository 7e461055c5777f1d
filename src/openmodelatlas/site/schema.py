"""The published JSON Schemas of pages, of mechanisms and of the front end's data.

``python -m openmodelatlas.site.schema FOLDER`` writes them, and the atlas's.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from openmodelatlas.bundle import schema as bundle_schema
from openmodelatlas.site.fields import Page
from openmodelatlas.site.fields.mechanisms import MECHANISM_FORMAT, MechanismList, MechanismPage
from openmodelatlas.site.fields.page import PAGE_FORMAT
from openmodelatlas.site.fields.view import FrontEnd

PAGE_SCHEMA = "page.schema.json"
VIEW_SCHEMA = "view.schema.json"
MECHANISM_SCHEMA = "mechanism.schema.json"
MECHANISMS_SCHEMA = "mechanisms.schema.json"


def page_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a page of format ``PAGE_FORMAT``: of ``index.json`` and ``oma show --json``."""
    return bundle_schema.publish(Page, title=f"OpenModelAtlas page, format {PAGE_FORMAT}")


def view_schema() -> dict[str, Any]:
    """JSON Schema of what pages hand to the front end: the block of a page and the search entries of a model."""
    return bundle_schema.publish(FrontEnd, title="OpenModelAtlas data for the front end")


def mechanism_schema() -> dict[str, Any]:
    """JSON Schema of the page of a mechanism, ``mechanisms/<id>/index.json``."""
    return bundle_schema.publish(MechanismPage, title=f"OpenModelAtlas mechanism, format {MECHANISM_FORMAT}")


def mechanisms_schema() -> dict[str, Any]:
    """JSON Schema of the list of mechanisms, ``mechanisms/index.json``."""
    return bundle_schema.publish(MechanismList, title=f"OpenModelAtlas list of mechanisms, format {MECHANISM_FORMAT}")


def main(folder: Path) -> None:
    """Writes the schemas of the atlas, of its pages and of the front end's data into ``folder``."""
    bundle_schema.main(folder)
    (folder / PAGE_SCHEMA).write_bytes(bundle_schema.encode_schema(page_schema()))
    (folder / VIEW_SCHEMA).write_bytes(bundle_schema.encode_schema(view_schema()))
    (folder / MECHANISM_SCHEMA).write_bytes(bundle_schema.encode_schema(mechanism_schema()))
    (folder / MECHANISMS_SCHEMA).write_bytes(bundle_schema.encode_schema(mechanisms_schema()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
