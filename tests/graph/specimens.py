"""The models of ``tests/corpus/models`` by name, each recorded once in a test run."""

from __future__ import annotations

import functools

from tests.corpus.models import dense, kinds, mixture, rounds, statements

from .driver import Built, Make, build

TOKENS = {"dense", "tied", "cached"}
MODELS: dict[str, Make] = {
    "dense": dense.Dense,
    "tied": lambda s: dense.Dense(s, tied=True),
    "windowed": dense.Windowed,
    "cached": dense.Cached,
    "listed": lambda s: mixture.Mixture(s, layers=4),
    "stacked": lambda s: mixture.Mixture(s, layers=4, stacked=True),
    "alternating": lambda s: kinds.Stack(s, "lflfl"),
    "three-to-one": lambda s: kinds.Stack(s, "lllflllf"),
    "choices": lambda s: kinds.Stack(s, "lfsSnbmw"),
    "growing": kinds.Growing,
    "first": kinds.FirstWithoutResidual,
    "comprehension": statements.Comprehension,
    "sequence": statements.Sequence,
    "nested": statements.Nested,
    "reused": statements.Reused,
    "in-place": statements.InPlace,
    "recurrence": statements.Recurrence,
    "tries": statements.Tries,
    "wrapped": statements.Wrapped,
    "wrapped-forward": statements.WrappedForward,
    "called-again": statements.CalledAgain,
    "delegating": statements.Delegating,
    "branches": statements.Branches,
    "drops": statements.Drops,
    "chained": statements.Chained,
    "operands": statements.Operands,
    "pads": rounds.Pads,
    "pads-in-layers": rounds.PadsInLayers,
    "tables": rounds.TableForEachKind,
    "steps": rounds.Steps,
}


@functools.cache
def specimen(name: str) -> Built:
    """One model of the corpus, recorded on all probes."""
    return build(MODELS[name], tokens=name in TOKENS, decode=name == "cached")
