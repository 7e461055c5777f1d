from __future__ import annotations

import click
import pytest

from openmodelatlas.cli.main import oma
from openmodelatlas.cli.values import Memory, Seconds, read_overrides


@pytest.mark.parametrize(
    ("text", "amount"),
    [("512", 512), ("800M", 800 * 2**20), ("12G", 12 * 2**30), ("1.5 GiB", 3 * 2**29), ("64kb", 2**16), ("2T", 2**41)],
)
def test_memory_in_units_of_1024(text: str, amount: int) -> None:
    assert Memory().convert(text, None, None) == amount


@pytest.mark.parametrize("text", ["", "G", "-1G", "0", "0.1", "12 apples", "1e9", "9999999999T"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Memory().convert(text, None, None)


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "1e300", "soon"])
def test_what_is_no_time_is_refused(text: str) -> None:
    assert Seconds().convert("2.5", None, None) == 2.5
    with pytest.raises(click.BadParameter):
        Seconds().convert(text, None, None)


def overrides(*texts: str) -> dict[str, int | list[int]]:
    with click.Context(oma) as context:
        return read_overrides(context, click.Option(["--override"]), texts)


def test_one_size_is_for_all_probes_and_several_are_for_each() -> None:
    assert overrides("hidden_size=48", "text_config.heads=2,3,5", "a = 1, 2") == {
        "hidden_size": 48,
        "text_config.heads": [2, 3, 5],
        "a": [1, 2],
    }


@pytest.mark.parametrize("text", ["", "a", "a=", "=1", "a=1,", "a=-1", "a=1.5", "a=x", "1a=1", "a=1=2"])
def test_what_is_no_override_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="KEY=VALUE"):
        overrides(text)
