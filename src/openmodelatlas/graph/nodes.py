"""Turns named drafts and tensor drafts into the nodes of the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openmodelatlas.capture import encoded
from openmodelatlas.capture.recording import Module, Phase
from openmodelatlas.graph.aliases import Aliases
from openmodelatlas.graph.align import Site
from openmodelatlas.graph.borders import Borders
from openmodelatlas.graph.branches import Coverage, Decision, FunctionKey, function_key
from openmodelatlas.graph.document import Branch, Lines, Node, Port, TensorFact, Unreached, Variation
from openmodelatlas.graph.flow import Flow
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.joining import shape_of_members
from openmodelatlas.graph.labels import Labels
from openmodelatlas.graph.makers import TensorDraft
from openmodelatlas.graph.naming import is_plumbing
from openmodelatlas.graph.node_source import NodeSource
from openmodelatlas.graph.published import Published
from openmodelatlas.graph.repeats import repeat_of
from openmodelatlas.graph.sizes import Sizes
from openmodelatlas.graph.syntax import FileSyntax
from openmodelatlas.graph.tree import Tree, starred
from openmodelatlas.graph.variations import Variations


class Nodes:
    """Makes nodes. Everything it needs was computed before; it only looks up and writes down.

    Attributes:
        source: where it looks up source, and which files that cites.
    """

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
        self._sizes = sizes
        self._labels = labels
        self._flow = flow
        self._coverage = coverage
        self._aliases = Aliases(trees, syntax, flow)
        self._borders = Borders(trees, labels, flow)
        self._published = Published(trees, sizes.roles, sizes)
        self._variations = Variations(trees, labels, self._published)
        self.source = NodeSource(trees, syntax, labels, flow)

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
        rounds: dict[Draft, tuple[int, ...]] = {}
        made: list[Node] = []
        for draft in root.walk():
            parent = parents.get(draft)
            address = self._labels.addresses[parent] if parent is not None else ("" if draft.kind == "phase" else None)
            rounds[draft] = tuple(draft.rounds) or (rounds[parent] if parent is not None else ())
            own = [self._tensor_node(tensor, phase, rounds[draft]) for tensor in tensors.get(draft, [])]
            made.append(self._node(draft, address, phase, own, facts.get(draft, ()), rounds[draft]))
            made.extend(own)
        return made

    def _node(
        self,
        draft: Draft,
        parent: str | None,
        phase: Phase,
        tensors: Sequence[Node],
        parameters: tuple[str, ...],
        rounds: tuple[int, ...],
    ) -> Node:
        name = self._labels.names[draft]
        inputs, outputs = self._ports(draft)
        module = self._labels.module(draft)
        leaf = draft.leaf
        frame = self.source.frame(draft)
        members = tuple(sorted(set(draft.layers)))
        many = len(members) > 1 or len(draft.sites) > 1
        runs = leaf if leaf is not None else draft.running
        arguments = self._arguments(runs)
        variations = self._variations.of(draft)
        return Node(
            address=self._labels.addresses[draft],
            kind=draft.kind,
            title=name.title,
            label=name.label,
            parent=parent,
            children=tuple(self._labels.addresses[child] for child in draft.children)
            + tuple(tensor.address for tensor in tensors),
            members=members,
            rounds=rounds,
            count=len(draft.sites) or (len(draft.layers) or 1) * (len(draft.rounds) or 1),
            repeat=repeat_of(draft, self._trees, self._sizes, phase),
            phase=phase,
            symbol=self.source.symbol(draft),
            code=self.source.code(draft, frame),
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
            last = max(draft.children, key=lambda child: max(child.numbers, default=0))
            return self._borders.of_variants(draft), self._flow.outputs(last, last=True)
        if draft.kind == "branch":
            return self._aliases.ports(draft, *self._borders.crossed(draft))
        if draft.site is None or (draft.kind == "loop" and draft.operation):
            return self._borders.crossed(draft)
        if draft.kind == "loop":
            return self._borders.of_calls(draft), self._flow.outputs(draft)
        return self._flow.inputs(draft), self._flow.outputs(draft)

    # What ran -------------------------------------------------------------------------------------------------

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
        return {
            name: encoded.replaced(value, lambda reference: self._flow.operand(site.probe, reference["tensor"]))
            for name, value in named.items()
            if any(encoded.references(value))
        }

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
        return Branch(test=condition.test, lines=lines, taken=decision.taken, by=decision.by)

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

    def _events(self, draft: Draft) -> int:
        members = draft.operation or (draft.sites if draft.kind in ("operation", "kernel") else [])
        return sum(len(site.instances[0]) for site in members if not site.is_call)

    # Tensors --------------------------------------------------------------------------------------------------

    def _tensor_node(self, tensor: TensorDraft, phase: Phase, rounds: tuple[int, ...]) -> Node:
        owner = tensor.owner
        members = tensor.operation.operation or tensor.operation.sites
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
            rounds=rounds,
            count=len(members),
            phase=phase,
            symbol=self.source.tensor_symbol(tensor),
            code=self.source.code(owner, self.source.frame(owner)),
            tensor=TensorFact(
                shape=shape_of_members(self._sizes, members, tensor.index),
                dtype=dtype,
                dtype_note=note,
                variable=tensor.variable,
                producer=self._labels.addresses[tensor.operation],
                consumers=tuple(tensor.consumers),
                value=str(number) if recorded else None,
                value_note=None if recorded else "did not run in the probe whose values are kept",
            ),
        )


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        if "tensor" in value:
            return False
        if "list" in value:
            return all(_is_plain(element) for element in value["list"])
        return "dict" not in value and "object" not in value and "module" not in value
    return True
