"""What is left out of torch stays out until somebody asks for it, and then is what it always is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from openmodelatlas.capture.child.left_out import asks_for_kernels

_FIRST = """
import sys
from openmodelatlas.capture.child import left_out
left_out.leave_out(kernels=True)
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
import sys, torch._dynamo
before = torch._dynamo
from openmodelatlas.capture.child import left_out
left_out.leave_out()
print(torch._dynamo is before, type(before).__name__)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["True", "module"]


@pytest.mark.parametrize(
    ("first", "module"),
    [
        ("from torch._dynamo.utils import counters", "torch._dynamo.utils"),
        ("from sympy.core.numbers import Integer", "sympy.core"),
    ],
)
def test_a_module_of_a_package_is_made_once(first: str, module: str) -> None:
    program = f"""
{first}
import importlib
from importlib.machinery import SourceFileLoader
import torch._dynamo.symbolic_convert, sympy
one = sys.modules["{module}"]
print(torch._dynamo.symbolic_convert.counters is sys.modules["torch._dynamo.utils"].counters)
print(sympy.Integer is sys.modules["sympy.core.numbers"].Integer, isinstance(sympy.Integer(3), sympy.core.basic.Basic))
print(importlib.import_module("{module}") is one, type(one.__spec__.loader) is SourceFileLoader)
"""
    assert _said(program) == ["True"] * 5


_AWAY = """
sizes = sys.modules.get("torch.fx.experimental.symbolic_shapes")
print("sympy.core" in sys.modules, sizes is not None and "ShapeEnv" in vars(sizes))
"""

_KERNELS = """
left_out.bring_kernels()
"""


def test_shapes_on_the_meta_device_need_no_symbols() -> None:
    program = """
with torch.device("meta"):
    x = torch.arange(0, 8, 2) / 3 + torch.zeros(2, 1, 4)
    y = torch.nn.functional.linear(x, torch.empty(5, 4)).softmax(-1)[:, 0].reshape(-1)
    z = torch.cat([y, y]).cumsum(0)
print(tuple(x.shape) == (2, 1, 4), tuple(y.shape) == (10,), tuple(z.shape) == (20,))
"""
    assert _said(_KERNELS + program + _AWAY) == ["True", "True", "True", "False", "False"]


def test_errors_of_the_meta_device_stay_as_they_are() -> None:
    program = """
try:
    torch.empty(2, 3, device="meta") + torch.empty(2, 4, device="meta")
except RuntimeError as error:
    print("_".join(str(error).split()))
"""
    said = _said(_KERNELS + program + _AWAY)
    plain = subprocess.run(
        [sys.executable, "-c", "import torch\n" + program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert said[:1] == plain


def test_symbols_come_when_they_are_asked_for() -> None:
    program = """
from torch.fx.experimental.symbolic_shapes import expect_true, guard_or_false, ShapeEnv, sym_and, is_nested_int
from torch.fx.experimental.symbolic_shapes import DimDynamic
size = ShapeEnv().create_unbacked_symint()
print(type(size).__name__, type(size + 1 == size).__name__, is_nested_int(size), guard_or_false(size == 4))
print(isinstance(sympy.Symbol("x"), before), isinstance(3, before))
class Mine(before):
    pass
print(issubclass(Mine, sympy.Basic), type(sympy.Basic).__name__, before(sympy.Integer(1)).args)
"""
    said = _said(
        """
exec("import sympy; before = sympy.Basic", globals() | {"__name__": "torch.one"}, kept := {})
before = kept["before"]
print(type(before).__name__)
import sympy
"""
        + program
    )
    assert said == ["_NoClass", "SymInt", "SymBool", "False", "False", "True", "False", "True", "type", "(1,)"]


@pytest.mark.parametrize(
    "asking",
    [
        "sympy.__version__.split('.')[0].isdigit()",
        "'Symbol' in dir(sympy)",
        "len(sympy.__all__) > 500",
        "isinstance(sympy.Basic, type) and bool(sympy.Basic | int)",
    ],
)
def test_a_module_without_contents_hides_nothing(asking: str) -> None:
    assert _said(f"import sympy\nprint(vars(sympy).get('Symbol'), {asking})") == ["None", "True"]


_SAMPLES = [True, False, 0, 1, 7, -1, 2.5, (), [], (1, 2), [1, 2], (2, 1), (1, (2, 3)), (1, [2, 3]), None, "text"]


def test_what_is_said_of_plain_numbers_is_what_torch_says() -> None:
    """Every function, on all pairs of samples: the same answer, or a question that is passed on."""
    program = f"""
from itertools import product
from openmodelatlas.capture.child.plain_sizes import ANSWERS
from torch.fx.experimental import symbolic_shapes
symbolic_shapes.ShapeEnv
samples = {_SAMPLES!r} + [torch.Size([1, 2])]
known = wrong = 0
for name, answer in ANSWERS.items():
    real = getattr(symbolic_shapes, name)
    assert real.__module__ == symbolic_shapes.__name__
    for arguments in [*product(samples, repeat=1), *product(samples, repeat=2)]:
        try:
            mine = answer(*arguments)
        except TypeError:  # asked for more than it takes, which torch does not either
            continue
        if mine is NotImplemented:
            continue
        known += 1
        theirs = real(*arguments)
        wrong += not (type(mine) is type(theirs) and mine == theirs)
print(known > 60, wrong)
"""
    assert _said(program) == ["True", "0"]


_ASKING = [
    "from torch._dynamo import optimize",
    "import torch._dynamo; torch._dynamo.reset",
    "from sympy import Symbol",
    "import sympy; sympy.core.numbers.Integer",
    "import torch.export; torch.export.Dim",
    "from torch.fx.experimental.symbolic_shapes import ShapeEnv",
]


@pytest.mark.parametrize("asking", [_ASKING * 2, ["from torch._dynamo.utils import counters"] * 6])
def test_threads_that_ask_at_once_wait_for_each_other(asking: list[str]) -> None:
    program = f"""
import threading
sys.setswitchinterval(1e-5)
said = []
def ask(statement):
    try:
        exec(statement)
        said.append("fine")
    except BaseException as error:
        said.append(f"{{type(error).__name__}}:{{error}}")
threads = [threading.Thread(target=ask, args=(statement,)) for statement in {asking!r}]
for thread in threads: thread.start()
for thread in threads: thread.join(60)
print(*said)
"""
    assert _said(program) == ["fine"] * len(asking)


def test_a_module_that_could_not_be_imported_is_tried_again() -> None:
    program = """
import builtins, sympy
plain = builtins.__import__
def failing(name, *rest, **named):
    if name.startswith("sympy.core") or "evalf" in name:
        raise ImportError("not now")
    return plain(name, *rest, **named)
builtins.__import__ = failing
try:
    sympy.Symbol
except ImportError as error:
    print("_".join(str(error).split()))
builtins.__import__ = plain
print(sympy.Symbol("x"), type(sympy).__name__)
"""
    said = _said(program)
    assert said[-2:] == ["x", "module"]
    assert len(said) == 3


def test_what_others_put_into_a_module_stays() -> None:
    program = """
import sympy, torch._dynamo
one = lambda x: x
torch._dynamo.disable = sympy.sqrt = one
torch._dynamo.reset, sympy.Symbol
print(torch._dynamo.disable is one, sympy.sqrt is one, type(sympy).__name__, full())
print([name for name in vars(sympy) if "filling" in name])
"""
    assert _said(program) == ["True", "True", "module", "True", "[]"]


_HELD = "'torch._prims' in sys.modules"


@pytest.mark.parametrize(
    "asking",
    [
        "import torch._refs; torch._refs.add",
        "from torch._decomp import decomposition_table",
        "import torch._prims as prims; prims.add",
        "from torch._meta_registrations import meta_index_Tensor",
        "import torch._refs.nn.functional as functional; functional.softmax",
        "torch._dynamo.reset()",
    ],
)
def test_kernels_in_python_come_when_they_are_asked_for(asking: str) -> None:
    said = _said(f"print({_HELD})\n{asking}\nprint({_HELD}, torch._meta_registrations.meta_index_Tensor.__name__)")
    assert said == ["False", "True", "meta_index_Tensor"]


def test_code_that_fails_without_them_runs_again() -> None:
    program = f"""
times = []
def work():
    times.append(len(times))
    mask = torch.empty(3, device="meta") > 0
    return torch.where(mask, mask, mask).shape
print(left_out.again_with_kernels(work)[0], times, {_HELD}, left_out.bring_kernels())
def broken():
    times.append("again")
    raise KeyError("mine")
try:
    left_out.again_with_kernels(broken)
except KeyError:
    print(times.count("again"))
"""
    assert _said(program) == ["3", "[0,", "1]", "True", "False", "1"]


def test_inspection_is_quick_and_the_same() -> None:
    program = """
import inspect
from openmodelatlas.capture.child.inspection import quick_inspection
plain = inspect.getmodule, inspect.getframeinfo
frame = sys._getframe()
with quick_inspection():
    torch_frames = []
    layer = torch.nn.Linear(1, 1)
    layer.register_forward_hook(lambda *_: torch_frames.append(sys._getframe(1)))
    layer(torch.ones(1))
    other = torch_frames[0]
    print(inspect.getmodule(other).__name__, inspect.getmodule(torch.nn.Linear).__name__)
    print(inspect.getframeinfo(frame).filename, inspect.getframeinfo(other).function, inspect.getframeinfo(other)[3])
print((inspect.getmodule, inspect.getframeinfo) == plain, inspect.getmodule(other).__name__)
"""
    assert _said(program) == [
        "torch.nn.modules.module",
        "torch.nn.modules.linear",
        "<string>",
        "inner",
        "None",
        "True",
        "torch.nn.modules.module",
    ]


def test_inspection_is_quick_in_its_own_thread_only() -> None:
    program = """
import inspect, sys, threading
from openmodelatlas.capture.child.inspection import quick_inspection
plain = inspect.getmodule, inspect.getframeinfo
inside, go_on = threading.Barrier(3), [threading.Event(), threading.Event()]
def within(number):
    with quick_inspection(), quick_inspection():
        inside.wait()
        go_on[number].wait()
        print(inspect.getframeinfo(inspect.currentframe()).code_context)
threads = [threading.Thread(target=within, args=[number]) for number in range(2)]
for thread in threads:
    thread.start()
inside.wait()
layer, frames = torch.nn.Linear(1, 1), []
layer.register_forward_hook(lambda *_: frames.append(sys._getframe(1)))
layer(torch.ones(1))
here = lambda: inspect.getframeinfo(frames[0]).code_context
print(here() is not None)
for number in (0, 1):
    go_on[number].set()
    threads[number].join()
    print(here() is not None, (inspect.getmodule, inspect.getframeinfo) == plain)
"""
    assert _said(program) == ["True", "None", "True", "False", "None", "True", "True"]


def test_kernels_are_there_unless_they_are_to_be_left_out() -> None:
    program = f"""
import sys
from openmodelatlas.capture.child import left_out
left_out.leave_out()
import torch
print({_HELD}, "sympy.core" in sys.modules)
left_out.leave_out(kernels=True)
print(torch.empty(2, device="meta").isnan().shape[0], hasattr(torch, "_refs"))
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["True", "False", "2", "True"]


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ('torch.empty(3, device="meta")', True),
        ("x.to('meta')", True),
        ("with FakeTensorMode():", True),
        ("if x.is_meta:", True),
        ("torch.ops.prims.mul(x, x)", True),
        ("from torch._refs import add", True),
        ('checkpoint="meta-llama/Llama-2-7b-hf"', False),
        ("metadata = self.meta(x)", False),
    ],
)
def test_what_asks_for_kernels(text: str, asks: bool) -> None:
    assert asks_for_kernels(["import torch", text]) is asks
