"""``oma show``: one page."""

from __future__ import annotations

import click

from openmodelatlas.cli.locate import MODEL_HELP, open_page

_PLAIN_WIDTH = 120


@click.command("show", short_help="Show one page.", epilog=MODEL_HELP)
@click.argument("model")
@click.argument("address", required=False)
@click.option("--json", "as_json", is_flag=True, help="The page as JSON (docs/schema/page.schema.json).")
@click.option("--md", "as_markdown", is_flag=True, help="The page as Markdown.")
def command(model: str, address: str | None, as_json: bool, as_markdown: bool) -> None:
    """Show the page at ADDRESS, or of the whole model if there is none.

    ADDRESS is an address as `oma tree` prints it, the true name of a module (layers count from 0 there), or that of a
    parameter.

    \b
    Examples:
      oma show kimi-k2
      oma show kimi-k2 layers/dense/self-attn
      oma show kimi-k2 model.layers.0.self_attn.q_a_proj
      oma show kimi-k2/layers/moe --json
    """
    if as_json and as_markdown:
        raise click.UsageError("--json and --md are two forms of one page: give one of them.")
    atlas, name = open_page(model, address)
    from openmodelatlas.site.page import build_page

    page = build_page(atlas, name)
    if as_json:
        from openmodelatlas.cli.settings import write_json

        write_json(page)
    elif as_markdown:
        from openmodelatlas.site.markdown import render_markdown

        click.echo(render_markdown(page), nl=False)
    else:
        from openmodelatlas.cli.console import output
        from openmodelatlas.site.terminal import render

        output(_PLAIN_WIDTH).print(render(page))
