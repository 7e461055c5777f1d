"""Folds equal rounds of a loop into one node with its members.

Equality is structure: the same places of the code with the same wiring, the same arguments and the same dimensions.
Provenance (layer numbers, values, growing numbers) is no part of it: it is kept beside, as members and variations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from openmodelatlas.graph.align import Element, LoopSite, Site, sites_in
from openmodelatlas.graph.sizes import Sizes
from openmodelatlas.graph.tree import Tree
from openmodelatlas.graph.wiring import Reference, Wiring, read_tensors
from openmodelatlas.shapes.dimension import Constant, DataDependent, Dimension


@dataclass(eq=False)
class SiteFold:
    """One place of the code with all members that are equal there.

    Attributes:
        members: the sites, the representative first.
        layers: for each member, the number of its layer (from 1); empty outside layers.
        children: what is inside.
    """

    members: list[Site]
    layers: list[int]
    children: list[Fold] = field(default_factory=list)

    @property
    def site(self) -> Site:
        """The representative."""
        return self.members[0]


@dataclass(eq=False)
class VariantFold:
    """Equal rounds of a loop that keeps its rounds apart.

    Attributes:
        numbers: numbers of the rounds, from 1.
        children: what one round does.
        rounds: the rounds themselves, parallel to ``numbers`` for the first run of the loop.
    """

    numbers: list[int]
    children: list[Fold]
    rounds: list[list[Element]]


@dataclass(eq=False)
class LoopFold:
    """A loop: its variants, or (``merged``) one body.

    Attributes:
        members: parallel loop sites of the enclosing members.
        layers: as in :class:`SiteFold`.
        variants: groups of equal rounds in order of their first member; empty if merged.
        children: the body, if merged.
        runs_a_list: whether the rounds run the numbered modules of a list, each its own.
    """

    members: list[LoopSite]
    layers: list[int]
    variants: list[VariantFold] = field(default_factory=list)
    children: list[Fold] = field(default_factory=list)
    runs_a_list: bool = False

    @property
    def merged(self) -> bool:
        """Whether the rounds are one body."""
        return self.members[0].merged

    @property
    def over_layers(self) -> bool:
        """Whether the rounds are layers: they run a list of modules, and not inside a layer."""
        return self.runs_a_list and not self.layers


Fold = SiteFold | LoopFold


def direct_sites(elements: Sequence[Element]) -> Iterator[Site]:
    """The sites among ``elements``, loops looked through."""
    for element in elements:
        if isinstance(element, LoopSite):
            for part in element.rounds:
                yield from direct_sites(part)
        else:
            yield element


class Folder:
    """Folds trees of sites."""

    def __init__(self, trees: list[Tree], wiring: Wiring, sizes: Sizes) -> None:
        self._trees = trees
        self._wiring = wiring
        self._sizes = sizes
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._structures: dict[Element, int] = {}

    def fold(self, root: Site) -> SiteFold:
        """Folds everything below a run of the model."""
        return self._fold_sites([root], [])

    def _fold_sites(self, members: list[Site], layers: list[int]) -> SiteFold:
        return SiteFold(members, layers, self._fold_bodies([member.children for member in members], layers))

    def _fold_bodies(self, bodies: Sequence[Sequence[Element]], layers: list[int]) -> list[Fold]:
        children: list[Fold] = []
        for column in zip(*bodies, strict=True):
            if isinstance(column[0], LoopSite):
                children.append(self._fold_loops([item for item in column if isinstance(item, LoopSite)], layers))
            else:
                children.append(self._fold_sites([item for item in column if isinstance(item, Site)], layers))
        return children

    def _fold_loops(self, members: list[LoopSite], layers: list[int]) -> LoopFold:
        fold = LoopFold(members, layers)
        if fold.merged:
            fold.children = self._fold_bodies([member.rounds[0] for member in members], layers)
            return fold
        fold.runs_a_list = self._runs_a_list(members[0])
        numbers = self._round_numbers(members[0])
        for indices in self._groups(members[0]):
            bodies = [member.rounds[index] for member in members for index in indices]
            inner = [layer for layer in layers for _ in indices]
            if fold.over_layers:
                inner = [numbers[index] for _ in members for index in indices]
            group = [numbers[index] for index in indices]
            rounds = [members[0].rounds[index] for index in indices]
            fold.variants.append(VariantFold(group, self._fold_bodies(bodies, inner), rounds))
        return fold

    def _round_numbers(self, loop: LoopSite) -> list[int]:
        """Layer numbers of the rounds: from the module's index where each round runs one module of a list."""
        numbers: list[int] = []
        for part in loop.rounds:
            modules = [name for name in (self._module_name(site) for site in part if isinstance(site, Site)) if name]
            last = modules[0].rpartition(".")[2] if modules else ""
            numbers.append(int(last) + 1 if last.isdigit() else len(numbers) + 1)
        unique = len(set(numbers)) == len(numbers)
        return numbers if unique else list(range(1, len(numbers) + 1))

    def _runs_a_list(self, loop: LoopSite) -> bool:
        """Whether the rounds run the numbered modules of a list, each its own."""
        names = [self._first_module(part) for part in loop.rounds]
        return len(set(names)) == len(names) and all(name.rpartition(".")[2].isdigit() for name in names)

    def _first_module(self, elements: Sequence[Element]) -> str:
        """True name of the first module that runs in a round; empty if none does."""
        for element in elements:
            if isinstance(element, Site):
                recording = self._trees[element.probe].recording
                module = recording.calls[~element.event].module if element.is_call else -1
                name = recording.modules[module].name if module >= 0 else self._first_module(element.children)
            else:
                name = next(filter(None, map(self._first_module, element.rounds)), "")
            if name:
                return name
        return ""

    def _module_name(self, site: Site) -> str | None:
        """Name of the module that a site runs, wrappers around its call looked through."""
        if site.event >= 0:
            return None
        recording = self._trees[site.probe].recording
        module = recording.calls[~site.event].module
        if module < 0 and len(site.children) == 1 and isinstance(site.children[0], Site):
            return self._module_name(site.children[0])
        return recording.modules[module].name if module >= 0 else None

    # Structure ------------------------------------------------------------------------------------------------

    def _number(self, *description: Any) -> int:
        return self._numbers.setdefault(description, len(self._numbers))

    def structure(self, element: Element) -> int:
        """A number that is the same for elements of equal structure, whatever their layer.

        Structure is the place, what it reads, its arguments that are no tensors, and the structure of what is inside.
        """
        number = self._structures.get(element)
        if number is None:
            number = self._structures[element] = self._structure(element)
        return number

    def _structure(self, element: Element) -> int:
        if isinstance(element, LoopSite):
            bodies = tuple(self._round_structure(part) for part in element.rounds)
            return self._number("loop", element.key, bodies)
        tree = self._trees[element.probe]
        references, scalars = self._wiring.references(element), tree.readings[element.event].scalars
        if len(references) > 1 and len(set(references)) < len(references):
            references = self._without_repeats(element, references)
        if len(element.instances[element.probe]) > 1:
            scalars = ()  # of one round of many
        children = tuple([self.structure(child) for child in element.children]) if element.is_call else ()
        return self._number(tree.relative_keys[element.event], tuple(references), scalars, children)

    def _round_structure(self, part: list[Element]) -> int:
        """Like the structure of its elements, with the tensors from outside numbered by their first use."""
        slots: dict[int, int] = {}
        direct: list[Any] = []
        for element in part:
            filled = tuple(slots.setdefault(tensor, len(slots)) for tensor in self._slots_of(element))
            direct.append((self.structure(element), filled))
        return self._number("round", tuple(direct))

    def _slots(self, part: list[Element]) -> list[tuple[Site, int]]:
        """The tensors from outside a round, each with the step that reads it first."""
        slots: dict[int, Site] = {}
        for element in part:
            if isinstance(element, Site):
                for tensor in self._slots_of(element):
                    slots.setdefault(tensor, element)
        return [(site, tensor) for tensor, site in slots.items()]

    def _slots_of(self, element: Element) -> list[int]:
        if isinstance(element, LoopSite):
            return []
        read = read_tensors(element.event, self._trees[element.probe])
        pairs = zip(read, self._wiring.references(element), strict=True)
        return [tensor for tensor, reference in pairs if reference[0] == "slot"]

    def _without_repeats(self, site: Site, references: list[Reference]) -> list[Reference]:
        """What a merged loop collected (one result for each expert that was hit) is read once, however many."""
        kept: list[Reference] = []
        producers = self._wiring.producers(site.probe)
        read = read_tensors(site.event, self._trees[site.probe])
        for tensor, reference in zip(read, references, strict=True):
            if kept and kept[-1] == reference and reference[0] == "step":
                producer = producers[tensor]
                if producer is not None and len(producer.instances[site.probe]) > 1:
                    continue
            kept.append(reference)
        return kept

    # Refinement -----------------------------------------------------------------------------------------------

    def _groups(self, loop: LoopSite) -> list[list[int]]:
        """Indices of the rounds that are equal, in order of their first member."""
        buckets: dict[int, list[int]] = {}
        for index, part in enumerate(loop.rounds):
            buckets.setdefault(self._round_structure(part), []).append(index)
        groups: list[list[int]] = []
        for indices in buckets.values():
            groups.extend(self._refine(indices, [loop.rounds[index] for index in indices]))
        return sorted(groups)

    def _refine(self, indices: list[int], parts: list[list[Element]]) -> list[list[int]]:
        """Splits rounds of equal structure by what fills their slots, by their settings and their dimensions."""
        if len(indices) == 1:
            return [indices]
        facts: list[list[Any]] = [[] for _ in parts]
        for column in zip(*(self._slots(part) for part in parts), strict=True):
            fills = [self._wiring.filled_by(site, tensor) for site, tensor in column]
            carried = ("carried",) in fills
            for row, fill in zip(facts, fills, strict=True):
                row.append(("carried",) if carried else fill)
        for sites in zip(*(sites_in(part) for part in parts), strict=True):
            for numbers in self._settings(sites):
                _note(facts, numbers)
            if not sites[0].is_call:
                self._note_dimensions(facts, sites)
        groups: dict[tuple[Any, ...], list[int]] = {}
        for index, row in zip(indices, facts, strict=True):
            groups.setdefault(tuple(row), []).append(index)
        return list(groups.values())

    def _note_dimensions(self, facts: list[list[Any]], sites: Sequence[Site]) -> None:
        signatures = [self._sizes.signature(sites[0])]
        if self._sizes.alike(sites):
            return
        signatures += [self._sizes.signature(site) for site in sites[1:]]
        if _all_equal(signatures):
            return
        # A write in place also renews views that are in use, which differ from round to round of a loop.
        for dimensions in zip_longest(*signatures):
            if not any(dimension is None or isinstance(dimension, DataDependent) for dimension in dimensions):
                _note(facts, [_comparable(dimension) for dimension in dimensions])

    def _settings(self, sites: Sequence[Site]) -> Iterator[list[int]]:
        """Whole-number arguments that tell layers apart, a window or an axis: those that go up and down.

        Numbers that only grow (or only fall) may count layers or what layers have stored; numbers that the repeat with
        other weights changes in any layer depend on values.
        """
        first = self._integers(sites[0], sites[0].probe)
        rows = [self._integers(site, site.probe) for site in sites] if first else []
        if all(row == first for row in rows) or any(row.keys() != first.keys() for row in rows):
            return
        for key in first:
            column = [row[key] for row in rows]
            if column in (sorted(column), sorted(column, reverse=True)):
                continue
            if self._sizes.roles.repeat is not None:
                again = [self._integers(site, self._sizes.roles.repeat).get(key) for site in sites]
                if again != column:
                    continue
            yield column

    def _integers(self, site: Site, probe: int) -> dict[int, int]:
        """Whole-number arguments by position; none where a site runs more or less than once."""
        events = site.instances[probe]
        tree = self._trees[probe]
        if len(events) != 1 or int not in tree.readings[events[0]].scalars:
            return {}
        if events[0] < 0:
            values = list(tree.recording.calls[~events[0]].arguments.values())
        else:
            form = tree.recording.operations[events[0]].form
            values = [*form.arguments, *form.keywords.values()]
        return {index: value for index, value in enumerate(values) if type(value) is int}


def _note(facts: list[list[Any]], column: Sequence[Any]) -> None:
    """Adds one fact about every round, if it tells any of them apart."""
    if not _all_equal(column):
        for row, fact in zip(facts, column, strict=True):
            row.append(fact)


def _all_equal(values: Sequence[Any]) -> bool:
    first = values[0]
    return all(value is first or value == first for value in values)


def _comparable(dimension: Dimension) -> Any:
    return "number" if isinstance(dimension, Constant) else dimension
