"""Reads ``config.json`` and refuses what cannot be a model before any of its code runs.

The checks are about values that no model has (a negative width, a million layers). What a key means is left to the
model's own code, so unknown keys pass through untouched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openmodelatlas.errors import ConfigurationError, SourceNotFoundError

MAXIMUM_BYTES = 4 * 2**20
MAXIMUM_LAYERS = 10_000
MAXIMUM_SIZE = 1_000_000_000
MAXIMUM_DEPTH = 50
"""Objects and lists inside each other; configurations of several models have four or five. Copying, printing and
comparing what is nested deeper than Python's own stack fails in places that nobody can point at."""

LAYER_KEYS = frozenset({"num_hidden_layers", "n_layer", "n_layers", "num_layers"})
"""Keys that count layers: integers from 1 to ``MAXIMUM_LAYERS``."""

SIZE_KEYS = frozenset(
    {
        "chunk_size",
        "conv_kernel",
        "d_model",
        "head_dim",
        "hidden_size",
        "intermediate_size",
        "max_position_embeddings",
        "n_ctx",
        "n_embd",
        "n_head",
        "n_inner",
        "n_positions",
        "num_attention_heads",
        "num_key_value_heads",
        "patch_size",
        "short_conv_kernel_size",
        "state_size",
        "v_head_dim",
        "vocab_size",
    }
)
"""Keys of widths, head counts and lengths: integers from 1 to ``MAXIMUM_SIZE``, lists of them, or null."""

COUNT_KEYS = frozenset(
    {
        "first_k_dense_replace",
        "kv_lora_rank",
        "moe_intermediate_size",
        "n_group",
        "n_groups",
        "n_routed_experts",
        "n_shared_experts",
        "num_experts",
        "num_experts_per_tok",
        "num_experts_per_token",
        "num_local_experts",
        "num_nextn_predict_layers",
        "num_shared_experts",
        "q_lora_rank",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "sliding_window",
    }
)
"""Keys where 0 is in use and means "none": integers from 0 to ``MAXIMUM_SIZE``, lists of them, or null."""

_MEND = "Correct it, or give a corrected copy with --config FILE."

CHOSEN_KEYS = ("num_experts_per_tok", "num_experts_per_token")
EXPERT_KEYS = ("n_routed_experts", "num_experts", "num_local_experts")


def read_configuration(path: Path, name: str | None = None) -> dict[str, Any]:
    """Configuration in the JSON file ``path``, checked.

    Args:
        path: file on this machine.
        name: how messages call the file; ``path`` itself if ``None``.

    Raises:
        SourceNotFoundError: there is no such file.
        ConfigurationError: it is too large, not UTF-8, not JSON, not an object, or holds a value no model has.
    """
    name = name or str(path)
    try:
        with path.open("rb") as file:  # a device or a pipe has no size
            data = file.read(MAXIMUM_BYTES + 1)
    except OSError as error:
        raise SourceNotFoundError(
            f"The configuration cannot be read: {error.strerror or error}.", where=name
        ) from error
    if len(data) > MAXIMUM_BYTES:
        raise ConfigurationError(
            f"The configuration has more than {MAXIMUM_BYTES} bytes.",
            where=name,
            advice="Give the model's config.json, not a tokenizer or weight index.",
        )
    return parse_configuration(data, name)


def parse_configuration(data: bytes, name: str) -> dict[str, Any]:
    """Configuration in ``data``, the bytes of a JSON file that messages call ``name``, checked.

    ``Infinity`` and ``NaN`` are accepted, as ``json`` and transformers' own files use them.

    Raises:
        ConfigurationError: as :func:`read_configuration`.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(
            f"The file is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}.",
            where=f"{name}:{line}",
            advice=f"Save it as UTF-8. {_MEND}",
        ) from error
    if text.startswith("\ufeff"):
        raise ConfigurationError(
            "The file begins with a byte order mark, which JSON does not have.",
            where=f"{name}:1",
            advice=f"Save it without one. {_MEND}",
        )
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, name))
    except json.JSONDecodeError as error:
        raise ConfigurationError(
            f"The file is not JSON: {error.msg}.", where=f"{name}:{error.lineno}:{error.colno}", advice=_MEND
        ) from error
    except RecursionError as error:
        raise ConfigurationError("The file is nested too deeply.", where=name) from error
    except ValueError as error:  # an integer of more digits than Python converts
        raise ConfigurationError(f"The file holds a number that cannot be read: {error}.", where=name) from error
    if not isinstance(value, dict):
        raise ConfigurationError(f"The file holds {_kind(value)}, not an object.", where=name)
    _refuse_depth(value, name)
    _refuse_surrogates(value, name)
    check_configuration(value, name)
    return value


def _object(pairs: list[tuple[str, Any]], name: str) -> dict[str, Any]:
    """The object with these keys and values, of which none may say two things."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise ConfigurationError(
                f"The key {key!r} stands twice in one object, with different values.",
                where=f"{name}, {key}",
                advice=_MEND,
            )
        found[key] = value
    return found


def _refuse_surrogates(value: Any, name: str, path: str = "") -> None:
    """Refuses halves of characters, which no file in UTF-8 can hold: JSON can write them as ``\\ud800``."""
    if isinstance(value, str):
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise ConfigurationError(
                f"The text {value[:60]!a} has half of a character.", where=f"{name}, {path}", advice=_MEND
            )
    elif isinstance(value, dict):
        for key, part in value.items():
            inner = f"{path}.{ascii(key)[1:-1]}" if path else ascii(key)[1:-1]
            _refuse_surrogates(key, name, inner)
            _refuse_surrogates(part, name, inner)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            _refuse_surrogates(part, name, f"{path}[{number}]")


def _refuse_depth(configuration: dict[str, Any], name: str) -> None:
    level: list[tuple[str, Any]] = list(configuration.items())
    for _ in range(MAXIMUM_DEPTH):
        held = [(key, value.values() if isinstance(value, dict) else value) for key, value in level if _holds(value)]
        level = [(key, part) for key, parts in held for part in parts]
    if level:
        raise ConfigurationError(
            f"The file is nested too deeply: {level[0][0]} holds more than {MAXIMUM_DEPTH} objects or lists inside "
            "each other.",
            where=f"{name}, {level[0][0]}",
        )


def _holds(value: Any) -> bool:
    return isinstance(value, dict | list)


def check_configuration(configuration: dict[str, Any], name: str = "config.json") -> None:
    """Refuses values that no model has, in ``configuration`` and the configurations nested in it.

    Raises:
        ConfigurationError: names every such key; ``where`` is ``name`` and the first one.
    """
    problems = list(_problems(configuration, ""))
    if problems:
        key = problems[0][0]
        raise ConfigurationError("; ".join(f"{path} {what}" for path, what in problems) + ".", where=f"{name}, {key}")


def asked_transformers_version(configuration: dict[str, Any]) -> str | None:
    """Version of transformers that ``configuration`` says it was written by, looked for one level deep as well.

    Kimi K3's file names it in ``text_config`` only, so the outermost mention wins, then the nested ones in order.
    """
    nested = [value for value in configuration.values() if isinstance(value, dict)]
    for level in (configuration, *nested):
        version = level.get("transformers_version")
        if isinstance(version, str) and version:
            return version
    return None


def _problems(configuration: dict[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in configuration.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict):
            if key.endswith("config"):
                yield from _problems(value, f"{path}.")
        elif value is not None:
            problem = _problem(key, value)
            if problem:
                yield path, problem
    yield from _expert_problems(configuration, prefix)


def _problem(key: str, value: Any) -> str | None:
    if key in LAYER_KEYS:
        lowest, highest = 1, MAXIMUM_LAYERS
    elif key in SIZE_KEYS:
        lowest, highest = 1, MAXIMUM_SIZE
    elif key in COUNT_KEYS:
        lowest, highest = 0, MAXIMUM_SIZE
    else:
        return None
    for element in value if isinstance(value, list) else [value]:
        if isinstance(element, bool) or not isinstance(element, int):
            return f"is {element!r}, not an integer" if not isinstance(element, dict) else "holds an object"
        if not lowest <= element <= highest:
            return f"is {element}, outside {lowest} to {highest}"
    return None


def _expert_problems(configuration: dict[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for chosen_key in CHOSEN_KEYS:
        for expert_key in EXPERT_KEYS:
            chosen, experts = configuration.get(chosen_key), configuration.get(expert_key)
            if type(chosen) is int and type(experts) is int and chosen > experts > 0:
                yield f"{prefix}{chosen_key}", f"is {chosen}, more than the {experts} of {expert_key}"


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a string", bool: "a truth value", int: "a number", float: "a number"}
    return names.get(type(value), "null")
