"""Choose the sizes of every probe from a configuration: depth stays true, widths shrink. No torch here.

Rules, after ``docs/architecture.md``: within a probe all sizes differ from each other and from B, T and T + 1; the
vectors of sizes over the solving probes differ between any two names, and no name has the vector of a sum or product
of two others unless a relation forces it; primes are preferred; more tokens than any window, kernel or sparse choice,
and one more than a whole number of chunks; relations of the mechanisms hold (see :mod:`.relations`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openmodelatlas.capture.child import kinds
from openmodelatlas.capture.child.kinds import Kind, flat, kind_of
from openmodelatlas.capture.child.relations import LADDER, Relations, Rung, relations_of
from openmodelatlas.capture.child.search import is_prime, search
from openmodelatlas.capture.recording import Choice, Probe
from openmodelatlas.errors import ConfigurationError

BATCHES = (3, 2, 4, 5)
TOKENS = (13, 17, 11, 16, 14, 18, 19, 15)
ATTEMPTS = 24
EFFORTS = 4
CONSTANT = 100
SMALL_KINDS = frozenset({kinds.KERNEL, kinds.SHARED_EXPERTS, kinds.STATE_GROUPS})
TOKEN_KINDS = (kinds.WINDOW, kinds.KERNEL, kinds.SPARSE_CHOICE)


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
        computed: dotted paths whose value the configuration class computes from others: they cannot be chosen.
    """

    effective: dict[str, Any]
    origins: dict[str, str]
    computed: dict[str, str] = field(default_factory=dict)


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
    sizes = free_sizes(published)
    values = flat(published.effective)
    for path in overrides:
        if path not in sizes and path not in values:
            raise ConfigurationError(
                f"The override {path} names no key of the configuration.", where=path, advice="See the report of sizes."
            )
        sizes.setdefault(path, int(values[path] or 1))
    relations = relations_of(sizes, values, rung)
    followers = relations.tied
    free = {path: value for path, value in sizes.items() if path not in followers}
    if rung.keep_small:
        free = {path: value for path, value in free.items() if path in overrides or kind_of(path) not in SMALL_KINDS}
    best: list[tuple[int, int, dict[str, int]]] = []
    best_score: int | None = None
    for attempt in range(ATTEMPTS):
        drawn = _draw(free, relations, overrides, solving, f"{seed}/{attempt}")
        score = _coincidences(drawn, solving)
        if best_score is None or score < best_score:
            best, best_score = drawn, score
        if not score or (attempt >= 4 and best_score < CONSTANT):
            break
    return _plan(published, best, relations, rung, overrides, solving, dtypes)


def _draw(
    free: Mapping[str, int],
    relations: Relations,
    overrides: Mapping[str, int | list[int]],
    solving: int,
    seed: str,
) -> list[tuple[int, int, dict[str, int]]]:
    """(B, T, sizes) of the solving probes and the held-out probe."""
    drawn: list[tuple[int, int, dict[str, int]]] = []
    before: dict[str, set[int]] = {path: set() for path in free}
    for index in range(solving + 1):
        found = None
        for attempt in range(ATTEMPTS):
            found = _draw_one(free, relations, overrides, index, before, seed, attempt)
            if found is not None:
                break
        if found is None:
            names = ", ".join(constraint.text for constraint in relations.constraints) or "none"
            raise ConfigurationError(
                f"No probe sizes fit the relations between the configuration's keys ({names}).",
                where=", ".join(overrides) or None,
                advice="Remove an override." if overrides else "Fix sizes by hand with an override.",
            )
        drawn.append(found)
        for path, value in found[2].items():
            before[path].add(value)
    return drawn


def _draw_one(
    free: Mapping[str, int],
    relations: Relations,
    overrides: Mapping[str, int | list[int]],
    index: int,
    before: Mapping[str, set[int]],
    seed: str,
    effort: int,
) -> tuple[int, int, dict[str, int]] | None:
    generator = random.Random(f"{seed}/{index}/{effort}")  # noqa: S311 - a reproducible choice, not a secret
    batch = BATCHES[index % len(BATCHES)]
    tokens = (TOKENS[index:] + TOKENS[:index])[effort % len(TOKENS)]
    chunk: int | None = None
    domains: dict[str, list[int]] = {}
    for path in free:
        kind = kind_of(path) or kinds.OTHER
        if path in overrides:
            domains[path] = [_override(overrides[path], index)]
        elif kind is kinds.CHUNK:
            chunk = chunk or generator.choice([size for size in range(kind.low, kind.high) if size not in before[path]])
            domains[path] = [chunk]
        else:
            grouped = kind is kinds.EXPERTS and any(kind_of(other) is kinds.EXPERT_GROUPS for other in free)
            kind = kinds.GROUPED_EXPERTS if grouped else kind
            domains[path] = _domain(kind, before[path], effort // EFFORTS, generator)
    if chunk is not None:
        tokens = chunk * (2 if chunk > 5 else 3) + 1
    fixed = frozenset(path for path in free if path in overrides or (kind_of(path) is kinds.CHUNK))
    limits = [max(domains[path]) if path in overrides else 0 for path in free if kind_of(path) in TOKEN_KINDS]
    tokens = max([tokens, *(limit + 3 for limit in limits)])
    for path in free:
        if kind_of(path) in TOKEN_KINDS and path not in overrides:
            domains[path] = [size for size in domains[path] if size < tokens - 2]
        if kind_of(path) is kinds.POSITIONS and path not in overrides:
            domains[path] = [size for size in domains[path] if size > tokens + 2]
    taken = {batch, tokens, tokens + 1, batch * tokens, batch * (tokens + 1)} | {domains[path][0] for path in fixed}
    sizes = search(domains, relations.constraints, taken=taken, shared=fixed)
    return None if sizes is None else (batch, tokens, {path: sizes[path] for path in free})


def _override(value: int | list[int], index: int) -> int:
    return value if isinstance(value, int) else value[min(index, len(value) - 1)]


def _domain(kind: Kind, before: set[int], widening: int, generator: random.Random) -> list[int]:
    """Sizes of a kind, shuffled: those no earlier probe has first, then (in wide ranges) primes first.

    Args:
        kind: the kind, with its range.
        before: sizes that earlier probes have; only without widening are they left out altogether.
        widening: how often the search has failed: each time the range grows by two.
        generator: decides the order.
    """
    values = list(range(kind.low, kind.high + 1 + 2 * widening, 2 if kind.even else 1))
    generator.shuffle(values)
    wide = kind.high - kind.low >= 12
    values.sort(key=lambda value: (value in before, wide and not is_prime(value)))
    fresh = [value for value in values if value not in before]
    return fresh if fresh and not widening else values


def _coincidences(drawn: Sequence[tuple[int, int, dict[str, int]]], solving: int) -> int:
    """How many names have the vector of a sum, difference-free product or double of others over the solving probes."""
    names = list(drawn[0][2])
    vectors: dict[str, tuple[int, ...]] = {
        name: tuple(drawn[index][2][name] for index in range(solving)) for name in names
    }
    vectors["B"] = tuple(drawn[index][0] for index in range(solving))
    vectors["T"] = tuple(drawn[index][1] for index in range(solving))
    owners: dict[tuple[int, ...], str] = {}
    count = 0
    for name, vector in vectors.items():
        if vector in owners:
            count += 1
        if solving > 1 and len(set(vector)) == 1:
            count += CONSTANT
        owners[vector] = name
    for (_, first), (_, second) in itertools.combinations_with_replacement(vectors.items(), 2):
        total = tuple(map(int.__add__, first, second))
        product = tuple(map(int.__mul__, first, second))
        count += (total in owners) + (product in owners)
    return count


def _plan(
    published: Published,
    drawn: Sequence[tuple[int, int, dict[str, int]]],
    relations: Relations,
    rung: Rung,
    overrides: Mapping[str, int | list[int]],
    solving: int,
    dtypes: Sequence[str],
) -> Plan:
    probes: list[Probe] = []
    settings: list[dict[str, int]] = []
    order = [*range(solving), solving, 0]
    for position, index in enumerate(order):
        batch, tokens, sizes = drawn[index]
        role = "solve" if position < solving else "held-out" if position == solving else "repeat"
        dtype = dtypes[min(position, len(dtypes) - 1)] if role == "solve" else "float32"
        probes.append(
            Probe(
                name=_probe_name(position),
                role=role,  # type: ignore[arg-type]
                sizes=sizes,
                batch=batch,
                tokens=tokens,
                dtype=dtype,
                seed=position + 1,
            )
        )
        settings.append({**sizes, **{key: sizes[leader] for key, leader in relations.tied.items() if leader in sizes}})
    return Plan(probes, settings, _choices(published, settings, relations, rung, overrides), rung)


def _probe_name(position: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[position]


def _choices(
    published: Published,
    settings: Sequence[Mapping[str, int]],
    relations: Relations,
    rung: Rung,
    overrides: Mapping[str, int | list[int]],
) -> list[Choice]:
    choices = []
    for path, value in flat(published.effective).items():
        chosen = [setting[path] for setting in settings if path in setting]
        kind = kind_of(path)
        if path in relations.tied and chosen:
            reason = f"Equal to {relations.tied[path]}, as published."
        elif chosen:
            about = [constraint.text for constraint in relations.constraints if path in constraint.keys]
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
