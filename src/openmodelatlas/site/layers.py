"""The groups of layers of an atlas: the same place in each, and what tells them apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from openmodelatlas.graph.document import Node
from openmodelatlas.site.fields import PageSamePlace
from openmodelatlas.site.words import crumb_label, one_line

_MOST_DIFFERENCES = 8
_SHOWN_TEXT = 80


@dataclass(frozen=True)
class Stack:
    """Layers that run one after the other.

    Attributes:
        address: of the group that holds them all.
        variants: the groups inside it that differ, in order; the stack itself if there is one kind only.
        layers: how many there are.
    """

    address: str
    variants: tuple[Node, ...]
    layers: int

    def variant_of(self, layer: int) -> int | None:
        """Index of the variant that the layer (from 1) belongs to."""
        return next((index for index, node in enumerate(self.variants) if layer in node.members), None)


class Layers:
    """Finds the same place in other layers.

    Args:
        nodes: all nodes by address, in order of execution.
    """

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self.stacks = {node.address: self._stack(node) for node in nodes.values() if self._is_outermost(node)}
        self._facts: dict[str, dict[str, _Fact]] = {}
        self._differences: dict[tuple[str, str], tuple[str, ...]] = {}

    def _is_outermost(self, node: Node) -> bool:
        if node.kind != "layer group":
            return False
        while node.parent is not None:
            node = self._nodes[node.parent]
            if node.kind == "layer group":
                return False
        return True

    def _stack(self, node: Node) -> Stack:
        inside = [self._nodes[child] for child in node.children]
        parts = tuple(item for item in inside if item.kind != "tensor" and item.members not in ((), node.members))
        together = sorted(layer for part in parts for layer in part.members)
        variants = parts if parts and together == sorted(node.members) else (node,)
        return Stack(address=node.address, variants=variants, layers=len(node.members))

    def stack_for(self, node: Node) -> Stack | None:
        """The stack that encloses ``node``, or else the first of its phase; ``None`` if there is none."""
        for address in _around(node.address):
            if address in self.stacks:
                return self.stacks[address]
        return next((stack for stack in self.stacks.values() if stack.variants[0].phase == node.phase), None)

    def variant_around(self, node: Node, stack: Stack) -> Node | None:
        """The group of layers that ``node`` is or lies in."""
        addresses = set(_around(node.address))
        return next((variant for variant in stack.variants if variant.address in addresses), None)

    def same_place(self, node: Node) -> tuple[PageSamePlace, ...]:
        """The place of ``node`` in every group of the stack; empty where the model has no layers."""
        stack = self.stack_for(node)
        if stack is None:
            return ()
        here = self.variant_around(node, stack)
        rest = node.address[len(here.address) :].strip("/") if here is not None else ""
        return tuple(
            PageSamePlace(
                label=crumb_label(variant),
                address=self._nearest(variant, rest),
                members=variant.members,
                differs=self._told(stack, here, variant) if not rest else (),
                here=variant is here,
            )
            for variant in stack.variants
        )

    def _nearest(self, variant: Node, rest: str) -> str:
        for address in _around(f"{variant.address}/{rest}" if rest else variant.address):
            if address in self._nodes:
                return address
        return variant.address

    def _told(self, stack: Stack, here: Node | None, variant: Node) -> tuple[str, ...]:
        """What differs in ``variant`` from the layers that one looks at, else what its layers have to themselves."""
        return self.differences(here, variant) if here is not None else self.peculiarities(stack, variant)

    def peculiarities(self, stack: Stack, variant: Node) -> tuple[str, ...]:
        """What is so in the layers of ``variant`` but not in all layers of ``stack``, most telling first."""
        facts = [self._facts_of(item) for item in stack.variants]
        found = []
        for key, fact in self._facts_of(variant).items():
            others = [other.get(key) for other in facts]
            if any(other is not None and other.text != fact.text for other in others):
                found.append(f"{fact.what} is {fact.text}")
            elif fact.is_part and None in others:
                found.append(f"has {fact.what}, {fact.text}")
        return tuple(dict.fromkeys(found))[:_MOST_DIFFERENCES]

    def differences(self, here: Node, there: Node) -> tuple[str, ...]:
        """What differs in the layers of ``there``, most telling first, each without a full stop."""
        key = (here.address, there.address)
        if here is there or here == there:
            return ()
        if key not in self._differences:
            self._differences[key] = tuple(dict.fromkeys(self._compare(here, there)))[:_MOST_DIFFERENCES]
        return self._differences[key]

    def _compare(self, here: Node, there: Node) -> Iterator[str]:
        own, other = self._facts_of(here), self._facts_of(there)
        for key, fact in other.items():
            mine = own.get(key)
            if mine is not None and mine.text != fact.text:
                yield f"{fact.what} is {fact.text}, here {mine.text}"
            elif mine is None and fact.is_part:
                yield f"has {fact.what}, {fact.text}"
        for key, fact in own.items():
            if key not in other and fact.is_part:
                yield f"has no {fact.what}"

    def _facts_of(self, variant: Node) -> dict[str, _Fact]:
        """What may differ between groups, by place."""
        known = self._facts.get(variant.address)
        if known is None:
            inside = [node for address, node in self._nodes.items() if address.startswith(f"{variant.address}/")]
            found = [*_conditions(variant, (variant, *inside)), *_parts(variant, inside)]
            known = self._facts[variant.address] = dict(found)
        return known


@dataclass(frozen=True)
class _Fact:
    """Something of a group: ``what`` it concerns, what that is as ``text``, and whether it is a part of the layer."""

    what: str
    text: str
    is_part: bool = False


def _conditions(variant: Node, nodes: Iterable[Node]) -> Iterator[tuple[str, _Fact]]:
    for node in nodes:
        for branch in node.branches:
            outcomes = [way for way, taken in branch.taken.items() if set(taken) & set(variant.members)]
            if branch.by == "layer" and len(outcomes) == 1:
                place = f"{branch.lines.file}:{branch.lines.first}"
                yield place, _Fact(what=f"`{one_line(branch.test, _SHOWN_TEXT)}`", text=outcomes[0])


def _parts(variant: Node, inside: Iterable[Node]) -> Iterator[tuple[str, _Fact]]:
    for node in inside:
        place = node.address[len(variant.address) + 1 :]
        if node.class_name is None:
            continue
        yield place, _Fact(what=crumb_label(node), text=f"`{node.class_name}`", is_part="/" not in place)
        if place.count("/") <= 1:
            for name, value in node.attributes.items():
                if value is None or isinstance(value, int | float | str):
                    yield f"{place}.{name}", _Fact(what=f"`{name}` of {crumb_label(node)}", text=f"`{value}`")


def _around(address: str) -> Iterator[str]:
    """The address itself, then those of what encloses it, innermost first."""
    while address:
        yield address
        address = address.rpartition("/")[0]
    yield ""
