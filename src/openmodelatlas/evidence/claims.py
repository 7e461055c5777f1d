"""Sober sentences about a node that its recording makes true."""

from __future__ import annotations

from collections.abc import Sequence

from openmodelatlas.annotation.counting import in_layers, layers_text
from openmodelatlas.graph.document import Branch, Node


def claim_for(node: Node, name: str | None, own: tuple[int, int] | None, branches: Sequence[Branch] = ()) -> str:
    """What the lines of ``node.code`` prove.

    Args:
        node: the node whose code it is.
        name: qualified name of the function or class that the lines hold, ``None`` if they hold none.
        own: lines of the node's own expression within them; ``None`` if the lines as a whole are the node's code.
        branches: the node's conditions.
    """
    where = f"`{name}`" if name else "this code"
    if node.kind == "branch" and branches:
        return _branch_claim(branches[0], where)
    if own is not None and node.symbol is not None:
        place = f"line {own[0]}" if own[0] == own[1] else f"lines {own[0]}–{own[1]}"
        text = f"In {where}, `{_one_line(node.symbol.text)}` ({place})"
        if node.kind == "layer group":
            return f"{text} runs the {node.label}."
        if node.kind == "operation" and node.function:
            return f"{text} runs `{node.function}`{in_layers(node.members)}."
        return f"{text} is {_article(node)}{in_layers(node.members)}."
    if node.kind in ("module", "model") and node.class_name:
        what = f"is the code of {f'`{node.module}`' if node.module else 'the model'}"
    elif node.function:
        what = f"holds the code that runs as `{node.function}`"
    else:
        what = f"holds the code of {node.label or node.title}"
    return f"{where[:1].upper()}{where[1:]} {what}{in_layers(node.members)}."


_OUTCOMES = {"true": "true in", "false": "false in", "both": "both in turn in"}


def _branch_claim(branch: Branch, where: str) -> str:
    taken = branch.taken
    outcomes = [f"{words} {layers_text(taken[key], branch.by)}" for key, words in _OUTCOMES.items() if taken.get(key)]
    test = _one_line(branch.test)
    return f"In {where}, the condition `{test}` (line {branch.lines.first}) is {'; '.join(outcomes)}."


def _article(node: Node) -> str:
    kind = {"layer group": "a group of layers", "module": "a call of the module", "function": "a call of the function"}
    words = kind.get(node.kind, f"the {node.kind}")
    if node.kind == "module" and node.module:
        return f"{words} `{node.module}`"
    if node.kind == "function" and node.function:
        return f"{words} `{node.function}`"
    return words


def _one_line(text: str) -> str:
    """Source text on one line, cut where it gets long."""
    joined = " ".join(text.split())
    return joined if len(joined) <= 120 else f"{joined[:119]}…"
