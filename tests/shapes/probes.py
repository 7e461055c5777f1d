"""Probe sizes of real configurations, shrunk as capture shrinks them, for tests of the solver."""

from __future__ import annotations

from dataclasses import dataclass, field

from openmodelatlas.shapes.confirm import Solution
from openmodelatlas.shapes.expression import evaluate
from openmodelatlas.shapes.parsing import parse
from openmodelatlas.shapes.solve import Solver, decode_sizes, parameter_sizes, prefill_sizes

RUNS = ((2, 23), (3, 29), (5, 26), (4, 31))
TRUE_RUN = (2, 17)


@dataclass
class Model:
    """One model: sizes in three solving probes and the held-out one, and at the published configuration."""

    table: dict[str, tuple[int, int, int, int, int]]
    """Name to its size in probes a, b, c, the held-out probe, and as published."""
    solvers: dict[str, Solver] = field(default_factory=dict)

    def sizes(self, column: int, phase: str) -> dict[str, int]:
        own = {key: row[column] for key, row in self.table.items()}
        batch, tokens = (*RUNS, TRUE_RUN)[column]
        if phase == "parameter":
            return parameter_sizes(own)
        return (prefill_sizes if phase == "prefill" else decode_sizes)(own, batch, tokens)

    def solution(self, text: str, phase: str = "prefill", *, true_size: bool = True) -> Solution:
        """What the solver makes of the sizes that an axis of size ``text`` has in every probe."""
        columns = [self.sizes(column, phase) for column in range(5)]
        if phase not in self.solvers:
            self.solvers[phase] = Solver(columns[:3], columns[3], columns[4])
        seen = [evaluate(parse(text), column) for column in columns]
        return self.solvers[phase].solution(seen[:3], seen[3], seen[4] if true_size else None)


K2 = Model(
    {
        "hidden_size": (88, 104, 120, 136, 7168),
        "intermediate_size": (52, 68, 76, 92, 18432),
        "kv_lora_rank": (20, 22, 27, 32, 512),
        "moe_intermediate_size": (28, 30, 38, 46, 2048),
        "n_routed_experts": (12, 14, 16, 18, 384),
        "num_attention_heads": (4, 6, 5, 7, 64),
        "num_experts_per_tok": (3, 4, 6, 7, 8),
        "num_key_value_heads": (4, 6, 5, 7, 64),
        "q_lora_rank": (36, 34, 44, 58, 1536),
        "qk_nope_head_dim": (14, 13, 17, 21, 128),
        "qk_rope_head_dim": (10, 12, 6, 8, 64),
        "v_head_dim": (18, 16, 19, 25, 128),
        "vocab_size": (97, 101, 103, 107, 163840),
    }
)
LLAMA = Model(
    {
        "hidden_size": (48, 60, 112, 132, 4096),
        "num_attention_heads": (6, 6, 14, 22, 32),
        "num_key_value_heads": (3, 2, 7, 11, 8),
        "head_dim": (8, 10, 8, 6, 128),
        "intermediate_size": (34, 46, 58, 62, 14336),
        "vocab_size": (97, 101, 103, 107, 128256),
    }
)
GPT2 = Model(
    {
        "n_embd": (48, 60, 112, 132, 768),
        "n_head": (6, 6, 14, 22, 12),
        "n_positions": (50, 64, 70, 81, 1024),
        "vocab_size": (97, 101, 103, 107, 50257),
    }
)
MIXTRAL = Model(
    {
        "hidden_size": (48, 60, 112, 132, 4096),
        "num_attention_heads": (6, 6, 14, 22, 32),
        "num_key_value_heads": (3, 2, 7, 11, 8),
        "intermediate_size": (34, 46, 58, 62, 14336),
        "num_local_experts": (5, 7, 9, 10, 8),
        "num_experts_per_tok": (3, 4, 3, 5, 2),
        "sliding_window": (9, 10, 12, 11, 4096),
        "vocab_size": (97, 101, 103, 107, 32000),
    }
)
MAMBA2 = Model(
    {
        "hidden_size": (24, 30, 56, 66, 4096),
        "num_heads": (6, 6, 14, 22, 128),
        "head_dim": (8, 10, 8, 6, 64),
        "n_groups": (3, 2, 7, 11, 8),
        "state_size": (13, 17, 11, 19, 128),
        "conv_kernel": (4, 4, 4, 4, 4),
        "chunk_size": (11, 14, 13, 10, 256),
        "vocab_size": (97, 101, 103, 107, 32768),
    }
)
K3 = Model(
    {
        "hidden_size": (88, 104, 120, 136, 7168),
        "intermediate_size": (52, 68, 76, 92, 33792),
        "kv_lora_rank": (20, 22, 27, 32, 512),
        "q_lora_rank": (36, 34, 44, 58, 1536),
        "linear_attn_config.num_heads": (5, 3, 9, 8, 96),
        "linear_attn_config.head_dim": (15, 11, 21, 13, 128),
        "num_attention_heads": (4, 6, 7, 5, 96),
        "qk_nope_head_dim": (14, 13, 17, 23, 128),
        "qk_rope_head_dim": (10, 12, 6, 8, 64),
        "v_head_dim": (18, 16, 19, 25, 128),
        "moe_intermediate_size": (28, 30, 38, 46, 3072),
        "routed_expert_hidden_size": (40, 42, 62, 50, 3584),
        "num_experts": (12, 14, 16, 18, 896),
        "num_experts_per_token": (3, 4, 6, 7, 16),
        "num_shared_experts": (2, 2, 2, 2, 2),
        "vocab_size": (97, 101, 103, 107, 163840),
    }
)
