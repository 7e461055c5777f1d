"""Kernels of ``flash_attn`` 2.8.3."""

from __future__ import annotations

from openmodelatlas.capture.standins.registry import KernelSpec, Symbol

FLASH = "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning, arXiv 2307.08691"

_FORMULA = (
    r"\begin{aligned}"
    r"a_{ij} &= c\tanh\!\left(\frac{s\,q_i\cdot k_j}{c}\right)"
    r" \;\text{ or without cap }\; s\,q_i\cdot k_j,\qquad"
    r" a_{ij}=-\infty \text{ unless } -w_l \le j-(i+T_k-T_q) \le w_r\\"
    r"o_i &= \sum_j \operatorname{softmax}_j(a_{ij})\, v_j"
    r"\end{aligned}"
)
_OPTIONS = (
    Symbol("s", "softmax_scale", "scale of the scores, 1/√D unless given"),
    Symbol("c", "softcap", "soft cap of the scores; 0 for none"),
    Symbol("w_l, w_r", "window_size", "tokens seen to the left and right; -1 for all; causal means none to the right"),
)
_OUTPUT = Symbol("o_i", "output", "output", "like q")

FLASH_ATTN = KernelSpec(
    name="flash_attn.flash_attn_func",
    summary="Softmax attention; neighbouring query heads may share a key-value head; masks align at the last token.",
    formula=_FORMULA,
    symbols=(
        Symbol("q_i", "q", "queries", "[B, Tq, H, D]"),
        Symbol("k_j", "k", "keys", "[B, Tk, HK, D]"),
        Symbol("v_j", "v", "values", "[B, Tk, HK, D]"),
        *_OPTIONS,
        _OUTPUT,
    ),
    source="flash-attn 2.8.3, flash_attn/flash_attn_interface.py flash_attn_func",
    reference=FLASH,
    aliases=("flash_attn.flash_attn_interface.flash_attn_func",),
)

FLASH_ATTN_KVPACKED = KernelSpec(
    name="flash_attn.flash_attn_kvpacked_func",
    summary="Softmax attention with keys and values in one tensor.",
    formula=_FORMULA,
    symbols=(
        Symbol("q_i", "q", "queries", "[B, Tq, H, D]"),
        Symbol("k_j, v_j", "kv", "keys and values", "[B, Tk, 2, HK, D]"),
        *_OPTIONS,
        _OUTPUT,
    ),
    source="flash-attn 2.8.3, flash_attn/flash_attn_interface.py flash_attn_kvpacked_func",
    reference=FLASH,
    aliases=("flash_attn.flash_attn_interface.flash_attn_kvpacked_func",),
)

FLASH_ATTN_QKVPACKED = KernelSpec(
    name="flash_attn.flash_attn_qkvpacked_func",
    summary="Softmax attention with queries, keys and values in one tensor.",
    formula=_FORMULA,
    symbols=(
        Symbol("q_i, k_j, v_j", "qkv", "queries, keys and values", "[B, T, 3, H, D]"),
        *_OPTIONS,
        Symbol("o_i", "output", "output", "[B, T, H, D]"),
    ),
    source="flash-attn 2.8.3, flash_attn/flash_attn_interface.py flash_attn_qkvpacked_func",
    reference=FLASH,
    aliases=("flash_attn.flash_attn_interface.flash_attn_qkvpacked_func",),
)

FLASH_ATTN_VARLEN = KernelSpec(
    name="flash_attn.flash_attn_varlen_func",
    summary="Softmax attention within each of several packed sequences.",
    formula=_FORMULA,
    symbols=(
        Symbol("q_i", "q", "packed queries", "[ΣTq, H, D]"),
        Symbol("k_j", "k", "packed keys", "[ΣTk, HK, D]"),
        Symbol("v_j", "v", "packed values", "[ΣTk, HK, D]"),
        Symbol("T_q", "cu_seqlens_q", "starts of the query sequences, and the end", "[B+1]"),
        Symbol("T_k", "cu_seqlens_k", "starts of the key sequences, and the end", "[B+1]"),
        *_OPTIONS,
        _OUTPUT,
    ),
    source="flash-attn 2.8.3, flash_attn/flash_attn_interface.py flash_attn_varlen_func",
    reference=FLASH,
    aliases=("flash_attn.flash_attn_interface.flash_attn_varlen_func",),
)

FLASH_ATTN_VARLEN_KVPACKED = KernelSpec(
    name="flash_attn.flash_attn_varlen_kvpacked_func",
    summary="Softmax attention within each of several packed sequences, keys and values in one tensor.",
    formula=_FORMULA,
    symbols=(
        Symbol("q_i", "q", "packed queries", "[ΣTq, H, D]"),
        Symbol("k_j, v_j", "kv", "packed keys and values", "[ΣTk, 2, HK, D]"),
        Symbol("T_q", "cu_seqlens_q", "starts of the query sequences, and the end", "[B+1]"),
        Symbol("T_k", "cu_seqlens_k", "starts of the key sequences, and the end", "[B+1]"),
        *_OPTIONS,
        _OUTPUT,
    ),
    source="flash-attn 2.8.3, flash_attn/flash_attn_interface.py flash_attn_varlen_kvpacked_func",
    reference=FLASH,
    aliases=("flash_attn.flash_attn_interface.flash_attn_varlen_kvpacked_func",),
)

FLASH_ATTN_VARLEN_QKVPACKED = KernelSpec(
    name="flash_attn.flash_attn_varlen_qkvpacked_func",
    summary="Softmax attention within each of several packed sequences, queries, keys and values in one tensor.",
    formula=_FORMULA,
    symbols=(
        Symbol("q_i, k_j, v_j", "qkv", "packed queries, keys and values", "[ΣT, 3, H, D]"),
        Symbol("T", "cu_seqlens", "starts of the sequences, and the end", "[B+1]"),
        *_OPTIONS,
        Symbol("o_i", "output", "output", "[ΣT, H, D]"),
    ),
    source="flash-attn 2.8.3, flash_attn/flash_attn_interface.py flash_attn_varlen_qkvpacked_func",
    reference=FLASH,
    aliases=("flash_attn.flash_attn_interface.flash_attn_varlen_qkvpacked_func",),
)

FLASH_ATTN_WITH_KVCACHE = KernelSpec(
    name="flash_attn.flash_attn_with_kvcache",
    summary="Writes new keys and values into a cache in place and attends over it, as used in decoding.",
    formula=_FORMULA,
    symbols=(
        Symbol("q_i", "q", "queries", "[B, Tq, H, D]"),
        Symbol("k_j", "k_cache", "keys so far, and room for more", "[B, Tmax, HK, D]"),
        Symbol("v_j", "v_cache", "values so far, and room for more", "[B, Tmax, HK, D]"),
        Symbol("k_j", "k", "new keys", "[B, Tnew, HK, D]"),
        Symbol("v_j", "v", "new values", "[B, Tnew, HK, D]"),
        Symbol("T_k", "cache_seqlens", "tokens in the cache before this call", "[B]"),
        *_OPTIONS,
        _OUTPUT,
    ),
    source="flash-attn 2.8.3, flash_attn/flash_attn_interface.py flash_attn_with_kvcache",
    reference=FLASH,
    aliases=("flash_attn.flash_attn_interface.flash_attn_with_kvcache",),
    mutates=("k_cache", "v_cache"),
)

UNPAD_INPUT = KernelSpec(
    name="flash_attn.bert_padding.unpad_input",
    summary="Packs a padded batch without its padding.",
    formula=r"I = \{bT+t : m_{b,t}\ne 0\},\quad y_i = x_{I_i},\quad c_b = c_{b-1}+\sum_t m_{b,t}",
    symbols=(
        Symbol("x", "hidden_states", "padded batch", "[B, T, …]"),
        Symbol("m", "attention_mask", "1 or True for tokens, 0 for padding", "[B, T]"),
        Symbol("y, I, c", "output", "packed tokens, their indices, starts of the sequences", "[tokens, …]"),
    ),
    source="flash-attn 2.8.3, flash_attn/bert_padding.py",
)

PAD_INPUT = KernelSpec(
    name="flash_attn.bert_padding.pad_input",
    summary="Puts packed tokens back into the padded batch; padding becomes zero.",
    formula=r"y_{\lfloor I_i/T\rfloor,\; I_i \bmod T} = x_i,\quad y = 0 \text{ elsewhere}",
    symbols=(
        Symbol("x", "hidden_states", "packed tokens", "[tokens, …]"),
        Symbol("I", "indices", "indices of the tokens in the flattened batch", "[tokens]"),
        Symbol("y", "output", "padded batch", "[B, T, …]"),
    ),
    source="flash-attn 2.8.3, flash_attn/bert_padding.py",
)

INDEX_FIRST_AXIS = KernelSpec(
    name="flash_attn.bert_padding.index_first_axis",
    summary="Takes the tokens out of a flattened padded batch.",
    formula=r"y_i = x_{I_i}",
    symbols=(
        Symbol("x", "input", "flattened batch", "[B·T, …]"),
        Symbol("I", "indices", "indices of the tokens", "[tokens]"),
        Symbol("y", "output", "packed tokens", "[tokens, …]"),
    ),
    source="flash-attn 2.8.3, flash_attn/bert_padding.py",
)

INDEX_PUT_FIRST_AXIS = KernelSpec(
    name="flash_attn.bert_padding.index_put_first_axis",
    summary="Puts packed tokens back where they were in the flattened padded batch; padding becomes zero.",
    formula=r"y_{I_i} = x_i,\quad y_j = 0 \text{ elsewhere}",
    symbols=(
        Symbol("x", "values", "packed tokens", "[tokens, …]"),
        Symbol("I", "indices", "indices of the tokens", "[tokens]"),
        Symbol("y", "output", "flattened batch", "[B·T, …]"),
    ),
    source="flash-attn 2.8.3, flash_attn/bert_padding.py",
)

APPLY_ROTARY = KernelSpec(
    name="flash_attn.layers.rotary.apply_rotary_emb",
    summary="Turns the first R features of each head by the position's angles, in halves or in neighbouring pairs.",
    formula=r"\begin{pmatrix}y_a\\y_b\end{pmatrix} ="
    r" \begin{pmatrix}\cos\theta&-\sin\theta\\ \sin\theta&\cos\theta\end{pmatrix}\begin{pmatrix}x_a\\x_b\end{pmatrix}"
    r",\quad (a,b)=(i,\,i+\tfrac R2) \;\text{ or }\; (2i,\,2i+1)",
    symbols=(
        Symbol("x", "x", "input", "[B, T, H, D]"),
        Symbol(r"\cos\theta", "cos", "cosines of the positions", "[T, R/2]"),
        Symbol(r"\sin\theta", "sin", "sines of the positions", "[T, R/2]"),
        Symbol("(a, b)", "interleaved", "neighbouring pairs rather than halves"),
        Symbol("y", "output", "output", "like x"),
    ),
    source="flash-attn 2.8.3, flash_attn/layers/rotary.py apply_rotary_emb, flash_attn/ops/triton/rotary.py",
)
