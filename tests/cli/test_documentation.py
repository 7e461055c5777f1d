"""The page about the command line and the commands themselves: nothing undocumented, nothing documented but absent."""

from __future__ import annotations

import re

import click
import pytest

from openmodelatlas.cli.main import BROKEN_PIPE, BUG, COMMANDS, EXIT_CODES, INTERRUPTED, TERMINATED, oma
from tests.cli.conftest import ROOT

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def options_of(name: str) -> set[str]:
    with click.Context(oma) as context:
        command = oma.get_command(context, name)
    assert command is not None
    return {text for parameter in command.params if isinstance(parameter, click.Option) for text in parameter.opts}


ALL_OPTIONS = {option for name in COMMANDS for option in options_of(name)}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented(name: str) -> None:
    assert f"`oma {name}" in PAGE
    documented = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", PAGE))
    assert options_of(name) - documented - {"--output"} == set()


def test_every_option_that_is_documented_exists() -> None:
    documented = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE + README))

    assert documented - ALL_OPTIONS - {"--help"} == set()


@pytest.mark.parametrize("text", [PAGE, README])
def test_every_command_that_is_documented_exists(text: str) -> None:
    assert set(re.findall(r"\boma ([a-z]+)", text)) <= set(COMMANDS)


def test_exit_codes_are_the_same_in_the_help_and_on_the_page() -> None:
    table = PAGE.split("## Exit codes")[1].split("##")[0]
    documented = {int(code) for row in re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE) for code in row.split(",")}
    told = {int(code) for code in re.findall(r"\b\d+\b", EXIT_CODES)}

    assert documented == told
    assert {BUG, INTERRUPTED, BROKEN_PIPE, TERMINATED} <= documented


def test_links_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert link.startswith("http") or (page.parent / link).exists(), f"{page.name}: {link}"
