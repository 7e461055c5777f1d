"""Which expressions have given values: candidates for a vector of sizes, one size per solving probe.

The grammar that is searched, from simple to complex (``a``, ``b``, ``c`` are names, ``F`` a product of up to four):

1. one name: ``a``, ``3*a``, ``a + 1``, ``2*T - 1``, ``a//2``, ``ceil(a, 2)``, ``64*ceil(a, 64)``;
2. ``n*F*pair + m`` with ``pair`` one of ``a + b``, ``a - b``, ``a//b``, ``ceil(a, b)``, ``min(a, b)``, … or nothing,
   and ``F*(x + y)``, ``F*(x - y)`` with two monomials ``x``, ``y``;
3. ``F*((a*b)//c)``, ``F*ceil(a*b, c)``, ``F*((a*b)//2)``;
4. sums of three monomials with signs.

A vector is *packed* into one integer, ``sum(size << 64*probe)``. Packing is linear: sums of vectors are sums of
integers, so that sums are found by looking up differences in one table (meet in the middle).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from math import gcd
from operator import eq

from openmodelatlas.shapes.expression import (
    Expression,
    add,
    ceil_divide,
    floor_divide,
    integer,
    maximum,
    minimum,
    multiply,
    name,
    subtract,
)
from openmodelatlas.shapes.names import RUN_NAMES, is_seam

Vector = tuple[int, ...]
Factors = tuple[str, ...]
Monomial = tuple[int, Factors]
Pairing = Callable[[Expression, Expression], Expression]

_PROBE_BITS = 64
_OFFSETS = (0, 1, -1, 2, -2, 3, -3)
_DIVISORS = (2, 3, 4, 5, 6, 7, 8, 16, 32, 64)
_MULTIPLES = (2, 4, 8, 16, 32, 64, 128, 256)
_GREATEST_OFFSET = 16
_MOST_FACTORS = 4
_MOST_FACTORINGS = 300


def pack(vector: Sequence[int]) -> int:
    """One integer for a vector; linear in the vector, and injective for sizes below 2**63."""
    packed = 0
    for probe, size in enumerate(vector):
        packed += size << (_PROBE_BITS * probe)
    return packed


def product_of(factors: Factors, coefficient: int = 1) -> Expression:
    """The expression ``coefficient`` times the names ``factors``."""
    return multiply(integer(coefficient), *(name(key) for key in factors))


_ONE = integer(1)
_ZERO = integer(0)
_PAIRINGS: dict[str, Pairing] = {
    "sum": add,
    "difference": subtract,
    "floor": floor_divide,
    "ceil": ceil_divide,
    "min": minimum,
    "max": maximum,
    "clipped difference": lambda a, b: maximum(subtract(a, b), _ZERO),
    "min after": lambda a, b: minimum(add(a, _ONE), b),
    "min before": lambda a, b: minimum(a, subtract(b, _ONE)),
    # What a sliding cache keeps after a step: the window less the token to come.
    "min after before": lambda a, b: minimum(add(a, _ONE), subtract(b, _ONE)),
    # Rotary frequencies of heads whose width is not configured: (hidden_size//num_attention_heads)//2.
    "half quotient": lambda a, b: floor_divide(floor_divide(a, b), integer(2)),
    "ceil after": lambda a, b: ceil_divide(add(a, _ONE), b),
    "padding": lambda a, b: subtract(multiply(ceil_divide(a, b), b), a),
    "remainder": lambda a, b: subtract(a, multiply(floor_divide(a, b), b)),
    "less one": lambda a, _: subtract(a, _ONE),
    "plus one": lambda a, _: add(a, _ONE),
    "half": lambda a, _: floor_divide(a, integer(2)),
    "half up": lambda a, _: ceil_divide(a, integer(2)),
    "quarter": lambda a, _: floor_divide(a, integer(4)),
}


class Search:
    """Tables over the sizes of the solving probes. Each table is built when the first vector needs it.

    Args:
        sizes: name to its size in each solving probe, in elements; preferred names first.
    """

    def __init__(self, sizes: Mapping[str, Vector]) -> None:
        self.sizes = dict(sizes)

    def stages(self, vector: Vector) -> Iterator[list[Expression]]:
        """Expressions with the values ``vector``, in stages of growing complexity; within a stage in any order."""
        yield list(self._one_name(vector))
        yield [*self._factored(vector), *self._two_monomials(vector)]
        yield list(self._divided_products(vector))
        yield list(self._three_monomials(vector))

    def _one_name(self, vector: Vector) -> Iterator[Expression]:
        for key, sizes in self.sizes.items():
            if sizes == vector:
                yield name(key)
                continue
            yield from _affine(key, sizes, vector)
            for divisor in _DIVISORS:  # the first probe alone refutes nearly all
                if sizes[0] // divisor == vector[0] and all(map(eq, [s // divisor for s in sizes], vector)):
                    yield floor_divide(name(key), integer(divisor))
                elif -(-sizes[0] // divisor) == vector[0] and all(map(eq, [-(-s // divisor) for s in sizes], vector)):
                    yield ceil_divide(name(key), integer(divisor))
            if sizes[0] <= vector[0] < sizes[0] + _MULTIPLES[-1]:
                for multiple in _MULTIPLES:
                    if all(map(eq, [-(-s // multiple) * multiple for s in sizes], vector)):
                        yield multiply(integer(multiple), ceil_divide(name(key), integer(multiple)))

    def _factorings(self, vector: Vector, most: int, start: int = 0) -> Iterator[tuple[Factors, Vector]]:
        """Products of names that divide the vector in every probe, with what is left of it."""
        yield (), vector
        if most == 0 or not any(vector):  # every name divides 0
            return
        items = list(self.sizes.items())
        for index in range(start, len(items)):
            key, sizes = items[index]
            if all(s > 0 and v % s == 0 for v, s in zip(vector, sizes, strict=True)):
                rest = tuple(v // s for v, s in zip(vector, sizes, strict=True))
                for factors, left in self._factorings(rest, most - 1, index):
                    yield (key, *factors), left

    def _factored(self, vector: Vector) -> Iterator[Expression]:
        for offset in _OFFSETS:
            target = tuple(value - offset for value in vector)
            if any(value < 0 for value in target):
                continue
            if not any(target):  # every name divides 0, but only max(T - w, 0) and the like explain it
                yield from self._cores((), target) if offset == 0 else ()
                continue
            most = _MOST_FACTORS if offset == 0 else _MOST_FACTORS - 1
            for count, (factors, rest) in enumerate(self._factorings(target, most)):
                if count > _MOST_FACTORINGS:
                    break
                for core in self._cores(factors, rest):
                    yield add(core, integer(offset))

    def _cores(self, factors: Factors, rest: Vector) -> Iterator[Expression]:
        if len(set(rest)) == 1 and factors and rest[0] > 0:
            yield product_of(factors, rest[0])
        # Constant rests too: a quotient such as ceil(T, chunk_size) may be equal in all solving probes.
        for divisor in _small_divisors(gcd(*rest)):
            for pairing, left, right in self._pairs.get(pack([value // divisor for value in rest]), ()):
                pair = _PAIRINGS[pairing](product_of(left), product_of(right))
                yield multiply(product_of(factors, divisor), pair)

    @cached_property
    def _bases(self) -> dict[Factors, Vector]:
        """What pairs are made of: the names, and the flattened positions B*T."""
        bases: dict[Factors, Vector] = {(key,): sizes for key, sizes in self.sizes.items()}
        if "B" in self.sizes and "T" in self.sizes:
            bases["B", "T"] = tuple(b * t for b, t in zip(self.sizes["B"], self.sizes["T"], strict=True))
        return bases

    @cached_property
    def _pairs(self) -> dict[int, list[tuple[str, Factors, Factors]]]:
        table: dict[int, list[tuple[str, Factors, Factors]]] = {}

        def enter(pairing: str, values: list[int], left: Factors, right: Factors) -> None:
            table.setdefault(pack(values), []).append((pairing, left, right))

        for left, a in self._bases.items():
            _enter_single(enter, left, a)
            for right, b in self._bases.items():
                if left != right:
                    _enter_pair(enter, left, a, right, b)
        return table

    @cached_property
    def _monomials(self) -> dict[int, list[Monomial]]:
        """Multiples of names and of products of two names."""
        table: dict[int, list[Monomial]] = {}
        items = list(self.sizes.items())
        for coefficient in (1, 2, 3, 4):
            for key, sizes in items:
                table.setdefault(coefficient * pack(sizes), []).append((coefficient, (key,)))
        for index, (left, a) in enumerate(items):
            for right, b in items[index:]:
                packed = pack([x * y for x, y in zip(a, b, strict=True)])
                table.setdefault(packed, []).append((1, (left, right)))
                table.setdefault(2 * packed, []).append((2, (left, right)))
        return table

    def _monomial_pairs(self, target: int) -> Iterator[Expression]:
        """Sums of two monomials that have the packed values ``target``."""
        monomials = self._monomials
        for packed in monomials:
            if target - packed in monomials:
                for first in monomials[packed]:
                    for second in monomials[target - packed]:
                        if first <= second:
                            yield add(_monomial(first), _monomial(second))

    def _two_monomials(self, vector: Vector) -> Iterator[Expression]:
        monomials = self._monomials
        for factors, rest in self._factorings(vector, 2):
            if len(factors) == 2 and factors != ("B", "T"):
                continue
            target = pack(rest)
            for pair in self._monomial_pairs(target):
                yield multiply(product_of(factors), pair)
            for packed in monomials:
                if target + packed in monomials:
                    for first in monomials[packed]:
                        for second in monomials[target + packed]:
                            yield multiply(product_of(factors), subtract(_monomial(second), _monomial(first)))

    @cached_property
    def _quotients(self) -> dict[int, list[tuple[Factors, str | int, bool]]]:
        """Products of two names divided by a name or number: (factors, divisor, whether rounded up)."""
        table: dict[int, list[tuple[Factors, str | int, bool]]] = {}
        items = list(self.sizes.items())
        divisors: list[tuple[str | int, Vector]] = [(key, sizes) for key, sizes in items if min(sizes) > 1]
        divisors += [(number, (number,) * len(items[0][1])) for number in _DIVISORS] if items else []
        for index, (left, a) in enumerate(items):
            for right, b in items[index:]:
                product = [x * y for x, y in zip(a, b, strict=True)]
                for divisor, sizes in divisors:
                    if divisor in (left, right):
                        continue
                    down = [p // s for p, s in zip(product, sizes, strict=True)]
                    if any(down):
                        table.setdefault(pack(down), []).append(((left, right), divisor, False))
                    up = [-(-p // s) for p, s in zip(product, sizes, strict=True)]
                    if up != down:
                        table.setdefault(pack(up), []).append(((left, right), divisor, True))
        return table

    def _divided_products(self, vector: Vector) -> Iterator[Expression]:
        if min(vector) <= 0:
            return
        for factors, rest in self._factorings(vector, 2):
            for numerator, divisor, rounds_up in self._quotients.get(pack(rest), ()):
                denominator = name(divisor) if isinstance(divisor, str) else integer(divisor)
                divide = ceil_divide if rounds_up else floor_divide
                yield multiply(product_of(factors), divide(product_of(numerator), denominator))

    def _three_monomials(self, vector: Vector) -> Iterator[Expression]:
        ones = pack([1] * len(vector))
        thirds: list[tuple[int, Expression]] = [(n * ones, integer(n)) for n in (1, -1, 2, -2, 3, -3)]
        for coefficient in (1, 2, -1, -2):
            for key, sizes in self.sizes.items():
                thirds.append((coefficient * pack(sizes), product_of((key,), coefficient)))
        for factors, rest in self._factorings(vector, 2):
            if factors not in ((), ("B", "T"), ("B",)):
                continue
            target = pack(rest)
            for packed, third in thirds:
                for pair in self._monomial_pairs(target - packed):
                    yield multiply(product_of(factors), add(pair, third))


def _monomial(monomial: Monomial) -> Expression:
    coefficient, factors = monomial
    return product_of(factors, coefficient)


def _affine(key: str, sizes: Vector, vector: Vector) -> Iterator[Expression]:
    """``slope*key + offset`` if all probes lie on one such line with integer slope and small offset."""
    run = sizes[0] - sizes[1] if len(sizes) > 1 else 0
    rise = vector[0] - vector[1] if len(vector) > 1 else 0
    if run == 0:
        # The name does not tell the first two probes apart: only plain multiples are worth a try.
        slope = vector[0] // sizes[0] if sizes[0] else 0
    elif rise % run:
        return
    else:
        slope = rise // run
    offset = vector[0] - slope * sizes[0]
    if slope < 1 or abs(offset) > _GREATEST_OFFSET or (offset and slope > _GREATEST_OFFSET):
        return
    if all(slope * s + offset == v for s, v in zip(sizes, vector, strict=True)):
        yield add(multiply(integer(slope), name(key)), integer(offset))


def _small_divisors(number: int) -> list[int]:
    return [divisor for divisor in range(1, min(number, 16) + 1) if number % divisor == 0] if number else [1]


def _enter_single(enter: Callable[[str, list[int], Factors, Factors], None], left: Factors, a: Vector) -> None:
    enter("less one", [x - 1 for x in a], left, left)
    enter("plus one", [x + 1 for x in a], left, left)
    if max(a) > 3:
        enter("half", [x // 2 for x in a], left, left)
        enter("half up", [-(-x // 2) for x in a], left, left)
        enter("quarter", [x // 4 for x in a], left, left)


def _enter_pair(
    enter: Callable[[str, list[int], Factors, Factors], None], left: Factors, a: Vector, right: Factors, b: Vector
) -> None:
    """All pairings of two bases that are neither constant nor saturated, unless a run may cross a seam later."""
    both = list(zip(a, b, strict=True))
    crosses_seam = left[-1] in RUN_NAMES and right[-1] not in RUN_NAMES and is_seam(right[-1])
    difference = [x - y for x, y in both]
    varies = min(difference) < 0 < max(difference)
    if left < right:
        enter("sum", [x + y for x, y in both], left, right)
    if max(difference) > 0:
        enter("difference", difference, left, right)
    if crosses_seam:
        enter("clipped difference", [max(value, 0) for value in difference], left, right)
        enter("min after before", [min(x + 1, y - 1) for x, y in both], left, right)
    if varies or crosses_seam:
        enter("min after", [min(x + 1, y) for x, y in both], left, right)
        enter("min before", [min(x, y - 1) for x, y in both], left, right)
        if left < right or crosses_seam:
            enter("min", [min(x, y) for x, y in both], left, right)
            enter("max", [max(x, y) for x, y in both], left, right)
    if min(b) > 0 and (max(difference) > 0 or crosses_seam):
        floors, ceilings = [x // y for x, y in both], [-(-x // y) for x, y in both]
        if crosses_seam or len(set(floors)) > 1:
            enter("floor", floors, left, right)
            if all(x % y == 0 for x, y in both):
                enter("half quotient", [quotient // 2 for quotient in floors], left, right)
        if crosses_seam or (ceilings != floors and len(set(ceilings)) > 1):
            enter("ceil", ceilings, left, right)
        if left[-1] in RUN_NAMES:
            enter("ceil after", [-(-(x + 1) // y) for x, y in both], left, right)
            enter("padding", [-x % y for x, y in both], left, right)
            enter("remainder", [x % y for x, y in both], left, right)
