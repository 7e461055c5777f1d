"""The rules that name what encloses operations by what lies in it, in their order."""

from __future__ import annotations

from collections.abc import Callable

from openmodelatlas.annotation.roles.container_rules import feed_forward, general, mixing, positions, stream
from openmodelatlas.annotation.roles.content import Content, Found

RULES: tuple[Callable[[Content], Found | None], ...] = (
    general.single,
    general.nothing,
    general.rearranging,
    stream.block,
    stream.embedding,
    feed_forward.mixture,
    feed_forward.router,
    feed_forward.experts,
    mixing.attention,
    mixing.delta,
    mixing.mixer,
    feed_forward.feed_forward,
    stream.depth,
    stream.norm,
    mixing.convolution,
    positions.rotation,
    positions.mask,
    positions.table,
    mixing.decay,
    positions.cache,
    general.outputs,
    general.last,
)
"""What proves most comes first; the last two know only results."""
