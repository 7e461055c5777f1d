"""Sentences of what no rule has to recognise: the model, the decode step, and groups of layers."""

from __future__ import annotations

from collections.abc import Callable

from openmodelatlas.annotation.roles.content import Content, Found


def _model(content: Content) -> Found:
    return None, "The whole model: token numbers in, the logits of the next token out.", "model", None


def _phase(content: Content) -> Found:
    return None, "One further position, with the caches of the call before.", "decode step", None


def _group(content: Content) -> Found:
    children = content.node.children
    inner = [child for child in children if content.board.view.nodes[child].kind == "layer group"]
    if inner:
        sentence = "The layers, one after the other; each adds its updates to the residual stream."
        return None, sentence, "layers", None
    updates = list(
        dict.fromkeys(
            place.name.removeprefix("add ")
            for address, place in content.board.places.items()
            if place.name in ("add attention update", "add feed-forward update", "add mixer update")
            and content.board.view.inside(address, content.node.address)
        )
    )
    updates += [
        place.name.removeprefix("add ")
        for address, place in content.board.regions.items()
        if content.board.view.inside(address, content.node.address)
    ]
    updates = [update for update in UPDATES if update in updates]
    what = " and the ".join(updates)
    one = "One layer" if content.node.count == 1 else "Layers of one structure"
    computes = "it computes" if content.node.count == 1 else "each computes"
    sentence = f"{one}: {computes} the {what} of the residual stream."
    return None, sentence if what else f"{one}.", "layer", None


UPDATES = ("attention update", "mixer update", "feed-forward update")

WHOLES: dict[str, Callable[[Content], Found]] = {"model": _model, "phase": _phase, "layer group": _group}
