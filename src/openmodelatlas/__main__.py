"""``python -m openmodelatlas`` is ``oma``."""

from __future__ import annotations

from openmodelatlas.cli.main import main

if __name__ == "__main__":
    main()
