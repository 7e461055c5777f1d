"""The dimensions of every site's tensors: collects what the probes observed and has ``shapes`` solve it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from openmodelatlas.capture.recording import Phase
from openmodelatlas.graph.align import Element, LoopSite, Site
from openmodelatlas.graph.full_size import FullSizeRun
from openmodelatlas.graph.roles import Roles
from openmodelatlas.graph.sights import Observed, Row, Runs, Shape, Sight, Sights
from openmodelatlas.graph.tree import Tree
from openmodelatlas.graph.wiring import Wiring, output_count, output_index, read_tensors
from openmodelatlas.shapes.dimension import Constant, DataDependent, Dimension, Symbolic, Unresolved
from openmodelatlas.shapes.solve import Solver

_EXPERTS_PER_TOKEN = re.compile(
    r"(^|\.)(num_experts_per_tok(en)?|top_k_experts|moe_top_?k|moe_k|num_selected_experts)$"
)
_EXPERTS = re.compile(r"(^|\.)(n_routed_experts|num_(local_|routed_)?experts|moe_num_experts)$")

_OF_A_RUN = re.compile(r"\b[TP]\b")
_DECIDED = "rounds that the values decide on"

_NO_PUBLISHED_DTYPE = "the configuration names no other element type, or no probe could run in it"


class Sizes:
    """Solved shapes of the tensors that sites produce."""

    def __init__(
        self,
        trees: list[Tree],
        roles: Roles,
        solvers: dict[Phase, Solver],
        wiring: Wiring,
        published: Mapping[str, int],
    ) -> None:
        self._published = published
        self._trees = trees
        self._roles = roles
        self._solvers = solvers
        self._wiring = wiring
        self._solved: dict[tuple[Phase, Observed], Dimension] = {}
        self._outputs: dict[tuple[Site, int], Shape] = {}
        self._shapes: dict[tuple[Phase, tuple[tuple[tuple[int, ...], ...], ...]], Shape] = {}
        self._loops: dict[Site, LoopSite] = {}
        self._frames: dict[LoopSite, Site] = {}
        self._context_numbers: dict[tuple[int, int], int] = {}
        self._dependent_axes: dict[tuple[int, int], set[int]] = {}
        self._sights = Sights(trees, (*roles.solving, roles.held_out))
        self._full_sizes: dict[tuple[int, int, tuple[tuple[int, ...], ...]], tuple[int, ...]] = {}
        self._bounds: dict[tuple[Phase, tuple[int, ...]], str | None] = {}
        self._settled: dict[tuple[int, int, int, Observed], Dimension] = {}

    @property
    def roles(self) -> Roles:
        """Which probe plays which part."""
        return self._roles

    def prepare(self, root: Site) -> None:
        """Looks at every site once, before anything is solved.

        Which merged loop each site lies in, and which axes depend on values: one that other weights and tokens change
        in any layer depends on them in every layer, even where two runs happen to agree.
        """
        self._prepare(root.children, None, self._context(root, -1), root, self.phase(root))

    def _prepare(
        self, elements: Sequence[Element], loop: LoopSite | None, context: int, frame: Site, phase: Phase
    ) -> None:
        for element in elements:
            if isinstance(element, LoopSite):
                self._frames[element] = frame
                for part in element.rounds:
                    self._prepare(part, element if element.merged else loop, context, frame, phase)
                continue
            if loop is not None:
                self._loops[element] = loop
            own = self._context(element, context)
            if element.is_call:
                self._prepare(element.children, loop, own, element, phase)
            elif self._sights.look(element, phase, own):
                if self._roles.repeat is not None:
                    self._note_dependence(element, own, self._roles.repeat)
                self._note_full_size(element, own)

    def _note_full_size(self, site: Site, context: int) -> None:
        """A run at full size that stops early reaches some layers only; equal places of others are like them."""
        full = self._roles.true_size
        if full is None or len(site.instances[full]) != 1:
            return
        recording = self._trees[full].recording
        for index, number in enumerate(recording.operations[site.instances[full][0]].outputs):
            rows = self._sights.of[site].runs[index].rows
            self._note_empty(rows, recording.tensors[number].shape, (context, index))
            if all(len(row) == 1 for row in rows):
                key = (context, index, tuple(row[0] for row in rows[:full]))
                self._full_sizes.setdefault(key, tuple(recording.tensors[number].shape))

    def _note_empty(self, rows: Sequence[Row], full: Sequence[int], place: tuple[int, int]) -> None:
        """Without values a selection is empty: an axis of 0 at full size that no probe has empty depends on values."""
        if 0 not in full:
            return
        shapes = [shape for row in rows[: len(self._roles.solving) + 1] for shape in row]
        if any(len(shape) != len(full) for shape in shapes):
            return
        empty = {axis for axis, size in enumerate(full) if size == 0 and all(shape[axis] for shape in shapes)}
        if empty:
            self._dependent_axes.setdefault(place, set()).update(empty)

    def _context(self, site: Site, parent: int) -> int:
        """A number for a place in the model, the same in every layer."""
        key = self._trees[site.probe].relative_keys[site.event]
        return self._context_numbers.setdefault((parent, key), len(self._context_numbers))

    def _note_dependence(self, site: Site, context: int, repeat: int) -> None:
        first = self._roles.solving[0]
        mine, other = site.instances[first], site.instances[repeat]
        if len(mine) != len(other):
            return
        results, repeated = self._trees[first].result_keys, self._trees[repeat].result_keys
        shapes = self._trees[first].keys.shapes
        for event, again in zip(mine, other, strict=True):
            if results[event] == repeated[again]:
                continue
            pairs = zip(shapes(results[event]), shapes(repeated[again]), strict=False)
            for index, (shape, changed) in enumerate(pairs):
                if shape != changed and len(shape) == len(changed):
                    axes = [axis for axis in range(len(shape)) if shape[axis] != changed[axis]]
                    self._dependent_axes.setdefault((context, index), set()).update(axes)

    def alike(self, sites: Sequence[Site]) -> bool:
        """Whether operations are known to have the same signature, since the probes saw the same of them."""
        sight, *others = {self._sights.of[site] for site in sites}
        return not others and sight.signature is not None

    def distinct(self, sites: Sequence[Site]) -> list[tuple[Site, int]]:
        """The operations among ``sites``, those that are known to be alike as one with their number."""
        counts = Counter([self._sights.of[site] for site in sites if not site.is_call])
        found: list[tuple[Site, int]] = []
        different: set[Sight] = set()
        for sight, count in counts.items():
            self.signature(sight.site)
            if count == 1 or sight.signature is not None:
                found.append((sight.site, count))
            else:
                different.add(sight)
        return found + [(site, 1) for site in sites if self._sights.of.get(site) in different]

    def signature(self, site: Site) -> Shape:
        """All dimensions of all tensors that an operation returns, in order; empty for calls."""
        if site.is_call:
            return ()
        sight = self._sights.of[site]
        if sight.signature is not None:
            return sight.signature
        outputs = range(output_count(self._trees[site.probe].operation(site.event)))
        shapes = [self.output(site, index) for index in outputs]
        signature = shapes[0] if len(shapes) == 1 else tuple(dimension for shape in shapes for dimension in shape)
        if all(index in sight.solved for index in outputs):
            sight.signature = signature
        return signature

    def output(self, site: Site, index: int) -> Shape:
        """Shape of the ``index``-th tensor that an operation site returns."""
        sight = self._sights.of[site]
        if index in sight.solved:
            return sight.solved[index]
        key = (site, index)
        shape = self._outputs.get(key)
        if shape is None:
            # Sizes that depend on values look up the operations they come from, which must not come back here.
            self._outputs[key] = ()
            shape = self._outputs[key] = self._solve_output(site, index)
            if sight.complete[index] and (sight.context, index) not in self._dependent_axes:
                resolved = not any(isinstance(dimension, Unresolved) for dimension in shape)
                if resolved:  # what is open is looked at again in each layer
                    sight.solved[index] = shape
        return shape

    def tensor(self, probe: int, number: int) -> Shape:
        """Shape of a tensor that an operation of ``probe`` made."""
        recording = self._trees[probe].recording
        operation = recording.tensors[number].index
        site = self._wiring.site_of(probe, operation)
        return self.output(site, output_index(recording.operations[operation], number))

    def dtype(self, site: Site, index: int) -> tuple[str | None, str | None]:
        """Element type in a model of the published type, and why it is not recorded if it is not."""
        probe = self._roles.published_dtype
        if probe is None:
            first = self._trees[site.probe].recording
            number = first.operations[site.event].outputs[index]
            return first.tensors[number].dtype, f"of a model in {first.probe.dtype}: {_NO_PUBLISHED_DTYPE}"
        events = site.instances[probe]
        if not events:
            return None, "did not run in the probe with the published element type"
        recording = self._trees[probe].recording
        outputs = recording.operations[events[0]].outputs
        if index >= len(outputs):
            return None, "returned fewer tensors in the probe with the published element type"
        return recording.tensors[outputs[index]].dtype, None

    def solve(self, phase: Phase, observed: Observed) -> Dimension:
        """The dimension behind one size per probe. ``observed`` has exactly one value for each probe that ran it."""
        key = (phase, observed)
        if key not in self._solved:
            self._solved[key] = self._solve(phase, observed)
        return self._solved[key]

    def count(self, phase: Phase, loops: Sequence[LoopSite]) -> Dimension:
        """How often a loop goes round; :class:`DataDependent` where values decide, even if every round ran.

        With many tokens every expert may be hit in every probe. The run at full size has no values: a loop over what
        they select goes round no more there, or its function ends the run by asking for them.
        """
        observed: Observed = tuple(
            tuple(number for loop in loops for number in loop.counts[probe]) for probe in range(len(self._trees))
        )
        roles, dependent = self._roles, DataDependent(name=_DECIDED, depends_on="values", bound=None)
        if roles.repeat is not None and observed[roles.repeat] != observed[roles.solving[0]]:
            return dependent
        if any(len(set(row)) != 1 for row in observed[: len(roles.solving) + 1]):
            flat = tuple(number for row in observed for number in row)
            return Unresolved(reason="differs between the places that were folded", observed=flat)
        rows = [row[:1] for row in observed]
        full = roles.true_size
        if full is None:
            return self._solve(phase, tuple(rows))
        frames = [(loop, self._frames[loop].instances[full]) for loop in loops]
        seen = FullSizeRun(self._trees[full], full).rounds(frames)
        rows[full] = () if seen.rounds is None else (seen.rounds,)
        solved = self._solve(phase, tuple(rows))
        known = isinstance(solved, Symbolic | Constant)
        if seen.rounds == 0 and not known:
            return dependent
        if seen.asked and not (isinstance(solved, Symbolic) and _OF_A_RUN.search(solved.expression)):
            return dependent  # a number of rounds that follows T in all probes is no accident
        return solved

    def experts(self) -> tuple[tuple[str, int], tuple[str, int]] | None:
        """Configuration keys and published values of how many experts a token takes, and how many there are."""
        chosen = next((key for key in self._published if _EXPERTS_PER_TOKEN.search(key)), None)
        existing = next((key for key in self._published if _EXPERTS.search(key)), None)
        if chosen is None or existing is None:
            return None
        return (chosen, self._published[chosen]), (existing, self._published[existing])

    def _solve(self, phase: Phase, observed: Observed, *, with_true_size: bool = True) -> Dimension:
        roles = self._roles
        flat = tuple(row[0] for row in observed if row)
        if not all(observed[index] for index in roles.solving):
            return Unresolved(reason=f"ran in {len(flat)} of {len(observed)} probes", observed=flat)
        held_out = observed[roles.held_out][0] if observed[roles.held_out] else None
        true_size: int | None = None
        if with_true_size and roles.true_size is not None and observed[roles.true_size]:
            true_size = observed[roles.true_size][0]
        solving = tuple(observed[index][0] for index in roles.solving)
        # Padding, say, does not run where T is a whole number of chunks: then the run at full size confirms alone.
        return self._solvers[phase].solve(solving, held_out, true_size)

    def phase(self, site: Site) -> Phase:
        """The phase that a site runs in."""
        recording = self._trees[site.probe].recording
        event = site.event
        call = recording.operations[event].call if event >= 0 else ~event
        return recording.calls[call].phase

    def _solve_output(self, site: Site, index: int) -> Shape:
        sight = self._sights.of[site]
        runs, phase, context = sight.runs[index], sight.phase, sight.context
        written = self._written(site, runs.rows)
        if written is not None:
            return written
        dependent = self._dependent_axes.get((context, index))
        if dependent or runs.repeated:
            return self._shape_from(site, phase, dependent or set(), runs)
        full = self._roles.true_size
        if full is not None and not runs.rows[full] and all(runs.rows[:full]):
            seen = self._full_sizes.get((context, index, tuple(row[0] for row in runs.rows[:full])))
            if seen is not None:
                runs = Runs([*runs.rows[:full], (seen,), *runs.rows[full + 1 :]])
        # Most sites of a model share their shapes with many others.
        key = (phase, runs.rows)
        if key not in self._shapes:
            self._shapes[key] = self._shape_from(site, phase, set(), runs)
        return self._settle(phase, context, index, self._shapes[key], runs.rows)

    def _written(self, site: Site, rows: Sequence[Row]) -> Shape | None:
        """Shape of what is written in place in some probes only, where a cast made no copy: the old version's."""
        if all(rows[probe] for probe in (*self._roles.solving, self._roles.held_out)) or not rows[site.probe]:
            return None
        tree = self._trees[site.probe]
        for number in tree.operation(site.event).writes:
            old = tree.recording.tensors[number]
            if old.origin == "operation" and tuple(old.shape) == rows[site.probe][0]:
                return self.tensor(site.probe, number)
        return None

    def _settle(self, phase: Phase, context: int, index: int, shape: Shape, rows: Sequence[Row]) -> Shape:
        """Decode dimensions left open are those of the prefill at the same place, if they had the same sizes there.

        Only what depends on the configuration alone is taken over; the run at full size, which may stop before it
        decodes, has confirmed it there.
        """
        probes = (*self._roles.solving, self._roles.held_out)
        if any(len(rows[probe]) != 1 for probe in probes):
            return shape
        settled = list(shape)
        for axis, dimension in enumerate(shape):
            sizes = tuple(rows[probe][0][axis : axis + 1] for probe in probes)
            key = (context, index, axis, sizes)
            if phase == "prefill" and isinstance(dimension, Symbolic) and dimension.value is not None:
                self._settled.setdefault(key, dimension)
            elif isinstance(dimension, Unresolved):
                settled[axis] = self._settled.get(key, dimension)
        return tuple(settled)

    def _shape_from(self, site: Site, phase: Phase, dependent: set[int], runs: Runs) -> Shape:
        if len(runs.ranks) != 1:
            observed = tuple(sorted(runs.ranks))
            return (Unresolved(reason="the number of axes differs between probes", observed=observed),)
        return tuple([self._axis(site, phase, axis in dependent, sizes) for axis, sizes in enumerate(runs.axes)])

    def _axis(self, site: Site, phase: Phase, dependent: bool, observed: Observed) -> Dimension:
        roles = self._roles
        first, repeat = roles.solving[0], roles.repeat
        probes = (*roles.solving, roles.held_out)
        if not dependent and repeat is not None and observed[repeat] != observed[first]:
            uniform = all(len(set(observed[index])) == 1 for index in (*probes, repeat))
            dependent = not uniform or observed[repeat][0] != observed[first][0]
        if dependent:
            return self._dependent(site, phase, observed)
        if any(len(set(observed[index])) > 1 for index in probes):
            return self._by_round(site, observed)
        return self.solve(phase, tuple(row[:1] for row in observed))

    def _by_round(self, site: Site, observed: Observed) -> Dimension:
        """A size that is another one in other rounds, such as that of the last part of a sequence."""
        loop = self._loops.get(site)
        header = loop.loop.text if loop is not None and loop.loop is not None else "its loop"
        greatest = {max(row) for row in observed if len(set(row)) > 1}  # of one round alone it may be any size
        most = greatest.pop() if len(greatest) == 1 else None
        holds = most is not None and all(size <= most for row in observed for size in row)
        bound = f"at most {most}" if holds else None
        return DataDependent(name=f"n of `{header}`", depends_on=header, bound=bound)

    def _dependent(self, site: Site, phase: Phase, observed: Observed) -> Dimension:
        """A size that other weights and tokens changed."""
        inherited = self._inherited(site)
        loop = self._loops.get(site)
        bound = self._bound(phase, tuple(map(sum, observed))) if loop is not None else None
        if inherited is not None:
            return DataDependent(name=inherited.name, depends_on=inherited.depends_on, bound=bound or inherited.bound)
        tree = self._trees[site.probe]
        function = tree.operation(site.event).function.rpartition(".")[2].strip("_")
        return DataDependent(name=self._dependent_name(site, loop), depends_on=function, bound=bound)

    def _inherited(self, site: Site) -> DataDependent | None:
        tree = self._trees[site.probe]
        for number in read_tensors(site.event, tree):
            if tree.recording.tensors[number].origin == "operation":
                for dimension in self.tensor(site.probe, number):
                    if isinstance(dimension, DataDependent):
                        return dimension
        return None

    def _dependent_name(self, site: Site, loop: LoopSite | None) -> str:
        frame: Site | None = site
        texts = [loop.loop.text] if loop is not None and loop.loop is not None else []
        while frame is not None:
            description = self._trees[site.probe].keys.describe(frame.key)
            texts.extend(str(part) for part in description[2:])
            frame = frame.frame
        if loop is not None and any("expert" in text.lower() for text in texts):
            return "tokens routed to this expert"
        return "rows that the values select"

    def _bound(self, phase: Phase, sums: tuple[int, ...]) -> str | None:
        """What the sizes add up to over the rounds of the loop, if the probes confirm such a sum."""
        key = (phase, sums)
        if key not in self._bounds:
            self._bounds[key] = self._find_bound(phase, sums)
        return self._bounds[key]

    def _find_bound(self, phase: Phase, sums: tuple[int, ...]) -> str | None:
        repeat = self._roles.repeat
        if repeat is not None and sums[repeat] != sums[self._roles.solving[0]]:
            return None
        dimension = self._solve(phase, tuple((number,) for number in sums), with_true_size=False)
        if isinstance(dimension, Symbolic):
            return f"sum over the rounds: {dimension.expression}"
        return f"sum over the rounds: {dimension.value}" if isinstance(dimension, Constant) else None
