"""Arguments and attributes at the published configuration rather than in a probe."""

from __future__ import annotations

from typing import Any

from .specimens import specimen


def published(name: str) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Arguments of the first probe and what is published of them, by address."""
    nodes = specimen(name).document.nodes.values()
    return {node.address: (dict(node.arguments), dict(node.published)) for node in nodes if node.arguments}


def sizes_in(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value] if "size" in value else [found for item in value.values() for found in sizes_in(item)]
    return [found for item in value for found in sizes_in(item)] if isinstance(value, list) else []


def test_sizes_among_arguments_are_expressions_with_published_values():
    found = [size for _, row in published("dense").values() for size in sizes_in(row)]
    assert {"size": "head_dim", "value": 128} in found
    assert {"size": "B", "value": None} in found
    assert {"size": "T", "value": None} in found


def test_only_what_differs_is_repeated():
    for arguments, row in published("dense").values():
        assert set(row) <= set(arguments)
        assert all(row[name] != arguments[name] for name in row)


def test_what_is_known_of_a_probe_only_says_so():
    """The attention scale comes from the head size; without a run at full size no probe tells the published one."""
    scales = [row for _, row in published("dense").values() if any("probe" in str(value) for value in row.values())]
    assert scales
    assert all(set(value) == {"probe"} for row in scales for value in row.values() if isinstance(value, dict))


def test_attributes_tell_sizes_of_probes_apart():
    document = specimen("dense").document
    projection = document.nodes["layers/self-attn/q-proj"]
    assert set(projection.attributes) == {"in_features", "out_features"}
    assert all(set(value) == {"probe"} for value in projection.attributes.values())


def test_a_group_of_layers_gives_what_its_last_layer_gives():
    nodes = specimen("branches").document.nodes
    group = nodes["layers"]
    last = next(nodes[a] for a in group.children if max(group.members) in nodes[a].members)
    assert [port.tensor for port in group.outputs] == [port.tensor for port in last.outputs]
