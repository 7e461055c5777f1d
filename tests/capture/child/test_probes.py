"""A probe of low precision runs without oneDNN, which would compile a kernel for every shape."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch

from openmodelatlas.capture.child import probes
from openmodelatlas.capture.child.subject import Inputs
from openmodelatlas.capture.recording import Probe


class Seen(Exception):
    """Ends a run."""


@pytest.mark.parametrize(("dtype", "compiles"), [("float32", True), ("bfloat16", False)])
def test_kernels_are_compiled_for_float32_only(dtype: str, compiles: bool) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise Seen(torch._C._get_mkldnn_enabled())

    class Subject:
        roots: ClassVar[dict[str, object]] = {}

        def instantiate(self, *_: object) -> torch.nn.Module:
            return Model()

        def inputs(self, *_: object) -> Inputs:
            return Inputs({"x": torch.ones(1)})

    probe = Probe(name="b", role="solve", sizes={}, batch=1, tokens=1, dtype=dtype, seed=0)
    torch._C._set_mkldnn_enabled(True)
    with pytest.raises(Seen) as seen:
        probes.run_probe(Subject(), {}, probe, keep_values=False)  # type: ignore[arg-type]
    assert seen.value.args == (compiles,)
    assert torch._C._get_mkldnn_enabled()
