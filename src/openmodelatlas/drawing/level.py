"""What one level shows, before it has positions: boxes, and streams of tensors between them.

Boxes are the node's children but for plumbing and tensors; what enters and leaves the level is a small box of its own.
Plumbing stays on the way of a tensor to its reader. Parameters belong to the boxes that read them, and are drawn only
where several do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from openmodelatlas.drawing.drawing import EdgeKind
from openmodelatlas.drawing.flow import Flow
from openmodelatlas.graph.document import Node, Port


@dataclass
class Box:
    """One box of a level.

    Attributes:
        index: its number.
        role: as in the drawing.
        address: of the node, or of the tensor (or true name of the parameter) that enters or leaves.
        name: for what enters or leaves, what the code calls it.
        received: for what enters, the tensor that the plumbing on its way here makes of it; empty if there is none.
        source: for what enters, address of the node it comes from, ``None`` if it comes from outside the model.
        state: whether it is state of another phase; ``tensors`` are all of it.
        tensors: what it stands for if it is more than one tensor.
        spine: whether it stands on the spine.
    """

    index: int
    role: Literal["node", "input", "output", "addition"]
    address: str
    name: str = ""
    received: str = ""
    source: str | None = None
    state: bool = False
    tensors: tuple[str, ...] = ()
    spine: bool = False


@dataclass
class Use:
    """One reader of a stream.

    Attributes:
        target: number of the box that reads it.
        name: what the reader calls it.
        via: plumbing of this level that it passes.
        spine: whether the spine runs along it.
        state: whether what flows along it is state: of another phase, or carried from layer to layer.
    """

    target: int
    name: str
    via: tuple[str, ...] = ()
    spine: bool = False
    state: bool = False


@dataclass
class Stream:
    """A tensor that flows from one box to others.

    Attributes:
        tensor: its address, or the true name of a parameter.
        origin: number of the box it comes from.
        name: what the code calls it; empty if it has no name.
        state: whether it is carried from layer to layer beside the spine.
        count: how many tensors it is, with ``tensor`` the first of them.
        uses: its readers.
    """

    tensor: str
    origin: int
    name: str
    state: bool = False
    count: int = 1
    uses: list[Use] = field(default_factory=list)

    def kind(self, use: Use) -> EdgeKind:
        """How the line to a reader is drawn."""
        if use.spine:
            return "residual"
        return "state" if self.state or use.state else "data"


@dataclass
class Level:
    """What one level shows: see the module."""

    node: Node
    boxes: list[Box] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)


def boxes_and_streams(flow: Flow, node: Node) -> Level:
    """The level inside ``node``; what layers carry on and its spine are not marked yet."""
    return _Reader(flow, node).read()


class _Reader:
    def __init__(self, flow: Flow, node: Node) -> None:
        self.flow = flow
        self.node = node
        self.level = Level(node)
        nodes = flow.document.nodes
        inner = [nodes[address] for address in node.children if nodes[address].kind != "tensor"]
        self.children = [child for child in inner if not child.plumbing] or inner
        self.plumbing = {child.address for child in inner if child.plumbing} - {each.address for each in self.children}
        self.boxes: dict[str, Box] = {}
        self.streams: dict[tuple[int, str], Stream] = {}
        self.terminals: dict[tuple[str, tuple[str, ...]], Box] = {}
        self.renamed: dict[tuple[str, str], str] = {}
        self.order = {child.address: place for place, child in enumerate(self.children)}

    def read(self) -> Level:
        for child in self.children:
            role: Literal["node", "addition"] = "addition" if child.address in self.flow.additions else "node"
            self.boxes[child.address] = self._box(role, child.address)
        shared = self._shared_parameters()
        for child in self.children:
            for port in child.inputs:
                if port.source in ("parameter", "buffer"):
                    if port.tensor in shared:
                        self._use(self._parameter(port), port.tensor, port.name, child.address, port.name, ())
                elif not self.flow.crosses(port.tensor, child) and self.flow.is_read(child, port):
                    self._read_port(child, port)
            self._renames(child)
        for port in self.node.outputs:
            if not self._is_handed_on(port.tensor):
                self._leave(port)
        self._states()
        return self.level

    def _box(self, role: Literal["node", "input", "output", "addition"], address: str, **fields: object) -> Box:
        box = Box(len(self.level.boxes), role, address)
        for name, value in fields.items():
            setattr(box, name, value)
        self.level.boxes.append(box)
        return box

    def _shared_parameters(self) -> set[str]:
        readers: dict[str, set[str]] = defaultdict(set)
        for child in self.children:
            for port in child.inputs:
                if port.source in ("parameter", "buffer"):
                    readers[port.tensor].add(child.address)
        return {name for name, found in readers.items() if len(found) > 1}

    def _parameter(self, port: Port) -> Box:
        box = self.terminals.get((port.tensor, ()))
        if box is None:
            box = self._box("input", port.tensor, name=port.name)
            self.terminals[port.tensor, ()] = box
        return box

    def _read_port(self, child: Node, port: Port) -> None:
        passed = self._passed(child, port)
        if passed is not None:
            by, tensor, rest = passed
            self._use(self.boxes[by], tensor, self._given_name(by, tensor), child.address, port.name, rest)
            return
        inside = tuple(address for address in port.via if address in self.plumbing)
        outside = tuple(address for address in port.via if not self._is_within(address))
        maker = self._maker(port.tensor, child, port.name)
        if maker is not None and maker != child.address:
            name = self._given_name(maker, port.tensor)
            self._use(self.boxes[maker], port.tensor, name, child.address, port.name, inside)
            return
        box = self._terminal(port, outside)
        self._use(box, port.tensor, box.name, child.address, port.name, inside)

    def _passed(self, child: Node | None, port: Port) -> tuple[str, str, tuple[str, ...]] | None:
        """The last box of this level that a tensor passes on its way, which only rearranges it.

        Returns:
            The box, the tensor that leaves it, and the plumbing after it; ``None`` if there is no such box.
        """
        for place in range(len(port.via) - 1, -1, -1):
            box = self.flow.child_of(self.node.address, port.via[place])
            if (
                box is None
                or box not in self.boxes
                or (child is not None and self.order[box] >= self.order[child.address])
            ):
                continue
            steps = [self.flow.document.nodes[port.via[place]].outputs, self.flow.document.nodes[box].outputs]
            tensor = next((given.tensor for given in steps[1]), steps[0][0].tensor if steps[0] else port.tensor)
            last = {given.tensor for given in steps[0]}
            given_on = next((given.tensor for given in steps[1] if given.tensor in last), None)
            if given_on is None and box == self._around(port.tensor):
                return None
            tensor = given_on or tensor
            return box, tensor, tuple(each for each in port.via[place + 1 :] if each in self.plumbing)
        return None

    def _around(self, tensor: str) -> str | None:
        producer = self.flow.producer(tensor)
        return None if producer is None else self.flow.child_of(self.node.address, producer)

    def _maker(self, tensor: str, child: Node, name: str) -> str | None:
        """The box on this level that gives ``tensor`` to ``child``; ``None`` if it comes from outside.

        What a later box makes comes from the round (or layer) before, hence from outside too.
        """
        renamed = self.renamed.get((tensor, name))
        if renamed is not None:
            return renamed
        producer = self.flow.producer(tensor)
        found = None if producer is None else self.flow.child_of(self.node.address, producer)
        if (
            found is None
            or found not in self.boxes
            or self.order[found] >= self.order.get(child.address, len(self.order))
        ):
            return None
        return found

    def _given_name(self, maker: str, tensor: str) -> str:
        node = self.flow.document.nodes[maker]
        for given in node.outputs:
            if given.tensor == tensor and given.name not in ("output", ""):
                return given.name
        made = self.flow.document.nodes.get(tensor)
        return (made.tensor.variable or "") if made is not None and made.tensor is not None else ""

    def _renames(self, child: Node) -> None:
        """A box that gives what it read under another name stands between it and those who use that name."""
        read = {port.tensor for port in child.inputs}
        for port in child.outputs:
            producer = self.flow.producer(port.tensor)
            inside = producer is not None and self.flow.child_of(self.node.address, producer) == child.address
            if port.tensor in read and not inside:
                self.renamed[port.tensor, port.name] = child.address

    def _is_within(self, address: str) -> bool:
        return not self.node.address or address.startswith(f"{self.node.address}/")

    def _terminal(self, port: Port, outside: tuple[str, ...]) -> Box:
        key = (port.tensor, outside)
        box = self.terminals.get(key)
        if box is None:
            name = next((given.name for given in self.node.inputs if given.tensor == port.tensor), port.name)
            box = self._box("input", port.tensor, name=name, source=self.flow.producer(port.tensor))
            made = [given.tensor for step in outside[-1:] for given in self.flow.document.nodes[step].outputs]
            box.received = made[0] if len(made) == 1 else ""
            self.terminals[key] = box
        return box

    def _use(self, origin: Box, tensor: str, name: str, target: str, read_as: str, via: tuple[str, ...]) -> None:
        self._connect(origin, tensor, name, self.boxes[target], read_as, via)

    def _connect(
        self,
        origin: Box,
        tensor: str,
        name: str,
        target: Box,
        read_as: str,
        via: tuple[str, ...],
        *,
        state: bool = False,
    ) -> None:
        stream = self.streams.get((origin.index, tensor))
        if stream is None:
            stream = Stream(tensor, origin.index, name)
            self.streams[origin.index, tensor] = stream
            self.level.streams.append(stream)
        if not any(use.target == target.index and use.via == via for use in stream.uses):
            stream.uses.append(Use(target.index, read_as, via, state=state))

    def _is_handed_on(self, tensor: str) -> bool:
        """Whether ``tensor`` leaves only as state for another phase."""
        node = self.flow.document.nodes.get(tensor)
        if node is None or node.tensor is None or tensor not in self.flow.state_out[self.node.address]:
            return False
        nodes = self.flow.document.nodes
        readers = [nodes[each] for each in node.tensor.consumers if each in nodes and not self._is_within(each)]
        return all(reader.phase != node.phase for reader in readers)

    def _leave(self, port: Port) -> None:
        tensor = port.tensor
        via = tuple(address for address in port.via if address in self.plumbing)
        producer = self.flow.producer(tensor)
        maker = self.renamed.get((tensor, port.name))
        passed = self._passed(None, port)
        if passed is not None:
            maker, tensor, via = passed
        if maker is None and producer is not None:
            maker = self.flow.child_of(self.node.address, producer)
        if maker in self.plumbing:
            tensor, steps, maker = self._behind(str(maker), tensor)
            via = (*steps, *via)
        if maker is not None and maker in self.boxes:
            origin = self.boxes[maker]
            name = self._given_name(maker, tensor) or port.name
        else:
            found = [box for (known, _), box in self.terminals.items() if known == tensor]
            if not found:
                return
            origin, name = found[0], found[0].name
        if any(box.role == "output" and box.address == port.tensor for box in self.level.boxes):
            return
        target = self._box("output", port.tensor, name=port.name)
        self._connect(origin, tensor, name, target, port.name, via)

    def _behind(self, maker: str, tensor: str) -> tuple[str, tuple[str, ...], str | None]:
        """What lies before plumbing that gives an output: tensor, steps from there on, and the box that makes it."""
        steps: tuple[str, ...] = ()
        nodes = self.flow.document.nodes
        current: str | None = maker
        while current is not None and current in self.plumbing:
            node = nodes[current]
            port = next((each for each in node.inputs if each.source in ("tensor", "input", "outside")), None)
            if port is None:
                return tensor, steps, None
            inside = tuple(each for each in port.via if each in self.plumbing)
            steps, tensor = (*inside, current, *steps), port.tensor
            producer = self.flow.producer(tensor)
            current = None if producer is None else self.flow.child_of(self.node.address, producer)
        return tensor, steps, current

    def _states(self) -> None:
        """One line for all the state that a box reads from another phase, and one for what it leaves to it."""
        for child in self.children:
            box = self.boxes[child.address]
            read = {each: None for each in self.flow.state_in[child.address] if self.flow.crosses(each, child)}
            makers: dict[str | None, list[str]] = defaultdict(list)
            for tensor in read:
                producer = self.flow.producer(tensor)
                maker = None if producer is None else self.flow.child_of(self.node.address, producer)
                makers[maker if maker in self.boxes else None].append(tensor)
            for maker, tensors in makers.items():
                name = self._names(tensors)
                if maker is not None:
                    origin = self.boxes[maker]
                else:
                    origin = self._box("input", tensors[0], name=name, state=True, tensors=tuple(tensors))
                    origin.source = self.flow.producer(tensors[0])
                self._connect(origin, tensors[0], name, box, name, (), state=True)
                self.streams[origin.index, tensors[0]].count = len(tensors)
            given = [
                each
                for each in self.flow.state_out[child.address]
                if not self.flow.crosses(each, child) and self.node.kind != "model"
            ]
            if given:
                target = self._box("output", given[0], name=self._names(given), state=True, tensors=tuple(given))
                self._connect(box, given[0], target.name, target, target.name, (), state=True)

    def _names(self, tensors: Iterable[str]) -> str:
        nodes = self.flow.document.nodes
        names: dict[str, None] = {}
        for tensor in tensors:
            node = nodes[tensor]
            names[(node.tensor.variable if node.tensor is not None else None) or "state"] = None
        shown = list(names)
        return ", ".join(shown[:3]) + (", …" if len(shown) > 3 else "")
