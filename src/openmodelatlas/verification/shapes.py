"""Every dimension: its expression at the published sizes, and at the probe's where a value is kept."""

from __future__ import annotations

import math

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.errors import AtlasError, ShapeError
from openmodelatlas.graph.document import TensorFact
from openmodelatlas.shapes.dimension import Constant, Symbolic
from openmodelatlas.shapes.expression import Expression, evaluate
from openmodelatlas.shapes.parsing import parse
from openmodelatlas.verification.drift import Drift, told


def verify_shapes(atlas: Atlas, found: list[Drift]) -> int:
    """Every dimension: its expression at the published sizes, and at the probe's sizes where there is a value."""
    document = atlas.document
    published = {name: size.value for name, size in document.sizes.items() if size.value is not None}
    probe = _probe_sizes(atlas, published, found)
    parsed: dict[str, Expression] = {}
    count = 0
    facts: list[tuple[str, TensorFact]] = [
        *((address, node.tensor) for address, node in document.nodes.items() if node.tensor is not None),
        *document.inputs.items(),
    ]
    for where, fact in facts:
        observed = _observed(atlas, fact, found, where)
        for axis, dimension in enumerate(fact.shape):
            count += 1
            if isinstance(dimension, Constant) and observed is not None and observed[axis] != dimension.value:
                found.append(_shape_drift(where, axis, str(dimension.value), observed[axis]))
            if not isinstance(dimension, Symbolic):
                continue
            text = dimension.expression
            expression = parsed.get(text)
            if expression is None:
                try:
                    expression = parsed[text] = parse(text)
                except ShapeError as error:
                    found.append(Drift(kind="shape", where=where, text=f"axis {axis}: {error}"))
                    continue
            with told(found, "shape", where):
                if dimension.value is not None and evaluate(expression, published) != dimension.value:
                    found.append(_shape_drift(where, axis, text, dimension.value))
                if probe and observed is not None and evaluate(expression, probe) != observed[axis]:
                    found.append(_shape_drift(where, axis, text, observed[axis]))
    for name, parameter in document.parameters.items():
        sizes = [getattr(dimension, "value", None) for dimension in parameter.shape]
        count += len(sizes)
        if None not in sizes and math.prod(size for size in sizes if size is not None) != parameter.each:
            found.append(
                Drift(kind="shape", where=name, text=f"its sizes {sizes} do not give {parameter.each:,} elements")
            )
    return count


def _probe_sizes(atlas: Atlas, published: dict[str, int], found: list[Drift]) -> dict[str, int]:
    """Sizes of the probe whose values are kept; ``P`` and ``T`` of the decode step have names of their own."""
    probe = next((each for each in atlas.document.provenance.probes if each.get("role") == "solve"), None)
    if probe is None:
        return {}
    named, batch, tokens = probe.get("sizes"), probe.get("batch"), probe.get("tokens")
    if not isinstance(named, dict) or not isinstance(batch, int) or not isinstance(tokens, int):
        found.append(Drift(kind="graph", where="", text="the sizes of its probe are not told"))
        return {}
    sizes = published | {name: size for name, size in named.items() if isinstance(size, int)}
    return {**sizes, "B": batch, "T": tokens, "P": tokens}


def _observed(atlas: Atlas, fact: TensorFact, found: list[Drift], where: str) -> tuple[int, ...] | None:
    if fact.value is None:
        return None
    try:
        shape = atlas.value(fact.value).shape
    except AtlasError as error:
        found.append(Drift(kind="value", where=where, text=str(error)))
        return None
    if len(shape) != len(fact.shape):
        found.append(Drift(kind="shape", where=where, text=f"its value has {len(shape)} axes, not {len(fact.shape)}"))
        return None
    return shape


def _shape_drift(where: str, axis: int, expected: str, value: int) -> Drift:
    return Drift(kind="shape", where=where, text=f"axis {axis}: {expected} is not {value}")
