"""The bytes of a document: equal documents, written by the same version, are equal byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from openmodelatlas.annotation.knowledge import KNOWLEDGE_FORMAT, Knowledge
from openmodelatlas.bundle.home import build_again
from openmodelatlas.drawing.drawing import DRAWING_FORMAT, Drawings
from openmodelatlas.errors import BundleError
from openmodelatlas.graph.document import DOCUMENT_FORMAT, Document

_Part = TypeVar("_Part", Document, Knowledge, Drawings)


class _Format(msgspec.Struct):
    """The one field that every version of the format has."""

    format: int


def encode_document(document: Document) -> bytes:
    """UTF-8 JSON of ``document``.

    The order of nodes, parameters, arguments and outcomes has a meaning (order of execution, of the model, of the code,
    true before false) and is kept; every other mapping is sorted by key. There is no time, host or path of this machine
    in it.
    """
    provenance = msgspec.structs.replace(
        document.provenance,
        versions=_sorted(document.provenance.versions),
        choices=tuple(_sorted(choice) for choice in document.provenance.choices),
        probes=tuple(_sorted(probe) for probe in document.provenance.probes),
    )
    ordered = msgspec.structs.replace(
        document,
        provenance=provenance,
        configuration=_sorted(document.configuration),
        sizes=_sorted(document.sizes),
        files=_sorted(document.files),
    )
    return msgspec.json.encode(ordered)


def encode_knowledge(knowledge: Knowledge) -> bytes:
    """UTF-8 JSON of ``knowledge``, nodes in order of execution."""
    nodes = {
        address: msgspec.structs.replace(node, symbols=_sorted(node.symbols)) if node.symbols else node
        for address, node in knowledge.nodes.items()
    }
    return msgspec.json.encode(msgspec.structs.replace(knowledge, nodes=nodes))


def encode_drawings(drawings: Drawings) -> bytes:
    """UTF-8 JSON of ``drawings``, levels in order of execution, formulas sorted by their LaTeX."""
    return msgspec.json.encode(msgspec.structs.replace(drawings, formulas=_sorted(drawings.formulas)))


def decode_document(data: bytes, where: str) -> Document:
    """The document in ``data``.

    Raises:
        BundleError: the bytes are corrupt, or of a format that this version does not know.
    """
    return _decode(data, Document, DOCUMENT_FORMAT, "atlas", where)


def decode_knowledge(data: bytes, where: str) -> Knowledge:
    """The knowledge in ``data``. Raises as :func:`decode_document`."""
    return _decode(data, Knowledge, KNOWLEDGE_FORMAT, "knowledge of the atlas", where)


def decode_drawings(data: bytes, where: str) -> Drawings:
    """The drawings in ``data``. Raises as :func:`decode_document`."""
    return _decode(data, Drawings, DRAWING_FORMAT, "file of drawings", where)


def _decode(data: bytes, part: type[_Part], known: int, what: str, where: str) -> _Part:
    again = build_again(Path(where))
    try:
        found = msgspec.json.decode(data, type=_Format).format
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"The {what} is corrupt: {error}.", where=where, advice=again) from error
    if found != known:
        advice = (
            "It was written by a newer version: update openmodelatlas."
            if found > known
            else f"It was written by an older version. {again}"
        )
        raise BundleError(
            f"The {what} has format {found}, this version reads format {known}.", where=where, advice=advice
        )
    try:
        return msgspec.json.decode(data, type=part)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"The {what} is corrupt: {error}.", where=where, advice=again) from error


def _sorted(value: Any) -> Any:
    """``value`` with the keys of every mapping in it sorted."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return type(value)(_sorted(item) for item in value)
    return value
