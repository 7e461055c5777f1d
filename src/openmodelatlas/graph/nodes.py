"""Turns named drafts and tensor drafts into the nodes of the document."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from openmodelatlas.capture.recording import Module
from openmodelatlas.graph.aliases import Aliases
from openmodelatlas.graph.align import LoopSite, Site
from openmodelatlas.graph.branches import Coverage, Decision, FunctionKey, function_key
from openmodelatlas.graph.document import (
    Branch,
    Lines,
    Node,
    Port,
    Symbol,
    TensorFact,
    Unreached,
    Variation,
)
from openmodelatlas.graph.flow import Flow
from openmodelatlas.graph.fold import join_dimensions
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.labels import Labels
from openmodelatlas.graph.makers import TensorDraft
from openmodelatlas.graph.naming import is_plumbing
from openmodelatlas.graph.published import Published
from openmodelatlas.graph.repeats import repeat_of
from openmodelatlas.graph.sizes import Sizes
from openmodelatlas.graph.syntax import FileSyntax, position
from openmodelatlas.graph.text import one_line
from openmodelatlas.graph.tree import Place, Tree, starred

_MOST_TEXT = 400
Phase = Literal["prefill", "decode"]


class Nodes:
    """Makes nodes. Everything it needs was computed before; it only looks up and writes down."""

    def __init__(
        self,
        trees: Sequence[Tree],
        syntax: Mapping[str, FileSyntax],
        sizes: Sizes,
        labels: Labels,
        flow: Flow,
        coverage: Coverage,
    ) -> None:
        self._trees = trees
        self._syntax = syntax
        self._sizes = sizes
        self._labels = labels
        self._flow = flow
        self._coverage = coverage
        self._aliases = Aliases(trees, syntax, flow)
        self._published = Published(trees, sizes.roles, sizes)
        self.cited: set[str] = set()

    def make(self, root: Draft, phase: Phase, facts: Mapping[Draft, tuple[str, ...]]) -> list[Node]:
        """Nodes of everything below ``root``, tensors included, in order of execution.

        Args:
            root: the model or the decode phase.
            phase: which of them.
            facts: names of the parameters of each draft.
        """
        tensors: dict[Draft, list[TensorDraft]] = {}
        inside = set(root.walk())
        for tensor in self._flow.tensors:
            if tensor.operation in inside:
                tensors.setdefault(tensor.owner, []).append(tensor)
        parents = {child: draft for draft in root.walk() for child in draft.children}
        made: list[Node] = []
        for draft in root.walk():
            parent = parents.get(draft)
            address = self._labels.addresses[parent] if parent is not None else ("" if draft.kind == "phase" else None)
            own = tensors.get(draft, [])
            made.append(self._node(draft, address, phase, own, facts.get(draft, ())))
            made.extend(self._tensor_node(tensor, phase) for tensor in own)
        return made

    def _node(
        self, draft: Draft, parent: str | None, phase: Phase, tensors: list[TensorDraft], parameters: tuple[str, ...]
    ) -> Node:
        name = self._labels.names[draft]
        inputs, outputs = self._ports(draft)
        module = self._labels.module(draft)
        leaf = draft.leaf
        frame = self._frame(draft)
        members = tuple(sorted(set(draft.layers)))
        many = len(members) > 1 or len(draft.sites) > 1
        runs = leaf if leaf is not None else draft.running
        arguments = self._arguments(runs)
        variations = self._variations(draft)
        return Node(
            address=self._labels.addresses[draft],
            kind=draft.kind,
            title=name.title,
            label=name.label,
            parent=parent,
            children=tuple(self._labels.addresses[child] for child in draft.children)
            + tuple(tensor.address for tensor in tensors),
            members=members,
            count=len(draft.sites) or len(draft.layers) or 1,
            repeat=repeat_of(draft, self._trees, self._sizes, phase),
            phase=phase,
            symbol=self._symbol(draft),
            code=self._code(draft, frame),
            function=self._function(draft, leaf),
            module=(starred(module.name) if many else module.name) if module is not None else None,
            class_name=module.class_name if module is not None else None,
            arguments=arguments,
            published=self._published.arguments(runs, arguments) if runs is not None and arguments else {},
            operands=self._operands(leaf),
            result=self._trees[leaf.probe].operation(leaf.event).result if leaf is not None else None,
            attributes=self._attributes(module, variations),
            plumbing=draft.kind == "operation" and leaf is not None and self._is_plumbing(leaf),
            inputs=inputs,
            outputs=outputs,
            parameters=parameters,
            branches=self._branches(draft, frame),
            unreached=self._unreached(draft),
            variations=variations,
            events=self._events(draft),
        )

    def _ports(self, draft: Draft) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        if (
            draft.kind == "layer group"
            and draft.site is None
            and all(child.site is not None for child in draft.children)
        ):
            last = max(draft.children, key=lambda child: max(child.layers, default=0))
            return self._flow.inputs(draft.children[0]), self._flow.outputs(last, last=True)
        if draft.kind == "branch":
            return self._aliases.ports(draft, *self._flow.boundary(draft))
        if draft.site is None or (draft.kind == "loop" and draft.operation):
            return self._flow.boundary(draft)
        return self._flow.inputs(draft), self._flow.outputs(draft)

    def _frame(self, draft: Draft) -> Site | None:
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

    # Source ---------------------------------------------------------------------------------------------------

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

    def _symbol(self, draft: Draft) -> Symbol | None:
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
            outcomes = {draft.decision.outcome(number) for number in draft.layers}
            computed = computed_in(node, other_first=outcomes == {"false"})
            text = self._syntax[key[0]].segment(position(computed)) if computed is not None else text
        return Symbol(text=_short(text), lines=Lines(file=key[0], first=condition.first, last=condition.last))

    def _code(self, draft: Draft, frame: Site | None) -> Lines | None:
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

    def _function(self, draft: Draft, leaf: Site | None) -> str | None:
        if leaf is not None:
            return self._trees[leaf.probe].operation(leaf.event).function
        site = draft.running
        if site is None or not site.is_call:
            return None
        recording = self._trees[site.probe].recording
        call = recording.calls[~site.event]
        return recording.codes[call.code].name if call.code >= 0 else call.name

    def _is_plumbing(self, site: Site) -> bool:
        return is_plumbing(self._trees[site.probe].operation(site.event).function)

    def _arguments(self, site: Site | None) -> dict[str, Any]:
        """Arguments that are no tensors, as they were in the first probe."""
        if site is None:
            return {}
        recording = self._trees[site.probe].recording
        if site.is_call:
            named = recording.calls[~site.event].arguments
        else:
            operation = recording.operations[site.event]
            named = {str(index): value for index, value in enumerate(operation.arguments)} | operation.keywords
        return {name: value for name, value in named.items() if _is_plain(value)}

    def _operands(self, site: Site | None) -> dict[str, Any]:
        """Arguments that are or hold tensors, as they were in the first probe."""
        if site is None:
            return {}
        operation = self._trees[site.probe].recording.operations[site.event]
        named = {str(index): value for index, value in enumerate(operation.arguments)} | operation.keywords
        return {name: self._with_names(value, site.probe) for name, value in named.items() if _holds_tensor(value)}

    def _with_names(self, value: Any, probe: int) -> Any:
        """An encoded value with names in place of the numbers of tensors."""
        if isinstance(value, dict):
            if "tensor" in value:
                return self._flow.operand(probe, value["tensor"])
            return {key: self._with_names(item, probe) for key, item in value.items()}
        return [self._with_names(item, probe) for item in value] if isinstance(value, list) else value

    def _attributes(self, module: Module | None, variations: Sequence[Variation]) -> dict[str, Any]:
        """Attributes of a module that are the same in all members; the others are variations."""
        if module is None:
            return {}
        varying = {variation.what for variation in variations}
        attributes = self._published.attributes(module)
        return {name: value for name, value in attributes.items() if f"attribute {name}" not in varying}

    # Facts ----------------------------------------------------------------------------------------------------

    def _branches(self, draft: Draft, frame: Site | None) -> tuple[Branch, ...]:
        decisions = [draft.decision] if draft.decision is not None else draft.decisions
        return tuple(self._branch(decision, frame) for decision in decisions) if frame is not None else ()

    def _branch(self, decision: Decision, frame: Site) -> Branch:
        condition = decision.condition
        key = function_key(self._trees[frame.probe], ~frame.event)
        lines = Lines(file=key[0] if key else "", first=condition.first, last=condition.last)
        return Branch(test=condition.test, lines=lines, taken=decision.taken)

    def _unreached(self, draft: Draft) -> tuple[Unreached, ...]:
        site = draft.running
        if site is None or not site.is_call or draft.operation:
            return ()
        tree = self._trees[site.probe]
        key: FunctionKey | None = function_key(tree, ~site.event)
        function = tree.function(~site.event)
        if key is None or function is None:
            return ()
        return tuple(
            Unreached(
                lines=Lines(file=key[0], first=first, last=last),
                condition=guard.test if guard is not None else None,
                condition_line=guard.first if guard is not None else None,
            )
            for first, last, guard in self._coverage.unreached(key, function)
        )

    def _variations(self, draft: Draft) -> tuple[Variation, ...]:
        if len(draft.sites) < 2 or draft.site is None:
            return ()
        found: list[Variation] = []
        numbers = [name for name, value in self._named_arguments(draft.site).items() if type(value) is int]
        rows = [self._named_arguments(site) for site in draft.sites] if numbers else []
        for name in numbers:
            values = [row.get(name) for row in rows]
            if all(type(value) is int for value in values) and len(set(values)) > 1:
                found.append(self._argument_variation(draft.sites, name, rows))
        module = self._labels.module(draft)
        if module is not None:
            found.extend(self._attribute_variations(draft))
        return tuple(found)

    def _named_arguments(self, site: Site) -> Mapping[str, Any]:
        recording = self._trees[site.probe].recording
        return recording.calls[~site.event].arguments if site.is_call else recording.operations[site.event].keywords

    def _argument_variation(self, sites: Sequence[Site], name: str, rows: Sequence[Mapping[str, Any]]) -> Variation:
        """An argument that differs between members, at the published configuration where that is known."""
        texts: list[str] = []
        for site, row in zip(sites, rows, strict=True):
            shown = self._published.arguments(site, {name: row[name]}).get(name, row[name])
            if isinstance(shown, dict):
                shown = shown.get("value") or shown.get("size") or f"{row[name]} in the probe"
            texts.append(str(shown))
        return Variation(what=f"argument {name}", values=tuple(texts))

    def _attribute_variations(self, draft: Draft) -> list[Variation]:
        rows: list[dict[str, Any]] = []
        for site in draft.sites:
            recording = self._trees[site.probe].recording
            rows.append(self._published.attributes(recording.modules[recording.calls[~site.event].module]))
        return [
            Variation(what=f"attribute {name}", values=tuple(str(row.get(name)) for row in rows))
            for name in rows[0]
            if len({str(row.get(name)) for row in rows}) > 1
        ]

    def _events(self, draft: Draft) -> int:
        members = draft.operation or (draft.sites if draft.kind in ("operation", "kernel") else [])
        return sum(len(site.instances[0]) for site in members if not site.is_call)

    # Tensors --------------------------------------------------------------------------------------------------

    def _tensor_node(self, tensor: TensorDraft, phase: Phase) -> Node:
        owner = tensor.owner
        members = tensor.operation.operation or tensor.operation.sites
        shown = members[:1] if self._sizes.alike(members) else members
        shapes = [self._sizes.output(site, tensor.index) for site in shown]
        ranks = {len(shape) for shape in shapes}
        shape = tuple(join_dimensions(column) for column in zip(*shapes, strict=True)) if len(ranks) == 1 else shapes[0]
        dtype, note = self._sizes.dtype(tensor.site, tensor.index)
        number = self._trees[tensor.site.probe].operation(tensor.site.event).outputs[tensor.index]
        recorded = tensor.site.probe == 0
        return Node(
            address=tensor.address,
            kind="tensor",
            title=tensor.title,
            label=tensor.title,
            parent=self._labels.addresses[owner],
            members=tuple(sorted(set(owner.layers))),
            count=len(members),
            phase=phase,
            symbol=self._tensor_symbol(tensor),
            code=self._code(owner, self._frame(owner)),
            tensor=TensorFact(
                shape=shape,
                dtype=dtype,
                dtype_note=note,
                variable=tensor.variable,
                producer=self._labels.addresses[tensor.operation],
                consumers=tuple(tensor.consumers),
                value=str(number) if recorded else None,
                value_note=None if recorded else "did not run in the probe whose values are kept",
            ),
        )

    def _tensor_symbol(self, tensor: TensorDraft) -> Symbol | None:
        site = tensor.line_site or tensor.site
        place = self._trees[site.probe].place(site.event)
        if place is None:
            return None
        text = tensor.variable or self._syntax[place[0]].segment(place[1:])
        return Symbol(text=_short(text), lines=self._lines(place))


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


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        if "tensor" in value:
            return False
        if "list" in value:
            return all(_is_plain(element) for element in value["list"])
        return "dict" not in value and "object" not in value and "module" not in value
    return True


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, dict):
        return "tensor" in value or any(_holds_tensor(item) for item in value.values())
    return isinstance(value, list) and any(_holds_tensor(item) for item in value)
