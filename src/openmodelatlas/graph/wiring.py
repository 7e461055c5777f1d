"""Where each site's tensors come from, relative to the code around it.

Two layers are equal when their sites read the same places *relative to the layer*: an argument, an earlier step of the
same round, a parameter of the same relative name. What a round reads from outside itself are its *slots*; a slot that
the previous round filled is *carried*, whatever filled it in the first round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openmodelatlas.capture.recording import Operation
from openmodelatlas.graph.align import Path, Site, sites_in
from openmodelatlas.graph.arguments import tensors_in
from openmodelatlas.graph.tree import Tree, starred

Reference = tuple[Any, ...]
_SLOT = ("slot",)


def read_tensors(event: int, tree: Tree) -> Sequence[int]:
    """Numbers of the tensors that an event reads, in the order of its code."""
    return tree.readings[event].tensors


def argument_tensors(event: int, tree: Tree) -> list[tuple[str, int]]:
    """The same with a name where the recording has one."""
    if event >= 0:
        operation = tree.operation(event)
        found = [("", number) for value in operation.arguments for _, number in tensors_in(value, 2)]
        named = operation.keywords.items()
        return found + [(name, number) for name, value in named for _, number in tensors_in(value, 2)]
    arguments = tree.recording.calls[~event].arguments
    return [
        (".".join((name, *path)), number) for name, value in arguments.items() for path, number in tensors_in(value, 1)
    ]


def first_tensor(tree: Tree, operation: int) -> int | None:
    """The first tensor among the arguments of an operation that have no names."""
    given = tree.operation(operation)
    if not given.form.keywords:
        return next(iter(read_tensors(operation, tree)), None)
    return next((number for value in given.arguments for _, number in tensors_in(value, 2)), None)


def result_tensors(site: Site, tree: Tree) -> list[tuple[tuple[str, ...], int]]:
    """Tensors that a site returns, each with its path in the result."""
    if not site.is_call:
        operation = tree.operation(site.event)
        return [((str(index),), operation.outputs[index]) for index in range(output_count(operation))]
    return list(tensors_in(tree.recording.calls[~site.event].result, 2))


def returned_tensors(site: Site, tree: Tree) -> list[int]:
    """The same without paths; of an operation all, also where it returns the rows of a tensor."""
    if site.is_call:
        return [number for _, number in result_tensors(site, tree)]
    return tree.recording.operations[site.event].outputs


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


class Wiring:
    """Resolves tensors to the sites that made them."""

    def __init__(self, trees: list[Tree], roots: list[Site]) -> None:
        self._trees = trees
        self.sites = [site for root in roots for site in (root, *sites_in(root.children))]
        self._sites: dict[int, dict[int, Site]] = {}
        self._producers: dict[int, list[Site | None]] = {}
        self._arguments: dict[Site, dict[int, Reference]] = {}
        self._parameters: dict[str, Reference] = {}

    def site_of(self, probe: int, operation: int) -> Site:
        """The site that an operation of a probe belongs to."""
        return self._operations(probe)[operation]

    def _operations(self, probe: int) -> dict[int, Site]:
        sites = self._sites.get(probe)
        if sites is None:
            sites = {event: site for site in self.sites if not site.is_call for event in site.instances[probe]}
            self._sites[probe] = sites
        return sites

    def producers(self, probe: int) -> Sequence[Site | None]:
        """For each tensor the operation site that made it; ``None`` for inputs, parameters and those from outside."""
        made = self._producers.get(probe)
        if made is None:
            site_of = self._operations(probe).get
            made = [site_of(operation) for operation in self._trees[probe].made_by]
            self._producers[probe] = made
        return made

    def references(self, site: Site) -> list[Reference]:
        """What each of the tensors that a site reads is to it, in terms that equal places of other layers share.

        That is one of ``("parameter", name)``, ``("input", name)``, ``("argument", name, index)``, ``("step", path)``
        (earlier in the same round or, outside loops, the same function), ``("slot",)`` (from outside the round) or
        ``("elsewhere",)``.
        """
        producers, frame, rounds = self.producers(site.probe), site.frame, site.rounds
        arguments = self._arguments_of(frame) if frame is not None else {}
        references: list[Reference] = []
        for tensor in read_tensors(site.event, self._trees[site.probe]):
            reference = arguments.get(tensor)
            step = producers[tensor] if reference is None else None
            while step is not None and step.frame is not frame:
                step = step.frame
            if step is not None:
                inside = step.path[: len(rounds)] == rounds
                references.append(("step", step.path[len(rounds) :]) if inside else _SLOT)
            elif reference is not None:
                references.append(_SLOT if rounds else reference)
            else:
                references.append(self._from_outside(site.probe, tensor))
        return references

    def _from_outside(self, probe: int, tensor: int) -> Reference:
        """What a tensor is that the function around neither made nor was handed."""
        recording = self._trees[probe].recording
        entry = recording.tensors[tensor]
        if entry.origin in ("parameter", "buffer"):
            name = recording.parameters[entry.index].name
            if name not in self._parameters:
                self._parameters[name] = ("parameter", starred(name))
            return self._parameters[name]
        return ("input", entry.name) if entry.origin == "input" else ("elsewhere",)

    def _arguments_of(self, frame: Site) -> dict[int, Reference]:
        """What the tensors among the arguments of a call are to the steps in it, parameters left out."""
        found = self._arguments.get(frame)
        if found is None:
            found = self._arguments[frame] = {}
            tree = self._trees[frame.probe]
            reading = tree.readings[frame.event]
            for index, (number, name) in enumerate(zip(reading.tensors, reading.names, strict=True)):
                if tree.recording.tensors[number].origin not in ("parameter", "buffer"):
                    found.setdefault(number, ("argument", name, index))
        return found

    def _step_in(self, frame: Site | None, probe: int, tensor: int) -> Path | None:
        """Path within ``frame`` of the step that made ``tensor``, if one did."""
        site = self.producers(probe)[tensor]
        while site is not None and site.frame is not frame:
            site = site.frame
        return site.path if site is not None else None

    def filled_by(self, site: Site, tensor: int) -> Reference:
        """What fills a slot: ``("carried",)`` by another round of the same loop, or where else it comes from."""
        made = self._step_in(site.frame, site.probe, tensor)
        loop = site.rounds[:-1]
        if made is not None and made[: len(loop)] == loop and len(made) > len(loop):
            return ("carried",)
        return ("before", made) if made is not None else ("argument", tensor)
