"""Numbers that the code computes from sizes: ``0.0883883`` at full size is one over the root of the head size."""

from __future__ import annotations

import math
from functools import cached_property

from openmodelatlas.annotation.formulas.notation import expression_latex, number_latex
from openmodelatlas.errors import ShapeError
from openmodelatlas.graph.document import Document
from openmodelatlas.shapes.dimension import Symbolic
from openmodelatlas.shapes.expression import evaluate, names
from openmodelatlas.shapes.parsing import parse

_CLOSE = 1e-9
"""Relative difference of two numbers that are one: float64 arithmetic rounds a root twice or three times."""


class Scaling:
    """Finds the size whose root a number is, from its values in the probe and at full size.

    Args:
        document: gives the sizes of its axes, their values in the first probe, and at full size.
    """

    def __init__(self, document: Document) -> None:
        self._document = document

    @cached_property
    def _sizes(self) -> tuple[tuple[str, int, int], ...]:
        """Expression, value in the probe and value at full size of every axis whose size the probe changes."""
        probes = self._document.provenance.probes
        shrunken = probes[0].get("sizes", {}) if probes else {}
        full = {key: size.value for key, size in self._document.sizes.items() if size.value is not None}
        found: dict[str, tuple[int, int]] = {}
        facts = [node.tensor for node in self._document.nodes.values() if node.tensor is not None]
        for size in {size for fact in facts for size in fact.shape if isinstance(size, Symbolic)}:
            try:
                expression = parse(size.expression)
                if not set(names(expression)) <= shrunken.keys() & full.keys():
                    continue
                values = evaluate(expression, shrunken), evaluate(expression, full)
            except (ShapeError, ZeroDivisionError):
                continue
            if values[0] != values[1] and min(values) > 1:
                found[size.expression] = values
        return tuple((text, *found[text]) for text in sorted(found, key=lambda text: (len(text), text)))

    def latex(self, probe: object, published: object) -> str | None:
        r"""``\frac{1}{\sqrt{d_{\mathrm{h}}}}`` for a number that is it in the probe and at full size.

        Args:
            probe, published: the number in the probe, and at full size.

        Returns:
            The root of a size, or one over it, times a factor that is the same in both; ``None`` if no size gives both.
        """
        if not isinstance(probe, float) or not isinstance(published, float) or probe == published:
            return None
        for simple in (True, False):
            for text, small, large in self._sizes:
                for power in (-0.5, 0.5):
                    factor = probe / small**power
                    same = math.isclose(factor, published / large**power, rel_tol=_CLOSE)
                    if same and (not simple or math.isclose(factor, 1.0, rel_tol=_CLOSE)):
                        return self._written(text, power, factor, simple=simple)
        return None

    def _written(self, text: str, power: float, factor: float, *, simple: bool) -> str:
        root = rf"\sqrt{{{expression_latex(text, self._document.sizes)}}}"
        number = "1" if simple else number_latex(factor)
        if power < 0:
            return rf"\frac{{{number}}}{{{root}}}"
        return root if simple else rf"{number}\,{root}"
