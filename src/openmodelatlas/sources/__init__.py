"""Where model code and configurations come from, pinned. The only network access of the package."""

from __future__ import annotations

from openmodelatlas.sources.hub import endpoint, hub_fault, is_offline
from openmodelatlas.sources.registry import MODELS, PublishedParameters, RegisteredModel, RegisteredSource
from openmodelatlas.sources.resolve import FORMS, ResolvedModel, resolve, resolve_model
from openmodelatlas.sources.source import Source, SourceFile, SourceKind

__all__ = [
    "FORMS",
    "MODELS",
    "PublishedParameters",
    "RegisteredModel",
    "RegisteredSource",
    "ResolvedModel",
    "Source",
    "SourceFile",
    "SourceKind",
    "endpoint",
    "hub_fault",
    "is_offline",
    "resolve",
    "resolve_model",
]
