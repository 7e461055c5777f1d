"""What operations and tensors are called: names, nouns, and how they stand in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from openmodelatlas.annotation.formulas.scaling import Scaling
from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.view import MOVING
from openmodelatlas.annotation.roles.vocabulary import KINDS
from openmodelatlas.catalogue.entry import Family
from openmodelatlas.graph.naming import capital

INCOMING = {"block output": "block input", "next running sum": "running sum", "embedding": "block input"}
"""What a layer calls the results of the one before."""


@dataclass(frozen=True)
class Name:
    """What an operation is called.

    Attributes:
        title, sentence: as on its page.
        result: what its result is called, without "the"; empty: by what the tensor is.
        role: structural role, ``None`` if only the operation is known.
        family: for the colour.
    """

    title: str
    sentence: str
    result: str
    role: str | None
    family: Family | None


@dataclass
class Names:
    """Names given so far, in order of execution.

    Attributes:
        board: what the rules found.
        operations: by address.
        phrases: what a tensor is called, without "the".
        at: the node that is being named: within a layer, what it reads is its input, though the layer before made it.
    """

    board: Board
    operations: dict[str, Name] = field(default_factory=dict)
    phrases: dict[str, str] = field(default_factory=dict)
    at: str = ""

    @cached_property
    def scaling(self) -> Scaling:
        """Which numbers are roots of sizes."""
        return Scaling(self.board.view.document)

    def kind(self, tensor: str | None) -> str | None:
        """What a tensor is, seen from the node that is being named."""
        kind = self.board.rounds.get((self.at, self.board.view.root(tensor or ""))) or self.board.kind(tensor)
        if kind in INCOMING and tensor is not None:
            view = self.board.view
            group = view.group_of(self.at) if self.at in view.nodes else None
            if group is not None and view.root(tensor) in view.entries.get(group, ()):
                summed = any(view.inside(mixing, group) for mixing in self.board.anchors.get("depth", ()))
                return "running sum" if summed else INCOMING[kind]
        return kind

    def noun(self, tensor: str | None) -> str:
        """What a tensor or parameter is called after "the"."""
        board = self.board
        if tensor is None:
            return "features"
        kind = self.kind(tensor)
        if kind is not None:
            noun = KINDS[kind].noun if kind in KINDS else kind
            part, source = board.parts.get(board.view.root(tensor), ("", ""))
            return f"{part} of the {noun}" if part and board.kind(source) == board.kind(tensor) else noun
        parameter = board.view.parameter_of(tensor) if board.view.is_weight(tensor) else None
        phrase = self.phrases.get(tensor) or self.phrases.get(board.view.root(tensor))
        if parameter is not None and (phrase is None or not self._computed(tensor)):
            return parameter_noun(board, parameter)
        return phrase or "features"

    def _computed(self, tensor: str) -> bool:
        """Whether a tensor that comes from parameters alone has other values than they: an exponential, a sum."""
        view = self.board.view
        for _ in range(12):
            maker = view.made_by(tensor)
            if maker is None or not view.inputs(maker):
                return False
            if view.word(maker) not in MOVING:
                return True
            tensor = view.inputs(maker)[0]
        return False

    def stem(self, tensor: str | None) -> str:
        """What a tensor is called before another noun."""
        kind = self.kind(tensor)
        return KINDS[kind].stem if kind in KINDS else self.noun(tensor)


def parameter_noun(board: Board, name: str) -> str:
    """A parameter: what a rule found, else the last part of its true name."""
    kind = board.kinds.get(name)
    if kind is not None:
        return KINDS[kind].noun if kind in KINDS else kind
    parts = name.split(" ", maxsplit=1)[0].split(".")
    last = parts[-1]
    return {"weight": "weight matrix", "bias": "bias"}.get(last, f"parameter {last}")


def variable_noun(variable: str | None) -> str | None:
    """A variable's name as words in code, where a longer description would be too long."""
    return f"`{variable}`" if variable else None


def their(noun: str) -> str:
    """The possessive for a noun: ``their queries``, ``its latent``."""
    if " and " in noun:
        return "their"
    return "their" if noun.split(" of the ", maxsplit=1)[0].split(" after ", maxsplit=1)[0].endswith("s") else "its"


def lower(text: str) -> str:
    """With a small first letter."""
    return text[:1].lower() + text[1:]


def tidy(text: str) -> str:
    """Without double articles and spaces, and with a capital first letter."""
    for wrong, right in (
        ("the the ", "the "),
        ("the what ", "what "),
        ("The what ", "What "),
        ("the a ", "a "),
        ("  ", " "),
        ("best  ", "best "),
    ):
        text = text.replace(wrong, right)
    return capital(text.strip())
