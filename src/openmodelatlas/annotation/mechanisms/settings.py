"""Numbers of the configuration that a mechanism's function takes, though no operation reads them.

Frequencies of rotary embeddings are computed while the model is built; what is recorded reads the finished buffer. The
numbers that they come from stand in the configuration only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openmodelatlas.annotation.mechanisms.flow import Operand
from openmodelatlas.catalogue.entry import Symbol
from openmodelatlas.graph.document import Document

Settings = dict[str, Operand]
_Path = tuple[str, ...]


def settings_of(document: Document, symbols: Mapping[str, Symbol]) -> Iterator[Settings]:
    """Every way of finding the settings among ``symbols`` in the configuration; one empty way where there are none.

    A part of the configuration may hold one set of values for each kind of layer (``rope_parameters`` of Gemma 3); each
    kind is a way of its own. A way in which a setting that is not optional is missing, is none.

    Args:
        document: its published configuration, and the sizes of its first probe.
        symbols: of a mechanism, by name.
    """
    wanted = {name: symbol for name, symbol in symbols.items() if symbol.binds == "setting"}
    if not wanted:
        yield {}
        return
    seen: list[Settings] = []
    for kind in (None, *_kinds(document.configuration, wanted)):
        found = _found(document, wanted, kind)
        if found is not None and found not in seen:
            seen.append(found)
            yield found


def _kinds(configuration: Mapping[str, Any], wanted: Mapping[str, Symbol]) -> dict[str, None]:
    """Names of the kinds of layers in the parts of the configuration that the settings lie in."""
    parts = dict.fromkeys(path.split(".")[0] for symbol in wanted.values() for path in symbol.setting if "." in path)
    found: dict[str, None] = {}
    for part in parts:
        inner = configuration.get(part)
        if isinstance(inner, Mapping):
            found.update({name: None for name, value in inner.items() if isinstance(value, Mapping)})
    return found


def _found(document: Document, wanted: Mapping[str, Symbol], kind: str | None) -> Settings | None:
    found: Settings = {}
    for name, symbol in wanted.items():
        operand = next((one for path in symbol.setting if (one := _operand(document, path, kind)) is not None), None)
        if operand is not None:
            found[name] = operand
        elif not symbol.optional:
            return None
    return found


def _operand(document: Document, path: str, kind: str | None) -> Operand | None:
    """The setting as in the probe and as published; ``None`` where there is no such number."""
    first, *rest = path.split(".")
    keys = (first, kind, *rest) if kind is not None and rest else (first, *rest)
    published = _lookup(document.configuration, keys)
    if not isinstance(published, bool | int | float):
        return None
    sizes = document.provenance.probes[0].get("sizes", {}) if document.provenance.probes else {}
    return Operand(tensor=None, number=sizes.get(".".join(keys), published), published=published, text=".".join(keys))


def _lookup(configuration: Mapping[str, Any], keys: _Path) -> Any:
    value: Any = configuration
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
