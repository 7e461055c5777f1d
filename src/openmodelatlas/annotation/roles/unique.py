"""Titles that differ among siblings, unless they are the same thing."""

from __future__ import annotations

from collections import Counter

from openmodelatlas.annotation.material import Draft, Drafts
from openmodelatlas.graph.document import Document, Node

_LONGEST = 60
"""Characters of a sentence that can be a title."""


def make_unique(document: Document, drafts: Drafts) -> None:
    """Tell siblings of one title apart: by the variable they fill, else by number."""
    for node in document.nodes.values():
        for wanted in (False, True):
            siblings = [
                document.nodes[child]
                for child in node.children
                if child in document.nodes and (document.nodes[child].kind == "tensor") == wanted
            ]
            _siblings(document, siblings, drafts)
        _results(document, node, drafts)


def _results(document: Document, node: Node, drafts: Drafts) -> None:
    """Tell what operations side by side make apart: other tensors have other titles."""
    made = [
        document.nodes[port.tensor]
        for child in node.children
        if child in document.nodes and document.nodes[child].kind == "operation"
        for port in document.nodes[child].outputs
        if port.tensor in document.nodes
    ]
    distinct = {each.address: each for each in made if not document.nodes[_maker(each)].plumbing}
    _siblings(document, list(distinct.values()), drafts)


def _maker(tensor: Node) -> str:
    return (tensor.tensor.producer if tensor.tensor is not None else None) or tensor.address


def _siblings(document: Document, siblings: list[Node], drafts: Drafts) -> None:
    groups: dict[str, list[Node]] = {}
    for node in siblings:
        title = drafts.nodes[node.address].title
        if title:
            groups.setdefault(title, []).append(node)
    if all(len(nodes) == 1 for nodes in groups.values()):
        return
    taken = Counter(dict.fromkeys(groups, 1))
    for title, nodes in groups.items():
        if len(nodes) < 2 or _said(title, [drafts.nodes[node.address] for node in nodes], taken):
            continue
        for number, node in enumerate(nodes, start=1):
            draft = drafts.nodes[node.address]
            if number > 1:
                _numbered(draft, title, number, taken)


def _said(title: str, nodes: list[Draft], taken: Counter[str]) -> bool:
    """Whether nodes of one title are told apart by sentences that say more of the same: `Add the bias to the keys`."""
    longer = [(draft.sentence or "").removesuffix(".") for draft in nodes]
    if len(set(longer)) < len(longer) or any(taken[sentence] for sentence in longer):
        return False
    if not all(sentence.startswith(f"{title} ") and len(sentence) <= _LONGEST for sentence in longer):
        return False
    for draft, sentence in zip(nodes, longer, strict=True):
        draft.title = sentence
        taken[sentence] += 1
    return True


def _numbered(draft: Draft, title: str, number: int, taken: Counter[str]) -> None:
    candidate = f"{title} ({number})"
    while taken[candidate]:
        number += 1
        candidate = f"{title} ({number})"
    taken[candidate] += 1
    draft.title = candidate
