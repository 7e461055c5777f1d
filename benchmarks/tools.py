"""``python benchmarks/tools.py``: building an atlas beside other tools, whole processes in turns on Kimi K2.

Every tool lies in a folder of its own (``pip install --target``, pinned, without torch), over the same torch and
transformers. They get the model at the sizes of our first probe, true depth, one prefill; ours does all its probes.
A tool that fails has its error in the table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import building
import measure
from openmodelatlas.bundle import store
from openmodelatlas.bundle.home import model_folder
from openmodelatlas.sources import target

HERE = Path(__file__).resolve().parent
OVERLAYS = Path.home() / ".cache" / "openmodelatlas-benchmarks"
MODEL, TYPE = "kimi-k2", "deepseek_v3"
NOT_PASSED_ON = (
    "auto_map",
    "quantization_config",
    "model_type",
    "architectures",
    "torch_dtype",
    "transformers_version",
)
COLUMNS = ("expression", "symbolic", "folds", "values", "decode")


@dataclass
class Tool:
    """One other tool.

    Attributes:
        name: in the table and for ``tool_run.py``.
        packages: pinned requirements, installed without their dependencies.
        records: for each of ``COLUMNS``, whether the tool records the exact source expression of an operation, symbolic
            shapes, layers folded to their kinds, values, and a decode step with a cache.
        faster: how many times faster ours is asked to be.
    """

    name: str
    packages: tuple[str, ...]
    records: tuple[str, str, str, str, str]
    faster: float | None = None
    first: measure.Run | None = None
    runs: list[measure.Run] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    error: str = ""


TOOLS = (
    Tool("nothing", (), ("no", "no", "no", "no", "no")),
    Tool("torchview", ("torchview==0.2.7", "graphviz==0.21"), ("no", "no", "no", "no", "no"), 1.0),
    Tool("torchview-default", ("torchview==0.2.7", "graphviz==0.21"), ("no", "no", "no", "no", "no")),
    Tool("torchlens", ("torchlens==2.36.1", "graphviz==0.21", "pillow"), ("line", "no", "loops", "yes", "no"), 3.0),
    Tool(
        "model-explorer",
        (
            "ai-edge-model-explorer==0.1.34", "ai-edge-model-explorer-adapter==0.2.1", "portpicker", "psutil", "flask",
            "werkzeug", "itsdangerous", "blinker", "termcolor", "dacite", "watchdog", "requests", "charset-normalizer",
            "idna", "urllib3", "certifi", "ipython", "traitlets", "decorator", "pexpect", "ptyprocess", "stack-data",
            "executing", "asttokens", "pure-eval", "matplotlib-inline", "prompt-toolkit", "wcwidth", "jedi", "parso",
        ),
        ("no", "no", "no", "constants", "no"),
        3.0,
    ),
)  # fmt: skip


def main() -> int:
    """Prints the table; exit code 1 if ours is slower than asked or a tool could not be compared with."""
    parser = building.arguments(__doc__ or "")
    parser.add_argument("--tools", nargs="+", default=[tool.name for tool in TOOLS], help="which of them")
    parser.add_argument("--overlays", type=Path, default=OVERLAYS, help=f"folder of the tools ({OVERLAYS})")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for one run of a tool (900)")
    options = parser.parse_args()
    tools = [tool for tool in TOOLS if tool.name in options.tools]
    with tempfile.TemporaryDirectory(prefix="oma-benchmark-") as name:
        home = Path(name)
        environment = measure.environment(home)
        ours = building.Side("oma build", building.build_command(MODEL))
        ours.run(environment)  # fills the disk's cache, and tells the sizes of the first probe
        path = _describe_model(home)
        for tool in tools:
            _install(tool, options.overlays)
            _run(tool, path, environment, options.overlays, options.timeout)
        for number in range(options.repeat):
            ours.run(environment)
            for tool in tools:
                _run(tool, path, environment, options.overlays, options.timeout)
            print(f"  round {number + 1} of {options.repeat} done", file=sys.stderr)
        nodes = building.bundle_of(home, MODEL).nodes
    return _print(ours, nodes, tools, options)


def _describe_model(home: Path) -> Path:
    """Writes the model at the sizes of our first probe, as ``tool_run.py`` reads it."""
    probe = store.read(model_folder(home, MODEL)).document.provenance.probes[0]
    os.environ["HF_HUB_OFFLINE"] = "1"
    published = target.find(MODEL).source.configuration
    configuration = {key: value for key, value in published.items() if key not in NOT_PASSED_ON} | probe["sizes"]
    if published["num_key_value_heads"] == published["num_attention_heads"]:
        configuration["num_key_value_heads"] = configuration["num_attention_heads"]
    configuration |= {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}  # within the small vocabulary
    path = home / "model.json"
    told = {"model_type": TYPE, "configuration": configuration, "batch": probe["batch"], "tokens": probe["tokens"]}
    path.write_text(json.dumps(told))
    return path


def _folder(tool: Tool, overlays: Path) -> Path:
    return overlays / tool.name.partition("-default")[0]


def _install(tool: Tool, overlays: Path) -> None:
    """Installs the tool's packages into its folder, once; what goes wrong is the tool's error."""
    folder = _folder(tool, overlays)
    done = folder / "installed"
    wanted = "\n".join(tool.packages)
    if not tool.packages or (done.exists() and done.read_text() == wanted):
        return
    print(f"  installing {tool.name} into {folder}", file=sys.stderr)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", str(folder)]
    result = subprocess.run([*command, *tool.packages], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        tool.error = f"pip: {_last_line(result.stderr)}"
        return
    done.write_text(wanted)


def _run(tool: Tool, path: Path, environment: dict[str, str], overlays: Path, timeout: float) -> None:
    if tool.error:
        return
    command = [sys.executable, str(HERE / "tool_run.py"), tool.name, str(path)]
    result = measure.run(
        command, environment | {"PYTHONPATH": str(_folder(tool, overlays))}, memory=tool.first is None, timeout=timeout
    )
    if result.exit_code != 0:
        slow = f"killed after {timeout:g} s" if result.seconds >= timeout else f"exit code {result.exit_code}"
        tool.error = f"{slow}: {_last_line(result.errors)}"
        return
    tool.told = json.loads(result.output.strip().splitlines()[-1])
    if tool.first is None:
        tool.first = result
    else:
        tool.runs.append(result)
    print(
        f"  {tool.name:>18}  {result.seconds:7.2f} s, {result.processor_seconds:7.2f} s of processor", file=sys.stderr
    )


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else "nothing said"


def _print(ours: building.Side, nodes: int, tools: list[Tool], options: Any) -> int:
    missed = False
    figures_of_ours = (f"{ours.processor_seconds:.2f}", measure.megabytes(ours.peak_bytes), f"{nodes:,}")
    recorded = ("exact", "yes", "yes", "yes", "yes", "five probes, a decode step in each, and the published size")
    rows: list[tuple[str, ...]] = [("oma build", f"{ours.seconds:.2f}", "1.00", *figures_of_ours, *recorded)]
    for tool in tools:
        if tool.error or not tool.runs:
            missed = missed or tool.faster is not None
            rows.append((tool.name, *[""] * 4, "", *tool.records, f"FAILED: {tool.error}"))
            continue
        seconds = measure.median([run.seconds for run in tool.runs])
        processor = measure.median([run.processor_seconds for run in tool.runs])
        ratio = seconds / ours.seconds
        note = str(tool.told["note"])
        if tool.faster is not None:
            note = f"{building.verdict(ratio, tool.faster, at_least=True)}; {note}"
            missed = missed or ratio < tool.faster
        peak = tool.first.peak_bytes if tool.first is not None else 0
        rows.append((tool.name, f"{seconds:.2f}", f"{ratio:.2f}", f"{processor:.2f}", measure.megabytes(peak),
                     f"{tool.told['nodes']:,}", *tool.records, note))  # fmt: skip
    head = ("tool", "seconds", "ratio to ours", "processor s", "peak memory", "nodes", *COLUMNS, "note")
    print(f"\n{MODEL}, medians of {options.repeat} rounds\n")
    print(measure.table(head, rows))
    for tool in tools:
        if tool.told:
            print(f"{tool.name}: {', '.join(f'{name} {version}' for name, version in tool.told['versions'].items())}")
    figures = {
        tool.name: {"seconds": [run.seconds for run in tool.runs], "error": tool.error, **tool.told} for tool in tools
    }
    building.write_json(options.json, {"ours": [run.seconds for run in ours.runs], "nodes": nodes, "tools": figures})
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
