"""Random dimension expressions for tests, as a tree that is evaluated without the code under test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from openmodelatlas.shapes import expression as grammar
from openmodelatlas.shapes.expression import Expression

KEYS = ("B", "T", "hidden_size", "num_attention_heads", "linear_attn_config.head_dim", "n_embd")


@dataclass(frozen=True)
class Tree:
    """An operator with operands, exactly as drawn: no simplification."""

    operator: str
    operands: tuple[Any, ...]

    def value(self, values: dict[str, int]) -> int | None:
        """Its value by the definition of each operator; ``None`` where a denominator is 0."""
        if self.operator == "integer":
            return int(self.operands[0])
        if self.operator == "name":
            return values[self.operands[0]]
        parts = [operand.value(values) for operand in self.operands]
        if None in parts:
            return None
        left, right = parts
        if self.operator in ("//", "ceil"):
            if right == 0:
                return None
            quotient, remainder = divmod(left, right)
            return quotient + (1 if self.operator == "ceil" and remainder else 0)
        table = {"+": left + right, "-": left - right, "*": left * right}
        return {**table, "min": min(left, right), "max": max(left, right)}[self.operator]

    def text(self) -> str:
        """Fully bracketed text."""
        if self.operator in ("integer", "name"):
            text = str(self.operands[0])
            return f"({text})" if text.startswith("-") else text
        left, right = (operand.text() for operand in self.operands)
        if self.operator in ("ceil", "min", "max"):
            return f"{self.operator}({left}, {right})"
        return f"({left} {self.operator} {right})"

    def build(self) -> Expression:
        """The same through the constructors of the grammar."""
        if self.operator == "integer":
            return grammar.integer(self.operands[0])
        if self.operator == "name":
            return grammar.name(self.operands[0])
        left, right = (operand.build() for operand in self.operands)
        functions: dict[str, Any] = {
            "+": grammar.add,
            "-": grammar.subtract,
            "*": grammar.multiply,
            "//": grammar.floor_divide,
            "ceil": grammar.ceil_divide,
            "min": grammar.minimum,
            "max": grammar.maximum,
        }
        built: Expression = functions[self.operator](left, right)
        return built


def _divisible(tree: Tree) -> bool:
    """Whether no literal 0 divides anything, which the constructors refuse."""
    try:
        tree.build()
    except grammar.ShapeError:
        return False
    return True


_leaves = st.one_of(
    st.sampled_from(KEYS).map(lambda key: Tree("name", (key,))),
    st.integers(-6, 12).map(lambda value: Tree("integer", (value,))),
)
trees = st.recursive(
    _leaves,
    lambda inner: st.builds(
        lambda operator, left, right: Tree(operator, (left, right)),
        st.sampled_from(("+", "-", "*", "//", "ceil", "min", "max")),
        inner,
        inner,
    ),
    max_leaves=12,
).filter(_divisible)
values = st.fixed_dictionaries({key: st.integers(0, 400) for key in KEYS})
