from __future__ import annotations

import time

import pytest

from openmodelatlas.errors import ShapeError
from openmodelatlas.shapes.dimension import Constant, Symbolic, Unresolved
from openmodelatlas.shapes.solve import Solver
from tests.shapes.probes import GPT2, K2, K3, LLAMA, MAMBA2, MIXTRAL, Model


@pytest.mark.parametrize(
    ("model", "phase", "text", "value"),
    [
        (K2, "prefill", "hidden_size", 7168),
        (K2, "prefill", "num_attention_heads*(qk_nope_head_dim + qk_rope_head_dim)", 12288),
        (K2, "parameter", "num_attention_heads*(qk_nope_head_dim + v_head_dim)", 16384),
        (K2, "parameter", "kv_lora_rank + qk_rope_head_dim", 576),
        (K2, "parameter", "num_attention_heads*v_head_dim", 8192),
        (K2, "prefill", "qk_rope_head_dim//2", 32),
        (K2, "prefill", "B*T", None),
        (K2, "prefill", "B*T*num_experts_per_tok", None),
        (K2, "prefill", "B*num_attention_heads", None),
        (K2, "prefill", "T", None),
        (K2, "decode", "P + 1", None),
        (K2, "decode", "B*num_experts_per_tok", None),
        (K2, "parameter", "2*n_routed_experts*moe_intermediate_size", 2 * 384 * 2048),
        (LLAMA, "parameter", "num_key_value_heads*head_dim", 1024),
        (LLAMA, "prefill", "num_attention_heads//num_key_value_heads", 4),
        (LLAMA, "prefill", "head_dim//2", 64),
        (GPT2, "parameter", "3*n_embd", 2304),
        (GPT2, "parameter", "4*n_embd", 3072),
        (GPT2, "prefill", "n_embd//n_head", 64),
        (GPT2, "parameter", "n_positions", 1024),
        (MIXTRAL, "parameter", "2*intermediate_size", 28672),
        (MIXTRAL, "prefill", "min(T, sliding_window)", None),
        (MIXTRAL, "decode", "min(P + 1, sliding_window)", None),
        (MIXTRAL, "prefill", "hidden_size//num_attention_heads", 128),
        (MAMBA2, "parameter", "2*hidden_size + 2*n_groups*state_size", 2 * 4096 + 2048),
        (MAMBA2, "parameter", "4*hidden_size + 2*n_groups*state_size + num_heads", 4 * 4096 + 2048 + 128),
        (MAMBA2, "prefill", "T + 3", None),
        (MAMBA2, "prefill", "ceil(T, chunk_size)", None),
        (MAMBA2, "prefill", "chunk_size*ceil(T, chunk_size)", None),
        (MAMBA2, "prefill", "chunk_size*ceil(T, chunk_size) - T", None),
        (MAMBA2, "prefill", "ceil(T, chunk_size) + 1", None),
        (K3, "parameter", "linear_attn_config.num_heads*linear_attn_config.head_dim", 12288),
        (K3, "parameter", "num_attention_heads*(qk_nope_head_dim + qk_rope_head_dim)", 18432),
        (K3, "prefill", "B*linear_attn_config.num_heads", None),
        (K3, "parameter", "2*moe_intermediate_size", 6144),
        (K3, "parameter", "num_experts", 896),
        (K3, "parameter", "kv_lora_rank + qk_rope_head_dim", 576),
    ],
)
def test_axes_of_real_models(model: Model, phase: str, text: str, value: int | None) -> None:
    found = model.solution(text, phase)
    assert found.dimension == Symbolic(text, value)
    assert (found.held_out, found.true_size) == (True, True)


@pytest.mark.parametrize("text", ["B*T*num_experts_per_tok", "qk_nope_head_dim + qk_rope_head_dim", "hidden_size"])
def test_without_a_run_at_full_size_the_held_out_probe_confirms(text: str) -> None:
    found = K2.solution(text, true_size=False)
    assert isinstance(found.dimension, Symbolic)
    assert (found.dimension.expression, found.held_out, found.true_size) == (text, True, None)


def test_equal_everywhere_is_a_constant() -> None:
    assert K2.solution("2").dimension == Constant(2)
    assert MAMBA2.solution("conv_kernel").dimension == Constant(4)
    assert K2.solution("1", "decode").dimension == Constant(1)
    assert K2.solution("0").dimension == Constant(0)


def test_names_of_one_size_everywhere_are_aliases() -> None:
    found = K2.solution("num_key_value_heads")
    assert found.dimension == Symbolic("num_attention_heads", 64)
    assert found.aliases == {"num_attention_heads": ("num_key_value_heads",)}
    assert K2.solvers["prefill"].aliases == found.aliases


def test_parameters_have_no_batch_or_positions() -> None:
    assert isinstance(K2.solution("hidden_size", "parameter").dimension, Symbolic)
    solver = K2.solvers["parameter"]
    found = solver.solve([46, 87, 130], 124, None)  # B*T of the probes
    assert isinstance(found, Unresolved)


def _solver(**columns: tuple[int, ...]) -> Solver:
    rows = [{key: column[index] for key, column in columns.items()} for index in range(5)]
    return Solver(rows[:3], rows[3], rows[4])


def test_a_coincidence_in_the_solving_probes_is_refuted_by_the_held_out_probe() -> None:
    solver = _solver(
        heads=(4, 6, 5, 7, 64), rope=(10, 11, 13, 8, 64), width=(40, 66, 65, 90, 7168), rank=(3, 8, 2, 9, 5)
    )
    found = solver.solution([40, 66, 65], 56, 4096)
    assert found.dimension == Symbolic("heads*rope", 4096)
    assert found.discarded == ("width",)
    assert solver.solve([40, 66, 65], 90, 7168) == Symbolic("width", 7168)
    refuted = solver.solve([40, 66, 65], 57, 4096)
    assert isinstance(refuted, Unresolved)
    assert "refuted by the held-out probe or the model at full size: width, heads*rope" in refuted.reason
    assert refuted.observed == (40, 66, 65, 57, 4096)


def test_a_coincidence_in_all_probes_is_refuted_at_full_size() -> None:
    solver = _solver(width=(40, 66, 65, 56, 7168), heads=(4, 6, 5, 7, 64), rope=(10, 11, 13, 8, 64))
    assert solver.solve([40, 66, 65], 56, 4096) == Symbolic("heads*rope", 4096)
    assert solver.solve([40, 66, 65], 56, 7168) == Symbolic("width", 7168)


def test_two_names_no_probe_tells_apart_are_not_guessed() -> None:
    solver = _solver(B=(2, 3, 5, 4, 1), num_experts_per_tok=(2, 3, 5, 4, 8), T=(11, 13, 17, 19, 7))
    undecided = solver.solve([2, 3, 5], 4, None)
    assert isinstance(undecided, Unresolved)
    assert undecided.reason == "Ambiguous: B or num_experts_per_tok, which no probe tells apart."
    assert solver.solve([2, 3, 5], 4, 8) == Symbolic("num_experts_per_tok", 8)
    assert solver.solve([2, 3, 5], 4, 1) == Symbolic("B", None)


def test_a_name_that_no_probe_varies_is_told_from_a_number_only_at_full_size() -> None:
    solver = _solver(topk=(2, 2, 2, 2, 8), T=(11, 13, 17, 19, 7), width=(31, 37, 41, 43, 64))
    assert isinstance(solver.solve([2, 2, 2], 2, None), Unresolved)
    assert solver.solve([2, 2, 2], 2, 2) == Constant(2)
    assert solver.solve([2, 2, 2], 2, 8) == Symbolic("topk", 8)
    undecided = solver.solve([22, 26, 34], 38, None)
    assert isinstance(undecided, Unresolved)
    assert undecided.reason == "Ambiguous: 2*T or T*topk, which no probe tells apart."
    assert solver.solve([22, 26, 34], 38, 56) == Symbolic("T*topk", None)


def test_a_window_shorter_than_every_probe_is_told_from_a_minimum_only_at_full_size() -> None:
    undecided = MIXTRAL.solution("sliding_window", true_size=False).dimension
    assert isinstance(undecided, Unresolved)
    assert "sliding_window or min(T, sliding_window)" in undecided.reason
    assert MIXTRAL.solution("sliding_window").dimension == Symbolic("sliding_window", 4096)
    assert MIXTRAL.solution("sliding_window", "parameter", true_size=False).dimension == Symbolic(
        "sliding_window", 4096
    )


def test_the_same_number_of_chunks_in_every_probe_is_no_constant() -> None:
    solver = _solver(T=(9, 11, 8, 20, 700), chunk_size=(8, 10, 7, 10, 256), width=(31, 37, 41, 43, 64))
    assert isinstance(solver.solve([2, 2, 2], 2, None), Unresolved)
    assert solver.solve([2, 2, 2], 2, 3) == Symbolic("ceil(T, chunk_size)", None)
    assert solver.solve([2, 2, 2], 2, 2) == Constant(2)


def test_rounding_is_decided_only_by_a_probe_that_fills_its_last_chunk() -> None:
    sizes = {"chunk_size": (8, 10, 7, 9, 256), "width": (31, 37, 41, 43, 64)}
    never_full = _solver(T=(9, 21, 8, 10, 70), **sizes)
    undecided = never_full.solve([2, 3, 2], 2, 1)
    assert isinstance(undecided, Unresolved)
    assert "ceil(T, chunk_size) or T//chunk_size + 1" in undecided.reason
    once_full = _solver(T=(9, 21, 8, 18, 70), **sizes)
    assert once_full.solve([2, 3, 2], 2, 1) == Symbolic("ceil(T, chunk_size)", None)
    assert once_full.solve([2, 3, 2], 3, 1) == Symbolic("T//chunk_size + 1", None)


def test_without_confirmation_nothing_is_shown() -> None:
    solver = _solver(width=(31, 37, 41, 43, 64))
    assert solver.solve([31, 37, 41], None) == Unresolved(
        "The held-out probe has no such axis, so nothing confirms an expression.", (31, 37, 41)
    )


def test_nothing_fits() -> None:
    found = K2.solution("hidden_size").dimension
    assert isinstance(found, Symbolic)
    unresolved = K2.solvers["prefill"].solve([100_003, 17, 99_991], 5, 7)
    assert isinstance(unresolved, Unresolved)
    assert unresolved.reason == "No expression of the grammar has these sizes in the solving probes."


def test_a_model_without_a_published_configuration_has_names_without_values() -> None:
    rows = [{"B": b, "T": t, "width": w} for b, t, w in ((2, 11, 31), (3, 13, 37), (5, 17, 41), (4, 19, 43))]
    solver = Solver(rows[:3], rows[3], None)
    assert solver.solve([22, 39, 85], 76, 5) == Symbolic("B*T", None)
    assert solver.solution([31, 37, 41], 43, 5).true_size is None
    assert solver.solve([31, 37, 41], 43) == Symbolic("width", None)


def test_misuse_is_an_error() -> None:
    with pytest.raises(ShapeError, match="two or more probes"):
        Solver([{"T": 3}], {"T": 5}, None)
    K2.solution("T")
    with pytest.raises(ShapeError, match="3 probes were solved for, 2 sizes observed"):
        K2.solvers["prefill"].solve([1, 2], 3)


def test_a_model_is_solved_in_a_fraction_of_its_capture() -> None:
    columns = [K3.sizes(column, "prefill") for column in range(5)]
    keys = [key for key in columns[0] if key not in ("B", "T")]
    started = time.process_time()
    solver = Solver(columns[:3], columns[3], columns[4])
    for first in keys:
        for second in keys:
            seen = [column["B"] * column[first] * column[second] for column in columns]
            solver.solve(seen[:3], seen[3], seen[4])
    assert time.process_time() - started < 3.0  # measured: well under a second


def test_a_written_length_counts_chunks() -> None:
    """Names that are the same in every probe and in truth are lengths that code writes down (``chunk_size=64``)."""
    tokens, widths = (65, 66, 135), (43, 29, 59)
    probes = [{"T": t, "intermediate_size": w, "chunk_size": 64} for t, w in zip(tokens, widths, strict=True)]
    held_out = {"T": 128, "intermediate_size": 37, "chunk_size": 64}
    true = {"T": 29, "intermediate_size": 9216, "chunk_size": 64}
    found = Solver(probes, held_out, true).solve((2, 2, 3), 2, 1)
    assert found == Symbolic(expression="ceil(T, 64)", value=None)


def test_the_true_size_confirms_what_the_held_out_probe_does_not_run() -> None:
    probes = [{"T": t, "hidden_size": d} for t, d in ((13, 44), (15, 51), (11, 24))]
    solver = Solver(probes, {"T": 18, "hidden_size": 49}, {"T": 29, "hidden_size": 2560})
    solution = solver.solution((13, 15, 11), None, 29)
    assert (solution.dimension, solution.held_out, solution.true_size) == (Symbolic("T", None), False, True)
    assert isinstance(solver.solve((13, 15, 11), None, None), Unresolved)
