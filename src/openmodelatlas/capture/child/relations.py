"""Relations between sizes: those every probe obeys, and those a probe obeys only when the code turns out to need them.

The first are properties of the mechanisms (a key head serves a whole number of query heads; rotary dimensions come in
pairs; more experts exist than are chosen). The second hold at the published sizes but need not hold in general
(``hidden_size = num_attention_heads * head_dim``): obeying them hides axes, so they are taken on one rung of the
:data:`LADDER` after the other, only after the model's code has refused the freer sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openmodelatlas.capture.child import kinds
from openmodelatlas.capture.child.search import Constraint

_PLAIN = frozenset({"head_dim", "head_size", "d_head", "kv_channels", "global_head_dim", "attention_head_dim"})
"""Names of the one dimension that queries, keys and values share."""
_ROTARY_FRACTIONS = frozenset({"partial_rotary_factor", "rotary_pct", "rotary_percent", "rotary_emb_fraction"})


@dataclass(frozen=True)
class Rung:
    """What the probe sizes obey beyond the mechanisms' own relations.

    Attributes:
        text: what this rung adds, as a sentence for the report.
        heads_divide_hidden: the hidden size is a multiple of every count of heads.
        heads_fill_hidden: published equalities ``hidden = heads * head_dim`` hold.
        even_heads: all head dimensions and ranks are even, as complex numbers and some kernels need.
        keep_small: windows, kernels, chunks, state groups and shared experts keep their published sizes.
        keep_ratios: published whole ratios of the feed-forward widths to the hidden size hold.
    """

    text: str
    heads_divide_hidden: bool = False
    heads_fill_hidden: bool = False
    even_heads: bool = False
    keep_small: bool = False
    keep_ratios: bool = False


LADDER: tuple[Rung, ...] = (
    Rung(text="sizes obey only what the mechanisms themselves need"),
    Rung(text="the hidden size is a multiple of the number of heads", heads_divide_hidden=True),
    Rung(text="head dimensions and ranks are even as well", heads_divide_hidden=True, even_heads=True),
    Rung(text="hidden size = heads * head dimension as published as well",
         heads_divide_hidden=True, even_heads=True, heads_fill_hidden=True),
    Rung(text="kernels, shared experts and groups as published as well",
         heads_divide_hidden=True, even_heads=True, heads_fill_hidden=True, keep_small=True),
    Rung(text="feed-forward widths in the published ratio to the hidden size as well",
         heads_divide_hidden=True, even_heads=True, heads_fill_hidden=True, keep_small=True, keep_ratios=True),
)  # fmt: skip


@dataclass(frozen=True)
class Relations:
    """What :func:`relations_of` found.

    Attributes:
        constraints: for the search.
        highest: largest size of keys that are a published multiple of another key.
        tied: follower to leader: keys that take the leader's size because they are equal as published.
    """

    constraints: list[Constraint]
    tied: dict[str, str]
    highest: dict[str, int]


def relations_of(sizes: Mapping[str, int], configuration: Mapping[str, Any], rung: Rung) -> Relations:
    """Relations among the keys of ``sizes``.

    Args:
        sizes: published sizes of the keys to shrink, by dotted path, and of those that stay 1.
        configuration: the whole flat configuration (:func:`kinds.flat`), for ratios that are kept.
        rung: how many relations beyond the mechanisms' own to obey.
    """
    constraints: list[Constraint] = []
    tied: dict[str, str] = {}
    highest: dict[str, int] = {}
    for scope in sorted({_scope(path) for path in sizes}):
        members = {path: kinds.kind_of(path) for path in sizes if _scope(path) == scope}
        by_kind: dict[kinds.Kind, list[str]] = {}
        for path, kind in members.items():
            if kind is not None:
                by_kind.setdefault(kind, []).append(path)
        _head_relations(by_kind, sizes, constraints, tied)
        _expert_relations(by_kind, sizes, constraints)
        mamba = _state_space_relations(by_kind, sizes, configuration, scope, constraints)
        if not mamba:
            _hidden_relations(by_kind, sizes, rung, constraints)
        if rung.keep_ratios:
            _ratio_relations(by_kind, sizes, constraints, highest)
        _rotary_relations(by_kind, configuration, rung, constraints)
    # What the published sizes themselves break is no relation of this model.
    constraints = [one for one in constraints if one.holds(*(sizes[key] for key in one.keys))]
    return Relations(constraints, {key: leader for key, leader in tied.items() if key != leader}, highest)


def _scope(path: str) -> str:
    return path.rpartition(".")[0]


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _head_relations(
    by_kind: Mapping[kinds.Kind, list[str]],
    sizes: Mapping[str, int],
    constraints: list[Constraint],
    tied: dict[str, str],
) -> None:
    """Query heads are a multiple (at least twice) of their key and value heads; equal counts stay equal."""
    for key_heads in by_kind.get(kinds.KEY_VALUE_HEADS, []):
        for heads in by_kind.get(kinds.HEADS, []):
            if not _partners(_last(key_heads), _last(heads)):
                continue
            if sizes[key_heads] == sizes[heads]:
                tied[key_heads] = heads
            elif sizes[heads] % sizes[key_heads] == 0:
                constraints.append(
                    Constraint(
                        (heads, key_heads),
                        lambda query, shared: query % shared == 0 and query > shared,
                        f"{_last(heads)} is a multiple of {_last(key_heads)}",
                    )
                )


def _partners(key_heads: str, heads: str) -> bool:
    """Whether a count of key-value heads belongs to a count of heads, judged by the rest of their names."""
    if key_heads.endswith("num_key_heads"):
        return heads == key_heads.replace("num_key_heads", "num_value_heads")
    return not heads.endswith("num_value_heads") and not heads.startswith(("index_", "linear_", "mamba_"))


def _expert_relations(
    by_kind: Mapping[kinds.Kind, list[str]], sizes: Mapping[str, int], constraints: list[Constraint]
) -> None:
    """Fewer chosen than existing experts; groups divide the experts and the chosen groups hold enough of them."""
    for experts in by_kind.get(kinds.EXPERTS, []):
        for chosen in by_kind.get(kinds.CHOSEN_EXPERTS, []):
            constraints.append(
                Constraint((chosen, experts), lambda k, n: k < n, f"{_last(chosen)} is less than {_last(experts)}")
            )
        for groups in by_kind.get(kinds.EXPERT_GROUPS, []):
            fewest = min(3, sizes[experts] // sizes[groups])
            constraints.append(
                Constraint(
                    (groups, experts),
                    lambda g, n, least=fewest: n % g == 0 and n // g >= least,
                    f"{_last(groups)} divides {_last(experts)}",
                )
            )
            for chosen_groups in by_kind.get(kinds.CHOSEN_GROUPS, []):
                constraints.append(
                    Constraint(
                        (chosen_groups, groups),
                        lambda few, g: few < g or few == g == 1,
                        f"{_last(chosen_groups)} is less than {_last(groups)}",
                    )
                )
                for chosen in by_kind.get(kinds.CHOSEN_EXPERTS, []):
                    constraints.append(
                        Constraint(
                            (chosen, chosen_groups, groups, experts),
                            lambda k, few, g, n: k <= few * (n // g),
                            f"{_last(chosen)} fits into the chosen groups",
                        )
                    )


def _state_space_relations(
    by_kind: Mapping[kinds.Kind, list[str]],
    sizes: Mapping[str, int],
    configuration: Mapping[str, Any],
    scope: str,
    constraints: list[Constraint],
) -> bool:
    """``expand * hidden = heads * head_dim`` of a state-space model, and groups that divide its heads."""
    prefix = f"{scope}." if scope else ""
    expand = next(
        (configuration[prefix + name] for name in ("expand", "mamba_expand") if prefix + name in configuration), None
    )
    for groups in by_kind.get(kinds.STATE_GROUPS, []):
        for heads in by_kind.get(kinds.HEADS, []):
            if sizes[heads] % sizes[groups] == 0 and (not _last(groups).startswith("mamba") or "mamba" in heads):
                constraints.append(
                    Constraint((heads, groups), lambda h, g: h % g == 0, f"{_last(groups)} divides {_last(heads)}")
                )
    if not isinstance(expand, int):
        return False
    found = False
    for hidden in by_kind.get(kinds.HIDDEN, []):
        for heads in by_kind.get(kinds.HEADS, []):
            for dimension in by_kind.get(kinds.HEAD_DIMENSION, []):
                if expand * sizes[hidden] == sizes[heads] * sizes[dimension]:
                    found = True
                    constraints.append(
                        Constraint(
                            (hidden, heads, dimension),
                            lambda d, h, each, factor=expand: factor * d == h * each,
                            f"expand * {_last(hidden)} = {_last(heads)} * {_last(dimension)}",
                        )
                    )
    return found


def _hidden_relations(
    by_kind: Mapping[kinds.Kind, list[str]],
    sizes: Mapping[str, int],
    rung: Rung,
    constraints: list[Constraint],
) -> None:
    """How the hidden size relates to heads: needed where no head dimension is configured, else by rung."""
    dimensions = by_kind.get(kinds.HEAD_DIMENSION, []) + by_kind.get(kinds.ROTARY_DIMENSION, [])
    for hidden in by_kind.get(kinds.HIDDEN, []):
        for heads in by_kind.get(kinds.HEADS, []):
            if rung.even_heads and sizes[hidden] // sizes[heads] % 2 == 0:
                constraints.append(
                    Constraint(
                        (hidden, heads),
                        lambda d, h: d // h % 2 == 0 and d > h,
                        f"{_last(hidden)} // {_last(heads)} is even",
                    )
                )
            if sizes[hidden] % sizes[heads] != 0:
                continue
            if not dimensions:
                constraints.append(
                    Constraint(
                        (hidden, heads),
                        lambda d, h: d % (2 * h) == 0 and d // h > 3,
                        f"{_last(hidden)} is an even multiple of {_last(heads)}",
                    )
                )
            elif rung.heads_divide_hidden:
                constraints.append(
                    Constraint(
                        (hidden, heads), lambda d, h: d % h == 0, f"{_last(hidden)} is a multiple of {_last(heads)}"
                    )
                )
            if rung.heads_fill_hidden:
                for dimension in by_kind.get(kinds.HEAD_DIMENSION, []):
                    if _last(dimension) in _PLAIN and sizes[hidden] == sizes[heads] * sizes[dimension]:
                        constraints.append(
                            Constraint(
                                (hidden, heads, dimension),
                                lambda d, h, each: d == h * each,
                                f"{_last(hidden)} = {_last(heads)} * {_last(dimension)}",
                            )
                        )


def _ratio_relations(
    by_kind: Mapping[kinds.Kind, list[str]],
    sizes: Mapping[str, int],
    constraints: list[Constraint],
    highest: dict[str, int],
) -> None:
    for hidden in by_kind.get(kinds.HIDDEN, []):
        for width in by_kind.get(kinds.INTERMEDIATE, []):
            if sizes[width] > sizes[hidden] and sizes[width] % sizes[hidden] == 0:
                ratio = sizes[width] // sizes[hidden]
                highest[width] = ratio * kinds.HIDDEN.high
                constraints.append(
                    Constraint(
                        (width, hidden),
                        lambda wide, d, factor=ratio: wide == factor * d,
                        f"{_last(width)} = {ratio} * {_last(hidden)}",
                    )
                )


def _rotary_relations(
    by_kind: Mapping[kinds.Kind, list[str]],
    configuration: Mapping[str, Any],
    rung: Rung,
    constraints: list[Constraint],
) -> None:
    """Head dimensions that are rotated are even; a configured fraction of them is an even number."""
    has_own_rotary = bool(by_kind.get(kinds.ROTARY_DIMENSION))
    fraction = next((value for key, value in configuration.items() if _last(key) in _ROTARY_FRACTIONS and value), 1.0)
    rotated = any(part.startswith(("rope_", "rotary_")) for key in configuration for part in key.split("."))
    if rung.even_heads:
        constraints.extend(_even(rank) for rank in by_kind.get(kinds.RANK, []))
    for dimension in by_kind.get(kinds.HEAD_DIMENSION, []):
        if _last(dimension).startswith("index_"):
            constraints.extend(
                Constraint(
                    (dimension, rotary),
                    lambda each, part: each > part,
                    f"{_last(dimension)} holds {_last(rotary)} and more",
                )
                for rotary in by_kind.get(kinds.ROTARY_DIMENSION, [])
            )
        plain = _last(dimension) in _PLAIN
        if plain and rotated and not has_own_rotary and isinstance(fraction, (int, float)) and 0 < fraction < 1:
            constraints.append(
                Constraint(
                    (dimension,),
                    lambda each, part=fraction: (each * part).is_integer() and each * part % 2 == 0 and each * part > 2,
                    f"{fraction} of {_last(dimension)} is an even number of rotary dimensions",
                )
            )
        elif rung.even_heads or (plain and rotated and not has_own_rotary):
            constraints.append(Constraint((dimension,), lambda each: each % 2 == 0, f"{_last(dimension)} is even"))


def _even(key: str) -> Constraint:
    return Constraint((key,), lambda size: size % 2 == 0, f"{_last(key)} is even")
