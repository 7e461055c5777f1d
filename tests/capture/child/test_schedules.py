"""Keys by which code counts its layers are kept, whatever they are called."""

from __future__ import annotations

import pytest

from openmodelatlas.capture.child.schedules import schedule_keys
from openmodelatlas.capture.child.sizes import Published

KEYS = {"group_size", "hidden_size", "every", "num_heads", "first"}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("if layer_idx % config.group_size == 0: pass", {"group_size"}),
        ("self.kind = (layer_idx + 1) % every == 0", {"every"}),
        ("self.period = config.group_size\nstarts = self.number % self.period == 0", {"group_size"}),
        ("dense = layer_idx < config.first", {"first"}),
        ("head_dim = config.hidden_size // config.num_heads", set()),
        ("assert tokens % config.group_size == 0", set()),
        ("def (", set()),
    ],
)
def test_what_a_layer_number_is_divided_by_or_compared_with(code: str, found: set[str]) -> None:
    assert schedule_keys([code], KEYS) == found


def test_a_schedule_is_kept_and_a_width_is_not() -> None:
    values = {"num_hidden_layers": 9, "group_size": 4, "hidden_size": 8, "every": 400}
    published = Published(values, {})

    published.keep(values, "counts layers")

    assert published.computed == {"group_size": "counts layers"}
