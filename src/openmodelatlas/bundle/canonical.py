"""The bytes of a document: equal documents, written by the same version, are equal byte for byte."""

from __future__ import annotations

from typing import Any

import msgspec

from openmodelatlas.errors import BundleError
from openmodelatlas.graph.document import DOCUMENT_FORMAT, Document

_DECODER = msgspec.json.Decoder(Document)


class _Format(msgspec.Struct):
    """The one field that every version of the format has."""

    format: int


def encode_document(document: Document) -> bytes:
    """UTF-8 JSON of ``document``.

    The order of nodes, parameters and arguments has a meaning (order of execution, of the model, of the code) and is
    kept; every other mapping is sorted by key. There is no time, host or path of this machine in it.
    """
    nodes = {
        address: msgspec.structs.replace(
            node,
            branches=tuple(msgspec.structs.replace(branch, taken=_sorted(branch.taken)) for branch in node.branches),
        )
        if node.branches
        else node
        for address, node in document.nodes.items()
    }
    provenance = msgspec.structs.replace(
        document.provenance,
        versions=_sorted(document.provenance.versions),
        choices=tuple(_sorted(choice) for choice in document.provenance.choices),
        probes=tuple(_sorted(probe) for probe in document.provenance.probes),
    )
    ordered = msgspec.structs.replace(
        document,
        nodes=nodes,
        provenance=provenance,
        configuration=_sorted(document.configuration),
        sizes=_sorted(document.sizes),
        files=_sorted(document.files),
    )
    return msgspec.json.encode(ordered)


def decode_document(data: bytes, where: str) -> Document:
    """The document in ``data``.

    Raises:
        BundleError: the bytes are corrupt, or of a format that this version does not know.
    """
    try:
        found = msgspec.json.decode(data, type=_Format).format
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BundleError(
            f"The atlas is corrupt: {error}.", where=where, advice="Build it again with `oma build --force`."
        ) from error
    if found != DOCUMENT_FORMAT:
        advice = (
            "It was written by a newer version: update openmodelatlas."
            if found > DOCUMENT_FORMAT
            else "It was written by an older version: build it again with `oma build`."
        )
        raise BundleError(
            f"The atlas has format {found}, this version reads format {DOCUMENT_FORMAT}.", where=where, advice=advice
        )
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BundleError(
            f"The atlas is corrupt: {error}.", where=where, advice="Build it again with `oma build --force`."
        ) from error


def _sorted(value: Any) -> Any:
    """``value`` with the keys of every mapping in it sorted."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return type(value)(_sorted(item) for item in value)
    return value
