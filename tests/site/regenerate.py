"""Writes the golden pages anew: ``python -m tests.site.regenerate``. Read the difference before committing it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from openmodelatlas.site.export import export
from tests.site.sample import open_samples

GOLDEN = Path(__file__).parent / "golden"
CASES = {
    "model": "sample",
    "moe-blocks": "sample/layers/moe",
    "softmax": "sample/layers/moe/self-attn/softmax",
    "block-output": "sample/layers/dense/block-output",
    "branch": "running-sum/layers/first/add-attention-update",
    "known": "known-sum/layers/first/add-attention-update",
    "known-tensor": "known-sum/layers/first/running",
    "mechanisms": "mechanisms",
    "mechanism": "mechanisms/residual-addition",
    "mechanism-of-model": "known-sum/mechanisms/residual-addition",
}


def main() -> None:
    shutil.rmtree(GOLDEN, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        site = Path(scratch) / "site"
        export(open_samples(Path(scratch) / "home"), site)
        for name, page in CASES.items():
            case = GOLDEN / name
            case.mkdir(parents=True)
            (case / "page").write_text(f"{page}\n")
            for path in (site / page).iterdir():
                if path.is_file():
                    shutil.copy(path, case / path.name)


if __name__ == "__main__":
    main()
