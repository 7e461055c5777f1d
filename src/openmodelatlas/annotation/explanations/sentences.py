"""What a piece of code does, in one sentence made from what it was seen to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from openmodelatlas.annotation.counting import few_layers, listed
from openmodelatlas.annotation.explanations.blocks import Blocks
from openmodelatlas.annotation.explanations.code import Syntax
from openmodelatlas.annotation.explanations.titles import Titles
from openmodelatlas.annotation.explanations.verbs import is_imperative, noun_phrase, third_person
from openmodelatlas.annotation.material import Drafts, Material
from openmodelatlas.graph.document import Lines, Node
from openmodelatlas.graph.outcomes import branches_of, outcome_for

_MOST_STEPS = 14
_RUN = re.compile(r"router|experts?$|attention$|network$|attention core|mixer$")
"""Roles of what is run rather than computed."""


class Sentences:
    """Writes sentences about modules, functions, blocks, loops and single steps."""

    def __init__(self, material: Material, drafts: Drafts, syntax: Syntax) -> None:
        self._document = material.document
        self._nodes = material.document.nodes
        self._drafts = drafts
        self._titles = Titles(material.document, drafts)
        self._blocks = Blocks(material.document, drafts, self._titles, syntax)

    def of_code(self, owner: Node, *, whole: bool) -> str:
        """What the code of a module, function, model or layer does.

        Args:
            owner: the node that it is the code of.
            whole: whether the constructor is part of it, so that it proves what that chooses.
        """
        if owner.kind == "layer group":
            block = self._blocks.sentence(owner, whole=whole)
            if block is not None:
                return block
        draft = self._drafts.nodes[owner.address]
        if owner.kind == "module" and draft.role == "norm":
            return self._norm(owner)
        phrases = self._phrases(owner.children)
        subject = self._subject(owner)
        if any(rest.lower() == subject.lower() for _, rest in phrases):
            subject = f"`{owner.class_name or owner.function or owner.title}`"
        if not phrases:
            return f"{subject} {self._without_steps(owner)}."
        return f"{subject} {joined(phrases)}."

    def of_layers(self, node: Node) -> str:
        """What a loop over layers runs."""
        kinds = [self._titles.label(self._nodes[address]) for address in node.children]
        inside = [kind for kind, address in zip(kinds, node.children, strict=True) if self._nodes[address].members]
        place = "this code runs" if node.symbol is None else f"{place_of(node.symbol.lines)} run"
        text = f"{place} {self._titles.label(node)} in turn"
        if len(inside) > 1:
            text = f"{text}: {listed(inside)}"
        return f"{text[:1].upper()}{text[1:]}."

    def of_loop(self, node: Node) -> str:
        """What the body of a loop does."""
        place = "This code" if node.symbol is None else place_of(node.symbol.lines)
        place = f"{place[:1].upper()}{place[1:]}"
        each = self._titles.of(node)
        each = each.partition(":")[0]
        each = each if each.lower().startswith("each ") else f"Each round of {noun_phrase(each)}"
        phrases = self._phrases(node.children)
        if not phrases:
            return f"{place} {_are(node)} the loop; it computes nothing."
        return f"{each[:1].upper()}{each[1:]}: the code {joined(phrases)}."

    def of_step(self, node: Node, code: str) -> str:
        """What one expression does within the code around it."""
        place = "this code" if node.symbol is None else place_of(node.symbol.lines)
        verb = third_person(self._titles.of(node), otherwise="computes")
        if node.symbol is not None and node.symbol.lines.first != node.symbol.lines.last:
            place = f"the expression on {place}"
        return f"In `{code}`, {place} {verb}."

    def _subject(self, owner: Node) -> str:
        title = self._titles.base(owner)
        head = title.partition(" of ")[0]
        plural = head.endswith("s") and not head.endswith("ss")
        if owner.kind == "module" and not is_imperative(title) and not plural:
            phrase = noun_phrase(title)
            return f"{phrase[:1].upper()}{phrase[1:]}"
        return f"`{owner.class_name or owner.function or owner.title}`"

    def _without_steps(self, owner: Node) -> str:
        title = self._titles.of(owner)
        if is_imperative(title):
            return third_person(title)
        moved = [child for address in owner.children if (child := self._nodes[address]).plumbing]
        if moved:
            return "only rearranges or casts what it is given"
        return "passes on what it is given"

    def _norm(self, owner: Node) -> str:
        """``RMSNorm owns one gain per feature and computes in float32.``"""
        name = self._titles.base(owner)
        owned = self._owned(owner)
        says = [f"owns {listed(owned)} per feature"] if owned else []
        if not owner.parameters:
            says = ["owns no parameters"]
        if self._computes_in_float32(owner):
            says.append("computes in float32")
        if not says:
            return f"{name} normalises its input."
        return f"{name} {listed(says)}."

    def _owned(self, owner: Node) -> list[str]:
        """``one gain``, ``one bias``: parameters of a norm that have one element per feature, by what reads them."""
        found = []
        for name in owner.parameters:
            fact = self._document.parameters.get(name)
            if fact is None or fact.kind != "parameter" or len(fact.shape) != 1:
                continue
            symbol = self._drafts.tensor_symbols.get(name) or self._drafts.nodes[owner.address].symbols.get(name)
            readers = {self._drafts.nodes[each].role for each in fact.readers if each in self._drafts.nodes}
            word = {"g": "gain", "b": "bias"}.get(symbol or "") or ("gain" if "gain" in readers else "parameter")
            found.append(f"one {word}")
            if word == "parameter" and any(self._adds_one(each) for each in fact.readers):
                found[-1] = "one gain, stored less 1,"
        return found

    def _adds_one(self, address: str) -> bool:
        """Whether an operation adds 1 to what it reads."""
        node = self._nodes.get(address)
        if node is None or (node.function or "").rpartition(".")[2].strip("_") not in ("add", "radd"):
            return False
        return any(value in (1, {"float": "1.0"}) and not isinstance(value, bool) for value in node.arguments.values())

    def _computes_in_float32(self, owner: Node) -> bool:
        """Whether its own statements cast what they read to float32 before they compute."""
        for address in owner.children:
            child = self._nodes[address]
            if child.kind == "operation" and child.plumbing and child.symbol is not None:
                types = [str(value) for value in {**child.arguments, **child.published}.values()]
                function = (child.function or "").rpartition(".")[2]
                return function == "float" or any("float32" in text for text in types)
            if child.kind in ("operation", "kernel"):
                return False
        return False

    def _phrases(self, addresses: Iterable[str]) -> list[tuple[str, str]]:
        """What the code does, in order: verbs with their objects; plumbing and repetitions left out."""
        found: list[tuple[str, str]] = []
        for address in addresses:
            child = self._nodes[address]
            if child.kind in ("tensor", "phase") or child.plumbing:
                continue
            phrase = self._phrase(child)
            if phrase not in found:
                found.append(phrase)
        if len(found) > _MOST_STEPS:
            rest = len(found) - _MOST_STEPS + 1
            found = [*found[: _MOST_STEPS - 1], ("takes", f"{rest} further steps")]
        return found

    def _phrase(self, child: Node) -> tuple[str, str]:
        title = re.sub(r" \(\d+\)$", "", self._titles.of(child))
        title = title.partition(":")[0] if child.kind == "loop" else re.sub(r": (.+)$", r" (\1)", title)
        verb, _, rest = third_person(title, otherwise=self._verb(child)).partition(" ")
        return verb, f"{rest}{self._condition(child)}"

    def _verb(self, child: Node) -> str:
        if child.kind == "layer group":
            return "runs"
        if child.kind == "loop":
            return "handles"
        if self._titles.of(child).startswith("No "):
            return "starts with"
        role = self._drafts.nodes[child.address].role or ""
        if role.endswith("norm"):
            return "applies"
        return "runs" if child.kind not in ("operation", "kernel") and _RUN.search(role) else "computes"

    def _condition(self, child: Node) -> str:
        """`` (in layers 2–93)``: where a statement that not all layers reach is reached."""
        conditions = branches_of(child, self._nodes) if child.kind == "branch" else ()
        if not conditions or outcome_for(conditions[0], child) is None:
            return ""
        computes = any(
            self._nodes[address].kind != "tensor" and not self._nodes[address].plumbing for address in child.children
        )
        outcome = outcome_for(conditions[0], child)
        ways = {"true": "false", "false": "true"}
        way = outcome if computes else ways.get(outcome or "")
        taken = conditions[0].taken.get(way or "", ())
        return f" (in {few_layers(taken, conditions[0].by)})" if taken else ""


def joined(phrases: Sequence[tuple[str, str]]) -> str:
    """``splits the queries, computes the scores and the weights, and mixes the values``: each verb is said once."""
    groups: list[tuple[str, list[str]]] = []
    for verb, rest in phrases:
        if groups and groups[-1][0] == verb and rest:
            groups[-1][1].append(rest)
        else:
            groups.append((verb, [rest]))
    texts = [f"{verb} {listed(rests)}".rstrip() for verb, rests in groups]
    if len(texts) > 1 and any(" and " in text for text in texts):
        return f"{', '.join(texts[:-1])}, and {texts[-1]}"
    return listed(texts)


def place_of(lines: Lines) -> str:
    """``line 5`` or ``lines 5–9``."""
    return f"line {lines.first}" if lines.first == lines.last else f"lines {lines.first}–{lines.last}"


def _are(node: Node) -> str:
    lines = node.symbol.lines if node.symbol is not None else None
    return "is" if lines is None or lines.first == lines.last else "are"
