"""What tensors can be: the nouns of roles, with the LaTeX that pages set for them."""

from __future__ import annotations

from dataclasses import dataclass

from openmodelatlas.catalogue.entry import Family


@dataclass(frozen=True)
class Kind:
    """What a tensor is.

    Attributes:
        noun: how a sentence calls it after "the": ``queries``.
        stem: the noun before another one: ``query``.
        symbol: LaTeX, ``None`` if it has no usual letter.
        family: for the colour of what makes it.
    """

    noun: str
    stem: str
    symbol: str | None
    family: Family | None


KINDS: dict[str, Kind] = {
    # Embedding and head
    "token numbers": Kind("token numbers", "token", r"t", "embedding"),
    "embedding": Kind("token embeddings", "embedding", r"x_1", "embedding"),
    "logits": Kind("logits", "logit", r"\ell", "embedding"),
    "final features": Kind("final features", "feature", r"\hat{x}", "norm"),
    # Residual stream
    "block input": Kind("block input", "block input", r"x_n", "residual"),
    "after attention": Kind("residual features after attention", "residual", r"r_n", "residual"),
    "block output": Kind("block output", "block output", r"x_{n+1}", "residual"),
    "running sum": Kind("running sum", "running sum", r"s_n", "residual"),
    "carried sum": Kind("carried running sum", "running sum", r"\bar{s}_n", "residual"),
    "sum after attention": Kind("running sum after attention", "running sum", r"s'_n", "residual"),
    "next running sum": Kind("running sum", "running sum", r"s_{n+1}", "residual"),
    "stored sums": Kind("stored sums", "stored sum", r"S_n", "residual"),
    "next stored sums": Kind("stored sums", "stored sum", r"S_{n+1}", "residual"),
    "sums": Kind("stored sums and the running sum", "sum", r"V_n", "residual"),
    "depth scores": Kind("scores of the sums", "sum score", r"z", "residual"),
    "depth weights": Kind("weights of the sums", "sum weight", r"\alpha", "residual"),
    "depth mixture": Kind("mixture of the sums", "mixture", r"h_n", "residual"),
    "depth query": Kind("learned query", "learned query", r"u", "residual"),
    "depth keys": Kind("normalised sums", "normalised sum", r"K_n", "residual"),
    "attention update": Kind("attention update", "attention update", r"\Delta_{\mathrm{attn}}", "attention"),
    "feed-forward update": Kind("feed-forward update", "feed-forward update", r"\Delta_{\mathrm{mlp}}", "feed-forward"),
    "mixer update": Kind("mixer update", "mixer update", r"\Delta_{\mathrm{mix}}", "state"),
    "attention output": Kind("attention output", "attention output", r"y", "attention"),
    "feed-forward output": Kind("feed-forward output", "feed-forward output", r"y", "feed-forward"),
    "mixer output": Kind("mixer output", "mixer output", r"y", "state"),
    "attention input": Kind("normalised attention input", "attention input", r"\hat{x}_n", "norm"),
    "feed-forward input": Kind("normalised feed-forward input", "feed-forward input", r"\hat{r}_n", "norm"),
    "mixer input": Kind("normalised mixer input", "mixer input", r"\hat{x}_n", "norm"),
    # Attention
    "queries": Kind("queries", "query", r"q", "attention"),
    "keys": Kind("keys", "key", r"k", "attention"),
    "values": Kind("values", "value", r"v", "attention"),
    "keys and values": Kind("keys and values", "key and value", r"kv", "attention"),
    "queries and keys": Kind("queries and keys", "query and key", r"qk", "attention"),
    "queries and values": Kind("queries and values", "query and value", r"qv", "attention"),
    "queries, keys and values": Kind("queries, keys and values", "query, key and value", r"qkv", "attention"),
    "query latent": Kind("query latent", "query latent", r"c^{q}", "attention"),
    "key-value latent": Kind("key-value latent", "key-value latent", r"c^{kv}", "attention"),
    "latent and shared key": Kind(
        "key-value latent and the shared key part", "key-value latent and shared key", r"c", "attention"
    ),
    "shared key": Kind("shared key part", "shared key", r"k^{s}", "attention"),
    "low-rank features": Kind("low-rank features", "low-rank", r"c", None),
    "scores": Kind("attention scores", "score", r"a", "attention"),
    "sinks": Kind("sink logits", "sink", r"b", "attention"),
    "weights": Kind("attention weights", "attention weight", r"w", "attention"),
    "mixed values": Kind("mixed values", "mixed value", r"o", "attention"),
    "output gate": Kind("output gate", "output gate", r"g_{\mathrm{out}}", "attention"),
    "gated output": Kind("gated output", "gated output", r"\tilde{o}", "attention"),
    "mask": Kind("attention mask", "mask", r"M", "attention"),
    "visible": Kind("visible pairs of positions", "visibility", r"V", "attention"),
    # Positions
    "positions": Kind("positions", "position", r"p", "embedding"),
    "query positions": Kind("query positions", "query position", r"p^{q}", "attention"),
    "key positions": Kind("key positions", "key position", r"p^{k}", "attention"),
    "batch indices": Kind("batch indices", "batch index", None, "attention"),
    "head indices": Kind("head indices", "head index", None, "attention"),
    "frequencies": Kind("rotary frequencies", "rotary frequency", r"\omega", "embedding"),
    "angles": Kind("rotary angles", "rotary angle", r"\theta", "embedding"),
    "cosines": Kind("cosines", "cosine", r"c", "embedding"),
    "sines": Kind("sines", "sine", r"s", "embedding"),
    "position embedding": Kind("position embeddings", "position embedding", r"e^{p}", "embedding"),
    # Feed-forward and routing
    "gate": Kind("gate", "gate", r"g", "feed-forward"),
    "up": Kind("up features", "up", r"u", "feed-forward"),
    "gate and up": Kind("gate and up", "gate and up", r"gu", "feed-forward"),
    "activated": Kind("activated features", "activated feature", r"h", "feed-forward"),
    "expanded": Kind("expanded features", "expanded feature", r"u", "feed-forward"),
    "router logits": Kind("router logits", "router logit", r"z", "routing"),
    "router scores": Kind("router scores", "router score", r"s", "routing"),
    "choice scores": Kind("scores for the choice", "choice score", r"s^{c}", "routing"),
    "group scores": Kind("group scores", "group score", r"s^{g}", "routing"),
    "chosen groups": Kind("chosen groups", "chosen group", None, "routing"),
    "group mask": Kind("group mask", "group mask", None, "routing"),
    "chosen experts": Kind("chosen experts", "chosen expert", r"e", "routing"),
    "expert weights": Kind("expert weights", "expert weight", r"w", "routing"),
    "choice table": Kind("choice table", "choice", r"C", "routing"),
    "hit experts": Kind("experts with tokens", "expert", None, "routing"),
    "expert tokens": Kind("tokens of this expert", "expert token", r"x_e", "routing"),
    "token rows": Kind("token rows of this expert", "token row", None, "routing"),
    "expert matrix": Kind("weight matrix of this expert", "expert matrix", r"W_e", "feed-forward"),
    "expert output": Kind("expert output", "expert output", r"y_e", "feed-forward"),
    "weighed output": Kind("weighed expert output", "weighed expert output", r"w_e y_e", "routing"),
    "routed output": Kind("routed output", "routed output", r"y^{\mathrm{routed}}", "routing"),
    "all experts": Kind("output of all experts", "expert output", r"y", "routing"),
    "key overlap": Kind("overlaps of the keys", "key overlap", r"A", "state"),
    "query overlap": Kind("overlaps of queries and keys", "query overlap", r"B", "state"),
    "shared output": Kind("shared expert output", "shared expert output", r"y^{\mathrm{shared}}", "feed-forward"),
    "expert latent": Kind("expert latent", "expert latent", r"c^{e}", "routing"),
    # Recurrence
    "window": Kind("convolution window", "window", None, "state"),
    "state": Kind("recurrent state", "state", r"S", "state"),
    "forget gate": Kind("forget gate", "forget gate", r"f", "state"),
    "log decay": Kind("log decay", "log decay", r"g", "state"),
    "decay": Kind("decay", "decay", r"\alpha", "state"),
    "total decay": Kind("cumulative log decay", "cumulative log decay", r"G", "state"),
    "decay between": Kind("log decay between positions", "log decay", r"D", "state"),
    "input and output matrices": Kind("input and output matrices", "input and output matrix", r"BC", "state"),
    "joint features": Kind("joint features", "joint", None, None),
    "beta": Kind("write strength", "write strength", r"\beta", "state"),
    "beta logits": Kind("write strength logits", "write strength", r"\tilde{\beta}", "state"),
    "recalled": Kind("recalled values", "recalled value", r"\hat{v}", "state"),
    "correction": Kind("value errors", "value error", r"\delta", "state"),
    "step size": Kind("step size", "step size", r"\Delta", "state"),
    "state input": Kind("state input", "state input", r"x", "state"),
    "input matrix": Kind("input matrix", "input matrix", r"B", "state"),
    "output matrix": Kind("output matrix", "output matrix", r"C", "state"),
}

JOINED: dict[frozenset[str], str] = {
    frozenset({"keys", "values"}): "keys and values",
    frozenset({"queries", "keys"}): "queries and keys",
    frozenset({"queries", "values"}): "queries and values",
    frozenset({"queries", "keys", "values"}): "queries, keys and values",
    frozenset({"gate", "up"}): "gate and up",
    frozenset({"input matrix", "output matrix"}): "input and output matrices",
}
"""What a tensor is that holds several kinds side by side."""

PARTS: dict[str, frozenset[str]] = {name: parts for parts, name in JOINED.items()}


def joined(first: str, second: str) -> str | None:
    """The kind of a tensor that holds both; ``None`` if there is no word for it."""
    parts = PARTS.get(first, frozenset({first})) | PARTS.get(second, frozenset({second}))
    return first if parts == {first} or PARTS.get(first) == parts else JOINED.get(parts)
