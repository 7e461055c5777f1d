"""Addresses from names: ``layers/first/choose-running-sum`` becomes ``layers/first/add-attention-update``.

Layer groups, modules and phases keep the segments that come from the model's own names, since those who port it know
them; operations, branches, loops, functions and tensors take the words of their titles.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from openmodelatlas.annotation.knowledge import Formula, Knowledge, NodeKnowledge, Term
from openmodelatlas.capture import encoded
from openmodelatlas.graph.document import Document, Node, ParameterFact, Port, TensorFact
from openmodelatlas.graph.naming import slug, unique

KEPT_KINDS = frozenset(["model", "phase", "layer group", "module"])
LONGEST = 60
"""Characters of a segment, numbers apart."""

_ARTICLE = re.compile(r"(?:^(?:The|An?)|(?<= )(?:the|an?)) ")
"""Articles, which segments leave out; a name such as ``A_log`` or ``A`` is none."""

_AT = " @ "


def readdress(document: Document, knowledge: Knowledge) -> tuple[Document, Knowledge]:
    """The same atlas under addresses made from its titles.

    Args:
        document: facts.
        knowledge: gives the titles; nodes without one keep their segment.

    Returns:
        Facts and knowledge in which every reference is to the new addresses. Structure and order are the same, and
        different nodes have different addresses.
    """
    table = new_addresses(document, knowledge)
    names = {name: _name(name, table) for name in document.parameters}
    rename = _Renaming(table, names)
    return rename.document(document), rename.knowledge(knowledge)


def new_addresses(document: Document, knowledge: Knowledge) -> dict[str, str]:
    """New addresses by old ones, one for every node; no two are equal."""
    below: dict[str, list[str]] = {}
    for address in document.nodes:
        if address:
            below.setdefault(address.rpartition("/")[0], []).append(address)
    table = {"": ""}
    pending = [""]
    for parent in pending:
        taken: set[str] = set()
        kept = [child for child in below.get(parent, ()) if _segment(document.nodes[child], knowledge) is None]
        for child in kept:
            taken.add(child.rpartition("/")[2])
        for child in below.get(parent, ()):
            words = _segment(document.nodes[child], knowledge)
            last = child.rpartition("/")[2] if words is None else unique(words, taken)
            table[child] = f"{table[parent]}/{last}" if table[parent] else last
            pending.append(child)
    return table


def _segment(node: Node, knowledge: Knowledge) -> str | None:
    """The words of a title as a segment; ``None`` for what keeps its own."""
    known = knowledge.nodes.get(node.address)
    if node.kind in KEPT_KINDS or known is None or not (known.label or known.title):
        return None
    title = known.label or known.title or ""
    kept = slug(_ARTICLE.sub("", title) or title).split("-")
    while len(kept) > 1 and len("-".join(kept)) > LONGEST:
        kept.pop()
    return "-".join(kept)[:LONGEST].strip("-")


def _name(name: str, table: Mapping[str, str]) -> str:
    """The key of a parameter, which ends with an address where several nodes own parts of one true name."""
    true, at, address = name.partition(_AT)
    return f"{true}{at}{table.get(address, address)}"


class _Renaming:
    """Replaces addresses and parameter keys in the places that hold them."""

    def __init__(self, table: Mapping[str, str], names: Mapping[str, str]) -> None:
        self._table = table
        self._names = names

    def _one(self, reference: str) -> str:
        """An address, or else a parameter key; what is neither (a model input) stays."""
        return self._table.get(reference, self._names.get(reference, reference))

    def _all(self, references: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._one(reference) for reference in references)

    def document(self, document: Document) -> Document:
        """Facts under the new addresses."""
        return msgspec.structs.replace(
            document,
            nodes={self._table[address]: self._node(node) for address, node in document.nodes.items()},
            inputs={name: self._tensor(fact) for name, fact in document.inputs.items()},
            parameters={self._names[name]: self._parameter(fact) for name, fact in document.parameters.items()},
        )

    def _node(self, node: Node) -> Node:
        return msgspec.structs.replace(
            node,
            address=self._table[node.address],
            parent=None if node.parent is None else self._table[node.parent],
            children=self._all(node.children),
            inputs=tuple(self._port(port) for port in node.inputs),
            outputs=tuple(self._port(port) for port in node.outputs),
            parameters=tuple(self._names.get(name, name) for name in node.parameters),
            tensor=None if node.tensor is None else self._tensor(node.tensor),
            operands={name: encoded.replaced(value, self._operand) for name, value in node.operands.items()},
        )

    def _operand(self, tensor: dict[str, Any]) -> dict[str, Any]:
        return tensor | {"tensor": self._one(tensor["tensor"])}

    def _port(self, port: Port) -> Port:
        named = port.source in ("parameter", "buffer")
        tensor = self._names.get(port.tensor, port.tensor) if named else self._table.get(port.tensor, port.tensor)
        return msgspec.structs.replace(port, tensor=tensor, via=self._all(port.via), others=self._all(port.others))

    def _tensor(self, fact: TensorFact) -> TensorFact:
        producer = None if fact.producer is None else self._table.get(fact.producer, fact.producer)
        return msgspec.structs.replace(fact, producer=producer, consumers=self._all(fact.consumers))

    def _parameter(self, fact: ParameterFact) -> ParameterFact:
        return msgspec.structs.replace(
            fact,
            name=self._names.get(fact.name, fact.name),
            readers=self._all(fact.readers),
            owner=self._table.get(fact.owner, fact.owner),
        )

    def knowledge(self, knowledge: Knowledge) -> Knowledge:
        """Knowledge under the new addresses."""
        return msgspec.structs.replace(
            knowledge,
            nodes={self._table[address]: self._known(known) for address, known in knowledge.nodes.items()},
            unmatched=tuple(
                msgspec.structs.replace(each, address=self._table.get(each.address, each.address))
                for each in knowledge.unmatched
            ),
        )

    def _known(self, known: NodeKnowledge) -> NodeKnowledge:
        return msgspec.structs.replace(
            known,
            symbols={self._one(reference): latex for reference, latex in known.symbols.items()},
            formulas=tuple(self._formula(formula) for formula in known.formulas),
            claims=tuple(
                msgspec.structs.replace(claim, of=None if claim.of is None else self._table[claim.of])
                for claim in known.claims
            ),
        )

    def _formula(self, formula: Formula) -> Formula:
        return msgspec.structs.replace(formula, terms=tuple(self._term(term) for term in formula.terms))

    def _term(self, term: Term) -> Term:
        return msgspec.structs.replace(term, addresses=self._all(term.addresses))
