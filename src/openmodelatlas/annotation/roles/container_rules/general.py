"""Rules that ask for no mechanism: one operation alone, nothing but plumbing, what comes out, and what comes last."""

from __future__ import annotations

from openmodelatlas.annotation.roles.content import Content, Found
from openmodelatlas.annotation.roles.positions import axes_only
from openmodelatlas.graph.naming import spoken


def single(content: Content) -> Found | None:
    """Exactly one operation inside: the node is that operation, under the name of a module or function."""
    if len(content.computing) != 1 or content.node.kind == "loop":
        return None
    if content.plumbing and axes_only(content.board, content.computing[0]):
        return None
    name = content.names.operations[content.computing[0]]
    return name.title, name.sentence, name.role or "operation", name.family


def rearranging(content: Content) -> Found | None:
    """Only views and casts inside: it is named by the one that changes most, a head split first."""
    if not all(axes_only(content.board, each) for each in content.computing):
        return None
    if not content.plumbing:
        what = several([content.names.noun(port.tensor) for port in content.node.inputs])
        return f"Insert axes into the {what}", f"Insert axes of size 1 into the {what}.", "new axes", None
    names = [content.names.operations[address] for address in content.plumbing]
    order = ("head split", "head merge", "head sharing", "token list", "head move")
    best = min(names, key=lambda name: order.index(name.role) if name.role in order else len(order))
    return best.title, best.sentence, best.role or "rearrangement", best.family


def nothing(content: Content) -> Found | None:
    """No operation inside at all."""
    if content.computing or content.plumbing:
        return None
    title = spoken((content.node.function or content.node.title).rpartition(".")[2].strip("_"))
    return (
        f"{title}: no operation",
        "Prepares things; no operation on a tensor was recorded here.",
        "no operation",
        None,
    )


def outputs(content: Content) -> Found | None:
    """What is known of the outputs alone."""
    kinds = content.kinds()
    if not kinds or content.node.kind == "loop":
        return None
    nouns = [content.names.noun(port.tensor) for port in content.node.outputs if content.board.kind(port.tensor)]
    what = several(nouns)
    return f"Prepare the {what}", f"Make the {what}.", f"{kinds[0]}", None


def several(nouns: list[str]) -> str:
    """Nouns in a row, at most two of them told."""
    different = list(dict.fromkeys(nouns))
    if len(different) <= 2:
        return " and the ".join(different)
    return f"{different[0]} and {len(different) - 1} more tensors"


def last(content: Content) -> Found | None:
    """The last operation inside, for what nothing else names."""
    if not content.computing:
        return None
    name = content.names.operations[content.computing[-1]]
    title = spoken((content.node.function or content.node.title).rpartition(".")[2].strip("_"))
    if content.node.kind == "loop":
        return (
            f"Each round: {name.title[:1].lower()}{name.title[1:]}",
            f"In each round: {name.sentence[:1].lower()}{name.sentence[1:]}",
            "loop",
            name.family,
        )
    return title, f"Ends with: {name.title[:1].lower()}{name.title[1:]}.", name.role or "", name.family
