"""A file of the catalogue that is broken in any way is one clear error that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmodelatlas.catalogue.load import ROOT, load, read_entry
from openmodelatlas.errors import CatalogueError

RMS_NORM = (ROOT / "mechanisms" / "rms-norm.md").read_text("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no front matter",
        "---\n5\n---\n",
        "---\n\n---\n",
        RMS_NORM.replace("---\n", "---\n: : [\n", 1),
        RMS_NORM.replace("---\n", "---\n\tid: x\n", 1),
        RMS_NORM.replace("---\n", "---\nnosuch: 1\n", 1),
        "---\n" + "[" * 5000 + "\n---\n",
        "---\nid: &a [*a]\n---\n",
        "---\nid: !!python/object/apply:os.getcwd []\n---\n",
        RMS_NORM.replace("id: rms-norm", "id: rms-norm\ntolerance: {relative: .nan, reason: none}"),
    ],
)
def test_a_broken_entry_is_one_line_about_it(text: str) -> None:
    with pytest.raises(CatalogueError) as caught:
        read_entry(text, "mechanisms/broken.md")

    assert caught.value.where == "mechanisms/broken.md"
    assert "\n" not in caught.value.what


def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "mechanisms").mkdir()
    file = tmp_path / "mechanisms" / "rms-norm.md"
    file.write_bytes(b"\xef\xbb\xbf" + RMS_NORM.replace("\n", "\r\n").encode())

    assert load(tmp_path).mechanisms["rms-norm"].front == load().mechanisms["rms-norm"].front


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "mechanisms").mkdir()
    (tmp_path / "mechanisms" / "broken.md").write_bytes(b"\xff\xfe---")

    with pytest.raises(CatalogueError, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize(
    "code", [b"def rms_norm(:", b"raise ValueError", b"import nosuchmodule", b"rms_norm = 5", b"\xff", b""]
)
def test_a_reference_that_cannot_be_had_is_named(tmp_path: Path, code: bytes) -> None:
    for folder in ("mechanisms", "references"):
        (tmp_path / folder).mkdir()
    (tmp_path / "mechanisms" / "rms-norm.md").write_text(RMS_NORM, "utf-8")
    (tmp_path / "references" / "norms.py").write_bytes(code)
    catalogue = load(tmp_path)

    with pytest.raises(CatalogueError) as caught:
        catalogue.reference("rms-norm")
    assert caught.value.where == "mechanisms/rms-norm.md"
