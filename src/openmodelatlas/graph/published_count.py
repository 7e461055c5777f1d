"""The number of parameters beside the one that was published."""

from __future__ import annotations

import msgspec

from openmodelatlas.graph.document import Check, Document
from openmodelatlas.sources import RegisteredModel, Source
from openmodelatlas.sources.target import Target


def with_published_count(document: Document, target: Target) -> Document:
    """Adds the comparison with the count that the registry knows; none where the user chose the configuration."""
    if target.registered is None or target.own_configuration:
        return document
    counted = document.nodes[""].parameter_count
    check = published_count(target.registered, target.source, counted)
    return msgspec.structs.replace(document, checks=(*document.checks, check))


def published_count(entry: RegisteredModel, source: Source, counted: int) -> Check:
    """The verdict on ``counted`` parameters.

    It holds if they equal the published count (rounded as that is), or what this source's code is known to count where
    it leaves out, for a reason that the registry states, a part of what was published.
    """
    name, published = "parameters against the published count", entry.parameters
    if published.agrees_with(counted):
        relation = "as published" if published.precision == 1 else f"which rounds to the published {published.total:,}"
        return Check(name=name, passed=True, detail=f"{counted:,}, {relation} ({published.origin})")
    difference = counted - published.total
    relation = f"{abs(difference):,} {'more' if difference > 0 else 'fewer'} than the published {published.total:,}"
    known = any(each.measured_parameters == counted for each in entry.sources if _is_from(source, each.spec))
    reason = "as is known of this source" if known else "for a reason the registry does not know"
    detail = f"{counted:,}, {relation}, {reason}. Published: {published.counts} ({published.origin})"
    return Check(name=name, passed=known, detail=detail)


def _is_from(source: Source, spec: str) -> bool:
    if source.kind == "hub":
        return spec.partition("@")[0] == source.repository
    return spec == (f"transformers:{source.entry}" if source.kind == "transformers" else source.repository)
