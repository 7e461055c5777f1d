"""The format of a mechanism's entry: what its Markdown file says, decoded and validated.

The file's front matter is decoded strictly (an unknown key is refused); its body gives the sections. The page
``docs/adding-a-mechanism.md`` explains the format with a worked example.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import msgspec

from openmodelatlas.catalogue.idioms import expand
from openmodelatlas.catalogue.pattern import Equation, Pattern

Family = Literal["norm", "attention", "feed-forward", "routing", "embedding", "residual", "state"]
"""What colour means on the site."""

Binds = Literal["input", "parameter", "number", "setting", "output", "intermediate", "index"]
"""What a symbol stands for.

- ``input``: a tensor that the mechanism reads (it may be a parameter, or the result of another operation).
- ``parameter``: a tensor that must be a parameter or buffer of the model.
- ``number``: a number that the code hands to an operation: an epsilon, a scale, a count.
- ``setting``: a number of the configuration that no operation reads, found by its key.
- ``output``: what the reference returns, compared with the captured value.
- ``intermediate``: a tensor on the way; lit in the formula, neither given to the reference nor compared.
- ``index``: only notation (``i``, ``t``, ``d``); bound to nothing.
"""


class Symbol(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    r"""One symbol of the formula; its key is the name that patterns and the reference use.

    Attributes:
        latex: how it is set: ``\gamma``.
        meaning: in words, without a full stop.
        binds: what it stands for.
        shape: named dimensions, ``[B, T, d]``; ``...`` for any leading axes; empty for numbers and indices.
        optional: whether code may do without it; the reference then takes its own default.
        seen: ``here``: the tensor as the operation reads it, after views and transposes; ``source``: as it was before
            them (keys before they are repeated for their group's heads). Outputs are taken at their source, all others
            here, unless this says otherwise.
        setting: for settings: keys of the configuration, dots between nested ones (``rope_parameters.factor``); the
            first that is there is taken.
        implied: for numbers and settings that say which of two ways is taken: whether it is so where neither the code
            nor the configuration says it.
        silent: why the formula need not name it: what it says changes no number (the order of axes, a size). Every
            other symbol that is bound stands in the formula, or decides which of its parts hold.
    """

    latex: str
    meaning: str
    binds: Binds
    shape: tuple[str | int, ...] = ()
    optional: bool = False
    seen: Literal["here", "source"] | None = None
    setting: tuple[str, ...] = ()
    implied: bool = False
    silent: str | None = None

    @property
    def at_source(self) -> bool:
        """Whether its value is the one before views and transposes."""
        return self.seen == "source" or (self.seen is None and self.binds == "output")


class Paper(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the mechanism was described.

    Attributes:
        authors: family names, ``Zhang, Sennrich``; ``et al.`` after the third.
        year: of publication.
        title: as published.
        arxiv: identifier, ``1910.07467``; ``None`` if it is not there.
        url: for what is not on arXiv: a report, a blog, or code with file and lines.
    """

    authors: str
    year: int
    title: str
    arxiv: str | None = None
    url: str | None = None


class Recognition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the mechanism is found.

    Attributes:
        patterns: equations over the data flow (``catalogue.pattern``), one text for each way of writing it.
        hints: words in names of classes, modules and functions that suggest it (lower case, without separators:
            ``rmsnorm``); where they do and no pattern fits, the place is recorded as one that differs.
        unless: entries that say more of the same operations; where one of them holds, this one is not attached.
        rivals: entries that the same operations suggest; where one of them holds, this one is not said to differ.
    """

    patterns: tuple[str, ...]
    hints: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


class Tolerance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tolerance other than the usual 1e-6, and why.

    Attributes:
        relative: largest absolute difference allowed, divided by the largest absolute captured value.
        reason: why float32 code cannot be closer to float64, in one sentence.
    """

    relative: float
    reason: str


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A worked example, shown in the docs and run by the tests.

    Attributes:
        inputs: for every input, parameter and number that the reference takes: nested lists, or a number.
        outputs: for every output: what the reference gives, to at least six digits.
        text: a sentence or two that lead through the numbers.
    """

    inputs: dict[str, Any]
    outputs: dict[str, Any]
    text: str = ""


class FrontMatter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    r"""The front matter of an entry.

    Attributes:
        id: lower-case letters, digits and hyphens; the file is called ``<id>.md``.
        title: name for headings: ``RMSNorm``.
        family: what colour it has on the site.
        sentence: what it is, in one sentence.
        symbols: by name; names are Python identifiers.
        formula: LaTeX in which ``<name>`` stands for a symbol; write ``\lt`` for the sign.
        papers: where it was described.
        recognise: how it is found.
        reference: ``module.function`` of a NumPy function in ``references/``.
        example: a worked example.
        tolerance: only where 1e-6 cannot be had.
    """

    id: str
    title: str
    family: Family
    sentence: str
    symbols: dict[str, Symbol]
    formula: str
    papers: tuple[Paper, ...]
    recognise: Recognition
    reference: str
    example: Example
    tolerance: Tolerance | None = None


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One paragraph or list item of a section.

    Attributes:
        text: may hold LaTeX between dollar signs, code between backticks, and ``{name}`` for the value of a number.
        symbols: names before the text (``- <eps>, <g>: …``): its lines are where these are used, and it is left out
            where one of them is not bound.
        absent: names that must not be bound (``- <!b>: …``).
        types: element types that tensors must have in a model of the published type, by name (``- <x:float32>: …``);
            the note is left out where they do not.
    """

    text: str
    symbols: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    types: dict[str, str] = {}


@dataclass(frozen=True)
class Mechanism:
    """One entry of the catalogue.

    Attributes:
        front: its front matter.
        patterns: parsed, in the order of ``front.recognise.patterns``.
        why: why the mechanism is there (section ``Why``).
        porting: what to watch for (section ``When porting``).
        scope: what it is not (section ``Scope``; may be empty).
        path: the file, for messages.
    """

    front: FrontMatter
    patterns: tuple[Pattern, ...]
    why: tuple[Note, ...]
    porting: tuple[Note, ...]
    scope: tuple[Note, ...]
    path: str

    @property
    def id(self) -> str:
        """Its identifier."""
        return self.front.id

    @cached_property
    def spelt_out(self) -> tuple[Pattern, ...]:
        """The patterns with the idioms in them replaced by the ways of writing them."""
        return tuple(
            Pattern(tuple(Equation(one.names, expand(one.expression)) for one in pattern.equations))
            for pattern in self.patterns
        )

    @property
    def outputs(self) -> tuple[str, ...]:
        """Symbols that the reference returns, in the order of the front matter."""
        return tuple(name for name, symbol in self.front.symbols.items() if symbol.binds == "output")

    @property
    def arguments(self) -> tuple[str, ...]:
        """Symbols that the reference takes by name."""
        return tuple(
            name
            for name, symbol in self.front.symbols.items()
            if symbol.binds in ("input", "parameter", "number", "setting")
        )
