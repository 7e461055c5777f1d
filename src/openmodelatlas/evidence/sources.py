"""The evidence of a node: which lines prove what is said of it, directly or through the nodes around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from openmodelatlas.annotation.knowledge import Claim, Knowledge, NodeKnowledge
from openmodelatlas.capture.text import sha256_of_lines
from openmodelatlas.evidence.claims import claim_for
from openmodelatlas.evidence.excerpt import Part, divide, excerpt_text
from openmodelatlas.evidence.names import qualified_name
from openmodelatlas.graph.document import Document, Lines, Node
from openmodelatlas.graph.outcomes import branches_of

LinesOf = Callable[[str], Sequence[str]]
"""Gives all lines of a cited file by its key in ``Document.files``."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One claim with the lines that prove it.

    Attributes:
        kind: ``direct``: these lines are the node; ``contextual``: they are the node that encloses or produces it.
        origin: ``from`` in JSON: label of the node the lines belong to, which for direct evidence is this node.
        claim: one sentence.
        id: short name of the cited code: ``sampleblock-forward``.
        repository, file, revision: where the lines are, pinned.
        lines: first and last line, 1-based, inclusive.
        own_lines: those of them that are the node's own expression or statement; ``null`` if that is all or none.
        url: web address of the lines; ``null`` if there is none.
        sha256: of the cited lines in UTF-8, each ended by a line feed.
        excerpt: their text; what is longer than a screen has its middle left out, with a line saying so.
        parts: how the excerpt is divided.
    """

    kind: Literal["direct", "contextual"]
    origin: str = msgspec.field(name="from")
    claim: str
    id: str
    repository: str
    file: str
    revision: str
    lines: tuple[int, int]
    own_lines: tuple[int, int] | None
    url: str | None
    sha256: str
    excerpt: str
    parts: tuple[Part, ...]


class EvidenceFinder:
    """Finds the evidence of nodes of one document.

    Args:
        document: the atlas.
        lines_of: gives the lines of cited files.
        knowledge: claims, and what nodes are called; where it has none, a sober sentence is made from the facts.
    """

    def __init__(self, document: Document, lines_of: LinesOf, knowledge: Knowledge | None = None) -> None:
        self._document = document
        self._known = knowledge.nodes if knowledge is not None else {}
        self._nodes = document.nodes
        self._lines_of = lines_of
        self._names: dict[tuple[str, int, int], str | None] = {}
        self._hashes: dict[tuple[str, int, int], str] = {}

    def code_name(self, lines: Lines) -> str | None:
        """Qualified name of the function or class in ``lines``."""
        key = (lines.file, lines.first, lines.last)
        if key not in self._names:
            self._names[key] = qualified_name(self._lines_of(lines.file), lines.first, lines.last)
        return self._names[key]

    def evidence(self, node: Node) -> tuple[Evidence, ...]:
        """The evidence of ``node``, direct first; each range of lines once, under the nearest node it belongs to.

        Raises:
            BundleError: from ``lines_of``.
        """
        found: list[Evidence] = []
        if node.kind != "tensor":
            self._append(found, node, node, "direct")
        elif node.tensor is not None and node.tensor.producer in self._nodes:
            producer = self._nodes[node.tensor.producer]
            self._append(found, node, producer, "contextual")
        enclosing = node.parent
        while enclosing is not None:
            before = len(found)
            self._append(found, node, self._nodes[enclosing], "contextual")
            if len(found) > before:
                break
            enclosing = self._nodes[enclosing].parent
        return tuple(found)

    def _append(self, found: list[Evidence], node: Node, owner: Node, kind: Literal["direct", "contextual"]) -> None:
        """Adds the lines of ``owner`` as evidence for ``node``, unless they are there already."""
        code = owner.code
        if code is None or code.file not in self._document.files:
            return
        if any(item.file == code.file and item.lines == (code.first, code.last) for item in found):
            return
        cited = self._document.files[code.file]
        every = self._lines_of(code.file)
        own = lines_inside(owner, code)
        # Code around the node shows where the node is in it; what is claimed of the code stays its owner's.
        marked = own if own is not None else lines_inside(node, code)
        name = self.code_name(code)
        claim = self._claim(owner, code)
        parts = divide(code.first, code.last, own=marked, direct=kind == "direct")
        url = cited.url
        if url is not None:
            url = url.replace("{first}", str(code.first)).replace("{last}", str(code.last))
        found.append(
            Evidence(
                kind=kind,
                origin=_spoken(owner, self._known.get(owner.address)),
                claim=claim.text if claim else claim_for(owner, name, own, branches_of(owner, self._nodes)),
                id=claim.id if claim else _slug(name or f"{code.file} {code.first}"),
                repository=cited.repository,
                file=cited.path,
                revision=cited.revision,
                lines=(code.first, code.last),
                own_lines=marked,
                url=url,
                sha256=self._hash(code),
                excerpt=excerpt_text(every, parts),
                parts=parts,
            )
        )

    def _claim(self, owner: Node, code: Lines) -> Claim | None:
        """What is claimed of the lines ``code`` of ``owner``."""
        known = self._known.get(owner.address)
        return next((each for each in known.claims if each.lines == code), None) if known is not None else None

    def _hash(self, lines: Lines) -> str:
        key = (lines.file, lines.first, lines.last)
        if key not in self._hashes:
            self._hashes[key] = sha256_of_lines(self._lines_of(lines.file), lines.first, lines.last)
        return self._hashes[key]


def _spoken(node: Node, known: NodeKnowledge | None) -> str:
    """What a node is called away from its place: operations by their title, layer groups without their condition."""
    title = known.title if known is not None else None
    if title is not None and node.kind != "layer group":
        return title
    if node.kind == "layer group":
        return re.split(r", (?:where|unless) ", node.label, maxsplit=1)[0]
    return node.title if node.kind in ("operation", "kernel") else node.label or node.title


def lines_inside(node: Node, code: Lines) -> tuple[int, int] | None:
    """The lines of the node's symbol, if they are a part of ``code``."""
    if node.symbol is None:
        return None
    lines = node.symbol.lines
    if lines.file != code.file or not code.first <= lines.first <= lines.last <= code.last:
        return None
    return lines.first, lines.last


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
