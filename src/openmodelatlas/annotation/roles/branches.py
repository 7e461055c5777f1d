"""Formulas of branches whose statement adds to the residual stream in general, where another way ran here."""

from __future__ import annotations

from openmodelatlas.annotation.knowledge import Formula, FormulaCheck, Term
from openmodelatlas.annotation.material import Drafts
from openmodelatlas.annotation.roles.board import Board, Place
from openmodelatlas.annotation.roles.vocabulary import KINDS
from openmodelatlas.graph.document import Branch, Lines, Node

UPDATES = {
    "add attention update": ("attention update", "attention-update"),
    "add feed-forward update": ("feed-forward update", "feed-forward-update"),
    "add mixer update": ("mixer update", "mixer-update"),
}


def branch_statement(board: Board, address: str) -> str | None:
    """The operation that the statement of a branch is in layers that take the other way; ``None`` if there is none.

    Args:
        board: what the rules found.
        address: of a branch node.
    """
    node = board.view.nodes[address]
    if not node.branches:
        return None
    for twin in board.anchors.get("stream", ()):
        symbol = board.view.nodes[twin].symbol
        same_phase = board.view.nodes[twin].phase == node.phase
        if symbol is not None and same_phase and _covers(node.branches[0], symbol.lines):
            return twin
    return None


def write_branches(board: Board, drafts: Drafts) -> None:
    """Give branches that passed an update on, where other layers add it, the formula of the statement."""
    view = board.view
    for address, place in board.regions.items():
        node = view.nodes[address]
        twin = branch_statement(board, address)
        runs = any(view.inside(each, address) for each in board.anchors.get("stream", ()))
        if twin is None or runs or len(node.inputs) != 1 or len(node.outputs) != 1:
            continue
        if view.root(node.inputs[0].tensor) == view.root(node.outputs[0].tensor):
            drafts.nodes[address].formulas.append(_formula(board, node, place, view.nodes[twin]))
            update = KINDS[UPDATES[place.name][0]].symbol
            for tensor in {node.inputs[0].tensor, node.outputs[0].tensor} & drafts.nodes.keys():
                drafts.nodes[tensor].symbols[tensor] = update or r"\Delta"  # as it comes in; as it goes, the page says


def _formula(board: Board, node: Node, place: Place, twin: Node) -> Formula:
    """s' = s̄ + Δ, of which s̄ is nothing here."""
    view = board.view
    group = view.group_of(node.address) or ""
    summed = any(view.inside(each, group) for each in board.anchors.get("depth", ()))
    kind, identifier = UPDATES[place.name]
    after = kind == "attention update" or not summed
    result = ("s'_n" if after else "s_{n+1}") if summed else "r_n"
    carried = (r"\bar{s}_n" if after else "s'_n") if summed else "x_n"
    update = KINDS[kind].symbol or r"\Delta"
    stores = tuple(
        enclosing
        for each in board.anchors.get("storing", ())
        if view.inside(each, group)
        for enclosing in (each, *view.enclosing(each))
        if view.nodes[enclosing].kind in ("branch", "operation")
    )
    tensor = node.outputs[0].tensor
    terms = (
        Term(
            id="residual",
            latex=result,
            meaning="running sum after the addition" if summed else "residual stream after the addition",
            addresses=(node.address, tensor),
            lines=(node.branches[0].lines,),
        ),
        Term(
            id="carried",
            latex=carried,
            meaning="carried running sum, empty here" if summed else "residual stream, empty here",
            addresses=stores,
            lines=_operand(twin, 0),
        ),
        Term(
            id=identifier,
            latex=update,
            meaning=KINDS[kind].noun,
            addresses=(tensor, *((producer,) if (producer := view.producer(tensor)) is not None else ())),
            lines=(*_operand(twin, 1), *((node.symbol.lines,) if node.symbol is not None else ())),
        ),
    )
    latex = [rf"\htmlData{{light={term.id}}}{{{term.latex}}}" for term in terms]
    what = "sum" if summed else "stream"
    detail = f"here the update is the {what} itself: the result is the very tensor that comes in"
    return Formula(
        latex=f"{latex[0]} = {latex[1]} + {latex[2]}",
        terms=terms,
        check=FormulaCheck(verdict="checked", error=None, detail=detail),
    )


def _operand(twin: Node, index: int) -> tuple[Lines, ...]:
    """The characters of an operand in a sum that stands on one line."""
    symbol = twin.symbol
    if symbol is None or symbol.lines.first != symbol.lines.last or symbol.lines.column is None:
        return ()
    parts = symbol.text.split("+")
    if len(parts) != 2:
        return ()
    start = symbol.lines.column + (0 if index == 0 else len(parts[0]) + 1)
    part = parts[index]
    start += len(part) - len(part.lstrip())
    return (
        Lines(
            file=symbol.lines.file,
            first=symbol.lines.first,
            last=symbol.lines.last,
            column=start,
            end_column=start + len(part.strip()),
        ),
    )


def _covers(branch: Branch, lines: Lines) -> bool:
    return branch.lines.file == lines.file and branch.lines.first <= lines.first and lines.last <= branch.lines.last
