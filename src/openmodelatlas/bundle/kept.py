"""Which of the captured values go into a bundle: those that the document names, each once, up to a budget."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from openmodelatlas.bundle.tensors import DTYPES, TensorValue
from openmodelatlas.capture import encoded
from openmodelatlas.capture import values as captured_values
from openmodelatlas.capture.text import lines_of
from openmodelatlas.graph.document import Document, Node, TensorFact

BUDGET = 16 * 2**20
"""Bytes of values in one bundle. What does not fit is the largest: chunks of a recurrence, scores of long probes."""


class _Keeper:
    """The values that the document names; equal values of equal shape are kept once, under the first one's key.

    Attributes:
        tensors: by key.
    """

    def __init__(self, captured: captured_values.Values | None, largest: int) -> None:
        self.tensors: dict[str, TensorValue] = {}
        self._captured = captured
        self._largest = largest
        self._keys: dict[str, str] = {}
        self._by_content: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def keep(self, key: str) -> tuple[str | None, str | None]:
        """Keeps a value. Returns the key it is kept under, or ``None`` and the reason why it is not kept."""
        if key in self._keys:
            return self._keys[key], None
        number = int(key)
        if self._captured is None or number not in self._captured:
            return None, "the probe did not keep its value"
        entry = self._captured.entries[number]
        if entry.dtype not in DTYPES:
            return None, f"values of {captured_values.DTYPES[entry.dtype][0]} are not kept"
        size = _bytes_of(entry)
        if size > self._largest:
            return None, f"the value is too large for the bundle ({size:,} bytes)"
        value = TensorValue(dtype=DTYPES[entry.dtype][0], shape=entry.shape, data=self._captured.data(number))
        content = (value.dtype, value.shape, hashlib.sha256(value.data).digest())
        kept = self._by_content.setdefault(content, key)
        self.tensors.setdefault(kept, value)
        self._keys[key] = kept
        return kept, None

    def fact(self, given: TensorFact) -> TensorFact:
        """``given`` with the key its value is kept under, or the reason why there is none."""
        if given.value is None:
            return given
        key, reason = self.keep(given.value)
        return msgspec.structs.replace(given, value=key, value_note=reason or given.value_note)

    def operands(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Encoded operands with the keys under which their values are kept; those that are not kept have none."""
        return {name: encoded.replaced(value, self._operand) for name, value in given.items()}

    def _operand(self, tensor: dict[str, Any]) -> dict[str, Any]:
        return {**tensor, "value": self.keep(tensor["value"])[0]} if "value" in tensor else tensor


class CapturedCode:
    """The values and code of a capture that has not been written yet, as annotation takes them."""

    def __init__(self, document: Document, captured: captured_values.Values | None, texts: Mapping[str, str]) -> None:
        self._files = document.files
        self._captured = captured
        self._texts = texts
        self._lines: dict[str, list[str]] = {}

    def value(self, key: str) -> TensorValue | None:
        """The captured value with this key; ``None`` if there is none, or of an element type that bundles lack."""
        captured, number = self._captured, int(key)
        if captured is None or number not in captured:
            return None
        entry = captured.entries[number]
        if entry.dtype not in DTYPES:
            return None
        return TensorValue(dtype=DTYPES[entry.dtype][0], shape=entry.shape, data=captured.data(number))

    def lines_of(self, file: str) -> list[str]:
        """The lines of a cited file, without line ends."""
        if file not in self._lines:
            self._lines[file] = lines_of(self._texts[self._files[file].sha256])
        return self._lines[file]


def with_values(document: Document, captured: captured_values.Values | None) -> tuple[Document, dict[str, TensorValue]]:
    """The document with the keys of the values that are kept, and those values.

    Of values that together exceed :data:`BUDGET` the largest are left out; their facts say so.
    """
    kept = _Keeper(captured, _largest_that_fits(document, captured))
    nodes: dict[str, Node] = {}
    for address, node in document.nodes.items():
        if node.tensor is not None:
            nodes[address] = msgspec.structs.replace(node, tensor=kept.fact(node.tensor))
        elif node.operands:
            nodes[address] = msgspec.structs.replace(node, operands=kept.operands(node.operands))
        else:
            nodes[address] = node
    inputs = {name: kept.fact(given) for name, given in document.inputs.items()}
    parameters = {
        name: given if given.value is None else msgspec.structs.replace(given, value=kept.keep(given.value)[0])
        for name, given in document.parameters.items()
    }
    return msgspec.structs.replace(document, nodes=nodes, parameters=parameters, inputs=inputs), kept.tensors


def operand_values(operands: Mapping[str, Any]) -> Iterator[str]:
    """Keys of the values that encoded operands name (``Node.operands``)."""
    for value in operands.values():
        yield from (tensor["value"] for tensor in encoded.references(value) if tensor.get("value") is not None)


def named_values(document: Document) -> Iterator[str]:
    """Keys of all values that a document names."""
    yield from (key for node in document.nodes.values() if node.operands for key in operand_values(node.operands))
    yield from (node.tensor.value for node in document.nodes.values() if node.tensor is not None and node.tensor.value)
    yield from (fact.value for fact in document.inputs.values() if fact.value)
    yield from (fact.value for fact in document.parameters.values() if fact.value)


def _largest_that_fits(document: Document, captured: captured_values.Values | None) -> int:
    """Size in bytes up to which values are kept."""
    if captured is None:
        return 0
    numbers = {int(key) for key in named_values(document)}
    sizes = sorted(_bytes_of(captured.entries[number]) for number in numbers if number in captured)
    total = largest = 0
    for size in sizes:
        total += size
        if total > BUDGET:
            return largest
        largest = size
    return largest


def _bytes_of(entry: captured_values.Entry) -> int:
    first, end = entry.data_offsets
    return end - first
