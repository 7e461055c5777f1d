"""Writes the formula of one call from the table's template."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openmodelatlas.annotation.formulas.calls import Call, Operand, Unknown, operands_in
from openmodelatlas.annotation.formulas.entry import ATOM, PREFIX, PRODUCT, SUM, SYMBOL, Dtype, Entry
from openmodelatlas.annotation.formulas.notation import (
    dimension_latex,
    escaped,
    expression_latex,
    number_latex,
    variable_latex,
)
from openmodelatlas.annotation.formulas.scaling import Scaling
from openmodelatlas.graph.document import SizeName
from openmodelatlas.shapes.dimension import Dimension, Symbolic

_PLACE = re.compile(r"<(\w+)([+*!.^]?)(?::(\w+)(?:=(\w+))?)?>")
_LEVELS = {"": 0, "+": SUM, "*": PRODUCT, "!": PREFIX, ".": SYMBOL, "^": ATOM}
_ABSENT = "\0"
_JOINING = frozenset({"cat", "stack", "hstack", "vstack"})

Path = tuple[int, ...]
"""Where an item stands in an argument: its place in the list, then in the slice."""


@dataclass(frozen=True)
class Piece:
    """A piece of LaTeX and how tightly it binds (``entry.SUM``, …)."""

    latex: str
    level: int = ATOM

    def within(self, level: int) -> str:
        """The piece where at least ``level`` is asked for."""
        return self.latex if self.level >= level else rf"\left({self.latex}\right)"


def symbol(latex: str) -> Piece:
    """A symbol: one that has a prime or superscript already takes no other without brackets."""
    return Piece(latex, SYMBOL if "^" in latex or "'" in latex else ATOM)


class Writer:
    """Writes calls.

    Args:
        sizes: names of sizes (``Document.sizes``).
        tensor: gives the piece of an operand.
        shape: gives the axes of an operand; empty if they are not known.
        text: gives the code of an argument, or of an item in it, that has no published value; ``None`` if it is not
            found.
        scaling: finds the sizes whose roots numbers are; ``None`` leaves numbers as they are.
    """

    def __init__(
        self,
        sizes: Mapping[str, SizeName],
        tensor: Callable[[Operand], Piece],
        shape: Callable[[Operand], Sequence[Dimension]],
        text: Callable[[Call, str, Path], str | None],
        scaling: Scaling | None = None,
    ) -> None:
        self._sizes = sizes
        self._scaling = scaling
        self._tensor = tensor
        self._shape = shape
        self._text = text

    def piece(self, call: Call) -> Piece:
        """The call as an expression."""
        return Piece(self._filled(call, call.entry.latex, ""), call.entry.level)

    def sentence(self, call: Call, result: str) -> str:
        """The call as a whole formula, its result on the left; spelled out where the table has a definition."""
        entry = call.entry
        stated = entry.definition if entry.definition is not None and "<result>" in entry.definition else entry.latex
        if "<result>" in stated:
            return self._filled(call, stated, result)
        text = f"{result} = {self._filled(call, entry.latex, result)}"
        if entry.definition is None:
            return text
        return f"{text} = {self._filled(call, entry.definition, result)}"

    def _filled(self, call: Call, templates: str, result: str) -> str:
        filled = ""
        for template in templates.split(" || "):
            filled = _PLACE.sub(lambda match: self._place(call, match, result), template)
            if _ABSENT not in filled:
                return filled
        return filled.replace(_ABSENT, r"\cdot")

    def _place(self, call: Call, match: re.Match[str], result: str) -> str:
        name, level, form, wanted = match[1], _LEVELS[match[2]], match[3], match[4]
        if name == "result":
            return result
        value = call.named.get(name)
        if value is None:
            return _ABSENT
        if form is None:
            return self._value(call, name, value).within(level)
        if form == "when":
            return "" if str(value) == wanted else _ABSENT
        return self._forms[form](self, call, name, value, level)

    # Forms ----------------------------------------------------------------------------------------------------

    def _axis(self, call: Call, name: str, value: Any, level: int) -> str:
        axes = value if isinstance(value, list) else [value]
        shown = [self._axis_name(call, axis) for axis in axes if isinstance(axis, int) and not isinstance(axis, bool)]
        return r",\,".join(shown) if shown and len(shown) == len(axes) else _ABSENT

    def _axis_name(self, call: Call, axis: int) -> str:
        """An axis by the name of its size, where it is the only one with that name; joining changes a size."""
        shape = self._shape(call.operands[0]) if call.operands else ()
        if -len(shape) <= axis < len(shape) and call.name not in _JOINING:
            size = shape[axis]
            label = dimension_latex(size, self._sizes)
            others = [dimension_latex(each, self._sizes) for each in shape]
            plain = not isinstance(size, Symbolic) or size.expression in self._sizes
            if label is not None and plain and others.count(label) == 1:
                return label
        return r"\text{last axis}" if axis == -1 else rf"\text{{axis }}{axis}"

    def _size(self, call: Call, name: str, value: Any, level: int) -> str:
        shape = self._shape(call.operands[0]) if call.operands else ()
        axes = value if isinstance(value, list) else [value]
        if not all(isinstance(axis, int) and -len(shape) <= axis < len(shape) for axis in axes):
            return _ABSENT
        return r"\,".join(self._length(shape[axis]) for axis in axes)

    def _length(self, dimension: Dimension) -> str:
        label = dimension_latex(dimension, self._sizes)
        size = getattr(dimension, "value", None)
        return label if label is not None else str(size) if size is not None else "n"

    def _offset(self, call: Call, name: str, value: Any, level: int) -> str:
        """What is added to an index: `` + 1``, `` - 1``, or nothing for 0."""
        if isinstance(value, int) and not isinstance(value, bool) and isinstance(call.published.get(name, 0), int):
            return f" {'-' if value < 0 else '+'} {abs(value)}" if value else ""
        return f" + {self._value(call, name, value).within(PRODUCT)}"

    def _width(self, call: Call, name: str, value: Any, level: int) -> str:
        shape = self._shape(value) if isinstance(value, Operand) else ()
        return self._length(shape[-1]) if shape else "d"

    def _scalar(self, call: Call, name: str, value: Any, level: int) -> str:
        return _ABSENT if isinstance(value, Operand) else self._value(call, name, value).within(level)

    def _operand(self, call: Call, name: str, value: Any, level: int) -> str:
        return self._tensor(value).within(level) if isinstance(value, Operand) else _ABSENT

    def _list(self, call: Call, name: str, value: Any, level: int) -> str:
        return r",\, ".join(piece.latex for piece in self._pieces(call, name, value))

    def _pieces(self, call: Call, name: str, value: Any) -> list[Piece]:
        """The items of a list, or of the only list in it (``view((a, b))``)."""
        published = call.published.get(name)
        items = value if isinstance(value, list) else [value]
        known = published["list"] if isinstance(published, dict) and "list" in published else [published]
        if len(items) == 1 and isinstance(items[0], list):
            items = items[0]
            inner = known[0] if len(known) == 1 else None
            known = inner["list"] if isinstance(inner, dict) and "list" in inner else known
        if len(known) != len(items):
            known = [None] * len(items)
        pairs = enumerate(zip(items, known, strict=True))
        return [self._item(call, name, item, given, (place,)) for place, (item, given) in pairs]

    def _parts(self, call: Call, name: str, value: Any, level: int) -> str:
        operands = list(operands_in(value))
        names, values = ({getattr(operand, part) for operand in operands} for part in ("name", "value"))
        if len(names) == 1 and len(values) > 1:  # what the rounds of a loop gave
            latex = self._tensor(operands[0]).within(SYMBOL)
            return rf"{{{latex}}}_1;\, {{{latex}}}_2;\, \ldots"
        return r";\, ".join(self._tensor(operand).latex for operand in operands) or _ABSENT

    def _swap(self, call: Call, name: str, value: Any, level: int) -> str:
        rank = len(self._shape(call.operands[0])) if call.operands else 0
        given = (call.named.get("dim0"), call.named.get("dim1"))
        axes = {axis % rank for axis in given if isinstance(axis, int) and rank}
        return "" if axes == {rank - 1, rank - 2} else _ABSENT

    def _type(self, call: Call, name: str, value: Any, level: int) -> str:
        published = call.published.get(name)
        if isinstance(published, dict) and "dtype" in published:
            return escaped(published["dtype"])
        return escaped(value) if isinstance(value, Dtype) else _ABSENT

    def _times(self, call: Call, name: str, value: Any, level: int) -> str:
        return r" \times ".join(piece.within(PRODUCT) for piece in self._pieces(call, name, value)) or _ABSENT

    def _less(self, call: Call, name: str, value: Any, level: int) -> str:
        """The last number below a bound."""
        published = call.published.get(name)
        if isinstance(published, dict) and published.get("value") is None and "size" in published:
            return expression_latex(f"{published['size']} - 1", self._sizes)
        bound = published["value"] if isinstance(published, dict) and "value" in published else value
        if isinstance(bound, int) and not (isinstance(published, dict) and "probe" in published):
            return number_latex(bound - 1)
        return f"{self._value(call, name, value).within(SUM)} - 1"

    def _index(self, call: Call, name: str, value: Any, level: int) -> str:
        published = call.published.get(name)
        items = value if isinstance(value, list) else [value]
        known = published["list"] if isinstance(published, dict) and "list" in published else [published]
        known = known if len(known) == len(items) else [None] * len(items)
        places: list[Path] = [(place,) for place in range(len(items))] if isinstance(value, list) else [()]
        parts = zip(items, known, places, strict=True)
        return r",\, ".join(self._part(call, name, item, given, path) for item, given, path in parts)

    def _part(self, call: Call, name: str, item: Any, given: Any, path: Path) -> str:
        if item is ...:
            return r"\ldots"
        if item is None:
            return r"\mathrm{new}"
        if not isinstance(item, slice):
            return self._item(call, name, item, given, path).latex
        parts = [item.start, item.stop, item.step]
        known = given["slice"] if isinstance(given, dict) and "slice" in given else [None] * 3
        if any(isinstance(at, dict) and "probe" in at for at in known):
            text = self._text(call, name, path)  # a slice that the code keeps in a variable
            bounds = slice_bounds(text) if text is not None else None
            if bounds is not None:
                return "{:}".join(expression_text(bound) for bound in bounds)
            if text is not None and text.isidentifier():
                return variable_latex(text)
        shown = [
            "" if part is None else self._item(call, name, part, at, (*path, place)).latex
            for place, (part, at) in enumerate(zip(parts, known, strict=True))
        ]
        return f"{shown[0]}{{:}}{shown[1]}" + (f"{{:}}{shown[2]}" if shown[2] else "")

    # Values ---------------------------------------------------------------------------------------------------

    def _value(self, call: Call, name: str, value: Any) -> Piece:
        if isinstance(value, list):
            return Piece(f"({self._list(call, name, value, 0)})" if value else r"\varnothing")
        return self._item(call, name, value, call.published.get(name))

    def _item(self, call: Call, name: str, value: Any, published: Any, path: Path = ()) -> Piece:
        if isinstance(value, Operand):
            return self._tensor(value)
        if isinstance(published, dict) and "size" in published:
            if published.get("value") is not None:
                return _number(published["value"])
            return _expression(expression_latex(published["size"], self._sizes))
        if isinstance(published, dict) and "probe" in published:
            text = self._text(call, name, path)
            if text is not None:
                return symbol(variable_latex(text) if text.isidentifier() else rf"\mathtt{{{escaped(text)}}}")
            if isinstance(value, int | float) and not isinstance(value, bool):
                return Piece(rf"{{{number_latex(value)}}}_{{\text{{probe}}}}", SYMBOL)
        rooted = self._scaling.latex(value, published) if self._scaling is not None else None
        if rooted is not None:
            return Piece(rooted, PRODUCT if r"\," in rooted else ATOM)
        if isinstance(published, int | float):
            return _number(published)
        if isinstance(published, dict) and "float" in published:
            return _number(float(published["float"]))
        if isinstance(value, int | float):
            return _number(value)
        if isinstance(value, list):
            return Piece("(" + r",\, ".join(self._item(call, name, item, None).latex for item in value) + ")")
        if isinstance(value, Unknown) or value is None:
            return Piece(r"\cdot")
        return Piece(rf"\texttt{{{escaped(str(value))}}}")

    _forms: Mapping[str, Callable[[Writer, Call, str, Any, int], str]] = {
        "axis": _axis,
        "size": _size,
        "width": _width,
        "offset": _offset,
        "scalar": _scalar,
        "tensor": _operand,
        "list": _list,
        "parts": _parts,
        "swap": _swap,
        "type": _type,
        "times": _times,
        "less": _less,
        "index": _index,
    }


def slice_bounds(text: str) -> list[str] | None:
    """The bounds of ``slice(start, start + 64)`` as code, missing ones as empty; ``None`` for any other code."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != "slice" or node.keywords or len(node.args) > 2:
        return None
    bounds = ["" if ast.unparse(bound) == "None" else ast.unparse(bound) for bound in node.args]
    return bounds if len(bounds) == 2 else ["", *bounds]


def expression_text(text: str) -> str:
    """Code of names and numbers joined by signs in LaTeX; any other code in typewriter face."""
    parts = re.split(r"\s*([+\-*])\s*", text)
    if not all(part.isidentifier() or part.isdecimal() for part in parts[::2]):
        return rf"\mathtt{{{escaped(text)}}}" if text else ""
    signs = {"+": " + ", "-": " - ", "*": r" \cdot "}
    return "".join(signs.get(part, part if part.isdecimal() else variable_latex(part)) for part in parts)


def _expression(latex: str) -> Piece:
    return Piece(latex, SUM if " + " in latex or " - " in latex else PRODUCT if r"\," in latex else ATOM)


def _number(value: float) -> Piece:
    latex = number_latex(value)
    return Piece(latex, SUM if latex.startswith("-") else PRODUCT if r"\cdot" in latex else ATOM)


def fields(entry: Entry) -> set[str]:
    """Names of the arguments that the templates of an entry speak of."""
    templates = f"{entry.latex} {entry.definition or ''}"
    return {match[1] for match in _PLACE.finditer(templates)} - {"result"}
