"""Verdicts that concern the whole atlas: totals, dimensions, the run at full size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from openmodelatlas.capture.recording import Recording, Summary
from openmodelatlas.graph.align import Site
from openmodelatlas.graph.document import Check
from openmodelatlas.graph.parameters import ParameterTable
from openmodelatlas.graph.roles import Roles
from openmodelatlas.graph.sizes import Sizes


def make_checks(
    table: ParameterTable,
    summary: Summary,
    recordings: Sequence[Recording],
    roles: Roles,
    sites: Sequence[Site],
    sizes: Sizes,
) -> tuple[Check, ...]:
    """All verdicts, each with its numbers; ``sites`` are all of the model."""
    return (
        _total(table, summary),
        _parameter_shapes(table),
        *_dimensions(roles, sites, sizes),
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


def _dimensions(roles: Roles, sites: Sequence[Site], sizes: Sizes) -> tuple[Check, ...]:
    kinds: Counter[str] = Counter()
    confirmed = at_full_size = 0
    for site, count in sizes.distinct(sites):
        solved = 0
        for dimension in sizes.signature(site):
            kind = type(dimension).__name__
            kinds[kind] += count
            solved += count if kind in ("Symbolic", "Constant") else 0
        confirmed += solved if site.instances[roles.held_out] else 0
        at_full_size += solved if roles.true_size is not None and site.instances[roles.true_size] else 0
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
