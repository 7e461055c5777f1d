"""Choose the sizes of every probe from a configuration: depth stays true, widths shrink. No torch here.

Rules, after ``docs/architecture.md``: within a probe all sizes differ from each other and from B, T and T + 1; the
vectors of sizes over the solving probes differ between any two names, and no name has the vector of a sum or product
of two others unless a relation forces it; primes are preferred; more tokens than any window, kernel or sparse choice,
and one more than a whole number of chunks; relations of the mechanisms hold (see :mod:`.relations`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openmodelatlas.capture.child import kinds
from openmodelatlas.capture.child.draw import Drawn, Task, draw
from openmodelatlas.capture.child.kinds import Kind, flat, kind_of
from openmodelatlas.capture.child.relations import LADDER, Relations, Rung, relations_of
from openmodelatlas.capture.child.search import Constraint
from openmodelatlas.capture.recording import Choice, Probe
from openmodelatlas.errors import ConfigurationError

_MOST_KEYS = 20

SMALL_KINDS = frozenset({kinds.KERNEL, kinds.SHARED_EXPERTS, kinds.STATE_GROUPS})


@dataclass(frozen=True)
class Plan:
    """Sizes for every probe.

    Attributes:
        probes: the solving probes, then the held-out, then the repeat probe. ``sizes`` hold the free keys only.
        settings: for each probe, the value of every key that is set, followers of ties included.
        choices: one for every key of the configuration, for the report.
        rung: the rung of the ladder the sizes stand on.
    """

    probes: list[Probe]
    settings: list[dict[str, int]]
    choices: list[Choice]
    rung: Rung


@dataclass
class Published:
    """A configuration as published, with where each key comes from.

    Attributes:
        effective: the configuration with the class's defaults filled in, nested.
        origins: ``file`` or ``class default`` by dotted path.
        computed: reasons why the values at these dotted paths cannot be chosen, such as that the configuration class
            computes them from others.
        lengths: lengths that the code itself writes down and no key sets, by name, ``""`` for those without one
            (:mod:`.lengths`); probes are longer than all of them.
    """

    effective: dict[str, Any]
    origins: dict[str, str]
    computed: dict[str, str] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)

    def keep(self, keys: Iterable[str], reason: str) -> None:
        """Keeps the values of ``keys`` (last parts of dotted paths) as published, where they count layers.

        A key of a kind that is known to be a width, or with a value larger than the depth, counts no layers.
        """
        values = kinds.flat(self.effective)
        kept = set(keys)
        depths = [value for path, value in values.items() if path.rpartition(".")[2] in kinds.DEPTH]
        depth = max((value for value in depths if isinstance(value, int)), default=0)
        for path, value in values.items():
            unknown = kind_of(path) in (None, kinds.OTHER)
            if path.rpartition(".")[2] in kept and unknown and isinstance(value, int) and 0 < value <= depth:
                self.computed.setdefault(path, reason)


def free_sizes(published: Published) -> dict[str, int]:
    """Published sizes of the keys that a probe may choose, by dotted path.

    Raises:
        ConfigurationError: a key that is a size holds a negative number, zero, or something that is no integer.
    """
    sizes: dict[str, int] = {}
    for path, value in kinds.flat(published.effective).items():
        kind = kind_of(path)
        if path.rpartition(".")[2] in kinds.DEPTH and not kinds.holds_no_size(path):
            _check_depth(path, value)
        if kind is None or kind is kinds.KEPT or path in published.computed or not _is_set(path, value, kind):
            continue
        if value > 1 or not kind.keep_one:
            sizes[path] = value
    return sizes


def _stays(path: str, published: Published) -> bool:
    """Whether a published 1 is kept: it switches a mechanism off, such as grouping of experts."""
    kind = kind_of(path)
    return kind is not None and kind is not kinds.KEPT and kind.keep_one and path not in published.computed


def _is_set(path: str, value: Any, kind: Kind) -> bool:
    """Whether ``value`` is a size; raises a ConfigurationError if it is absurd."""
    if value is None or isinstance(value, (bool, list)) or value == "auto":
        return False
    if isinstance(value, int):
        if value > 0:
            return True
        if (value == 0 and kind in kinds.ZERO_SWITCHES_OFF) or (value == -1 and kind in kinds.MINUS_ONE_IS_UNSET):
            return False
        raise _absurd(path, value, f"{kind.name} must be at least 1")
    if kind is kinds.OTHER:
        return False
    raise _absurd(path, value, f"{kind.name} must be a whole number")


def _check_depth(path: str, value: Any) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise _absurd(path, value, "the number of layers must be a whole number of at least 1")


def _absurd(path: str, value: Any, rule: str) -> ConfigurationError:
    return ConfigurationError(f"{path} is {value!r}; {rule}.", where=path, advice="Correct it in the configuration.")


def choose(
    published: Published,
    *,
    rung: Rung = LADDER[0],
    solving: int = 3,
    overrides: Mapping[str, int | list[int]] | None = None,
    dtypes: Sequence[str] = ("float32",),
    seed: str = "",
) -> Plan:
    """Sizes for ``solving`` solving probes, one held-out probe and the repeat of the first.

    Args:
        published: the configuration.
        rung: relations to obey beyond the mechanisms' own.
        solving: number of solving probes.
        overrides: sizes the user fixed, by dotted path: one value for all probes, or one per probe (solving probes,
            then the held-out one; the last value repeats).
        dtypes: floating-point type of each solving probe; the last repeats, all others are ``float32``.
        seed: makes the choice reproducible.

    Raises:
        ConfigurationError: absurd sizes, an override that names no key or breaks a relation, or no sizes that fit.
    """
    overrides = overrides or {}
    values = flat(published.effective)
    sizes = free_sizes(published)
    for path, size in overrides.items():
        _check_override(path, size, values)
        sizes.setdefault(path, values[path] if isinstance(values[path], int) else 1)
    ones = {path: 1 for path, value in values.items() if value == 1 and path not in sizes and _stays(path, published)}
    relations = relations_of({**sizes, **ones}, values, rung)
    tied = {path: leader for path, leader in relations.tied.items() if path not in overrides}
    pinned = {
        path: value
        for path, value in sizes.items()
        if rung.keep_small and path not in overrides and kind_of(path) in SMALL_KINDS
    }
    free = [path for path in sizes if path not in tied and path not in pinned]
    longest = max(published.lengths.values(), default=0)
    drawn = draw(
        Task(free, {**ones, **pinned}, relations.constraints, overrides, solving, relations.highest, seed, longest)
    )
    return _plan(published, drawn, relations, rung, overrides, tied, dtypes)


def _check_override(path: str, size: int | list[int], values: Mapping[str, Any]) -> None:
    if path not in values:
        near = difflib.get_close_matches(path, values, n=5) or sorted(values)
        some = f"{', '.join(near[:_MOST_KEYS])}{', …' if len(near) > _MOST_KEYS else ''}"
        raise ConfigurationError(
            f"The override {path} names no key of the configuration.",
            where=path,
            advice=f"It has {some}." if near else "It has none: the source takes no sizes.",
        )
    numbers = size if isinstance(size, list) else [size]
    if not numbers or any(isinstance(number, bool) or number < 1 for number in numbers):
        raise ConfigurationError(f"The override {path}={size} is no size.", where=path, advice="Give whole numbers.")


def _plan(
    published: Published,
    drawn: Sequence[Drawn],
    relations: Relations,
    rung: Rung,
    overrides: Mapping[str, int | list[int]],
    tied: Mapping[str, str],
    dtypes: Sequence[str],
) -> Plan:
    probes: list[Probe] = []
    settings: list[dict[str, int]] = []
    solving = len(drawn) - 1
    order = [*range(solving), solving, 0]
    for position, index in enumerate(order):
        one = drawn[index]
        role = "solve" if position < solving else "held-out" if position == solving else "repeat"
        dtype = dtypes[min(position, len(dtypes) - 1)] if role == "solve" else "float32"
        probes.append(
            Probe(
                name=_probe_name(position),
                role=role,  # type: ignore[arg-type]
                sizes={path: size for path, size in one.sizes.items() if kind_of(path) is not kinds.KEPT}
                | {name: length for name, length in published.lengths.items() if name},
                batch=one.batch,
                tokens=one.tokens,
                dtype=dtype,
                seed=position + 1,
            )
        )
        followers = {path: one.sizes[leader] for path, leader in tied.items() if leader in one.sizes}
        settings.append({**one.sizes, **followers})
    return Plan(probes, settings, _choices(published, settings, relations.constraints, tied, overrides), rung)


def _probe_name(position: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[position]


def _choices(
    published: Published,
    settings: Sequence[Mapping[str, int]],
    constraints: Sequence[Constraint],
    tied: Mapping[str, str],
    overrides: Mapping[str, int | list[int]],
) -> list[Choice]:
    choices = []
    for path, value in flat(published.effective).items():
        chosen = [setting[path] for setting in settings if path in setting]
        kind = kind_of(path)
        if path in tied:
            reason = f"Equal to {tied[path]}, as published."
        elif chosen:
            about = [constraint.text for constraint in constraints if path in constraint.keys]
            reason = f"{(kind or kinds.OTHER).name.capitalize()}{': ' + '; '.join(about) if about else ''}."
        elif path in published.computed:
            reason = published.computed[path]
        elif kind is kinds.KEPT:
            reason = "Kept: depth, schedule, ratio or a value that is no size."
        elif kind is None:
            reason = "Kept: no size."
        elif value == 1:
            reason = "Kept: 1 switches the mechanism off."
        else:
            reason = "Kept: not set, or as published."
        origin = "override" if path in overrides else published.origins.get(path, "class default")
        choices.append(Choice(key=path, true_value=_plain(value), origin=origin, sizes=chosen, reason=reason))
    return choices


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return value if isinstance(value, (bool, int, float, str, type(None), dict)) else str(value)
