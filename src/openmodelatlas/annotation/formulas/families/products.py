"""Products of matrices, linear layers, convolutions, attention in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.entry import ATOM, MATRIX, PREFIX, SUM, Entry
from openmodelatlas.annotation.formulas.families.activations import softmax
from openmodelatlas.annotation.formulas.families.numeric import Array, as_float, need


def linear(input: Any, weight: Any, bias: Any = None) -> Array:
    """The last axis times the transposed weight matrix."""
    result = np.matmul(input, np.transpose(weight))
    return np.asarray(result if bias is None else result + bias)


def einsum(equation: Any, operands: Any = ()) -> Array:
    """A sum of products as the equation writes it."""
    need(isinstance(equation, str), "the equation was not recorded")
    tensors = operands if isinstance(operands, list | tuple) else [operands]
    return np.asarray(np.einsum(equation, *tensors, optimize=True))


def convolution(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Array:
    """Convolution (cross-correlation, as torch has it) over the axes after the second.

    Args:
        input: B×C×…; without B, as torch allows.
        weight: O×(C/groups)×….
        bias, stride, padding, dilation, groups: as in torch; ``padding`` may be ``same`` or ``valid``.
    """
    x, kernel = as_float(input), as_float(weight)
    batched = x.ndim == kernel.ndim
    x = x if batched else x[None]
    rank = kernel.ndim - 2
    steps, spread = _each(stride, rank), _each(dilation, rank)
    reach = [(size - 1) * spread[axis] for axis, size in enumerate(kernel.shape[2:])]
    x = np.pad(x, [(0, 0), (0, 0), *_edges(padding, reach)])
    windows = np.lib.stride_tricks.sliding_window_view(x, [far + 1 for far in reach], tuple(range(2, 2 + rank)))
    places = tuple(slice(None, None, step) for step in steps)
    taps = tuple(slice(None, None, gap) for gap in spread)
    windows = windows[(slice(None), slice(None), *places, *taps)]
    grouped = windows.reshape(x.shape[0], groups, -1, *windows.shape[2:])
    kernels = kernel.reshape(groups, -1, *kernel.shape[1:])
    axes = "xyz"[:rank], "uvw"[:rank]
    result = np.einsum(f"bgc{axes[0]}{axes[1]},goc{axes[1]}->bgo{axes[0]}", grouped, kernels, optimize=True)
    result = result.reshape(x.shape[0], -1, *result.shape[3:])
    result = result if bias is None else result + np.reshape(bias, (1, -1, *[1] * rank))
    return np.asarray(result if batched else result[0])


def _each(given: Any, rank: int) -> list[int]:
    values = list(given) if isinstance(given, list | tuple) else [given]
    return [int(value) for value in (values * rank if len(values) == 1 else values)]


def _edges(padding: Any, reach: list[int]) -> list[tuple[int, int]]:
    if padding == "valid":
        return [(0, 0)] * len(reach)
    if padding == "same":
        return [(far // 2, far - far // 2) for far in reach]
    return [(size, size) for size in _each(padding, len(reach))]


def attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Array:
    """Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762), keys of fewer heads shared if asked for."""
    need(dropout_p == 0.0, "it drops elements at random")
    q, k, v = as_float(query), as_float(key), as_float(value)
    if enable_gqa:
        share = q.shape[-3] // k.shape[-3]
        k, v = np.repeat(k, share, axis=-3), np.repeat(v, share, axis=-3)
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        scores = np.where(np.tri(scores.shape[-2], scores.shape[-1], dtype=bool), scores, -np.inf)
    if attn_mask is not None:
        mask = np.asarray(attn_mask)
        scores = np.where(mask, scores, -np.inf) if mask.dtype.kind == "b" else scores + mask
    weights = softmax(scores, -1)
    return np.asarray(np.matmul(np.where(np.isnan(weights), 0.0, weights), v))


def solve_triangular(A: Any, B: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Array:
    """The solution of a triangular system; only the triangle that is named (and the diagonal) counts."""
    matrix = np.triu(A) if upper else np.tril(A)
    if unitriangular:
        diagonal = np.eye(matrix.shape[-1], dtype=bool)
        matrix = np.where(diagonal, 1.0, matrix)
    if left:
        return np.asarray(np.linalg.solve(matrix, as_float(B)))
    turned = np.linalg.solve(np.swapaxes(matrix, -1, -2), np.swapaxes(as_float(B), -1, -2))
    return np.asarray(np.swapaxes(turned, -1, -2))


def _scaled(product: Any, added: Any, beta: float, alpha: float) -> Any:
    return beta * added + alpha * product if beta != 1 or alpha != 1 else added + product


_MASKED = r"\operatorname{softmax}(<scale*>\, <query!> <key^>^{\top} + <attn_mask+>)\, <value!>"
_MATRICES = (r"<input!> <other!>", MATRIX)
_CONVOLUTION = Entry(r"<weight!> * <input!> + <bias+> || <weight!> * <input!>", SUM, convolution, summed=("weight",))

ENTRIES: dict[str, Entry] = {
    "matmul": Entry(*_MATRICES, lambda input, other: np.matmul(input, other), summed=("input", "other")),
    "rmatmul": Entry(
        r"<other!> <input!>", MATRIX, lambda input, other: np.matmul(other, input), summed=("other", "input")
    ),
    "mm": Entry(r"<input!> <mat2!>", MATRIX, lambda input, mat2: np.matmul(input, mat2), summed=("input", "mat2")),
    "bmm": Entry(r"<input!> <mat2!>", MATRIX, lambda input, mat2: np.matmul(input, mat2), summed=("input", "mat2")),
    "mv": Entry(r"<input!> <vec!>", MATRIX, lambda input, vec: np.matmul(input, vec), summed=("input", "vec")),
    "dot": Entry(r"<input!> \cdot <other!>", MATRIX, lambda input, other: np.dot(input, other), summed=("input",)),
    "vdot": Entry(r"<input!> \cdot <other!>", MATRIX, lambda input, other: np.vdot(input, other), summed=("input",)),
    "vecdot": Entry(r"<x!> \cdot <y!>", MATRIX, lambda x, y, dim=-1: np.sum(np.conj(x) * y, axis=dim), summed=("x",)),
    "inner": Entry(r"<input!> <other^>^{\top}", MATRIX, lambda input, other: np.inner(input, other), summed=("input",)),
    "outer": Entry(r"<input!> <vec2^>^{\top}", MATRIX, lambda input, vec2: np.outer(input, vec2)),
    "kron": Entry(r"<input!> \otimes <other!>", MATRIX, lambda input, other: np.kron(input, other)),
    "addmm": Entry(
        r"<input+> + <mat1!> <mat2!>",
        SUM,
        lambda input, mat1, mat2, beta=1, alpha=1: _scaled(np.matmul(mat1, mat2), input, beta, alpha),
        summed=("mat1", "mat2"),
    ),
    "baddbmm": Entry(
        r"<beta*> \cdot <input!> + <alpha*> \cdot <batch1!> <batch2!> || <input+> + <alpha*> \cdot <batch1!> <batch2!> "
        r"|| <beta*> \cdot <input!> + <batch1!> <batch2!> || <input+> + <batch1!> <batch2!>",
        SUM,
        lambda input, batch1, batch2, beta=1, alpha=1: _scaled(np.matmul(batch1, batch2), input, beta, alpha),
        summed=("batch1", "batch2"),
    ),
    "addmv": Entry(
        r"<input+> + <mat!> <vec!>",
        SUM,
        lambda input, mat, vec, beta=1, alpha=1: _scaled(np.matmul(mat, vec), input, beta, alpha),
        summed=("mat", "vec"),
    ),
    "einsum": Entry(r"\operatorname{einsum}(<equation>;\ <operands:list>)", PREFIX, einsum, summed=("operands",)),
    "tensordot": Entry(r"<a!> \cdot <b!>", MATRIX, lambda a, b, dims=2: np.tensordot(a, b, dims), summed=("a", "b")),
    "linear": Entry(
        r"<input!> <weight^>^{\top} + <bias+> || <input!> <weight^>^{\top}", SUM, linear, summed=("input", "weight")
    ),
    "bilinear": Entry(
        r"<input1!> <weight!> <input2^>^{\top} + <bias+> || <input1!> <weight!> <input2^>^{\top}",
        SUM,
        lambda input1, input2, weight, bias=None: (
            np.einsum("...i,oij,...j->...o", input1, weight, input2) + (0 if bias is None else bias)
        ),
        summed=("input1",),
    ),
    "conv1d": _CONVOLUTION,
    "conv2d": _CONVOLUTION,
    "conv3d": _CONVOLUTION,
    "scaled_dot_product_attention": Entry(
        rf"{_MASKED} || \operatorname{{softmax}}\left(\frac{{<query!> <key^>^{{\top}}}}{{\sqrt{{<query:width>}}}} "
        r"+ <attn_mask+>\right) <value!> || \operatorname{softmax}(<scale*>\, <query!> <key^>^{\top})\, <value!> || "
        r"\operatorname{softmax}\left(\frac{<query!> <key^>^{\top}}{\sqrt{<query:width>}}\right) <value!>",
        MATRIX,
        attention,
        summed=("query", "key"),
    ),
    "solve_triangular": Entry(
        r"<left:when=False><B!> <A^>^{-1} || "
        r"<unitriangular:when=True><upper:when=False>\left(I + \operatorname{tril}_{-1}(<A>)\right)^{-1} <B!> || "
        r"<unitriangular:when=True>\left(I + \operatorname{triu}_{1}(<A>)\right)^{-1} <B!> || "
        r"<upper:when=False>\operatorname{tril}(<A>)^{-1} <B!> || \operatorname{triu}(<A>)^{-1} <B!>",
        MATRIX,
        solve_triangular,
        summed=("A", "B"),
    ),
    "solve": Entry(r"<A^>^{-1} <B!>", MATRIX, lambda A, B: np.linalg.solve(A, B), summed=("A", "B")),
    "inv": Entry(r"<A^>^{-1}", PREFIX, np.linalg.inv, summed=("A",)),
    "det": Entry(r"\det <A.>", PREFIX, np.linalg.det),
    "cholesky": Entry(r"\operatorname{chol}(<input>)", PREFIX, np.linalg.cholesky, summed=("input",)),
    "matrix_exp": Entry(r"\exp(<input>)", PREFIX, reason="the table has no matrix exponential"),
    "cross": Entry(r"<input!> \times <other!>", MATRIX, lambda input, other, dim=-1: np.cross(input, other, axis=dim)),
    "cdist": Entry(
        r"\lVert <x1> - <x2> \rVert_{<p>} || \lVert <x1> - <x2> \rVert",
        ATOM,
        lambda x1, x2, p=2.0: np.sum(np.abs(x1[..., :, None, :] - x2[..., None, :, :]) ** p, axis=-1) ** (1 / p),
        summed=("x1",),
    ),
}
