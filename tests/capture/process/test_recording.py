"""What a child leaves behind is checked before anything looks at it."""

from __future__ import annotations

import contextlib
import json
import os
from math import prod
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas.capture import overlay, process, reading, run, validate, values
from openmodelatlas.capture.recording import DEEPEST, RECORDING_FORMAT, Call, Form, Operation, Recording, link
from openmodelatlas.errors import RecordingError, TrustError
from openmodelatlas.sources.source import Source

from .conftest import CHILDREN

HASH = "0" * 64


def small(operations: int = 2) -> dict[str, Any]:
    """A recording, as JSON, of ``operations`` additions in one call."""
    tensors: list[list[Any]] = [[[2, 3], "float32", "input", -1, "x", -1], [[3], "float32", "parameter", 0]]
    tensors += [[[2, 3], "float32", "operation", number, "", -1] for number in range(operations)]
    return {
        "format": RECORDING_FORMAT,
        "probe": {
            "name": "a",
            "role": "solve",
            "sizes": {"hidden_size": 3},
            "batch": 2,
            "tokens": 5,
            "dtype": "float32",
            "seed": 1,
        },
        "files": [{"path": "modeling.py", "origin": "source", "package": "", "sha256": HASH, "text": "x + y\n" * 9}],
        "codes": [{"file": 0, "name": "forward", "first_line": 1, "last_line": 9}],
        "spans": [[0, 1, 0, 1, 5]],
        "modules": [
            {
                "name": "",
                "class_name": "Model",
                "file": 0,
                "first_line": 1,
                "last_line": 9,
                "attributes": {"scale": 1.5},
            },
        ],
        "parameters": [
            {
                "name": "w",
                "aliases": [],
                "kind": "parameter",
                "persistent": True,
                "tensor": 1,
                "shape": [3],
                "dtype": "float32",
            },
        ],
        "tensors": tensors,
        "calls": [
            [0, -1, "module", 0, "forward", 0, -1, 0, "prefill", *CALLED],
        ],
        "forms": [
            [
                "torch.Tensor.__add__",
                0,
                [{"tensor": 0}, {"tensor": 1}, 2, {"list": [1, {"tensor": 2}]}],
                {"dtype": {"dtype": "float32"}},
            ],
        ],
        "operations": [
            [number + 1, 0, 0, 1, [number + 1, 1, 0], [number + 2], {"tensor": number + 2}, []]
            for number in range(operations)
        ],
    }


CALLED: list[Any] = [{"x": {"tensor": 0}, "mask": None}, {"dict": {"y": {"tensor": 2}}}, [1, 2]]
"""Arguments, result and trace."""

COLUMNS = {
    "calls": Call.__struct_fields__,
    "forms": Form.__struct_fields__,
    "operations": Operation.__struct_fields__,
}


def changed(recording: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The recording with another value at ``path``; fields of calls, forms and operations are given by name."""
    if path[0] in COLUMNS:
        path = (*path[:2], COLUMNS[path[0]].index(path[2]))
    place: Any = recording
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return recording


def handed(value: Any) -> dict[str, Any]:
    """A recording whose only operation has this argument."""
    recording = changed(small(1), ("operations", 0, "tensors"), [])
    return changed(changed(recording, ("forms", 0, "arguments"), [value]), ("forms", 0, "keywords"), {"also": value})


def decoded(recording: dict[str, Any]) -> Recording:
    return reading.decode(json.dumps(recording).encode(), Recording, "recording-a.json")


def test_a_good_recording() -> None:
    validate.validate(decoded(small()))


@pytest.mark.parametrize(
    "value",
    [
        {"float": "nan"},
        {"dtype": "float32"},
        {"module": "layers.0"},
        {"object": "builtins.set"},
        {"ellipsis": True},
        {"slice": [None, 3, -1]},
        {"dict": {"a": {"list": []}}},
        {"list": [1, 2], "length": 90},
        {"dict": {"a": 1}, "length": 90},
    ],
)
def test_each_encoding_of_a_value(value: Any) -> None:
    validate.validate(decoded(handed(value)))
    validate.validate(decoded(changed(small(), ("operations", 0, "result"), value)))


def test_operations_have_the_arguments_of_their_form() -> None:
    recording = decoded(small())
    validate.validate(recording)
    operation = link(recording).operations[1]
    assert (operation.function, operation.span) == ("torch.Tensor.__add__", 0)
    assert operation.arguments == [{"tensor": 2}, {"tensor": 1}, 2, {"list": [1, {"tensor": 0}]}]
    assert operation.keywords == {"dtype": {"dtype": "float32"}}


def test_a_name_in_a_mapping_is_no_tensor() -> None:
    recording = changed(small(1), ("forms", 0, "keywords"), {"tensor": {"dict": {"tensor": 7, "list": {"tensor": 3}}}})
    recording = decoded(changed(recording, ("operations", 0, "tensors"), [1, 1, 0, 2]))
    validate.validate(recording)
    assert link(recording).operations[0].keywords == {"tensor": {"dict": {"tensor": 7, "list": {"tensor": 2}}}}


WRONG = [
    (("format",), 99, "format"),
    (("probe", "name"), "../a", "probe.name"),
    (("probe", "tokens"), -1, "probe.tokens"),
    (("files", 0, "path"), "/etc/passwd", r"files\[0\].path"),
    (("files", 0, "path"), "a/../../b", r"files\[0\].path"),
    (("files", 0, "path"), "", r"files\[0\].path"),
    (("files", 0, "sha256"), "abc", r"files\[0\].sha256"),
    (("codes", 0, "file"), 1, r"codes\[0\].file"),
    (("codes", 0, "first_line"), 0, r"codes\[0\]"),
    (("codes", 0, "last_line"), 11, r"codes\[0\]"),
    (("spans", 0), [0, 0, 0, 1, 5], r"spans\[0\]"),
    (("spans", 0), [0, 1, 0, 11, 5], r"spans\[0\]"),
    (("spans", 0), [0, 2, 0, 1, 5], r"spans\[0\]"),
    (("spans", 0), [-1, 1, 0, 1, 5], r"spans\[0\].file"),
    (("modules", 0, "file"), 7, r"modules\[0\].file"),
    (("modules", 0, "last_line"), 11, r"modules\[0\]"),
    (("parameters", 0, "tensor"), 4, r"parameters\[0\].tensor"),
    (("parameters", 0, "shape"), [-3], r"parameters\[0\].shape"),
    (("tensors", 0), [[2, -3], "float32", "input", -1, "x", -1], r"tensors\[0\].shape"),
    (("tensors", 0), [[2, 3], "float32", "input", 0, "x", -1], r"tensors\[0\].index"),
    (("tensors", 2), [[2, 3], "float32", "operation", 2, "", -1], r"tensors\[2\].index"),
    (("tensors", 2), [[2, 3], "float32", "operation", -1, "", -1], r"tensors\[2\].index"),
    (("tensors", 2), [[2, 3], "float32", "operation", 0, "", 4], r"tensors\[2\].base"),
    (("calls", 0, "parent"), 0, r"calls\[0\].parent"),
    (("calls", 0, "code"), 1, r"calls\[0\].code"),
    (("calls", 0, "module"), -2, r"calls\[0\].module"),
    (("calls", 0, "site"), 1, r"calls\[0\].site"),
    (("calls", 0, "trace"), [1, 0], r"calls\[0\].trace"),
    (("calls", 0, "arguments"), {"x": {"list": [{"tensor": 4}]}}, r"calls\[0\]"),
    (("calls", 0, "result"), {"tensor": -1}, r"calls\[0\]"),
    (("operations", 1, "call"), -1, r"operations\[1\].call"),
    (("forms", 0, "span"), 1, r"forms\[0\].span"),
    (("operations", 1, "form"), 1, r"operations\[1\].form"),
    (("operations", 1, "form"), -1, r"operations\[1\]"),
    (("operations", 1, "form"), ["torch.cat", 0, [], {}], r"operations\[1\]"),
    (("operations", 1, "tensors"), [4, 1, 0], r"operations\[1\].tensors"),
    (("operations", 1, "tensors"), [1, 0], r"operations\[1\].tensors"),
    (("operations", 1, "tensors"), [1, 0, 0, 0], r"operations\[1\].tensors"),
    (("operations", 1, "tensors"), [-1, 0, 0], r"operations\[1\]"),
    (("forms", 0, "arguments"), [{"tensor": 1}, {"tensor": 0}, {"tensor": 2}], r"forms\[0\]"),
    (("forms", 0, "arguments"), [{"tensor": 0}, {"list": [{"tensor": 1}, {"tensor": 3}]}], r"forms\[0\]"),
    (("forms", 0, "arguments"), [{"tensor": 0}, {"tensor": 0}, {"tensor": 1}], r"forms\[0\]"),
    (("operations", 1, "outputs"), [0, 4], r"operations\[1\]"),
    (("operations", 1, "writes"), [-1], r"operations\[1\]"),
    (("forms", 0, "arguments"), [[1]], r"forms\[0\]"),
    (("forms", 0, "arguments"), [{"tensor": True}], r"forms\[0\]"),
    (("forms", 0, "keywords"), {"a": {"path": "/etc"}}, r"forms\[0\]"),
    (("forms", 0, "keywords"), {"a": {"tensor": 3, "length": 4}}, r"forms\[0\]"),
    (("operations", 1, "result"), {"slice": [1, 2]}, r"operations\[1\]"),
    (("operations", 1, "result"), {"list": [1, 2], "length": 2}, r"operations\[1\]"),
    (("operations", 1, "result"), {"tensor": 0, "length": 2}, r"operations\[1\]"),
    (("operations", 1, "result"), {"length": 2}, r"operations\[1\]"),
    (("operations", 1, "step"), -1, r"operations\[1\]"),
]


@pytest.mark.parametrize(("path", "value", "where"), WRONG)
def test_each_thing_that_can_be_wrong(path: tuple[Any, ...], value: Any, where: str) -> None:
    row = where.rsplit(".", 1)[0]
    with pytest.raises(RecordingError, match=rf"^recording: {where}|- at `\$\.{row}"):
        validate.validate(decoded(changed(small(), path, value)))


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda part: st.lists(part) | st.dictionaries(st.text(), part))
)
def test_any_json_is_accepted_or_refused_with_our_error(value: Any) -> None:
    try:
        validate.validate(decoded(handed(value)))
    except RecordingError:
        assert isinstance(value, list | dict)
    else:
        assert isinstance(value, int | str | None) or (isinstance(value, dict) and len(value) == 1)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("parameters", 0, "shape"), [-1] * 300_000),
        (("files", 0, "path"), "../" * 100_000),
        (("probe", "name"), "." * 300_000),
        (("probe", "sizes"), {"x" * 300_000: -1}),
        (("forms", 0, "keywords"), {"a": {"dict": {"x" * 300_000: {"tensor": 3}}, "length": 1}}),
    ],
)
def test_messages_are_short_however_long_the_fault_is(path: tuple[Any, ...], value: Any) -> None:
    with pytest.raises(RecordingError) as caught:
        validate.validate(decoded(changed(small(), path, value)))
    assert len(str(caught.value)) < 1000


def test_deep_nesting_is_refused() -> None:
    deep = '{"list":[' * 50_000 + "1" + "]}" * 50_000
    text = json.dumps(small()).replace('{"list": [1, {"tensor": 2}]}', deep, 1)
    assert deep in text
    with pytest.raises(RecordingError):
        validate.validate(reading.decode(text.encode(), Recording, "recording-a.json"))


@pytest.mark.parametrize("depth", [1, DEEPEST, DEEPEST + 1, 100, 320, 900])
@pytest.mark.parametrize("opening", ['{"list":[', '{"slice":[1,2,', '{"dict":{"a":'])
@pytest.mark.parametrize("place", [("forms", 0, "arguments"), ("calls", 0, "result")])
def test_values_nest_as_deep_as_the_format_says(depth: int, opening: str, place: tuple[Any, ...]) -> None:
    closing = "]}" if "[" in opening else "}}"
    recording = changed(handed(None), place, ["deep"] if place[0] == "forms" else "deep")
    text = json.dumps(recording).replace('"deep"', opening * depth + "1" + closing * depth, 1)
    with contextlib.nullcontext() if depth <= DEEPEST else pytest.raises(RecordingError):
        validate.validate(reading.decode(text.encode(), Recording, "recording-a.json"))


def test_six_large_recordings_are_read(tmp_path: Path) -> None:
    content = json.dumps(small(11_000)).encode()
    for name in "abcdef":
        (tmp_path / f"recording-{name}.json").write_bytes(
            content.replace(b'"name": "a"', f'"name": "{name}"'.encode(), 1)
        )
    assert list(run.read_recordings(tmp_path)) == list("abcdef")


def test_a_recording_under_another_name(tmp_path: Path) -> None:
    (tmp_path / "recording-b.json").write_text(json.dumps(small()))
    with pytest.raises(RecordingError, match="of probe 'a'"):
        run.read_recordings(tmp_path)


def test_files_that_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_bytes(b"12345")
    (tmp_path / "folder").mkdir()
    for name, message in {
        "link": "a symbolic link",
        "fifo": "not a regular file",
        "large": "5 bytes long",
        "folder": "not a regular file",
    }.items():
        with pytest.raises(RecordingError, match=message):
            reading.read_bytes(tmp_path, name, largest=4)
    with pytest.raises(FileNotFoundError):
        reading.read_bytes(tmp_path, "absent", largest=4)


def written(folder: Path, header: Any, data: bytes) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    (folder / values.FILE_NAME).write_bytes(len(text).to_bytes(8, "little") + text + data)
    return folder


def entry(first: int, shape: list[int], dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, first + prod(shape) * 4]}


def test_values_outlive_their_folder(tmp_path: Path) -> None:
    data = bytes(range(36))
    written(tmp_path, {"1": entry(0, [3]), "2": entry(12, [2, 3])}, data)
    with values.open_values(tmp_path, decoded(small()), largest=10_000) or pytest.fail("no values") as held:
        (tmp_path / values.FILE_NAME).unlink()
        assert len(held) == 2
        assert 2 in held
        assert held.data(1) == data[:12]
        assert held.data(2) == data[12:]
        assert held.entries[2].shape == (2, 3)


def test_no_values(tmp_path: Path) -> None:
    assert values.open_values(tmp_path, decoded(small()), largest=1) is None


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        ({"1": entry(0, [3])}, b"x" * 11, "outside the file"),
        ({"1": entry(0, [3])}, b"x" * 13, "belong to no tensor"),
        ({"1": entry(0, [3]), "2": entry(6, [2, 3])}, b"x" * 30, "overlap"),
        ({"1": {**entry(0, [3]), "shape": [4]}}, b"x" * 12, "12 bytes for the shape"),
        ({"1": {**entry(0, [3]), "shape": [-3]}}, b"x" * 12, "outside the file"),
        ({"1": entry(0, [3], "XX")}, b"x" * 12, "unknown type"),
        ({"1": entry(0, [3], "I32")}, b"x" * 12, "recorded as float32"),
        ({"2": entry(0, [3])}, b"x" * 12, "recorded as"),
        ({"9": entry(0, [3])}, b"x" * 12, "not in the recording"),
        ({"01": entry(0, [3])}, b"x" * 12, "no tensor number"),
        ({"../x": entry(0, [3])}, b"x" * 12, "no tensor number"),
        (b"{", b"", "does not validate"),
        (b"[]", b"", "does not validate"),
    ],
)
def test_values_that_are_wrong(tmp_path: Path, header: Any, data: bytes, message: str) -> None:
    with pytest.raises(RecordingError, match=message):
        values.open_values(written(tmp_path, header, data), decoded(small()), largest=10_000)


def test_values_with_an_absurd_header(tmp_path: Path) -> None:
    for content in (b"", b"\xff" * 8, b"\x00" * 7):
        (tmp_path / values.FILE_NAME).write_bytes(content)
        with pytest.raises(RecordingError, match="its header claims"):
            values.open_values(tmp_path, decoded(small()), largest=10_000)


def source(**changes: Any) -> Source:
    fields: dict[str, Any] = {
        "kind": "folder",
        "repository": "test",
        "revision": "1",
        "root": CHILDREN,
        "files": (),
        "entry": "well",
        "configuration": {},
        "configuration_origin": "test",
        "trusted": True,
    }
    return Source(**{**fields, **changes})


def test_untrusted_code_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(TrustError, match="nobody has said to trust it"):
        run.capture(source(trusted=False), home=tmp_path)


def test_a_capture_from_child_to_data(tmp_path: Path) -> None:
    recording = json.dumps(small())
    with run.capture(
        source(entry="records", configuration={"recording": recording}),
        home=tmp_path,
        child_module="recording_child",
        python_path=[CHILDREN],
    ) as captured:
        assert captured.recordings == {"a": link(decoded(small()))}
        assert captured.summary.notes == ["a note"]
        assert captured.values is not None
        assert captured.values.data(1) == b"x" * 12
        assert {each.name for each in captured.protections} >= {"files"}


def test_what_a_source_asks_for() -> None:
    installed = overlay.installed_version("transformers")
    assert run.requirements(source(), []) == ([], [])
    assert run.requirements(source(transformers_version="4.48.3"), []) == (["transformers==4.48.3"], [])
    assert run.requirements(source(transformers_version=installed), []) == ([], [])
    assert run.requirements(source(transformers_version="4.48.3"), ["transformers==4.50.0"]) == (
        ["transformers==4.50.0"],
        [],
    )
    assert run.requirements(source(kind="transformers", transformers_version="4.48.3"), ["six==1"]) == (["six==1"], [])
    wanted, notes = run.requirements(source(transformers_version="4.57.0.dev0"), [])
    assert wanted == ["transformers==4.57.0"]
    assert "asks for transformers 4.57.0.dev0" in notes[0]


def test_published_dtype() -> None:
    assert run.published_dtype({"torch_dtype": "bfloat16"}) == "bfloat16"
    assert run.published_dtype({"text_config": {"dtype": "torch.float16"}}) == "float16"
    assert run.published_dtype({"dtype": None}) is None


def test_summary_is_validated() -> None:
    summary = {
        "format": 7,
        "python": "",
        "torch": "",
        "transformers": "",
        "effective_configuration": {},
        "choices": [],
        "parameters": [],
        "parameters_failure": None,
        "seconds": {},
        "notes": [],
    }
    with pytest.raises(RecordingError, match="format 7"):
        validate.validate_summary(msgspec.convert(summary, run.Summary))
    assert process.SUMMARY == "summary.json"
