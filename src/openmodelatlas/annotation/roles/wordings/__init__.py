"""How places of mechanisms are worded: titles, sentences, what the result is called, role and colour.

In the templates ``{x}`` and ``{y}`` are the tensors that a place speaks of as nouns (``queries``), ``{xs}`` and
``{ys}`` the same before another noun (``query``), and further fields come from the rule or from the arguments.
"""

from openmodelatlas.annotation.roles.wordings import (
    attention,
    ends,
    feed_forward,
    masks,
    norms,
    positions,
    recurrence,
    residual,
    routing,
)
from openmodelatlas.annotation.roles.wordings.wording import Wording

__all__ = ["PLACES", "Wording"]

PLACES: dict[str, Wording] = {
    **norms.PLACES,
    **positions.PLACES,
    **attention.PLACES,
    **masks.PLACES,
    **residual.PLACES,
    **feed_forward.PLACES,
    **routing.PLACES,
    **recurrence.PLACES,
    **ends.PLACES,
}
"""By place of a mechanism."""
