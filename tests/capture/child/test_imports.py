"""What transformers finds in its own files is the same when it is searched once."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from openmodelatlas.capture.child.imports import _once

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
    plain, once = _told(""), _told("from openmodelatlas.capture.child import imports; imports.search_once()")
    assert once[0] == plain[0]
    assert plain[1].startswith("_lru_cache_wrapper")
    assert once[1].startswith("function")
    assert once[2:] == ["[]", ""]


def test_a_folder_is_searched_once_and_every_answer_can_be_changed() -> None:
    searched: list[str] = []

    def search(path: str) -> dict[str, Any]:
        searched.append(path)
        return {"albert": {frozenset({"torch"}): {"modeling_albert": {"AlbertModel"}}}}

    once = _once(search)
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
imports.load_torch(meanwhile=["mpmath", "oma_no_such_module"])
loaded = any("libtorch_cpu" in line for line in open("/proc/self/maps"))
import sys
print(loaded, "mpmath" in sys.modules, "torch" in sys.modules, threading.active_count())
import torch
print(torch.ones(2).sum().item())
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split("\n") == ["True True False 1", "2.0", ""]
