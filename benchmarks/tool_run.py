"""``python benchmarks/tool_run.py TOOL MODEL.json``: one other tool on one model, as a whole process.

The model is transformers' own class at the probe's sizes; the tool lies in a folder on ``PYTHONPATH``. Prints one JSON
object: ``nodes``, ``versions``, ``note``.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


def main(tool: str, path: str) -> dict[str, Any]:
    """Runs ``tool`` on the model that the file at ``path`` describes."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.set_num_threads(1)
    wanted = json.loads(Path(path).read_text())
    config = AutoConfig.for_model(wanted["model_type"], **wanted["configuration"])
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    config.use_cache = False  # none of the tools follows a decode step, and some refuse a cache
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager").eval()
    tokens = torch.randint(0, config.vocab_size, (wanted["batch"], wanted["tokens"]))
    with torch.no_grad():
        return RUNNERS[tool](model, tokens)


def nothing(model: Any, tokens: Any) -> dict[str, Any]:
    """The imports, the model and its forward pass, nothing else."""
    model(input_ids=tokens)
    return _result([], 0, "no tool")


def torchview_default(model: Any, tokens: Any) -> dict[str, Any]:
    """What its options give when none is set: modules to depth 3, inner tensors and functions hidden."""
    draw_graph: Any = importlib.import_module("torchview").draw_graph

    drawn = draw_graph(model, input_data={"input_ids": tokens}, device="cpu", save_graph=False)
    return _result(["torchview", "graphviz"], _drawn_nodes(drawn), "depth 3, functions and inner tensors hidden")


def torchview(model: Any, tokens: Any) -> dict[str, Any]:
    """Every module, function and tensor to any depth, as a graphviz object that is not drawn."""
    draw_graph: Any = importlib.import_module("torchview").draw_graph

    drawn = draw_graph(
        model,
        input_data={"input_ids": tokens},
        depth=10_000,
        device="cpu",
        expand_nested=True,
        hide_module_functions=False,
        hide_inner_tensors=False,
        save_graph=False,
    )
    return _result(["torchview", "graphviz"], _drawn_nodes(drawn), "all depths, functions and tensors shown")


def _drawn_nodes(drawn: Any) -> int:
    lines = [line.strip() for line in drawn.visual_graph.body]
    return sum(line[:1].isdigit() and "->" not in line for line in lines)


def torchlens(model: Any, tokens: Any) -> dict[str, Any]:
    """The log of a forward pass with what it saves by default."""
    tool: Any = importlib.import_module("torchlens")

    log = getattr(tool, "log_forward_pass", None)
    name = "log_forward_pass"
    if log is None:
        log, name = tool.trace, "trace"
    history = log(model, [], input_kwargs={"input_ids": tokens})
    return _result(["torchlens"], len(history), name)


def model_explorer(model: Any, tokens: Any) -> dict[str, Any]:
    """``torch.export``, the adapter for exported programs, and the JSON that the page would load."""
    import torch

    settings: Any = importlib.import_module("model_explorer.consts").DEFAULT_SETTINGS
    implementation = importlib.import_module("model_explorer.pytorch_exported_program_adapter_impl")
    adapter: Any = implementation.PytorchExportedProgramAdapterImpl

    # The loop over the experts that were hit is refused: GuardOnDataDependentSymNode (EXPERTS=eager shows it).
    model.config._experts_implementation = os.environ.get("EXPERTS", "batched_mm")
    program = torch.export.export(model, (), kwargs={"input_ids": tokens}, strict=False)
    graphs = adapter(program, settings).convert()["graphs"]
    text = json.dumps([dataclasses.asdict(graph) for graph in graphs])
    note = f"experts_implementation={model.config._experts_implementation}; {len(text) / 1e6:.1f} MB of JSON"
    return _result(["ai-edge-model-explorer"], sum(len(graph.nodes) for graph in graphs), note)


def _result(packages: list[str], nodes: int, note: str) -> dict[str, Any]:
    versions = {name: metadata.version(name) for name in (*packages, "torch", "transformers")}
    return {"nodes": nodes, "versions": versions, "note": note}


RUNNERS = {
    "nothing": nothing,
    "torchview": torchview,
    "torchview-default": torchview_default,
    "torchlens": torchlens,
    "model-explorer": model_explorer,
}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2])))
