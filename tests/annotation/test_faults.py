"""A mistake of ours costs what it concerns and is noted; where the environment is strict, as in tests, it is raised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from openmodelatlas import builder
from openmodelatlas.annotation import annotate as annotation
from openmodelatlas.annotation.annotate import annotate
from openmodelatlas.annotation.explanations import explain
from openmodelatlas.annotation.faults import STRICT, contained
from openmodelatlas.annotation.formulas import single
from openmodelatlas.annotation.formulas.calls import Call
from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.annotation.material import Material
from openmodelatlas.annotation.mechanisms import find
from openmodelatlas.annotation.roles import finding
from openmodelatlas.annotation.roles.view import View
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.errors import BundleError
from openmodelatlas.verification.formulas import AtlasCode

TINY = "tests.corpus.tiny_transformer:tiny"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Atlas:
    return builder.build(TINY, home=tmp_path_factory.mktemp("home"))


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STRICT)


def again(atlas: Atlas) -> Knowledge:
    return annotate(Material(document=atlas.document, code=AtlasCode(atlas)))


def broken(*_: object, **__: object) -> object:
    raise KeyError("absent")


FAULTS = pytest.mark.parametrize(
    ("module", "name"),
    [
        (annotation.STEPS, "Roles"),
        (annotation.STEPS, "Mechanisms"),
        (annotation.STEPS, "Formulas"),
        (annotation.STEPS, "Explanations"),
        (finding, "name_tensors"),
        (finding, "give_symbols"),
        (find, "evaluate"),
        (single, "check"),
        (explain, "type_statements"),
    ],
)


def put(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
    if isinstance(module, dict):
        monkeypatch.setitem(module, name, broken)
    else:
        monkeypatch.setattr(module, name, broken)


@FAULTS
@pytest.mark.usefixtures("lenient")
def test_a_fault_is_noted(tiny: Atlas, monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
    put(monkeypatch, module, name)

    known = again(tiny)

    told = [*known.notes, *(each.reason for each in known.unmatched)]
    assert any("a fault of openmodelatlas (KeyError: 'absent'" in text for text in told)
    assert known.nodes


@FAULTS
def test_the_same_fault_is_raised_in_tests(
    tiny: Atlas, monkeypatch: pytest.MonkeyPatch, module: object, name: str
) -> None:
    put(monkeypatch, module, name)

    with pytest.raises(KeyError):
        again(tiny)


@pytest.mark.usefixtures("lenient")
def test_one_faulty_node_costs_that_node(tiny: Atlas, monkeypatch: pytest.MonkeyPatch) -> None:
    right = again(tiny)
    faulty = next(address for address, node in right.nodes.items() if node.formulas and address.endswith("scores"))
    check = single.check

    def fails_once(call: Call, *rest: object) -> object:
        if call.node.address == faulty:
            raise ZeroDivisionError("of this one")
        return check(call, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(single, "check", fails_once)
    known = again(tiny)

    (lost,) = [each for each in known.unmatched if "ZeroDivisionError" in each.reason]
    assert (lost.address, lost.what) == (faulty, "formula")
    assert known.nodes[faulty].title == right.nodes[faulty].title
    others = [address for address, node in right.nodes.items() if node.formulas and address != faulty]
    assert all(known.nodes[address].formulas for address in others if "attention" not in address)


def told_of(action: Callable[[], object]) -> str:
    told: list[str] = []
    with contained(told.append):
        action()
    (text,) = told
    return text


@pytest.mark.usefixtures("lenient")
def test_what_speaks_of_the_atlas_is_raised() -> None:
    with pytest.raises(BundleError), contained(lambda _: None):
        raise BundleError("altered")


@pytest.mark.usefixtures("lenient")
def test_a_fault_is_one_short_line_with_its_place() -> None:
    first = told_of(lambda: int("two\nlines " + "x" * 10_000))
    second = told_of(lambda: View(None))  # type: ignore[arg-type]

    assert "\n" not in first
    assert len(first) < 400
    assert "at annotation/roles/view.py:" in second
    assert str(Path(builder.__file__).parent) not in second
