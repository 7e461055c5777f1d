"""The committed schemas of pages and of the front end's data are current."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmodelatlas.site.schema import PAGE_SCHEMA, VIEW_SCHEMA, main

FOLDER = Path(__file__).parents[2] / "docs" / "schema"


@pytest.mark.parametrize("name", [PAGE_SCHEMA, VIEW_SCHEMA])
def test_the_committed_schema_is_current(tmp_path: Path, name: str) -> None:
    main(tmp_path)
    current = (tmp_path / name).read_text()
    assert (FOLDER / name).read_text() == current, "run python -m openmodelatlas.site.schema docs/schema"
