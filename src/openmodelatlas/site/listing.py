"""What a list of models says of each."""

from __future__ import annotations

from dataclasses import dataclass

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.site.paths import page_folder


@dataclass(frozen=True, slots=True)
class Listing:
    """One model in a list.

    Attributes:
        model: identifier.
        title: display name.
        link: address of its page relative to the list.
        nodes: number of pages.
        parameters: elements of all parameters at the published configuration, tied weights once.
        repository, revision: the source it shows.
        fallback: sources that were preferred but could not be used, each with the reason.
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
    problem: str | None = None


def list_atlas(atlas: Atlas) -> Listing:
    """The entry for ``atlas``."""
    document = atlas.document
    return Listing(
        model=document.model,
        title=document.title,
        link=f"{page_folder(document.model, '')}/index.html",
        nodes=len(atlas),
        parameters=atlas.root.parameter_count,
        repository=document.provenance.repository,
        revision=document.provenance.revision,
        fallback=document.provenance.preferred,
    )


def unreadable(model: str, problem: str) -> Listing:
    """The entry for an atlas that is damaged or of another format."""
    link = f"{page_folder(model, '')}/index.html"
    return Listing(model, model, link, nodes=0, parameters=0, repository="", revision="", fallback=(), problem=problem)
