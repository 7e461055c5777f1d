"""Models made by a function: ``package.module:factory`` of a user, and our own reference models."""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from openmodelatlas.capture.child import schedules
from openmodelatlas.capture.child.examples import check_taken, example_inputs, fitted
from openmodelatlas.capture.child.kinds import flat, origins_of
from openmodelatlas.capture.child.lengths import last_parts, texts_beside, written_lengths
from openmodelatlas.capture.child.probes import TOKEN_NAMES
from openmodelatlas.capture.child.schedules import schedule_keys
from openmodelatlas.capture.child.sizes import Published
from openmodelatlas.capture.child.source_package import read_verified
from openmodelatlas.capture.child.subject import Inputs
from openmodelatlas.capture.child.weights import marked_uninitialised_memory, no_initialisation
from openmodelatlas.capture.job import Job
from openmodelatlas.capture.recording import Probe
from openmodelatlas.errors import ConfigurationError, SourceNotFoundError

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

FIXED_SIZES_NOTE = (
    "The factory has no sizes to choose (no integer keyword arguments, no configuration): every probe runs the "
    "sizes it builds, and dimensions show as numbers."
)


class FactorySubject:
    """A module that a callable returns, alone or with example inputs.

    The callable is given, by what its signature asks for: the configuration as one dictionary (one argument without a
    default, or one called ``config``/``configuration``), else its own keyword arguments with integer defaults, which
    then are the configuration.
    """

    def __init__(self, job: Job, factory: Callable[..., Any]) -> None:
        self.factory = factory
        self.roots = {"source": Path(job.root)}
        self.files = frozenset(Path(job.root) / path for path in job.files)
        self.notes: list[str] = []
        self.keywords: dict[str, Any] = {}
        self.takes_dictionary = False
        self.example: Inputs | None = None
        self.entry = job.entry
        try:
            parameters: Mapping[str, inspect.Parameter] = inspect.signature(factory).parameters
        except (TypeError, ValueError):
            parameters = {}
        positional = [name for name, value in parameters.items() if _is_required(value)]
        named = [name for name in parameters if name in {"config", "configuration"}]
        self.takes_dictionary = len(positional) == 1 or bool(named)
        if len(positional) > 1:
            raise ConfigurationError(
                f"{job.entry} needs {len(positional)} arguments; a factory takes none, or one configuration.",
                where=job.entry,
                advice="Wrap it in a function without arguments.",
            )
        if not self.takes_dictionary:
            _check_keys(job, parameters)
            self.keywords = {
                name: value.default
                for name, value in parameters.items()
                if value.kind in _BY_NAME
                and (isinstance(value.default, (bool, int, float, str)) or name in job.configuration)
            }
        self.whole = {**self.keywords, **copy.deepcopy(job.configuration)}
        text = self.whole.get("text_config")
        self.configuration: dict[str, Any] = text if isinstance(text, dict) else self.whole
        self.given = flat(text if isinstance(text, dict) else job.configuration)
        if not self.configuration:
            self.notes.append(FIXED_SIZES_NOTE)

    def published(self) -> Published:
        """See :class:`Subject`."""
        origins = origins_of(flat(self.configuration), self.given)
        texts = texts_beside(getattr(self.factory, "__module__", ""), self.files)
        lengths = written_lengths(texts, last_parts(self.configuration))
        published = Published(copy.deepcopy(self.configuration), origins, lengths=lengths)
        published.keep(schedule_keys(texts, last_parts(self.configuration)), schedules.REASON)
        return published

    def configure(self, settings: Mapping[str, int]) -> dict[str, Any]:
        """See :class:`Subject`."""
        whole = self._with(settings)
        return whole if self.configuration is self.whole else dict(whole["text_config"])

    def _with(self, settings: Mapping[str, int]) -> dict[str, Any]:
        """The whole configuration at the given sizes; of a model with several parts, those of its text model."""
        whole = copy.deepcopy(self.whole)
        values = whole if self.configuration is self.whole else whole["text_config"]
        for path, size in settings.items():
            *branches, last = path.split(".")
            target = values
            for branch in branches:
                target = target.setdefault(branch, {})
            target[last] = size
        vocabulary = values.get("vocab_size")
        if isinstance(vocabulary, int) and "vocab_size" in settings:
            for position, key in enumerate(sorted(values)):
                if key.endswith("_token_id") and isinstance(values[key], int) and values[key] >= vocabulary:
                    values[key] = vocabulary - 1 - position % vocabulary
        return whole

    def instantiate(self, settings: Mapping[str, int], dtype: str, device: str) -> torch.nn.Module:
        """See :class:`Subject`.

        Raises:
            ConfigurationError: the factory returns something that is no module.
        """
        values = self._with(settings)
        before = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, dtype))
        try:
            with torch.device(device), no_initialisation() if device == "meta" else marked_uninitialised_memory():
                made = self.factory(values) if self.takes_dictionary else self.factory(**values)
        finally:
            torch.set_default_dtype(before)
        if isinstance(made, tuple) and len(made) == 2:
            made, example = made
            if isinstance(made, torch.nn.Module):
                self.example = example_inputs(made, example, self.entry) if example is not None else None
        if not isinstance(made, torch.nn.Module):
            raise ConfigurationError(
                f"The factory returned {type(made).__name__}, not a torch.nn.Module or (module, inputs).",
                advice="Return the module, or the module and a tuple or dictionary of example inputs.",
            )
        return made.eval()

    def inputs(self, model: torch.nn.Module, probe: Probe, device: str) -> Inputs:
        """The example inputs with their first axis repeated or cut to the probe's batch; else ``input_ids`` [B, T].

        Raises:
            ConfigurationError: the factory gives no example inputs, and ``forward`` takes others than tokens; or see
                :func:`.examples.fitted`.
        """
        if self.example is not None:
            return fitted(self.example, probe.batch, device, self.entry)
        parameters = inspect.signature(model.forward).parameters
        if not parameters:
            return Inputs()
        first = next(iter(parameters.values()))
        if first.name not in TOKEN_NAMES:
            raise ConfigurationError(
                f"{type(model).__name__}.forward takes {', '.join(parameters)}, and the factory gives no example "
                "inputs.",
                where=self.entry,
                advice="Return (module, inputs) from the factory.",
            )
        tokens = self._tokens(model, probe, device)
        inputs = Inputs({first.name: tokens}, positional=int(first.kind is not inspect.Parameter.KEYWORD_ONLY))
        check_taken(model, inputs, self.entry)
        return inputs

    def _tokens(self, model: torch.nn.Module, probe: Probe, device: str) -> torch.Tensor:
        """Token numbers [B, T] below the vocabulary's size, as far as that is told; int64."""
        vocabulary = next(
            (
                value
                for key, value in sorted(self.configure(probe.sizes).items())
                if key in {"vocab_size", "n_vocab", "padded_vocab_size"}
            ),
            None,
        )
        if vocabulary is None:
            table = next((module for module in model.modules() if isinstance(module, torch.nn.Embedding)), None)
            vocabulary = table.num_embeddings if table is not None else 2
        shape = (probe.batch, probe.tokens)
        if device == "meta":
            return torch.zeros(shape, dtype=torch.int64, device="meta")
        generator = torch.Generator().manual_seed(probe.seed)
        return torch.randint(0, vocabulary, shape, generator=generator)


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty and parameter.kind in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )


def _check_keys(job: Job, parameters: Mapping[str, inspect.Parameter]) -> None:
    """See to it that the factory has a keyword argument for every key of the configuration.

    Raises:
        ConfigurationError: it has none for one of them.
    """
    taken = [name for name, parameter in parameters.items() if parameter.kind in _BY_NAME]
    if not parameters or any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    unknown = [key for key in job.configuration if key not in taken]
    if unknown:
        raise ConfigurationError(
            f"{job.entry} takes no {', '.join(unknown)}; it takes {', '.join(taken) or 'nothing by name'}.",
            where=unknown[0],
            advice="Leave the key out of the configuration, or give the factory a keyword argument of that name.",
        )


def factory_subject(job: Job) -> FactorySubject:
    """Subject of ``module:callable``.

    Raises:
        SourceNotFoundError: there is no such module or callable.
    """
    import sys

    root = Path(job.root)
    for path in job.files:
        if path.endswith(".py"):
            read_verified(root, path, job.files)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    module_name, _, name = job.entry.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and module_name.startswith(error.name):
            raise SourceNotFoundError(f"There is no module {module_name}.", where=job.entry) from error
        raise
    factory: Any = module
    for part in name.split("."):
        factory = getattr(factory, part, None)
    if not callable(factory):
        raise SourceNotFoundError(f"{module_name} has no callable {name}.", where=job.entry)
    return FactorySubject(job, factory)
