"""Finds the node somebody means: by address, by true module name, or by parameter name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from openmodelatlas.errors import UsageError
from openmodelatlas.graph.document import Document, Node

_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.(?:\w+|\*))*")


def resolve(document: Document, name: str) -> Node:
    """The node called ``name``.

    ``name`` is an address (``layers/dense/self-attn``, also with the model's identifier before it), the true name of a
    module (``model.layers.0.self_attn``; leading parts may be missing, layer numbers count from 0 as in the code), or
    the true name of a parameter, which gives the module that owns it. Of several nodes for one module, such as its runs
    in prefill and decoding, the first in order of execution is meant.

    Raises:
        UsageError: nothing is called that, or several different modules are; the message lists what comes close.
    """
    address = name.strip().strip("/")
    if address.startswith(f"{document.model}/"):
        address = address[len(document.model) + 1 :]
    if address == document.model and address not in document.nodes:
        address = ""
    if address in document.nodes:
        return document.nodes[address]
    if _MODULE.fullmatch(address):
        found = _by_module(document, address) or _by_parameter(document, address)
        patterns = {node.module for node in found}
        if len(patterns) == 1:
            return found[0]
        if found:
            some = ", ".join(f"{node.module} ({node.address})" for node in found[:5])
            raise UsageError(f"{name!r} may mean {len(found)} places of {document.model}: {some}.")
    raise UsageError(f"{document.model} has nothing called {name!r}.", advice=_advice(document, address))


def close_matches(document: Document, name: str, limit: int = 5) -> tuple[str, ...]:
    """Addresses and module names that resemble ``name``, best first."""
    modules = {node.module for node in document.nodes.values() if node.module}
    candidates: Iterable[str] = [*document.nodes, *sorted(modules)]
    close = difflib.get_close_matches(name, candidates, n=limit, cutoff=0.6)
    if len(close) < limit:
        last = re.split(r"[/.]", name)[-1].replace("_", "-")
        # Plumbing and tensors are rarely what is meant: shallow addresses come first.
        for address in sorted(document.nodes, key=lambda text: (text.count("/"), text)):
            if last and address.rsplit("/", 1)[-1] == last and address not in close:
                close.append(address)
            if len(close) >= limit:
                break
    return tuple(close)


def _advice(document: Document, name: str) -> str:
    close = close_matches(document, name)
    if close:
        return f"Close to it: {', '.join(close)}."
    return f"`oma tree {document.model}` lists what there is."


def _by_module(document: Document, name: str) -> list[Node]:
    """Nodes whose module is ``name`` or ends with it."""
    return _best(name, ((node.module, node) for node in document.nodes.values() if node.module is not None))


def _by_parameter(document: Document, name: str) -> list[Node]:
    """Nodes of the modules that own a parameter called ``name``, or ending with it."""
    return _best(
        name,
        (
            (pattern, document.nodes[parameter.owner])
            for parameter in document.parameters.values()
            if parameter.owner in document.nodes
            for pattern in (parameter.name, *parameter.aliases)
        ),
    )


def _best(name: str, candidates: Iterable[tuple[str, Node]]) -> list[Node]:
    """The nodes whose pattern fits ``name`` best: fewest missing parts, then most specific, then fewest layers."""
    wanted = name.split(".")
    best: list[Node] = []
    best_score: tuple[int, int, int] | None = None
    for pattern, node in candidates:
        parts = pattern.split(".")
        missing = _missing_parts(parts, wanted, node.members)
        if missing is None:
            continue
        # Parts that were not given choose nothing: `self_attn` alone does not mean that of the first layer.
        given = parts[missing:]
        stars = given.count("*")
        score = (missing, stars, len(node.members) if stars and "*" not in parts[:missing] else 0)
        if best_score is None or score < best_score:
            best, best_score = [node], score
        elif score == best_score:
            best.append(node)
    return best


def _missing_parts(pattern: list[str], wanted: list[str], members: tuple[int, ...]) -> int | None:
    """How many leading parts of ``pattern`` are not in ``wanted``; ``None`` if it does not match.

    A ``*`` stands for a number. The first one is the layer's and must be among ``members`` (which count from 1).
    """
    missing = len(pattern) - len(wanted)
    if missing < 0:
        return None
    first_star = pattern.index("*") if "*" in pattern else -1
    for position, (part, given) in enumerate(zip(pattern[missing:], wanted, strict=True), start=missing):
        if part == "*":
            if given == "*":
                continue
            if not given.isdecimal():
                return None
            if position == first_star and members and int(given) + 1 not in members:
                return None
        elif part != given:
            return None
    return missing
