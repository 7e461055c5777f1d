"""Pages in the terminal. rich is imported when a page is shown, not before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from openmodelatlas.annotation.counting import few_layers, layers_text
from openmodelatlas.site.dimensions import shape_text
from openmodelatlas.site.fields import Page, PageArgument, PageChild, PageInput, PageOutput
from openmodelatlas.site.latex import readable, readable_latex
from openmodelatlas.site.notes import shared_notes
from openmodelatlas.site.words import layers_heading, lines_text, one_line, short_revision, varied_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_CODE_LINES = 80


def render(page: Page) -> RenderableType:
    """The page for a terminal: facts, inputs and outputs, what is inside, highlighted code, sources."""
    from rich.console import Group
    from rich.padding import Padding

    parts: list[RenderableType] = [*_head(page), *_formulas(page)]
    if page.inputs or page.outputs:
        parts.append(Padding(_ports(page), (1, 0, 0, 0)))
    for title, lines in (
        ("Tensor", _tensor(page)),
        ("Explanation", [readable(text) for text in page.explanation]),
        ("Otherwise than usual", [f"{item.mechanism.title}: {readable(item.text)}" for item in page.differences]),
        ("Arguments", _values(page.arguments)),
        ("Attributes at run time", _values(page.attributes)),
        ("How often", [page.repeat.note] if page.repeat else []),
        ("Branches", _branches(page)),
        ("What varies", [f"{item.what}: {varied_text(item.values, page.layers.members)}" for item in page.variations]),
        (layers_heading(page), _elsewhere(page)),
    ):
        if lines:
            parts += _section(title, lines)
    if page.children:
        parts += _section("Inside", [])
        parts.append(_children(page))
    if page.parameters.tensors:
        parts += _section(f"Parameters ({page.parameters.count:,})", [])
        parts.append(_parameters(page))
    parts += _code(page)
    parts += _sources(page)
    parts += _checks(page)
    parts += _foot(page)
    return Group(*parts)


def _values(items: Sequence[PageArgument]) -> list[str]:
    return [f"{item.name} = {item.text}" + (f"  ({item.note})" if item.note else "") for item in items]


def _text(content: str, style: str = "") -> RenderableType:
    """Text that is never read as mark-up."""
    from rich.text import Text

    return Text(content, style=style)


def _section(title: str, lines: list[str]) -> list[RenderableType]:
    return [_text(f"\n{title}", "bold"), *(_text(f"  {line}") for line in lines)]


def _head(page: Page) -> list[RenderableType]:
    trail = [page.model_title, *(crumb.label for crumb in page.breadcrumb)]
    facts = [page.kind]
    if page.parameters.count:
        facts.append(f"{page.parameters.count:,} parameters")
    elif page.kind != "tensor":
        facts.append("no parameters")
    if page.symbol is not None:
        facts.append(f"{one_line(page.symbol.text)} · {lines_text(page.symbol.lines)}")
    if page.layers.members:
        facts.append(layers_text(page.layers.members))
    kinship = [item for item in (page.role, page.family) if item is not None]
    kinship += [item.title for item in (page.mechanism, *page.mechanisms) if item is not None]
    return [
        *(_text(f"{readable(text)}\n", "yellow") for text in page.damage),
        _text(" › ".join(trail), "dim"),
        _text(page.title, "bold cyan"),
        _text("  ".join(facts), "dim"),
        *([_text(" · ".join(dict.fromkeys(kinship)), "dim")] if kinship else []),
        _text(readable(page.description)),
    ]


def _formulas(page: Page) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for formula in page.formulas:
        if formula.mechanism is not None:
            parts.append(_text(f"\n  {formula.mechanism.title}", "dim"))
        parts.append(_text(f"\n  {readable_latex(formula.latex)}", "bold"))
        detail = f": {formula.check.detail}" if formula.check.detail and formula.check.verdict != "checked" else ""
        styles = {"checked": "green", "differs": "red", "not checked": "yellow"}
        parts.append(_text(f"  {formula.check.text}{detail}", styles[formula.check.verdict]))
        parts += [_text(f"    {readable_latex(item.latex)}  {readable(item.meaning)}", "dim") for item in formula.terms]
    return parts


def _elsewhere(page: Page) -> list[str]:
    """The same place in other layers; what differs there is told on the pages of layers and of the model."""
    others = [item for item in page.same_place if not item.here]
    if page.kind not in ("layer group", "model"):
        return [f"{item.label}: {item.address}" for item in others]
    return [
        f"{item.label} ({few_layers(item.members)}): {item.address}"
        + "".join(f"; {readable(text)}" for text in item.differs)
        for item in others
    ]


def _plain_table(*columns: str, head: bool = False) -> Table:
    from rich.table import Table

    table = Table(box=None, show_header=head, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _ports(page: Page) -> RenderableType:
    table = _plain_table("", "name", "shape", "dtype", "from or to")
    common = shared_notes(page)
    said = {item.text for item in common}

    def row(word: str, port: PageInput | PageOutput, flow: str) -> None:
        dtype = port.dtype or "dtype not recorded"
        name = f"{port.name} ({port.title})" if port.title else port.name
        cells = (_name(name, port.latex), shape_text(port.shape), dtype, flow)
        table.add_row(_text(word, "dim"), *(_text(cell) for cell in cells))
        notes = [(axis.note, f"{axis.text}: {axis.note}") for axis in port.shape or () if axis.note]
        for note, text in (*notes, (port.note, port.note)):
            if note and text and note not in said:
                table.add_row("", _text(f"  {readable(text)}", "dim italic"), "", "", "")
                said.update({note} if note != port.note else ())

    for port in page.inputs:
        origin = f"from {port.origin.label}" if port.origin else port.parameter or ""
        row("in", port, origin + (f" via {', '.join(item.label for item in port.via)}" if port.via else ""))
    for output in page.outputs:
        to = ", ".join(item.label for item in output.readers) if page.tensor is None else ""
        row("shape" if page.tensor is not None else "out", output, to and f"to {to}")
    if not common:
        return table
    from rich.console import Group

    return Group(table, *(_text(f"for {item.of}: {readable(item.text)}", "dim italic") for item in common))


def _name(name: str, latex: str | None) -> str:
    return f"{readable_latex(latex)}  {name}" if latex is not None else name


def _tensor(page: Page) -> list[str]:
    fact = page.tensor
    if fact is None:
        return []
    lines = [f"produced by {fact.producer}" if fact.producer is not None else "comes from outside"]
    if fact.readers:
        lines.append(f"read by {', '.join(item.label for item in fact.readers)}")
    if fact.value is not None:
        start = ", ".join(str(item) for item in fact.value_start or ())
        lines.append(f"value in the probe, {fact.value_dtype} {list(fact.value_shape or ())}: {start}, …")
    else:
        lines.append(f"probe value not recorded: {fact.note or 'no reason given'}")
    return lines


def _branches(page: Page) -> list[str]:
    return [
        f"{one_line(branch.test)} ({lines_text(branch.lines)}): "
        + "; ".join(f"{outcome}: {layers_text(taken, branch.by)}" for outcome, taken in branch.taken.items() if taken)
        + (f"; elsewhere {', '.join(item.label for item in branch.elsewhere)}" if branch.elsewhere else "")
        for branch in page.layers.branches
    ]


def _children(page: Page) -> RenderableType:
    table = _plain_table("name", "kind", "gives", "parameters", "address", head=True)

    def row(child: PageChild) -> None:
        name = child.title if child.kind in ("operation", "tensor") else child.label
        notes = [child.note] if child.note else []
        notes += [layers_text(child.members)] if child.members else []
        label = f"{name} ({'; '.join(notes)})" if notes else name
        parameters = f"{child.parameter_count:,}" if child.parameter_count else ""
        style = "dim" if child.plumbing or child.kind == "tensor" else ""
        place = f"…/{child.address.rpartition('/')[2]}" if page.address else child.address
        gives = (f"{o} {t or ''}".strip() for o, t in zip(child.outputs, child.dtypes, strict=True))
        cells = (label, child.kind, "; ".join(gives), parameters, place)
        table.add_row(*(_text(cell) for cell in cells), style=style)

    for child in page.children:
        row(child)
    return table


def _parameters(page: Page) -> RenderableType:
    table = _plain_table("name", "shape", "dtype", "elements")
    for item in page.parameters.tensors:
        count = f"{item.count:,} × {item.each:,}" if item.count > 1 else f"{item.each:,}"
        if item.kind == "buffer":
            count += " (buffer, not counted)"
        table.add_row(*(_text(cell) for cell in (item.name, shape_text(item.shape), item.dtype, count)))
    return table


def _code(page: Page) -> list[RenderableType]:
    if page.code is None:
        return []
    from rich.syntax import Syntax

    code = page.code
    own = set(range(code.own_lines[0], code.own_lines[1] + 1)) if code.own_lines else set()
    first, last = _window(code.lines, code.own_lines)
    title = f"{code.file} {code.lines[0]}–{code.lines[1]}"
    if (first, last) != code.lines:
        title += f", here {first}–{last}; --md shows all"
    shown = "\n".join(code.text.split("\n")[first - code.lines[0] : last - code.lines[0] + 1])
    syntax = Syntax(
        shown,
        "python",
        line_numbers=True,
        start_line=first,
        highlight_lines=own,
        theme="ansi_dark",
        background_color="default",
        word_wrap=True,
    )
    parts: list[RenderableType] = [*_section(f"Code  {title}", []), syntax]
    for item in code.unreached:
        reason = f": kept out by {item.condition} (line {item.condition_line})" if item.condition else ""
        parts.append(_text(f"  no layer reached {lines_text(item.lines)}{reason}", "dim"))
    return parts


def _window(lines: tuple[int, int], own: tuple[int, int] | None) -> tuple[int, int]:
    """The lines to show: all of them, or as many as fit around the node's own."""
    first, last = lines
    if last - first + 1 <= _CODE_LINES:
        return lines
    middle = own[0] if own is not None else first
    begin = max(first, min(middle - _CODE_LINES // 2, last - _CODE_LINES + 1))
    return begin, begin + _CODE_LINES - 1


def _sources(page: Page) -> list[RenderableType]:
    parts = _section(f"Sources ({len(page.sources)})", [])
    for source in page.sources:
        title = "Direct evidence" if source.kind == "direct" else f"Contextual evidence from {source.origin}"
        where = f"{source.id} · {source.repository} / {source.file} @ {short_revision(source.revision)}"
        parts += [
            _text(f"  {title}", "italic"),
            _text(f"  {readable(source.claim)}"),
            _text(f"  {where} · {lines_text(source.lines)}", "dim"),
        ]
        if source.url is not None:
            parts.append(_text(f"  {source.url}", "dim"))
    return parts


def _checks(page: Page) -> list[RenderableType]:
    if page.atlas is None:
        return []
    words = {True: "holds", False: "fails", None: "not made"}
    lines = [f"{words[check.passed]:8} {check.name}: {check.detail}" for check in page.atlas.checks]
    return [*_section("Checks", lines), *(_section("Notes", list(page.atlas.notes)) if page.atlas.notes else [])]


def _foot(page: Page) -> list[RenderableType]:
    origin = page.provenance
    text = f"\nShows {origin.repository} at {short_revision(origin.revision)} ({origin.kind}); "
    parts = [_text(f"{text}address {page.model}/{page.address}".rstrip("/"), "dim")]
    return parts + [_text(item, "yellow") for item in origin.passed_over]
