"""torch's compiler stays out until somebody asks for it, and then is what it always is."""

from __future__ import annotations

import subprocess
import sys

import pytest

_FIRST = """
import sys
from openmodelatlas.capture.child import compiler
compiler.leave_out()
import torch
def full():
    return "torch._dynamo.convert_frame" in sys.modules
"""


def _said(program: str) -> list[str]:
    result = subprocess.run([sys.executable, "-c", _FIRST + program], capture_output=True, text=True, check=True)
    return result.stdout.split()


def test_models_of_transformers_import_without_it() -> None:
    program = """
from transformers.models.deepseek_v3 import modeling_deepseek_v3
from transformers import masking_utils, modeling_utils
print(full(), "torch._dynamo" in sys.modules)
print(masking_utils.TransformGetItemToIndex.__mro__[1].__name__)
"""
    assert _said(program) == ["False", "True", "TorchFunctionMode"]


def test_marks_leave_functions_as_they_are() -> None:
    program = """
def one(x): return x
print(torch.compiler.disable(one) is one, torch.compiler.disable(recursive=False)(one) is one)
print(torch._dynamo.allow_in_graph(one) is one, torch.compiler.assume_constant_result(one) is one)
print(torch._dynamo.is_compiling(), full())
"""
    assert _said(program) == ["True", "True", "True", "True", "False", "False"]


@pytest.mark.parametrize(
    "asking",
    [
        "import torch._dynamo; torch._dynamo.config.cache_size_limit",
        "from torch._dynamo import optimize",
        "from torch._dynamo.utils import counters",
        "torch._dynamo.reset()",
    ],
)
def test_who_asks_for_more_gets_the_whole_of_it(asking: str) -> None:
    program = f"""
{asking}
print(full(), type(torch._dynamo).__name__, torch._dynamo.disable.__module__)
print(torch._dynamo.__spec__.loader is torch._dynamo.__loader__, type(torch._dynamo.__loader__).__name__)
print(torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)).item())
"""
    expected = ["True", "module", "torch._dynamo.decorators", "True", "SourceFileLoader", "2.0"]
    assert _said(program) == expected


def test_a_name_that_is_nowhere_is_an_error() -> None:
    program = """
try:
    torch._dynamo.no_such_name
except AttributeError as error:
    print(full(), "no_such_name" in str(error))
print(hasattr(torch._dynamo, "__no_dunder__"))
"""
    assert _said(program) == ["True", "True", "False"]


def test_the_exporter_comes_when_it_is_asked_for() -> None:
    program = """
print("torch.export" in sys.modules, "torch.export.dynamic_shapes" in sys.modules)
exported = torch.export.export(torch.nn.Linear(2, 3), (torch.ones(1, 2),))
print(type(torch.export).__name__, type(exported).__name__, torch.export.Dim.__module__)
"""
    assert _said(program) == ["True", "False", "module", "ExportedProgram", "torch.export.dynamic_shapes"]


def test_what_is_there_already_stays() -> None:
    program = """
import torch._dynamo
before = torch._dynamo
compiler.leave_out()
print(torch._dynamo is before, type(before).__name__)
"""
    assert _said("sys.meta_path.pop(0)" + program) == ["True", "module"]
