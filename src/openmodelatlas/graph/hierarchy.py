"""The folded events as the hierarchy that a reader walks: layer groups, modules, functions, branches, operations.

Three things tell it from the bare call tree. A wrapper that only hands on to one other call is left out; torch's own
module and the one operation it runs are one node; and the modules between the model and its layers (``model`` in
``model.layers``) are opened, so that the layers stand directly below the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from openmodelatlas.graph.align import Element, Site
from openmodelatlas.graph.branches import Decision, FunctionKey, decisions, function_key
from openmodelatlas.graph.document import NodeKind
from openmodelatlas.graph.fold import Fold, LoopFold, SiteFold, VariantFold
from openmodelatlas.graph.tree import Tree


@dataclass(eq=False)
class Draft:
    """A node in the making.

    Attributes:
        kind: what it will be.
        sites: the members it stands for, the representative first; empty for groups whose rounds hold several steps.
        layers: layer numbers, one for each of ``sites`` (or of the rounds that are layers); empty outside layers.
        rounds: numbers of the rounds it stands for, of a loop whose rounds are no layers and not all alike; else empty.
        children: what is inside, in order of execution.
        operation: for a module or kernel that is one with its only operation: that operation's members.
        variant: the equal rounds it stands for, for layer groups.
        loop: the loop it is, for groups and loops.
        decision: the condition it is, for branches.
        decisions: conditions of its own function that the layers take differently.
        frame: for a branch, the call it stands in.
        body: for a module whose ``forward`` is wrapped by a decorator, or only calls another method of its class: the
            members of that function.
        outer: the outermost of the wrappers that were left out around it: its expression is the one a reader sees.
    """

    kind: NodeKind
    sites: list[Site] = field(default_factory=list)
    layers: list[int] = field(default_factory=list)
    children: list[Draft] = field(default_factory=list)
    operation: list[Site] = field(default_factory=list)
    variant: VariantFold | None = None
    loop: LoopFold | None = None
    decision: Decision | None = None
    decisions: list[Decision] = field(default_factory=list)
    frame: Site | None = None
    body: list[Site] = field(default_factory=list)
    outer: Site | None = None
    rounds: list[int] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        """Of a variant of a loop the numbers of its rounds, else the layers."""
        return self.variant.numbers if self.variant is not None else self.layers

    @property
    def site(self) -> Site | None:
        """The representative."""
        return self.sites[0] if self.sites else None

    @property
    def running(self) -> Site | None:
        """The call whose function says what the node does: its own, or the function that its own only wraps."""
        return self.body[0] if self.body else self.site

    @property
    def expression(self) -> Site | None:
        """The site whose expression in the code is this node."""
        return self.outer or self.site

    @property
    def leaf(self) -> Site | None:
        """The operation that a leaf node runs; ``None`` for nodes with children of their own."""
        if self.operation:
            return self.operation[0]
        return self.site if self.kind == "operation" else None

    def walk(self) -> Iterator[Draft]:
        """This draft and everything inside, in order of execution."""
        yield self
        for child in self.children:
            yield from child.walk()


class Hierarchy:
    """Makes drafts from folds."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self._trees = trees

    def model(self, fold: SiteFold, kind: NodeKind) -> Draft:
        """The draft of one run of the model (``model`` or, for the decode step, ``phase``)."""
        drafts = self._site(fold)
        root = drafts[0] if len(drafts) == 1 else Draft(kind, fold.members, [], drafts)
        root.kind = kind
        self._open_spine(root)
        return root

    def _drafts(self, folds: Sequence[Fold]) -> list[Draft]:
        found: list[Draft] = []
        for fold in folds:
            found.extend(self._loop(fold) if isinstance(fold, LoopFold) else self._site(fold))
        return found

    def _site(self, fold: SiteFold) -> list[Draft]:
        site = fold.site
        if not site.is_call:
            return [Draft("operation", fold.members, fold.layers)]
        call = self._trees[site.probe].recording.calls[~site.event]
        children = self._drafts(fold.children)
        if call.kind == "kernel" or (call.kind == "module" and call.code < 0 and _is_one_operation(children)):
            kind: NodeKind = "kernel" if call.kind == "kernel" else "module"
            operation = children[0].sites if children else []
            return [Draft(kind, fold.members, fold.layers, [], operation)]
        if call.kind == "function" and (not children or self._hands_on(fold, children)):
            if len(children) == 1 and self._trees[site.probe].place(site.event) is not None:
                children[0].outer = site
            return children
        key = function_key(self._trees[site.probe], ~site.event)
        if call.kind == "module" and key is not None and self._is_of_another_function(key, children):
            only = children[0]
            return [Draft("module", fold.members, fold.layers, only.children, body=only.sites)]
        return [Draft(call.kind, fold.members, fold.layers, children)]

    def _is_of_another_function(self, key: FunctionKey, children: list[Draft]) -> bool:
        """Whether a module's ``forward`` is a decorator's, or only calls another method of its own class."""
        only = children[0].site if len(children) == 1 and children[0].kind == "function" else None
        if only is None:
            return False
        called = function_key(self._trees[only.probe], ~only.event)
        own_class = key[1].rpartition(".")[0]
        same = called is not None and bool(own_class) and called[1].rpartition(".")[0] == own_class
        return "<locals>" in key[1] or same

    def _hands_on(self, fold: SiteFold, children: list[Draft]) -> bool:
        """Whether a function is a comprehension, or a wrapper (of a decorator, a ``__call__``) around one other."""
        key = function_key(self._trees[fold.site.probe], ~fold.site.event)
        name = key[1] if key is not None else ""
        if name.endswith(">"):
            return True
        wraps = "<locals>" in name or name.endswith("__")
        only = len(children) == 1 and len(fold.children) == 1
        return wraps and only and children[0].kind in ("function", "module", "kernel")

    def _loop(self, fold: LoopFold) -> list[Draft]:
        if fold.merged:
            return self._merged_loop(fold)
        variants = [self._variant(fold, variant) for variant in fold.variants]
        variants = [variant for variant in variants if variant.children or variant.operation]
        if not variants:
            return []
        self._note_decisions(fold, variants)
        if len(variants) == 1:
            return variants
        layers = sorted({number for variant in fold.variants for number in variant.numbers})
        kind: NodeKind = "layer group" if fold.runs_a_list else "loop"
        return [Draft(kind, [], layers if fold.over_layers else fold.layers, variants, loop=fold)]

    def _variant(self, fold: LoopFold, variant: VariantFold) -> Draft:
        children = self._drafts(variant.children)
        only = children[0] if len(children) == 1 else None
        layers = variant.numbers if fold.over_layers else fold.layers
        rounds = variant.numbers if not fold.over_layers and len(fold.variants) > 1 else []
        if only is not None and only.kind == "module" and only.site is not None and fold.runs_a_list:
            return Draft(
                "layer group",
                only.sites,
                layers,
                only.children,
                only.operation,
                variant=variant,
                loop=fold,
                body=only.body,
                outer=only.outer,
                rounds=rounds,
            )
        kind: NodeKind = "layer group" if fold.runs_a_list else "loop"
        return Draft(kind, [], layers, children, variant=variant, loop=fold, rounds=rounds)

    def _merged_loop(self, fold: LoopFold) -> list[Draft]:
        children = self._drafts(fold.children)
        if len(children) == 1 and children[0].kind == "module":
            only = children[0]
            loop = Draft("loop", only.sites, fold.layers, only.children, only.operation, loop=fold)
            loop.body, loop.outer = only.body, only.outer
            return [loop]
        return [Draft("loop", [], fold.layers, children, loop=fold)] if children else []

    # Branches -------------------------------------------------------------------------------------------------

    def _note_decisions(self, fold: LoopFold, variants: list[Draft]) -> None:
        """Puts conditions that the rounds take differently between a function and the steps inside the condition."""
        rounds: list[tuple[int, list[Element]]] = []
        for variant in fold.variants:
            rounds.extend(zip(variant.numbers, variant.rounds, strict=True))
        by_function = decisions(self._trees, rounds, "layer" if fold.over_layers else "round")
        if not by_function:
            return
        for variant_draft in variants:
            for draft in list(variant_draft.walk()):
                site = draft.running
                if site is None or not site.is_call or draft.decisions or draft.operation:
                    continue
                key = function_key(self._trees[site.probe], ~site.event)
                if key is not None and key in by_function:
                    self._branch(draft, site, by_function[key], variant_draft.rounds)

    def _branch(self, draft: Draft, site: Site, decided: list[Decision], rounds: list[int]) -> None:
        draft.decisions = decided
        lines = {
            line
            for event in site.instances[site.probe]
            for line in self._trees[site.probe].recording.calls[~event].trace
        }
        reached = [d for d in draft.decisions if any(d.condition.first <= line <= d.condition.last for line in lines)]
        branch = Draft("branch", [], draft.layers, frame=site, rounds=rounds)
        draft.children = self._nest(draft.children, reached, branch)

    def _nest(self, children: list[Draft], reached: list[Decision], branch: Draft) -> list[Draft]:
        """Moves children inside a condition's statement below a draft for it; conditions come outermost first.

        Drafts are like ``branch`` but for their condition.
        """
        if not reached:
            return children
        outer = [d for d in reached if not any(_inside(d, other) for other in reached)]
        nested: list[tuple[int, Draft]] = [(self._line(child), child) for child in children]
        for decision in outer:
            condition = decision.condition
            inside = [item for item in nested if condition.first <= item[0] <= condition.last]
            inner = [d for d in reached if _inside(d, decision)]
            around = replace(branch, decision=decision)
            around.children = self._nest([draft for _, draft in inside], inner, branch)
            place = nested.index(inside[0]) if inside else self._place_for(nested, condition.first)
            nested = [item for item in nested if item not in inside]
            nested.insert(place, (condition.first, around))
        return [draft for _, draft in nested]

    def _line(self, draft: Draft) -> int:
        if draft.decision is not None:
            return draft.decision.condition.first
        site = next((inner.site for inner in draft.walk() if inner.site is not None), None)
        if draft.loop is not None and draft.loop.members[0].loop is not None:
            return draft.loop.members[0].loop.header
        site = draft.expression or site
        position = self._trees[site.probe].position(site.event) if site is not None else None
        return position[0] if position else 0

    def _place_for(self, nested: list[tuple[int, Draft]], line: int) -> int:
        return next((index for index, item in enumerate(nested) if item[0] > line), len(nested))

    # Spine ----------------------------------------------------------------------------------------------------

    def _open_spine(self, root: Draft) -> None:
        """Replaces each module on the way from the model to its longest layer group by what is inside it."""
        while True:
            way = self._way_to_layers(root)
            if len(way) < 2:
                return
            module = way[0]
            index = root.children.index(module)
            root.children[index : index + 1] = module.children

    def _way_to_layers(self, root: Draft) -> list[Draft]:
        best: list[Draft] = []
        most = 1

        def visit(draft: Draft, way: list[Draft]) -> None:
            nonlocal best, most
            for child in draft.children:
                if child.kind == "layer group":
                    if len(child.layers) > most:
                        best, most = [*way, child], len(child.layers)
                elif child.kind in ("module", "function"):
                    visit(child, [*way, child])

        visit(root, [])
        return best


def _inside(inner: Decision, outer: Decision) -> bool:
    if inner is outer:
        return False
    return outer.condition.first <= inner.condition.first and inner.condition.last <= outer.condition.last


def _is_one_operation(children: list[Draft]) -> bool:
    return len(children) == 1 and children[0].kind == "operation"
