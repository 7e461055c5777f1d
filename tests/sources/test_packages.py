"""Where the code of released packages can be read."""

from __future__ import annotations

import pytest

from openmodelatlas.sources.packages import code_url

FILE = "transformers/models/deepseek_v3/modeling_deepseek_v3.py"


def test_lines_of_a_release_have_an_address() -> None:
    url = code_url("transformers", "4.56.2", FILE)
    assert url is not None
    assert url.format(first=120, last=158) == (
        f"https://github.com/huggingface/transformers/blob/v4.56.2/src/{FILE}#L120-L158"
    )


@pytest.mark.parametrize(
    ("package", "version", "path"),
    [
        ("other", "4.56.2", FILE),
        ("transformers", "4.57.0.dev0", FILE),
        ("transformers", "4.56.2+local", FILE),
        ("transformers", "", FILE),
        ("transformers", "4.56.2", "transformers/{first}.py"),
        ("transformers", "4.56.2", "transformers/a b.py"),
        ("transformers", "4.56.2/../../../evil", FILE),
    ],
)
def test_nothing_else_has_one(package: str, version: str, path: str) -> None:
    assert code_url(package, version, path) is None
