"""Names of what encloses operations: modules, functions, loops, branches, groups of layers, phases and the model."""

from __future__ import annotations

from openmodelatlas.annotation.material import Drafts
from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.containers import RULES, WHOLES, Content, Found, contents
from openmodelatlas.annotation.roles.names import Name, Names, capital
from openmodelatlas.annotation.roles.wordings import PLACES


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
        if content.node.kind in ("layer group", "model", "phase"):
            draft.title = None
    _branches(every, drafts)


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
    test = content.node.branches[0].test
    place = content.board.regions.get(content.node.address)
    if place is not None:
        wording = PLACES[place.name]
        draft.title, draft.sentence, draft.role, draft.family = (
            wording.title,
            wording.sentence,
            wording.role,
            wording.family,
        )
        return
    view = content.board.view
    main = [child for child in options if not view.nodes[child].plumbing]
    chosen = [drafts.nodes[child] for child in main]
    titles = list(dict.fromkeys(draft.title or "" for draft in chosen))
    if not titles:
        draft.title = f"Branch on `{test}`"
        draft.sentence = f"Goes different ways in different layers, by `{test}`; no operation of its own runs."
        draft.role = "branch"
    elif len(titles) == 1:
        draft.title, draft.role, draft.family = titles[0], chosen[0].role, chosen[0].family
        draft.sentence = chosen[0].sentence
    elif len(titles) <= 3 and len(content.node.children) <= 2:
        draft.title = " or ".join([titles[0], *(title[:1].lower() + title[1:] for title in titles[1:])])
        draft.sentence = f"One of these runs, by `{test}`."
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
