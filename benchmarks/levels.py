"""Draws every level of built atlases anew, checks the geometry of each diagram, and takes its processor
time; sets every formula.

Usage: python benchmarks/levels.py [MODEL …]     (without models: all that are built in OMA_HOME)

Exit code 1 if a diagram has a fault (see ``openmodelatlas.drawing.check``), or drawing takes longer than the limits.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass

from openmodelatlas.annotation.annotate import annotate
from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.annotation.material import Material
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.home import home, list_built, model_folder
from openmodelatlas.bundle.store import read
from openmodelatlas.bundle.tensors import TensorValue
from openmodelatlas.drawing.check import faults
from openmodelatlas.drawing.draw import draw_levels
from openmodelatlas.drawing.engine import Engine
from openmodelatlas.drawing.formulas import every_latex
from openmodelatlas.drawing.layered.graph import Item, Link
from openmodelatlas.drawing.layered.layout import lay_out
from openmodelatlas.errors import BundleError

SECONDS_A_HUNDRED_LEVELS = 2.0
SECONDS_FORMULAS = 3.0
SYNTHETIC = 2000


@dataclass(frozen=True)
class Values:
    """Values and code of an atlas, as annotation asks for them."""

    atlas: Atlas

    def value(self, key: str) -> TensorValue | None:
        try:
            return self.atlas.value(key)
        except BundleError:
            return None

    def lines_of(self, file: str) -> list[str]:
        return self.atlas.lines_of(file)


def knowledge_of(atlas: Atlas) -> Knowledge:
    """What the atlas knows; found anew for atlases that were built without it."""
    try:
        known = atlas.knowledge
    except BundleError:
        known = Knowledge()
    return known if known.nodes else annotate(Material(atlas.document, Values(atlas)))


def draw_model(model: str) -> tuple[int, bool]:
    """Draws and checks one atlas; how many faults there are, and whether it was within the limits."""
    atlas = read(model_folder(home(), model))
    known = knowledge_of(atlas)
    started = time.process_time()
    levels = draw_levels(atlas.document, known)
    seconds = time.process_time() - started
    found = [(address, fault) for address, drawing in levels.items() for fault in faults(drawing)]
    started = time.process_time()
    with Engine() as engine:
        formulas, notes = engine.set(every_latex(known))
    set_in = time.process_time() - started
    largest = max((len(drawing.nodes) for drawing in levels.values()), default=0)
    print(
        f"{model:18} {len(levels):4} levels, largest {largest:3} boxes, {seconds:5.2f} s, {len(found)} faults; "
        f"{len(formulas):5} formulas, {set_in:5.2f} s, {len(notes)} shown as text"
    )
    for kind, count in Counter(fault.kind for _, fault in found).items():
        example = next(f"{address or 'the model'}: {fault.what}" for address, fault in found if fault.kind == kind)
        print(f"    {count} × {kind}, such as {example}")
    for note in notes[:3]:
        print(f"    {note}")
    within = seconds <= SECONDS_A_HUNDRED_LEVELS * max(1.0, len(levels) / 100) and set_in <= SECONDS_FORMULAS
    return len(found), within


def draw_synthetic() -> None:
    """Lays out a level of thousands of boxes."""
    chance = random.Random(0)
    items = [Item(float(chance.randint(80, 200)), 40.0) for _ in range(SYNTHETIC)]
    links: list[Link] = []
    for target in range(1, SYNTHETIC):
        for source in {max(0, target - chance.randint(1, 6)) for _ in range(chance.choice((1, 1, 2)))}:
            items[source].outputs = [items[source].width / 2]
            items[target].inputs.append(0.0)
            links.append(Link(source, 0, target, len(items[target].inputs) - 1))
    for item in items:
        item.inputs = [item.width * (place + 1) / (len(item.inputs) + 1) for place in range(len(item.inputs))]
    started = time.perf_counter()
    lay_out(items, links)
    print(f"{'synthetic':18} {SYNTHETIC} boxes, {len(links)} lines, {time.perf_counter() - started:.2f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="built models (all)")
    results = [draw_model(model) for model in (parser.parse_args().models or list_built(home()))]
    draw_synthetic()
    total = sum(count for count, _ in results)
    print(f"{total} faults in {len(results)} atlases")
    return 1 if total or not all(within for _, within in results) else 0


if __name__ == "__main__":
    sys.exit(main())
