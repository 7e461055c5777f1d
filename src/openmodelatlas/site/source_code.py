"""The code of a page: the function or class around the node, with what no layer reached."""

from __future__ import annotations

from collections.abc import Sequence

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.evidence.sources import EvidenceFinder
from openmodelatlas.graph.document import Document, Lines, Node, Unreached
from openmodelatlas.site.fields import PageCode, PageUnreached


class CodeWriter:
    """Writes the code of pages of one atlas.

    Args:
        atlas: gives the text of cited files.
        document: its nodes.
        evidence: names functions and classes.
    """

    def __init__(self, atlas: Atlas, document: Document, evidence: EvidenceFinder) -> None:
        self.atlas = atlas
        self._document = document
        self._nodes = document.nodes
        self._evidence = evidence
        self._texts: dict[tuple[str, int, int], str] = {}

    def _text(self, lines: Lines) -> str:
        key = (lines.file, lines.first, lines.last)
        if key not in self._texts:
            self._texts[key] = self.atlas.text_of(Lines(file=lines.file, first=lines.first, last=lines.last))
        return self._texts[key]

    def code(self, node: Node) -> PageCode | None:
        """The code around ``node``; ``None`` where the atlas does not hold it."""
        holder = node
        if node.code is None and node.tensor is not None and node.tensor.producer in self._nodes:
            holder = self._nodes[node.tensor.producer]
        code = holder.code or self._code_around(node)
        if code is None or code.file not in self._document.files:
            return None
        own = node.symbol.lines if node.symbol is not None else None
        if own is not None and not (own.file == code.file and code.first <= own.first <= own.last <= code.last):
            own = None
        cited = self._document.files[code.file]
        url = cited.url
        if url is not None:
            url = url.replace("{first}", str(code.first)).replace("{last}", str(code.last))
        return PageCode(
            file=cited.path,
            lines=(code.first, code.last),
            text=self._text(code),
            name=self._evidence.code_name(code),
            own_lines=(own.first, own.last) if own is not None else None,
            own_columns=columns(own) if own is not None else None,
            url=url,
            unreached=tuple(_unreached(item) for item in self._unreached_within(node, code)),
        )

    def _code_around(self, node: Node) -> Lines | None:
        """The code that runs a module of PyTorch's own, which has no code in the atlas."""
        own = node.symbol.lines if node.symbol is not None else None
        while own is not None and node.parent is not None:
            node = self._nodes[node.parent]
            code = node.code
            if code is not None and code.file == own.file and code.first <= own.first <= own.last <= code.last:
                return code
        return None

    def _unreached_within(self, node: Node, code: Lines) -> Sequence[Unreached]:
        """Unreached lines within ``code``: the node's own, or those of the nearest node around it that has any."""
        current: Node | None = node
        while current is not None:
            inside = [
                item
                for item in current.unreached
                if item.lines.file == code.file and code.first <= item.lines.first and item.lines.last <= code.last
            ]
            if inside:
                return inside
            current = self._nodes[current.parent] if current.parent is not None else None
        return ()


def columns(lines: Lines) -> tuple[int, int] | None:
    """First character and the one after the last; ``None`` for whole lines."""
    if lines.column is None or lines.end_column is None:
        return None
    return lines.column, lines.end_column


def _unreached(item: Unreached) -> PageUnreached:
    lines = item.lines
    return PageUnreached(
        file=lines.file,
        lines=(lines.first, lines.last),
        condition=item.condition,
        condition_line=item.condition_line,
    )
