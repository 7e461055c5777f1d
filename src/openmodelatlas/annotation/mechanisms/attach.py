"""Writes what was found into the drafts: mechanisms, families, formulas, notes for porting, differences."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from openmodelatlas.annotation.knowledge import Difference, Statement
from openmodelatlas.annotation.material import Draft, Drafts, Material
from openmodelatlas.annotation.mechanisms.evaluate import number, tolerance
from openmodelatlas.annotation.mechanisms.find import Differing, Findings, find
from openmodelatlas.annotation.mechanisms.fit import Fit, Place
from openmodelatlas.annotation.mechanisms.flow import Flow, Operand
from openmodelatlas.annotation.mechanisms.terms import formula_at, formulas_of, latex_of, operand_lines
from openmodelatlas.annotation.mechanisms.where import computing, core_of, is_it, node_of
from openmodelatlas.catalogue.entry import Mechanism, Note
from openmodelatlas.catalogue.load import Catalogue, formula_symbols
from openmodelatlas.graph.document import Lines, Node

_SYMBOL = re.compile(r"<([A-Za-z_]\w*)>")
_FUNCTION = re.compile(r"\\operatorname\{(\w+)\}")
_PLAIN = frozenset({"softmax", "SiLU", "GELU", "softplus", "clip", "top", "Diag"})
LOWEST = {-65504.0: "float16", -3.3895313892515355e38: "bfloat16", -3.4028234663852886e38: "float32"}
"""Numbers that code takes from an element type, which is what they are and not what they amount to."""

_NUMBER = re.compile(r"(?<![\w}^\\]){([A-Za-z_]\w*)}")


def attach(material: Material, drafts: Drafts, catalogue: Catalogue) -> Findings:
    """Attaches the mechanisms of ``catalogue``; what was found is also given back."""
    flow = Flow(material.document)
    findings = find(flow, material.arrays, catalogue, drafts)
    at_node: dict[str, dict[str, list[Place]]] = {}
    whole: dict[str, list[Place]] = {}
    for places in findings.places.values():
        for found in places:
            mechanism = catalogue.mechanisms[found.mechanism]
            with drafts.spare_all(f"A place of {mechanism.front.title}"):
                core = core_of(flow, found.fit, mechanism) or found.fit.operations
                place = replace(found, fit=replace(found.fit, operations=core))
                node = node_of(flow, core, _makers(flow, found.fit, mechanism))
                at_node.setdefault(node.address, {}).setdefault(place.mechanism, []).append(place)
                if is_it(flow, node, place.fit, place.outputs, mechanism.arguments):
                    whole.setdefault(node.address, []).append(place)
    for address, by_mechanism in at_node.items():
        node = material.document.nodes[address]
        with drafts.spare(address, "formula"):
            _attach(flow, node, drafts, catalogue, by_mechanism, _main(whole.get(address, ())))
    with drafts.spare_all("Differences from the catalogue"):
        for differing in findings.differing:
            _differs(flow, drafts, catalogue, differing)
        _hinted(flow, drafts, catalogue, findings)
    return findings


def _makers(flow: Flow, fit: Fit, mechanism: Mechanism) -> frozenset[str]:
    """Addresses of the operations that give the outputs."""
    made = [flow.producers.get(fit.bound[name].tensor or "") for name in mechanism.outputs if name in fit.bound]
    return frozenset(one[0].address for one in made if one is not None)


def _main(places: Sequence[Place]) -> str | None:
    """The mechanism that a node is: the one that covers most of it; the most specific one of those."""
    if not places:
        return None
    most = max(len(place.fit.operations) for place in places)
    return [place.mechanism for place in places if len(place.fit.operations) == most][-1]


def _attach(
    flow: Flow, node: Node, drafts: Drafts, catalogue: Catalogue, found: dict[str, list[Place]], main: str | None
) -> None:
    draft = drafts.nodes[node.address]
    order = sorted(found, key=lambda identifier: (identifier != main, _start(flow, found[identifier])))
    symbols = {**drafts.tensor_symbols, **draft.symbols}  # what the page itself calls a tensor comes first
    ports = (port.tensor for port in (*node.inputs, *node.outputs) if port.tensor in symbols)
    page = {tensor: symbols[tensor] for tensor in ports} | draft.symbols
    noted: set[tuple[str | None, Any]] = set()
    for identifier in order:
        mechanism, places = catalogue.mechanisms[identifier], found[identifier]
        if identifier != main and _is_said(places, catalogue, found):
            draft.mechanisms.append(identifier)
            continue
        if node.kind != "operation" or len(places[0].fit.operations) > 1:  # else the operation's own formula says it
            draft.formulas.extend(formulas_of(flow, mechanism, places, symbols, page))
        if identifier == main:
            _name(draft, mechanism)
            draft.mechanism = identifier
            if mechanism.why:
                text = " ".join(note.text for note in mechanism.why)
                draft.explanation.append(Statement(text=text, lines=_own_lines(node)))
        else:
            draft.mechanisms.append(identifier)
            draft.family = draft.family or mechanism.front.family
        latex = latex_of(mechanism, places, symbols, page)
        draft.explanation.extend(_notes(flow, node, mechanism, places[0], latex, noted))


def _start(flow: Flow, places: Sequence[Place]) -> int:
    """Where in the flow a mechanism begins."""
    return min(flow.order[address] for place in places for address in place.fit.operations)


def _is_said(places: Sequence[Place], catalogue: Catalogue, found: Mapping[str, list[Place]]) -> bool:
    """Whether another mechanism at the same node builds on this one and says all of it.

    It does where it covers the same operations, or more of them in a formula that names no other function.
    """
    own = {place.fit.operations for place in places}
    for other, others in found.items():
        mechanism = catalogue.mechanisms[other]
        if other == places[0].mechanism or not _builds_on(mechanism, places[0].mechanism):
            continue
        covered = {place.fit.operations for place in others}
        if own <= covered:
            return True
        if _spells_out(mechanism) and all(any(one < more for more in covered) for one in own):
            return True
    return False


def _builds_on(mechanism: Mechanism, other: str) -> bool:
    return any(other in pattern.mechanisms() for pattern in mechanism.patterns)


def _spells_out(mechanism: Mechanism) -> bool:
    """Whether a formula is written in plain functions alone, so that nothing in it has a formula elsewhere."""
    return set(_FUNCTION.findall(mechanism.front.formula)) <= _PLAIN


def _name(draft: Draft, mechanism: Mechanism) -> None:
    draft.family = mechanism.front.family
    draft.title = draft.title or mechanism.front.title
    draft.sentence = draft.sentence or mechanism.front.sentence


def _notes(
    flow: Flow,
    node: Node,
    mechanism: Mechanism,
    place: Place,
    latex: Mapping[str, str],
    noted: set[tuple[str | None, Any]],
) -> Iterator[Statement]:
    """Notes for porting that hold here, with the lines of their symbols; of the same numbers (``noted``) only once."""
    bound = place.fit.bound
    shown = frozenset(formula_symbols(formula_at(mechanism, bound)))
    for note in mechanism.porting:
        if not all(name in bound for name in note.symbols) or any(name in bound for name in note.absent):
            continue
        if not _has_types(flow, note, bound) or any(math.isinf(value) for value in _numbers(note, bound)):
            continue
        numbers = {
            (bound[name].reader, str(bound[name].number))
            for name in note.symbols
            if mechanism.front.symbols[name].binds == "number" and bound[name].reader is not None
        }
        if numbers and numbers <= noted:
            continue
        noted |= numbers
        lines = [line for name in (*note.symbols, *note.types) for line in operand_lines(flow, bound[name])]
        text = note_text(note, bound, latex, shown)
        yield Statement(text=text, lines=tuple(dict.fromkeys(lines)) or _own_lines(node))


def _numbers(note: Note, bound: Mapping[str, Operand]) -> Iterator[float]:
    """The numbers that a note tells; of infinities, which bound nothing, it has nothing to say."""
    for name in _NUMBER.findall(note.text):
        value = _published(bound[name]) if name in bound else None
        if isinstance(value, float):
            yield value


def _published(operand: Operand) -> Any:
    """A number as published, else as in the probe."""
    return number(operand.published if operand.published is not None else operand.number)


def _has_types(flow: Flow, note: Note, bound: Mapping[str, Operand]) -> bool:
    """Whether the tensors that a note speaks of have the types that it names, where they are made."""
    for name, dtype in note.types.items():
        tensor = bound[name].tensor if name in bound else None
        fact = flow.fact(tensor or "")
        parameter = flow.document.parameters.get(tensor or "")
        made_in = parameter.dtype if parameter is not None else None
        if fact is not None and fact.dtype_note is None:
            made_in = fact.dtype
        if made_in != dtype:
            return False
    return True


def note_text(note: Note, bound: Mapping[str, Operand], latex: Mapping[str, str], shown: frozenset[str]) -> str:
    """The note behind those symbols of the formula that it is about, ``{name}`` replaced by the number as published."""

    def fill(match: re.Match[str]) -> str:
        operand = bound.get(match[1])
        if operand is None:
            return match[0]
        value = _published(operand)
        in_math = note.text[: match.start()].count("$") % 2 == 1
        lowest = LOWEST.get(value) if isinstance(value, float) and not in_math else None
        return _number_text(value, in_math=in_math) + (f", the lowest number of {lowest}" if lowest is not None else "")

    def name_symbol(match: re.Match[str]) -> str:
        in_math = text[: match.start()].count("$") % 2 == 1
        return latex.get(match[1], match[0]) if in_math else f"${latex.get(match[1], match[0])}$"

    symbols = ", ".join(f"${latex[name]}$" for name in note.symbols if name in shown and latex[name])
    text = _NUMBER.sub(fill, note.text)
    text = _SYMBOL.sub(name_symbol, text)
    return f"{symbols}: {text}" if symbols else text


def _number_text(value: Any, *, in_math: bool) -> str:
    """A number in a sentence: powers of ten as they are written by hand."""
    if isinstance(value, list):
        return ", ".join(_number_text(item, in_math=in_math) for item in value)
    if not isinstance(value, float):
        return str(value)
    factor, _, exponent = f"{value:g}".partition("e")
    if not exponent:
        return factor
    power = rf"10^{{{int(exponent)}}}" if factor == "1" else rf"{factor} \cdot 10^{{{int(exponent)}}}"
    return power if in_math else f"${power}$"


def _own_lines(node: Node) -> tuple[Lines, ...]:
    if node.code is not None and node.kind in ("module", "function"):
        return (node.code,)
    return (node.symbol.lines,) if node.symbol is not None else ()


def _differs(flow: Flow, drafts: Drafts, catalogue: Catalogue, differing: Differing) -> None:
    mechanism, outcome = catalogue.mechanisms[differing.mechanism], differing.outcome
    core = core_of(flow, differing.fit, mechanism) or differing.fit.operations
    node = node_of(flow, core, _makers(flow, differing.fit, mechanism))
    made = flow.document.nodes[flow.producers[flow.base(differing.fit.root)][0].address]
    error = outcome.error
    if error is None or error == float("inf"):
        far = f"({outcome.detail})"
    else:
        name = outcome.worst or mechanism.outputs[0]
        text = differing.fit.bound[name].seen
        far = (
            f"`{text}` differs by {error:.1e} of its largest value, where {tolerance(mechanism):g} is the most allowed"
        )
    title = mechanism.front.title
    drafts.nodes[node.address].differences.append(
        Difference(
            mechanism=mechanism.id,
            text=f"The operations have the structure of {title}, but its formula gives other values: {far}.",
            lines=(made.symbol.lines,) if made.symbol is not None else (),
        )
    )


def _hinted(flow: Flow, drafts: Drafts, catalogue: Catalogue, findings: Findings) -> None:
    """Names that suggest a mechanism which was not found there."""
    document = flow.document
    named = [(node, _bare_name(node)) for node in document.nodes.values() if node.kind in ("module", "function")]
    for mechanism in catalogue.mechanisms.values():
        hints = mechanism.front.recognise.hints
        if not hints:
            continue
        family = (name for name, other in catalogue.mechanisms.items() if other.front.family == mechanism.front.family)
        covered = {
            operation
            for other in (*family, *mechanism.front.recognise.rivals)
            for place in findings.places.get(other, ())
            for operation in place.fit.operations
        }
        for node, name in named:
            if not any(hint in name for hint in hints):
                continue
            inside = flow.operations.keys() & computing(document, node)
            if not inside or inside & covered:
                continue
            draft = drafts.nodes[node.address]
            if any(difference.mechanism == mechanism.id for difference in draft.differences):
                continue
            draft.differences.append(
                Difference(
                    mechanism=mechanism.id,
                    text=f"The name suggests {mechanism.front.title}; the operations here do not compute its formula.",
                    lines=_own_lines(node),
                )
            )


def _bare_name(node: Node) -> str:
    """The name of a class or function in lower-case letters and digits."""
    return re.sub(r"[^a-z0-9]", "", (node.class_name or (node.function or "").rpartition(".")[2]).lower())
