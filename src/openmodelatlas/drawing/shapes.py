"""Shapes as diagrams write them, ``[B, T, d]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openmodelatlas.drawing.drawing import Axis, Run
from openmodelatlas.drawing.lettering import joined, size_runs, text_of
from openmodelatlas.errors import ShapeError
from openmodelatlas.graph.document import SizeName
from openmodelatlas.shapes.dimension import Constant, DataDependent, Dimension, Symbolic, Varying
from openmodelatlas.shapes.display import short
from openmodelatlas.shapes.parsing import parse

_LONG = 26
"""Characters of an axis beyond which it is written as an ellipsis (its page has it whole)."""

_ROUTED = "n"
"""How an axis is written whose size depends on values."""


class ShapeWriter:
    """Writes shapes with the size names of one atlas; equal axes are written once."""

    def __init__(self, sizes: Mapping[str, SizeName]) -> None:
        self._sizes = sizes
        self._symbols = {key: size.symbol for key, size in sizes.items()}
        self._axes: dict[Dimension, tuple[Axis, tuple[Run, ...]]] = {}

    def axis(self, dimension: Dimension) -> tuple[Axis, tuple[Run, ...]]:
        """What an axis is, and how it is written in symbols."""
        found = self._axes.get(dimension)
        if found is None:
            found = self._axes[dimension] = self._write(dimension)
        return found

    def runs(self, shape: Sequence[Dimension]) -> tuple[tuple[Run, ...], tuple[Axis, ...]]:
        """The shape in symbols, in brackets, and its axes."""
        runs = [Run("[")]
        axes: list[Axis] = []
        for number, dimension in enumerate(shape):
            axis, written = self.axis(dimension)
            if number:
                runs.append(Run(", "))
            runs += [Run(run.text, run.style, run.level, number) for run in written]
            axes.append(axis)
        return joined([*runs, Run("]")]), tuple(axes)

    def numbers(self, shape: Sequence[Dimension]) -> tuple[Run, ...]:
        """The longest that the shape in numbers is likely to be, to leave room for it."""
        texts = []
        for dimension in shape:
            axis, written = self.axis(dimension)
            if axis.value is not None:
                texts.append(str(axis.value))
            else:
                texts.append("0000" if axis.expression is not None and len(axis.expression) == 1 else text_of(written))
        return (Run(f"[{', '.join(texts)}]"),)

    def _write(self, dimension: Dimension) -> tuple[Axis, tuple[Run, ...]]:
        if isinstance(dimension, Symbolic):
            return self._symbolic(dimension)
        if isinstance(dimension, Constant):
            return Axis("constant", value=dimension.value), (Run(str(dimension.value)),)
        if isinstance(dimension, DataDependent):
            return Axis("data-dependent", name=dimension.name), (Run(_ROUTED, "math"),)
        if isinstance(dimension, Varying):
            low, high = min(dimension.values), max(dimension.values)
            return Axis("varying", name="differs between the layers"), (
                Run(f"{low}–{high}" if low < high else str(low)),
            )
        return Axis("unresolved", name=dimension.reason), (Run("?"),)

    def _symbolic(self, dimension: Symbolic) -> tuple[Axis, tuple[Run, ...]]:
        known = self._sizes.get(dimension.expression)
        if known is not None:
            symbol, name = known.symbol, known.name
        else:
            name = None
            try:
                symbol = short(parse(dimension.expression), self._symbols)
            except ShapeError:  # an expression of a later grammar is still readable as it stands
                symbol = dimension.expression
        axis = Axis("symbolic", expression=dimension.expression, symbol=symbol, name=name, value=dimension.value)
        if len(symbol) > _LONG:
            return axis, (Run(str(dimension.value) if dimension.value is not None else "…"),)
        return axis, size_runs(symbol)
