"""The nodes of an atlas under the names that knowledge gives them."""

from __future__ import annotations

import msgspec

from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.graph.document import Document, Node
from openmodelatlas.site.parts import knowledge_of
from openmodelatlas.site.words import split_condition


def named(document: Document, knowledge: Knowledge) -> Document:
    """``document`` with titles and labels replaced by those that are known; everything else as it was."""
    if not knowledge.nodes:
        return document
    nodes = {address: rename(node, knowledge) for address, node in document.nodes.items()}
    return msgspec.structs.replace(document, nodes=nodes)


def rename(node: Node, knowledge: Knowledge) -> Node:
    """``node`` under the name that is known."""
    known = knowledge.nodes.get(node.address)
    if known is None or (known.title is None and known.label is None):
        return node
    title = known.title or node.title
    label = known.label or known.title or node.label
    if node.kind == "layer group":  # the condition that tells it from others of its kind is a fact of its own
        label = _with_condition(label, node.label)
        title = _with_condition(title, node.title)
    return msgspec.structs.replace(node, title=title, label=label)


def _with_condition(label: str, automatic: str) -> str:
    _, test, outcome = split_condition(automatic)
    if not test or split_condition(label)[1]:
        return label
    return f"{label}, {'where' if outcome else 'unless'} {test}"


def with_names(atlas: Atlas) -> Atlas:
    """The same atlas with its nodes under the names that are known; what it reads from the bundle it reads anew.

    If the file of names is damaged, the nodes have those of the recording.
    """
    return Atlas(named(atlas.document, knowledge_of(atlas)[0]), folder=atlas.folder, manifest=atlas.manifest)
