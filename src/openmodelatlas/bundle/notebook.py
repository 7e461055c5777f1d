"""How an atlas shows itself in a notebook."""

from __future__ import annotations

from html import escape

from openmodelatlas.graph.document import Document, Node

_DEPTH = 3
_CHILDREN = 24


def summary_html(document: Document) -> str:
    """A small HTML tree of the uppermost levels, with parameters and true module names. Every text is escaped."""
    root = document.nodes[""]
    origin = f"{document.provenance.repository} @ {document.provenance.revision[:12]}"
    rows = _rows(document, root, 0)
    facts = f"{root.parameter_count:,} parameters · {escape(origin)}"
    return (
        f"<div><p><strong>{escape(document.title)}</strong> · {facts}</p>"
        "<table><thead><tr><th>node</th><th>parameters</th><th>address</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _rows(document: Document, node: Node, depth: int) -> str:
    if depth == _DEPTH:
        return ""
    shown = [document.nodes[address] for address in node.children]
    shown = [child for child in shown if child.kind not in ("tensor", "operation")]
    rows = []
    for child in shown[:_CHILDREN]:
        parameters = f"{child.parameter_count:,}" if child.parameter_count else ""
        indent = "&nbsp;" * 4 * depth
        rows.append(
            f"<tr><td>{indent}{escape(child.label)}</td><td>{parameters}</td><td><code>{escape(child.address)}</code></td></tr>"
        )
        rows.append(_rows(document, child, depth + 1))
    if len(shown) > _CHILDREN:
        rows.append(f"<tr><td>… {len(shown) - _CHILDREN} more</td><td></td><td></td></tr>")
    return "".join(rows)
