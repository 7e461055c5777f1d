"""Where each site's tensors come from, relative to the code around it.

Two layers are equal when their sites read the same places *relative to the layer*: an argument, an earlier step of the
same round, a parameter of the same relative name. What a round reads from outside itself are its *slots*; a slot that
the previous round filled is *carried*, whatever filled it in the first round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from openmodelatlas.capture.recording import Operation
from openmodelatlas.graph.align import Element, LoopSite, Site
from openmodelatlas.graph.tree import Tree, starred

Path = tuple[int, ...]
Reference = tuple[Any, ...]


def tensors_in(value: Any, depth: int, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Tensor numbers in an encoded value (see ``capture.recording``), each with its path, at most ``depth`` deep."""
    if not isinstance(value, dict):
        return
    if "tensor" in value:
        yield path, value["tensor"]
    elif len(path) < depth and "list" in value:
        for index, element in enumerate(value["list"]):
            yield from tensors_in(element, depth, (*path, str(index)))
    elif len(path) < depth and "dict" in value:
        for name, element in value["dict"].items():
            yield from tensors_in(element, depth, (*path, name))


def argument_tensors(site: Site, tree: Tree) -> list[tuple[str, int]]:
    """Tensors that a site reads, in the order of its code, with a name where the recording has one.

    Of a call's arguments only tensors and flat collections of tensors count: what a cache carries along is no argument.
    """
    return event_tensors(site.event, tree)


def event_tensors(event: int, tree: Tree) -> list[tuple[str, int]]:
    """The same of one event, such as one round of a loop whose rounds are one site."""
    found = tree.read_by.get(event)
    if found is None:
        found = tree.read_by[event] = _argument_tensors(event, tree)
    return found


def _argument_tensors(event: int, tree: Tree) -> list[tuple[str, int]]:
    if event >= 0:
        operation = tree.operation(event)
        found: list[tuple[str, int]] = []
        for value in operation.arguments:
            if type(value) is dict:  # nearly always a tensor itself
                number = value.get("tensor")
                found += [("", number)] if number is not None else [("", inner) for _, inner in tensors_in(value, 2)]
        for name, value in operation.keywords.items():
            if type(value) is dict:
                found += [(name, number) for _, number in tensors_in(value, 2)]
        return found
    arguments = tree.recording.calls[~event].arguments
    return [
        (".".join((name, *path)), number) for name, value in arguments.items() for path, number in tensors_in(value, 1)
    ]


def result_tensors(site: Site, tree: Tree) -> list[tuple[tuple[str, ...], int]]:
    """Tensors that a site returns, each with its path in the result."""
    event = site.event
    if event >= 0:
        operation = tree.operation(event)
        return [((str(index),), operation.outputs[index]) for index in range(output_count(operation))]
    return list(tensors_in(tree.recording.calls[~event].result, 2))


def output_count(operation: Operation) -> int:
    """How many tensors an operation is said to return: the rows of a tensor that is iterated count as one."""
    count = len(operation.outputs)
    return 1 if count > 1 and _is_iteration(operation) else count


def output_index(operation: Operation, tensor: int) -> int:
    """Which of the results of an operation a tensor is."""
    if len(operation.outputs) == 1 and operation.outputs[0] == tensor:
        return 0
    return 0 if _is_iteration(operation) else operation.outputs.index(tensor)


def _is_iteration(operation: Operation) -> bool:
    return operation.function.rpartition(".")[2] in ("__iter__", "unbind")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a site stands.

    Attributes:
        frame: the call that encloses it, ``None`` for the model's own call.
        path: indices from the frame's children down to it (child; for loops also round and position in the round).
        rounds: prefix of ``path`` that ends with the innermost round of a loop that keeps its rounds apart, or ``()``.
    """

    frame: Site | None
    path: Path
    rounds: Path


class Wiring:
    """Resolves tensors of the first probe to the sites that made them."""

    def __init__(self, trees: list[Tree], roots: list[Site]) -> None:
        self._trees = trees
        self.places: dict[Site, Place] = {}
        self._sites: list[dict[int, Site]] = [{} for _ in trees]
        for root in roots:
            self.places[root] = Place(None, (), ())
            self._note(root)
            self._enter(root, root.children, (), ())

    def _note(self, site: Site) -> None:
        for sites, events in zip(self._sites, site.instances, strict=True):
            for event in events:
                sites[event] = site

    def _enter(self, frame: Site, elements: list[Element], path: Path, rounds: Path) -> None:
        for index, element in enumerate(elements):
            here = (*path, index)
            if isinstance(element, LoopSite):
                for number, part in enumerate(element.rounds):
                    inner = (*here, number)
                    self._enter(frame, part, inner, rounds if element.merged else inner)
            else:
                self.places[element] = Place(frame, here, rounds)
                self._note(element)
                self._enter(element, element.children, (), ())

    def site_of(self, probe: int, event: int) -> Site:
        """The site that an event of a probe belongs to."""
        return self._sites[probe][event]

    def producer(self, probe: int, tensor: int) -> Site | None:
        """The operation site that made a tensor; ``None`` for inputs, parameters and tensors from outside."""
        entry = self._trees[probe].recording.tensors[tensor]
        return self._sites[probe].get(entry.index) if entry.origin == "operation" else None

    def reference(self, site: Site, tensor: int) -> Reference:
        """What ``tensor`` is to ``site``, in terms that equal places of other layers share.

        Returns one of ``("parameter", name)``, ``("input", name)``, ``("argument", name, index)``, ``("step", path)``
        (earlier in the same round or, outside loops, the same function), ``("slot", tensor)`` (from outside the round)
        or ``("elsewhere",)``.
        """
        probe, tree = site.probe, self._trees[site.probe]
        entry = tree.recording.tensors[tensor]
        if entry.origin in ("parameter", "buffer"):
            return ("parameter", starred(tree.recording.parameters[entry.index].name))
        place = self.places[site]
        frame = place.frame
        made = self._step_in(frame, probe, tensor)
        if made is not None:
            depth = len(place.rounds)
            if made[:depth] == place.rounds:
                return ("step", made[depth:])
            return ("slot", tensor)
        if frame is not None:
            for index, (name, number) in enumerate(argument_tensors(frame, tree)):
                if number == tensor:
                    return ("slot", tensor) if place.rounds else ("argument", name.partition(".")[0], index)
        if entry.origin == "input":
            return ("input", entry.name)
        return ("elsewhere",)

    def _step_in(self, frame: Site | None, probe: int, tensor: int) -> Path | None:
        """Path within ``frame`` of the step that made ``tensor``, if one did."""
        site = self.producer(probe, tensor)
        while site is not None:
            place = self.places[site]
            if place.frame is frame:
                return place.path
            site = place.frame
        return None

    def filled_by(self, site: Site, tensor: int) -> Reference:
        """What fills a slot: ``("carried",)`` by another round of the same loop, or where else it comes from."""
        place = self.places[site]
        made = self._step_in(place.frame, site.probe, tensor)
        loop = place.rounds[:-1]
        if made is not None and made[: len(loop)] == loop and len(made) > len(loop):
            return ("carried",)
        return ("before", made) if made is not None else ("argument", tensor)
