"""Random models and random true sizes of axes, to try the solver on what it has not been written for."""

from __future__ import annotations

from random import Random

from openmodelatlas.shapes.dimension import Constant, Dimension, Symbolic
from openmodelatlas.shapes.expression import Expression, evaluate
from openmodelatlas.shapes.parsing import parse
from openmodelatlas.shapes.solve import Solver

WIDTHS = ("hidden_size", "intermediate_size", "head_dim", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim")
WIDTHS += ("qk_rope_head_dim", "v_head_dim", "moe_intermediate_size", "vocab_size", "state_size")
COUNTS = ("num_attention_heads", "num_key_value_heads", "num_experts", "num_experts_per_tok", "n_groups", "num_heads")
SEAMS = ("sliding_window", "chunk_size")
KEYS = (*WIDTHS, *COUNTS, *SEAMS)

FORMS = {
    "name": "{w}",
    "multiple": "{n}*{w}",
    "offset": "{x} + {m}",
    "half": "{w}//2",
    "pair": "{c}*{w}",
    "triple": "B*{c}*{w}",
    "routed": "B*T*{c}",
    "sum": "{w} + {w2}",
    "difference": "{w} - {c}",
    "heads": "{c}*({w} + {w2})",
    "quotient": "{w}//{c}",
    "divided": "({w}*{c})//{c2}",
    "two products": "{c}*{w} + {c2}*{w2}",
    "doubled": "2*{w} + 2*{c}*{w2}",
    "three": "2*{w} + 2*{c}*{w2} + {c2}",
    "window": "min({r}, {s})",
    "beyond": "max({r} - {s}, 0)",
    "chunks": "ceil({r}, {s})",
    "padded": "{s}*ceil({r}, {s})",
    "padding": "{s}*ceil({r}, {s}) - {r}",
    "flat": "B*{c}*{r}",
    "shifted": "{r} + {s} - 1",
}


class RandomModel:
    """Sizes in three solving probes, a held-out one and at full size; widths, counts, seams differ among themselves."""

    def __init__(self, random: Random) -> None:
        self.columns: list[dict[str, int]] = []
        for _ in range(4):
            widths = random.sample(range(16, 140), len(WIDTHS) + 1)
            counts = random.sample(range(2, 15), len(COUNTS) + 1)
            seams = random.sample(range(5, 40), len(SEAMS))
            if len(self.columns) >= 2:  # as capture does: one solving and one held-out probe end with a full chunk
                widths[-1] = seams[1] * random.randint(1, 3)
            column = dict(zip((*WIDTHS, "T"), widths, strict=True)) | dict(zip((*COUNTS, "B"), counts, strict=True))
            self.columns.append(column | dict(zip(SEAMS, seams, strict=True)))
        self.true = {key: random.randrange(16, 20_000) for key in WIDTHS}
        self.true |= {key: random.randrange(2, 400) for key in (*COUNTS, *SEAMS)} | {"B": 2, "T": 17}
        self.solver = Solver(self.columns[:3], self.columns[3], self.true)

    def solve(self, node: Expression, *, true_size: bool) -> Dimension:
        seen = [evaluate(node, column) for column in self.columns]
        return self.solver.solve(seen[:3], seen[3], evaluate(node, self.true) if true_size else None)


def random_size(random: Random, form: str) -> Expression:
    """An expression of the given form with names drawn at random."""
    width, other_width = random.sample(WIDTHS, 2)
    count, other_count = random.sample(COUNTS, 2)
    places = {"w": width, "w2": other_width, "c": count, "c2": other_count, "s": random.choice(SEAMS), "r": "T"}
    return parse(
        FORMS[form].format(**places, x=random.choice((width, "T")), n=random.randint(2, 6), m=random.randint(1, 3))
    )


def is_right(shown: Symbolic | Constant, node: Expression, model: RandomModel, random: Random) -> bool:
    """Whether what is shown has the true size, at the published configuration in runs of any length."""
    found = parse(shown.expression if isinstance(shown, Symbolic) else str(shown.value))
    for longest in (30, 1_000, 100_000):
        run = {**model.true, "B": random.randint(1, 9), "T": random.randint(1, longest)}
        if evaluate(found, run) != evaluate(node, run):
            return False
    return isinstance(shown, Constant) or shown.value in (None, evaluate(node, model.true))
