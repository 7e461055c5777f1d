"""Pages as Markdown, for reading in a terminal or by a program that reads prose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set

from openmodelatlas.annotation.counting import few_layers, layers_text
from openmodelatlas.annotation.markup import split
from openmodelatlas.site.dimensions import shape_text
from openmodelatlas.site.fields import (
    Crumb,
    Page,
    PageArgument,
    PageBranch,
    PageChild,
    PageDimension,
    PageInput,
    PageMechanism,
    PageOutput,
    PageParameter,
)
from openmodelatlas.site.knowing import places_text
from openmodelatlas.site.latex import without_marks
from openmodelatlas.site.notes import shared_notes
from openmodelatlas.site.paths import mechanism_folder, page_folder, to_root
from openmodelatlas.site.visible import visible
from openmodelatlas.site.words import (
    bare_name,
    layers_heading,
    lines_text,
    one_line,
    safe_url,
    short_revision,
    varied_text,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$])")


def render_markdown(page: Page) -> str:
    """The page as Markdown; links lead to the Markdown twins of other pages."""
    parts = [*_head(page), *_formulas(page), *_ports(page), *_explanation(page), *_facts(page), *_inside(page)]
    parts += [*_parameters(page), *_code(page), *_sources(page)]
    if page.atlas is not None:
        parts += _about(page)
    parts += _foot(page)
    return visible("\n\n".join(part for part in parts if part) + "\n")


def plain(text: str) -> str:
    """Text with everything that Markdown would read as mark-up escaped; code and LaTeX in it stay what they are."""
    parts = []
    for kind, content in split(text):
        if kind == "code":
            parts.append(code(content))
        elif kind == "latex":
            parts.append(math(content))
        else:
            parts.append(_SPECIAL.sub(r"\\\1", content))
    return "".join(parts)


def math(latex: str) -> str:
    """LaTeX within a line; a dollar sign in it would end it, so that such a formula is shown as code."""
    joined = " ".join(without_marks(latex).split())
    return code(joined) if "$" in joined or "`" in joined else f"${joined}$"


def formula_block(latex: str) -> str:
    """LaTeX on lines of its own; as code where :func:`math` would give that."""
    joined = " ".join(latex.split())
    return code(joined) if "$" in joined or "`" in joined else f"$$\n{joined}\n$$"


def web_link(label: str, url: str | None) -> str:
    """A link to another site; the label alone if the address is not one of the web."""
    safe = safe_url(url)
    if safe is None:
        return plain(label)
    return f"[{plain(label)}](<{safe.replace('>', '%3E').replace('<', '%3C')}>)"


def code(text: str) -> str:
    """Text as inline code, whatever ticks are in it, on one line."""
    joined = " ".join(text.split())
    fence = "`" * (max((len(run) for run in re.findall("`+", joined)), default=0) + 1)
    pad = " " if joined.startswith("`") or joined.endswith("`") else ""
    return f"{fence}{pad}{joined}{pad}{fence}"


def block(text: str, language: str = "") -> str:
    """Text as a fenced block that nothing in it can close."""
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _link(page: Page, address: str, label: str) -> str:
    return f"[{plain(label)}]({to_root(page.model, page.address)}{page_folder(page.model, address)}/index.md)"


def _mechanism(page: Page, item: PageMechanism, model: str | None) -> str:
    """A link to the page of a mechanism, within a model or over all."""
    return f"[{plain(item.title)}]({to_root(page.model, page.address)}{mechanism_folder(model, item.id)}/index.md)"


def _links(page: Page, crumbs: Iterable[Crumb]) -> str:
    return ", ".join(_link(page, crumb.address, crumb.label) for crumb in crumbs)


def _head(page: Page) -> Iterator[str]:
    trail = [_link(page, "", page.model_title)] if page.address else []
    trail += [_link(page, crumb.address, crumb.label) for crumb in page.breadcrumb]
    yield " › ".join(trail)
    yield f"# {plain(page.title)}"
    yield from (f"> {plain(text)}" for text in page.damage)
    facts = [page.kind]
    if page.parameters.count:
        facts.append(f"{page.parameters.count:,} parameters")
    elif page.kind != "tensor":
        facts.append("no parameters")
    if page.symbol is not None:
        facts.append(f"{code(one_line(page.symbol.text))} · {lines_text(page.symbol.lines)}")
    if page.layers.members:
        facts.append(layers_text(page.layers.members))
    yield " — ".join(facts)
    kinship = [plain(item) for item in (page.role, page.family) if item is not None]
    kinship += [_mechanism(page, item, page.model) for item in (page.mechanism, *page.mechanisms) if item is not None]
    if kinship:
        yield " · ".join(dict.fromkeys(kinship))
    yield plain(page.description)


def _formulas(page: Page) -> Iterator[str]:
    quotes_probe = False
    for formula in page.formulas:
        if formula.mechanism is not None:
            yield f"{plain(formula.mechanism.title)}:"
        yield formula_block(formula.latex)
        detail = f" ({plain(formula.check.detail)})" if formula.check.detail else ""
        yield f"{plain(formula.check.text)}{detail}"
        if formula.terms:
            yield "\n".join(f"- {math(term.latex)}: {plain(term.meaning)}" for term in formula.terms)
        quotes_probe = quotes_probe or formula.check.error is not None
    if quotes_probe and page.address:
        yield f"The probe runs the model at small sizes: {_link(page, '', 'its sizes')}."


def _explanation(page: Page) -> Iterator[str]:
    if page.explanation:
        yield "## Explanation"
        yield from (plain(text) for text in page.explanation)
    if page.differences:
        yield "## Otherwise than usual"
        for item in page.differences:
            where = f" ({plain(places_text(item.spans))})" if item.spans else ""
            yield f"{_mechanism(page, item.mechanism, None)}: {plain(item.text)}{where}"


def _ports(page: Page) -> Iterator[str]:
    lines: list[str] = []
    common = shared_notes(page)
    shared = {item.text for item in common}
    for port in page.inputs:
        if port.origin is not None:
            origin = f" from {_link(page, port.origin.address, port.origin.label)}"
        elif port.parameter is not None:
            origin = f" {port.source} {code(bare_name(port.parameter))}"
        else:
            origin = ""
        via = f" via {', '.join(plain(item.label) for item in port.via)}" if port.via else ""
        lines.append(
            f"- in: {_symbol(port.latex)}{_name(port)} {_shape(port.shape)}, {_dtype(port.dtype)}{origin}{via}"
        )
        lines += [note for note in _notes(port, shared) if note not in lines]
        if port.others:
            whose = "later rounds" if port.others_are == "rounds" else "other layers"
            lines.append(f"  - {whose} read {_links(page, port.others)}")
    for output in page.outputs:
        word = "shape" if page.tensor is not None else "out"
        to = f" to {_links(page, output.readers)}" if output.readers and page.tensor is None else ""
        lines.append(
            f"- {word}: {_symbol(output.latex)}{_name(output)} {_shape(output.shape)}, {_dtype(output.dtype)}{to}"
        )
        lines += [note for note in _notes(output, shared) if note not in lines]
        if output.others:
            lines.append(f"  - other layers give {_links(page, output.others)}")
    lines += [f"- for {plain(item.of)}: {plain(item.text)}" for item in common]
    yield "\n".join(lines)
    if page.tensor is not None:
        made = page.tensor.origin
        yield f"Produced by {_link(page, made.address, made.label)}." if made is not None else ""
        yield f"Read by {_links(page, page.tensor.readers)}." if page.tensor.readers else ""


def _name(port: PageInput | PageOutput) -> str:
    return code(port.name) + (f" ({plain(port.title)})" if port.title else "")


def _symbol(latex: str | None) -> str:
    return f"{math(latex)} " if latex is not None else ""


def _notes(port: PageInput | PageOutput, shared: Set[str]) -> Iterator[str]:
    for dimension in port.shape or ():
        if dimension.note:
            yield f"  - {plain(dimension.text)}: {plain(dimension.note)}"
    if port.note and port.note not in shared:
        yield f"  - {plain(port.note)}"


def _dtype(dtype: str | None) -> str:
    return plain(dtype) if dtype is not None else "dtype not recorded"


def _shape(shape: tuple[PageDimension, ...] | None) -> str:
    return code(shape_text(shape)) if shape is not None else shape_text(shape)


def _facts(page: Page) -> Iterator[str]:
    for title, items in (("Arguments", page.arguments), ("Attributes at run time", page.attributes)):
        if items:
            yield f"## {title}"
            yield "\n".join(_value(item) for item in items)
    if page.repeat is not None:
        yield f"## How often\n\n{plain(page.repeat.note)}"
    if page.layers.branches:
        yield "## Branches"
        yield "\n".join(
            f"- {code(branch.test)} ({code(branch.file)}, {lines_text(branch.lines)}): {_taken(page, branch)}"
            for branch in page.layers.branches
        )
    if page.variations:
        yield "## What varies"
        yield "\n".join(
            f"- {plain(item.what)}: {plain(varied_text(item.values, page.layers.members))}" for item in page.variations
        )
    others = [item for item in page.same_place if not item.here]
    if others and page.kind in ("layer group", "model"):
        yield f"## {layers_heading(page)}"
        yield "\n".join(
            f"- {_link(page, item.address, item.label)}: {few_layers(item.members)}"
            + "".join(f"; {plain(text)}" for text in item.differs)
            for item in others
        )
    elif others:
        yield f"{layers_heading(page)}: {', '.join(_link(page, item.address, item.label) for item in others)}."


def _parameters(page: Page) -> Iterator[str]:
    if page.parameters.tensors:
        yield f"## Parameters ({page.parameters.count:,})"
        rows = [
            (
                _symbol(item.latex) + code(bare_name(item.name)) + _of_owner(page, item),
                _shape(item.shape),
                plain(item.dtype),
                f"{item.count:,} × {item.each:,}" + (" (buffer, not counted)" if item.kind == "buffer" else ""),
            )
            for item in page.parameters.tensors
        ]
        yield table(("name", "shape", "dtype", "elements"), rows)


def _of_owner(page: Page, item: PageParameter) -> str:
    """Which module a parameter belongs to, where several groups of layers have one of its name."""
    if item.owner is None or bare_name(item.name) == item.name:
        return ""
    return f" of {_link(page, item.owner, item.owner)}"


def _taken(page: Page, branch: PageBranch) -> str:
    """Which layers (or rounds) went which way; on pages of other kinds than branches only which way these went."""
    own_numbers = set(page.rounds if branch.by == "round" else page.layers.members)
    own = next((way for way, taken in branch.taken.items() if own_numbers and own_numbers <= set(taken)), None)
    if own is not None and page.kind != "branch":
        return f"{plain(own)} here"
    ways = ((outcome, layers_text(taken, branch.by)) for outcome, taken in branch.taken.items() if taken)
    return "; ".join(f"{plain(outcome)}: {numbers}" for outcome, numbers in ways)


def _value(item: PageArgument) -> str:
    return f"- {code(item.name)}: {code(item.text)}" + (f" ({plain(item.note)})" if item.note else "")


def _inside(page: Page) -> Iterator[str]:
    if not page.children:
        return
    yield "## Inside"
    yield table(
        ("name", "kind", "in the code", "reads from", "gives"), (_child_row(page, child) for child in page.children)
    )


def _child_row(page: Page, child: PageChild) -> tuple[str, ...]:
    notes = [child.note] if child.note else []
    notes += [layers_text(child.members)] if child.members else []
    note = f" ({plain('; '.join(notes))})" if notes else ""
    symbol = code(one_line(child.symbol, 100)) if child.symbol else ""
    name = child.title if child.kind in ("operation", "tensor") else child.label
    gives = (
        f"{code(output)} {plain(dtype or '')}".strip()
        for output, dtype in zip(child.outputs, child.dtypes, strict=True)
    )
    latex = f" {math(child.latex)}" if child.latex is not None else ""
    reads = _links(page, child.reads)
    return (_link(page, child.address, name) + latex + note, child.kind, symbol, reads, "; ".join(gives))


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table; what would end a cell is escaped."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        # A bar inside code would still end the cell.
        cells = [cell.replace("\\|", "|").replace("|", "\\|") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _code(page: Page) -> Iterator[str]:
    if page.code is None:
        return
    yield "## Code"
    name = f"{code(page.code.name)} · " if page.code.name else ""
    own = f", this node: {lines_text(page.code.own_lines)}" if page.code.own_lines else ""
    yield f"{name}{code(page.code.file)} {page.code.lines[0]}–{page.code.lines[1]}{own}"
    yield block(page.code.text, "python")
    for item in page.code.unreached:
        reason = f": kept out by {code(item.condition)} (line {item.condition_line})" if item.condition else ""
        yield f"- No layer reached {lines_text(item.lines)}{reason}."


def _sources(page: Page) -> Iterator[str]:
    yield "## Sources"
    if not page.sources:
        yield "No source lines are cited."
    for source in page.sources:
        title = "Direct evidence" if source.kind == "direct" else f"Contextual evidence from {source.origin}"
        yield f"### {plain(title)}"
        yield plain(source.claim)
        revision = web_link(short_revision(source.revision), source.url)
        where = f"{plain(source.id)} · {plain(source.repository)} / {code(source.file)}"
        yield f"{where}\\\nPinned revision {revision} · {lines_text(source.lines)} · sha256 {plain(source.sha256[:16])}"
        # The direct evidence is the code above; repeating it here would only double the page.
        if page.code is None or (source.file, source.lines) != (page.code.file, page.code.lines):
            yield block(source.excerpt, "python")


def _about(page: Page) -> Iterator[str]:
    about = page.atlas
    if about is None:
        return
    if about.notes:
        yield "## Notes"
        yield "\n".join(f"- {plain(note)}" for note in about.notes)
    if about.constants:
        yield "## Numbers used at run time"
        rows = [
            (
                plain(item.text),
                _link(page, item.address, item.operation) + (f" in {plain(item.inside)}" if item.inside else ""),
                code(item.code),
                layers_text(item.members) if item.members else "",
            )
            for item in about.constants
        ]
        yield table(("number", "operation", "in the code", "layers"), rows)
    if about.sizes:
        yield "## Sizes"
        yield (
            "Shapes are written in these sizes. The probe runs the model with all its layers at small sizes; numbers "
            "that are no sizes are as published."
        )
        sizes = [
            (code(size.symbol), plain(size.name), code(size.key), _number(size.value), _number(size.probe))
            for size in about.sizes
        ]
        yield table(("symbol", "what", "key", "published", "in the probe"), sizes)
    yield "## Checks"
    words = {True: "holds", False: "fails", None: "not made"}
    yield "\n".join(f"- {words[check.passed]}: {plain(check.name)} — {plain(check.detail)}" for check in about.checks)


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _foot(page: Page) -> Iterator[str]:
    origin = page.provenance
    yield "---"
    revision = plain(short_revision(origin.revision))
    yield (
        f"This atlas shows {plain(origin.repository)} at {revision} ({plain(origin.kind)}), "
        f"configuration from {plain(origin.configuration.rstrip('. '))}. Address: "
        f"{code(f'{page.model}/{page.address}'.rstrip('/'))}."
    )
    for item in origin.passed_over:
        yield plain(item)
