"""What annotation and drawing could not do is told with the atlas; what they need is looked for before a capture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from openmodelatlas import builder
from openmodelatlas.annotation.faults import FAULT
from openmodelatlas.annotation.knowledge import Knowledge, Unmatched
from openmodelatlas.bundle.gaps import with_notes
from openmodelatlas.drawing import engine
from openmodelatlas.drawing.drawing import Drawings
from openmodelatlas.errors import DrawingError
from tests.drawing.sample import decoder

TINY = "tests.corpus.tiny_transformer:tiny"


def test_notes_of_both_are_told_and_counted_when_they_are_many() -> None:
    knowledge = Knowledge(notes=("The names of steps could not be found.",))
    drawings = Drawings(notes=tuple(f"Formula shown as text: {n}" for n in range(25)))

    notes = with_notes(decoder(), knowledge, drawings).notes

    assert "The names of steps could not be found." in notes
    assert sum(note.startswith("Formula shown as text") for note in notes) == 10
    assert notes[-1] == "There are 15 further notes on diagrams in the bundle."


def test_faults_of_pages_are_told_but_not_what_is_known_to_be_missing() -> None:
    known = Unmatched(address="a", what="formula", reason="the operation table does not know torch.x")
    faulty = Unmatched(address="b", what="formula", reason=f"{FAULT} (KeyError: 'x')")

    assert with_notes(decoder(), Knowledge(unmatched=(known,)), Drawings()).notes == decoder().notes
    (note,) = with_notes(decoder(), Knowledge(unmatched=(known, faulty)), Drawings()).notes[len(decoder().notes) :]
    assert note == f"Something is missing on 1 page, the first is b: {FAULT} (KeyError: 'x')."


def test_a_missing_engine_is_told_as_soon_as_the_model_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def capture(*_: object, meanwhile: Callable[[], None], **__: object) -> None:
        meanwhile()
        pytest.fail("the model ran on")

    monkeypatch.setattr(engine, "KATEX", tmp_path / "katex.min.js")
    monkeypatch.setattr(builder, "capture", capture)

    with pytest.raises(DrawingError):
        builder.build(TINY, home=tmp_path)
