"""What nodes are called in sentences: by the title of their role or mechanism, without their place."""

from __future__ import annotations

import re

from openmodelatlas.annotation.material import Drafts
from openmodelatlas.graph.document import Document, Node

_PLACE = re.compile(r" (?:of|before|after|for|in) ")


class Titles:
    """Titles of the nodes of one document, as far as they are known."""

    def __init__(self, document: Document, drafts: Drafts) -> None:
        self._nodes = document.nodes
        self._drafts = drafts

    def of(self, node: Node) -> str:
        """The title of a node."""
        draft = self._drafts.nodes.get(node.address)
        return (draft.title if draft is not None else None) or node.title

    def label(self, node: Node) -> str:
        """What a breadcrumb says of a node, without the condition that tells layers apart."""
        draft = self._drafts.nodes.get(node.address)
        label = (draft.label if draft is not None else None) or node.label or node.title
        return re.split(r", (?:where|unless) ", label, maxsplit=1)[0]

    def base(self, node: Node) -> str:
        """The title of a norm without what it is applied to: ``RMSNorm`` for ``RMSNorm before attention``."""
        title = self.of(node)
        draft = self._drafts.nodes.get(node.address)
        is_norm = draft is not None and (draft.role or "").endswith("norm")
        return _PLACE.split(title, maxsplit=1)[0] if is_norm else title
