"""The safetensors reader and writer agree with the safetensors package and refuse what is malformed."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import deserialize

from openmodelatlas.bundle.tensors import TensorFile, TensorValue, encode_tensors
from openmodelatlas.errors import BundleError

_SIZES = {"float32": 4, "bfloat16": 2, "int64": 8, "bool": 1, "float16": 2}


@st.composite
def tensors(draw: st.DrawFn) -> TensorValue:
    dtype = draw(st.sampled_from(sorted(_SIZES)))
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    count = 1
    for size in shape:
        count *= size
    length = count * _SIZES[dtype]
    return TensorValue(dtype=dtype, shape=shape, data=draw(st.binary(min_size=length, max_size=length)))


_NAMES = st.text(min_size=1, max_size=5).filter(lambda key: key != "__metadata__")


@given(st.dictionaries(_NAMES, tensors(), max_size=4))
def test_the_package_reads_it(tmp_path_factory: pytest.TempPathFactory, table: dict[str, TensorValue]) -> None:
    data = encode_tensors(table)
    assert encode_tensors(dict(reversed(table.items()))) == data
    theirs = {name: (tuple(entry["shape"]), bytes(entry["data"])) for name, entry in deserialize(data)}
    assert theirs == {name: (tensor.shape, tensor.data) for name, tensor in table.items()}
    path = tmp_path_factory.getbasetemp() / "table.safetensors"
    path.write_bytes(data)
    ours = TensorFile(path)
    assert {name: ours[name] for name in ours} == table


@pytest.mark.parametrize(
    ("dtype", "code", "numbers"),
    [
        ("float32", "f", [1.5, -2.0]),
        ("float16", "e", [0.5, 3.0]),
        ("int64", "q", [-1, 2**40]),
        ("bool", "?", [True, False]),
    ],
)
def test_elements(dtype: str, code: str, numbers: list[float]) -> None:
    data = struct.pack(f"<2{code}", *numbers)
    assert TensorValue(dtype=dtype, shape=(2,), data=data).elements() == numbers


def test_bfloat16_elements() -> None:
    # 1.0, -2.5 and the largest finite value, 0x7F7F.
    value = TensorValue(dtype="bfloat16", shape=(3,), data=struct.pack("<3H", 0x3F80, 0xC020, 0x7F7F))
    assert value.elements() == [1.0, -2.5, 3.3895313892515355e38]


def _file(path: Path, header: object, data: bytes = b"\0" * 8) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


@pytest.mark.parametrize(
    "header",
    [
        {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 16]}},
        {"x": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}},
        {"x": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}},
        {"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}},
        {"x": {"dtype": "PICKLE", "shape": [2], "data_offsets": [0, 8]}},
        {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], "more": 1}},
        {"x": 3},
        [],
    ],
)
def test_malformed_headers_are_refused(tmp_path: Path, header: object) -> None:
    with pytest.raises(BundleError):
        TensorFile(_file(tmp_path / "bad.safetensors", header))


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.safetensors"
    for data in (b"", b"\x80\x04K\x01.", b"\xff" * 64):
        path.write_bytes(data)
        with pytest.raises(BundleError):
            TensorFile(path)
    with pytest.raises(BundleError, match="No such file"):
        TensorFile(tmp_path / "none")


def test_values_that_do_not_fit_are_not_written() -> None:
    with pytest.raises(BundleError, match="does not fit its shape"):
        encode_tensors({"x": TensorValue(dtype="float32", shape=(2,), data=b"123")})
    with pytest.raises(BundleError, match="dtype complex64 cannot be stored"):
        encode_tensors({"x": TensorValue(dtype="complex64", shape=(1,), data=b"12345678")})
