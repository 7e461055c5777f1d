"""Verdicts that concern the whole atlas: totals, dimensions, the run at full size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from openmodelatlas.capture.recording import Recording, Summary
from openmodelatlas.graph.align import Site, sites_in
from openmodelatlas.graph.document import Check
from openmodelatlas.graph.parameters import ParameterTable
from openmodelatlas.graph.roles import Roles
from openmodelatlas.graph.sights import Shape
from openmodelatlas.graph.sizes import Sizes


def make_checks(
    table: ParameterTable,
    summary: Summary,
    recordings: Sequence[Recording],
    roles: Roles,
    roots: Sequence[Site],
    sizes: Sizes,
) -> tuple[Check, ...]:
    """All verdicts, each with its numbers."""
    return (
        _total(table, summary),
        _parameter_shapes(table),
        *_dimensions(recordings, roles, roots, sizes),
        _full_size(recordings, roles),
    )


def _total(table: ParameterTable, summary: Summary) -> Check:
    name = "parameters from the solved expressions equal the model at full size"
    if summary.parameters_failure is not None:
        return Check(name=name, passed=None, detail=f"not recorded: {summary.parameters_failure}")
    counted = sum(prod(parameter.shape) for parameter in summary.parameters if parameter.kind == "parameter")
    total = table.total()
    return Check(name=name, passed=total == counted, detail=f"{total:,} solved, {counted:,} on the meta device")


def _parameter_shapes(table: ParameterTable) -> Check:
    unresolved = [item.parameter.name for item in table.solved.values() if not item.resolved]
    detail = f"{len(table.solved) - len(unresolved):,} of {len(table.solved):,}"
    if unresolved:
        detail += f"; not: {', '.join(unresolved[:3])}{' …' if len(unresolved) > 3 else ''}"
    return Check(name="parameter shapes have expressions", passed=not unresolved, detail=detail)


def _dimensions(
    recordings: Sequence[Recording], roles: Roles, roots: Sequence[Site], sizes: Sizes
) -> tuple[Check, ...]:
    kinds: Counter[str] = Counter()
    confirmed = at_full_size = 0
    signatures: Counter[tuple[tuple[str, ...], bool, bool]] = Counter()
    names: dict[int, tuple[Shape, tuple[str, ...]]] = {}  # layers share their shapes, which are held for their id
    for root in roots:
        for site in sites_in(root.children):
            if site.event >= 0:
                dimensions = sizes.signature(site)
                if id(dimensions) not in names:
                    names[id(dimensions)] = dimensions, tuple(type(dimension).__name__ for dimension in dimensions)
                reached = roles.true_size is not None and bool(site.instances[roles.true_size])
                signatures[names[id(dimensions)][1], bool(site.instances[roles.held_out]), reached] += 1
    for (kinds_of, held_out, reached), count in signatures.items():
        solved = count * sum(kind in ("Symbolic", "Constant") for kind in kinds_of)
        confirmed += solved if held_out else 0
        at_full_size += solved if reached else 0
        for kind in kinds_of:
            kinds[kind] += count
    total, unresolved = sum(kinds.values()), kinds["Unresolved"]
    solved = kinds["Symbolic"] + kinds["Constant"]
    detail = (
        f"{total:,} in all: {kinds['Symbolic']:,} expressions, {kinds['Constant']:,} constants, "
        f"{kinds['DataDependent']:,} that depend on values, {unresolved:,} unresolved"
    )
    return (
        Check(name="dimensions resolved, or named with what they depend on", passed=not unresolved, detail=detail),
        Check(
            name="dimensions confirmed on the held-out probe",
            passed=True if confirmed else None,
            detail=f"{confirmed:,} of {solved:,}"
            + ("" if confirmed == solved else "; the others did not run there and are confirmed at full size"),
        ),
        Check(
            name="dimensions confirmed at full size on the meta device",
            passed=True if at_full_size else None,
            detail=f"{at_full_size:,} of {solved:,}; without values the run reaches no others",
        ),
    )


def _full_size(recordings: Sequence[Recording], roles: Roles) -> Check:
    name = "run at full size on the meta device"
    if roles.true_size is None:
        return Check(name=name, passed=None, detail="not recorded")
    failure = recordings[roles.true_size].failure
    if failure is not None:
        return Check(name=name, passed=None, detail=f"stopped early: {failure}")
    return Check(name=name, passed=True, detail="whole")
