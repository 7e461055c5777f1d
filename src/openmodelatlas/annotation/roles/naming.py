"""Names of everything that computes or rearranges, from the places found and, failing these, from what it does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from openmodelatlas.annotation.operations import describe_operation
from openmodelatlas.annotation.roles.board import Board, Place
from openmodelatlas.annotation.roles.generic import GENERIC
from openmodelatlas.annotation.roles.names import Name, Names, lower, their, tidy, variable_noun
from openmodelatlas.annotation.roles.phrases import phrases
from openmodelatlas.annotation.roles.plumbing import plumbing_name
from openmodelatlas.annotation.roles.positions import axes_only
from openmodelatlas.annotation.roles.view import MOVING
from openmodelatlas.annotation.roles.vocabulary import KINDS
from openmodelatlas.annotation.roles.wordings import PLACES
from openmodelatlas.graph.naming import capital
from openmodelatlas.shapes.dimension import Constant, Symbolic

ACTIVATION_NAMES = {
    "silu": "SiLU",
    "gelu": "GELU",
    "relu": "ReLU",
    "sigmoid": "a sigmoid",
    "softmax": "a softmax",
    "tanh": "the hyperbolic tangent",
    "softplus": "softplus",
    "mish": "Mish",
}


_AFTER = re.compile(r"\b(?:of|at|in|by|from|with|and|plus|minus) \Z")
"""Words after which an operand keeps its article within the name of a result."""

NORMS = {"layer norm": "Layer norm", "rms norm": "RMSNorm"}
NORM_ENDS = {
    "attention input": "{} before attention",
    "feed-forward input": "{} before the feed-forward network",
    "mixer input": "{} before the mixer",
    "final features": "Final {}",
}
"""Titles of norms by who reads the result."""


def name_operations(board: Board) -> Names:
    """Name every operation, kernel and view, in order of execution."""
    names = Names(board)
    for address, node in board.view.nodes.items():
        if not board.view.computes(node):
            continue
        place = board.places.get(address)
        names.at = address
        if node.plumbing:
            name = plumbing_name(names, address)
        elif place is not None:
            name = _placed(names, address, place)
        else:
            name = _generic(names, address)
        names.operations[address] = name
        for port in node.outputs:
            phrase = name.result
            if phrase and len(phrase.split()) <= 5:
                names.phrases[port.tensor] = phrase
            else:
                fact = node.outputs and board.view.fact(port.tensor)
                variable = fact.variable if fact else None
                names.phrases[port.tensor] = variable_noun(variable) or "features"
    return names


_NUMBERS = ("1", "other", "0", "input", "exponent", "value", "fill_value")
"""Arguments that an operation's number may be, by position or name."""


def _placed(names: Names, address: str, place: Place) -> Name:
    wording = PLACES[place.name]
    fields = _fields(names, address, place)
    family = wording.family
    kind = names.board.kind(names.board.view.output(address))
    if family is None and kind in KINDS:
        family = KINDS[kind].family
    result = wording.result.format(**fields)
    said = fields | {"number": _number_in_words(names, address, fields["number"])}
    title = wording.title.format(**fields)
    if place.name in NORMS and kind in NORM_ENDS:
        title = NORM_ENDS[kind].format(NORMS[place.name])
    return Name(
        title=tidy(title),
        sentence=tidy(wording.sentence.format(**said)),
        result=result,
        role=wording.role.format(**fields),
        family=family,
    )


def _fields(names: Names, address: str, place: Place) -> dict[str, str]:
    view = names.board.view
    node = view.nodes[address]
    word = view.word(address)
    activation = ACTIVATION_NAMES.get(place.words.get("activation", ""), place.words.get("activation", ""))
    weight = _weights_of(names, address) if place.name == "expert matrix" else "weights"
    general = GENERIC.get(word, (word.replace("_", " "), word))[0]
    return {
        "x": names.noun(place.x),
        "y": names.noun(place.y),
        "xs": names.stem(place.x),
        "ys": names.stem(place.y),
        "Xs": capital(names.stem(place.x)),
        "activation": activation,
        "number": number_text(node.arguments, node.published),
        "word": word.replace("_", " "),
        "does": lower(imperative(describe_operation(node.function or "", node.arguments))),
        "Verb": "Divide" if word == "divide" else "Multiply",
        "k": count_text(node.arguments, node.published, ("1", "k")) if word == "topk" else "",
        "n": _last_size(names, place.x),
        **_groups(
            count_text(node.arguments, node.published, ("1", "k")) if word == "topk" else "", _last_size(names, place.x)
        ),
        "for": _biased(names, address) if place.name == "expert bias" else "",
        "weight": weight,
        "Weight": capital(weight),
        "general": general,
        "step": _step(
            word,
            number_text(node.arguments, node.published),
            general.format(x=f"the {names.noun(place.x)}", y="the others"),
        ),
        "affine": _affine(names, address),
        "pairs": place.words.get("pairs", ""),
        "their": their(names.noun(place.x)),
        **phrases(names, address, place),
    }


def _affine(names: Names, address: str) -> str:
    """What a norm in one function does with its parameters."""
    view = names.board.view
    count = sum(view.is_weight(tensor) for tensor in view.inputs(address))
    return ("", ", then apply the gain", ", then apply gain and bias")[min(count, 2)]


def _step(word: str, number: str, general: str) -> str:
    """A short title of one step of a longer computation."""
    verbs = {
        "multiply": "Multiply by",
        "divide": "Divide by",
        "add": "Add",
        "pow": "Raise to the power",
        "clamp": "Clamp",
    }
    if word in verbs and number != "a constant":
        return f"{verbs[word]} {number}"
    return {
        "multiply": "Multiply the parts",
        "add": "Add the parts",
        "subtract": "Subtract the parts",
        "divide": "Divide the parts",
        "neg": "Change the sign",
        "tanh": "Take the hyperbolic tangent",
        "erf": "Take the error function",
        "exp": "Take the exponential",
        "log": "Take the logarithm",
        "where": "Choose between the parts",
        "gt": "Compare with a bound",
        "sigmoid": "Take the sigmoid",
    }.get(word, general)


def _weights_of(names: Names, address: str) -> str:
    """What the matrix of an expert is for, by the projection that reads it."""
    board = names.board
    for reader in board.view.readers(board.view.output(address) or ""):
        place = board.places.get(reader)
        if place is not None and place.name == "projection":
            return f"{names.stem(place.x)} weights"
        if place is not None and place.name in ("down projection", "up projection"):
            return f"{place.name.split(' ')[0]} weights"
    return "weights"


def _generic(names: Names, address: str) -> Name:
    view = names.board.view
    node = view.nodes[address]
    word = "square" if view.squares(address) else view.word(address)
    inputs = view.inputs(address)
    operands = [f"the {names.noun(tensor)}" for tensor in inputs]
    if word in ("cat", "stack") and len(operands) > 1:
        operands = [_listed(dict.fromkeys(operands[:-1])), operands[-1]] if len(set(operands)) > 1 else operands[:1]
    number = number_text(node.arguments, node.published)
    first = operands[0] if operands else number
    second = operands[1] if len(operands) > 1 else number
    template, result = GENERIC.get(word, (capital(word.replace("_", " ")) + " of {x}", word.replace("_", " ")))
    if word in ("cat", "stack") and len(operands) < 2:
        template, result = "Join {x}", "joined {x}"
    title = template.format(x=first, y=second)
    named = {
        place: operand if _AFTER.search(result.partition(place)[0]) else operand.removeprefix("the ")
        for place, operand in (("{x}", first), ("{y}", second))
    }
    bare = result.format(x=named["{x}"], y=named["{y}"])
    sentence = imperative(describe_operation(node.function or "", {**node.arguments, **node.published}))
    sentence = with_operands(sentence, list(dict.fromkeys(operands)))
    kinds = {names.board.kind(tensor) for tensor in inputs} - {None}
    family = next((KINDS[kind].family for kind in kinds if kind in KINDS), None)
    part, _ = names.board.parts.get(view.root(view.outputs(address)[0]), ("", "")) if node.outputs else ("", "")
    if word == "getitem" and axes_only(names.board, address):
        noun = operands[0].removeprefix("the ")
        title, sentence, bare = f"Insert an axis into the {noun}", f"Insert an axis of size 1 into the {noun}.", noun
    elif part and word == "getitem":
        bare = f"{part} of {operands[0]}"
        title, sentence = capital(bare), f"Take the {bare}."
    elif "in the probe" in sentence and word != "getitem":
        sentence = f"{tidy(title)}."
    elif "in the probe" in sentence:
        title, sentence, bare = _of_round(names, address, operands)
    made = names.board.kind(view.outputs(address)[0]) if node.outputs else None
    if word in ("cat", "stack") and made in KINDS and len(inputs) > 1:
        noun = KINDS[made].noun
        sentence = sentence.replace(
            " and ".join(dict.fromkeys(f"the {names.noun(each)}" for each in inputs)), f"the parts of the {noun}"
        )
        return Name(f"Join the parts of the {noun}", sentence, noun, f"join of the {noun}", KINDS[made].family)
    moved = names.board.kind(inputs[0]) if inputs and word in MOVING else None
    role = f"part of the {names.noun(inputs[0])}" if moved is not None else None
    return Name(tidy(title), sentence, bare, role, family)


def _of_round(names: Names, address: str, operands: list[str]) -> tuple[str, str, str]:
    """A part whose bounds differ from round to round, or are known of the probe only."""
    view = names.board.view
    noun = operands[0].removeprefix("the ") if operands else "features"
    if any(view.nodes[enclosing].kind == "loop" for enclosing in view.enclosing(address)):
        return f"{capital(noun)} of this round", f"Take the part of the {noun} for this round.", f"{noun} of this round"
    return f"Take a part of the {noun}", f"Take a part of the {noun}.", f"part of the {noun}"


def _listed(items: Mapping[str, Any]) -> str:
    return ", ".join(items)


def _groups(kept: str, of: str) -> dict[str, str]:
    """How groups are kept: where all are, the choice changes nothing."""
    if kept and kept == of:
        which = "only group" if kept == "1" else f"{kept} groups, which are all"
        none = "there is no other" if kept == "1" else "there are no others"
        return {"Groups": f"Keep the {which}", "groups": f"Choose the {which}: {none}, so that nothing is left out."}
    best = "group with the best score" if kept == "1" else f"{kept} groups with the best scores"
    return {"Groups": f"Keep the best {kept} of {of} groups", "groups": f"Choose the {best}."}


def _biased(names: Names, address: str) -> str:
    """What the bias of an expert is added to."""
    view = names.board.view
    output = view.output(address)
    for reader in view.readers(output) if output is not None else ():
        others = [tensor for tensor in view.inputs(reader) if view.root(tensor) != view.root(output or "")]
        if view.word(reader) == "add" and len(others) == 1 and names.kind(others[0]) is not None:
            return f" for the {names.noun(others[0])}"
    return ""


def _last_size(names: Names, tensor: str | None) -> str:
    shape = names.board.view.shape(tensor) if tensor is not None else ()
    if not shape:
        return "all"
    last = shape[-1]
    if isinstance(last, (Symbolic, Constant)) and last.value is not None:
        return str(last.value)
    return "all"


def _number_in_words(names: Names, address: str, number: str) -> str:
    """A number for a sentence; one that is computed from a size with how, since 0.0883883 tells nobody anything."""
    node = names.board.view.nodes[address]
    for key in _NUMBERS:
        latex = names.scaling.latex(node.arguments.get(key), node.published.get(key))
        if latex is not None:
            return f"${latex}$, {number} at the published sizes"
    return number


def number_text(arguments: Mapping[str, Any], published: Mapping[str, Any]) -> str:
    """A number among the arguments at the published configuration; "a constant" where only the probe's is known."""
    for key in _NUMBERS:
        value = published.get(key, arguments.get(key))
        if isinstance(value, Mapping):
            inner = value.get("value")
            if isinstance(inner, (int, float)) and not isinstance(inner, bool):
                return _signed(inner)
            if "probe" in value or "size" in value:
                return "a constant"
            continue
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _signed(value)
    return "a constant"


def _signed(value: float) -> str:
    """A number with the sign of a negative one that is printed."""
    return f"−{-value:.6g}" if value < 0 else f"{value:.6g}"


def count_text(arguments: Mapping[str, Any], published: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """A count among the arguments at the published configuration; empty where it is not known."""
    for key in keys:
        value = published.get(key, arguments.get(key))
        if isinstance(value, Mapping):
            value = value.get("value")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def imperative(sentence: str) -> str:
    """The operation table's sentence with its first verb in the imperative: ``Adds its inputs`` to ``Add …``."""
    first, space, rest = sentence.partition(" ")
    if first.endswith("ies"):
        first = first[:-3] + "y"
    elif first.endswith("s") and first not in ("Is", "Gates"):
        first = first[:-1]
    return first + space + rest


def with_operands(sentence: str, operands: list[str]) -> str:
    """The sentence with its inputs named."""
    if not operands:
        return sentence
    first = operands[0]
    second = operands[1] if len(operands) > 1 else first
    for words, noun in (
        ("its inputs", " and ".join(operands)),
        ("of its first input", f"of {first}"),
        ("its first input", first),
        ("its input", first),
        ("the first input", first),
        ("the second input", second),
        ("another tensor", second),
    ):
        sentence = sentence.replace(words, noun)
    return sentence
