"""Reading a published configuration strictly: what is not understood is refused, never skipped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from openmodelatlas.errors import ConfigurationError

Positive = Annotated[int, msgspec.Meta(gt=0)]
"""A size or count of at least one."""

NonNegative = Annotated[int, msgspec.Meta(ge=0)]
"""A count that may be zero."""

PositiveNumber = Annotated[float, msgspec.Meta(gt=0)]
"""A real constant above zero."""

Configuration = TypeVar("Configuration", bound=msgspec.Struct)


def decode(
    published: Mapping[str, Any], kind: type[Configuration], *, ignored: Iterable[str], where: str
) -> Configuration:
    """Make a ``kind`` of a published mapping whose every key is either a field of ``kind`` or in ``ignored``.

    Args:
        published: the mapping as read from JSON.
        kind: struct whose field names are the published key names.
        ignored: keys that are known and deliberately without effect on the computed logits.
        where: name of the mapping in messages.

    Raises:
        ConfigurationError: a key is unknown, missing, of another type or out of range. All unknown keys, or all missing
            keys, are named in one message.
    """
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    unknown = sorted(set(published) - set(fields) - set(ignored))
    if unknown:
        raise ConfigurationError(
            f"The configuration has keys that this reference model does not know: {', '.join(unknown)}.",
            where=where,
            advice="A key may change the computation; handle it in the model or list it as ignored.",
        )
    missing = sorted(name for name, field in fields.items() if field.required and name not in published)
    if missing:
        raise ConfigurationError(
            f"The configuration lacks keys that this reference model needs: {', '.join(missing)}.",
            where=where,
            advice="Use the complete published configuration.",
        )
    handled = {name: published[name] for name in fields if name in published}
    try:
        return msgspec.convert(handled, kind)
    except msgspec.ValidationError as error:
        raise ConfigurationError(
            f"A configuration value is absurd: {error}.", where=where, advice="Correct the named key."
        ) from error


def require(condition: bool, what: str, *, where: str) -> None:
    """Raise a ConfigurationError that says ``what`` about key ``where`` unless ``condition`` holds."""
    if not condition:
        raise ConfigurationError(what, where=where, advice="Correct the configuration.")


def check_expert_choice(
    *, experts: tuple[str, int], chosen: tuple[str, int], groups: tuple[str, int], kept_groups: tuple[str, int]
) -> None:
    """Check that the numbers by which a router chooses fit each other; each is a pair of published key and value.

    Raises:
        ConfigurationError: the groups do not divide the experts, hold fewer than the two experts that they are
            ranked by, or leave fewer experts than are chosen.
    """
    (experts_key, expert_count), (chosen_key, chosen_count) = experts, chosen
    (groups_key, group_count), (kept_key, kept_count) = groups, kept_groups
    require(
        expert_count % group_count == 0,
        f"{expert_count} experts do not fall into {group_count} groups.",
        where=groups_key,
    )
    require(kept_count <= group_count, f"{kept_count} of {group_count} groups cannot be kept.", where=kept_key)
    require(
        expert_count // group_count >= 2,
        f"A group ranks by its two best experts, but holds {expert_count // group_count}.",
        where=experts_key,
    )
    remaining = expert_count // group_count * kept_count
    require(
        chosen_count <= remaining,
        f"{chosen_count} experts cannot be chosen from the {remaining} that exist.",
        where=chosen_key,
    )
