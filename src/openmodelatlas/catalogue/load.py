"""Reads the catalogue: one Markdown file a mechanism in ``mechanisms/``, NumPy references in ``references/``."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from openmodelatlas.catalogue.entry import FrontMatter, Mechanism, Note
from openmodelatlas.catalogue.pattern import parse_pattern
from openmodelatlas.errors import CatalogueError

ROOT = Path(__file__).parent
_IDENTIFIER = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_PART = re.compile(r"\[\[(?:((?:[!?][A-Za-z_]\w*)+)\|)?(.*?)\]\](?!\])", re.DOTALL)
_CONDITION = re.compile(r"([!?])([A-Za-z_]\w*)")
_TERM = re.compile(r"<([A-Za-z_]\w*)>")
_OWNER = re.compile(r"<(!?)([A-Za-z_]\w*)(?::([a-z]+\d*))?>")
_NOTE = re.compile(rf"(?P<symbols>{_OWNER.pattern}(?:,\s*{_OWNER.pattern})*):\s*(?P<text>.*)", re.DOTALL)
_SECTIONS = {"Why": "why", "When porting": "porting", "Scope": "scope"}

Reference = Callable[..., Any]
"""Takes float64 arrays and numbers by symbol name; returns the output, or a tuple of the outputs in their order."""


@dataclass(frozen=True)
class Catalogue:
    """The mechanisms of one folder.

    Attributes:
        root: holds ``mechanisms/`` and ``references/``.
        mechanisms: by identifier, each after those that its patterns build on.
    """

    root: Path
    mechanisms: Mapping[str, Mechanism]

    def reference(self, identifier: str) -> Reference:
        """The NumPy function of a mechanism. NumPy is imported here, not before.

        Raises:
            CatalogueError: there is no such module or function.
        """
        mechanism = self.mechanisms[identifier]
        name, _, function = mechanism.front.reference.rpartition(".")
        found = getattr(_module(self.root / "references", name, mechanism.path), function, None)
        if not callable(found):
            raise CatalogueError(
                f"references/{name}.py has no function {function}.",
                where=mechanism.path,
                advice="Write it there, or correct `reference`.",
            )
        return found  # type: ignore[no-any-return]


@cache
def load(root: Path = ROOT) -> Catalogue:
    """The catalogue below ``root``: every entry decoded and validated.

    Raises:
        CatalogueError: an entry is not written as the format says; the message names the file and the fault.
    """
    entries: dict[str, Mechanism] = {}
    for path in sorted((root / "mechanisms").glob("*.md")):
        mechanism = read_entry(_text(path), f"mechanisms/{path.name}")
        if mechanism.id != path.stem:
            raise _fault(mechanism.path, f"its id is {mechanism.id!r}", "The file is called <id>.md.")
        entries[mechanism.id] = mechanism
    return Catalogue(root=root, mechanisms=_ordered(entries))


def read_entry(text: str, where: str) -> Mechanism:
    """One entry from its text.

    Raises:
        CatalogueError: as for :func:`load`.
    """
    parts = re.split(r"^---\s*$", text, maxsplit=2, flags=re.MULTILINE)
    if len(parts) != 3 or parts[0].strip():
        raise _fault(where, "it has no front matter", "Begin the file with --- , YAML, --- .")
    try:
        front = msgspec.yaml.decode(parts[1], type=FrontMatter)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        said = " ".join(str(error).split())
        raise _fault(where, f"its front matter is not as the format says: {said}", None) from None
    sections = _sections(parts[2], where)
    mechanism = Mechanism(
        front=front,
        patterns=tuple(parse_pattern(pattern, where) for pattern in front.recognise.patterns),
        why=sections["why"],
        porting=sections["porting"],
        scope=sections["scope"],
        path=where,
    )
    _validate(mechanism)
    return mechanism


def formula_symbols(formula: str) -> tuple[str, ...]:
    """Names of the symbols in a formula, in order of appearance, each once."""
    return tuple(dict.fromkeys(_TERM.findall(formula)))


def without_unbound(formula: str, bound: Set[str]) -> str:
    """The formula with those of its optional parts that hold.

    ``[[…]]`` holds where all its symbols are bound, ``[[?name|…]]`` where ``name`` is too, ``[[!name|…]]`` where it is
    not; ``[[?one!other|…]]`` asks for both.
    """

    def choose(match: re.Match[str]) -> str:
        conditions, text = _CONDITION.findall(match[1] or ""), str(match[2])
        holds = all((name in bound) == (sign == "?") for sign, name in conditions)
        return text if holds and all(name in bound for name in _TERM.findall(text)) else ""

    return _PART.sub(choose, formula)


def deciding(formula: str) -> frozenset[str]:
    """Names that decide which optional parts of a formula hold, beyond those that stand in them."""
    return frozenset(name for match in _PART.finditer(formula) for _, name in _CONDITION.findall(match[1] or ""))


def formula_for(mechanism: Mechanism, bound: Mapping[str, bool]) -> str:
    """The formula of a mechanism where these of its symbols are bound; ``False`` stands for a number that says no.

    What only stands in formulas always holds, and so does what the entry says to be implied where it is not bound.
    """
    symbols = mechanism.front.symbols
    holds = {name for name, symbol in symbols.items() if symbol.binds == "index"}
    holds |= {name for name, symbol in symbols.items() if symbol.implied and name not in bound}
    return without_unbound(mechanism.front.formula, holds | {name for name, said in bound.items() if said})


def usual_formula(mechanism: Mechanism) -> str:
    """The formula where everything is bound that the first pattern names, and every setting is given."""
    named = mechanism.patterns[0].names()
    return formula_for(
        mechanism,
        {name: True for name, symbol in mechanism.front.symbols.items() if name in named or symbol.binds == "setting"},
    )


def fill_formula(formula: str, fill: Callable[[str], str]) -> str:
    """The formula, whose optional parts are chosen already, with every ``<name>`` replaced by what ``fill`` gives."""
    return _TERM.sub(lambda match: fill(match[1]), formula)


def _sections(body: str, where: str) -> dict[str, tuple[Note, ...]]:
    """The notes of each section: its list items, or its paragraphs where it has no list."""
    found: dict[str, tuple[Note, ...]] = dict.fromkeys(_SECTIONS.values(), ())
    headed = re.split(r"^## (.+)$", body, flags=re.MULTILINE)
    if headed[0].strip():
        raise _fault(where, "text stands before its first section", f"Sections are {', '.join(_SECTIONS)}.")
    for heading, text in zip(headed[1::2], headed[2::2], strict=True):
        name = _SECTIONS.get(heading.strip())
        if name is None:
            raise _fault(where, f"it has a section {heading!r}", f"Sections are {', '.join(_SECTIONS)}.")
        blocks = re.split(r"\n\s*\n|\n(?=- )", text.strip())
        found[name] = tuple(_note(block) for block in blocks if block.strip())
    return found


def _note(block: str) -> Note:
    text = " ".join(block.removeprefix("- ").split())
    match = _NOTE.fullmatch(text)
    if match is None:
        return Note(text=text)
    owners = _OWNER.findall(match["symbols"])
    return Note(
        text=match["text"],
        symbols=tuple(name for absent, name, dtype in owners if not absent and not dtype),
        absent=tuple(name for absent, name, _ in owners if absent),
        types={name: dtype for _, name, dtype in owners if dtype},
    )


def _validate(mechanism: Mechanism) -> None:
    """What the decoder cannot know: names that refer to each other."""
    front, where = mechanism.front, mechanism.path
    symbols = set(front.symbols)
    if not _IDENTIFIER.fullmatch(front.id):
        raise _fault(where, f"its id is {front.id!r}", "Use lower-case letters, digits and single hyphens.")
    if not mechanism.outputs:
        raise _fault(where, "no symbol is an output", "Give what the reference returns as a symbol that binds: output.")
    if not mechanism.patterns:
        raise _fault(where, "it has no pattern", "Structure comes first: write at least one pattern.")
    _validate_formula(front, where)
    notes = (*mechanism.why, *mechanism.porting, *mechanism.scope)
    _known(where, "its notes", {name for note in notes for name in (*note.symbols, *note.absent)}, symbols)
    local = {name for pattern in mechanism.patterns for name in pattern.names()}
    _known(where, "its notes", {name for note in notes for name in note.types}, symbols | local)
    _known(where, "its example", set(front.example.inputs), set(mechanism.arguments))
    if set(front.example.outputs) != set(mechanism.outputs):
        raise _fault(where, "its example does not give every output", None)
    if front.reference.count(".") != 1:
        raise _fault(where, f"its reference is {front.reference!r}", "Write module.function.")
    if front.tolerance is not None and not 0.0 <= front.tolerance.relative < 1.0:
        raise _fault(where, f"its tolerance is {front.tolerance.relative}", "Give a relative error below 1.")
    if not mechanism.why or not mechanism.porting:
        raise _fault(where, "it lacks the section Why or When porting", None)
    for name, symbol in front.symbols.items():
        if (symbol.binds == "setting") != bool(symbol.setting):
            raise _fault(
                where, f"{name} has no key, or is no setting", "A setting has `setting: [key, …]`, others none."
            )
    needed = {
        name
        for name, symbol in front.symbols.items()
        if not symbol.optional and symbol.binds not in ("index", "setting")
    }
    for text, pattern in zip(front.recognise.patterns, mechanism.patterns, strict=True):
        missing = needed - pattern.names()
        if missing:
            raise _fault(where, f"a pattern does not bind {', '.join(sorted(missing))}: {text.strip()}", None)


def _validate_formula(front: FrontMatter, where: str) -> None:
    """A formula names its symbols, and all of those that it need not pass over."""
    said = set(formula_symbols(front.formula)) | deciding(front.formula)
    _known(where, "its formula", said, set(front.symbols))
    for name, symbol in front.symbols.items():
        if name not in said and symbol.silent is None:
            raise _fault(
                where,
                f"its formula does not say {name}",
                "Write it into the formula, or say with `silent` why it need not stand there.",
            )
        if name in said and symbol.silent is not None:
            raise _fault(where, f"{name} is silent, and its formula says it", "Leave out `silent`.")


def _known(where: str, what: str, used: set[str], known: set[str]) -> None:
    if used - known:
        names = ", ".join(sorted(used - known))
        raise _fault(where, f"{what} names {names}, which no symbol has", "Add it to `symbols`, or correct it.")


def _ordered(entries: Mapping[str, Mechanism]) -> dict[str, Mechanism]:
    """Each mechanism after those that it builds on."""
    done: dict[str, Mechanism] = {}

    def add(identifier: str, path: tuple[str, ...]) -> None:
        if identifier in done:
            return
        if identifier in path:
            raise _fault(entries[identifier].path, f"it builds on itself: {' → '.join((*path, identifier))}", None)
        mechanism = entries[identifier]
        others = {name for pattern in mechanism.patterns for name in pattern.mechanisms()}
        for other in sorted(others.union(mechanism.front.recognise.unless)):
            if other not in entries:
                raise _fault(mechanism.path, f"it builds on @{other}, which no entry has", None)
            add(other, (*path, identifier))
        done[identifier] = mechanism

    for identifier in sorted(entries):
        add(identifier, ())
    return done


def _text(path: Path) -> str:
    """The text of an entry's file."""
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _fault(f"mechanisms/{path.name}", f"its file cannot be read: {error}", "Write it in UTF-8.") from error


def _module(folder: Path, name: str, where: str) -> ModuleType:
    """The module ``name`` of references: of the package for the catalogue that comes with it, else from its file."""
    if folder == ROOT / "references":
        full = f"openmodelatlas.catalogue.references.{name}"
        if importlib.util.find_spec(full) is None:
            raise _fault(where, f"references/{name}.py does not exist", None)
        return importlib.import_module(full)
    path = folder / f"{name}.py"
    full = f"_openmodelatlas_references_{abs(hash(str(path.resolve())))}_{name}"
    if full in sys.modules:
        return sys.modules[full]
    specification = importlib.util.spec_from_file_location(full, path)
    if specification is None or specification.loader is None or not path.is_file():
        raise _fault(where, f"{path} does not exist", None)
    module = importlib.util.module_from_spec(specification)
    try:
        specification.loader.exec_module(module)
    except Exception as error:  # somebody's file: whatever it raises concerns its writer
        raise _fault(where, f"{path} cannot be imported: {type(error).__name__}: {error}", None) from error
    sys.modules[full] = module
    return module


def _fault(where: str, what: str, advice: str | None) -> CatalogueError:
    return CatalogueError(f"An entry of the catalogue cannot be used: {what}.", where=where, advice=advice)
