"""``oma serve``: the site on this machine."""

from __future__ import annotations

import os
import sys

import click

from openmodelatlas.bundle.home import home, list_built
from openmodelatlas.cli.building import ensure_built
from openmodelatlas.errors import UsageError

DEFAULT_PORT = 8420


@click.command("serve", short_help="Serve atlases as a web site on this machine.")
@click.argument("models", metavar="[MODEL…]", nargs=-1)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Port to listen at; 0 for any free one. [default: {DEFAULT_PORT}, or any free one if that is taken]",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen at; 0.0.0.0 lets other machines read the atlases.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the site in a browser.")
@click.option("--trust-remote-code", "trust", is_flag=True, help="The code of hub repositories and folders may run.")
def command(models: tuple[str, ...], port: int | None, host: str, open_browser: bool, trust: bool) -> None:
    """Build those MODELs that are not built yet, then serve them (without MODEL: everything that is built).

    The site listens on this machine only (127.0.0.1) unless --host says otherwise, until Ctrl-C.

    \b
    Examples:
      oma serve kimi-k2 --open
      oma serve --port 8080
    """
    shown = ensure_built(models, trust=trust)
    if not shown and not list_built(home()):
        raise UsageError("No atlas is built yet.", advice="`oma serve kimi-k2` builds one and serves it.")
    from openmodelatlas.server.serve import serve

    try:
        server = serve(home(), DEFAULT_PORT if port is None else port, shown or None, host)
    except UsageError:
        if port is not None:
            raise
        server = serve(home(), 0, shown or None, host)
    url = f"{server.url}{shown[0]}/" if len(shown) == 1 else server.url
    with server:
        click.echo(f"Serving at {url} (Ctrl-C stops it)")
        sys.stdout.flush()
        if open_browser:
            _open(url)
        server.serve_forever()


def _open(url: str) -> None:
    """Opens a browser where there is a display; a browser in the terminal would be in the way."""
    import webbrowser

    graphical = sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    if not graphical or not webbrowser.open(url):
        click.echo("No browser could be opened here: open the address above in one.", err=True)
