"""The published JSON Schema of ``atlas.json``. ``python -m openmodelatlas.bundle.schema FOLDER`` writes it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from openmodelatlas.graph.document import DOCUMENT_FORMAT, Document

ATLAS_SCHEMA = "atlas.schema.json"


def atlas_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a document of format ``DOCUMENT_FORMAT``, made from the Python types."""
    return publish(Document, title=f"OpenModelAtlas document, format {DOCUMENT_FORMAT}")


def publish(struct: type[msgspec.Struct], *, title: str) -> dict[str, Any]:
    """JSON Schema of ``struct``, with the dialect and a title in front."""
    schema = msgspec.json.schema(struct)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def encode_schema(schema: dict[str, Any]) -> bytes:
    """The bytes that are committed: keys sorted, indented, a line end at the end."""
    return msgspec.json.format(msgspec.json.encode(schema, order="sorted"), indent=2) + b"\n"


def main(folder: Path) -> None:
    """Writes the schema into ``folder``."""
    (folder / ATLAS_SCHEMA).write_bytes(encode_schema(atlas_schema()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
