"""What is known of nodes beyond the facts of the recording: names, roles, mechanisms, formulas, explanations, claims.

The hand-over from ``annotation`` to the drawings, the bundle and the site. Texts may hold LaTeX between dollar signs
and code between backticks; both are escaped and set by whoever shows them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from openmodelatlas.catalogue.entry import Family
from openmodelatlas.graph.document import Lines

KNOWLEDGE_FORMAT = 1

Verdict = Literal["checked", "differs", "not checked"]


class FormulaCheck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a formula, evaluated in NumPy float64 on the values of the probe, gives the captured result.

    Attributes:
        verdict: ``checked``: within the tolerance; ``differs``: beyond it; ``not checked``: see ``detail``.
        error: largest absolute difference divided by the largest absolute captured value; ``None`` if not evaluated.
        detail: what was compared, or the reason why it could not be.
        missing: whether that reason is a captured value that is not at hand.
    """

    verdict: Verdict
    error: float | None
    detail: str
    missing: bool = False


class Term(msgspec.Struct, frozen=True, kw_only=True):
    r"""One term of a formula: what lights with it in the diagram, among inputs and outputs, and in the code.

    Attributes:
        id: short words, lower-case letters, digits and hyphens, unique on the page; in the formula's LaTeX the term
            stands in ``\htmlData{light=<id>}{…}`` (several ids separated by spaces light together).
        latex: how it is set, ``\bar{s}_n``.
        meaning: what it is, in words, without a full stop.
        addresses: nodes and tensors that it stands for, and true names of parameters.
        lines: its characters in the code.
    """

    id: str
    latex: str
    meaning: str
    addresses: tuple[str, ...] = ()
    lines: tuple[Lines, ...] = ()


class Formula(msgspec.Struct, frozen=True, kw_only=True):
    r"""A formula, stored once: set on the page, exported as LaTeX, evaluated on the node's own values.

    Attributes:
        latex: with its terms in ``\htmlData{light=…}{…}``.
        terms: in order of appearance.
        check: the verdict of its evaluation.
        mechanism: identifier in the catalogue of the mechanism whose formula it is; ``None`` if it was composed from
            operations.
    """

    latex: str
    terms: tuple[Term, ...]
    check: FormulaCheck
    mechanism: str | None = None


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence or two of explanation, with the lines that prove it."""

    text: str
    lines: tuple[Lines, ...] = ()


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence about code, with the lines that prove it.

    Attributes:
        id: short name: ``block-forward``.
        text: the sentence.
        lines: what proves it.
        sha256: of the text of the lines in UTF-8, each ended by a line feed.
        of: address of the node whose code the lines are, where that is not the node itself but what its values went
            through on their way: context.
    """

    id: str
    text: str
    lines: Lines
    sha256: str
    of: str | None = None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A mechanism that the code resembles, but whose reference does not give what the code gives.

    Attributes:
        mechanism: identifier in the catalogue.
        text: what differs, and how far.
        lines: where.
    """

    mechanism: str
    text: str
    lines: tuple[Lines, ...] = ()


class NodeKnowledge(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""What is known of one node.

    Attributes:
        title: name from its role or mechanism, ``Add attention update``; ``None`` keeps the automatic one.
        label: what a breadcrumb says, where that is another; ``None`` keeps the automatic one.
        sentence: what it is, in one sentence or two.
        role: structural role (``residual addition``), ``None`` if none was found.
        family: for its colour, ``None`` if it belongs to none.
        mechanism: identifier in the catalogue of the mechanism that this node is (checked), else ``None``.
        mechanisms: identifiers of further mechanisms whose code lies in this node's own statements (checked).
        symbols: LaTeX of the tensors and parameters on this page, by tensor address or true parameter name:
            ``{"layers/first/output": "s'_n"}``.
        formulas: the node's formula first, then those of ``mechanisms``.
        explanation: for this place in this model.
        claims: direct ones.
        differences: mechanisms that were tried and do not hold here.
    """

    title: str | None = None
    label: str | None = None
    sentence: str | None = None
    role: str | None = None
    family: Family | None = None
    mechanism: str | None = None
    mechanisms: tuple[str, ...] = ()
    symbols: dict[str, str] = {}
    formulas: tuple[Formula, ...] = ()
    explanation: tuple[Statement, ...] = ()
    claims: tuple[Claim, ...] = ()
    differences: tuple[Difference, ...] = ()


class Unmatched(msgspec.Struct, frozen=True, kw_only=True):
    """A node of which something could not be found, and why."""

    address: str
    what: Literal["name", "formula", "evaluation", "explanation", "evidence"]
    reason: str


class Knowledge(msgspec.Struct, frozen=True, kw_only=True):
    """Knowledge of one atlas.

    Attributes:
        format: ``KNOWLEDGE_FORMAT``.
        nodes: by address; nodes of which nothing is known are absent.
        unmatched: what could not be found.
        notes: sentences that concern the whole atlas.
    """

    format: int = KNOWLEDGE_FORMAT
    nodes: dict[str, NodeKnowledge] = {}
    unmatched: tuple[Unmatched, ...] = ()
    notes: tuple[str, ...] = ()
