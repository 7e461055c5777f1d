"""What pages say of the atlas as a whole: where its code comes from, its checks, notes, numbers and configuration."""

from __future__ import annotations

from openmodelatlas.graph.document import Document
from openmodelatlas.site.constants import constants
from openmodelatlas.site.dimensions import page_sizes
from openmodelatlas.site.fields import PageAtlas, PageCheck, PageProvenance


def provenance(document: Document) -> PageProvenance:
    """Where the model's code comes from, and what ran it."""
    origin = document.provenance
    return PageProvenance(
        kind=origin.source,
        repository=origin.repository,
        revision=origin.revision,
        requested_revision=origin.requested_revision,
        entry=origin.entry,
        configuration=origin.configuration_origin,
        passed_over=origin.preferred,
        versions=origin.versions,
    )


def about_atlas(document: Document) -> PageAtlas:
    """What the model's own page says of the atlas as a whole."""
    return PageAtlas(
        nodes=len(document.nodes),
        checks=tuple(PageCheck(name=item.name, passed=item.passed, detail=item.detail) for item in document.checks),
        notes=document.notes,
        constants=constants(document.nodes),
        configuration=document.configuration,
        configuration_defaults=document.configuration_defaults,
        choices=document.provenance.choices,
        probes=document.provenance.probes,
        sizes=tuple(page_sizes(document)),
    )
