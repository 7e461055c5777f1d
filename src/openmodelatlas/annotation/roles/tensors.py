"""Names of tensors: what they are, or what the operation that makes them says its result is."""

from __future__ import annotations

from openmodelatlas.annotation.material import Drafts
from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.names import Names
from openmodelatlas.annotation.roles.vocabulary import KINDS
from openmodelatlas.graph.naming import capital

SENTENCES = {
    "block output": "The residual features after both mechanism updates.",
    "after attention": "The residual features after the attention update.",
    "sum after attention": "The running sum after the attention update.",
    "next running sum": "The running sum after both mechanism updates.",
    "attention update": "What attention adds to the residual stream.",
    "feed-forward update": "What the feed-forward network adds to the residual stream.",
    "mixer update": "What the mixer adds to the residual stream.",
    "embedding": "The token embeddings: the residual stream before the first layer.",
    "logits": "One score for every token of the vocabulary, for the position after.",
    "stored sums": "The sums of the groups of layers before, the embeddings first.",
}


CLAUSES = ("which ", "whether ", "where ", "what ")
"""How names of tensors begin that take no article."""


def name_tensors(board: Board, names: Names, drafts: Drafts) -> None:
    """Name every tensor node."""
    view = board.view
    for address, node in view.nodes.items():
        if node.kind != "tensor":
            continue
        draft = drafts.nodes[address]
        names.at = ""
        producer = view.producer(address)
        name = names.operations.get(producer) if producer is not None else None
        kind = board.kinds.get(address)
        if kind is None and (producer is None or not view.nodes[producer].plumbing):
            kind = board.kind(address)
        result = name.result if name is not None else ""
        if kind is not None and (not result or kind in SENTENCES):
            normalised = not result and producer is not None and _normalises(board, producer, kind)
            result = KINDS[kind].noun if kind in KINDS else kind
            if normalised and not result.startswith("normalised"):
                result = f"normalised {result}"
        if not result:
            result = names.noun(address)
        if producer is not None and len(view.outputs(producer)) > 1:
            result = _one_of(board, names, producer, address, result)
        draft.title = capital(result)
        told = f"{capital(result)}." if result.startswith(CLAUSES) else f"The {result}."
        draft.sentence = SENTENCES.get(kind or "", _plainly(result, kind) or told)
        if kind == "block output" and _additions(board, address) == 1:
            draft.sentence = "The residual features after the mechanism’s update."
        made = drafts.nodes[producer].role if producer is not None else None
        draft.role = (kind if kind in SENTENCES else None) or made or kind
        draft.family = KINDS[kind].family if kind in KINDS else (name.family if name is not None else None)


STEMS = frozenset(kind.stem for kind in KINDS.values())
PLAIN = {
    "gate": "One of two projections of the same input; activated, it multiplies the other.",
    "up": "One of two projections of the same input; the activated gate multiplies it.",
    "queries": "What each position compares with the keys.",
    "keys": "What the queries are compared with, one for each position.",
    "values": "What each position hands on to those that read it.",
    "output gate": "What decides how much of each feature of the mixed values passes.",
    "forget gate": "What decides how fast the state forgets.",
    "log decay": "The logarithm of what the state keeps from one position to the next.",
    "cumulative log decay": "The log decay added up from the start of the chunk to each position.",
    "write strength": "How strongly each position corrects the state.",
    "recurrent state": "The memory of the positions so far, of fixed size for each head.",
    "scores": "How well each query matches each key.",
    "attention weights": "How much each query takes of each value.",
    "mixed values": "What each position has read: values, weighed and added up.",
}
"""What a tensor is in a sentence, where it is exactly what its kind says."""


def _plainly(result: str, kind: str | None) -> str | None:
    """The sentence of a kind of tensors; of windows, which have no kind of their own for each projection."""
    owner = result.removesuffix(" window")
    if kind == "window" and owner in STEMS:
        return f"The last positions of the {owner} projection, for the next call."
    return PLAIN.get(result)


def _normalises(board: Board, producer: str, kind: str | None) -> bool:
    """Whether a tensor is what a norm made of one of the same kind, which would have the same name."""
    place = board.places.get(producer)
    carried = board.carried.get(producer, ())
    norm = place is not None and (place.name == "gain" or place.name.endswith("norm"))
    return norm and kind is not None and any(board.kind(tensor) == kind for tensor in carried)


def _one_of(board: Board, names: Names, producer: str, address: str, result: str) -> str:
    """One of several results: by what it is, else by its place."""
    view = board.view
    outputs = view.outputs(producer)
    place = outputs.index(address) + 1 if address in outputs else 1
    word = view.word(producer)
    ranked = word in ("topk", "sort", "max") and len(outputs) == 2
    if ranked and board.kinds.get(view.root(address)) is None:
        source = names.noun(view.inputs(producer)[0])
        return f"best {source}" if place == 1 else f"places of the best {source}"
    if word == "copy" and len(outputs) == 2:
        whole = names.noun(outputs[1])
        return f"filled part of the {whole}" if place == 1 else whole
    nouns = [names.noun(other) if board.kinds.get(view.root(other)) else "" if ranked else result for other in outputs]
    noun = nouns[place - 1]
    return noun if nouns.count(noun) == 1 else f"{noun}, part {place} of {len(outputs)}"


def _additions(board: Board, address: str) -> int:
    producer = board.view.producer(address)
    group = board.view.group_of(producer) if producer is not None else None
    if group is None:
        return 2
    return sum(board.view.inside(each, group) for each in board.anchors.get("stream", ()))
