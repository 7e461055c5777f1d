"""From sizes observed in probes to expressions in configuration names.

An expression is found on the solving probes alone and shown only if it also predicts the held-out probe and, where the
run at full size has the axis, that size too. What several different expressions fit equally well, with nothing to
decide between them, is unresolved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from openmodelatlas.errors import ShapeError
from openmodelatlas.shapes.confirm import Solution
from openmodelatlas.shapes.dimension import Constant, Dimension, Symbolic, Unresolved
from openmodelatlas.shapes.expression import (
    Expression,
    add,
    ceil_divide,
    evaluate,
    floor_divide,
    integer,
    minimum,
    multiply,
    name,
    names,
)
from openmodelatlas.shapes.names import KEY_PATTERN, RUN_NAMES, is_seam, preference
from openmodelatlas.shapes.search import Search, Vector
from openmodelatlas.shapes.transform import (
    complexity,
    description_bits,
    evidence_bits,
    is_plain,
    substitute,
    tells_less_than_its_operands,
    with_literal_as,
    with_other_rounding,
)

Sizes = Mapping[str, int]
"""Name to size in elements, in one probe and one phase."""

_MOST_NAMED = 5
# By how much a rival may be more complex and still keep a rounded or saturated expression from being believed (enough
# for w*ceil(T, w) against max(T, w)); small rounded sizes, such as 2, 3, 2 chunks, fit so many expressions that any
# rival counts.
_LOSSY_MARGIN = 14
_ANY_MARGIN = 1_000
_SMALL_SIZE = 32
# How much more the sizes must say than it takes to write the expression down, in bits. The run at full size differs
# from the probes by more than chance, so that it may fall short a little.
_SPARE_BITS = 2.0
_SPARE_BITS_AT_FULL_SIZE = -4.0
# Runs at which two expressions in B, T, P are compared: positions below and above any window of the configuration,
# and multiples of the configuration's own sizes.
_TRIAL_BATCH = 3
_TRIAL_TOKENS = (1, 11, 99_999_989)


def prefill_sizes(sizes: Sizes, batch: int, tokens: int) -> dict[str, int]:
    """Names and sizes for tensors of a prefill: the configuration's, ``B`` and ``T``."""
    return {**sizes, "B": batch, "T": tokens}


def decode_sizes(sizes: Sizes, batch: int, tokens: int) -> dict[str, int]:
    """Names and sizes for tensors of a decode step after a prefill of ``tokens``: the configuration's, ``B``, ``P``."""
    return {**sizes, "B": batch, "P": tokens}


def parameter_sizes(sizes: Sizes) -> dict[str, int]:
    """Names and sizes for parameters, which no run changes: without ``B``, ``T`` and ``P``."""
    return {key: size for key, size in sizes.items() if key not in RUN_NAMES}


class Solver:
    """Solves dimensions of one phase of one model; remembers every answer.

    Args:
        solving: sizes in each solving probe (at least two; names that are not in all of them are not used).
        held_out: sizes in the held-out probe.
        true: sizes at the published configuration, with ``B`` and ``T`` (or ``P``) of the run at full size if there
            was one; ``None`` if there is no published configuration. A name whose published size is unknown is not
            used, since its expression could not be evaluated.

    Raises:
        ShapeError: fewer than two solving probes.
    """

    def __init__(self, solving: Sequence[Sizes], held_out: Sizes, true: Sizes | None) -> None:
        if len(solving) < 2:
            raise ShapeError("Dimensions can only be solved from two or more probes.", where=f"{len(solving)} probes")
        self._solving = tuple(solving)
        self._held_out = held_out
        self._true = true
        usable = [
            key
            for key in solving[0]
            if KEY_PATTERN.match(key)
            and key in held_out
            and all(key in sizes for sizes in solving)
            and (true is None or key in true or key in RUN_NAMES)
        ]
        vectors: dict[str, Vector] = {key: tuple(sizes[key] for sizes in solving) for key in usable}
        self._aliases = _group_aliases(vectors, held_out, true)
        self._vectors = {key: vectors[key] for key in self._aliases}
        kept = [key for key, vector in self._vectors.items() if len({*vector, held_out[key]}) == 1]
        self._hidden = {key for key in kept if true is None or true.get(key) != held_out[key]}
        # A name that is the same in every probe and in truth is a length that the code writes down.
        self._written = frozenset(held_out[key] for key in kept if key not in self._hidden)
        shown = {key: vector for key, vector in self._vectors.items() if key not in kept or key in self._hidden}
        self._search = Search(shown)
        self._known: dict[tuple[Vector, int | None, int | None], Solution] = {}

    @property
    def aliases(self) -> dict[str, tuple[str, ...]]:
        """Name used in expressions to the other names of the same size in every probe and at full size."""
        return {key: others for key, others in self._aliases.items() if others}

    def solve(self, observed: Sequence[int], held_out: int | None, true_size: int | None = None) -> Dimension:
        """The dimension with the sizes ``observed`` in the solving probes; see :meth:`solution`."""
        return self.solution(observed, held_out, true_size).dimension

    def solution(self, observed: Sequence[int], held_out: int | None, true_size: int | None = None) -> Solution:
        """The dimension with the sizes observed, and how it was confirmed.

        Args:
            observed: size in each solving probe, in elements.
            held_out: size in the held-out probe; ``None`` if it has no such axis (then the true size must confirm).
            true_size: size in the model at full size, ``None`` if unknown.

        Raises:
            ShapeError: ``observed`` has not one size for each solving probe.
        """
        vector = tuple(observed)
        for sizes in self._vectors.values():
            if len(sizes) != len(vector):
                raise ShapeError(f"{len(sizes)} probes were solved for, {len(vector)} sizes observed.")
            break
        if self._true is None:
            true_size = None  # nothing is known that could predict it
        key = (vector, held_out, true_size)
        if key not in self._known:
            self._known[key] = self._solve(vector, held_out, true_size)
        return self._known[key]

    def _solve(self, vector: Vector, held_out: int | None, true_size: int | None) -> Solution:
        seen = vector + tuple(size for size in (held_out, true_size) if size is not None)
        if held_out is None and true_size is None:
            return _unresolved("The held-out probe has no such axis, so nothing confirms an expression.", seen)
        if len(set(seen)) == 1:
            rival = self._hidden_rival(vector, held_out) if true_size is None and held_out is not None else None
            if rival is None:
                return Solution(
                    dimension=Constant(vector[0]),
                    held_out=held_out is not None,
                    true_size=None if true_size is None else True,
                )
            return _unresolved(f"Ambiguous: {vector[0]} or {rival}, which no probe tells apart.", seen)
        discarded: dict[str, None] = {}
        stages = self._search.stages(vector)
        for stage, candidates in enumerate(stages):
            fitting = self._fitting(candidates, held_out, true_size, discarded)
            if not fitting:
                continue
            best = fitting[0]
            if stage < 2 and any(tells_less_than_its_operands(best, sizes) for sizes in self._solving):
                # Rounded sizes say little: what else fits must be known before one is believed.
                fitting += self._fitting(next(stages), held_out, true_size, {})
            chosen = self._choose(fitting, stage, true_size, seen, tuple(discarded))
            return msgspec.structs.replace(chosen, held_out=chosen.held_out and held_out is not None)
        return _unresolved(_why(tuple(discarded), true_size), seen, tuple(discarded))

    def _fitting(
        self, candidates: list[Expression], held_out: int | None, true_size: int | None, discarded: dict[str, None]
    ) -> list[Expression]:
        """The candidates that the confirmations leave, simplest first; simpler ones that were refuted are noted."""
        fitting: list[Expression] = []
        for candidate in sorted(dict.fromkeys(candidates), key=_rank):
            if self._confirmed(candidate, held_out, true_size):
                fitting.append(candidate)
            elif not fitting:
                discarded[str(candidate)] = None
        return fitting

    def _confirmed(self, candidate: Expression, held_out: int | None, true_size: int | None) -> bool:
        # No value (a denominator of 0, a run at full size without B, T, P) is no confirmation.
        if held_out is not None and self._value(candidate, self._held_out) != held_out:
            return False
        return true_size is None or (self._true is not None and self._value(candidate, self._true) == true_size)

    def _choose(
        self, fitting: list[Expression], stage: int, true_size: int | None, seen: Vector, discarded: tuple[str, ...]
    ) -> Solution:
        best = fitting[0]
        margin = 0
        if any(tells_less_than_its_operands(best, sizes) for sizes in self._solving):
            margin = _LOSSY_MARGIN if max(seen[: len(self._solving)]) > _SMALL_SIZE else _ANY_MARGIN
        if true_size is None and stage >= 2:
            margin = _ANY_MARGIN
        ties = [rival for rival in fitting[1:] if complexity(rival) <= complexity(best) + margin]
        # Forms that the search ranks behind the best, or does not list, and that another run would tell from it.
        forms = [*self._seam_forms(best), *with_other_rounding(best), *self._hidden_forms(best)]
        forms = [form for form in forms if self._fits(form, seen, true_size)]
        for rival in [*forms, *ties]:
            if self._differ(best, rival):
                return _unresolved(f"Ambiguous: {best} or {rival}, which no probe tells apart.", seen, discarded)
        probes = (*self._solving, self._held_out)
        spare = evidence_bits(seen) - description_bits(best, len(self._search.sizes), probes, self._written)
        if spare < (_SPARE_BITS if true_size is None else _SPARE_BITS_AT_FULL_SIZE) and not is_plain(best):
            return _unresolved(f"{best} fits, but sizes this small fit some expression by chance.", seen, discarded)
        found = names(best)
        value = None
        if self._true is not None and not set(found) & set(RUN_NAMES):
            value = evaluate(best, self._true)
        return Solution(
            dimension=Symbolic(str(best), value),
            held_out=True,
            true_size=None if true_size is None else True,
            aliases={key: self._aliases[key] for key in found if self._aliases[key]},
            discarded=discarded,
        )

    def _differ(self, one: Expression, other: Expression) -> bool:
        """Whether two expressions have different values at the published configuration, in some run."""
        published = self._held_out if self._true is None else self._true
        multiples = [2 * published[key] for key in {*names(one), *names(other)} - set(RUN_NAMES)]
        for tokens in (*_TRIAL_TOKENS, *multiples):
            values = {**published, "B": _TRIAL_BATCH, "T": tokens, "P": tokens}
            if self._value(one, values) != self._value(other, values):
                return True
        return False

    def _fits(self, node: Expression, seen: Vector, true_size: int | None) -> bool:
        """Whether an expression has all the sizes that were seen: solving probes, held-out probe, full size."""
        solving = len(self._solving)
        predicted = tuple(self._value(node, sizes) for sizes in self._solving)
        return predicted == seen[:solving] and self._confirmed(node, seen[solving], true_size)

    def _seam_forms(self, best: Expression) -> list[Expression]:
        """``best`` with ``min(T, w)`` for a window ``w``: the same as long as a run has more positions."""
        runs = [key for key in ("T", "P") if key in self._vectors]
        forms = []
        for key in names(best):
            for run in runs if is_seam(key) else ():
                forms.append(substitute(best, key, minimum(name(run), name(key))))
        return forms

    def _hidden_forms(self, best: Expression) -> list[Expression]:
        """``best`` with a name that no probe varies in place of the number it has in all of them."""
        forms = []
        for key in sorted(self._hidden - set(names(best))):
            size = self._held_out[key]
            forms.append(multiply(best, name(key)) if size == 1 else with_literal_as(best, size, key))
        return forms

    def _hidden_rival(self, vector: Vector, held_out: int) -> str | None:
        """A name, or a number of chunks, that looks like this constant in every probe."""
        rivals: list[Expression] = [name(key) for key in sorted(self._hidden) if self._vectors[key] == vector]
        if vector[0] > 1:  # a size of 1 is nearly always a broadcast axis
            for run in (name(key) for key in ("T", "P") if key in self._vectors):
                for seam in (name(key) for key in self._vectors if is_seam(key)):
                    for length in (run, add(run, integer(1))):
                        rivals += [floor_divide(length, seam), ceil_divide(length, seam)]
        for rival in rivals:
            sizes = (*(self._value(rival, probe) for probe in self._solving), self._value(rival, self._held_out))
            if sizes == (*vector, held_out):
                return str(rival)
        return None

    @staticmethod
    def _value(node: Expression, sizes: Sizes) -> int | None:
        try:
            return evaluate(node, sizes)
        except ShapeError:
            return None


def _group_aliases(vectors: dict[str, Vector], held_out: Sizes, true: Sizes | None) -> dict[str, tuple[str, ...]]:
    """Each name to use, preferred ones first, with the others that have its size everywhere."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for key in sorted(vectors, key=preference):
        everywhere = (vectors[key], held_out[key], None if true is None else true.get(key))
        groups.setdefault((key,) if key in RUN_NAMES else everywhere, []).append(key)
    return {group[0]: tuple(group[1:]) for group in groups.values()}


def _rank(node: Expression) -> tuple[int, int, str]:
    return complexity(node), sum(preference(key)[0] for key in names(node)), str(node)


def _why(discarded: tuple[str, ...], true_size: int | None) -> str:
    if not discarded:
        return "No expression of the grammar has these sizes in the solving probes."
    shown = ", ".join(discarded[:_MOST_NAMED]) + (", …" if len(discarded) > _MOST_NAMED else "")
    refuted_by = "the held-out probe" if true_size is None else "the held-out probe or the model at full size"
    return f"Every expression that has these sizes in the solving probes is refuted by {refuted_by}: {shown}."


def _unresolved(reason: str, seen: Vector, discarded: tuple[str, ...] = ()) -> Solution:
    return Solution(dimension=Unresolved(reason, seen), held_out=False, true_size=None, discarded=discarded)
