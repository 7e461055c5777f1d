"""The committed schema is current and describes what is written."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

from openmodelatlas.bundle.canonical import encode_document
from openmodelatlas.bundle.schema import ATLAS_SCHEMA, atlas_schema, encode_schema, main
from tests.site.sample import running_sum_document, sample_document

FOLDER = Path(__file__).parents[2] / "docs" / "schema"


def test_the_committed_schema_is_current(tmp_path: Path) -> None:
    main(tmp_path)
    current = (tmp_path / ATLAS_SCHEMA).read_text()
    assert (FOLDER / ATLAS_SCHEMA).read_text() == current, "run python -m openmodelatlas.bundle.schema docs/schema"


def test_documents_obey_the_schema() -> None:
    schema = json.loads(encode_schema(atlas_schema()))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    for document in (sample_document(), running_sum_document()):
        data = json.loads(encode_document(document))
        assert [error.message for error in validator.iter_errors(data)] == []
        data["nodes"][""]["kind"] = "planet"
        assert list(validator.iter_errors(data)), "the control: a wrong kind is an error"
