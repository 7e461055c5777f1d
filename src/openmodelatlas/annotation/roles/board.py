"""Where rules write what they find: what tensors are, and which place of a mechanism an operation takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from openmodelatlas.annotation.roles.view import MOVING, View
from openmodelatlas.annotation.roles.vocabulary import joined
from openmodelatlas.shapes.dimension import Constant

ELEMENTWISE = frozenset(["neg", "clamp", "clamp_minimum", "clamp_maximum", "dropout", "clone"])


@dataclass(frozen=True)
class Place:
    """The place of a mechanism that an operation takes.

    Attributes:
        name: key of the table of wordings.
        x, y: tensors that its wording speaks of.
        words: further words for the wording.
    """

    name: str
    x: str | None = None
    y: str | None = None
    words: dict[str, str] = field(default_factory=dict)


class Board:
    """What the rules have found so far; the first finding stands.

    Attributes:
        view: the data flow.
        kinds: what a tensor is, by tensor behind the plumbing (or true parameter name).
        places: by address of an operation.
        carried: operands that an operation carries on under the same name, where a rule knows them.
        side: tensors that only accompany: cosines, inverse norms, decays.
        anchors: addresses of operations by what they prove, such as ``attention`` for a mix of values.
        regions: places that a branch takes in general, by its address.
        parts: which part a tensor is (``first half``), and of what.
        rounds: what a tensor is that rounds of one loop make of several kinds, by who reads which, and the tensor.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.kinds: dict[str, str] = {}
        self.places: dict[str, Place] = {}
        self.carried: dict[str, tuple[str, ...]] = {}
        self.side: set[str] = set()
        self.anchors: dict[str, list[str]] = {}
        self.regions: dict[str, Place] = {}
        self.parts: dict[str, tuple[str, str]] = {}
        self.rounds: dict[tuple[str, str], str] = {}

    def kind(self, tensor: str | None) -> str | None:
        """What a tensor is: its own finding, else that of what it was before the plumbing."""
        if tensor is None:
            return None
        return self.kinds.get(tensor) or self.kinds.get(self.view.root(tensor))

    def mark(self, tensor: str | None, kind: str) -> bool:
        """Say what a tensor is, if nothing is known yet."""
        if tensor is None:
            return False
        root = self.view.root(tensor)
        if root in self.kinds:
            return False
        self.kinds[root] = kind
        return True

    def place(self, address: str | None, name: str, x: str | None = None, y: str | None = None, **words: str) -> bool:
        """Say which place an operation takes, if nothing is known yet."""
        if address is None or address in self.places:
            return False
        self.places[address] = Place(name, x, y, words)
        return True

    def anchor(self, name: str, address: str) -> None:
        """Remember what an operation proves."""
        known = self.anchors.setdefault(name, [])
        if address not in known:
            known.append(address)

    def carries(self, address: str) -> tuple[str, ...]:
        """Operands whose values go on through an operation under the same name (moved, scaled, rotated, normalised)."""
        if address in self.carried:
            return self.carried[address]
        view, word = self.view, self.view.word(address)
        inputs = view.inputs(address)
        features = [tensor for tensor in inputs if not view.is_weight(tensor) and view.root(tensor) not in self.side]
        if word in ("multiply", "divide"):
            features = [tensor for tensor in features if not is_exponential(view, tensor)] or features
        if word in ("copy", "setitem"):
            return tuple(dict.fromkeys((*self._filled(features[0]), features[-1]))) if features else ()
        if word in ("cat", "stack"):
            return tuple(features)
        if word in MOVING or word in ELEMENTWISE:
            return tuple(features[:1])
        if word in ("matmul", "solve_triangular", "einsum") and len(features) == 2 and _square(view, features[0]):
            return tuple(features[1:])
        if word in ("multiply", "divide", "add", "subtract"):
            if len(features) == 1:
                return tuple(features)
            rank = {tensor: _width(view, view.arriving(address, inputs.index(tensor))) for tensor in features}
            widest = max(rank.values(), default=0)
            wide = [tensor for tensor in features if rank[tensor] == widest]
            if word in ("multiply", "divide"):
                return tuple(wide) if len(wide) == 1 else ()
            return tuple(wide)
        return ()

    def _filled(self, tensor: str) -> tuple[str, ...]:
        """What a write in place writes into: the whole that a slice was taken of."""
        maker = self.view.made_by(tensor)
        if maker is not None and self.view.word(maker) == "getitem":
            return (self.view.inputs(maker)[0],)
        return (tensor,)

    def spread(self, tensor: str, kind: str) -> list[str]:
        """Name a tensor and, backwards, what it was before it was moved, rotated, normalised or scaled.

        Stops at products with weights, and returns the addresses of these.
        """
        projections: list[str] = []
        pending, seen = [tensor], set[str]()
        while pending:
            current = self.view.root(pending.pop())
            if current in seen:
                continue
            seen.add(current)
            if not self._joined(current, kind):
                continue
            producer = self.view.producer(current)
            if producer is None:
                continue
            if self.view.projected(producer) is not None:
                projections.append(producer)
                continue
            pending.extend(self.carries(producer))
        return projections

    def _joined(self, tensor: str, kind: str) -> bool:
        known = self.kinds.get(tensor)
        if known is None:
            self.kinds[tensor] = kind
            return True
        both = joined(known, kind)
        if both is None or (both == known and known != kind):
            return False
        self.kinds[tensor] = both
        return True

    def flow(self, tensors: Iterable[str], kind: str) -> None:
        """Name tensors and, forwards, what they become by being moved, cast or scaled by a number."""
        pending, seen = list(tensors), set[str]()
        while pending:
            current = self.view.root(pending.pop())
            if self.kinds.setdefault(current, kind) != kind or current in seen:
                continue
            seen.add(current)
            for reader in self.view.readers(current):
                word = self.view.word(reader)
                scaled = word in ("multiply", "divide", "add") and len(self.view.inputs(reader)) == 1
                if (word in MOVING and word not in ("cat", "copy", "setitem")) or scaled:
                    fresh = [out for out in self.view.outputs(reader) if self.view.root(out) not in self.kinds]
                    pending.extend(fresh)


def is_exponential(view: View, tensor: str) -> bool:
    """Whether a tensor is an exponential, perhaps moved: a decay that accompanies features."""
    for _ in range(6):
        maker = view.made_by(tensor)
        if maker is None:
            return False
        if view.word(maker) in ("exp", "exp2"):
            return True
        if view.word(maker) not in MOVING or not view.inputs(maker):
            return False
        tensor = view.inputs(maker)[0]
    return False


def _square(view: View, tensor: str) -> bool:
    """Whether the two last axes are of one size: a matrix that mixes positions of a chunk."""
    shape = view.shape(tensor)
    return len(shape) >= 3 and shape[-1] == shape[-2]


def _width(view: View, tensor: str) -> int:
    """How many axes of a tensor are longer than one."""
    return sum(not (isinstance(size, Constant) and size.value == 1) for size in view.shape(tensor))
