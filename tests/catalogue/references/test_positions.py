"""References of positions beside ``transformers``: rotary frequencies of every kind, learned vectors, ALiBi."""

from __future__ import annotations

import math
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from mutants import Case, agreeing, mutants, notices, original
from transformers import modeling_rope_utils as rope

POSITIONS = np.array([[0.0, 1.0, 5.0, 300.0]])


class Configuration(SimpleNamespace):
    """What the functions of ``modeling_rope_utils`` read."""

    def standardize_rope_params(self) -> None:
        return None


def configuration(**parameters: Any) -> Configuration:
    return Configuration(
        rope_parameters={"rope_theta": 10000.0, **parameters},
        head_dim=64,
        hidden_size=256,
        num_attention_heads=4,
        max_position_embeddings=8192,
    )


def _table(frequencies: torch.Tensor, factor: float) -> tuple[np.ndarray, np.ndarray]:
    angles = POSITIONS[..., None] * frequencies.double().numpy()
    return factor * np.cos(angles), factor * np.sin(angles)


def _close(given: tuple[np.ndarray, np.ndarray], expected: tuple[np.ndarray, np.ndarray]) -> None:
    """The frequencies of transformers are float32, so that angles at position 300 are right to about 3e-5."""
    for one, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def plain(references: ModuleType) -> None:
    frequencies = 1.0 / (10000.0 ** (torch.arange(0, 64, 2).double() / 64))
    _close(references.rotary_table(POSITIONS, np.zeros(32), 10000.0), _table(frequencies, 1.0))
    doubled = references.rotary_table(POSITIONS, np.zeros(32), 10000.0, doubled=1)
    twice = torch.cat((frequencies, frequencies))
    _close(doubled, _table(twice, 1.0))


def linear(references: ModuleType) -> None:
    frequencies, factor = rope._compute_linear_scaling_rope_parameters(configuration(factor=8.0))
    _close(references.linear_table(POSITIONS, np.zeros(32), 10000.0, 8.0), _table(frequencies, factor))


def llama3(references: ModuleType) -> None:
    frequencies, factor = rope._compute_llama3_parameters(
        configuration(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=2048)
    )
    given = references.llama3_table(POSITIONS, np.zeros(32), 10000.0, 8.0, 1.0, 4.0, 2048)
    _close(given, _table(frequencies, factor))


YARNS: tuple[dict[str, Any], ...] = (
    {"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 1.0},
    {"factor": 32.0, "mscale": 0.707, "mscale_all_dim": 1.0},
    {"factor": 32.0, "truncate": False},
    {"factor": 32.0, "beta_fast": 1.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0},
    {"factor": 4.0, "beta_fast": 16.0, "beta_slow": 2.0},
)


def yarn(references: ModuleType) -> None:
    names = {"mscale": "coefficient", "mscale_all_dim": "coefficient_of_all"}
    for parameters in YARNS:
        frequencies, factor = rope._compute_yarn_parameters(
            configuration(original_max_position_embeddings=4096, **parameters)
        )
        arguments = {names.get(name, name): value for name, value in parameters.items()}
        given = references.yarn_table(POSITIONS, np.zeros(32), base=10000.0, original_positions=4096.0, **arguments)
        _close(given, _table(frequencies, factor))


def yarn_scores(references: ModuleType) -> None:
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import yarn_apply_mscale

    generator = np.random.default_rng(0)
    queries, keys = generator.normal(size=(2, 3, 4, 6)), generator.normal(size=(2, 3, 6, 5))
    scale = yarn_apply_mscale({"rope_type": "yarn", "factor": 40.0, "mscale_all_dim": 1.0}, 6**-0.5)
    np.testing.assert_allclose(references.yarn_scores(queries, keys, 40.0, 1.0), scale * (queries @ keys))


def known_values(references: ModuleType) -> None:
    """DeepSeek-V3 multiplies its scores by 1.874 and gpt-oss its table by 1.3466."""
    assert math.isclose(references.yarn_softmax_scale(1, 40.0, 1.0), 1.8738, rel_tol=1e-4)
    assert math.isclose(references.yarn_magnitude(32.0, 1.0), 1.3466, rel_tol=1e-4)
    assert references.yarn_table_factor(40.0, 1.0, 1.0) == 1.0


def learned(references: ModuleType) -> None:
    from transformers.models.gpt2.modeling_gpt2 import GPT2Config, GPT2Model

    torch.manual_seed(0)
    model = GPT2Model(GPT2Config(n_embd=8, n_layer=0, n_head=2, vocab_size=11, n_positions=7)).eval().double()
    ids, positions = torch.tensor([[1, 4, 9]]), torch.tensor([[2, 3, 4]])
    model.ln_f = torch.nn.Identity()
    with torch.no_grad():
        expected = model(ids, position_ids=positions).last_hidden_state.numpy()
        embedded = model.wte(ids).numpy()
    given = references.learned_positions(embedded, positions.numpy(), model.wpe.weight.detach().numpy())
    np.testing.assert_allclose(given, expected)


def alibi(references: ModuleType) -> None:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    for heads in (8, 12):
        theirs = build_alibi_tensor(torch.ones(1, 5), heads, torch.float64).double().numpy().reshape(1, heads, 1, 5)
        given = references.alibi(np.zeros((1, heads, 5, 5)), np.zeros(heads), np.arange(5.0)[None])
        np.testing.assert_allclose(given, np.broadcast_to(theirs, given.shape), rtol=1e-6)


CASES = (
    Case(
        plain,
        "rotary_scaling",
        (
            ("base**-exponents", "base**exponents"),
            ("np.concatenate([frequencies, frequencies])", "np.repeat(frequencies, 2)"),
        ),
    ),
    Case(linear, "rotary_scaling", (("(base, size) / factor\n", "(base, size) * factor\n"),)),
    Case(
        llama3,
        "rotary_scaling",
        (
            ("(kept + (1.0 - kept) / factor)", "(kept / factor + (1.0 - kept))"),
            ("original_positions * frequencies / (2.0 * math.pi)", "original_positions * frequencies"),
        ),
    ),
    Case(
        yarn,
        "rotary_scaling",
        (
            ("math.floor(first), math.ceil(last)", "round(first), round(last)"),
            ("(1.0 - slowness + slowness / factor)", "(slowness + (1.0 - slowness) / factor)"),
            ("both = coefficient != 0.0 and coefficient_of_all != 0.0", "both = True"),
            ("yarn_magnitude(factor, coefficient) / yarn_magnitude(factor, coefficient_of_all)", "1.0"),
        ),
    ),
    Case(
        yarn_scores,
        "rotary_scaling",
        (("yarn_magnitude(factor, coefficient_of_all) ** 2", "yarn_magnitude(factor, coefficient_of_all)"),),
    ),
    Case(known_values, "rotary_scaling", (("coefficient * math.log(factor)", "coefficient * math.log10(factor)"),)),
    Case(learned, "positions", (("token_embeddings + table[positions]", "token_embeddings - table[positions]"),)),
    Case(
        alibi,
        "positions",
        (("2.0 ** (-8.0 * np", "2.0 ** (8.0 * np"), ("2.0 ** (-4.0 * np", "2.0 ** (-8.0 * np")),
    ),
)  # fmt: skip


@agreeing(CASES)
def test_references_agree_with_other_code(case: Case) -> None:
    case.check(original(case.module))


@mutants(CASES)
def test_a_change_is_noticed(case: Case, old: str, new: str) -> None:
    assert notices(case, old, new)


@pytest.mark.parametrize("times", [1.0, 4.0])
def test_yarn_without_stretching_changes_nothing(times: float) -> None:
    references = original("rotary_scaling")
    plain_frequencies = references.rotary_frequencies(10000.0, 16)
    stretched = references.yarn_frequencies(10000.0, 16, times, 4096.0, 32.0, 1.0)
    assert np.allclose(stretched, plain_frequencies) == (times == 1.0)
