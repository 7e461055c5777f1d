"""The operations within a node as one chain, and its evaluation from the node's inputs to its outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.calls import Call, Operand, is_operation
from openmodelatlas.annotation.formulas.entry import MissingValueError, UnavailableError
from openmodelatlas.annotation.formulas.evaluate import Array, Values, as_list, evaluated
from openmodelatlas.annotation.formulas.single import NOT_RUN, compared
from openmodelatlas.annotation.formulas.symbols import Symbols
from openmodelatlas.annotation.formulas.verdict import tolerance, unavailable, verdict
from openmodelatlas.annotation.knowledge import FormulaCheck
from openmodelatlas.graph.document import Document, Node

MOST_OPERATIONS = 12
"""Computing operations up to which a node's formula is composed of them."""

_MOST_CALLS = 60
_REPEATING = frozenset({"expand", "expand_as", "broadcast_to"})
_JOINING = frozenset({"reshape", "view", "flatten", "reshape_as"})


@dataclass(frozen=True)
class Chain:
    """The operations of a node in order of execution.

    Attributes:
        node: the node.
        calls: its operations.
        made: which of them makes each tensor.
        uses: how often each tensor is read within, plumbing looked through, or handed over.
        opaque: whether all operations only rearrange or cast, so that the formula shows them.
    """

    node: Node
    calls: tuple[Call, ...]
    made: Mapping[str, Call]
    uses: Mapping[str, int]
    opaque: bool = False

    def transparent(self, call: Call) -> bool:
        """Whether a composed formula looks through an operation."""
        return not self.opaque and is_transparent(call, self.made)

    @property
    def results(self) -> tuple[str, ...]:
        """The tensors that the node hands over and makes itself: of those that differ by plumbing only, one."""
        found: dict[str, str] = {}
        for port in self.node.outputs:
            if port.tensor in self.made:
                root = port.tensor if self.opaque else root_in(self.made, port.tensor)
                if found.get(root) != root:
                    found[root] = port.tensor
        return tuple(found.values())

    @property
    def computing(self) -> tuple[Call, ...]:
        """The operations that are no plumbing."""
        return tuple(call for call in self.calls if not call.node.plumbing)


def chain_of(node: Node, symbols: Symbols) -> Chain | None:
    """The operations of ``node``; ``None`` if they are none, too many, repeat in a loop, or not all known.

    Where all of them only rearrange, that is what the formula shows; else it looks through them.
    """
    calls: list[Call] = []
    if not _gather(node, symbols, calls) or not calls or len(calls) > _MOST_CALLS:
        return None
    opaque = all(call.node.plumbing for call in calls)
    made = {port.tensor: call for call in calls for port in call.node.outputs}
    seen = {} if opaque else made
    visible = [call for call in calls if opaque or not is_transparent(call, made)]
    read = [root_in(seen, operand.name) for call in visible for operand in call.operands]
    handed = [root_in(seen, port.tensor) for port in node.outputs if port.tensor in made]
    beside = {port.tensor for call in calls if _writes(call) for port in call.node.outputs[1:]}
    if beside & {*read, *handed}:  # a write through a view: what it does to the whole is no expression
        return None
    chain = Chain(node, tuple(calls), made, Counter(read + handed), opaque)
    return chain if chain.results else None


def _writes(call: Call) -> bool:
    return call.in_place or call.name == "setitem"


def root_in(made: Mapping[str, Call], tensor: str) -> str:
    """A tensor before the plumbing that it passed within a chain."""
    while tensor in made and is_transparent(made[tensor], made):
        tensor = made[tensor].operands[0].name
    return tensor


def is_transparent(call: Call, made: Mapping[str, Call]) -> bool:
    """Whether a composed formula looks through an operation: it only rearranges or casts one tensor.

    What repeats elements is shown, and so is the reshape that makes one axis of the repeated one (shared heads).
    """
    if not call.node.plumbing or len(call.node.outputs) != 1 or not call.operands or call.name in _REPEATING:
        return False
    source = made.get(call.operands[0].name)
    return source is None or source.name not in _REPEATING or call.name not in _JOINING


def _gather(node: Node, symbols: Symbols, calls: list[Call]) -> bool:
    for address in node.children:
        child = symbols.document.nodes[address]
        if child.kind == "tensor":
            continue
        if is_operation(child):
            call = symbols.call(address)
            if call is None or call.entry.evaluate is None:
                return False
            if child.outputs:
                calls.append(call)
        elif child.kind in ("loop", "layer group", "phase", "kernel") or not _gather(child, symbols, calls):
            return False
        if sum(not call.node.plumbing for call in calls) > MOST_OPERATIONS:
            return False
    return True


def check(chain: Chain, document: Document, values: Values) -> FormulaCheck:
    """Evaluates a chain on what its node reads and compares its results with the captured ones.

    Choices (indices, masks) are taken as they were captured: their own operations are checked by themselves, and a tie
    that falls otherwise in float64 is no difference of the formula.
    """
    try:
        known: dict[str, Array] = {}
        for call in chain.calls:
            tensors = {operand: _tensor(operand, known, document, values) for operand in call.operands}
            ours = as_list(evaluated(call, tensors))
            for index, port in enumerate(call.node.outputs[: 1 if _writes(call) else None]):
                captured, dtype = _captured(port.tensor, document, values)
                chosen = call.entry.compare is not None or not dtype.startswith(("float", "bfloat"))
                known[port.tensor] = captured if chosen else np.asarray(ours[index])
        pairs = [(known[tensor], _captured(tensor, document, values)) for tensor in chain.results]
        dtype = pairs[0][1][1]
        arrays = [captured for _, (captured, _) in pairs]
        count = len(chain.computing)
        text = compared(arrays, dtype)
        if count > 1:
            text += f"; the {count} operations within evaluated one after the other"
        allowed = tolerance(dtype) * max(count, 1)
        return verdict([(ours, array) for ours, (array, _) in pairs], dtype, allowed, text)
    except UnavailableError as error:
        return unavailable(error)


def _tensor(operand: Operand, known: Mapping[str, Array], document: Document, values: Values) -> Array:
    if operand.name in known:
        fact = document.nodes[operand.name].tensor
        if fact is not None and fact.value == operand.value:
            return known[operand.name]
    return values.get(operand.value)


def _captured(tensor: str, document: Document, values: Values) -> tuple[Any, str]:
    fact = document.nodes[tensor].tensor
    if fact is None or fact.value is None:
        note = fact.value_note if fact is not None else None
        raise MissingValueError(f"its captured result is not at hand: {note or NOT_RUN}")
    return values.with_type(fact.value)
