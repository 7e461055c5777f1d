"""Lengths that code writes down as numbers, and probes that are longer than them."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmodelatlas.capture.child import loader
from openmodelatlas.capture.child.lengths import LONGEST, SHORTEST, texts_beside, written_lengths
from openmodelatlas.capture.child.sizes import Plan, Published, choose
from openmodelatlas.capture.child.source_package import PACKAGE
from openmodelatlas.errors import ConfigurationError
from tests.capture.child.conftest import MakeJob

BASE = {
    "num_hidden_layers": 2,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
}


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("CHUNK_SIZE = 64", {"CHUNK_SIZE": 64}),
        ("block_len: int = 32", {"block_len": 32}),
        ("class A:\n def __init__(self):\n  self.chunk_size = 48", {"chunk_size": 48}),
        ("def f(q, chunk_size=64): ...", {"chunk_size": 64}),
        ("def f(q, *, block_size=64): ...", {"block_size": 64}),
        ("def f(q, /, a, chunk=16, *, b=3): ...", {"chunk": 16}),
        ("f(q, chunk_size=64)", {"chunk_size": 64}),
        ("SIZE = 64\ndef f(q, chunk_size=SIZE): ...", {"chunk_size": 64}),
        ("if q_len <= 64: pass", {"": 64}),
        ("if 64 < x.shape[1] < 128: pass", {"": 128}),
        ("x = a if q.size(-2) > 32 else b", {"": 32}),
        ("LIMIT = 64\nif seq_len <= LIMIT: pass", {"": 64}),
        ("pad = (64 - T % 64) % 64", {"": 64}),
        ("n = seq_len // 64", {"": 64}),
        ("n = cdiv(T, 64)", {"": 64}),
        ("for start in range(0, n, 64): pass", {"": 64}),
        # The same name for different lengths names none of them.
        ("def f(chunk_size=64): ...\ndef g(chunk_size=128): ...", {"": 128}),
        ("CHUNK = 64\nif q_len > 100: pass", {"CHUNK": 64, "": 100}),
        ("CHUNK = 64\nif q_len > 32: pass", {"CHUNK": 64}),
        # No lengths.
        ("hidden = 64", {}),
        ("if head_dim > 128: pass", {}),
        ("chunk_size = config.chunk_size", {}),
        ("chunk_size = True", {}),
        ("chunk_size = None", {}),
        ("if len(x.shape) == 4: pass", {}),
        ("if seq_len > 100000: pass", {}),
        ("x = 64 if y else z", {}),
        ("def f(: nonsense", {}),
        ("CHUNK\0 = 64", {}),
    ],
)
def test_lengths_in_code(text: str, lengths: dict[str, int]) -> None:
    assert written_lengths([text]) == lengths


def test_a_key_of_the_configuration_is_no_written_length() -> None:
    text = "def f(chunk_size=64): ...\ndef g(chunk_size=128): ...\nBLOCK_SIZE = 32"
    assert written_lengths([text], {"chunk_size"}) == {"BLOCK_SIZE": 32}


def test_lengths_of_several_texts() -> None:
    assert written_lengths(["CHUNK = 64", "def f(:", "if seq_len > 16: pass"]) == {"CHUNK": 64}
    assert written_lengths(["CHUNK = 64", "CHUNK = 64"]) == {"CHUNK": 64}
    assert written_lengths([]) == {}


def test_texts_are_those_of_the_models_own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded(name: str, file: str) -> None:
        (tmp_path / file).write_text(name)
        module = ModuleType(name)
        module.__file__ = str(tmp_path / file)
        monkeypatch.setitem(sys.modules, name, module)

    loaded("oma_test.models.one", "one.py")
    loaded("oma_test.models.two", "two.py")
    loaded("oma_test.kernels.three", "three.py")
    loaded("oma_stranger", "stranger.py")
    loaded(f"{PACKAGE}.four", "four.py")
    loaded(f"{PACKAGE}.nested.five", "five.py")
    gone = ModuleType("oma_test.models.gone")
    gone.__file__ = str(tmp_path / "gone.py")
    monkeypatch.setitem(sys.modules, gone.__name__, gone)
    assert texts_beside("oma_test.models.one") == ["oma_test.models.one", "oma_test.models.two"]
    with_file = texts_beside("oma_test.models.one", {tmp_path / "three.py"})
    assert with_file == ["oma_test.kernels.three", "oma_test.models.one", "oma_test.models.two"]
    assert texts_beside(f"{PACKAGE}.four") == [f"{PACKAGE}.four", f"{PACKAGE}.nested.five"]
    assert texts_beside("oma_stranger") == ["oma_stranger"]
    assert texts_beside("oma_nowhere") == []


@pytest.mark.parametrize(
    ("kind", "lengths"), [("deepseek_v3", {}), ("llama", {}), ("gpt_oss", {}), ("qwen3_next", {"chunk_size": 64})]
)
def test_an_installed_model_has_the_lengths_of_its_own_package(
    kind: str, lengths: dict[str, int], make_job: MakeJob
) -> None:
    """Not those of the library around it."""
    from openmodelatlas.capture.child.huggingface import transformers_subject

    job = make_job({}, {"model_type": kind}, kind="transformers", entry=kind)
    assert transformers_subject(job).published().lengths == lengths


def plan_of(configuration: dict[str, Any], lengths: dict[str, int], **keywords: Any) -> Plan:
    return choose(Published(configuration, {}, lengths=lengths), **keywords)


@settings(max_examples=40, deadline=None)
@given(st.integers(SHORTEST, LONGEST), st.sampled_from([{}, {"sliding_window": 4096}, {"attention_chunk_size": 512}]))
def test_probes_are_longer_than_written_lengths(length: int, more: dict[str, Any]) -> None:
    plan = plan_of({**BASE, **more}, {"CHUNK": length})
    tokens = [probe.tokens for probe in plan.probes]
    assert min(tokens) > length
    assert len(set(tokens[:3])) >= (2 if more else 3)  # one more than so many chunks of 7 may be one more than of 8
    # The number of chunks is no constant of the solving probes; only the held-out probe has whole chunks.
    assert "attention_chunk_size" in more or len({math.ceil(number / length) for number in tokens[:3]}) > 1
    if not more:
        assert [number % length == 0 for number in tokens] == [p.role == "held-out" for p in plan.probes]
    for probe in plan.probes:
        assert probe.sizes["max_position_embeddings"] > probe.tokens + 1
        assert probe.sizes["CHUNK"] == length
        seam = 0 if probe.role == "held-out" else 1
        assert all(probe.tokens % size == seam for key, size in probe.sizes.items() if key == "attention_chunk_size")
    assert all("CHUNK" not in setting for setting in plan.settings)


@pytest.mark.parametrize("solving", [2, 3, 4, 5])
def test_any_number_of_probes_tells_chunks_from_a_constant(solving: int) -> None:
    plan = plan_of(BASE, {"": 64}, solving=solving)
    assert len({math.ceil(probe.tokens / 64) for probe in plan.probes[:solving]}) > 1
    assert all("" not in probe.sizes for probe in plan.probes)


def test_without_written_lengths_probes_stay_short() -> None:
    assert max(probe.tokens for probe in plan_of(BASE, {}).probes) < 20


def test_an_override_of_positions_that_is_too_short_is_an_error_or_obeyed() -> None:
    """Written lengths are no reason to overrule the user."""
    try:
        plan = plan_of(BASE, {"CHUNK": 64}, overrides={"max_position_embeddings": 50})
    except ConfigurationError:
        return
    assert all(probe.sizes["max_position_embeddings"] == 50 for probe in plan.probes)


FACTORY = """
import torch

from helper import CHUNK_LIMIT

BLOCK_SIZE = 32


class Model(torch.nn.Module):
    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.embed = torch.nn.Embedding(vocab_size, hidden_size)

    def forward(self, input_ids):
        return self.embed(input_ids)


def make(vocab_size=500, hidden_size=64):
    return Model(vocab_size, hidden_size)
"""


def test_a_factory_has_the_lengths_of_its_module(make_job: MakeJob) -> None:
    job = make_job({"made.py": FACTORY, "helper.py": "CHUNK_LIMIT = 99\n"}, kind="factory", entry="made:make")
    assert loader.load(job).published().lengths == {"BLOCK_SIZE": 32, "CHUNK_LIMIT": 99}
