"""``python benchmarks/formulas.py [MODEL…]``: formulas of the operations of atlases that are built, evaluated anew.

For every atlas: operations, those with a formula, evaluated, within the tolerance; the largest error; CPU seconds; and
by function what could not be evaluated, and why. Values that were too large for a bundle are not there to compare with.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from openmodelatlas.annotation.formulas import operation_formulas
from openmodelatlas.annotation.formulas.calls import is_operation
from openmodelatlas.annotation.knowledge import FormulaCheck
from openmodelatlas.annotation.material import Draft, Drafts, Material
from openmodelatlas.bundle import store
from openmodelatlas.bundle.home import home, model_folder
from openmodelatlas.sources import MODELS
from openmodelatlas.verification.formulas import AtlasCode


def main() -> int:
    """Prints a line for each model; exit code 1 if a formula differs."""
    print(f"{'model':16}{'operations':>11}{'formula':>9}{'evaluated':>11}{'checked':>9}{'worst':>10}{'seconds':>9}")
    differing = 0
    for model in sys.argv[1:] or sorted(MODELS):
        folder = model_folder(home(), model)
        if not folder.exists():
            continue
        atlas = store.read(folder)
        drafts = Drafts(nodes={address: Draft() for address in atlas.document.nodes})
        started = time.process_time()
        operation_formulas(Material(document=atlas.document, code=AtlasCode(atlas)), drafts)
        seconds = time.process_time() - started
        operations = [node for node in atlas if is_operation(node)]
        checks: list[tuple[str, FormulaCheck]] = []
        for node in operations:
            checks += [(node.function or "", found.check) for found in drafts.nodes[node.address].formulas]
        evaluated = [check for _, check in checks if check.verdict != "not checked"]
        worst = max((check.error or 0.0 for check in evaluated), default=0.0)
        held = sum(check.verdict == "checked" for check in evaluated)
        differing += len(evaluated) - held
        counts = f"{len(operations):11}{len(checks):9}{len(evaluated):11}{held:9}"
        print(f"{model:16}{counts}{worst:10.1e}{seconds:9.2f}")
        failures = Counter((name, check.detail) for name, check in checks if check.verdict != "checked")
        for (name, detail), count in failures.most_common():
            print(f"    {count:4} {name}: {detail}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
