"""How an atlas shows itself in a notebook."""

from __future__ import annotations

from html import escape

from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.graph.document import Document, Node

_DEPTH = 3
_CHILDREN = 24


def summary_html(document: Document, knowledge: Knowledge) -> str:
    """A small HTML tree of the uppermost levels under the names of the pages, with parameters and addresses.

    Every text is escaped.
    """
    root = document.nodes[""]
    origin = f"{document.provenance.repository} @ {document.provenance.revision[:12]}"
    rows = _rows(document, knowledge, root, 0)
    facts = f"{root.parameter_count:,} parameters · {escape(origin)}"
    return (
        f"<div><p><strong>{escape(document.title)}</strong> · {facts}</p>"
        "<table><thead><tr><th>node</th><th>parameters</th><th>address</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _label(node: Node, knowledge: Knowledge) -> str:
    known = knowledge.nodes.get(node.address)
    return (known.label or known.title if known is not None else None) or node.label


def _rows(document: Document, knowledge: Knowledge, node: Node, depth: int) -> str:
    if depth == _DEPTH:
        return ""
    shown = [document.nodes[address] for address in node.children]
    shown = [child for child in shown if child.kind not in ("tensor", "operation")]
    rows = []
    for child in shown[:_CHILDREN]:
        parameters = f"{child.parameter_count:,}" if child.parameter_count else ""
        indent = "&nbsp;" * 4 * depth
        rows.append(
            f"<tr><td>{indent}{escape(_label(child, knowledge))}</td><td>{parameters}</td>"
            f"<td><code>{escape(child.address)}</code></td></tr>"
        )
        rows.append(_rows(document, knowledge, child, depth + 1))
    if len(shown) > _CHILDREN:
        rows.append(f"<tr><td>… {len(shown) - _CHILDREN} more</td><td></td><td></td></tr>")
    return "".join(rows)
