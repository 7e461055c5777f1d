"""Calls that between them use every entry of the operation table that can be evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Call = tuple[str, tuple[Any, ...], dict[str, Any]]

F = "torch.nn.functional."
M = "torch.Tensor."


def x(*shape: int) -> torch.Tensor:
    """Normal numbers."""
    return torch.randn(*shape)


def positive(*shape: int) -> torch.Tensor:
    """Numbers between a half and three halves."""
    return torch.rand(*shape) + 0.5


def whole(*shape: int, below: int = 5) -> torch.Tensor:
    """Integers from 0."""
    return torch.randint(0, below, shape)


def mask(*shape: int) -> torch.Tensor:
    """Truth values."""
    return torch.rand(*shape) > 0.5


def call(function: str, *args: Any, **kwargs: Any) -> Call:
    return function, args, kwargs


_UNARY = "abs sign exp expm1 exp2 square sin cos tan asin acos atan sinh cosh erf erfc floor ceil round trunc frac neg"
_UNARY += " positive sigmoid tanh isnan isinf isfinite nan_to_num real conj atleast_1d atleast_2d ravel clone detach"
_UNARY += " fliplr flatten argwhere nonzero relu square reciprocal resolve_conj angle"
_POSITIVE = "log log1p log2 log10 sqrt rsqrt lgamma"
_ACTIVATIONS = (
    "relu6 silu gelu mish hardsigmoid hardswish tanhshrink softsign selu celu elu logsigmoid softplus hardtanh"
)
_ACTIVATIONS += " leaky_relu"
_BINARY = "add sub mul div fmod remainder maximum minimum atan2 logaddexp eq ne gt ge lt le isclose"
_REDUCTIONS = "sum mean prod amax amin nansum std var logsumexp"
_CASTS = "float double half bfloat16 int long short byte bool"


def simple() -> list[Call]:
    """Functions of one or two tensors with nothing else to say."""
    calls = [call(f"torch.{name}", torch.rand(3, 4) * 1.8 - 0.9) for name in _UNARY.split()]
    calls += [call(f"torch.{name}", positive(3, 4)) for name in _POSITIVE.split()]
    calls += [call(f"{F}{name}", x(3, 4)) for name in _ACTIVATIONS.split()]
    calls += [call(f"torch.{name}", x(3, 4), positive(3, 4)) for name in _BINARY.split()]
    calls += [call(f"torch.{name}", x(3, 4), dim=1) for name in _REDUCTIONS.split()]
    calls += [call(f"torch.{name}", x(2, 3, 4), (0, -1), keepdim=True) for name in ("sum", "mean", "amax", "logsumexp")]
    calls += [call(f"torch.{name}", x(3, 4)) for name in ("sum", "mean", "max", "min", "prod", "std", "var", "median")]
    calls += [call(f"{M}{name}", whole(3, 4)) for name in _CASTS.split()]
    calls += [call(f"torch.logical_{name}", mask(3, 4), mask(3, 4)) for name in ("and", "or", "xor")]
    calls += [call(f"torch.bitwise_{name}", whole(3, 4), whole(3, 4)) for name in ("and", "or", "xor")]
    calls += [call(f"torch.bitwise_{name}_shift", whole(3, 4), whole(3, 4)) for name in ("left", "right")]
    calls += [call("torch.logical_not", mask(3, 4)), call(f"{M}__invert__", mask(3, 4))]
    calls += [call(f"{M}__and__", whole(3), whole(3)), call(f"{M}__invert__", whole(3))]
    return calls


def operators() -> list[Call]:
    """What ``+`` and its like run, reflected and in place too."""
    names = "add sub mul truediv floordiv mod pow"
    calls = [call(f"{M}__{name}__", positive(3, 4), positive(4)) for name in names.split()]
    calls += [call(f"{M}__{name}__", positive(3, 4), 1.5) for name in names.split()]
    calls += [call(f"{M}__r{name}__", positive(3, 4), 1.5) for name in names.split() if name not in ("add", "mul")]
    calls += [call(f"{M}__rdiv__", positive(3, 4), 1.5), call(f"{M}__rmatmul__", x(3, 4), x(5, 3))]
    calls += [call(f"{M}__i{name}__", positive(3, 4), 2.5) for name in ("add", "sub", "mul")]
    calls += [call(f"{M}{name}_", positive(3, 4), 2.5) for name in ("add", "div", "pow", "clamp_min", "clamp_max")]
    calls += [call(f"{M}__matmul__", x(2, 3, 4), x(4, 5)), call(f"{M}__neg__", x(3)), call(f"{M}abs_", x(3))]
    calls += [call("torch.add", x(3), x(3), alpha=2), call("torch.sub", x(3), x(3), alpha=3)]
    calls += [
        call("torch.div", x(4), 0.3, rounding_mode="floor"),
        call("torch.div", whole(4), 2, rounding_mode="trunc"),
    ]
    calls += [call("torch.floor_divide", whole(4), 2), call("torch.float_power", positive(3), 2)]
    calls += [call("torch.clamp", x(9), -0.5, 0.5), call("torch.clamp", x(9), max=0.2), call("torch.clamp", x(9), x(9))]
    calls += [call("torch.lerp", x(3), x(3), 0.3), call("torch.addcmul", x(3), x(3), x(3), value=2)]
    calls += [
        call("torch.addcdiv", x(3), x(3), positive(3)),
        call("torch.pow", 2.0, x(3)),
        call(f"{M}pow", whole(3), 2),
    ]
    calls += [call(f"{M}{name}", torch.tensor([2.0])) for name in ("__bool__", "item", "tolist")]
    calls += [call(f"torch.{name}", torch.ones(3), torch.ones(3)) for name in ("allclose", "equal")]
    return calls


def reductions() -> list[Call]:
    """Places of extremes, running totals, norms, counts."""
    calls = [call(f"torch.{name}", x(3, 4), 1) for name in ("max", "min", "argmax", "argmin", "cumsum", "cumprod")]
    calls += [call(f"torch.{name}", x(3, 4), dim=0, keepdim=True) for name in ("max", "argmax", "median")]
    calls += [call("torch.argmax", whole(3, 9)), call("torch.max", x(3), x(3)), call("torch.logcumsumexp", x(3, 4), 1)]
    calls += [call(f"torch.{name}", mask(3, 4), 1) for name in ("any", "all", "sum", "cumsum", "count_nonzero")]
    calls += [call("torch.norm", x(3, 4), 2, -1), call("torch.linalg.vector_norm", x(3, 4), dim=-1, keepdim=True)]
    calls += [call("torch.linalg.vector_norm", x(3, 4), float("inf")), call("torch.norm", x(3, 4), 1)]
    calls += [call("torch.bincount", whole(9), minlength=7), call("torch.histc", x(30), 5, -1, 1)]
    calls += [call("torch.trace", x(3, 3)), call("torch.diff", x(3, 4)), call("torch.var", x(3, 4), 1, correction=0)]
    calls += [call("torch.var", x(3, 4), -1, False), call("torch.sum", whole(3, 4), dtype=torch.float32)]
    return calls


def activations() -> list[Call]:
    """Activations with arguments, softmax and norms."""
    calls = [call(f"{F}{name}", x(3, 4), dim=-1) for name in ("softmax", "log_softmax", "softmin", "glu")]
    calls += [call("torch.softmax", x(3, 4), 0), call(f"{M}softmax", x(3, 4), dim=-1, dtype=torch.float32)]
    calls += [call(f"{F}gelu", x(3, 4), approximate="tanh"), call(f"{F}softplus", x(9) * 9, beta=2.0)]
    calls += [call(f"{F}elu", x(9), alpha=0.7), call(f"{F}leaky_relu", x(9), 0.3), call(f"{F}prelu", x(9), positive(1))]
    calls += [call(f"{F}layer_norm", x(3, 8), (8,), x(8), x(8), 1e-3), call(f"{F}layer_norm", x(3, 8), (8,))]
    calls += [call(f"{F}rms_norm", x(3, 8), (8,), x(8), 1e-5), call(f"{F}rms_norm", x(3, 8), (8,))]
    calls += [call(f"{F}group_norm", x(2, 6, 5), 3, x(6), x(6)), call(f"{F}normalize", x(3, 8), dim=-1)]
    calls += [call(f"{F}batch_norm", x(4, 3), x(3), positive(3), x(3), x(3))]
    calls += [call(f"{F}cosine_similarity", x(3, 8), x(3, 8), dim=-1)]
    calls += [call(f"{F}{name}", x(3), 0.5, False) for name in ("dropout", "alpha_dropout")]
    calls += [call(f"{F}dropout2d", x(2, 3, 4, 4), 0.5, False)]
    calls += [call(f"{F}dropout1d", x(2, 3, 4), 0.5, False)]
    return calls


def products() -> list[Call]:
    """Linear algebra, convolutions, attention."""
    q, k, v = x(2, 4, 5, 8), x(2, 4, 7, 8), x(2, 4, 7, 6)
    square = x(2, 4, 4) + 4 * torch.eye(4)
    calls = [call("torch.matmul", q, k.transpose(-1, -2)), call("torch.mm", x(3, 4), x(4, 5))]
    calls += [call("torch.bmm", x(2, 3, 4), x(2, 4, 5)), call("torch.mv", x(3, 4), x(4)), call("torch.dot", x(4), x(4))]
    calls += [
        call("torch.vdot", x(4), x(4)),
        call("torch.linalg.vecdot", x(3, 4), x(3, 4)),
        call("torch.inner", x(3, 4), x(4)),
    ]
    calls += [
        call("torch.outer", x(3), x(4)),
        call("torch.kron", x(2, 2), x(3, 3)),
        call("torch.addmv", x(3), x(3, 4), x(4)),
    ]
    calls += [
        call("torch.addmm", x(5), x(3, 4), x(4, 5)),
        call("torch.addmm", x(5), x(3, 4), x(4, 5), beta=0.5, alpha=2),
    ]
    calls += [
        call("torch.baddbmm", x(2, 3, 5), x(2, 3, 4), x(2, 4, 5), beta=0.5),
        call("torch.tensordot", x(3, 4), x(4, 5), 1),
    ]
    calls += [call("torch.einsum", "bij,bjk->bik", x(2, 3, 4), x(2, 4, 5)), call("torch.einsum", "ij->j", x(3, 4))]
    calls += [call(f"{F}linear", x(2, 3, 4), x(5, 4), x(5)), call(f"{F}linear", x(3, 4), x(5, 4), None)]
    calls += [call(f"{F}bilinear", x(3, 4), x(3, 5), x(2, 4, 5), x(2)), call("torch.cross", x(3, 3), x(3, 3), dim=-1)]
    calls += [
        call(f"{F}conv1d", x(2, 6, 9), x(6, 1, 4), x(6), padding=3, groups=6),
        call(f"{F}conv1d", x(2, 4, 9), x(6, 4, 3)),
    ]
    calls += [
        call(f"{F}conv1d", x(4, 9), x(6, 2, 3), None, 2, 1, 2, 2),
        call(f"{F}conv1d", x(1, 2, 9), x(3, 2, 5), padding="same"),
    ]
    calls += [
        call(f"{F}conv2d", x(2, 3, 8, 7), x(4, 3, 2, 3), x(4), stride=(2, 1)),
        call(f"{F}conv3d", x(1, 2, 4, 4, 4), x(3, 2, 2, 2, 2)),
    ]
    name = f"{F}scaled_dot_product_attention"
    calls += [call(name, q, k, v), call(name, q, q, q, is_causal=True), call(name, q, k, v, x(5, 7), scale=0.3)]
    calls += [
        call(name, q, k, v, mask(5, 7) | torch.eye(5, 7, dtype=torch.bool)),
        call(name, q, k[:, :2], v[:, :2], enable_gqa=True),
    ]
    calls += [call("torch.linalg.solve_triangular", square, x(2, 4, 3), upper=False)]
    calls += [call("torch.linalg.solve_triangular", square, x(2, 3, 4), upper=True, left=False, unitriangular=True)]
    calls += [
        call("torch.linalg.solve", square, x(2, 4, 3)),
        call("torch.linalg.inv", square),
        call("torch.linalg.det", square),
    ]
    calls += [call("torch.linalg.cholesky", torch.eye(3) * 2), call("torch.cdist", x(3, 4), x(5, 4))]
    return calls


def shapes() -> list[Call]:
    """Views, joins and cuts, casts."""
    t = x(2, 3, 4)
    calls = [
        call(f"{M}view", t, 6, -1),
        call(f"{M}view", t, (6, 4)),
        call(f"{M}reshape", t, -1),
        call(f"{M}view_as", t, x(6, 4)),
    ]
    calls += [call("torch.flatten", t, 1), call("torch.flatten", t, 0, 1), call("torch.unflatten", t, -1, (2, 2))]
    calls += [
        call(f"{M}transpose", t, 1, -1),
        call(f"{M}transpose", t, 0, 1),
        call("torch.t", x(3, 4)),
        call(f"{M}permute", t, 2, 0, 1),
    ]
    calls += [call("torch.permute", t, (2, 0, 1)), call("torch.movedim", t, 0, -1), call("torch.adjoint", t)]
    calls += [
        call("torch.squeeze", x(1, 3, 1)),
        call("torch.squeeze", x(1, 3, 1), 0),
        call("torch.squeeze", x(1, 3, 1), 1),
    ]
    calls += [
        call(f"{M}unsqueeze", t, -1),
        call(f"{M}unsqueeze", t, 1),
        call(f"{M}expand", x(2, 1, 4), -1, 5, -1),
        call(f"{M}expand", x(4), (3, 4)),
    ]
    calls += [
        call(f"{M}expand_as", x(4), x(3, 4)),
        call("torch.broadcast_to", x(4), (3, 4)),
        call("torch.broadcast_tensors", x(3, 1), x(4)),
    ]
    calls += [
        call(f"{M}repeat", x(2, 3), 2, 1, 2),
        call("torch.tile", x(2, 3), (2,)),
        call("torch.repeat_interleave", x(2, 3), 2, dim=0),
    ]
    calls += [
        call(f"{M}repeat_interleave", x(3), whole(3)),
        call("torch.flip", t, (0, 2)),
        call("torch.roll", t, 1, -1),
        call("torch.rot90", x(3, 4)),
    ]
    calls += [
        call("torch.cat", [x(2, 3), x(1, 3)]),
        call("torch.cat", (t, t), dim=-1),
        call("torch.stack", [x(3), x(3)], dim=1),
    ]
    calls += [
        call("torch.hstack", (x(3), x(2))),
        call("torch.vstack", (x(3), x(3))),
        call("torch.cat", [torch.tensor([]), t], dim=-2),
    ]
    calls += [
        call("torch.split", t, 2, dim=-1),
        call("torch.split", x(5, 2), 2),
        call(f"{M}split", t, [1, 3], -1),
        call("torch.split_with_sizes", t, [1, 1], 0),
    ]
    calls += [
        call("torch.chunk", t, 2, dim=-1),
        call("torch.chunk", x(5), 3),
        call("torch.tensor_split", x(7), 3),
        call("torch.unbind", t, -1),
    ]
    calls += [
        call(f"{M}unfold", x(9), 0, 3, 2),
        call(f"{F}pad", t, (1, 2)),
        call(f"{F}pad", t, (0, 0, -1, 2), value=3.0),
        call(f"{F}pad", t, (1, 1), mode="reflect"),
    ]
    calls += [
        call("torch.diagonal", x(3, 3)),
        call("torch.diag", x(3)),
        call("torch.diag_embed", x(2, 3)),
        call("torch.diagonal", t, 0, -2, -1),
    ]
    calls += [
        call(f"{M}to", t, torch.int64),
        call(f"{M}to", t, dtype=torch.bfloat16),
        call(f"{M}to", t, x(1)),
        call(f"{M}to", t, "cpu"),
    ]
    calls += [
        call(f"{M}type_as", whole(3), t),
        call(f"{M}type", t, torch.float64),
        call(f"{M}contiguous", t.mT),
        call(f"{M}cpu", t),
    ]
    calls += [call("torch.meshgrid", x(3), x(2), indexing="ij"), call(f"{M}requires_grad_", x(3), False)]
    return calls


def indexing() -> list[Call]:
    """Parts, places, order."""
    t, rows = x(4, 5, 6), torch.tensor([0, 2, 2])
    get = f"{M}__getitem__"
    calls = [
        call(get, t, 1),
        call(get, t, (slice(None), slice(1, None, 2))),
        call(get, t, (..., None)),
        call(get, t, (..., slice(None, -1))),
    ]
    calls += [
        call(get, t, rows),
        call(get, t, (slice(None), rows)),
        call(get, t, (rows, rows)),
        call(get, t, mask(4)),
        call(get, t, (rows, rows, None)),
    ]
    calls += [
        call(get, t, (None, slice(None), 0)),
        call(f"{M}__setitem__", x(4, 5), (rows, slice(0, 2)), x(3, 2)),
        call(f"{M}__setitem__", x(4, 5), mask(4, 5), 0.0),
    ]
    calls += [
        call("torch.select", t, 1, 2),
        call("torch.narrow", t, 1, 1, 3),
        call("torch.take", t, rows),
        call("torch.index_select", t, 1, rows),
    ]
    calls += [call("torch.gather", x(3, 5), 1, whole(3, 4)), call("torch.take_along_dim", x(3, 5), whole(3, 4), 1)]
    calls += [
        call(f"{M}index_add", x(4, 3), 0, rows, x(3, 3)),
        call(f"{M}index_add_", x(3, 4), 1, rows, x(3, 3), alpha=2),
    ]
    calls += [
        call(f"{M}index_copy", x(4, 3), 0, torch.tensor([2, 0]), x(2, 3)),
        call(f"{M}index_fill", x(4, 3), 0, rows, 7.0),
    ]
    calls += [
        call("torch.index_put", x(4, 3), (rows,), x(3, 3), accumulate=True),
        call("torch.index_put", x(4, 3), [torch.tensor([1, 3])], x(2, 3)),
    ]
    calls += [
        call(f"{M}scatter_", torch.zeros(3, 5), 1, whole(3, 2), 1),
        call("torch.scatter", x(3, 5), 1, torch.tensor([[0, 1]] * 3), x(3, 2)),
    ]
    calls += [
        call("torch.scatter_add", x(3, 5), 1, whole(3, 4), x(3, 4)),
        call("torch.scatter_reduce", x(3, 5), 1, whole(3, 4), x(3, 4), "sum"),
    ]
    calls += [
        call("torch.where", mask(3, 4), x(3, 4), x(3, 4)),
        call("torch.where", mask(3, 4), x(3, 4), 0.0),
        call("torch.where", mask(3, 4)),
    ]
    calls += [
        call(f"{M}masked_fill", x(3, 4), mask(3, 4), float("-inf")),
        call("torch.masked_select", x(3, 4), mask(3, 4)),
    ]
    calls += [
        call(f"{M}masked_scatter", x(3, 4), mask(3, 4), x(12)),
        call("torch.nonzero", mask(3, 4)),
        call(f"{M}copy_", x(3, 4), x(4)),
    ]
    calls += [
        call("torch.topk", x(3, 9), 4),
        call("torch.topk", x(3, 9), k=2, dim=0, largest=False),
        call("torch.topk", x(3, 9), 4, dim=-1, sorted=False),
    ]
    calls += [
        call("torch.topk", whole(3, 9), 4),
        call("torch.sort", x(3, 9), dim=-1, descending=True),
        call("torch.sort", whole(9)),
        call("torch.argsort", x(3, 9), -1),
    ]
    calls += [
        call("torch.argsort", whole(3, 9), descending=True),
        call("torch.kthvalue", x(9), 3),
        call("torch.searchsorted", torch.arange(9.0), x(3) * 4),
    ]
    calls += [
        call("torch.bucketize", x(3) * 4, torch.arange(9.0), right=True),
        call("torch.unique", whole(9)),
        call("torch.unique", whole(9), return_inverse=True, return_counts=True),
    ]
    calls += [
        call("torch.unique_consecutive", whole(9)),
        call(f"{F}embedding", whole(2, 3), x(5, 4)),
        call(f"{F}one_hot", whole(2, 3)),
        call(f"{F}one_hot", whole(3), 7),
    ]
    calls += [
        call("torch.tril", x(4, 4)),
        call("torch.triu", x(4, 4), 1),
        call(f"{M}tril", x(2, 4, 4), diagonal=-1),
        call("torch.isin", whole(9), torch.tensor([1, 2])),
    ]
    return calls


def creation() -> list[Call]:
    """New tensors."""
    calls = [
        call("torch.arange", 7),
        call("torch.arange", 2, 7, 2),
        call("torch.arange", 0, 1, 0.25),
        call("torch.arange", 5, dtype=torch.float32),
    ]
    calls += [
        call("torch.linspace", 0, 1, 5),
        call("torch.logspace", 0, 2, 5),
        call("torch.zeros", 2, 3),
        call("torch.zeros", (2, 3), dtype=torch.int64),
    ]
    calls += [
        call("torch.ones", 3),
        call("torch.full", (2, 3), 7.5),
        call("torch.full", (2,), 7),
        call("torch.eye", 3),
        call("torch.eye", 3, 4, dtype=torch.int64),
    ]
    calls += [call(f"torch.{name}_like", x(2, 3)) for name in ("zeros", "ones")] + [
        call("torch.full_like", x(2, 3), 2.0)
    ]
    calls += [call(f"{M}new_{name}", x(2), 3, 4) for name in ("zeros", "ones")] + [
        call(f"{M}new_full", whole(2), (3,), 9)
    ]
    calls += [
        call(f"{M}new_tensor", x(2), [1.0, 2.0]),
        call("torch.tensor", [[1, 2], [3, 4]]),
        call("torch.tensor", 0.5),
        call("torch.tensor", []),
    ]
    calls += [
        call("torch.as_tensor", [1.5, 2.5]),
        call("torch.scalar_tensor", 2.5),
        call(f"{M}fill_", x(3), 4.0),
        call(f"{M}zero_", x(3)),
    ]
    calls += [call("torch.tril_indices", 3, 4), call("torch.triu_indices", 3, 4, 1), call("torch.hann_window", 8)]
    return calls


FAMILIES: tuple[Callable[[], list[Call]], ...] = (
    simple,
    operators,
    reductions,
    activations,
    products,
    shapes,
    indexing,
    creation,
)


def all_calls() -> list[Call]:
    """Every case, the same in every run."""
    torch.manual_seed(7)
    return [made for family in FAMILIES for made in family()]
