"""Models with a ``transformers`` configuration: remote code of a hub or folder, and the installed package's own."""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from transformers import modeling_utils

from openmodelatlas.capture.child import schedules
from openmodelatlas.capture.child.failures import message_of
from openmodelatlas.capture.child.kinds import flat, origins_of
from openmodelatlas.capture.child.lengths import last_parts, texts_beside, written_lengths
from openmodelatlas.capture.child.rope import fit_lists
from openmodelatlas.capture.child.schedules import schedule_keys
from openmodelatlas.capture.child.sizes import Published
from openmodelatlas.capture.child.source_package import SourceFinder, attribute, install, read_verified
from openmodelatlas.capture.child.subject import Inputs
from openmodelatlas.capture.child.weights import marked_uninitialised_memory, no_initialisation
from openmodelatlas.capture.job import Job
from openmodelatlas.capture.recording import Probe
from openmodelatlas.errors import AtlasError, ConfigurationError, SourceNotFoundError

NOT_FOR_PROBES = ("quantization_config", "compression_config", "torch_dtype", "dtype", "_name_or_path")
TOKEN_SUFFIXES = ("_token_id", "_token_index")
PIXELS = ("pixel_values", "input_features", "input_values")


class HuggingFaceSubject:
    """A causal language model with a configuration class."""

    def __init__(
        self,
        config_class: type[Any],
        model_class: type[torch.nn.Module],
        configuration: dict[str, Any],
        roots: dict[str, Path],
        notes: list[str],
    ) -> None:
        self.config_class = config_class
        self.model_class = model_class
        self.roots = roots
        self.notes = notes
        self.effective: dict[str, Any] | None = None
        aliases: dict[str, str] = getattr(config_class, "attribute_map", {}) or {}
        self.configuration: dict[str, Any] = {}
        for key, value in copy.deepcopy(configuration).items():
            if key in NOT_FOR_PROBES:
                if key.endswith("n_config"):
                    notes.append(f"{key} is left out: the probe runs unquantised weights.")
                continue
            self.configuration[aliases.get(key, key)] = value

    def published(self) -> Published:
        """See :class:`Subject`."""
        effective = self.effective = _plain(self._config({}).to_dict())
        given = flat(self.configuration)
        values = flat(effective)
        origins = origins_of(values, given)
        published = Published(effective, origins)
        texts = texts_beside(self.model_class.__module__)
        published.lengths.update(written_lengths(texts, last_parts(effective)))
        for path in values:
            if path not in given and not self._accepts(path):
                published.computed[path] = "Computed by the configuration class from other keys."
        published.keep(schedule_keys(texts, last_parts(effective)), schedules.REASON)
        return published

    def _accepts(self, path: str) -> bool:
        """Whether the configuration class takes this key as an argument of its own."""
        if "." in path:
            return True
        fields = getattr(self.config_class, "__dataclass_fields__", None)
        if fields is not None:
            aliases = getattr(self.config_class, "attribute_map", {}) or {}
            return path in fields or path in aliases.values()
        return path in inspect.signature(self.config_class.__init__).parameters

    def configure(self, settings: Mapping[str, int]) -> dict[str, Any]:
        """See :class:`Subject`."""
        return _plain(self._config(settings).to_dict())

    def _config(self, settings: Mapping[str, int]) -> Any:
        values = copy.deepcopy(self.configuration)
        for path, size in settings.items():
            *branches, last = path.split(".")
            target = values
            for branch in branches:
                target = target.setdefault(branch, {})
            target[last] = size
        if settings and self.effective is not None:
            fit_lists(values, self.effective)
        vocabulary = next((size for path, size in settings.items() if path.endswith("vocab_size")), None)
        if vocabulary is not None:
            self._clip_token_ids(values, vocabulary)
        try:
            config = self.config_class(**values)
        except AtlasError:
            raise
        except Exception as error:
            raise ConfigurationError(
                f"{self.config_class.__name__} refuses the configuration: {message_of(error)}",
                where=_key_in(message_of(error), values),
            ) from error
        for name in ("_attn_implementation", "_experts_implementation"):
            if hasattr(config, name):
                setattr(config, name, "eager")
        return config

    def _clip_token_ids(self, values: dict[str, Any], vocabulary: int) -> None:
        """Special tokens keep being distinct ids, the last ones of the vocabulary."""
        defaults = {
            key: value
            for key, value in vars(self.config_class).items()
            if key.endswith(TOKEN_SUFFIXES) and isinstance(value, int)
        }
        if not defaults:
            defaults = {
                key: parameter.default
                for key, parameter in inspect.signature(self.config_class.__init__).parameters.items()
                if key.endswith(TOKEN_SUFFIXES) and isinstance(parameter.default, int)
            }
        ids = {**defaults, **{key: value for key, value in values.items() if key.endswith(TOKEN_SUFFIXES)}}
        large = sorted(
            {
                item
                for value in ids.values()
                for item in (value if isinstance(value, (list, tuple)) else [value])
                if isinstance(item, int) and item >= vocabulary
            }
        )
        small = {item: vocabulary - 1 - position % vocabulary for position, item in enumerate(reversed(large))}
        for key, value in ids.items():
            if isinstance(value, (list, tuple)):
                values[key] = [small.get(item, item) for item in value]
            elif isinstance(value, int) and value in small:
                values[key] = small[value]

    def instantiate(self, settings: Mapping[str, int], dtype: str, device: str) -> torch.nn.Module:
        """See :class:`Subject`."""
        config = self._config(settings)
        before = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, dtype))
        try:
            if device == "meta":
                with torch.device("meta"), no_initialisation(), _no_own_initialisation():
                    model = self.model_class(config)
                if hasattr(modeling_utils, "no_init_weights"):
                    model.tie_weights()  # type: ignore[operator]
            else:
                with marked_uninitialised_memory():
                    model = self.model_class(config)
        finally:
            torch.set_default_dtype(before)
        return model.eval()

    def inputs(self, model: torch.nn.Module, probe: Probe, device: str) -> Inputs:
        """``input_ids`` and, only where ``forward`` has no default for them, masks and positions: ``[B, T]`` int64.

        Raises:
            ConfigurationError: ``forward`` takes no ``input_ids``.
        """
        parameters = inspect.signature(model.forward).parameters
        if "input_ids" not in parameters and not any(
            parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()
        ):
            taken = ", ".join(parameters) or "nothing"
            raise ConfigurationError(
                f"{type(model).__name__}.forward takes {taken}; a model of a hub or folder is run on input_ids.",
                where=type(model).__name__,
                advice="Write a function that returns (module, inputs), and build it as package.module:function.",
            )
        config: Any = model.config
        vocabulary = getattr(config, "vocab_size", None) or config.get_text_config().vocab_size
        shape = (probe.batch, probe.tokens)
        if device == "meta":
            tokens = torch.zeros(shape, dtype=torch.int64, device="meta")
        else:
            generator = torch.Generator().manual_seed(probe.seed)
            tokens = torch.randint(0, vocabulary, shape, generator=generator)
        given = {"input_ids": tokens}
        if getattr(config, "is_encoder_decoder", False):
            given["decoder_input_ids"] = tokens.flip(1)
        for name, parameter in parameters.items():
            if parameter.default is inspect.Parameter.empty and parameter.kind in (
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                inspect.Parameter.KEYWORD_ONLY,
            ):
                if name == "attention_mask":
                    given[name] = torch.ones(shape, dtype=torch.int64, device=device)
                elif name == "position_ids":
                    given[name] = torch.arange(probe.tokens, device=device).expand(shape)
        return Inputs(given, passed_on=True)


def _no_own_initialisation() -> AbstractContextManager[Any]:
    """Before 5.0, ``transformers`` initialises on the meta device too, slowly; its switch leaves out tying as well.

    Source: ``transformers/modeling_utils.py`` of 4.56.2, ``no_init_weights`` and ``PreTrainedModel.init_weights``.
    """
    switch = getattr(modeling_utils, "no_init_weights", None)
    return nullcontext() if switch is None else switch()


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """A configuration as JSON data: nested configurations as dictionaries, everything else as text."""

    def convert(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): convert(item) for key, item in value.items()}
        if isinstance(value, (list, tuple, set)):
            return [convert(item) for item in value]
        if isinstance(value, float) and not abs(value) < float("inf"):
            return str(value)
        return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)

    return {key: convert(value) for key, value in values.items()}


def _key_in(message: str, values: Mapping[str, Any]) -> str | None:
    """The configuration key an error message speaks of, if it names one."""
    named = [key for key in values if key in message]
    return max(named, key=len) if named else None


def remote_subject(job: Job) -> HuggingFaceSubject:
    """Subject of a hub or folder source: the classes that ``job.entry`` and ``auto_map`` name.

    Raises:
        SourceNotFoundError: the source holds no model code.
    """
    root = Path(job.root)
    finder = install(root, job.files)
    notes: list[str] = []
    configuration, entry = job.configuration, job.entry
    text = configuration.get("text_config")
    if isinstance(text, dict) and (text.get("auto_map") or {}).get("AutoModelForCausalLM"):
        inner = text["auto_map"]["AutoModelForCausalLM"]
        if entry == inner or entry not in configuration.get("auto_map", {}).values() or _needs_pixels(finder, entry):
            notes.append(f"The text model {inner} runs with text_config; the other parts of {entry} are not captured.")
            configuration, entry = _inherit(configuration, text), inner
    if not entry:
        raise SourceNotFoundError(f"{job.repository} names no model class.", advice="It may hold weights only.")
    model_class = attribute(finder, entry)
    if not (isinstance(model_class, type) and issubclass(model_class, torch.nn.Module)):
        raise ConfigurationError(f"{entry} is no class of modules (torch.nn.Module).", where="config.json, auto_map")
    reference = (configuration.get("auto_map") or {}).get("AutoConfig")
    config_class = attribute(finder, reference) if reference else getattr(model_class, "config_class", None)
    if config_class is None:
        try:
            config_class = _config_class_of_type(str(configuration.get("model_type", "")))
        except ConfigurationError as error:
            raise ConfigurationError(
                f"Neither auto_map nor {entry} names a class for the configuration. {error.what}",
                where="config.json, auto_map.AutoConfig",
                advice="Name it in auto_map.AutoConfig, or as config_class of the model's class.",
            ) from None
    return HuggingFaceSubject(config_class, model_class, configuration, {"source": root}, notes)


def _needs_pixels(finder: SourceFinder, entry: str) -> bool:
    """Whether the class's ``forward`` takes pictures or sound; a class that cannot be imported counts as such."""
    try:
        model_class = attribute(finder, entry)
    except ImportError:
        return True
    return any(name in inspect.signature(model_class.forward).parameters for name in PIXELS)


def _inherit(outer: Mapping[str, Any], text: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(text)
    for key in ("tie_word_embeddings", "dtype", "torch_dtype", "transformers_version"):
        if key in outer:
            merged.setdefault(key, outer[key])
    return merged


def _config_class_of_type(model_type: str) -> type[Any]:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    try:
        found: type[Any] = CONFIG_MAPPING[model_type]
    except KeyError:
        raise ConfigurationError(
            f"The installed transformers knows no model type {model_type!r}.",
            where="model_type",
            advice="Ask for another version with --with transformers==VERSION.",
        ) from None
    return found


def transformers_subject(job: Job) -> HuggingFaceSubject:
    """Subject of the installed package: ``job.entry`` is the model type.

    Raises:
        ConfigurationError: no such model type, or one without a causal language model.
    """
    root = Path(job.root)
    for path in job.files:
        if path.endswith(".py"):
            read_verified(root, path, job.files)
    notes: list[str] = []
    configuration, model_type = job.configuration, job.entry
    config_class = _config_class_of_type(model_type)
    model_class = _causal_class(model_type, config_class)
    text = configuration.get("text_config")
    sub_configs: dict[str, Any] = getattr(config_class, "sub_configs", {}) or {}
    if "text_config" in sub_configs and (model_class is None or isinstance(text, dict)):
        text_class = _text_config_class(sub_configs["text_config"], text if isinstance(text, dict) else {})
        inner = _causal_class(text_class.model_type, text_class)
        if inner is not None:
            notes.append(f"The text model {inner.__name__} runs with text_config; other parts are not captured.")
            configuration = _inherit(configuration, text if isinstance(text, dict) else {})
            config_class, model_class = text_class, inner
    if model_class is None:
        raise ConfigurationError(
            f"transformers has no causal language model of type {model_type!r}.", where="model_type"
        )
    return HuggingFaceSubject(config_class, model_class, configuration, {"source": root}, notes)


def _text_config_class(declared: type[Any], text: Mapping[str, Any]) -> type[Any]:
    if getattr(declared, "model_type", ""):
        return declared
    return _config_class_of_type(str(text.get("model_type", "")))


def _causal_class(model_type: str, config_class: type[Any]) -> type[torch.nn.Module] | None:
    """The causal language model class of a type, imported from the type's own modelling file."""
    from transformers.models.auto import modeling_auto as auto

    for mapping in ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"):
        name = getattr(auto, mapping).get(model_type)
        if isinstance(name, (list, tuple)):
            name = name[0]
        if not name:
            continue
        package = config_class.__module__.rpartition(".")
        module = importlib.import_module(f"{package[0]}.{package[2].replace('configuration_', 'modeling_', 1)}")
        found: type[torch.nn.Module] | None = getattr(module, name, None)
        if found is None:
            import transformers

            found = getattr(transformers, name)
        return found
    return None
