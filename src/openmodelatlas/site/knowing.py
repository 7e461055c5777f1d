"""What is known of a node, as its page tells it: formulas with terms and verdicts, explanation, differences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from openmodelatlas.annotation.knowledge import Difference, Formula, FormulaCheck, NodeKnowledge, Statement, Term
from openmodelatlas.graph.document import Document, Lines
from openmodelatlas.site.fields import (
    Crumb,
    PageDifference,
    PageFormula,
    PageMechanism,
    PageSpan,
    PageStatement,
    PageTerm,
    PageVerdict,
)
from openmodelatlas.site.latex import without_marks
from openmodelatlas.site.words import crumb_label, numbers_text


class KnowledgeWriter:
    """Writes what is known of the nodes of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def formulas(self, known: NodeKnowledge) -> tuple[PageFormula, ...]:
        """The formulas of a node, its own first; those of further mechanisms say whose they are."""
        return tuple(
            self._formula(item, item.mechanism if item.mechanism != known.mechanism else None)
            for item in known.formulas
        )

    def _formula(self, formula: Formula, name: str | None) -> PageFormula:
        return PageFormula(
            latex=without_marks(formula.latex),
            marked=formula.latex,
            mechanism=mechanism(name) if name is not None else None,
            terms=tuple(self._term(term) for term in formula.terms),
            check=verdict(formula.check),
        )

    def _term(self, term: Term) -> PageTerm:
        return PageTerm(
            id=term.id,
            latex=term.latex,
            meaning=term.meaning,
            places=tuple(self._place(address) for address in term.addresses),
            spans=tuple(span(lines) for lines in term.lines),
        )

    def _place(self, address: str) -> Crumb:
        node = self._document.nodes.get(address)
        if node is not None:
            return Crumb(label=crumb_label(node), address=address)
        return Crumb(label=address, address="")

    def lights(self, known: NodeKnowledge) -> dict[str, list[str]]:
        """Addresses and parameter names that light with each term, over all formulas of the node."""
        found: dict[str, list[str]] = {}
        for formula in known.formulas:
            for term in formula.terms:
                places = found.setdefault(term.id, [])
                places += [address for address in term.addresses if address not in places]
        return found


def verdict(check: FormulaCheck) -> PageVerdict:
    """The verdict of a formula's evaluation, in words."""
    if check.verdict == "checked" and check.error is not None:
        text = f"checked: largest relative error {check.error:.0e} on the probe, float64"
        if check.error == 0:
            text = "checked: exactly equal on the probe, float64"
    elif check.verdict == "differs":
        error = f" by up to {check.error:.1e}, relative, on the probe" if check.error is not None else ""
        text = f"differs from what the code gave{error}"
    else:
        text = check.verdict
    return PageVerdict(verdict=check.verdict, error=check.error, text=text, detail=check.detail)


def statements(items: Iterable[Statement]) -> tuple[PageStatement, ...]:
    """Sentences of explanation with their lines."""
    return tuple(PageStatement(text=item.text, spans=tuple(span(lines) for lines in item.lines)) for item in items)


def with_lines(statement: PageStatement) -> str:
    """A statement as one text: ``… itself (modeling_kimi_linear.py 995–998, 1023–1026).``"""
    if not statement.spans:
        return statement.text
    text = statement.text.rstrip()
    end = "." if text.endswith(".") else ""
    return f"{text.removesuffix('.')} ({places_text(statement.spans)}){end}"


def places_text(spans: Iterable[PageSpan]) -> str:
    """Files with their lines: ``modeling_kimi_linear.py 995–998, 1023–1026``."""
    by_file: dict[str, list[str]] = {}
    for item in spans:
        numbers = by_file.setdefault(item.file, [])
        text = numbers_text(item.lines)
        if text not in numbers:
            numbers.append(text)
    return "; ".join(f"{file} {', '.join(numbers)}" for file, numbers in by_file.items())


def differences(items: Iterable[Difference]) -> tuple[PageDifference, ...]:
    """Mechanisms that do not hold here."""
    return tuple(
        PageDifference(
            mechanism=mechanism(item.mechanism), text=item.text, spans=tuple(span(lines) for lines in item.lines)
        )
        for item in items
    )


@lru_cache(maxsize=1024)
def mechanism(identifier: str) -> PageMechanism:
    """A mechanism by its name in the catalogue; of one that is no longer there, its identifier in words."""
    from openmodelatlas.site.mechanisms import title_of

    title = title_of(identifier)
    if title is None:
        title = re.sub(r"[-_]+", " ", identifier).strip()
        title = title[:1].upper() + title[1:]
    return PageMechanism(id=identifier, title=title)


def span(lines: Lines) -> PageSpan:
    """Lines of a cited file, with columns where they have any."""
    columns = None
    if lines.column is not None and lines.end_column is not None:
        columns = (lines.column, lines.end_column)
    return PageSpan(file=lines.file, lines=(lines.first, lines.last), columns=columns)
