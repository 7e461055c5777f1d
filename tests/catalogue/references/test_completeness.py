"""Every reference of the modules that are compared here is compared, and has a mutation that is noticed."""

from __future__ import annotations

import inspect

import test_attention_parts
import test_positions
import test_routing
import test_states
from mutants import original

CASES = (*test_attention_parts.CASES, *test_positions.CASES, *test_routing.CASES, *test_states.CASES)


def test_every_case_has_a_mutation() -> None:
    assert all(case.mutations for case in CASES)


def test_every_public_function_is_compared() -> None:
    sources = [inspect.getsource(case.check) for case in CASES]
    for module in {case.module for case in CASES}:
        for name, function in inspect.getmembers(original(module), inspect.isfunction):
            if function.__module__ != original(module).__name__ or name.startswith("_"):
                continue
            inside = inspect.getsource(original(module)).count(f"{name}(") > 1
            assert inside or any(f"references.{name}" in source for source in sources), f"{module}.{name}"
