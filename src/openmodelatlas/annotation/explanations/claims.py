"""Claims: one sentence about a piece of code that its recording makes true, with the lines and their hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from openmodelatlas.annotation.counting import few_layers
from openmodelatlas.annotation.explanations.verbs import third_person
from openmodelatlas.annotation.knowledge import Claim
from openmodelatlas.annotation.material import Drafts, Material
from openmodelatlas.graph.document import Lines, Node
from openmodelatlas.graph.outcomes import branches_of, outcome_for

_MOST_STEPS = 12


class Claims:
    """Writes the direct claim of every node whose code is cited."""

    def __init__(self, material: Material, drafts: Drafts) -> None:
        self._document = material.document
        self._nodes = material.document.nodes
        self._code = material.code
        self._drafts = drafts
        self._hashes: dict[tuple[str, int, int], str] = {}

    def claim(self, node: Node) -> Claim | None:
        """What the lines of ``node.code`` prove of it; ``None`` if none are cited."""
        lines = node.code
        if lines is None or lines.file not in self._document.files or node.kind == "tensor":
            return None
        owner = self._owner(node)
        if node.kind in ("operation", "kernel"):
            text = self._step(node, owner)
        else:
            text = self._sentence(owner)
            own = self._own(node) if node is not owner else ""
            text = f"{text} {own}" if own else text
        name = owner.function if owner.kind == "function" else owner.class_name or owner.function
        return Claim(id=_slug(name or owner.label), text=text, lines=lines, sha256=self.sha256(lines))

    def sha256(self, lines: Lines) -> str:
        """Of whole lines in UTF-8, each ended by a line feed."""
        key = (lines.file, lines.first, lines.last)
        if key not in self._hashes:
            text = "".join(f"{line}\n" for line in self._code.lines_of(lines.file)[lines.first - 1 : lines.last])
            self._hashes[key] = hashlib.sha256(text.encode("utf-8", errors="surrogateescape")).hexdigest()
        return self._hashes[key]

    def _owner(self, node: Node) -> Node:
        """The module, function or layer group that the lines are the code of: what the sentence is about."""
        current = node
        while current.kind in ("operation", "kernel", "branch", "loop") and current.parent is not None:
            current = self._nodes[current.parent]
        # The loop over layers stands in the code of what encloses it.
        while current.kind == "layer group" and current.class_name is None and current.parent is not None:
            current = self._nodes[current.parent]
        return current

    def _sentence(self, owner: Node) -> str:
        name = owner.class_name or owner.function or owner.title
        steps = self._steps(owner)
        if not steps:
            return f"`{name}` is the code of {self._title(owner)}."
        if len(steps) > _MOST_STEPS:
            steps = [*steps[:_MOST_STEPS], f"goes on with {len(steps) - _MOST_STEPS} further steps"]
        return f"`{name}` {_listed(steps)}."

    def _steps(self, owner: Node) -> list[str]:
        """What the code does, in order, as verb phrases; plumbing left out."""
        steps: list[str] = []
        for address in owner.children:
            child = self._nodes[address]
            if child.kind == "tensor" or child.plumbing or child.kind == "phase":
                continue
            title = self._title(child)
            applied = "applies" if child.kind in ("module", "function", "kernel") else "computes"
            applied = "runs" if child.kind in ("layer group", "loop") else applied
            phrase = third_person(title, otherwise=applied)
            conditions = branches_of(child, self._nodes) if child.kind == "branch" else ()
            if conditions:
                outcome = outcome_for(conditions[0], child)
                test = " ".join(conditions[0].test.split())
                told = {"true": "if", "false": "unless"}.get(outcome or "", "depending on")
                phrase = f"{phrase} ({told} `{test}`)"
            if not steps or steps[-1] != phrase:
                steps.append(phrase)
        return steps

    def _step(self, node: Node, owner: Node) -> str:
        """What one expression does within the code around it."""
        name = owner.class_name or owner.function or owner.title
        place = "this code" if node.symbol is None else _place(node.symbol.lines)
        return f"In `{name}`, {place} {third_person(self._title(node))}."

    def _own(self, node: Node) -> str:
        """What the node's own lines are, within the code around them."""
        if node.symbol is None:
            return ""
        place = _place(node.symbol.lines)
        if node.kind == "branch":
            conditions = branches_of(node, self._nodes)
            if conditions:
                test = " ".join(conditions[0].test.split())
                ways = "; ".join(
                    f"{outcome} in {few_layers(taken)}" for outcome, taken in conditions[0].taken.items() if taken
                )
                return f"Here: {place}, where `{test}` is {ways}."
        return f"Here: {place}."

    def _title(self, node: Node) -> str:
        draft = self._drafts.nodes.get(node.address)
        return (draft.title if draft is not None else None) or node.title


def _listed(steps: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``; a verb that is repeated is said once."""
    said: list[str] = []
    before = ""
    for step in steps:
        verb, _, rest = step.partition(" ")
        said.append(rest if verb == before and rest and len(steps) > 2 else step)
        before = verb
    if len(said) == 1:
        return said[0]
    last = steps[-1] if said[-1] != steps[-1] else said[-1]
    return f"{', '.join(said[:-1])} and {last}"


def _place(lines: Lines) -> str:
    return f"line {lines.first}" if lines.first == lines.last else f"lines {lines.first}–{lines.last}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", text).lower()).strip("-")
