"""Hierarchy, arguments, lines and steps of the calls."""

# ruff: noqa: SIM108 - code under test is written as models are written
from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import sys
import threading
from pathlib import Path

import pytest
import torch
import torch.utils.checkpoint
from torch import nn

from .recording_of import Seen, check_invariants, numbers, record


def line_of(function, text: str) -> int:
    """Number of the only line of ``function`` that contains ``text``."""
    lines, first = inspect.getsourcelines(function)
    (found,) = (first + i for i, line in enumerate(lines) if text in line)
    return found


def checked(model: nn.Module, *inputs: torch.Tensor, **keywords) -> Seen:
    seen = record(model, *inputs, **keywords)
    check_invariants(seen.recording)
    return seen


class Loop(nn.Module):
    def forward(self, x, count=4):
        for index in range(count):
            if index % 2:
                x = x.sin()  # odd
            else:
                x = x.cos()  # even
        return x.exp()  # end


def test_trace_and_steps_follow_loops_and_branches():
    seen = checked(Loop(), torch.rand(2))
    (call,) = seen.recording.calls
    head, test = line_of(Loop.forward, "for index"), line_of(Loop.forward, "if index")
    odd, even, end = (line_of(Loop.forward, f"# {name}") for name in ("odd", "even", "end"))
    assert call.trace == [head, test, even, head, test, odd, head, test, even, head, test, odd, head, end]
    for operation in seen.recording.operations:
        line = call.trace[operation.step - 1]
        assert line == seen.recording.spans[operation.span].line
    assert [o.step for o in seen.recording.operations] == [3, 6, 9, 12, 14]
    assert call.arguments == {"x": {"tensor": 0}, "count": 4}
    assert numbers(call.result) == seen.operation("exp").outputs


class OtherText(nn.Module):
    """Runs functions whose code names a file that does not have it."""

    def __init__(self, filename: str, text: str) -> None:
        super().__init__()
        self.names: dict = {}
        exec(compile(text, filename, "exec"), self.names)

    def forward(self, x):
        return self.names["double"](x).exp()


DOUBLE = "def double(x):\n    return x * 2"


@pytest.mark.parametrize(
    ("filename", "text"),
    [
        (__file__, "\n" * 100_000 + DOUBLE),
        (__file__, DOUBLE),
        (__file__, f"{DOUBLE} * \\\n" + "\\\n" * 100_000 + "1"),
        (str(Path(__file__).parent / "not_there.py"), DOUBLE),
        ("not_there.py", DOUBLE),
        ("", DOUBLE),
    ],
    ids=["below the end", "other lines", "over the end", "no such file", "relative", "no name"],
)
def test_code_that_its_file_does_not_have_is_shown_where_it_is_called(filename: str, text: str) -> None:
    seen = checked(OtherText(filename, text), torch.rand(2))
    assert {seen.text(o.span) for o in seen.recording.operations} == {
        'self.names["double"](x)',
        'self.names["double"](x).exp()',
    }
    assert [call.name for call in seen.recording.calls] == ["forward"]
    assert [note for note in seen.notes if "double was compiled from other text" in note] or not filename


def helper(x, *rest, scale, **options):
    def inner(value):
        return value * scale

    return inner(x) + len(rest)


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.stack = nn.Sequential(self.first, nn.Tanh(), self.first)

    def forward(self, x):
        return helper(self.stack(x), 1, "two", scale=3, flag=None)


def test_calls_nest_with_arguments_and_sites():
    seen = checked(Nested(), torch.rand(2, 3))
    names = [(c.kind, c.name, c.parent) for c in seen.recording.calls]
    assert names == [
        ("module", "forward", -1),
        ("module", "Sequential", 0),
        ("module", "Linear", 1),
        ("module", "Tanh", 1),
        ("module", "Linear", 1),
        ("function", "helper", 0),
        ("function", "inner", 5),
    ]
    helped = seen.calls("helper")[0]
    assert helped.arguments["rest"] == {"list": [1, "two"]}
    assert helped.arguments["options"] == {"dict": {"flag": None}}
    assert helped.arguments["scale"] == 3
    assert seen.text(helped.site) == 'helper(self.stack(x), 1, "two", scale=3, flag=None)'
    assert seen.text(seen.calls("inner")[0].site) == "inner(x)"


def test_operations_of_torch_modules_have_the_models_expression():
    seen = checked(Nested(), torch.rand(2, 3))
    linears = seen.operations("linear")
    assert [seen.recording.calls[o.call].name for o in linears] == ["Linear", "Linear"]
    assert {seen.text(o.span) for o in linears} == {"self.stack(x)"}
    assert {seen.recording.calls[o.call].module for o in linears} == {
        [m.name for m in seen.recording.modules].index("first")
    }


class Shared(nn.Module):
    def forward(self, x):
        return x + 1


class Reuse(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Shared()
        self.b = self.a

    def forward(self, x):
        return self.b(self.a(x))


def test_a_module_used_twice_is_one_module_with_two_calls():
    seen = checked(Reuse(), torch.rand(2))
    assert [m.name for m in seen.recording.modules] == ["", "a"]
    assert [c.module for c in seen.recording.calls] == [0, 1, 1]


class Raises(nn.Module):
    def risky(self, x):
        y = x.sin()
        if y.sum() > -1e9:
            raise ValueError("no")
        return y

    def forward(self, x):
        with contextlib.suppress(ValueError):
            x = self.risky(x)
        try:
            torch.cat([x, x[:, :1]])
        except RuntimeError:
            x = x.cos()
        return x.exp()


def test_exceptions_close_their_calls():
    seen = checked(Raises(), torch.rand(2, 3))
    (risky,) = seen.calls("risky")
    assert risky.result is None
    assert seen.operation("sin").call == 1
    assert seen.operation("cos").call == seen.operation("exp").call == 0
    assert seen.operations("cat") == []


def test_an_exception_that_leaves_the_model_ends_the_recording_cleanly():
    class Fails(nn.Module):
        def forward(self, x):
            raise KeyError(x.sin())

    before = sys.gettrace()
    with pytest.raises(KeyError):
        record(Fails(), torch.rand(2))
    assert sys.gettrace() is before
    assert torch.overrides._get_current_function_mode() is None


def rows(x):
    for row in x:
        yield row.sin()


class Generators(nn.Module):
    def forward(self, x):
        total = x[0].cos()
        for row in rows(x):
            total = total + row
        return total + sum(part.exp() for part in x)


def test_generators_resume_their_own_call():
    seen = checked(Generators(), torch.rand(3, 2))
    (generator,) = seen.calls("rows")
    (expression,) = seen.calls("<genexpr>")
    assert {o.call for o in seen.operations("sin")} == {1}
    assert len(seen.operations("exp")) == 3
    assert {seen.recording.calls[o.call].name for o in seen.operations("exp")} == {"<genexpr>"}
    assert generator.parent == expression.parent == 0
    head, body = line_of(rows, "for row"), line_of(rows, "yield")
    assert [line for line in generator.trace if line in (head, body)] == [head, body] * 3 + [head]
    assert {o.call for o in seen.operations("__add__") if o.call != 0} <= {expression.parent}


class Routed(nn.Module):
    def forward(self, x):
        while x.sum() > 1:
            x = x / 2
        return x


def test_loops_that_depend_on_data():
    seen = checked(Routed(), torch.full((4,), 2.0))
    assert len(seen.operations("__truediv__")) == len(seen.operations("__bool__")) - 1 == 3


class Derived(nn.Linear):
    def forward(self, x):
        return super().forward(x) * 2


def test_super_forward_belongs_to_the_authors_frame():
    seen = checked(Derived(3, 3), torch.rand(2, 3))
    (call,) = seen.recording.calls
    assert (call.kind, call.code) == ("module", 0)
    assert seen.text(seen.operation("linear").span) == "super().forward(x)"


class Meddles(nn.Module):
    def inner(self, x):
        sys.settrace(None)
        return x.sin()

    def forward(self, x):
        y = self.inner(x)
        thread = threading.Thread(target=x.cos)
        thread.start()
        thread.join()
        return y.exp()


def test_a_replaced_trace_function_and_threads_are_noted():
    seen = checked(Meddles(), torch.rand(2))
    assert seen.recording.calls[seen.operation("exp").call].name == "forward"
    assert len(seen.notes) == 2
    assert any("thread" in note for note in seen.notes)
    assert any("trace function" in note for note in seen.notes)


class Doubles(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class UsesFunction(nn.Module):
    def forward(self, x):
        return Doubles.apply(x) + 1


def test_autograd_functions_are_calls_with_their_operations():
    seen = checked(UsesFunction(), torch.rand(2))
    assert [c.name for c in seen.recording.calls] == ["forward", "forward"]
    assert seen.recording.calls[1].kind == "function"
    assert numbers(seen.operation("__add__").arguments) == seen.operation("__mul__").outputs


class Vectorised(nn.Module):
    def forward(self, x):
        return torch.vmap(lambda row: row.sin() + 1)(x) * 2


def test_vmap_is_recorded_at_the_authors_level():
    seen = checked(Vectorised(), torch.rand(3, 2))
    assert {o.function.rsplit(".", 1)[-1] for o in seen.recording.operations} >= {"sin", "__add__", "__mul__"}
    assert seen.recording.tensors[seen.operation("__mul__").outputs[0]].shape == [3, 2]


class OtherName(nn.Module):
    def forward(this, x):
        return x.sin()


def test_a_module_is_known_by_its_object_not_by_the_name_self():
    seen = checked(OtherName(), torch.rand(2))
    (call,) = seen.recording.calls
    assert (call.kind, call.module) == ("module", 0)
    assert call.arguments == {"x": {"tensor": 0}}


_IMPORTED = """
import torch

def double(x):
    return x * 2

class Table(torch.nn.Module):
    def forward(self, x):
        return double(x)

START = double(torch.ones(3)) + Table()(torch.zeros(3))
if BROKEN:
    raise ImportError("not here")
"""


class Imports(nn.Module):
    def forward(self, x, name):
        module = importlib.import_module(name)
        try:
            importlib.import_module(f"{name}_broken")
        except ImportError:
            x = x + 1
        return module.Table()(x) * module.START


_OF_THE_MODEL = ["x + 1", "x * 2", "module.Table()(x) * module.START"]


def imports(folder, monkeypatch, name, last=""):
    (folder / f"{name}.py").write_text(_IMPORTED.replace("BROKEN", "False") + last)
    (folder / f"{name}_broken.py").write_text(_IMPORTED.replace("BROKEN", "True"))
    monkeypatch.syspath_prepend(str(folder))
    return checked(Imports(), torch.ones(3), name=name)


def test_what_runs_because_of_an_import_is_not_the_models(tmp_path, monkeypatch):
    seen = imports(tmp_path, monkeypatch, "imported_in_forward")
    assert [seen.text(one.span) for one in seen.recording.operations] == _OF_THE_MODEL
    assert [call.name for call in seen.recording.calls] == ["forward", "forward", "double"]
    assert {file.path.rpartition("/")[2] for file in seen.recording.files} == {
        "test_calls.py",
        "imported_in_forward.py",
    }
    start = seen.operations("__mul__")[-1].tensors[1]
    assert seen.recording.tensors[start].origin == "outside"
    assert not seen.notes


def test_an_import_that_ends_the_tracing_hides_nothing_that_follows(tmp_path, monkeypatch):
    seen = imports(tmp_path, monkeypatch, "imported_and_untraced", "import sys\nsys.settrace(None)\n")
    assert [seen.text(one.span) for one in seen.recording.operations][-3:] == _OF_THE_MODEL
    assert any("replaced the trace function" in note for note in seen.notes)


class RunsAScript(nn.Module):
    def forward(self, x, path):
        spec = importlib.util.spec_from_file_location("script", path)
        module = importlib.util.module_from_spec(spec)
        module.x = x
        spec.loader.exec_module(module)
        return module.y + 1


def test_an_import_that_computes_with_the_models_tensors_is_noted(tmp_path):
    (tmp_path / "script.py").write_text("y = x * 2\n")
    seen = checked(RunsAScript(), torch.ones(3), path=str(tmp_path / "script.py"))
    assert [seen.text(one.span) for one in seen.recording.operations] == ["module.y + 1"]
    assert [note for note in seen.notes if "An import computed with tensors of the model" in note]


class Compiles(nn.Module):
    def forward(self, x, path):
        names = {"x": x}
        exec(compile(path.read_text(), path, "exec"), names)
        return names["x"].exp()


def test_code_compiled_from_text_has_lines_that_are_lines(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("x = x.sin()\nx = x.cos()")
    seen = checked(Compiles(), torch.ones(3), path=path)
    assert [one.function.rsplit(".", 1)[-1] for one in seen.recording.operations] == ["sin", "cos", "exp"]
    (compiled,) = seen.calls("<module>")
    assert compiled.trace == [1, 2]


class Checkpoint(nn.Module):
    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(helper, x, scale=3, use_reentrant=False)


def test_a_checkpoint_is_recorded_as_what_runs_in_it():
    seen = checked(Checkpoint(), torch.ones(3))
    assert [call.name for call in seen.recording.calls] == ["forward", "helper", "inner"]
    assert [seen.text(one.span) for one in seen.recording.operations] == ["value * scale", "inner(x) + len(rest)"]
