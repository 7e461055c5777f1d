"""Kernels have the sentence and the formula that their stand-ins declare, with the symbols of their arguments lit."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from openmodelatlas.annotation.formulas import operation_formulas
from openmodelatlas.annotation.formulas.families.kernels import KERNELS
from openmodelatlas.annotation.formulas.notation import unlit
from openmodelatlas.annotation.kernel_specs import specs
from openmodelatlas.annotation.knowledge import Formula
from openmodelatlas.annotation.material import Drafts, Material
from openmodelatlas.annotation.operations import describe_operation
from openmodelatlas.bundle.tensors import TensorValue
from openmodelatlas.capture.standins.causal_conv1d import convolution as _causal_conv1d  # noqa: F401 - declares kernels
from openmodelatlas.capture.standins.fla import convolution, gate, gated_delta, kda, linear, norms  # noqa: F401
from openmodelatlas.capture.standins.flash_attn import attention  # noqa: F401
from openmodelatlas.capture.standins.registry import exports

from .braces import brackets_balance
from .record import OPERATION, drafts_of, recorded


def annotated(name: str) -> Drafts:
    """Drafts of a kernel that reads one tensor, its first, and gives one."""
    made = recorded("torch.sin", torch.rand(3))
    kernel = msgspec.structs.replace(made.document.nodes[OPERATION], kind="kernel", function=name)
    document = msgspec.structs.replace(made.document, nodes={**made.document.nodes, OPERATION: kernel})
    drafts = drafts_of(made)
    operation_formulas(Material(document=document, code=made.code), drafts)
    return drafts


def formula_of(name: str) -> Formula:
    (found,) = annotated(name).nodes[OPERATION].formulas
    return found


@pytest.mark.parametrize("name", sorted(specs()))
def test_a_kernel_has_the_formula_of_its_stand_in(name: str) -> None:
    formula = formula_of(name)
    assert brackets_balance(formula.latex)
    assert unlit(formula.latex) == unlit(specs()[name].formula)
    assert formula.terms
    assert all(f"light={term.id}}}" in formula.latex for term in formula.terms)
    assert formula.check.verdict != "checked"
    assert describe_operation(name, {}) == specs()[name].summary


def test_the_first_argument_and_the_result_are_bound() -> None:
    formula = formula_of("fla.modules.l2norm.l2norm")
    bound = {address for term in formula.terms for address in term.addresses}
    assert {"input-0", "output-0"} <= bound


def test_a_kernel_that_nobody_declares_is_told() -> None:
    drafts = annotated("package.unknown")
    assert drafts.nodes[OPERATION].formulas == []
    assert [note.reason for note in drafts.unmatched] == ["no stand-in declares package.unknown"]


# Evaluation -----------------------------------------------------------------------------------------------------------

B, T, H, K, V, D, W = 2, 7, 2, 5, 6, 8, 4


def x(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def linear_attention(**more: Any) -> dict[str, Any]:
    """Queries, keys and values."""
    return {"q": x(B, T, H, K), "k": x(B, T, H, K) / K, "v": x(B, T, H, V), "output_final_state": True, **more}


def decay(*shape: int) -> torch.Tensor:
    """Logarithms of decays."""
    return -torch.rand(*shape)


def cases() -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Calls of kernels that can be evaluated, each at least once."""
    torch.manual_seed(11)
    norm, ops = "fla.modules.fused_norm_gate", "fla.ops"
    state = x(B, H, K, V)
    own_gate = {"A_log": x(H), "dt_bias": x(H * K), "use_gate_in_kernel": True}
    delta = linear_attention(g=decay(B, T, H, K), beta=torch.rand(B, T, H))
    return [
        ("fla.modules.layernorm.rms_norm", (x(3, D), x(D), None), {}),
        ("fla.modules.layernorm.layer_norm", (x(3, D), x(D), x(D), x(3, D)), {"prenorm": True}),
        (f"{norm}.rms_norm_gated", (x(3, D), x(3, D), x(D), None, "sigmoid"), {"eps": 1e-3}),
        (f"{norm}.layer_norm_gated", (x(3, D), x(3, D), x(D), x(D)), {}),
        ("fla.modules.l2norm.l2norm", (x(3, D),), {}),
        ("fla.ops.kda.gate.fused_kda_gate", (x(B, T, H, K), x(H), x(H * K)), {"lower_bound": -5.0}),
        ("fla.ops.kda.gate.fused_kda_gate", (x(B, T, H, K), x(H)), {}),
        ("fla.modules.convolution.causal_conv1d", (x(B, T, D), x(D, W), x(D)), {"activation": "silu"}),
        ("fla.modules.ShortConvolution", (x(B, T, D), x(D, 1, W), None, "silu"), short(output_final_state=True)),
        ("fla.modules.ShortConvolution", (x(B, 1, D), x(D, 1, W), x(D), None), short(cache=x(B, D, W))),
        ("causal_conv1d.causal_conv1d_fn", (x(B, D, T), x(D, W), x(D)), {"activation": "silu"}),
        ("causal_conv1d.causal_conv1d_fn", (x(B, D, T), x(D, W)), {"return_final_states": True}),
        ("causal_conv1d.causal_conv1d_update", (x(B, D), x(B, D, W), x(D, W), x(D), "silu"), {}),
        (f"{ops}.kda.chunk_kda", (), delta | {"use_qk_l2norm_in_kernel": True, "initial_state": state}),
        (f"{ops}.kda.chunk_kda", (), delta | own_gate | {"lower_bound": -5.0, "use_beta_sigmoid_in_kernel": True}),
        (f"{ops}.kda.fused_recurrent_kda", (), delta | own_gate),
        (f"{ops}.gated_delta_rule.chunk_gated_delta_rule", (), delta | {"g": decay(B, T, H)}),
        (f"{ops}.gated_delta_rule.fused_recurrent_gated_delta_rule", (), delta | {"g": decay(B, T, H)}),
        (f"{ops}.delta_rule.chunk_delta_rule", (), linear_attention(beta=torch.rand(B, T, H))),
        (f"{ops}.delta_rule.fused_recurrent_delta_rule", (), linear_attention(beta=torch.rand(B, T, H))),
        (f"{ops}.simple_gla.chunk_simple_gla", (), linear_attention(g=decay(B, T, H), g_gamma=decay(H))),
        (f"{ops}.simple_gla.fused_recurrent_simple_gla", (), linear_attention(g_gamma=decay(H))),
        (f"{ops}.gla.chunk_gla", (), linear_attention(g=decay(B, T, H, K), scale=0.3)),
        (f"{ops}.gla.fused_recurrent_gla", (), linear_attention(gk=decay(B, T, H, K), gv=decay(B, T, H, V))),
        ("flash_attn.flash_attn_func", (x(B, 5, 4, K), x(B, T, 2, K), x(B, T, 2, K)), {"causal": True, "softcap": 2.0}),
        ("flash_attn.flash_attn_func", (x(B, T, 2, K), x(B, T, 2, K), x(B, T, 2, K)), {"window_size": (2, 1)}),
    ]


def short(**given: Any) -> dict[str, Any]:
    """All arguments that the short convolution's module hands over."""
    absent = dict.fromkeys(("residual", "mask", "cache", "cu_seqlens"))
    return {**absent, "output_final_state": False, **given}


CASES = cases()


def material(index: int) -> Material:
    """A kernel as a capture writes it down."""
    name, args, kwargs = CASES[index]
    run = convolution._short_convolution if name.endswith("ShortConvolution") else exports[name]
    own = [item.clone() if isinstance(item, torch.Tensor) else item for item in args]
    with torch.no_grad():
        made = recorded(name, *own, run=run, **kwargs)
    kernel = msgspec.structs.replace(made.document.nodes[OPERATION], kind="kernel")
    document = msgspec.structs.replace(made.document, nodes={**made.document.nodes, OPERATION: kernel})
    return Material(document=document, code=made.code)


def annotate(made: Material) -> Drafts:
    drafts = drafts_of(made)
    operation_formulas(made, drafts)
    return drafts


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda index: f"{CASES[index][0]}-{index}")
def test_a_kernel_gives_what_its_stand_in_gives(index: int) -> None:
    drafts = annotate(material(index))
    (formula,) = drafts.nodes[OPERATION].formulas
    assert formula.check.verdict == "checked", formula.check
    assert drafts.unmatched == []


def test_every_kernel_that_can_be_evaluated_is_tried() -> None:
    assert {name for name, _, _ in CASES} == set(KERNELS)
    assert set(KERNELS) <= set(specs())


def test_a_changed_result_of_a_kernel_is_seen() -> None:
    for index in range(len(CASES)):
        made = material(index)
        value = made.code.value("output-0")
        assert value is not None
        array = np.frombuffer(value.data, dtype=np.float32) * np.float32(1.0001)
        changed = TensorValue(dtype=value.dtype, shape=value.shape, data=array.tobytes())
        made.code.values["output-0"] = changed  # type: ignore[attr-defined]
        (formula,) = annotate(made).nodes[OPERATION].formulas
        assert formula.check.verdict == "differs", CASES[index][0]


def test_arguments_of_a_kernel_are_bound_by_its_signature() -> None:
    index = next(i for i, case in enumerate(CASES) if case[0].endswith("rms_norm_gated"))
    (formula,) = annotate(material(index)).nodes[OPERATION].formulas
    bound = {term.id: term.addresses for term in formula.terms}
    assert bound["x"] == ("input-0",)
    assert bound["g"] == ("input-1",)
    assert bound["weight"] == ("input-2",)
    assert "output-0" in bound["output"]
