"""The shapes that members read or return, where a tensor stands for several of which each sees one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from openmodelatlas.graph.joining import join_shapes, shape_of_members
from openmodelatlas.graph.makers import Makers, TensorDraft
from openmodelatlas.graph.sizes import Sizes
from openmodelatlas.shapes.dimension import Constant, Dimension, Varying

Shape = tuple[Dimension, ...]
Rows = Sequence[tuple[int, Sequence[Sequence[int]]]]
"""Rows of tensors: probe and rows, as many times as the probe changes from one member to the next."""


class Received:
    """Solves what members see.

    Args:
        sizes: the solved sizes.
        makers: what the tensors of a probe are.
    """

    def __init__(self, sizes: Sizes, makers: Callable[[int], Makers]) -> None:
        self._sizes = sizes
        self._makers = makers
        self._varying: dict[TensorDraft, bool] = {}

    def shape(self, rows: Rows, index: int, *, several: bool) -> Shape | None:
        """The shape at one place of ``rows``; ``None`` if its numbers are those that the tensor's own node tells.

        Args:
            rows: what each member reads or returns.
            index: which of it.
            several: whether the members see tensors of several nodes.
        """
        (probe, first), *_ = rows
        made = self._makers(probe).drafts[first[0][index]]
        if made is None or not (several or self._varies(made)):
            return None
        seen: list[Shape] = []
        for each, members in rows:
            drafts = self._makers(each).drafts
            numbers = [row[index] for row in members if index < len(row)]
            if any(drafts[number] is None for number in numbers):
                return None
            seen += [self._sizes.tensor(each, number) for number in numbers]
        shape, own = join_shapes(seen), self._own(made)
        if shape is None or len(shape) != len(own):
            return None
        differs = any(
            mine != other and _is_number(mine) and _is_number(other) for mine, other in zip(shape, own, strict=True)
        )
        return shape if differs else None

    def _varies(self, made: TensorDraft) -> bool:
        """Whether a tensor's node says of an axis that its number varies."""
        known = self._varying.get(made)
        if known is None:
            members = made.operation.operation or made.operation.sites
            known = len(members) > 1 and not self._sizes.alike(members)
            known = self._varying[made] = known and any(isinstance(axis, Varying) for axis in self._own(made))
        return known

    def _own(self, made: TensorDraft) -> Shape:
        return shape_of_members(self._sizes, made.operation.operation or made.operation.sites, made.index)


def _is_number(dimension: Dimension) -> bool:
    return isinstance(dimension, Constant | Varying)
