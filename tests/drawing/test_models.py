"""What the diagrams of real models say in their boxes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openmodelatlas.bundle.atlas import Atlas


@pytest.mark.parametrize("model", ["kimi-k2", "kimi-k3"])
def test_a_box_shows_symbol_and_shape_of_the_same_tensor(atlas_of: Callable[[str], Atlas], model: str) -> None:
    atlas = atlas_of(model)
    several = 0
    for level in atlas.drawings.levels.values():
        for box in level.nodes:
            known = atlas.knowledge.nodes.get(box.address)
            if known is None or box.formula is None or box.shape is None or box.shape.tensor is None:
                continue
            named = {latex: tensor for tensor, latex in known.symbols.items()}
            if box.formula.latex in named and box.shape.tensor in known.symbols:
                assert known.symbols[box.shape.tensor] == box.formula.latex
                several += len(atlas.document.nodes[box.address].outputs) > 1
    assert several  # boxes that could have shown another one's
