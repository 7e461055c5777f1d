"""What transformers finds in its own files is the same when it is searched once."""

from __future__ import annotations

import marshal
import subprocess
import sys
from typing import Any

from openmodelatlas.capture.child.imports import _Search

_TOLD = """
import hashlib, sys
{first}
import transformers, transformers.utils.import_utils as utils
found = sorted(transformers._class_to_module.items()), sorted(transformers.models._class_to_module.items())
print(hashlib.sha256(repr(found).encode()).hexdigest())
search = utils.create_import_structure_from_path
print(type(search).__name__, search.cache_info().hits)
search.cache_clear()
print([type(finder).__module__ for finder in sys.meta_path if type(finder).__module__.startswith("openmodelatlas")])
"""


def _told(first: str) -> list[str]:
    command = [sys.executable, "-c", _TOLD.format(first=first)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return result.stdout.split("\n")


def test_transformers_finds_the_same_names() -> None:
    plain, once = _told(""), _told("from openmodelatlas.capture.child import imports; imports.search_beside()")
    assert once[0] == plain[0]
    assert plain[1].startswith("_lru_cache_wrapper")
    assert once[1].startswith("function")
    assert once[2:] == ["[]", ""]


def test_a_folder_is_searched_once_and_every_answer_can_be_changed() -> None:
    searched: list[str] = []

    def search(path: str) -> dict[str, Any]:
        searched.append(path)
        return {"albert": {frozenset({"torch"}): {"modeling_albert": {"AlbertModel"}}}}

    once = _Search().around(search)
    first = once("models")
    first["albert"].clear()
    second = once("models/__init__.py")
    assert second == search("models")
    second["albert"][frozenset({"torch"})]["modeling_albert"].add("Another")
    assert once("models") == search("models")
    assert searched.count("models/__init__.py") == 0


def test_torch_is_loaded_and_no_thread_is_left() -> None:
    program = """
import threading
from openmodelatlas.capture.child import imports
imports.load_torch()
loaded = any("libtorch_cpu" in line for line in open("/proc/self/maps"))
import sys
print(loaded, "numpy" in sys.modules, "torch" in sys.modules, threading.active_count())
import torch
print(torch.ones(2).sum().item())
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split("\n") == ["True True False 1", "2.0", ""]


def test_what_is_imported_beside_torch_waits_for_no_other_library() -> None:
    """The system loads one library at a time: what is imported meanwhile must have all of its own."""
    program = """
import sys, threading
from pathlib import Path
from openmodelatlas.capture.child import imports
def libraries():
    files = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
    return {file for file in files if file.endswith(".so")}
imports._import(imports._WITH_LIBRARIES)
before = libraries()
imports._import(imports._BESIDE)
import importlib.metadata
print(any("multiarray" in file for file in before), [Path(file).name for file in libraries() - before])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "True []\n"


def test_what_the_second_process_found_is_not_searched_again() -> None:
    class Ended:
        def result_within(self, seconds: float) -> bytes | None:
            return marshal.dumps({"models": {"albert": {frozenset({"torch"}): {"modeling_albert": {"AlbertModel"}}}}})

    class Failed:
        def result_within(self, seconds: float) -> bytes | None:
            return None

    searched: list[str] = []
    found = _Search(Ended()).around(searched.append)("models")  # type: ignore[arg-type]
    assert found == {"albert": {frozenset({"torch"}): {"modeling_albert": {"AlbertModel"}}}}
    assert searched == []
    _Search(Failed()).around(searched.append)("models")  # type: ignore[arg-type]
    assert searched == ["models"]


def test_the_second_process_hands_over_the_search_of_all_models() -> None:
    program = """
from openmodelatlas.capture.child import imports
search = imports._Search
taken = []
def _take(self, take=search._take):
    take(self)
    taken.append(len(self.found))
search._take = _take
imports._PATIENCE = 60
imports.search_beside()
import transformers
print(taken[0])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(result.stdout) == 1


def test_models_of_transformers_import_without_what_distributes_them() -> None:
    program = """
import sys
from openmodelatlas.capture.child import imports, left_out
imports.search_beside()
imports.load_torch()
left_out.leave_out()
import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils import is_torch_distributed_available
config = AutoConfig.for_model("qwen3_moe", hidden_size=16, num_hidden_layers=2, vocab_size=32, num_experts=4,
    num_experts_per_tok=2,
    num_attention_heads=2, num_key_value_heads=1, head_dim=8, intermediate_size=16, moe_intermediate_size=8)
model = AutoModelForCausalLM.from_config(config)
print(list(model(torch.ones(1, 3, dtype=torch.long)).logits.shape))
print(is_torch_distributed_available(), torch.distributed.is_available())
print([name for name in ("sympy", "torch.distributed.tensor", "torch._dynamo.convert_frame") if name in sys.modules])
from torch.distributed.tensor import DTensor
print(DTensor.__name__)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split("\n") == ["[1, 3, 32]", "False True", "[]", "DTensor", ""]
