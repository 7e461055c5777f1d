"""``python benchmarks/build_cost.py``: what building an atlas costs beside the work it cannot avoid.

``oma build MODEL --force`` against the same process's unrecorded work (``unrecorded.py``): whole processes, in turns.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import building
import measure

LARGEST_RATIO, LARGEST_MEMORY, LARGEST_BUNDLE = 2.0, 1.5e9, 2e6


def main() -> int:
    """Prints the figures; exit code 1 if one of them is over its limit."""
    parser = building.arguments(__doc__ or "")
    parser.add_argument("model", nargs="?", default="kimi-k2")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oma-benchmark-") as name:
        home = Path(name)
        environment = measure.environment(home)
        build = building.Side("oma build", building.build_command(options.model))
        plain = building.Side("unrecorded work", building.unrecorded_command(options.model, home / "unrecorded"))
        building.alternate((plain, build), environment, options.repeat)
        bundle = building.bundle_of(home, options.model)
    ratio = build.seconds / plain.seconds
    processor = build.processor_seconds / plain.processor_seconds
    rows = [
        (side.name, f"{side.seconds:.2f}", f"{side.processor_seconds:.2f}", measure.megabytes(side.peak_bytes))
        for side in (plain, build)
    ]
    print(f"\n{options.model}, {bundle.parameters:,} parameters; medians of {options.repeat} rounds\n")
    print(measure.table(("process", "seconds", "of processor", "peak memory"), rows))
    print(f"\nunrecorded by stage  {plain.runs[-1].output.strip()}")
    for process, peak in build.peak_by_process.items():
        print(f"peak of process      {measure.megabytes(peak):>10}  {process}")
    print(f"\nratio of times       {ratio:.2f}  {building.verdict(ratio, LARGEST_RATIO)}")
    print(f"ratio of processor   {processor:.2f}")
    print(f"peak memory, MB      {build.peak_bytes / 1e6:,.0f}  {building.verdict(build.peak_bytes, LARGEST_MEMORY)}")
    print(f"bundle compressed    {measure.megabytes(bundle.compressed_bytes)}  "
          f"{building.verdict(bundle.compressed_bytes, LARGEST_BUNDLE)}")  # fmt: skip
    print(f"bundle as files      {measure.megabytes(bundle.bytes)}")
    print(f"nodes (pages)        {bundle.nodes:,}")
    building.write_json(
        options.json,
        {
            "model": options.model,
            "rounds": options.repeat,
            "unrecorded_seconds": [run.seconds for run in plain.runs],
            "build_seconds": [run.seconds for run in build.runs],
            "unrecorded_processor_seconds": [run.processor_seconds for run in plain.runs],
            "build_processor_seconds": [run.processor_seconds for run in build.runs],
            "ratio": ratio,
            "peak_bytes": build.peak_bytes,
            "bundle_compressed_bytes": bundle.compressed_bytes,
            "bundle_bytes": bundle.bytes,
            "nodes": bundle.nodes,
        },
    )
    over = ratio > LARGEST_RATIO or build.peak_bytes > LARGEST_MEMORY or bundle.compressed_bytes > LARGEST_BUNDLE
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
