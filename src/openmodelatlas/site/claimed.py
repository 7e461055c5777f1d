"""The sources of a page: what is claimed of the node and of what encloses or produces it, each with its lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from openmodelatlas.annotation.knowledge import Claim, Knowledge
from openmodelatlas.evidence.excerpt import divide, excerpt_text
from openmodelatlas.evidence.sources import Evidence, EvidenceFinder, lines_inside
from openmodelatlas.graph.document import Document, Node
from openmodelatlas.site.words import crumb_label, name_within

Kind = Literal["direct", "contextual"]


class SourceFinder:
    """Finds the sources of pages of one atlas.

    Args:
        document: its nodes, under the names that pages use.
        knowledge: claims of nodes.
        lines_of: gives the lines of cited files.
        evidence: what the recording alone proves.
    """

    def __init__(
        self,
        document: Document,
        knowledge: Knowledge,
        lines_of: Callable[[str], Sequence[str]],
        evidence: EvidenceFinder,
    ) -> None:
        self._document = document
        self._nodes: Mapping[str, Node] = document.nodes
        self._knowledge = knowledge
        self._lines_of = lines_of
        self._evidence = evidence

    def sources(self, node: Node) -> tuple[Evidence, ...]:
        """Direct evidence first, then what is inherited; code that is cited already is not cited again.

        Raises:
            BundleError: from ``lines_of``.
        """
        automatic = self._evidence.evidence(node)
        own = self._claims(node)
        found = [self._claimed(claim, node, node, "direct") for claim in own if claim.of is None]
        if not found:
            found = [item for item in automatic if item.kind == "direct"]
        for claim in own:
            if claim.of is not None:
                self._inherit(found, claim, self._nodes[claim.of], node)
        around = list(self._owners(node))
        for owner in around:
            for claim in self._claims(owner):
                # What the values of ``owner`` went through on their way is told under its name.
                self._inherit(found, claim, owner, node)
        if not any(self._claims(owner) for owner in around):
            cited = {(item.file, item.lines) for item in found}
            found += [item for item in automatic if item.kind == "contextual" and (item.file, item.lines) not in cited]
        return tuple(found)

    def _inherit(self, found: list[Evidence], claim: Claim, owner: Node, node: Node) -> None:
        """Adds contextual evidence, unless the code that it is about is cited already."""
        cited = self._document.files[claim.lines.file].path
        own = None if claim.of is not None else lines_inside(owner, claim.lines)
        for item in found:
            first, last = item.lines
            if item.file != cited:
                continue
            if own is not None and first <= own[0] and own[1] <= last:
                return
            overlaps = claim.lines.first <= last and first <= claim.lines.last
            if overlaps and claim.text.startswith(item.claim.rstrip(".")):
                return
        found.append(self._claimed(claim, owner, node, "contextual"))

    def _claims(self, node: Node) -> Sequence[Claim]:
        known = self._knowledge.nodes.get(node.address)
        claims = known.claims if known is not None else ()
        return [claim for claim in claims if claim.lines.file in self._document.files]

    def _owners(self, node: Node) -> Iterator[Node]:
        """The nearest node around ``node`` of which something is claimed, then what produces it."""
        around = node
        while around.parent is not None:
            around = self._nodes[around.parent]
            if self._claims(around):
                yield around
                break
        producer = node.tensor.producer if node.tensor is not None else None
        if producer is not None and producer in self._nodes:
            yield self._nodes[producer]

    def _claimed(self, claim: Claim, owner: Node, node: Node, kind: Kind) -> Evidence:
        lines = claim.lines
        cited = self._document.files[lines.file]
        own = lines_inside(node, lines) or lines_inside(owner, lines)
        parts = divide(lines.first, lines.last, own=own, direct=kind == "direct")
        url = cited.url
        if url is not None:
            url = url.replace("{first}", str(lines.first)).replace("{last}", str(lines.last))
        return Evidence(
            kind=kind,
            origin=_spoken(owner, self._nodes.get(owner.parent or "") if owner.parent is not None else None),
            claim=claim.text,
            id=claim.id,
            repository=cited.repository,
            file=cited.path,
            revision=cited.revision,
            lines=(lines.first, lines.last),
            own_lines=own if own != (lines.first, lines.last) else None,
            url=url,
            sha256=claim.sha256,
            excerpt=excerpt_text(self._lines_of(lines.file), parts),
            parts=parts,
        )


def _spoken(node: Node, around: Node | None) -> str:
    """What a node is called away from its place: one of the layers of a group by what it is, without their number.

    ``1 dense block`` among ``61 transformer blocks`` is a ``Dense transformer block``.
    """
    if node.kind != "layer group" or node.class_name is None or around is None:
        return name_within(node) if node.kind == "operation" else crumb_label(node)
    counted = re.compile(r"\d+ (.+?)s?")
    own, kind = counted.fullmatch(crumb_label(node)), counted.fullmatch(crumb_label(around))
    if own is None:
        return crumb_label(node)
    name = own[1]
    qualifier, _, noun = kind[1].rpartition(" ") if kind is not None else ("", "", "")
    if qualifier and name.endswith(f" {noun}") and qualifier not in name:
        name = f"{name.removesuffix(noun)}{kind[1] if kind is not None else ''}"
    return f"{name[:1].upper()}{name[1:]}"
