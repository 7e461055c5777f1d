"""Ways of writing the same computation, which patterns call by one name.

An idiom is a list of patterns' expressions over its parameters, tried in order. ``mean(square(x))`` in an entry thus
finds ``x.pow(2).mean(-1)``, ``(x * x).mean(-1)`` and ``torch.mean(torch.square(x), -1)`` alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from openmodelatlas.catalogue.pattern import Call, Either, Expression, Found, Name, Path, parse_pattern

IDIOMS: dict[str, tuple[str, ...]] = {
    # x², 1/√v
    "square(x)": ("pow(x, 2)", "multiply(x, x)", "square(x)"),
    "inverse_root(v)": (
        "rsqrt(v)", "pow(v, -0.5)", "reciprocal(sqrt(v))", "rtruediv(sqrt(v), 1)", "divide(1, sqrt(v))",
    ),
    "half(x)": ("multiply(x, 0.5)", "divide(x, 2)"),
    # a learned matrix
    "project(x, w)": (
        "linear(x, w)", "linear(x, w, None)", "linear(x, w, bias=None)", "matmul(x, w)", "mm(x, w)", "bmm(x, w)",
    ),
    "project_biased(x, w, b)": ("linear(x, w, b)", "addmm(b, x, w)", "add(matmul(x, w), b)", "baddbmm(b, x, w)"),
    # products of queries, keys and values
    "product(a, b)": ("matmul(a, b)", "bmm(a, b)", "einsum(_, a, b)"),
    # activations written out
    "swish(x)": ("silu(x)", "multiply(x, sigmoid(x))"),
    "gelu_tanh(x)": (
        "gelu(x, approximate='tanh')",
        "multiply(half(x), add(tanh(multiply(_, add(x, multiply(pow(x, 3), _)))), 1))",
    ),
    "gelu_exact(x)": ("gelu(x, approximate='none')", "gelu(x)"),
}  # fmt: skip
"""By head: name and parameters."""


@dataclass(frozen=True)
class Idiom:
    """A name for several expressions."""

    parameters: tuple[str, ...]
    choices: tuple[Expression, ...]


@cache
def idioms() -> Mapping[str, Idiom]:
    """The idioms by name."""
    found: dict[str, Idiom] = {}
    for head, texts in IDIOMS.items():
        call = parse_pattern(f"head = {head}", "idioms").equations[0].expression
        assert isinstance(call, Call)
        parameters = tuple(part.name for part in call.operands if isinstance(part, Name))
        choices = tuple(parse_pattern(f"head = {text}", f"idiom {head}").equations[0].expression for text in texts)
        found[call.operation] = Idiom(parameters, choices)
    return found


def expand(expression: Expression) -> Expression:
    """The expression with its idioms replaced by their choices, recursively."""
    if isinstance(expression, Call):
        idiom = idioms().get(expression.operation)
        if idiom is not None and len(expression.operands) == len(idiom.parameters):
            named = dict(zip(idiom.parameters, map(expand, expression.operands), strict=True))
            return Either(tuple(_filled(choice, named, expression.operation) for choice in idiom.choices))
    return _rebuilt(expression, expand)


def _filled(expression: Expression, named: Mapping[str, Expression], own: str) -> Expression:
    """A choice of the idiom ``own`` with its parameters replaced; ``own`` inside it is the operation of that name."""
    if isinstance(expression, Name):
        return named.get(expression.name, expression)
    filled = _rebuilt(expression, lambda part: _filled(part, named, own))
    if isinstance(filled, Call) and filled.operation in idioms() and filled.operation != own:
        idiom = idioms()[filled.operation]
        if len(filled.operands) == len(idiom.parameters):
            inner = dict(zip(idiom.parameters, filled.operands, strict=True))
            return Either(tuple(_filled(choice, inner, filled.operation) for choice in idiom.choices))
    return filled


def _rebuilt(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The expression with everything directly inside it changed."""
    if isinstance(expression, Call):
        return replace(
            expression,
            operands=tuple(change(part) for part in expression.operands),
            arguments=tuple((name, change(part)) for name, part in expression.arguments),
        )
    if isinstance(expression, Either):
        return Either(tuple(change(part) for part in expression.choices))
    if isinstance(expression, Path):
        return Path(tuple(change(part) for part in expression.origins))
    if isinstance(expression, Found):
        return replace(expression, symbols=tuple((name, change(part)) for name, part in expression.symbols))
    return expression
