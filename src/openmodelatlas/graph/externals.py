"""Facts of tensors that no operation made: what the probe handed to the model, and what came from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from openmodelatlas.capture.recording import Phase
from openmodelatlas.graph.document import Node, TensorFact
from openmodelatlas.graph.roles import Roles
from openmodelatlas.graph.sizes import Sizes
from openmodelatlas.graph.tree import Tree
from openmodelatlas.shapes.dimension import Unresolved


def external_facts(
    names: Mapping[tuple[int, int], str], trees: Sequence[Tree], sizes: Sizes, roles: Roles
) -> dict[str, TensorFact]:
    """Facts by the name that ports use.

    Args:
        names: name of each tensor without a producer, by probe and tensor number.
        trees: one per probe.
        sizes: solves their dimensions.
        roles: which probe plays which part.
    """
    facts: dict[str, TensorFact] = {}
    for (probe, number), name in names.items():
        if name in facts:
            continue
        entry = trees[probe].recording.tensors[number]
        phase, same = _same_in_all(trees, number, entry.name)
        dtype = roles.published_dtype
        shown = same[dtype] if dtype is not None else None
        if entry.origin != "input" or any(row is None for row in same[: len(roles.solving) + 1]):
            reason = "made without a recorded operation, so it cannot be found again in the other probes"
            if entry.origin in ("parameter", "buffer"):
                reason = "the model at full size has no parameter or buffer of this name"
            shape = tuple(Unresolved(reason=reason, observed=(size,)) for size in entry.shape)
            facts[name] = TensorFact(shape=shape, dtype=entry.dtype, value=str(number) if probe == 0 else None)
            continue
        rows = [trees[i].recording.tensors[n].shape if n is not None else None for i, n in enumerate(same)]
        facts[name] = TensorFact(
            shape=tuple(
                sizes.solve(phase, tuple((row[axis],) if row is not None else () for row in rows))
                for axis in range(len(entry.shape))
            ),
            dtype=trees[dtype].recording.tensors[shown].dtype
            if dtype is not None and shown is not None
            else entry.dtype,
            variable=entry.name,
            value=str(number) if probe == 0 else None,
        )
    return facts


def with_readers(facts: Mapping[str, TensorFact], nodes: Mapping[str, Node]) -> dict[str, TensorFact]:
    """The facts with the nodes that read each, in order of execution; those that enclose a reader are none."""
    readers: dict[str, dict[str, None]] = {name: {} for name in facts}
    for node in nodes.values():
        if node.kind == "branch" or any(nodes[child].kind != "tensor" for child in node.children):
            continue
        for port in node.inputs:
            for name in (port.tensor, *port.others):
                if name in readers:
                    readers[name][node.address] = None
    return {name: msgspec.structs.replace(fact, consumers=tuple(readers[name])) for name, fact in facts.items()}


def _same_in_all(trees: Sequence[Tree], number: int, name: str) -> tuple[Phase, list[int | None]]:
    """Phase of an input of the first probe, and the numbers it has in all probes."""
    first = _inputs(trees[0], name)
    position = first.index(number) if number in first else 0
    found = [_inputs(tree, name) for tree in trees]
    phase: Phase = "prefill" if position == 0 else "decode"
    return phase, [numbers[position] if position < len(numbers) else None for numbers in found]


def _inputs(tree: Tree, name: str) -> list[int]:
    return tree.inputs.get(name, [])


def input_name(tree: Tree, number: int, name: str) -> str:
    """What ports call an input: ``input_ids``, or ``decode/input_ids`` for that of the decode step."""
    return name if _inputs(tree, name).index(number) == 0 else f"decode/{name}"
