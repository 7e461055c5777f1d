"""Activation functions, softmax and norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.entry import ATOM, PREFIX, PRODUCT, SUM, Entry
from openmodelatlas.annotation.formulas.families.arithmetic import erf
from openmodelatlas.annotation.formulas.families.numeric import Array, as_float, flat, need
from openmodelatlas.annotation.formulas.families.reductions import logsumexp, norm


def sigmoid(input: Any) -> Array:
    """The logistic function, without overflow for large negative elements."""
    x = as_float(input)
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small))


def silu(input: Any) -> Array:
    """Every element times its own sigmoid (Elfwing et al. 2018, arXiv:1702.03118)."""
    return as_float(input) * sigmoid(input)


def gelu(input: Any, approximate: str = "none") -> Array:
    """GELU (Hendrycks and Gimpel 2016, arXiv:1606.08415), exact or by its tanh approximation."""
    x = as_float(input)
    if approximate == "tanh":
        return np.asarray(0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))))
    return np.asarray(0.5 * x * (1.0 + erf(x / np.sqrt(2.0))))


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """Softplus, which torch continues as the identity where ``beta`` times the element is above ``threshold``."""
    x = as_float(input)
    return np.where(x * beta > threshold, x, np.logaddexp(0.0, x * beta) / beta)


def softmax(input: Any, dim: int | None = None) -> Array:
    """Softmax along one axis; rows of minus infinity alone give no numbers, as in torch."""
    need(dim is not None, "the axis was not recorded")
    x = as_float(input)
    with np.errstate(invalid="ignore"):
        powers = np.exp(x - np.max(x, axis=dim, keepdims=True))
        return np.asarray(powers / np.sum(powers, axis=dim, keepdims=True))


def log_softmax(input: Any, dim: int | None = None) -> Array:
    """Logarithm of the softmax along one axis."""
    need(dim is not None, "the axis was not recorded")
    return np.asarray(as_float(input) - logsumexp(input, dim, keepdim=True))


def glu(input: Any, dim: int = -1) -> Array:
    """The first half of an axis times the sigmoid of the second."""
    one, other = np.split(as_float(input), 2, axis=dim)
    return np.asarray(one * sigmoid(other))


def elu(input: Any, alpha: float = 1.0, scale: float = 1.0) -> Array:
    """ELU; ``scale`` for SELU."""
    x = as_float(input)
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0.0)))


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Array:
    """Layer norm over the last axes (Ba et al. 2016, arXiv:1607.06450)."""
    x = as_float(input)
    axes = tuple(range(-len(flat(normalized_shape)), 0))
    centred = x - np.mean(x, axis=axes, keepdims=True)
    result = centred / np.sqrt(np.mean(centred**2, axis=axes, keepdims=True) + eps)
    result = result if weight is None else result * weight
    return np.asarray(result if bias is None else result + bias)


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Array:
    """RMS norm over the last axes (Zhang and Sennrich 2019, arXiv:1910.07467); ``eps`` is that of float32 if none."""
    x = as_float(input)
    axes = tuple(range(-len(flat(normalized_shape)), 0))
    small = float(np.finfo(np.float32).eps) if eps is None else eps
    result = x / np.sqrt(np.mean(x**2, axis=axes, keepdims=True) + small)
    return np.asarray(result if weight is None else result * weight)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Array:
    """Group norm over groups of the second axis (Wu and He 2018, arXiv:1803.08494)."""
    x = as_float(input)
    grouped = x.reshape(x.shape[0], num_groups, -1)
    centred = grouped - np.mean(grouped, axis=-1, keepdims=True)
    result = (centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + eps)).reshape(x.shape)
    place = (1, -1) + (1,) * (x.ndim - 2)
    result = result if weight is None else result * np.reshape(weight, place)
    return np.asarray(result if bias is None else result + np.reshape(bias, place))


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Array:
    """Batch norm with its stored statistics."""
    need(not training, "its statistics are those of the batch")
    x = as_float(input)
    place = (1, -1) + (1,) * (x.ndim - 2)
    result = (x - np.reshape(running_mean, place)) / np.sqrt(np.reshape(running_var, place) + eps)
    result = result if weight is None else result * np.reshape(weight, place)
    return np.asarray(result if bias is None else result + np.reshape(bias, place))


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Array:
    """Every slice divided by its norm, or by ``eps`` where that is larger."""
    return np.asarray(as_float(input) / np.maximum(norm(input, p, dim, keepdim=True), eps))


def _cosine(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Array:
    below = np.maximum(norm(x1, 2, dim), eps) * np.maximum(norm(x2, 2, dim), eps)
    return np.asarray(np.sum(as_float(x1) * x2, axis=dim) / below)


_MEAN = r"\operatorname{mean}(<input>)"
_VARIANCE = r"\operatorname{Var}(<input>)"

ENTRIES: dict[str, Entry] = {
    "relu": Entry(r"\max(<input>, 0)", PREFIX, lambda input: np.maximum(input, 0)),
    "relu6": Entry(r"\min(\max(<input>, 0), 6)", PREFIX, lambda input: np.clip(input, 0, 6)),
    "sigmoid": Entry(r"\sigma(<input>)", PREFIX, sigmoid, definition=r"\frac{1}{1 + e^{-<input*>}}"),
    "logsigmoid": Entry(
        r"\ln \sigma(<input>)",
        PREFIX,
        lambda input: -np.logaddexp(0.0, -as_float(input)),
        definition=r"-\ln(1 + e^{-<input*>})",
    ),
    "hardsigmoid": Entry(
        r"\min(\max(\tfrac{<input>}{6} + \tfrac{1}{2}, 0), 1)", PREFIX, lambda input: np.clip(input / 6 + 0.5, 0, 1)
    ),
    "silu": Entry(r"\operatorname{SiLU}(<input>)", PREFIX, silu, definition=r"<input*> \odot \sigma(<input>)"),
    "hardswish": Entry(
        r"<input*> \odot \tfrac{1}{6}\min(\max(<input+> + 3, 0), 6)",
        PRODUCT,
        lambda input: input * np.clip(input + 3, 0, 6) / 6,
    ),
    "gelu": Entry(
        r"\operatorname{GELU}_{\tanh<approximate:when=tanh>}(<input>) || \operatorname{GELU}(<input>)",
        PREFIX,
        gelu,
        definition=r"\tfrac{1}{2} <input*> \odot \left(1 + \tanh<approximate:when=tanh>\left(\sqrt{\tfrac{2}{\pi}} "
        r"\left(<input+> + 0.044715\, <input^>^3\right)\right)\right) || "
        r"\tfrac{1}{2} <input*> \odot \left(1 + \operatorname{erf}\left(\tfrac{<input>}{\sqrt{2}}\right)\right)",
    ),
    "tanh": Entry(r"\tanh <input.>", PREFIX, lambda input: np.tanh(as_float(input))),
    "tanhshrink": Entry(r"<input+> - \tanh <input.>", SUM, lambda input: input - np.tanh(as_float(input))),
    "softsign": Entry(r"\frac{<input>}{1 + |<input>|}", PREFIX, lambda input: input / (1 + np.abs(input))),
    "softplus": Entry(
        r"\operatorname{softplus}(<input>)",
        PREFIX,
        softplus,
        definition=r"\tfrac{1}{<beta>} \ln(1 + e^{<beta> <input*>}) || \ln(1 + e^{<input>})",
    ),
    "elu": Entry(
        r"\operatorname{ELU}(<input>)",
        PREFIX,
        elu,
        definition=r"\max(<input>, 0) + <alpha> (e^{\min(<input>, 0)} - 1) || "
        r"\max(<input>, 0) + e^{\min(<input>, 0)} - 1",
    ),
    "selu": Entry(
        r"\operatorname{SELU}(<input>)",
        PREFIX,
        lambda input: elu(input, 1.6732632423543772, 1.0507009873554805),
        definition=r"1.0507 \left(\max(<input>, 0) + 1.67326\, (e^{\min(<input>, 0)} - 1)\right)",
    ),
    "celu": Entry(
        r"\operatorname{CELU}(<input>)",
        PREFIX,
        lambda input, alpha=1.0: np.where(input > 0, input, alpha * np.expm1(np.minimum(input, 0) / alpha)),
    ),
    "leaky_relu": Entry(
        r"\max(<input>, 0) + <negative_slope> \min(<input>, 0) || \max(<input>, 0) + 0.01 \min(<input>, 0)",
        SUM,
        lambda input, negative_slope=0.01: np.where(input > 0, input, negative_slope * input),
    ),
    "prelu": Entry(
        r"\max(<input>, 0) + <weight> \odot \min(<input>, 0)",
        SUM,
        lambda input, weight: np.where(
            input > 0, input, (weight if weight.size == 1 else weight.reshape(1, -1, *[1] * (input.ndim - 2))) * input
        ),
    ),
    "mish": Entry(
        r"<input*> \odot \tanh(\ln(1 + e^{<input>}))", PRODUCT, lambda input: input * np.tanh(np.logaddexp(0.0, input))
    ),
    "hardtanh": Entry(
        r"\min(\max(<input>, <min_val>), <max_val>) || \min(\max(<input>, -1), 1)",
        PREFIX,
        lambda input, min_val=-1.0, max_val=1.0: np.clip(input, min_val, max_val),
    ),
    "glu": Entry(
        r"\operatorname{GLU}_{<dim:axis>}(<input>) || \operatorname{GLU}(<input>)",
        PREFIX,
        glu,
        definition=r"a \odot \sigma(b), \quad (a, b) = <input> \text{ cut in two}",
    ),
    "softmax": Entry(
        r"\operatorname{softmax}_{<dim:axis>}(<input>) || \operatorname{softmax}(<input>)",
        PREFIX,
        softmax,
        definition=r"\frac{e^{<input>}}{\sum_{<dim:axis>} e^{<input>}}",
        summed=("input",),
    ),
    "softmin": Entry(
        r"\operatorname{softmax}_{<dim:axis>}(-<input*>)",
        PREFIX,
        lambda input, dim=None: softmax(-input, dim),
        summed=("input",),
    ),
    "log_softmax": Entry(
        r"\ln \operatorname{softmax}_{<dim:axis>}(<input>) || \ln \operatorname{softmax}(<input>)",
        PREFIX,
        log_softmax,
        definition=r"<input+> - \ln \sum_{<dim:axis>} e^{<input>}",
        summed=("input",),
    ),
    "layer_norm": Entry(
        r"\operatorname{LayerNorm}(<input>)",
        PREFIX,
        layer_norm,
        definition=rf"\frac{{<input+> - {_MEAN}}}{{\sqrt{{{_VARIANCE} + <eps>}}}} \odot <weight*> + <bias+> || "
        rf"\frac{{<input+> - {_MEAN}}}{{\sqrt{{{_VARIANCE} + <eps>}}}} \odot <weight*> || "
        rf"\frac{{<input+> - {_MEAN}}}{{\sqrt{{{_VARIANCE} + <eps>}}}} || "
        rf"\frac{{<input+> - {_MEAN}}}{{\sqrt{{{_VARIANCE} + 10^{{-5}}}}}}",
        summed=("input",),
    ),
    "rms_norm": Entry(
        r"\operatorname{RMSNorm}(<input>)",
        PREFIX,
        rms_norm,
        definition=r"\frac{<input>}{\sqrt{\operatorname{mean}(<input^>^2) + <eps>}} \odot <weight*> || "
        r"\frac{<input>}{\sqrt{\operatorname{mean}(<input^>^2) + <eps>}} || "
        r"\frac{<input>}{\sqrt{\operatorname{mean}(<input^>^2) + \epsilon_{32}}}",
        summed=("input",),
    ),
    "group_norm": Entry(
        r"\operatorname{GroupNorm}_{<num_groups>}(<input>) \odot <weight*> + <bias+> || "
        r"\operatorname{GroupNorm}_{<num_groups>}(<input>)",
        SUM,
        group_norm,
        summed=("input",),
    ),
    "batch_norm": Entry(
        r"\frac{<input+> - <running_mean*>}{\sqrt{<running_var+> + <eps>}} \odot <weight*> + <bias+> || "
        r"\frac{<input+> - <running_mean*>}{\sqrt{<running_var+> + 10^{-5}}} \odot <weight*> + <bias+> || "
        r"\frac{<input+> - <running_mean*>}{\sqrt{<running_var+> + 10^{-5}}}",
        SUM,
        batch_norm,
    ),
    "normalize": Entry(
        r"\frac{<input>}{\max(\lVert <input> \rVert_{<p>}, <eps>)} || "
        r"\frac{<input>}{\max(\lVert <input> \rVert_2, <eps>)} || "
        r"\frac{<input>}{\max(\lVert <input> \rVert_2, 10^{-12})}",
        PREFIX,
        normalize,
        summed=("input",),
    ),
    "cosine_similarity": Entry(
        r"\frac{<x1*> \cdot <x2*>}{\lVert <x1> \rVert\, \lVert <x2> \rVert}", ATOM, _cosine, summed=("x1",)
    ),
}
