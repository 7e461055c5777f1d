"""Titles, labels and addresses of small models, as a reader sees them."""

from __future__ import annotations

import pytest

from .specimens import MODELS, specimen


def children(name: str, address: str = "") -> list[tuple[str, str]]:
    nodes = specimen(name).nodes
    return [(nodes[c].label, c) for c in nodes[address].children if nodes[c].kind != "tensor"]


def test_the_model():
    assert children("dense") == [
        ("Embed tokens", "embed-tokens"),
        ("Causal", "causal"),
        ("4 transformer blocks", "layers"),
        ("Norm", "norm"),
        ("Lm head", "lm-head"),
    ]


def test_operations_are_titled_by_what_they_do_and_what_they_make():
    nodes = specimen("dense").nodes
    assert nodes["layers/self-attn/softmax-weights"].title == "Softmax: weights"
    assert nodes["layers/self-attn/softmax-weights"].label == "Softmax"
    assert nodes["layers/self-attn/matmul"].title == "Matmul"
    assert nodes["layers/input-norm/mean-variance"].title == "Mean: variance"


def test_equal_names_are_numbered_in_order_of_execution():
    nodes = specimen("dense").nodes
    first, second = nodes["layers/self-attn/matmul"], nodes["layers/self-attn/matmul-2"]
    assert first.symbol is not None
    assert second.symbol is not None
    assert first.symbol.text == "query @ key.transpose(-1, -2)"
    assert second.symbol.text == "weights @ value"


def test_variants_by_what_mixes_tokens():
    assert children("three-to-one", "layers") == [
        ("6 linear layers", "layers/linear"),
        ("2 full layers", "layers/full"),
    ]


def test_loops_and_branches_are_titled_by_their_statement():
    loop = specimen("recurrence").of_kind("loop")[0]
    assert (loop.title, loop.address) == ("For t in range(x.shape[1])", "each-t")
    branches = {node.title for node in specimen("branches").of_kind("branch")}
    assert "If self.layer_idx % 2 == 0" in branches or "X, if self.layer_idx % 2 == 0" in branches
    assert "X, if self.layer_idx == 0" in branches


def test_the_decode_step():
    nodes = specimen("cached").nodes
    assert nodes["decode"].kind == "phase"
    assert nodes["decode"].title == "Decode step"
    assert nodes[""].children[-1] == "decode"
    assert all(node.phase == "decode" for address, node in nodes.items() if address.startswith("decode"))
    assert all(node.phase == "prefill" for address, node in nodes.items() if not address.startswith("decode"))


@pytest.mark.parametrize("name", sorted(MODELS))
def test_titles_of_siblings_that_compute_tell_their_place(name):
    """Where titles of siblings are equal, their addresses or symbols still tell them apart."""
    nodes = specimen(name).nodes
    for node in nodes.values():
        inner = [nodes[child] for child in node.children if nodes[child].kind != "tensor"]
        keys = [(child.title, child.address.rpartition("/")[2]) for child in inner]
        assert len(set(keys)) == len(keys)
        assert all("\n" not in child.title for child in inner)
