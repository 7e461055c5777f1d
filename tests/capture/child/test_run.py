"""Whole captures, in this process: small remote code, factories, and everything that can go wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from openmodelatlas.capture.child import beside
from openmodelatlas.capture.child.failures import failure_of
from openmodelatlas.capture.child.run import Capture, Clock
from openmodelatlas.capture.job import Failure, Job
from openmodelatlas.capture.recording import Recording, Summary, link
from openmodelatlas.errors import ConfigurationError
from tests.capture.child.conftest import MakeJob
from tests.capture.child.small_model import CONFIGURATION, ENTRY, FILES, MODELING, configuration

NAMES = ["a", "b", "c", "d", "e", "true-size"]


def captured(job: Job) -> tuple[dict[str, Recording], Summary]:
    progress: list[tuple[str, int, int]] = []
    Capture(job, Clock(), lambda *event: progress.append(event)).run()
    assert progress[-1] == ("Captured", job.probes + 4, job.probes + 4)
    assert [done for _, done, _ in progress] == sorted(done for _, done, _ in progress)
    output = Path(job.output)
    recordings = {
        name: link(msgspec.json.decode((output / f"recording-{name}.json").read_bytes(), type=Recording))
        for name in NAMES
    }
    return recordings, msgspec.json.decode((output / "summary.json").read_bytes(), type=Summary)


def failed(job: Job) -> Failure:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - every kind of error must become a Failure
        Capture(job, Clock(), lambda *event: None).run()
    return failure_of(caught.value, Path(job.root))


def test_remote_code_is_recorded_at_all_sizes(make_job: MakeJob) -> None:
    job = make_job(FILES, configuration(), entry=ENTRY, dtype="bfloat16")
    recordings, summary = captured(job)
    assert [recordings[name].probe.role for name in NAMES] == ["solve"] * 3 + ["held-out", "repeat", "true-size"]
    assert [recordings[name].probe.dtype for name in NAMES] == ["float32", "bfloat16", *["float32"] * 3, "bfloat16"]
    for recording in recordings.values():
        assert recording.failure is None
        assert {call.phase for call in recording.calls} == {"prefill", "decode"}
        assert [module.name for module in recording.modules if module.class_name == "Attention"] == [
            f"attention.{layer}" for layer in range(3)
        ]
    a, repeat = recordings["a"], recordings["e"]
    assert a.probe.sizes == repeat.probe.sizes
    assert [tensor.shape for tensor in a.tensors] != [] != [tensor.shape for tensor in repeat.tensors]
    header = (Path(job.output) / "values.safetensors").read_bytes()
    assert json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")])
    total = sum(torch.Size(p.shape).numel() for p in summary.parameters if p.kind == "parameter")
    layer = 513 * 3 * 512 + 16 * 512 + 16 * (513 * 2048 + 2049 * 512)
    assert total == 50000 * 512 + 3 * layer
    assert [p.aliases for p in summary.parameters if p.name == "embed.weight"] == [["head.weight"]]
    assert any("quantization_config" in note for note in summary.notes)
    assert summary.seconds["import"] >= 0
    origins = {choice.key: choice.origin for choice in summary.choices}
    assert origins["hidden_size"] == "file"
    assert origins["num_experts_per_tok"] == "class default"


def test_values_differ_between_the_first_and_the_repeat_probe(make_job: MakeJob) -> None:
    recordings, _ = captured(make_job(FILES, configuration(), entry=ENTRY))
    routed = [
        [tensor.shape for tensor in recordings[name].tensors if tensor.origin == "operation"] for name in ("a", "e")
    ]
    assert routed[0] != routed[1]


def test_true_size_run_leaves_out_what_never_ran(make_job: MakeJob) -> None:
    recordings, summary = captured(make_job(FILES, configuration(), entry=ENTRY))
    run = recordings["true-size"]
    assert len(summary.parameters) > 3 * 16 * 4
    assert {p.name for p in run.parameters} == {"embed.weight"} | {
        f"{part}.{layer}.{name}"
        for layer in range(3)
        for part, name in (("attention", "qkv.weight"), ("attention", "qkv.bias"), ("experts", "router.weight"))
    }
    for index, parameter in enumerate(run.parameters):
        tensor = run.tensors[parameter.tensor]
        assert (tensor.index, tensor.shape) == (index, parameter.shape)
    for operation in run.operations:
        for number in operation.outputs:
            assert run.operations[run.tensors[number].index] is operation


def test_ladder_ends_at_the_published_ratio_and_says_why(make_job: MakeJob) -> None:
    _, summary = captured(make_job(FILES, configuration(quirk="ratio"), entry=ENTRY))
    note = next(note for note in summary.notes if note.startswith("Probe sizes"))
    assert "published ratio" in note
    assert "modeling_small.py:" in note
    assert "four times the width" in note


def test_a_type_the_machine_lacks_is_noted(make_job: MakeJob) -> None:
    recordings, summary = captured(make_job(FILES, configuration(quirk="half"), entry=ENTRY, dtype="bfloat16"))
    assert recordings["b"].probe.dtype == "float32"
    assert any("does not run in bfloat16" in note for note in summary.notes)


def test_overrides_reach_the_model(make_job: MakeJob) -> None:
    recordings, _ = captured(make_job(FILES, configuration(), entry=ENTRY, overrides={"hidden_size": [48, 64, 80, 96]}))
    shapes = [next(p.shape for p in recordings[n].parameters if p.name == "embed.weight") for n in "abcde"]
    assert [shape[1] for shape in shapes] == [48, 64, 80, 96, 48]


def line_of(text: str, words: str) -> int:
    return text[: text.index(words)].count("\n") + 1


@pytest.mark.parametrize(("quirk", "words"), [("init", "no such activation"), ("forward", "the kernel is missing")])
def test_code_that_raises(make_job: MakeJob, quirk: str, words: str) -> None:
    failure = failed(make_job(FILES, configuration(quirk=quirk), entry=ENTRY))
    assert failure.error == "ModelCodeError"
    assert words in failure.what
    assert failure.where == f"modeling_small.py:{line_of(MODELING, words)}"
    assert "modeling_small.py" in failure.traceback
    assert "/" not in failure.where


@pytest.mark.parametrize(
    ("files", "keys", "error", "words", "where"),
    [
        ({**FILES, "modeling_small.py": "import flash_tensor_cores\n"}, {}, "MissingStandInError", "flash_tensor_cores",
         "modeling_small.py:1"),
        ({**FILES, "modeling_small.py": "x = 1\n\n1 / 0\n"}, {}, "ModelCodeError", "ZeroDivisionError",
         "modeling_small.py:3"),
        (FILES, {"hidden_size": -512}, "ConfigurationError", "hidden_size is -512", "hidden_size"),
        (FILES, {"num_attention_heads": "eight"}, "ConfigurationError", "'eight'", "num_attention_heads"),
        (FILES, {"num_hidden_layers": 0}, "ConfigurationError", "num_hidden_layers is 0", "num_hidden_layers"),
        ({"README.py": ""}, {}, "SourceNotFoundError", "no file", None),
    ],
)  # fmt: skip
def test_bad_sources(
    make_job: MakeJob, files: dict[str, str], keys: dict[str, Any], error: str, words: str, where: str | None
) -> None:
    failure = failed(make_job(files, configuration(**keys), entry=ENTRY))
    assert failure.error == error
    assert words in failure.what
    assert where is None or failure.where == where


def test_import_of_a_file_of_the_source_that_is_not_there(make_job: MakeJob) -> None:
    files = {**FILES, "modeling_small.py": FILES["modeling_small.py"] + "\nif True:\n    from .absent import x\n"}
    failure = failed(make_job(files, configuration(), entry=ENTRY))
    line = files["modeling_small.py"].count("\n")
    assert (failure.error, failure.where) == ("SourceNotFoundError", f"modeling_small.py:{line}")
    assert "imports absent.py, which its source does not hold" in failure.what


def test_configuration_class_that_refuses(make_job: MakeJob) -> None:
    text = CONFIGURATION.replace(
        "self.vocab_size =", "assert hidden_size % 2 == 0, 'hidden_size is odd'\n        self.vocab_size ="
    )
    failure = failed(make_job({**FILES, "configuration_small.py": text}, configuration(hidden_size=513), entry=ENTRY))
    assert (failure.error, failure.where) == ("ConfigurationError", "hidden_size")


def test_sizes_that_a_later_probe_is_refused_refuse_the_plan(make_job: MakeJob) -> None:
    """The class refuses the feed-forward widths of every probe but the first."""
    text = CONFIGURATION.replace(
        "self.vocab_size =",
        "assert intermediate_size not in kwargs.get('refused', ()), 'refused'\n        self.vocab_size =",
    )
    files = {**FILES, "configuration_small.py": text}
    free, _ = captured(make_job(files, configuration(), entry=ENTRY))
    widths = {name: recording.probe.sizes["intermediate_size"] for name, recording in free.items() if name in NAMES[:5]}
    refused = sorted({*widths.values()} - {widths["a"]})

    recordings, summary = captured(make_job(files, configuration(refused=refused), entry=ENTRY))

    assert any(note.startswith("Probe sizes") and "refused" in note for note in summary.notes)
    taken = {recordings[name].probe.sizes["intermediate_size"] for name in NAMES[:5]}
    assert taken.isdisjoint(refused)


FACTORY = """
import torch
from torch import nn

def build(hidden_size=64, inner=96):
    layers = nn.Linear(hidden_size, inner), nn.ReLU(), nn.Linear(inner, hidden_size)
    return nn.Sequential(*layers), torch.randn(2, hidden_size)

def plain():
    return nn.Linear(4, 8), (torch.randn(5, 4),)

def wrong():
    return 3

def needy(a, b):
    return a
"""


def test_factory_with_sizes(make_job: MakeJob) -> None:
    job = make_job({"shop.py": FACTORY}, kind="factory", entry="shop:build")
    recordings, summary = captured(job)
    sizes = [recordings[name].probe.sizes["hidden_size"] for name in "abcd"]
    assert len(set(sizes)) == 4
    for name, size in zip("abcd", sizes, strict=True):
        given = next(tensor for tensor in recordings[name].tensors if tensor.origin == "input")
        assert given.shape == [recordings[name].probe.batch, size]
    assert summary.transformers == "" or isinstance(summary.transformers, str)
    assert any("no cache" in note for note in summary.notes)
    assert sum(torch.Size(p.shape).numel() for p in summary.parameters) == 65 * 96 + 97 * 64


def test_factory_without_sizes(make_job: MakeJob) -> None:
    recordings, summary = captured(make_job({"shop.py": FACTORY}, kind="factory", entry="shop:plain"))
    assert recordings["a"].probe.sizes == {}
    assert any("no sizes to choose" in note for note in summary.notes)


@pytest.mark.parametrize(
    ("entry", "error", "words"),
    [
        ("shop:wrong", "ConfigurationError", "returned int"),
        ("shop:needy", "ConfigurationError", "needs 2 arguments"),
        ("shop:absent", "SourceNotFoundError", "no callable"),
        ("nowhere:build", "SourceNotFoundError", "no module"),
    ],
)
def test_bad_factories(make_job: MakeJob, entry: str, error: str, words: str) -> None:
    failure = failed(make_job({"shop.py": FACTORY}, kind="factory", entry=entry))
    assert failure.error == error
    assert words in failure.what


def test_failure_keeps_our_fields() -> None:
    failure = failure_of(ConfigurationError("x is odd.", where="x", advice="Make it even."), Path("/nowhere"))
    assert (failure.error, failure.what, failure.where, failure.advice) == (
        "ConfigurationError", "x is odd.", "x", "Make it even.",
    )  # fmt: skip


@pytest.mark.parametrize(("quirk", "attempts"), [("", 1), ("ratio", 2)])
def test_a_second_process_changes_nothing_that_is_recorded(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, quirk: str, attempts: int
) -> None:
    job = make_job(FILES, configuration(quirk=quirk), entry=ENTRY, dtype="bfloat16")
    output = Path(job.output)
    for _ in range(2):  # what a library does only once (a warning) is behind it then
        Capture(job, Clock(), lambda *event: None, beside=False).run()
    alone = {path.name: path.read_bytes() for path in output.iterdir()}
    forks: list[int] = []
    fork = os.fork

    def counted() -> int:
        number = fork()
        forks.append(number)
        return number

    monkeypatch.setattr(os, "fork", counted)
    monkeypatch.setattr(beside, "_processors", lambda: 2)
    monkeypatch.setattr(beside, "_threads", lambda: 1)
    Capture(job, Clock(), lambda *event: None).run()
    assert len(forks) == attempts
    together = {path.name: path.read_bytes() for path in output.iterdir()}
    for content in (alone, together):
        summary = json.loads(content.pop("summary.json"))
        assert set(summary.pop("seconds")) >= {"probe a", "probe e", "meta forward"}
        content["summary"] = json.dumps(summary).encode()
    assert alone == together
