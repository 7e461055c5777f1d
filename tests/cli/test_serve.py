from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from tests.cli.conftest import ROOT, TINY_MODEL, Oma


def test_serve_prints_its_address_and_serves_until_it_is_stopped(tiny_home: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "openmodelatlas", "serve", TINY_MODEL, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OMA_HOME": str(tiny_home)},
    )
    assert process.stdout is not None
    try:
        match = re.search(r"http://127\.0\.0\.1:\d+/\S*/", process.stdout.readline())
        assert match is not None
        with urllib.request.urlopen(f"{match.group(0)}index.json", timeout=10) as answer:
            page = json.load(answer)
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)

    assert page["model"] == TINY_MODEL
    assert process.returncode == 130
    assert said == "Stopped.\n"


def test_serve_without_any_atlas_says_what_to_do(oma: Oma, tmp_path: Path) -> None:
    done = oma("serve", home=tmp_path)

    assert done.returncode == 2
    assert "oma serve kimi-k2" in done.stderr
