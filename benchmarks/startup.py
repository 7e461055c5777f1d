"""How long `import openmodelatlas` and `oma show` take as whole processes, the best and the median of some runs.

Usage: python benchmarks/startup.py [MODEL]     (MODEL: a built atlas; without it, the small transformer of the tests)
"""

from __future__ import annotations

import os
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


def seconds_of(command: list[str], environment: dict[str, str]) -> list[float]:
    """Wall-clock seconds of each run of ``command``, after one that fills the file cache."""
    found = []
    for run in range(RUNS + 1):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, cwd=ROOT)
        if run:
            found.append(time.perf_counter() - started)
    return found


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
        print(f"{'seconds':>44}  {'best':>6}  {'median':>6}  below {LIMIT_SECONDS}")
        for name, command in commands.items():
            times = seconds_of(command, environment)
            verdict = "yes" if statistics.median(times) < LIMIT_SECONDS else "NO"
            print(f"{name:>44}  {min(times):6.3f}  {statistics.median(times):6.3f}  {verdict}")


if __name__ == "__main__":
    main()
