"""What goes with the document of an atlas, as far as it can be read: pages tell the facts without it as well."""

from __future__ import annotations

import re

from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.drawing.drawing import Drawings
from openmodelatlas.errors import BundleError


def knowledge_of(atlas: Atlas) -> tuple[Knowledge, str | None]:
    """Names, formulas and explanations; empty, and why, if their file is damaged."""
    try:
        return atlas.knowledge, None
    except BundleError as error:
        lost = "names, formulas and explanations are missing, and pages say only what was recorded"
        return Knowledge(), _damage(atlas, "knowledge.json", lost, error)


def drawings_of(atlas: Atlas) -> tuple[Drawings, str | None]:
    """Diagrams and typeset formulas; empty, and why, if their file is damaged."""
    try:
        return atlas.drawings, None
    except BundleError as error:
        lost = "diagrams are missing, and formulas stand as LaTeX"
        return Drawings(), _damage(atlas, "drawings.json", lost, error)


def _damage(atlas: Atlas, file: str, lost: str, error: BundleError) -> str:
    """What is wrong in words, without the path, which is of this machine; code stands between backticks."""
    from openmodelatlas.sources.registry import MODELS

    advice = error.advice or "Build it again with `oma build MODEL --force`."
    # A model that is not registered is built from a source, which may be a path of this machine.
    model = atlas.document.model if atlas.document.model in MODELS else "MODEL"
    advice = re.sub("`oma build [^`]*`", f"`oma build {model} --force`", advice)
    return f"The file `{file}` of this atlas is damaged or of another version: {lost}. {error.what} {advice}"
