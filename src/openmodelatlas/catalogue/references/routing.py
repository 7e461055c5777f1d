"""How tokens choose experts and weigh them.

Axes: N tokens, d hidden size, E experts, k experts chosen per token, G groups of neighbouring experts.
"""

from __future__ import annotations

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array, Integers, Truths, linear, sigmoid, softmax


def best(scores: Array, count: int) -> Integers:
    """Numbers of the ``count`` largest along the last axis, largest first, ties in favour of the smaller number."""
    order = np.argsort(-scores, axis=-1, kind="stable")
    return order[..., :count].astype(np.int64)


def take(scores: Array, chosen: Integers) -> Array:
    """[N, E] and numbers [N, k] to the scores at those numbers, [N, k]."""
    return np.take_along_axis(scores, chosen, axis=-1)


def softmax_router(tokens: Array, weight: Array) -> Array:
    """Probability of every expert: softmax over all E logits.

    Args:
        tokens: [N, d].
        weight: [E, d].

    Returns:
        [N, E], rows sum to 1 (arXiv 2006.16668; ``transformers`` 5.24.0, ``MixtralTopKRouter``,
        ``Qwen3MoeTopKRouter``).
    """
    return softmax(linear(tokens, weight))


def choose_after_softmax(probabilities: Array, count: int) -> tuple[Array, Integers]:
    """The ``count`` most probable experts, their probabilities divided by their sum.

    Args:
        probabilities: [N, E].
        count: k.

    Returns:
        Weights [N, k], rows sum to 1, and numbers of the experts [N, k], most probable first (``transformers`` 5.24.0,
        ``MixtralTopKRouter``; ``Qwen3MoeTopKRouter`` with ``norm_topk_prob``).
    """
    chosen = best(probabilities, count)
    weights = take(probabilities, chosen)
    return weights / weights.sum(axis=-1, keepdims=True), chosen


def choose_before_softmax(tokens: Array, weight: Array, bias: Array, count: int) -> tuple[Array, Array, Integers]:
    """The ``count`` largest logits, and the softmax over these alone.

    Args:
        tokens: [N, d].
        weight: [E, d].
        bias: [E].
        count: k.

    Returns:
        Logits [N, E], weights [N, k], rows sum to 1, and numbers of the experts [N, k], largest logit first
        (arXiv 2508.10925; ``transformers`` 5.24.0, ``GptOssTopKRouter``).
    """
    logits = linear(tokens, weight, bias)
    chosen = best(logits, count)
    return logits, softmax(take(logits, chosen)), chosen


def sigmoid_router(tokens: Array, weight: Array) -> Array:
    """A score between 0 and 1 for every expert, each for itself.

    Args:
        tokens: [N, d].
        weight: [E, d].

    Returns:
        [N, E] (arXiv 2412.19437, equation 15; ``transformers`` 5.24.0, ``DeepseekV3TopkRouter``).
    """
    return sigmoid(linear(tokens, weight))


def in_order_of(chosen: Integers, right: Integers) -> Integers:
    """The right choice in the code's order: ``chosen`` where it names the same experts, else ``right``; both [N, k].

    ``topk(…, sorted=False)`` promises no order, so the order of a choice proves nothing.
    """
    same = np.all(np.sort(chosen, axis=-1) == np.sort(right, axis=-1), axis=-1, keepdims=True)
    return np.where(same, chosen, right)


def choose_with_bias(
    scores: Array,
    bias: Array,
    count: int,
    chosen: Integers,
    shut_out: Truths | None = None,
    fill: float = -np.inf,
) -> Array:
    """Chooses experts by score plus bias and takes their scores without it.

    Args:
        scores: s, [N, E].
        bias: b, [E].
        count: k.
        chosen: the code's choice [N, k], which gives the order only.
        shut_out: experts that may not be chosen, [N, E], or their groups, [N, G, 1]; ``None`` if all may.
        fill: what stands for their biased scores.

    Returns:
        Scores of the k experts with the largest s + b, [N, k] (arXiv 2408.15664; arXiv 2412.19437, equation
        16).
    """
    choice_scores = scores + bias
    if shut_out is not None:
        if shut_out.ndim == 3:  # one truth a group, repeated for its experts
            shut_out = np.broadcast_to(shut_out, (*shut_out.shape[:2], scores.shape[1] // shut_out.shape[1]))
            shut_out = shut_out.reshape(scores.shape)
        choice_scores = np.where(shut_out, fill, choice_scores)
    return take(scores, in_order_of(chosen, best(choice_scores, count)))


def best_groups(choice_scores: Array, count: int) -> tuple[Array, Array]:
    """Ranks groups of neighbouring experts by the sum of their two best scores and keeps the best groups.

    Args:
        choice_scores: the scores that choose, bias included, [N, G, E/G].
        count: groups that stay.

    Returns:
        Score of each group [N, G], and 1 for those that stay, 0 for the others, [N, G] (arXiv 2412.19437,
        section 2.1.2; ``transformers`` 5.24.0, ``DeepseekV3TopkRouter``).
    """
    group_scores: Array = np.sort(choice_scores, axis=-1)[..., -2:].sum(axis=-1)
    stays = np.zeros_like(group_scores)
    np.put_along_axis(stays, best(group_scores, count), 1.0, axis=-1)
    return group_scores, stays


def renormalise_and_scale(scores: Array, eps: float, factor: float) -> Array:
    """Divides the scores of the chosen experts by their sum, then multiplies by a constant.

    Args:
        scores: [N, k].
        eps: added to the sum.
        factor: ``routed_scaling_factor``.

    Returns:
        [N, k], rows sum to ``factor`` (arXiv 2412.19437, equation 13; ``transformers`` 5.24.0,
        ``DeepseekV3TopkRouter``).
    """
    result: Array = factor * (scores / (scores.sum(axis=-1, keepdims=True) + eps))
    return result
