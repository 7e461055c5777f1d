"""The fields of a seed's page, read from its text, and of our page for the same place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from openmodelatlas.evidence.sources import Evidence
from openmodelatlas.site.dimensions import shape_text
from openmodelatlas.site.fields import Page
from openmodelatlas.site.words import numbers_text, short_revision
from tests.seeds import seed
from tests.seeds.seed import Source

_SHAPED = re.compile(r"\$(?P<latex>[^$]+)\$ (?P<shape>\[[^\]]+\])")
_LIT = re.compile(r"\\htmlData\{light=[^}]*\}")


@dataclass(frozen=True)
class Fields:
    """What a page shows, as text.

    Attributes:
        page: model and title, as in the head of the page.
        title, breadcrumb, kind, symbol, sentence, formula, code: one line each; empty where the page has none.
        terms: of the formula, as set.
        inputs, outputs: symbol and named shape of each.
        explanation: sentences with their lines in brackets.
        sources: in order.
    """

    page: str
    title: str
    breadcrumb: str
    kind: str
    symbol: str
    sentence: str
    formula: str
    terms: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    explanation: tuple[str, ...]
    code: str
    sources: tuple[Source, ...]


def of_seed(name: str) -> Fields:
    """The fields of a seed."""
    text = seed.read(name)
    rows = text.splitlines()
    above = [row for row in rows[: rows.index("Read code excerpt")] if row.strip()]
    crumb, title, facts, sentence = above[1:5]
    kind = next(kind for kind in ("no parameters", "tensor") if facts.startswith(kind))
    formula = next((row for row in above if row.startswith("{\\htmlData")), "")
    explained = above[above.index("Explanation") + 1 :] if "Explanation" in above else []
    code = next((row.removeprefix("Code") for row in rows if row.startswith("Code")), "")
    return Fields(
        page=above[0].removesuffix(" · OpenModelAtlas"),
        title=title,
        breadcrumb=crumb,
        kind=kind,
        symbol=facts.removeprefix(kind),
        sentence=sentence,
        formula=_bare(formula),
        terms=_terms(formula),
        inputs=_shaped(above, "in: "),
        outputs=_shaped(above, "out: ") or _shaped(above, "shape: "),
        explanation=tuple(takewhile(lambda row: not row.startswith("Code"), explained)),
        code=code,
        sources=tuple(seed.sources(text)),
    )


def of_page(page: Page) -> Fields:
    """The fields of one of our pages."""
    own = page.formulas[0] if page.formulas else None
    kind = page.kind if page.kind == "tensor" else "no parameters" if page.parameters.count == 0 else "parameters"
    symbol = f"{page.symbol.text} · {numbers_text(page.symbol.lines)}" if page.symbol is not None else ""
    code = f"{page.code.file} {numbers_text(page.code.lines)}" if page.code is not None else ""
    return Fields(
        page=f"{page.model_title} · {page.title}",
        title=page.title,
        breadcrumb=" › ".join(crumb.label for crumb in page.breadcrumb),
        kind=kind,
        symbol=symbol,
        sentence=page.description,
        formula=_bare(own.marked) if own is not None else "",
        terms=tuple(_packed(term.latex) for term in own.terms) if own is not None else (),
        inputs=tuple((_packed(port.latex or ""), f"[{_inner(port.shape)}]") for port in page.inputs),
        outputs=tuple((_packed(port.latex or ""), f"[{_inner(port.shape)}]") for port in page.outputs),
        explanation=page.explanation,
        code=code,
        sources=tuple(_source(item) for item in page.sources),
    )


def _inner(shape: object) -> str:
    return shape_text(shape).strip("[]") if shape is not None else ""  # type: ignore[arg-type]


def _source(item: Evidence) -> Source:
    omitted = [(part.first, part.last) for part in item.parts if part.omitted]
    rows = item.excerpt.splitlines()
    text, _ = seed.numbered(rows, *item.lines)
    return Source(
        kind=item.kind,
        origin=item.origin if item.kind == "contextual" else "",
        claim=item.claim,
        id=item.id,
        repository=item.repository,
        file=item.file,
        revision=short_revision(item.revision),
        lines=item.lines,
        omitted=omitted[0] if omitted else None,
        text=text,
    )


def _shaped(rows: list[str], head: str) -> tuple[tuple[str, str], ...]:
    row = next((row for row in rows if row.startswith(head)), "")
    return tuple((_packed(found["latex"]), found["shape"]) for found in _SHAPED.finditer(row))


def _terms(formula: str) -> tuple[str, ...]:
    """What stands in ``\\htmlData{light=…}{…}``, in order."""
    return tuple(_packed(_braced(formula[match.end() :])) for match in _LIT.finditer(formula))


def _braced(text: str) -> str:
    """The inside of the braces that a text begins with."""
    depth = 0
    for number, letter in enumerate(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth == 0:
            return text[1:number]
    raise AssertionError(f"no closing brace in {text}")


def _bare(formula: str) -> str:
    """LaTeX without the marks of its terms, without blanks and braces that only group."""
    bare = _LIT.sub("", formula)
    kept: list[str] = []
    grouping: list[bool] = []
    for number, letter in enumerate(bare):
        if letter == "{":
            grouping.append(re.match(r"[A-Za-z_^}]", bare[number - 1 : number]) is None)
            kept.append("" if grouping[-1] else letter)
        elif letter == "}":
            kept.append("" if grouping.pop() else letter)
        else:
            kept.append(letter)
    return _packed("".join(kept))


def _packed(latex: str) -> str:
    return re.sub(r"\s+", "", latex)
