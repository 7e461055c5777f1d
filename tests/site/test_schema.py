"""The committed page schema is current."""

from __future__ import annotations

from pathlib import Path

from openmodelatlas.site.schema import PAGE_SCHEMA, main

FOLDER = Path(__file__).parents[2] / "docs" / "schema"


def test_the_committed_schema_is_current(tmp_path: Path) -> None:
    main(tmp_path)
    current = (tmp_path / PAGE_SCHEMA).read_text()
    assert (FOLDER / PAGE_SCHEMA).read_text() == current, "run python -m openmodelatlas.site.schema docs/schema"
