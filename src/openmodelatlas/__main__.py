"""``oma``, and ``python -m openmodelatlas``."""

from __future__ import annotations

import signal
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line. Ctrl-C ends the process without a word until there is somebody to answer it."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from openmodelatlas.cli.main import main as run

    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, handler)
    run()


if __name__ == "__main__":
    main()
