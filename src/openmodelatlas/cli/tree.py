"""``oma tree``: what is inside a model or a part of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.cli.damage import tell_damage
from openmodelatlas.cli.locate import MODEL_HELP, open_page
from openmodelatlas.graph.document import Node

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from openmodelatlas.site.dimensions import DimensionWriter

_PLAIN_WIDTH = 160
_MOST_SHAPES = 2
_PLURALS = {"tensor": "tensors", "view or cast": "views and casts"}


@click.command("tree", short_help="Show what is inside a model.", epilog=MODEL_HELP)
@click.argument("model")
@click.argument("address", required=False)
@click.option("--depth", type=click.IntRange(min=1), default=2, show_default=True, help="Levels to show.")
@click.option("--all", "everything", is_flag=True, help="Also tensors, and operations that only rearrange or cast.")
@click.option("--json", "as_json", is_flag=True, help="The levels as JSON (always with everything).")
def command(model: str, address: str | None, depth: int, everything: bool, as_json: bool) -> None:
    """Show what is inside MODEL, or inside the node at ADDRESS: names, layers, parameters, shapes and addresses.

    \b
    Examples:
      oma tree kimi-k2
      oma tree kimi-k2 layers/moe --depth 3
      oma tree kimi-k2 layers.0.self_attn --all
    """
    atlas, name = open_page(model, address)
    from openmodelatlas.site.dimensions import DimensionWriter
    from openmodelatlas.site.naming import with_names

    tell_damage(atlas, drawn=False)
    atlas = with_names(atlas)
    node = atlas[name]

    writer = DimensionWriter(atlas.document.sizes)
    if as_json:
        from openmodelatlas.cli.settings import write_json

        write_json(as_data(atlas, node, depth, writer))
        return
    from rich.tree import Tree

    from openmodelatlas.cli.console import output

    tree = Tree(line(atlas, node, writer), guide_style="dim")
    left_out = _grow(tree, atlas, node, depth, everything, writer)
    output(_PLAIN_WIDTH).print(tree)
    if left_out:
        words = " and ".join(f"{count} {_PLURALS[kind] if count > 1 else kind}" for kind, count in left_out.items())
        click.echo(f"Left out: {words} (--all shows them).")


def as_data(atlas: Atlas, node: Node, depth: int, writer: DimensionWriter) -> dict[str, Any]:
    """``node`` and ``depth`` levels inside it; ``children`` is ``null`` where deeper levels are left out."""
    return {
        "model": atlas.document.model,
        "address": node.address,
        "label": node.label,
        "title": node.title,
        "kind": node.kind,
        "count": node.count,
        "members": node.members,
        "module": node.module,
        "class_name": node.class_name,
        "function": node.function,
        "plumbing": node.plumbing,
        "repeat": node.repeat.note if node.repeat is not None else None,
        "parameters": node.parameter_count,
        "shapes": shapes(atlas, node, writer),
        "children": [as_data(atlas, child, depth - 1, writer) for child in atlas.children(node)]
        if depth > 0 or not node.children
        else None,
    }


def shapes(atlas: Atlas, node: Node, writer: DimensionWriter) -> list[str]:
    """Shapes of what ``node`` gives, written out in named dimensions; of a tensor its own."""
    from openmodelatlas.site.dimensions import shape_text

    if node.tensor is not None:
        return [shape_text(writer.shape(node.tensor.shape))]
    facts = [atlas.document.nodes.get(port.tensor) for port in node.outputs]
    return [shape_text(writer.shape(fact.tensor.shape)) for fact in facts if fact is not None and fact.tensor]


def line(atlas: Atlas, node: Node, writer: DimensionWriter) -> Text:
    """One line for ``node``; nothing in it is read as mark-up."""
    from rich.text import Text

    from openmodelatlas.annotation.counting import layers_text

    text = Text(
        node.title if node.kind == "operation" else node.label,
        style="dim" if node.plumbing or node.kind == "tensor" else "bold",
    )
    if node.repeat is not None:
        text.append(f"  {node.repeat.note}", "yellow")
    if node.members and node.kind == "layer group":
        text.append(f"  {layers_text(node.members)}", "yellow")
    if node.parameter_count:
        text.append(f"  {node.parameter_count:,} parameters", "green")
    gives = shapes(atlas, node, writer)
    if gives:
        more = f" and {len(gives) - 1} more" if len(gives) > _MOST_SHAPES else ""
        text.append(f"  {gives[0] if more else ' '.join(gives)}{more}", "cyan")
    text.append(f"  {node.address or node.kind}", "dim")
    return text


def _grow(tree: Tree, atlas: Atlas, node: Node, depth: int, everything: bool, writer: DimensionWriter) -> Counter[str]:
    """Adds ``depth`` levels below ``node``; returns how many nodes of each kind were left out of them."""
    left_out: Counter[str] = Counter()
    for child in atlas.children(node):
        kind = _left_out_as(child)
        if kind is not None and not everything:
            left_out[kind] += 1
            continue
        branch = tree.add(line(atlas, child, writer))
        if depth > 1:
            left_out += _grow(branch, atlas, child, depth - 1, everything, writer)
        elif any(everything or _left_out_as(inner) is None for inner in atlas.children(child)):
            branch.label.append("  …", "dim")  # type: ignore[union-attr]
    return left_out


def _left_out_as(node: Node) -> str | None:
    """What is not shown unless it is asked for."""
    if node.kind == "tensor":
        return "tensor"
    return "view or cast" if node.plumbing else None
