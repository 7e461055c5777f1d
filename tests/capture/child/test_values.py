"""The values file is what the safetensors library reads."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from openmodelatlas.capture.child.values import write_values

DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.uint8, torch.bool),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip(tmp_path: Path, dtype: torch.dtype) -> None:
    base = torch.randint(0, 2, (3, 4, 5)).to(dtype)
    values = {"10": base, "2": base.transpose(0, 2), "3": base[:0], "4": base[0, 0, 0], "5": base[:, 1:2]}
    assert write_values(tmp_path / "values.safetensors", values) == []
    read = load_file(tmp_path / "values.safetensors")
    assert read.keys() == values.keys()
    for name, value in values.items():
        assert read[name].dtype == dtype
        assert torch.equal(read[name], value)


def test_types_the_format_lacks_are_named(tmp_path: Path) -> None:
    values = {"1": torch.ones(2), "2": torch.ones(2, dtype=torch.complex128)}
    assert write_values(tmp_path / "values.safetensors", values) == ["2"]
    assert load_file(tmp_path / "values.safetensors").keys() == {"1"}


def test_no_values_at_all(tmp_path: Path) -> None:
    write_values(tmp_path / "values.safetensors", {})
    assert load_file(tmp_path / "values.safetensors") == {}
