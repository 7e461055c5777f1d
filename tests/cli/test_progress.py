from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import ROOT, TINY


def test_a_terminal_gets_a_bar_that_is_gone_at_the_end(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "openmodelatlas", "build", TINY],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=ROOT,
        env={**os.environ, "OMA_HOME": str(tmp_path), "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": ""},
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        os.close(ours)
        result, _ = process.communicate(timeout=60)

    assert process.returncode == 0
    assert b"/7" in shown
    assert "━".encode() in shown
    assert shown.rstrip().endswith(b"\x1b[2K")  # the bar's line is erased
    assert b"tiny" in result
    assert b"\x1b" not in result
