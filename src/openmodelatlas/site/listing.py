"""What the library says of each model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from openmodelatlas.annotation.counting import ranges_text
from openmodelatlas.graph.document import Document, Node
from openmodelatlas.site.knowing import mechanism
from openmodelatlas.site.layers import Layers, Stack
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.paths import page_folder
from openmodelatlas.site.words import crumb_label

_CHOSEN = re.compile(r"(\d[\d,]*) of (\d[\d,]*) per token")
_MOST_KINDS = 4


@dataclass(frozen=True, slots=True)
class LayerKind:
    """Layers of one kind: their group's ``label``, a ``link`` to it, and their numbers from 1 in words."""

    label: str
    link: str
    layers: str


@dataclass(frozen=True, slots=True)
class Listing:
    """One model in the library.

    Attributes:
        model: identifier.
        title: display name.
        link: address of its page relative to the list.
        nodes: number of pages.
        parameters: elements of all parameters at the published configuration, tied weights once.
        active: those of them that one token uses: experts that were not chosen left out; ``None`` where it is not known
            how many are chosen.
        layers: number of the kind (from 1) of each layer, in order.
        kinds: the kinds of layers.
        attention: kinds of attention, in words.
        repository, revision: the source it shows.
        fallback: sources that were preferred but could not be used, each with the reason.
        built: when the bundle was written, ISO 8601 in UTC to the minute.
        seconds: how long the build took; ``None`` if that was not recorded.
        mechanisms: how many of the catalogue it has.
        damage: which of its files are damaged although it can be shown, as in ``PageBuilder.damage``.
        problem: why the atlas cannot be read; then the numbers are 0 and the source is empty.
    """

    model: str
    title: str
    link: str
    nodes: int
    parameters: int
    repository: str
    revision: str
    fallback: tuple[str, ...]
    active: int | None = None
    layers: tuple[int, ...] = ()
    kinds: tuple[LayerKind, ...] = ()
    attention: tuple[str, ...] = ()
    built: str = ""
    seconds: float | None = None
    mechanisms: int = 0
    damage: tuple[str, ...] = ()
    problem: str | None = None


def list_atlas(builder: PageBuilder) -> Listing:
    """The entry for the atlas of ``builder``."""
    document = builder.document
    stack = next((item for item in builder.layers.stacks.values()), None)
    return Listing(
        model=document.model,
        title=document.title,
        link=_link(document.model, ""),
        nodes=len(document.nodes),
        parameters=document.nodes[""].parameter_count,
        active=active_parameters(document),
        layers=_cells(stack),
        kinds=_kinds(document.model, stack),
        attention=tuple(_attention(builder, builder.layers)),
        repository=document.provenance.repository,
        revision=document.provenance.revision,
        fallback=document.provenance.preferred,
        built=_written(builder),
        seconds=builder.atlas.manifest.seconds,
        mechanisms=len({known.mechanism for known in builder.knowledge.nodes.values()} - {None}),
        damage=builder.damage,
    )


def unreadable(model: str, problem: str) -> Listing:
    """The entry for an atlas that is damaged or of another format."""
    return Listing(
        model=model,
        title=model,
        link=_link(model, ""),
        nodes=0,
        parameters=0,
        repository="",
        revision="",
        fallback=(),
        problem=problem,
    )


def active_parameters(document: Document) -> int | None:
    """Elements of the parameters that one token uses; ``None`` where it is not known how many experts are chosen.

    Of a loop that runs ``k`` of ``N`` per token, ``k / N`` of its parameters count (see ``graph.document.Repeat``).
    """
    active = document.nodes[""].parameter_count
    loops = [node for node in document.nodes.values() if node.phase == "prefill" and _is_choice(node)]
    known = {
        _place(node): found for node in loops if (found := _CHOSEN.search(node.repeat.note if node.repeat else ""))
    }
    inside: list[str] = []
    for node in loops:
        if any(node.address.startswith(f"{address}/") for address in inside):
            continue
        inside.append(node.address)
        chosen_of = known.get(_place(node))  # the same statement in another group of layers chooses as many
        if chosen_of is None:
            return None
        chosen, total = (int(text.replace(",", "")) for text in chosen_of.groups())
        active -= node.parameter_count * (total - chosen) // total
    return active


def _written(builder: PageBuilder) -> str:
    written = (builder.atlas.folder / "manifest.json").stat().st_mtime
    return datetime.fromtimestamp(written, UTC).isoformat(timespec="minutes").replace("+00:00", "Z")


def _is_choice(node: Node) -> bool:
    """Whether the node is a loop over parameters of which values decide how many rounds it runs."""
    repeat = node.repeat
    return node.kind == "loop" and repeat is not None and repeat.expression is None and node.parameter_count > 0


def _place(node: Node) -> tuple[str, int] | None:
    return (node.symbol.lines.file, node.symbol.lines.first) if node.symbol is not None else None


def _link(model: str, address: str) -> str:
    return f"{page_folder(model, address)}/index.html"


def _cells(stack: Stack | None) -> tuple[int, ...]:
    if stack is None:
        return ()
    numbers = sorted({layer for variant in stack.variants for layer in variant.members})
    return tuple((stack.variant_of(layer) or 0) + 1 for layer in numbers)


def _kinds(model: str, stack: Stack | None) -> tuple[LayerKind, ...]:
    if stack is None:
        return ()
    return tuple(
        LayerKind(label=crumb_label(node), link=_link(model, node.address), layers=ranges_text(node.members))
        for node in stack.variants
    )


def _attention(builder: PageBuilder, layers: Layers) -> Iterator[str]:
    """Mechanisms of attention that layers consist of; where none is known, the classes that are called so."""
    inside = [
        node
        for stack in layers.stacks.values()
        for node in builder.document.nodes.values()
        if node.phase == "prefill" and node.address.startswith(f"{stack.address}/")
    ]
    known = [builder.known(node.address) for node in inside]
    names = [item.mechanism for item in known if item.family == "attention" and item.mechanism is not None]
    if names:
        yield from list(dict.fromkeys(mechanism(name).title for name in names))[:_MOST_KINDS]
        return
    classes = [node.class_name for node in inside if node.class_name and "attention" in node.class_name.lower()]
    yield from list(dict.fromkeys(classes))[:_MOST_KINDS]
