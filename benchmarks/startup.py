"""How long `import openmodelatlas` and `oma show` take as whole processes, the best and the median of some runs,
and the processor time, which other work on the machine changes less.

Usage: python benchmarks/startup.py [MODEL]     (MODEL: a built atlas; without it, the small transformer of the tests)
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 15
LIMIT_SECONDS = 0.3
ROOT = Path(__file__).resolve().parent.parent
FACTORY, FACTORY_MODEL = "tests.corpus.tiny_transformer:tiny", "tests-corpus-tiny-transformer-tiny"


def seconds_of(command: list[str], environment: dict[str, str]) -> list[tuple[float, float]]:
    """Wall-clock and processor seconds of each run of ``command``, after one that fills the file cache."""
    found = []
    for run in range(RUNS + 1):
        started, used = time.perf_counter(), _processor_seconds()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, cwd=ROOT)
        if run:
            found.append((time.perf_counter() - started, _processor_seconds() - used))
    return found


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ)
        if len(sys.argv) > 1:
            model = sys.argv[1]
        else:
            environment["OMA_HOME"] = home
            oma = [sys.executable, "-m", "openmodelatlas"]
            subprocess.run([*oma, "build", FACTORY], check=True, capture_output=True, env=environment, cwd=ROOT)
            model = FACTORY_MODEL
        module = [sys.executable, "-m", "openmodelatlas"]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import openmodelatlas": [sys.executable, "-c", "import openmodelatlas"],
            "oma --help": [*module, "--help"],
            f"oma show {model} --json": [*module, "show", model, "--json"],
            f"oma show {model}": [*module, "show", model],
            f"oma tree {model}": [*module, "tree", model],
        }
        print(f"{'seconds':>44}  {'best':>6}  {'median':>6}  {'processor':>9}  median below {LIMIT_SECONDS}")
        for name, command in commands.items():
            walls, processors = zip(*seconds_of(command, environment), strict=True)
            median = statistics.median(walls)
            verdict = "yes" if median < LIMIT_SECONDS else "NO"
            print(f"{name:>44}  {min(walls):6.3f}  {median:6.3f}  {statistics.median(processors):9.3f}  {verdict}")


if __name__ == "__main__":
    main()
