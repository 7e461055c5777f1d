"""Which characters of the code light with which nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from openmodelatlas.graph.document import Lines, Node
from openmodelatlas.site.fields import Page, PageCode
from openmodelatlas.site.highlight import Expression


class ExpressionFinder:
    """Finds the recorded expressions in the code of pages of one atlas."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._found: dict[tuple[str, str, int, int], tuple[Expression, ...]] = {}

    def expressions(self, level: str, code: PageCode) -> tuple[Expression, ...]:
        """The expressions in ``code`` that are nodes of the level: what is in the diagram beside it."""
        key = (level, code.file, *code.lines)
        if key not in self._found:
            parent = self._nodes[level]
            nodes = [self._nodes[address] for address in parent.children]
            self._found[key] = tuple(
                _within(((node.address, node.symbol.lines) for node in nodes if node.symbol), code)
            )
        return self._found[key]

    @staticmethod
    def terms(page: Page) -> tuple[Expression, ...]:
        """The terms of the page's formulas in its code."""
        if page.code is None:
            return ()
        found = []
        for formula in page.formulas:
            for term in formula.terms:
                for span in term.spans:
                    if span.columns is not None and span.file == page.code.file:
                        found.append(Expression(term.id, span.lines[0], span.lines[1], *span.columns))
        return tuple(dict.fromkeys(found))


def _within(places: Iterable[tuple[str, Lines]], code: PageCode) -> Iterable[Expression]:
    first, last = code.lines
    for address, lines in places:
        if lines.file != code.file or lines.column is None or lines.end_column is None:
            continue
        if first <= lines.first and lines.last <= last:
            yield Expression(f"@{address}", lines.first, lines.last, lines.column, lines.end_column)
