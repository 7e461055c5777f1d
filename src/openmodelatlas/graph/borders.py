"""What crosses the border of a node that is no single call: a condition, a loop, a group of layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from openmodelatlas.graph.document import Port
from openmodelatlas.graph.flow import Flow
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.labels import Labels
from openmodelatlas.graph.makers import TensorDraft
from openmodelatlas.graph.tree import Tree

Ports = tuple[Port, ...]


class Borders:
    """Finds the tensors that cross a border.

    Args:
        trees: all probes.
        labels: the names of drafts.
        flow: what each operation and call reads and returns, all phases entered.
    """

    def __init__(self, trees: Sequence[Tree], labels: Labels, flow: Flow) -> None:
        self._trees = trees
        self._labels = labels
        self._flow = flow
        self._tensors: dict[str, TensorDraft] = {tensor.address: tensor for tensor in flow.tensors}

    def crossed(self, draft: Draft) -> tuple[Ports, Ports]:
        """Inputs and outputs: what is made outside and read inside, and the reverse."""
        leaves = [inner for inner in draft.walk() if inner.leaf is not None]
        inside = set(map(id, leaves))
        inputs: dict[str, Port] = {}
        for leaf in leaves:
            for port in self._read_by(leaf, draft):
                made = self._tensors.get(port.tensor)
                if port.source in ("tensor", "input", "outside") and (made is None or id(made.operation) not in inside):
                    inputs.setdefault(port.tensor, port)
        outputs: dict[str, Port] = {}
        addresses = {self._labels.addresses[leaf] for leaf in leaves}
        for tensor in self._tensors.values():
            if id(tensor.operation) in inside and (not tensor.consumers or set(tensor.consumers) - addresses):
                name = tensor.variable or "output"
                outputs.setdefault(tensor.address, Port(name=name, tensor=tensor.address, source="tensor"))
        return _without_own(inputs.values()), tuple(outputs.values())

    def of_calls(self, draft: Draft) -> Ports:
        """What a loop reads that is one with the call in its rounds."""
        return _without_own(self._read_by(draft, draft))

    def of_variants(self, group: Draft) -> Ports:
        """What layers of several kinds read, in the order of the first kind that reads it.

        What one layer hands to the next comes in only once, where the first one reads it.
        """
        within = f"{self._labels.addresses[group]}/"
        first, *rest = group.children
        found = list(self._flow.inputs(first))
        for port in (port for child in rest for port in self._flow.inputs(child)):
            alike = [index for index, other in enumerate(found) if other.name == port.name]
            if any(other.tensor == port.tensor for other in found):
                continue
            if not port.tensor.startswith(within):
                found.insert(alike[-1] + 1 if alike else len(found), port)
            elif alike:
                carries = found[alike[0]]
                others = tuple(dict.fromkeys((*carries.others, port.tensor, *port.others)))
                found[alike[0]] = msgspec.structs.replace(carries, others=others)
        return _without_own(msgspec.structs.replace(port, shape=None) for port in found)

    def _read_by(self, reader: Draft, around: Draft) -> Iterator[Port]:
        """The ports of ``reader``, then what it reads instead in other rounds of the same run of the loop ``around``.

        Members of a loop come run by run: those of its first run are those of the first layer around it.
        """
        ports = self._flow.inputs(reader)
        yield from ports
        names = {other: port.name for port in ports for other in port.others}
        if around.loop is None or not names:
            return
        members = reader.operation or reader.body or reader.sites
        for site in members[: len(members) // len(around.loop.members)]:
            for event in site.instances[site.probe]:
                for number in self._trees[site.probe].readings[event].tensors:
                    port = self._flow.resolve(site.probe, number)
                    name = names.pop(port.tensor, None)
                    if name is not None:
                        yield msgspec.structs.replace(port, name=name)


def _without_own(ports: Iterable[Port]) -> Ports:
    """The ports; what has a port of its own is not among the ``others`` of another."""
    found = list(ports)
    own = {port.tensor for port in found}
    return tuple(
        msgspec.structs.replace(port, others=tuple(other for other in port.others if other not in own))
        if own.intersection(port.others)
        else port
        for port in found
    )
