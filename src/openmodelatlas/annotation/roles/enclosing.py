"""Names of what encloses operations: modules, functions, loops, branches, groups of layers, phases and the model."""

from __future__ import annotations

from openmodelatlas.annotation.material import Drafts
from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.container_rules import RULES
from openmodelatlas.annotation.roles.content import Content, Found, contents
from openmodelatlas.annotation.roles.generic import GENERIC
from openmodelatlas.annotation.roles.masks import COMPARISONS
from openmodelatlas.annotation.roles.names import Name, Names, lower, tidy
from openmodelatlas.annotation.roles.wholes import WHOLES
from openmodelatlas.annotation.roles.wordings import PLACES
from openmodelatlas.graph.naming import capital

_COUNTS = {2: "two", 3: "three"}


def name_enclosing(board: Board, names: Names, drafts: Drafts) -> None:
    """Name every node that encloses others by what lies in it."""
    every = contents(board, names)
    for address in reversed(list(every)):
        content = every[address]
        names.at = address
        found = _found(content)
        if found is None:
            continue
        draft = drafts.nodes[address]
        draft.title, draft.sentence, draft.role, draft.family = found
    _inner(board, names, drafts)
    _branches(every, drafts)


def _inner(board: Board, names: Names, drafts: Drafts) -> None:
    """An operation that is all its module or function does has a title of its own: what it computes."""
    for address in names.operations:
        node, draft = board.view.nodes[address], drafts.nodes[address]
        around = board.view.nodes.get(node.parent or "")
        if around is None or around.kind not in ("module", "function"):
            continue
        if draft.title and draft.title == drafts.nodes[around.address].title:
            draft.title = own_title(board, names, address) or draft.title


def _found(content: Content) -> Found | None:
    kind = content.node.kind
    if kind in WHOLES:
        return WHOLES[kind](content)
    for rule in RULES:
        found = rule(content)
        if found is not None:
            return found
    return None


def _branches(every: dict[str, Content], drafts: Drafts) -> None:
    """A branch is named by what its statement does in general: what ran here, and in other layers."""
    twins: dict[tuple[str, str, int, int], list[str]] = {}
    for address, content in every.items():
        if content.node.kind == "branch" and content.node.branches:
            lines = content.node.branches[0].lines
            twins.setdefault((content.node.phase, lines.file, lines.first, lines.last), []).append(address)
    for addresses in twins.values():
        options = dict[str, str]()
        for address in addresses:
            for child in every[address].node.children:
                draft = drafts.nodes.get(child)
                if draft is not None and draft.title and every[address].board.view.nodes[child].kind != "tensor":
                    options.setdefault(draft.title, child)
        for address in addresses:
            _branch(every[address], drafts, list(options.values()))


def _branch(content: Content, drafts: Drafts, options: list[str]) -> None:
    draft = drafts.nodes[content.node.address]
    test, by = content.node.branches[0].test, content.node.branches[0].by
    place = content.board.regions.get(content.node.address)
    if place is not None:
        draft.title, draft.sentence, draft.role, draft.family = PLACES[place.name].found()
        return
    view = content.board.view
    main = [child for child in options if not view.nodes[child].plumbing]
    chosen = [drafts.nodes[child] for child in main]
    titles = list(dict.fromkeys(draft.title or "" for draft in chosen))
    if not titles:
        draft.title = f"Branch on `{test}`"
        draft.sentence = (
            f"{by.capitalize()}s go different ways here, as `{test}` decides; no operation of its own runs."
        )
        draft.role = "branch"
    elif len(titles) == 1:
        draft.title, draft.role, draft.family = titles[0], chosen[0].role, chosen[0].family
        draft.sentence = chosen[0].sentence
    elif len(titles) <= 3 and len(content.node.children) <= 2:
        draft.title = " or ".join([titles[0], *(title[:1].lower() + title[1:] for title in titles[1:])])
        draft.sentence = f"Each {by} has one of {_COUNTS[len(titles)]}: {lower(draft.title)}."
        families = {option.family for option in chosen}
        if families <= {"attention", "state"}:
            draft.label = "Attention"
        elif families <= {"feed-forward", "routing"}:
            draft.label = "Feed-forward network"
        draft.role, draft.family = chosen[0].role, chosen[0].family
    else:
        last = chosen[-1]
        draft.title, draft.sentence = last.title, last.sentence
        draft.role, draft.family = last.role, last.family


ALONE = {
    "linear": ("Multiply by the weight matrix", "Multiply by the weight matrix and add the bias"),
    "addmm": ("Multiply by the weight matrix", "Multiply by the weight matrix and add the bias"),
    "embedding": ("Look up the rows of the table", "Look up the rows of the table"),
}
"""Titles by the operation, without and with a bias."""


def own_title(board: Board, names: Names, address: str) -> str | None:
    """What an operation computes, whatever it is for; ``None`` if that takes more than its name."""
    view = board.view
    word = view.word(address)
    noun = names.noun(view.inputs(address)[0]) if view.inputs(address) else "features"
    if word in ALONE:
        weights = sum(view.is_weight(tensor) for tensor in view.inputs(address))
        return ALONE[word][word != "embedding" and weights > 1]
    if word in RESHAPES:
        return f"{RESHAPES[word]} the {noun}"
    if word in COMPARISONS:
        return None
    template = GENERIC.get(word, ("{y}", ""))[0]
    return tidy(template.format(x=f"the {noun}")) if "{y}" not in template else None


RESHAPES = {"view": "Reshape", "reshape": "Reshape", "flatten": "Flatten", "unflatten": "Reshape"}


def shown(name: Name) -> str:
    """The title of a name within a sentence."""
    return capital(name.title)


REGIONS = frozenset(
    [
        "delta rule",
        "recurrence loop",
        "state-space scan",
        "state-space mixer",
        "linear attention",
        "mask",
        "attention core",
        "attention",
        "router",
        "routed experts",
        "expert loop",
        "mixture of experts",
        "rotary table",
        "rotation",
        "cache update",
        "norm",
        "depth mixture",
        "feed-forward network",
        "log decay",
        "short convolution",
        "activation",
        "gating",
    ]
)
"""Roles of what encloses operations, whose further steps belong to it."""


def name_steps(board: Board, drafts: Drafts) -> None:
    """What no rule names is a step of the mechanism around it."""
    for address, node in board.view.nodes.items():
        draft = drafts.nodes[address]
        if node.kind == "tensor" or (draft.role and draft.family):
            continue
        for enclosing in board.view.enclosing(address):
            role = drafts.nodes[enclosing].role
            if role in REGIONS:
                draft.role = draft.role or f"step of the {role}"
                draft.family = draft.family or drafts.nodes[enclosing].family
                break
