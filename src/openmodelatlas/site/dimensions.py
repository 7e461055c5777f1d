"""Sizes as pages write them: ``[B batch, T positions, 7168 d]``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from openmodelatlas.errors import ShapeError
from openmodelatlas.graph.document import SizeName
from openmodelatlas.shapes.dimension import Constant, DataDependent, Dimension, Symbolic, Varying
from openmodelatlas.shapes.display import short
from openmodelatlas.shapes.parsing import parse
from openmodelatlas.site.fields import PageDimension

_SHOWN_VALUES = 6


class DimensionWriter:
    """Writes dimensions with the size names of one atlas; equal dimensions are written once."""

    def __init__(self, sizes: Mapping[str, SizeName]) -> None:
        self._sizes = sizes
        self._symbols = {key: size.symbol for key, size in sizes.items()}
        self._written: dict[Dimension, PageDimension] = {}

    def shape(self, dimensions: Iterable[Dimension]) -> tuple[PageDimension, ...]:
        """The dimensions of one tensor, one per axis, in elements."""
        return tuple(self.dimension(dimension) for dimension in dimensions)

    def dimension(self, dimension: Dimension) -> PageDimension:
        """One axis, in elements."""
        written = self._written.get(dimension)
        if written is None:
            written = self._written[dimension] = self._write(dimension)
        return written

    def _write(self, dimension: Dimension) -> PageDimension:
        if isinstance(dimension, Symbolic):
            return self._write_symbolic(dimension)
        symbol: str | None = None
        name: str | None = None
        value: int | None = None
        note: str | None = None
        if isinstance(dimension, Constant):
            return PageDimension(
                symbol=None,
                name=None,
                value=dimension.value,
                expression=None,
                kind="constant",
                text=str(dimension.value),
            )
        if isinstance(dimension, DataDependent):
            name = text = dimension.name
            note = f"depends on values: decided by {dimension.depends_on}"
            if dimension.bound:
                note += f"; {dimension.bound}"
            return PageDimension(
                symbol=symbol, name=name, value=value, expression=None, kind="data-dependent", text=text, note=note
            )
        if isinstance(dimension, Varying):
            values = [str(item) for item in dimension.values]
            note = f"by member: {', '.join(values)}"
            if len(values) > _SHOWN_VALUES:
                values = [*values[: _SHOWN_VALUES - 2], "…", values[-1]]
            text = f"{', '.join(values)} by layer"
            return PageDimension(
                symbol=symbol, name=name, value=value, expression=None, kind="varying", text=text, note=note
            )
        observed = ", ".join(str(size) for size in dimension.observed)
        note = f"not resolved: {dimension.reason} Observed in the probes: {observed}."
        return PageDimension(
            symbol=symbol, name=name, value=value, expression=None, kind="unresolved", text="?", note=note
        )

    def _write_symbolic(self, dimension: Symbolic) -> PageDimension:
        size = self._sizes.get(dimension.expression)
        if size is not None:
            symbol, name = size.symbol, size.name
        else:
            try:
                symbol, name = short(parse(dimension.expression), self._symbols), None
            except ShapeError:  # an expression of a later grammar is still readable as it stands
                symbol, name = dimension.expression, None
        if dimension.value is not None:
            text = f"{dimension.value} {symbol}"
        else:
            text = f"{symbol} {name}" if name and name != symbol else symbol
        return PageDimension(
            symbol=symbol,
            name=name,
            value=dimension.value,
            expression=dimension.expression,
            kind="symbolic",
            text=text,
        )


def shape_text(shape: Iterable[PageDimension] | None) -> str:
    """A shape in brackets, axes in order: ``[B batch, T positions, 7168 d]``; ``not recorded`` for ``None``."""
    if shape is None:
        return "not recorded"
    return f"[{', '.join(dimension.text for dimension in shape)}]"
