"""What annotation works on: the facts of an atlas, the captured values, the text of the code, and the pages' drafts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

from openmodelatlas.annotation.faults import contained
from openmodelatlas.annotation.knowledge import (
    Claim,
    Difference,
    Formula,
    NodeKnowledge,
    Statement,
    Unmatched,
)
from openmodelatlas.catalogue.entry import Family
from openmodelatlas.graph.document import Document

if TYPE_CHECKING:
    from openmodelatlas.annotation.values import Arrays


class Value(Protocol):
    """One captured value, row-major.

    Attributes:
        dtype: ``float32``, ``bfloat16``, ``int64``, ``bool``, …
        shape: elements along each axis.
        data: its bytes, little-endian.
    """

    @property
    def dtype(self) -> str:
        """Element type."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""

    @property
    def data(self) -> bytes | memoryview:
        """Little-endian bytes."""


class Code(Protocol):
    """Captured values and cited code of one atlas; builds and bundles both give them."""

    def value(self, key: str) -> Value | None:
        """The value with this key (``TensorFact.value``), ``None`` if it is not at hand."""

    def lines_of(self, file: str) -> Sequence[str]:
        """The lines of a cited file (a key of ``Document.files``)."""


@dataclass(frozen=True)
class Material:
    """An atlas to annotate: its facts, values and code.

    Attributes:
        document: its facts.
        code: its values and code.
    """

    document: Document
    code: Code

    @cached_property
    def arrays(self) -> Arrays:
        """The values as evaluation takes them; this loads NumPy."""
        from openmodelatlas.annotation.values import Arrays

        return Arrays(self.code)


@dataclass
class Draft:
    """Knowledge of one node while it is gathered; attributes as in :class:`NodeKnowledge`."""

    title: str | None = None
    label: str | None = None
    sentence: str | None = None
    role: str | None = None
    family: Family | None = None
    mechanism: str | None = None
    mechanisms: list[str] = field(default_factory=list)
    symbols: dict[str, str] = field(default_factory=dict)
    formulas: list[Formula] = field(default_factory=list)
    explanation: list[Statement] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    def finished(self) -> NodeKnowledge:
        """The draft as it is handed over."""
        return NodeKnowledge(
            title=self.title,
            label=self.label,
            sentence=self.sentence,
            role=self.role,
            family=self.family,
            mechanism=self.mechanism,
            mechanisms=tuple(self.mechanisms),
            symbols=self.symbols,
            formulas=tuple(self.formulas),
            explanation=tuple(self.explanation),
            claims=tuple(self.claims),
            differences=tuple(self.differences),
        )


@dataclass
class Drafts:
    """The drafts of one atlas.

    Attributes:
        nodes: by address, one for every node.
        tensor_symbols: LaTeX of tensors by address and of parameters by true name, wherever a role gives them one;
            pages take what they need from here.
        unmatched: what could not be found.
        notes: sentences that concern the whole atlas.
    """

    nodes: dict[str, Draft]
    tensor_symbols: dict[str, str] = field(default_factory=dict)
    unmatched: list[Unmatched] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def spare(
        self, address: str, what: Literal["name", "formula", "evaluation", "explanation", "evidence"]
    ) -> AbstractContextManager[None]:
        """A fault inside costs ``what`` of the node at ``address`` and is recorded; see :mod:`.faults`."""
        return contained(lambda reason: self.unmatched.append(Unmatched(address=address, what=what, reason=reason)))

    def spare_all(self, what: str) -> AbstractContextManager[None]:
        """The same for what concerns more than one node; ``what`` begins the note: ``The names of tensors``."""
        return contained(lambda reason: self.notes.append(f"{what} could not be found: {reason}."))
