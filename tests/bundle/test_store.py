"""Bundles are canonical, and are replaced as a whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import filelock
import msgspec
import pytest

from openmodelatlas.bundle import store
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.home import home, list_built, model_folder, origin_of
from openmodelatlas.bundle.manifest import describe_file, encode_manifest, is_whole, read_manifest
from openmodelatlas.bundle.store import read, write
from openmodelatlas.errors import BundleError, UsageError
from openmodelatlas.graph.document import Document
from tests.site.sample import build_running_sum, build_sample, sample_document, sample_values, texts_of


def _write(home: Path, document: Document) -> Path:
    return write(document, texts=texts_of(document), values=sample_values(), home=home, model=document.model)


def _changed(title: str) -> Document:
    return msgspec.structs.replace(sample_document(), title=title)


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    folder = build_sample(tmp_path)
    assert folder == tmp_path / "atlases" / "sample"
    atlas = read(folder)
    assert atlas.document == sample_document()
    assert list(atlas.document.nodes) == list(sample_document().nodes)
    assert read(atlas.folder).document == atlas.document
    assert list_built(tmp_path) == ("sample",)


def test_only_what_a_model_may_be_called_is_listed(tmp_path: Path) -> None:
    longest = "a" * 120
    for name in (longest, f"{longest}a", "Sample", "sample-"):
        (tmp_path / "atlases" / name).mkdir(parents=True)
        (tmp_path / "atlases" / name / "current").touch()
    assert list_built(tmp_path) == (longest,)


def test_equal_documents_give_equal_bytes(tmp_path: Path) -> None:
    document = sample_document()
    shuffled = msgspec.structs.replace(
        document,
        configuration=dict(reversed(document.configuration.items())),
        sizes=dict(reversed(document.sizes.items())),
    )
    one, other = read(_write(tmp_path / "a", document)), read(_write(tmp_path / "b", shuffled))
    assert one.folder.name == other.folder.name
    assert _files(one.folder) == _files(other.folder)
    assert str(tmp_path).encode() not in b"".join(_files(one.folder).values())


def test_the_time_of_a_build_is_kept_beside_the_content(tmp_path: Path) -> None:
    """Two builds of the same differ in nothing else, and have one name; the last one is told."""
    document = sample_document()

    def timed(home: Path, seconds: float | None) -> Atlas:
        given = {"texts": texts_of(document), "values": sample_values(), "home": home, "model": document.model}
        return read(write(document, seconds=seconds, **given))  # type: ignore[arg-type]

    quick, slow, unknown = (timed(tmp_path / str(seconds), seconds) for seconds in (7.1234, 60.0, None))
    assert [atlas.manifest.seconds for atlas in (quick, slow, unknown)] == [7.12, 60.0, None]
    assert quick.folder.name == slow.folder.name == unknown.folder.name
    files = [_files(atlas.folder) for atlas in (quick, slow)]
    assert {name for name in files[0] if files[0][name] != files[1][name]} == {"manifest.json"}
    for given, told in ((99.0, 99.0), (None, 99.0)):
        again = timed(tmp_path / "7.1234", given)
        assert (again.folder, again.manifest.seconds) == (quick.folder, told)


def test_a_bundle_of_before_has_no_time(tmp_path: Path) -> None:
    folder = read(build_sample(tmp_path)).folder
    data = json.loads((folder / "manifest.json").read_bytes())
    del data["seconds"]
    (folder / "manifest.json").write_text(json.dumps(data))
    assert read(folder).manifest.seconds is None
    assert read(folder).manifest.digest().startswith(folder.name)


def test_another_version_gets_another_generation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read(build_sample(tmp_path))
    monkeypatch.setattr(store, "__version__", "99.0")
    assert read(build_sample(tmp_path)).folder != first.folder


def test_writing_the_same_again_keeps_the_generation(tmp_path: Path) -> None:
    first = read(build_sample(tmp_path)).folder
    assert read(build_sample(tmp_path)).folder == first
    (first / "atlas.json").write_bytes(b"{}")
    repaired = read(build_sample(tmp_path))
    assert repaired.folder.name == f"{first.name}-2"
    assert repaired.document == sample_document()


def test_earlier_generations_stay_one_write_long(tmp_path: Path) -> None:
    generations = [read(_write(tmp_path, _changed(f"Sample {number}"))).folder for number in range(3)]
    assert [folder.exists() for folder in generations] == [False, True, True]


def _count_flushes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    calls: list[int] = []
    with monkeypatch.context() as patch:
        real = os.fsync
        patch.setattr(os, "fsync", lambda descriptor: (calls.append(descriptor), real(descriptor)))
        build_sample(tmp_path / "count")
    return len(calls)


def test_a_full_disk_leaves_the_old_atlas_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushes = _count_flushes(tmp_path, monkeypatch)
    assert flushes >= 7
    folder = build_sample(tmp_path)
    # The last flush follows the replacement: the new atlas is in place by then.
    for allowed in range(flushes - 1):
        left = [allowed]

        def full(descriptor: int, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(BundleError, match="No space left on device"):
                _write(tmp_path, _changed("Other"))
        assert read(folder).document == sample_document()
        assert not list(folder.glob(".*")), "nothing half-written is left"


_KILLED = """
import os, sys
from pathlib import Path
import msgspec
from tests.site.sample import sample_document, sample_values, texts_of
from openmodelatlas.bundle.store import write

left = int(sys.argv[2])
def dies(descriptor):
    global left
    left -= 1
    if left < 0:
        os._exit(9)
os.fsync = dies
document = msgspec.structs.replace(sample_document(), title="Other")
write(document, texts=texts_of(document), values=sample_values(), home=Path(sys.argv[1]), model="sample")
"""


@pytest.mark.parametrize("allowed", [0, 3, 5, 6])
def test_a_kill_leaves_the_old_atlas_whole(tmp_path: Path, allowed: int) -> None:
    folder = build_sample(tmp_path)
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path), str(allowed)], cwd=root, check=False)
    assert ended.returncode == 9
    assert read(folder).document == sample_document()
    assert list(folder.glob(".*")), "the control: the kill left something behind"
    assert read(_write(tmp_path, _changed("Third"))).document.title == "Third"
    assert not list(folder.glob(".*"))


def test_what_a_killed_write_left_is_cleared_by_that_of_another_model(tmp_path: Path) -> None:
    """Also of a model that never had an atlas; what another write holds, and what is no model, stays."""
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path), "3"], cwd=root, check=False)
    assert ended.returncode == 9
    folder = tmp_path / "atlases" / "sample"
    assert list(folder.glob(".building-*"))
    busy, mine = tmp_path / "atlases" / "busy", tmp_path / "atlases" / "My Notes"
    for place in (busy, mine):
        (place / ".building-1-2").mkdir(parents=True)
    with filelock.FileLock(busy / "lock"):
        build_running_sum(tmp_path)
    assert not list(folder.glob(".*"))
    assert list_built(tmp_path) == ("running-sum",)
    assert (busy / ".building-1-2").exists()
    assert (mine / ".building-1-2").exists()


def test_two_writes_at_once_both_succeed(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for round_ in range(3):
                _write(tmp_path, _changed(f"Sample {number} {round_}"))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert read(tmp_path / "atlases" / "sample").document.title.startswith("Sample ")


def _spoil(folder: Path, change: Any) -> None:
    """Changes ``atlas.json`` and the manifest with it, so that only the content is wrong."""
    data = json.loads((folder / "atlas.json").read_bytes())
    change(data)
    encoded = json.dumps(data).encode()
    (folder / "atlas.json").write_bytes(encoded)
    manifest = read_manifest(folder)
    manifest.files["atlas.json"] = describe_file(encoded)
    (folder / "manifest.json").write_bytes(encode_manifest(manifest))


def test_unknown_formats_say_what_to_do(tmp_path: Path) -> None:
    folder = read(build_sample(tmp_path)).folder
    _spoil(folder, lambda data: data.update(format=99))
    with pytest.raises(BundleError, match=r"format 99, this .* 1\. It was written by a newer version"):
        read(folder)


def test_wrong_types_are_refused(tmp_path: Path) -> None:
    folder = read(build_sample(tmp_path)).folder
    _spoil(folder, lambda data: data["nodes"][""].update(children=[3]))
    with pytest.raises(BundleError, match="corrupt"):
        read(folder)


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "", "/etc", "0123456789abcdef/.."])
def test_a_pointer_cannot_lead_elsewhere(tmp_path: Path, name: str) -> None:
    folder = build_sample(tmp_path)
    (folder / "current").write_text(name)
    with pytest.raises(BundleError, match="pointer"):
        read(folder)


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/passwd", "sources/../atlas.json", "sources/x.txt", "", "more.json"]
)
def test_a_manifest_cannot_lead_elsewhere(tmp_path: Path, name: str) -> None:
    folder = read(build_sample(tmp_path)).folder
    (folder.parent / "outside").write_bytes(b"there")
    manifest = read_manifest(folder)
    manifest.files[name] = describe_file(b"there")
    (folder / "manifest.json").write_bytes(encode_manifest(manifest))
    with pytest.raises(BundleError, match="no file of a bundle is called"):
        read(folder)


def test_a_file_that_is_none_is_not_waited_for(tmp_path: Path) -> None:
    atlas = read(build_sample(tmp_path))
    assert is_whole(atlas.folder, atlas.manifest)
    for name in atlas.manifest.files:
        path = atlas.folder / name
        kept = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        assert not is_whole(atlas.folder, atlas.manifest)
        path.unlink()
        path.write_bytes(kept)


@pytest.mark.parametrize("name", ["manifest.json", "atlas.json", "current", "origin"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    folder = build_sample(tmp_path)
    generation = read(folder).folder
    path = (folder if name in ("current", "origin") else generation) / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert origin_of(folder) is None
    if name != "origin":
        for place in (folder, generation) if name != "current" else (folder,):
            with pytest.raises(BundleError):
                read(place)


def test_altered_files_are_noticed_when_they_are_read(tmp_path: Path) -> None:
    folder = build_sample(tmp_path)
    inner = read(folder).folder
    source = next((inner / "sources").iterdir())
    source.write_bytes(source.read_bytes() + b"#")
    atlas = read(folder)
    with pytest.raises(BundleError, match="not what was written"):
        atlas.lines_of("modeling_sample.py")
    (inner / "values.safetensors").unlink()
    with pytest.raises(BundleError, match="cannot be read"):
        atlas.value("7")
    (inner / "atlas.json").write_bytes(b"{")
    with pytest.raises(BundleError, match="not what was written"):
        read(folder)


def test_missing_bundles_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="There is no atlas here"):
        read(tmp_path)
    assert list_built(tmp_path) == ()


def test_missing_texts_and_values_are_refused(tmp_path: Path) -> None:
    document = sample_document()
    with pytest.raises(BundleError, match=r"text of the cited file modeling_sample\.py is missing"):
        write(document, texts={}, values=sample_values(), home=tmp_path, model="sample")
    with pytest.raises(BundleError, match="values of 1 tensors are missing"):
        write(document, texts=texts_of(document), values={}, home=tmp_path, model="sample")
    assert not (tmp_path / "atlases").exists()


@pytest.mark.parametrize("name", ["../x", "a/b", "", "A", "a..", "-a", "x" * 200])
def test_model_names_cannot_lead_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        model_folder(tmp_path, name)


def test_home_is_chosen_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMA_HOME", str(tmp_path))
    assert home() == tmp_path
    monkeypatch.delenv("OMA_HOME")
    assert home().name == "openmodelatlas"
