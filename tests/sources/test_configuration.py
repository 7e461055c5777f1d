from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas.errors import ConfigurationError, SourceNotFoundError
from openmodelatlas.sources.configuration import (
    COUNT_KEYS,
    LAYER_KEYS,
    MAXIMUM_DEPTH,
    MAXIMUM_LAYERS,
    MAXIMUM_SIZE,
    SIZE_KEYS,
    asked_transformers_version,
    check_configuration,
    parse_configuration,
    read_configuration,
)


def test_syntax_errors_name_line_and_column() -> None:
    with pytest.raises(ConfigurationError, match="not JSON") as caught:
        parse_configuration(b'{\n  "hidden_size": 64,\n  "x" 3\n}', "config.json")
    assert caught.value.where == "config.json:3:7"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[1, 2]", "holds a list, not an object"),
        (b"null", "holds null, not an object"),
        (b"3", "holds a number, not an object"),
        (b"true", "holds a truth value"),
        (b'"x"', "holds a string"),
        (b'{"a": "\xff"}', "not UTF-8: byte 7 is 0xff"),
        (b"", "not JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"hidden_size": ' + b"9" * 5_000 + b"}", "cannot be read"),
    ],
)
def test_what_is_no_configuration(data: bytes, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_configuration(data, "config.json")


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b'{"name": "\\ud800"}', "name"),
        (b'{"\\ud800k": 1}', "\\ud800k"),
        (b'{"text_config": {"a": [1, {"b": "x\\udfffy"}]}}', "text_config.a[1].b"),
        (b'{"text_config": {"\\udc00": {}}}', "text_config.\\udc00"),
        (b'{"a": 1, "a": 2}', "a"),
        (b'{"text_config": {"a": {"b": 1, "b": [1]}}}', "b"),
    ],
)
def test_text_that_cannot_be_written_and_keys_that_say_two_things_are_named(data: bytes, where: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(data, "config.json")
    assert caught.value.where == f"config.json, {where}"
    assert str(caught.value).isprintable()


@given(st.text(st.characters(exclude_categories=()), max_size=5))
def test_every_text_is_read_or_refused(text: str) -> None:
    for value in ({"key": text}, {text: 1}, {"a": [{"b": text}]}):
        try:
            found = parse_configuration(json.dumps(value).encode(), "config.json")
        except ConfigurationError:
            assert not text.isprintable()
        else:
            assert found == value
            msgspec.json.encode(found)


def test_whole_characters_and_keys_that_say_the_same_twice_are_read() -> None:
    data = b'{"a": 1, "a": 1, "name": "\\ud83d\\ude00"}'
    assert parse_configuration(data, "config.json") == {"a": 1, "name": "\U0001f600"}


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf{}", b'{"a": "\xff"}', b'{"a": 1,}', b'{"a": 1, "a": 2}'])
def test_what_can_be_corrected_is_told(data: bytes) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(data, "config.json")
    assert "--config FILE" in (caught.value.advice or "")


def test_infinity_is_read_as_transformers_writes_it() -> None:
    assert parse_configuration(b'{"time_step_limit": [0.0, Infinity]}', "x")["time_step_limit"][1] == math.inf


def test_missing_and_oversized_files(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError, match="cannot be read"):
        read_configuration(tmp_path / "none.json")
    large = tmp_path / "large.json"
    large.write_bytes(b" " * (4 * 2**20 + 1))
    with pytest.raises(ConfigurationError, match="more than 4194304 bytes"):
        read_configuration(large)


@pytest.mark.parametrize("value", [0, -1, 1.5, "64", True, MAXIMUM_SIZE + 1, [64, 0], {"a": 1}])
def test_absurd_sizes(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"text_config\.hidden_size") as caught:
        check_configuration(
            {"text_config": {"hidden_size": value}}
            if not isinstance(value, dict)
            else {"text_config": {"hidden_size": [value]}}
        )
    assert caught.value.where == "config.json, text_config.hidden_size"


def test_absurd_depth_and_expert_choice() -> None:
    check_configuration({"num_hidden_layers": MAXIMUM_LAYERS})
    with pytest.raises(ConfigurationError, match="num_hidden_layers is 10001, outside 1 to 10000"):
        check_configuration({"num_hidden_layers": MAXIMUM_LAYERS + 1})
    with pytest.raises(ConfigurationError, match="num_experts_per_tok is 9, more than the 8 of n_routed_experts"):
        check_configuration({"num_experts_per_tok": 9, "n_routed_experts": 8})


@pytest.mark.parametrize(("opening", "closing"), [('{"a": ', "}"), ("[", "]")])
def test_depth_that_nobody_can_copy(opening: str, closing: str) -> None:
    def nested(depth: int) -> bytes:
        return f'{{"sound": 1, "deep": {opening * depth}1{closing * depth}}}'.encode()

    assert parse_configuration(nested(MAXIMUM_DEPTH - 1), "x")["sound"] == 1
    for depth in (MAXIMUM_DEPTH, 500, 100_000):
        with pytest.raises(ConfigurationError, match="nested too deeply"):
            parse_configuration(nested(depth), "x")


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"hidden_size is -4, .*; vocab_size is 0, "):
        check_configuration({"hidden_size": -4, "vocab_size": 0})


@given(
    st.dictionaries(st.sampled_from(sorted(SIZE_KEYS)), st.integers(1, MAXIMUM_SIZE) | st.none()),
    st.dictionaries(st.sampled_from(sorted(LAYER_KEYS)), st.integers(1, MAXIMUM_LAYERS)),
    st.dictionaries(st.text(), st.text() | st.floats() | st.booleans() | st.integers()),
)
def test_sound_values_and_unknown_keys_pass_through(
    sizes: dict[str, int | None], layers: dict[str, int], others: dict[str, object]
) -> None:
    known = SIZE_KEYS | LAYER_KEYS | COUNT_KEYS
    values = {key: value for key, value in others.items() if key not in known} | sizes | layers
    assert parse_configuration(json.dumps(values).encode(), "x").keys() == values.keys()


@given(st.sampled_from(sorted(COUNT_KEYS)), st.integers(max_value=-1) | st.integers(min_value=MAXIMUM_SIZE + 1))
def test_counts_may_be_zero_but_neither_negative_nor_huge(key: str, value: int) -> None:
    check_configuration({key: 0})
    with pytest.raises(ConfigurationError):
        check_configuration({key: value})


def test_version_is_found_in_a_nested_configuration() -> None:
    nested = {"text_config": {"transformers_version": "4.56.2"}}
    assert asked_transformers_version(nested) == "4.56.2"
    assert asked_transformers_version({**nested, "transformers_version": "4.48.3"}) == "4.48.3"
    assert asked_transformers_version({"text_config": {"transformers_version": None}}) is None
