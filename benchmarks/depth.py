"""``python benchmarks/depth.py``: how an atlas and its making grow with the depth of the model.

One model with 16, 61 and 244 layers, everything else as published: what is written must stay the same, the time must
grow no faster than that of the forward passes (both without the imports, which no layer adds to).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import building
import measure
from openmodelatlas.sources import target

DEPTHS = (16, 61, 244)
LARGEST_GROWTH = 1.1
"""Grows as fast as the forward passes, but for what noise adds."""
LAYERS = "num_hidden_layers"


def main() -> int:
    """Prints the figures; exit code 1 if something grows that must not."""
    parser = building.arguments(__doc__ or "")
    parser.add_argument("model", nargs="?", default="kimi-k2")
    parser.add_argument("--layers", type=int, nargs="+", default=list(DEPTHS), help="depths, ascending")
    options = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    published = target.find(options.model).source.configuration
    if LAYERS not in published:
        sys.exit(f"The configuration of {options.model} has no {LAYERS}.")
    figures = []
    with tempfile.TemporaryDirectory(prefix="oma-benchmark-") as name:
        for layers in options.layers:
            print(f"{layers} layers", file=sys.stderr)
            figures.append(_measure(options.model, published | {LAYERS: layers}, Path(name), options.repeat))
    rows = [
        (
            f"{each['layers']}",
            f"{each['build_seconds']:.2f}",
            f"{each['build_processor_seconds']:.2f}",
            f"{each['plain_seconds']:.2f}",
            f"{each['plain_processor_seconds']:.2f}",
            f"{each['build_seconds'] / each['plain_seconds']:.2f}",
            f"{each['nodes']:,}",
            measure.megabytes(each["bundle_bytes"]),
            measure.megabytes(each["bundle_compressed_bytes"]),
            measure.megabytes(each["peak_bytes"]),
        )
        for each in figures
    ]
    head = ("layers", "build s", "processor s", "unrecorded s", "processor s", "ratio", "nodes", "bundle", "compressed",
            "peak memory")  # fmt: skip
    print(f"\n{options.model}; medians of {options.repeat} rounds\n")
    print(measure.table(head, rows))
    first, last = figures[0], figures[-1]
    further = last["layers"] - first["layers"]
    growth = {}
    print()
    for side in ("build", "plain"):
        begun, ended = (each[f"{side}_processor_seconds"] - each["import_processor_seconds"] for each in (first, last))
        growth[side] = ended / begun
        per_layer = (ended - begun) / further * 1e3
        print(
            f"{side:>5} without imports: {begun:.2f} s of processor at {first['layers']} layers, {ended:.2f} s at "
            f"{last['layers']}: {growth[side]:.2f} times, {per_layer:.1f} ms a layer"
        )
    same = len({each["nodes"] for each in figures}) == 1
    sizes = [each["bundle_compressed_bytes"] for each in figures]
    grows = growth["build"] / growth["plain"]
    print(f"nodes                 {'the same' if same else 'DIFFER'}")
    print(f"bundle                largest / smallest {max(sizes) / min(sizes):.2f}")
    print(f"growth of the build / growth of the forward passes  {grows:.2f}  {building.verdict(grows, LARGEST_GROWTH)}")
    building.write_json(options.json, {"model": options.model, "depths": figures, "relative_growth": grows})
    return int(not same or grows > LARGEST_GROWTH)


def _measure(model: str, configuration: dict[str, Any], folder: Path, repeat: int) -> dict[str, Any]:
    layers = configuration[LAYERS]
    home = folder / str(layers)
    home.mkdir()
    path = home / "config.json"
    path.write_text(json.dumps(configuration))
    plain = building.Side("unrecorded work", building.unrecorded_command(model, home / "unrecorded", path))
    build = building.Side("oma build", building.build_command(model, path))
    building.alternate((plain, build), measure.environment(home), repeat)
    bundle = building.bundle_of(home, model)
    return {
        "layers": layers,
        "build_seconds": build.seconds,
        "build_processor_seconds": build.processor_seconds,
        "plain_seconds": plain.seconds,
        "plain_processor_seconds": plain.processor_seconds,
        "import_processor_seconds": measure.median(
            [json.loads(run.output)["import_processor_seconds"] for run in plain.runs]
        ),
        "nodes": bundle.nodes,
        "bundle_bytes": bundle.bytes,
        "bundle_compressed_bytes": bundle.compressed_bytes,
        "peak_bytes": build.peak_bytes,
    }


if __name__ == "__main__":
    sys.exit(main())
