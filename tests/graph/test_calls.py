"""What an operation read and gave, so that it can be run again."""

from __future__ import annotations

from typing import Any

from openmodelatlas.graph.document import Document

from .specimens import specimen


def tensors_in(value: Any) -> list[dict[str, str]]:
    if isinstance(value, dict):
        return [value] if "tensor" in value else [found for item in value.values() for found in tensors_in(item)]
    return [found for item in value for found in tensors_in(item)] if isinstance(value, list) else []


def known(document: Document, name: str) -> bool:
    node = document.nodes.get(name)
    is_tensor = node is not None and node.tensor is not None
    return is_tensor or name in document.parameters or name in document.inputs


def test_every_operand_names_a_tensor():
    for name in ("dense", "branches"):
        document = specimen(name).document
        found = [tensor for node in document.nodes.values() for tensor in tensors_in(node.operands)]
        assert found
        assert all(known(document, tensor["tensor"]) for tensor in found)


def test_only_operations_have_operands_and_they_are_apart_from_plain_arguments():
    for node in specimen("dense").document.nodes.values():
        if node.operands:
            assert node.function is not None
            assert node.function.startswith("torch.")
            assert not set(node.operands) & set(node.arguments)


def test_a_view_is_an_operand_where_the_port_looks_through_it():
    document = specimen("dense").document
    seen = 0
    for node in document.nodes.values():
        for port in node.inputs if node.operands else ():
            if port.via and node.kind == "operation":
                names = {tensor["tensor"] for tensor in tensors_in(node.operands)} & set(document.nodes)
                made = {fact.producer for name in names if (fact := document.nodes[name].tensor) is not None}
                assert port.via[-1] in made
                seen += 1
    assert seen


def test_a_parameter_tells_which_layer_s_value_it_read():
    document = specimen("dense").document
    parameters = [
        tensor
        for node in document.nodes.values()
        for tensor in tensors_in(node.operands)
        if tensor["tensor"] in document.parameters
    ]
    assert parameters
    assert all(tensor["value"].isdigit() for tensor in parameters)
