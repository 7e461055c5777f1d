"""The check of every mechanism can fail: changed code is not attached, a changed function gives other values.

Two kinds of change are counted. *Code*: an operation of the place does something else (a sign, a constant, an order, a
swapped half, another tensor read), and all values follow. *Function*: the reference itself is changed, the values stay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.annotation.mechanisms.mutants import mutants
from tests.annotation.mechanisms.programs import material
from tests.annotation.mechanisms.reference_mutants import reference_mutants
from tests.annotation.mechanisms.written import PROGRAMS

from openmodelatlas.annotation.material import Material
from openmodelatlas.annotation.mechanisms.evaluate import NotThis, evaluate, tolerance
from openmodelatlas.annotation.mechanisms.find import find
from openmodelatlas.annotation.mechanisms.fit import Place
from openmodelatlas.annotation.mechanisms.flow import Flow
from openmodelatlas.annotation.mechanisms.where import core_of, node_of
from openmodelatlas.annotation.values import Arrays
from openmodelatlas.catalogue.load import Catalogue, load

CATALOGUE = load()
# Small ones first: a mechanism's code is mutated where it is met first.
MODELS = (
    "gpt2", "llama-3-8b", "qwen3-30b-a3b", "mamba2", "gemma-3-27b", "gpt-oss-120b", "kimi-linear", "kimi-k2", "kimi-k3",
)  # fmt: skip
ANOTHER_INPUT = {"kimi-delta-attention": 2}
"""Changes that read another input: rounds of a folded loop share the names of what they read."""
NOT_IN_ANY = {"alibi", "llama3-rotary-scaling", "logit-soft-cap"}
"""In no registry model; they are found in programs of their own."""

EQUIVALENT = re.compile(r"-[12]: sign$|(ndim|shape\[1\]).*: comparison$")
"""An axis counted from the other end; what is no case of the mechanism at all."""


@dataclass
class Tally:
    """Mutants of one mechanism.

    Attributes:
        places: how many places were mutated.
        code, functions: how many there were.
        survivors: what was changed without being noticed.
        killed_functions: changes of the function that some place noticed.
    """

    places: int = 0
    code: int = 0
    functions: set[str] = field(default_factory=set)
    killed_functions: set[str] = field(default_factory=set)
    survivors: list[str] = field(default_factory=list)


def tally(made: Material, tallies: dict[str, Tally], most: int = 1) -> None:
    """Counts the mutants of a place of every mechanism in an atlas, of at most ``most`` places in all."""
    flow = Flow(made.document)
    arrays = Arrays(made.code)
    for identifier, places in find(flow, arrays, CATALOGUE).places.items():
        found = tallies[identifier]
        for place in [place for place in places if place.error is not None][:1]:
            if found.places < most:
                found.places += 1
                _mutate_code(made, flow, CATALOGUE, place, found)
            _mutate_function(flow, arrays, CATALOGUE, place, found)


def _mutate_code(made: Material, flow: Flow, catalogue: Catalogue, place: Place, found: Tally) -> None:
    mechanism = catalogue.mechanisms[place.mechanism]
    core = core_of(flow, place.fit, mechanism) or place.fit.operations
    inside = node_of(flow, core, core).address
    needed = Catalogue(catalogue.root, dict(_needed(catalogue, place.mechanism)))
    for mutant in mutants(made, flow, place, inside):
        if not mutant.changed:
            continue
        found.code += 1
        with np.errstate(all="ignore"):
            again = find(Flow(mutant.material.document), Arrays(mutant.material.code), needed)
        if any(
            other.fit.root == place.fit.root and other.fit.operations >= place.fit.operations
            for other in again.places[place.mechanism]
        ):
            found.survivors.append(mutant.what)


def _mutate_function(flow: Flow, arrays: Arrays, catalogue: Catalogue, place: Place, found: Tally) -> None:
    mechanism = catalogue.mechanisms[place.mechanism]
    for what, function in reference_mutants(catalogue.reference(place.mechanism)):
        if EQUIVALENT.search(what):
            continue
        found.functions.add(what)
        try:
            error = evaluate(flow, arrays, mechanism, function, place.fit).error
            noticed = error is None or not error <= tolerance(mechanism)
        except (NotThis, AttributeError, NameError, AssertionError, ArithmeticError):
            noticed = True
        if noticed:
            found.killed_functions.add(what)


def _needed(catalogue: Catalogue, identifier: str) -> Iterator[tuple[str, object]]:
    """A mechanism and those that its patterns build on, in the order of the catalogue."""
    wanted = {identifier}
    for name in reversed(catalogue.mechanisms):
        mechanism = catalogue.mechanisms[name]
        if name in wanted:
            wanted.update(*(pattern.mechanisms() for pattern in mechanism.patterns))
            wanted.update(mechanism.front.recognise.unless)
    yield from ((name, mechanism) for name, mechanism in catalogue.mechanisms.items() if name in wanted)


@pytest.mark.parametrize("identifier", PROGRAMS)
def test_changed_code_is_not_attached(identifier: str) -> None:
    made = material(PROGRAMS[identifier])
    found = Tally()
    flow = Flow(made.document)
    (place,) = find(flow, Arrays(made.code), CATALOGUE).places[identifier]
    _mutate_code(made, flow, CATALOGUE, place, found)
    assert not found.survivors
    print(f"{identifier}: {found.code} changes of the code, all noticed")


@pytest.mark.parametrize("identifier", PROGRAMS)
def test_a_changed_function_does_not_reproduce_the_values(identifier: str) -> None:
    made = material(PROGRAMS[identifier])
    tallies: dict[str, Tally] = defaultdict(Tally)
    flow, arrays = Flow(made.document), Arrays(made.code)
    (place,) = find(flow, arrays, CATALOGUE).places[identifier]
    _mutate_function(flow, arrays, CATALOGUE, place, tallies[identifier])
    assert tallies[identifier].functions
    assert tallies[identifier].killed_functions
    print(f"{identifier}: {len(tallies[identifier].killed_functions)} of {len(tallies[identifier].functions)} noticed")


@pytest.mark.slow
def test_every_mechanism_of_the_registry_models_can_fail(material_of: Callable[[str], Material]) -> None:
    """Mutates a place of every mechanism, in the models that hold all of them between them."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    for model in MODELS:
        tally(material_of(model), tallies)
    assert not {identifier for identifier in CATALOGUE.mechanisms if not tallies[identifier].places} - NOT_IN_ANY
    for identifier, found in sorted(tallies.items()):
        if identifier in NOT_IN_ANY:
            continue
        print(
            f"{identifier}: code {found.code - len(found.survivors)} of {found.code}, "
            f"function {len(found.killed_functions)} of {len(found.functions)}"
        )
        assert found.killed_functions, identifier
        assert len(found.survivors) <= ANOTHER_INPUT.get(identifier, 0), found.survivors
    code = sum(found.code - len(found.survivors) for found in tallies.values())
    functions = sum(len(found.killed_functions) for found in tallies.values())
    print(f"{code} changes of code and {functions} changes of functions noticed")
