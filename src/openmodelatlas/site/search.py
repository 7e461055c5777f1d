"""What search finds in one atlas; ``web/README.md`` says how the front end reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from openmodelatlas.graph.document import Node
from openmodelatlas.site.fields.view import EntryKind, SearchEntry, SearchFile
from openmodelatlas.site.knowing import mechanism
from openmodelatlas.site.latex import without_marks
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.paths import mechanism_folder, page_folder
from openmodelatlas.site.words import crumb_label, heading, one_line

_MOST_VALUE = 120
_MOST_TEXT = 300


def search_file(builder: PageBuilder) -> SearchFile:
    """The entries of one atlas: nodes, tensors, parameters, mechanisms, configuration keys, source lines."""
    document = builder.document
    entries = [
        *_nodes(builder),
        *_parameters(builder),
        *_mechanisms(builder),
        *_configuration(builder),
        *_lines(builder),
    ]
    return SearchFile(model=document.model, title=document.title, entries=tuple(entries))


def search_script(builder: PageBuilder) -> bytes:
    """The entries as a script of one call, which also loads from a page opened from disk."""
    text = msgspec.json.encode(search_file(builder)).decode()
    # In scripts these two end a line, which JSON allows within strings (ECMA-262 before 2019).
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("<", "\\u003c")
    return f"omaSearch({text});\n".encode("utf-8", errors="replace")


def _link(builder: PageBuilder, address: str) -> str:
    return f"{page_folder(builder.document.model, address)}/index.html"


def _trail(builder: PageBuilder, node: Node) -> str:
    nodes = builder.document.nodes
    labels: list[str] = []
    while node.parent:
        node = nodes[node.parent]
        labels.append(crumb_label(node))
    return " › ".join(reversed(labels))


def _nodes(builder: PageBuilder) -> Iterator[SearchEntry]:
    for node in builder.document.nodes.values():
        known = builder.known(node.address)
        words = [
            crumb_label(node) if crumb_label(node) != heading(node) else None,
            one_line(node.symbol.text, 100) if node.symbol is not None else None,
            node.function,
            node.class_name,
            node.module,
            known.role,
            known.family,
            mechanism(known.mechanism).title if known.mechanism is not None else None,
            known.symbols.get(node.address),
            without_marks(known.formulas[0].latex) if known.formulas else None,
        ]
        text = " ".join(dict.fromkeys(word for word in words if word))[:_MOST_TEXT]
        kind: EntryKind = "tensor" if node.kind == "tensor" else "node"
        yield kind, heading(node), _trail(builder, node), text, _link(builder, node.address)


def _parameters(builder: PageBuilder) -> Iterator[SearchEntry]:
    nodes = builder.document.nodes
    for fact in builder.document.parameters.values():
        owner = nodes.get(fact.owner)
        if owner is None:
            continue
        where = " › ".join(part for part in (_trail(builder, owner), crumb_label(owner)) if part)
        text = " ".join([*fact.aliases, fact.name.replace(".", " "), fact.dtype])
        yield "parameter", fact.name, where, text, _link(builder, fact.owner)


def _mechanisms(builder: PageBuilder) -> Iterator[SearchEntry]:
    counts: dict[str, int] = {}
    for known in builder.knowledge.nodes.values():
        for name in dict.fromkeys((known.mechanism, *known.mechanisms)):
            if name is not None:
                counts[name] = counts.get(name, 0) + 1
    for name, count in counts.items():
        link = f"{mechanism_folder(builder.document.model, name)}/index.html"
        yield "mechanism", mechanism(name).title, f"{count} place{'s' if count != 1 else ''}", name, link


def _configuration(builder: PageBuilder) -> Iterator[SearchEntry]:
    link = f"{_link(builder, '')}#configuration"
    for key, value in _flat(builder.document.configuration):
        text = msgspec.json.encode(value).decode()
        size = builder.document.sizes.get(key)
        yield "configuration", key, text[:_MOST_VALUE], size.symbol if size is not None else "", link


def _flat(values: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """Keys and values, those within mappings with the keys that lead to them: ``rope_scaling.factor``."""
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _lines(builder: PageBuilder) -> Iterator[SearchEntry]:
    """The lines that nodes run, each once, leading to the innermost node whose page shows it."""
    found: dict[tuple[str, int], Node] = {}
    for node in builder.document.nodes.values():
        if node.symbol is None or node.symbol.lines.file not in builder.document.files:
            continue
        key = (node.symbol.lines.file, node.symbol.lines.first)
        before = found.get(key)
        if before is None or (_depth(node) > _depth(before) and node.phase == before.phase):
            found[key] = node
    for (file, number), node in sorted(found.items(), key=lambda item: item[0]):
        lines = builder.atlas.lines_of(file)
        if 1 <= number <= len(lines) and (text := lines[number - 1].strip()):
            shown = node.code is not None and node.code.first <= number <= node.code.last
            anchor = f"#L{number}" if shown else ""
            yield "line", text[:_MOST_TEXT], f"{file} {number}", "", _link(builder, node.address) + anchor


def _depth(node: Node) -> tuple[int, bool]:
    return node.address.count("/"), node.kind != "tensor"
