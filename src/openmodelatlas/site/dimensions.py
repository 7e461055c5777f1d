"""Sizes as pages write them: ``[B batch, T positions, 7168 d]``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from openmodelatlas.annotation.counting import layers_text
from openmodelatlas.errors import ShapeError
from openmodelatlas.graph.document import Document, SizeName
from openmodelatlas.shapes.dimension import Constant, DataDependent, Dimension, Symbolic, Varying
from openmodelatlas.shapes.display import in_shape, short
from openmodelatlas.shapes.names import RUN_NAMES
from openmodelatlas.shapes.parsing import parse
from openmodelatlas.site.fields import PageDimension, PageSize

_SHOWN_VALUES = 6
_SHOWN_GROUPS = 12


class DimensionWriter:
    """Writes dimensions with the size names of one atlas; equal dimensions are written once."""

    def __init__(self, sizes: Mapping[str, SizeName]) -> None:
        self._sizes = sizes
        self._symbols = {key: size.symbol for key, size in sizes.items()}
        self._written: dict[Dimension, PageDimension] = {}

    def shape(self, dimensions: Iterable[Dimension], members: Sequence[int] = ()) -> tuple[PageDimension, ...]:
        """The dimensions of one tensor, one per axis, in elements; ``members`` are the layers it stands for."""
        return tuple(
            _write_varying(dimension.values, members) if isinstance(dimension, Varying) else self.dimension(dimension)
            for dimension in dimensions
        )

    def join(self, axes: Sequence[PageDimension]) -> PageDimension:
        """One axis of tensors that members read or give instead of each other."""
        first = axes[0]
        if all(axis.text == first.text for axis in axes):
            return first
        texts = list(dict.fromkeys(axis.text.removesuffix(_BY_LAYER) for axis in axes))
        return PageDimension(
            symbol=None,
            name=None,
            value=None,
            expression=None,
            kind="varying",
            text=f"{' or '.join(texts)}{_BY_LAYER}",
            note="differs between the layers: " + "; ".join(axis.note for axis in axes if axis.note),
        )

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
            name = dimension.name
            text, _, loop = name.partition(" of `")  # the loop that it changes in is told in the note
            note = f"changes from round to round of `{loop}" if loop else "depends on values: decided by "
            if not loop:
                note += dimension.depends_on
            if dimension.bound:
                note += f"{',' if loop else ';'} {dimension.bound}"
            return PageDimension(
                symbol=symbol, name=name, value=value, expression=None, kind="data-dependent", text=text, note=note
            )
        if isinstance(dimension, Varying):
            return _write_varying(dimension.values, ())
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
        text = in_shape(symbol, dimension.value)
        if dimension.value is None and name and name != symbol:
            text += f" {name}"
        return PageDimension(
            symbol=symbol,
            name=name,
            value=dimension.value,
            expression=dimension.expression,
            kind="symbolic",
            text=text,
        )


_BY_LAYER = " by layer"


def _write_varying(values: Sequence[int], members: Sequence[int]) -> PageDimension:
    """A number of each member: ``2–8 by layer``, and which layers have which."""
    distinct = sorted(set(values))
    if len(distinct) > 2 and distinct[-1] - distinct[0] == len(distinct) - 1:
        text = f"{distinct[0]}–{distinct[-1]}"
    else:
        shown = [str(value) for value in distinct]
        text = " or ".join(shown if len(shown) <= _SHOWN_VALUES else [*shown[: _SHOWN_VALUES - 2], "…", shown[-1]])
    note = f"by member: {', '.join(map(str, values))}"
    if len(members) == len(values) and len(distinct) <= _SHOWN_GROUPS:
        layers = {value: [m for m, v in zip(members, values, strict=True) if v == value] for value in distinct}
        note = "; ".join(f"{value} in {layers_text(numbers)}" for value, numbers in layers.items())
    return PageDimension(
        symbol=None, name=None, value=None, expression=None, kind="varying", text=f"{text}{_BY_LAYER}", note=note
    )


def shape_text(shape: Iterable[PageDimension] | None) -> str:
    """A shape in brackets, axes in order: ``[B batch, T positions, 7168 d]``; ``not recorded`` for ``None``."""
    if shape is None:
        return "not recorded"
    return f"[{', '.join(dimension.text for dimension in shape)}]"


def page_sizes(document: Document) -> Iterator[PageSize]:
    """What the letters in shapes stand for, those of the configuration with their sizes as published."""
    probe = document.provenance.probes[0] if document.provenance.probes else {}
    run = {"B": probe.get("batch"), "T": probe.get("tokens")}
    for key, size in document.sizes.items():
        value: Any = document.configuration
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if key in RUN_NAMES or isinstance(value, int):
            small = run.get(key, probe.get("sizes", {}).get(key, value))
            yield PageSize(
                symbol=in_shape(size.symbol, None),
                name=size.name,
                key=key,
                value=value if isinstance(value, int) else None,
                probe=small if isinstance(small, int) else None,
            )
