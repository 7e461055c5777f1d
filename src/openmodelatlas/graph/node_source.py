"""Where nodes stand in the source: the symbol that a reader sees, and the class or function around it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from openmodelatlas.graph.align import LoopSite, Site
from openmodelatlas.graph.branches import function_key
from openmodelatlas.graph.document import Lines, Symbol
from openmodelatlas.graph.flow import Flow
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.labels import Labels
from openmodelatlas.graph.makers import TensorDraft
from openmodelatlas.graph.syntax import FileSyntax, position
from openmodelatlas.graph.text import one_line
from openmodelatlas.graph.tree import Place, Tree

_MOST_TEXT = 400


class NodeSource:
    """Finds the source of nodes.

    Attributes:
        cited: paths of the files in which it found any.
    """

    def __init__(self, trees: Sequence[Tree], syntax: Mapping[str, FileSyntax], labels: Labels, flow: Flow) -> None:
        self._trees = trees
        self._syntax = syntax
        self._labels = labels
        self._flow = flow
        self.cited: set[str] = set()

    def frame(self, draft: Draft) -> Site | None:
        """The call whose function a node's own code is: for modules and functions itself, for others what encloses."""
        if draft.kind == "branch":
            return draft.frame
        site = draft.running
        if site is not None and site.is_call and not draft.operation:
            return site
        inner = draft.expression
        if inner is None:
            inner = next((d.expression for d in draft.walk() if d.expression is not None), None)
        return self._flow.frame_with_code(inner) if inner is not None else None

    def symbol(self, draft: Draft) -> Symbol | None:
        """The expression or statement that a node is; ``None`` for the model and phases, and where nothing tells."""
        if draft.kind in ("model", "phase"):
            return None
        if draft.kind == "branch":
            return self._branch_symbol(draft)
        shown_as_loop = draft.loop is not None and (draft.kind == "loop" or draft.site is None)
        loop = draft.loop.members[0] if draft.loop is not None and shown_as_loop else None
        if loop is not None and loop.loop is not None:
            return self._loop_symbol(draft, loop)
        site = draft.expression
        place = self._trees[site.probe].place(site.event) if site is not None else None
        if place is None:
            return None
        return Symbol(text=_short(self._syntax[place[0]].segment(place[1:])), lines=self._lines(place))

    def tensor_symbol(self, tensor: TensorDraft) -> Symbol | None:
        """The variable or expression that a tensor is, at the expression that makes it."""
        site = tensor.line_site or tensor.site
        place = self._trees[site.probe].place(site.event)
        if place is None:
            return None
        text = tensor.variable or self._syntax[place[0]].segment(place[1:])
        return Symbol(text=_short(text), lines=self._lines(place))

    def code(self, draft: Draft, frame: Site | None) -> Lines | None:
        """The class of a module, else the function of ``frame``; ``None`` where the recording has neither."""
        module = self._labels.module(draft)
        if module is not None and module.file >= 0:
            site = draft.site
            assert site is not None
            path = self._trees[site.probe].recording.files[module.file].path
            self.cited.add(path)
            return Lines(file=path, first=module.first_line, last=module.last_line)
        if frame is None:
            return None
        recording = self._trees[frame.probe].recording
        code_index = recording.calls[~frame.event].code
        if code_index < 0:
            return None
        code = recording.codes[code_index]
        path = recording.files[code.file].path
        self.cited.add(path)
        return Lines(file=path, first=code.first_line, last=code.last_line)

    def _loop_symbol(self, draft: Draft, loop: LoopSite) -> Symbol | None:
        site = next((inner.expression for inner in draft.walk() if inner.expression is not None), None)
        frame = self._flow.frame_with_code(site) if site is not None else None
        if frame is None or loop.loop is None:
            return None
        key = function_key(self._trees[frame.probe], ~frame.event)
        if key is None:
            return None
        self.cited.add(key[0])
        return Symbol(
            text=_short(loop.loop.text), lines=Lines(file=key[0], first=loop.loop.header, last=loop.loop.last)
        )

    def _branch_symbol(self, draft: Draft) -> Symbol | None:
        assert draft.decision is not None
        assert draft.frame is not None
        key = function_key(self._trees[draft.frame.probe], ~draft.frame.event)
        if key is None:
            return None
        condition = draft.decision.condition
        self.cited.add(key[0])
        text = condition.test
        node = self._syntax[key[0]].at((condition.first, condition.column, condition.last, condition.end_column))
        if isinstance(node, ast.If):
            numbers = draft.rounds if draft.decision.by == "round" else draft.layers
            outcomes = {draft.decision.outcome(number) for number in numbers}
            computed = computed_in(node, other_first=outcomes == {"false"})
            text = self._syntax[key[0]].segment(position(computed)) if computed is not None else text
        return Symbol(text=_short(text), lines=Lines(file=key[0], first=condition.first, last=condition.last))

    def _lines(self, place: Place) -> Lines:
        path, line, column, end_line, end_column = place
        self.cited.add(path)
        syntax = self._syntax[path]
        return Lines(
            file=path,
            first=line,
            last=end_line,
            column=syntax.character_column(line, column),
            end_column=syntax.character_column(end_line, end_column),
        )


def computed_in(node: ast.If, *, other_first: bool) -> ast.expr | None:
    """What a statement computes in the way that ran here; in the other way, where this one only gives a new name."""
    ways = (node.orelse, node.body) if other_first else (node.body, node.orelse)
    values = [
        next((inner.value for inner in way if isinstance(inner, ast.Assign | ast.AugAssign)), None) for way in ways
    ]
    given = [value for value in values if value is not None]
    return next((value for value in given if not isinstance(value, ast.Name)), given[0] if given else None)


def _short(text: str) -> str:
    """One line, at most a few hundred characters."""
    joined = one_line(text)
    return joined if len(joined) <= _MOST_TEXT else f"{joined[: _MOST_TEXT - 1]}…"
