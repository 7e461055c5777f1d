"""Fill a model's parameters: random, deterministic by name, and never so regular that a convention vanishes.

Ones and zeros hide conventions (``1 + w``, a bias that is added or not), so vectors that were initialised to one
constant are spread around it; vectors with a meaningful initialisation (``A_log``, ``dt_bias``) keep it, with noise;
matrices are normal with a standard deviation of one over the square root of the fan-in, so that activations neither
vanish nor overflow through true depth.
"""

from __future__ import annotations

import contextlib
import math
import zlib
from collections.abc import Iterator
from typing import Any

import torch

SPREAD = 0.2
KEPT_MATRICES = ("A_log",)


@contextlib.contextmanager
def marked_uninitialised_memory() -> Iterator[None]:
    """Within, ``torch.empty`` gives NaN in floating-point tensors, so that what nobody initialised can be told.

    ``torch.use_deterministic_algorithms`` would first import the whole compiler, to tell it (2.13, 0.25 s measured).
    """
    before = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    torch._C._set_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch._C._set_deterministic_algorithms(before, warn_only=warn_only)


@contextlib.contextmanager
def no_initialisation() -> Iterator[None]:
    """Within, nothing of torch's ``nn.init`` runs: on the meta device there is nothing to initialise.

    ``transformers``' own switch is not used, because from 5.0 it leaves out the tying of weights as well
    (``transformers/initialization.py``, ``no_init_weights``).
    """

    def untouched(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return tensor

    names = [name for name in vars(torch.nn.init) if name.endswith("_") and not name.startswith("_")]
    before = {name: getattr(torch.nn.init, name) for name in names}
    try:
        for name in names:
            setattr(torch.nn.init, name, untouched)
        yield
    finally:
        for name, function in before.items():
            setattr(torch.nn.init, name, function)


def fill(model: torch.nn.Module, seed: int) -> None:
    """Overwrite every parameter, and the persistent floating-point buffers that hold one constant.

    Args:
        model: on a real device.
        seed: with a tensor's name it decides its values.
    """
    generator = torch.Generator()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.is_floating_point():
                generator.manual_seed(zlib.crc32(f"{seed}:{name}".encode(errors="surrogatepass")))  # it uses 32 bits
                _fill_one(name, parameter, generator)
        persistent = set(model.state_dict(keep_vars=True))
        for name, buffer in model.named_buffers():
            if name in persistent and buffer.is_floating_point() and buffer.numel() > 0:
                generator.manual_seed(zlib.crc32(f"{seed}:{name}".encode(errors="surrogatepass")))  # it uses 32 bits
                if _is_constant(buffer) or not bool(torch.isfinite(buffer).all()):
                    _fill_vector(buffer, generator)


def _fill_one(name: str, parameter: torch.Tensor, generator: torch.Generator) -> None:
    if parameter.numel() == 0:
        return
    is_vector = parameter.numel() == max(parameter.shape, default=1)
    if is_vector or name.endswith(KEPT_MATRICES):
        _fill_vector(parameter, generator)
        return
    values = torch.randn(parameter.shape, generator=generator, dtype=torch.float32)
    fan_in = math.sqrt(parameter.shape[-1] * parameter.shape[-2]) if parameter.dim() == 3 else _fan_in(parameter)
    parameter.copy_(values.mul_(1.0 / math.sqrt(max(fan_in, 1.0))))


def _fan_in(parameter: torch.Tensor) -> float:
    return parameter.numel() / parameter.shape[0]


def _is_constant(tensor: torch.Tensor) -> bool:
    return bool((tensor == tensor.flatten()[0]).all())


def _fill_vector(tensor: torch.Tensor, generator: torch.Generator) -> None:
    noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float32)
    values = tensor.detach().to(torch.float32)
    if not bool(torch.isfinite(values).all()):
        tensor.copy_(noise.mul_(SPREAD).add_(0.5))
    elif _is_constant(values):
        first = float(values.flatten()[0])
        scale = SPREAD * (abs(first) if first else 1.0)
        tensor.copy_(values + noise.mul_(scale))
    else:
        tensor.copy_(values + noise.mul_(SPREAD * float(values.std())))
