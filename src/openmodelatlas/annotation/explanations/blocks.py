"""What a block does, in one sentence: its norms and mechanisms up to each residual addition, and its variants."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from openmodelatlas.annotation.counting import few_layers, listed
from openmodelatlas.annotation.explanations.code import Syntax, attribute_path
from openmodelatlas.annotation.explanations.titles import Titles
from openmodelatlas.annotation.explanations.variants import Variant, Variants
from openmodelatlas.annotation.explanations.verbs import is_imperative, lower, noun_phrase
from openmodelatlas.annotation.material import Drafts
from openmodelatlas.graph.document import Branch, Document, Node
from openmodelatlas.graph.outcomes import branches_of, outcome_for

_MECHANISMS = ("attention", "feed-forward")
_NUMBERS = ("a", "a second", "a third", "a fourth")


class Blocks:
    """Writes sentences about groups of layers of one class."""

    def __init__(self, document: Document, drafts: Drafts, titles: Titles, syntax: Syntax) -> None:
        self._document = document
        self._nodes = document.nodes
        self._drafts = drafts
        self._titles = titles
        self._syntax = syntax
        self._variants = Variants(document, syntax)

    def sentence(self, group: Node, *, whole: bool) -> str | None:
        """The sentence, with its variants if ``whole``; ``None`` if no residual additions would divide it."""
        steps = [child for address in group.children if self._counts(child := self._nodes[address])]
        if not any(self._role(step) == "residual addition" for step in steps):
            return None
        mixed = [step for step in steps if self._role(step) == "depth mixture"]
        text = self._with_sums(group, steps) if mixed else self._in_segments(group, steps)
        says = [text, *(self._variant(group, each) for each in self._variants.of(group) if whole)]
        return f"{'; '.join(says)}."

    def _counts(self, node: Node) -> bool:
        return node.kind not in ("tensor", "phase") and not node.plumbing

    def _role(self, node: Node) -> str | None:
        return self._drafts.nodes[node.address].role

    def _noun(self, group: Node) -> str:
        """What the atlas calls its layers: ``block`` or ``layer``."""
        labels = [self._titles.label(group)]
        if group.parent is not None and self._nodes[group.parent].kind == "layer group":
            labels.append(self._titles.label(self._nodes[group.parent]))
        return "block" if any("block" in label for label in labels) else "layer"

    def _in_segments(self, group: Node, steps: Sequence[Node]) -> str:
        """``A block applies input RMSNorm, attention and a residual addition, then …``."""
        parts: list[str] = []
        items: list[str] = []
        seen = False
        before, added = "", 0
        for step in steps:
            family = self._drafts.nodes[step.address].family
            if self._role(step) == "residual addition":
                items.append(f"{_NUMBERS[min(added, 3)]} residual addition")
                parts.append(listed(items))
                before, added, items, seen = self._adds(step), added + 1, [], False
                continue
            is_norm = (self._role(step) or "").endswith("norm")
            name = lower(self._titles.base(step)) if is_norm else self._mechanism(group, step)
            if is_norm and not seen:
                name = f"{f'post-{before}' if before else 'input'} {name}" if not items else name
            elif is_norm:
                name = f"{name} of its output"
            seen = seen or family in _MECHANISMS
            if name not in items:
                items.append(name)
        if items:
            parts.append(listed(items))
        return f"A {self._noun(group)} applies {', then '.join(parts)}"

    def _adds(self, addition: Node) -> str:
        """Which mechanism's update an addition adds: ``attention``, ``feed-forward``."""
        title = self._titles.of(addition).lower()
        return next((each for each in _MECHANISMS if each in title), "update")

    def _mechanism(self, group: Node, step: Node) -> str:
        """What a step is called; where layers hold different modules in its place, what they have in common."""
        for variant in self._variants.of(group):
            if any(step.address == module.address or self._same_slot(step, module) for module, _ in variant.ways):
                family = self._drafts.nodes[step.address].family
                return "the feed-forward network" if family in ("feed-forward", "routing") else f"{family}"
        title = self._titles.base(step)
        family = self._drafts.nodes[step.address].family
        return lower(title) if family == "attention" else noun_phrase(title)

    def _same_slot(self, step: Node, module: Node) -> bool:
        """Whether two modules are the same attribute of their layers."""
        if step.kind != "module" or step.module is None or module.module is None:
            return False
        return step.module.rpartition(".")[2] == module.module.rpartition(".")[2]

    def _variant(self, group: Node, variant: Variant) -> str:
        """``the first `first_k_dense_replace` blocks use the dense MLP, the rest the mixture of experts``."""
        (one, members), (other, _) = variant.ways
        names = [noun_phrase(self._titles.base(module)) for module in (one, other)]
        if names[0] == names[1] or any(is_imperative(self._titles.base(module)) for module in (one, other)):
            names = [f"`{module.class_name}`" for module in (one, other)]
        if names[0] == names[1]:
            names = [f"`{(module.module or '').rpartition('.')[2]}`" for module in (one, other)]
        noun = self._noun(group)
        if variant.first is not None:
            return f"the first `{variant.first}` {noun}s use {names[0]}, the rest {names[1]}"
        use = "uses" if len(members) == 1 else "use"
        return f"{few_layers(members)} {use} {names[0]}, the others {names[1]}"

    def _with_sums(self, group: Node, steps: Sequence[Node]) -> str:
        """``With attention residuals, a layer mixes its attention input from the stored sums and …``."""
        said: list[str] = []
        mixed = False
        for index, step in enumerate(steps):
            role = self._role(step)
            if role == "depth mixture":
                what = self._feeds(steps[index + 1 :])
                which = self._reaching(step)
                if mixed:
                    said.append(f"mixes the {what} the same way{which}")
                else:
                    said.append(f"mixes its {what} from the stored sums and the running sum{which}")
                mixed = True
            elif role in ("stored sum", "sum storing") or self._titles.of(step).startswith("Store the running sum"):
                said += self._storing(group, step, steps[index + 1 :])
            elif role == "residual addition":
                what = "attention output" if self._adds(step) == "attention" else "feed-forward output"
                said.append(f"adds the {what}{' to the running sum' if what.startswith('attention') else ''}")
        return f"With attention residuals, a {self._noun(group)} {', '.join(said[:-1])}, and {said[-1]}"

    def _feeds(self, later: Sequence[Node]) -> str:
        """What a mixture is the input of: the next mechanism."""
        for step in later:
            if self._role(step) == "residual addition":
                return f"{self._adds(step)} input"
        return "input"

    def _storing(self, group: Node, step: Node, later: Sequence[Node]) -> Iterator[str]:
        """That the running sum is stored, when, and that a new one starts where nothing is carried on."""
        branch = next(iter(branches_of(step, self._nodes)), None) if step.kind == "branch" else None
        if branch is None:
            yield "stores the running sum"
            return
        stores = set(branch.taken.get("true", ()))
        restarts = any(
            stores in [set(layers) for layers in other.taken.values()]
            for each in later
            if self._role(each) == "residual addition" and each.kind == "branch"
            for other in branches_of(each, self._nodes)[:1]
        )
        doing = "stores the running sum and starts a new one" if restarts else "stores the running sum"
        yield f"{doing} {self._when(group, branch)}"

    def _when(self, group: Node, branch: Branch) -> str:
        """``when its index is divisible by `attn_res_block_size```, or the condition as it stands."""
        test = self._followed(group, branch.test)
        words = divisible(test)
        return f"when {words}" if words is not None else f"where `{' '.join(branch.test.split())}`"

    def _followed(self, group: Node, test: str) -> ast.expr | None:
        """A condition; one that is a bare attribute is what the constructor assigns to it."""
        try:
            tree: ast.expr = ast.parse(test.strip(), mode="eval").body
        except SyntaxError:
            return None
        path = attribute_path(tree)
        definition = self._syntax.class_of(group.code) if group.code is not None else None
        if path is None or path[0] != "self" or len(path) != 2 or definition is None or group.code is None:
            return tree
        for constructor in self._syntax.constructors(group.code.file, definition.name):
            assigned = self._syntax.assignments_to(constructor, f"self.{path[1]}")
            if len(assigned) == 1:
                return assigned[0][0]
        return tree

    def _reaching(self, step: Node) -> str:
        """`` in layers 2–93``, for a statement that not all layers reach."""
        branch = next(iter(branches_of(step, self._nodes)), None) if step.kind == "branch" else None
        if branch is None or len([layers for layers in branch.taken.values() if layers]) < 2:
            return ""
        outcome = outcome_for(branch, step)
        runs = any(self._counts(self._nodes[address]) for address in step.children)
        way = outcome if runs else {"true": "false", "false": "true"}.get(outcome or "")
        taken = branch.taken.get(way or "", ())
        return f" (in {few_layers(taken, branch.by)})" if taken else ""


def divisible(test: ast.expr | None) -> str | None:
    """``its index is divisible by `n``` for ``self.layer_idx % config.n == 0``."""
    match test:
        case ast.Compare(
            left=ast.BinOp(left=number, op=ast.Mod(), right=size), ops=[ast.Eq()], comparators=[ast.Constant(value=0)]
        ):
            index, divisor = attribute_path(number), attribute_path(size)
            if index is not None and divisor is not None and ("layer" in index[-1] or "idx" in index[-1]):
                return f"its index is divisible by `{divisor[-1]}`"
    return None
