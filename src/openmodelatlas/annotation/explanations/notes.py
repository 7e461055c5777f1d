"""Notes written by hand for one place in one model; each is shown only where the lines that prove it are found.

A file of ``annotation/notes`` is called after the registered model and holds a list of notes:

.. code-block:: yaml

    - role: residual addition        # or `place: layers/*/mlp`, a pattern over addresses
      text: The running sum covers the current group of layers only.
      proof:                         # whole statements of the node's own code, blanks aside; one list for each source
        - ["prefix_sum = hidden_states"]
        - ["running_sum = attention_update"]
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources

import msgspec

from openmodelatlas.annotation.knowledge import Statement, Unmatched
from openmodelatlas.annotation.material import Code, Drafts, Material
from openmodelatlas.errors import CatalogueError
from openmodelatlas.graph.document import Lines, Node


class Note(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One note.

    Attributes:
        text: one sentence or two; LaTeX between dollar signs, code between backticks.
        proof: alternatives, each a list of lines of code that must all stand in the node's own code.
        place: pattern over addresses, as of a shell; without ``decode/``, which is added.
        role: role that the node must have.
        title: pattern over titles that the node must have.
    """

    text: str
    proof: tuple[tuple[str, ...], ...]
    place: str = "*"
    role: str | None = None
    title: str | None = None


def add_notes(material: Material, drafts: Drafts) -> None:
    """Puts the notes of the model in front of what the drafts explain; a note that finds no place is unmatched."""
    for note in notes_of(material.document.model):
        if not any(_add(note, node, material.code, drafts) for node in material.document.nodes.values()):
            reason = f"no node has the role and the lines that prove it: {note.text}"
            drafts.unmatched.append(Unmatched(address=note.place, what="explanation", reason=reason))


@lru_cache(maxsize=32)
def notes_of(model: str) -> tuple[Note, ...]:
    """The notes of a registered model; none if it has none.

    Raises:
        CatalogueError: the file is not written as the format says.
    """
    if not model.replace("-", "").isalnum():
        return ()
    file = resources.files("openmodelatlas.annotation").joinpath("notes", f"{model}.yaml")
    if not file.is_file():
        return ()
    try:
        return msgspec.yaml.decode(file.read_bytes(), type=tuple[Note, ...])
    except msgspec.MsgspecError as error:
        raise CatalogueError(f"A note cannot be read: {error}.", where=f"annotation/notes/{model}.yaml") from error


def _add(note: Note, node: Node, code: Code, drafts: Drafts) -> bool:
    draft = drafts.nodes[node.address]
    if node.code is None or not fnmatch.fnmatchcase(node.address.removeprefix("decode/"), note.place):
        return False
    if note.role is not None and draft.role != note.role:
        return False
    if note.title is not None and not fnmatch.fnmatchcase(draft.title or node.title, note.title):
        return False
    for alternative in note.proof:
        lines = _found(alternative, node.code, code)
        if lines is not None:
            draft.explanation.append(Statement(text=note.text, lines=lines))
            return True
    return False


def _found(statements: Sequence[str], within: Lines, code: Code) -> tuple[Lines, ...] | None:
    """Where the statements stand; ``None`` unless all do."""
    every = code.lines_of(within.file)
    found: list[Lines] = []
    for statement in statements:
        wanted = statement.strip()
        number = next(
            (number for number in range(within.first, within.last + 1) if every[number - 1].strip() == wanted), None
        )
        if number is None:
            return None
        found.append(Lines(file=within.file, first=number, last=number))
    return tuple(found)
