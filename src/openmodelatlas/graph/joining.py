"""The dimensions of several members as those of one."""

from __future__ import annotations

from collections.abc import Sequence

from openmodelatlas.graph.align import Site
from openmodelatlas.graph.sizes import Sizes
from openmodelatlas.shapes.dimension import Constant, DataDependent, Dimension, Symbolic, Varying


def join_shapes(shapes: Sequence[tuple[Dimension, ...]]) -> tuple[Dimension, ...] | None:
    """The shape of folded members, axis by axis; ``None`` if they do not have as many axes as each other."""
    if len({len(shape) for shape in shapes}) != 1:
        return None
    return tuple(join_dimensions(column) for column in zip(*shapes, strict=True))


def shape_of_members(sizes: Sizes, members: Sequence[Site], index: int) -> tuple[Dimension, ...]:
    """Shape of what folded operations return: what varies among them is said; of several ranks the first."""
    shapes = [sizes.output(site, index) for site in (members[:1] if sizes.alike(members) else members)]
    return join_shapes(shapes) or shapes[0]


def join_dimensions(dimensions: Sequence[Dimension]) -> Dimension:
    """The dimension of folded members: theirs if equal, else what varies (a growing number) or depends on values."""
    first = dimensions[0]
    if all(dimension == first for dimension in dimensions):
        return first
    dependent = [dimension for dimension in dimensions if isinstance(dimension, DataDependent)]
    if dependent:
        return dependent[0]
    if all(isinstance(dimension, Constant) for dimension in dimensions):
        return Varying(values=tuple(dimension.value for dimension in dimensions if isinstance(dimension, Constant)))
    # Folding keeps other mixtures apart, so this is the same size written in two ways.
    return next((dimension for dimension in dimensions if isinstance(dimension, Symbolic)), first)
