"""Recordings are read while the child runs; what it leaves in the end decides."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from openmodelatlas.capture import landing, run
from openmodelatlas.capture.landing import Landing
from openmodelatlas.capture.recording import Recording
from openmodelatlas.errors import RecordingError

from .test_recording import small

FILE = "recording-a.json"


def _put(folder: Path, content: str, name: str = FILE) -> None:
    part = folder / f"{name}.part"
    part.write_text(content)
    part.replace(folder / name)


def _until(landing: Landing, name: str = FILE) -> None:
    deadline = time.monotonic() + 10
    while name not in landing._tried and time.monotonic() < deadline:
        time.sleep(0.005)


def test_a_recording_is_read_as_soon_as_it_is_there(tmp_path: Path) -> None:
    told: list[Recording] = []
    with Landing(tmp_path, told.append) as early:
        _put(tmp_path, json.dumps(small()))
        _until(early)
    assert [recording.probe.name for recording in told] == ["a"]
    assert run.read_recordings(tmp_path, early)["a"] is told[0]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_recording_that_changed_is_read_again(tmp_path: Path, replaced: bool) -> None:
    told: list[Recording] = []
    with Landing(tmp_path, told.append) as early:
        _put(tmp_path, json.dumps(small()))
        _until(early)
    if replaced:
        _put(tmp_path, json.dumps(small(operations=3)))
    else:
        (tmp_path / FILE).write_text(json.dumps(small(operations=3)))
    assert len(run.read_recordings(tmp_path, early)["a"].operations) == 3
    assert len(told[0].operations) == 2


def test_a_malformed_recording_is_an_error_at_the_end(tmp_path: Path) -> None:
    told: list[Recording] = []
    with Landing(tmp_path, told.append) as early:
        _put(tmp_path, json.dumps({**small(), "format": 0}))
        _until(early)
    assert told == []
    with pytest.raises(RecordingError, match="format 0"):
        run.read_recordings(tmp_path, early)


def test_an_error_in_what_is_told_does_not_lose_the_recording(tmp_path: Path) -> None:
    def fail(_: Recording) -> None:
        raise RuntimeError("not now")

    with Landing(tmp_path, fail) as early:
        _put(tmp_path, json.dumps(small()))
        _until(early)
    assert early.recording(FILE) is not None


def test_links_and_large_files_are_left_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landing, "_LARGEST_EARLY", 100)
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps({**small(), "probe": {**small()["probe"], "name": "b"}}))
    (tmp_path / "recording-b.json").symlink_to(elsewhere)
    told: list[Recording] = []
    with Landing(tmp_path, told.append) as early:
        _put(tmp_path, json.dumps(small()))
        _until(early)
        _until(early, "recording-b.json")
    assert told == []
    assert early.recording(FILE) is None
    with pytest.raises(RecordingError, match="symbolic link"):
        run.read_recordings(tmp_path, early)
