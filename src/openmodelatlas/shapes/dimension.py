"""What the size of one axis is known to be: the hand-over from ``shapes`` to ``graph``."""

from __future__ import annotations

import msgspec


class Symbolic(msgspec.Struct, frozen=True, tag="symbolic"):
    """An expression in configuration names, ``B``, ``T`` and ``P`` (cached positions before a decode step).

    Attributes:
        expression: canonical text in the grammar of ``shapes.expression``: ``num_attention_heads*(qk_nope_head_dim +
            qk_rope_head_dim)``. Contains at least one name.
        value: its value at the published configuration, in elements; ``None`` while ``B``, ``T`` or ``P`` is in it.
    """

    expression: str
    value: int | None


class Constant(msgspec.Struct, frozen=True, tag="constant"):
    """The same number in every probe and at full size (the 2 of a pair, a kernel size that is not configured)."""

    value: int


class DataDependent(msgspec.Struct, frozen=True, tag="data-dependent"):
    """A size that depends on values, not on sizes: tokens routed to one expert.

    Attributes:
        name: ``tokens routed to this expert``; for a size that is another one in other rounds of a loop, ``n of `` and
            the loop between backticks.
        depends_on: what decides it: name of the operation that first produced such a size, ``nonzero``.
        bound: what these sizes obey, as an expression, such as the sum over the loop ``B*T*num_experts_per_tok``;
            the greatest one, ``at most 64``; ``None`` if no such relation was confirmed.
    """

    name: str
    depends_on: str
    bound: str | None


class Varying(msgspec.Struct, frozen=True, tag="varying"):
    """A number that differs between the folded members, such as a state which grows with depth.

    Attributes:
        values: the value of each member, in member order.
    """

    values: tuple[int, ...]


class Unresolved(msgspec.Struct, frozen=True, tag="unresolved"):
    """No expression fits all probes. ``reason`` is a sentence; ``observed`` the size in each probe."""

    reason: str
    observed: tuple[int, ...]


Dimension = Symbolic | Constant | DataDependent | Varying | Unresolved
