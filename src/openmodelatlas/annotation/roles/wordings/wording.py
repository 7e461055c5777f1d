"""One line of the table of wordings."""

from __future__ import annotations

from typing import NamedTuple

from openmodelatlas.catalogue.entry import Family


class Wording(NamedTuple):
    """One line of the table.

    Attributes:
        title, sentence: templates.
        result: template of what the result is called, after "the"; empty: by what the tensor is.
        role: the structural role.
        family: for the colour; ``None`` takes that of the tensor.
    """

    title: str
    sentence: str
    result: str
    role: str
    family: Family | None

    def found(self) -> tuple[str, str, str, Family | None]:
        """Title, sentence, role and family, where the templates have no places to fill."""
        return self.title, self.sentence, self.role, self.family
