"""Where a detail stands: the page, found by what it is, and the field of it."""

from __future__ import annotations

import re
from collections.abc import Callable

from openmodelatlas.annotation.counting import layers_text
from openmodelatlas.site.dimensions import shape_text
from openmodelatlas.site.fields import Page, PageInput, PageOutput
from openmodelatlas.site.page import PageBuilder


def _ports(ports: tuple[PageInput, ...] | tuple[PageOutput, ...]) -> str:
    return "\n".join(f"{port.name} {shape_text(port.shape) if port.shape else ''} {port.dtype}" for port in ports)


def _inside(page: Page) -> str:
    """``title | symbol | shapes | types | reads …`` of each node inside, in order of execution."""
    return "\n".join(
        " | ".join(
            (
                child.title,
                child.symbol or "",
                "; ".join(child.outputs),
                "; ".join(str(dtype) for dtype in child.dtypes),
                f"reads {', '.join(crumb.label for crumb in child.reads)}",
            )
        )
        for child in page.children
        if child.kind != "tensor"
    )


FIELDS: dict[str, Callable[[Page], str]] = {
    "explanation": lambda page: "\n".join(page.explanation),
    "formula": lambda page: "\n".join(re.sub(r"[{}]", "", formula.latex) for formula in page.formulas),
    "verdict": lambda page: page.formulas[0].check.text if page.formulas else "",
    "description": lambda page: page.description,
    "in": lambda page: _ports(page.inputs),
    "out": lambda page: _ports(page.outputs),
    "inside": _inside,
    "parameters": lambda page: "\n".join(
        f"{item.name} {shape_text(item.shape)} {item.dtype}" for item in page.parameters.tensors
    ),
    "attributes": lambda page: "\n".join(f"{item.name} = {item.text}" for item in page.attributes),
    "layers": lambda page: "\n".join(
        f"{place.label}: {layers_text(place.members)}" for place in page.same_place if place.members
    ),
    "claim": lambda page: "\n".join(source.claim for source in page.sources),
}
"""The fields of a page as text, one line for each entry; formulas without their braces."""


def find(builder: PageBuilder, what: str) -> list[str]:
    """Addresses of the prefill of what is called ``what``: ``=address``, a mechanism, a role, or a title.

    An address may have ``*`` for any one step.
    """
    nodes = {address: node for address, node in builder.document.nodes.items() if node.phase == "prefill"}
    if what.startswith("="):
        pattern = re.compile(re.escape(what[1:]).replace(r"\*", "[^/]+"))
        return [address for address in nodes if pattern.fullmatch(address)]
    return [
        address
        for address in nodes
        if what in ((known := builder.known(address)).mechanism, *known.mechanisms, known.role, nodes[address].title)
    ]
