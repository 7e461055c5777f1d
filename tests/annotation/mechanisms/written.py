"""Mechanisms as small programs, each as code commonly writes it."""

from __future__ import annotations

PROGRAMS: dict[str, str] = {
    "rms-norm": """
        x = given(2, 5, 7)
        g = parameter(7)
        squares = pow(x, 2)
        means = mean(squares, -1, keepdim=True)
        shifted = add(means, 0.25)
        roots = rsqrt(shifted)
        normed = mul(x, roots)
        y = mul(g, normed)
    """,
    "layer-norm": """
        x = given(2, 5, 7)
        g = parameter(7)
        b = parameter(7)
        y = layer_norm(x, [7], g, b, 0.25)
    """,
    "token-embedding": """
        t = tokens(11, 2, 5)
        table = parameter(11, 7)
        y = embedding(t, table)
    """,
    "tied-head": """
        t = tokens(11, 2, 5)
        table = parameter(11, 7)
        x = embedding(t, table)
        y = linear(x, table)
    """,
    "final-norm": """
        x = given(2, 5, 7)
        g = parameter(7)
        w = parameter(11, 7)
        squares = pow(x, 2)
        means = mean(squares, -1, keepdim=True)
        shifted = add(means, 0.25)
        roots = rsqrt(shifted)
        normed = mul(x, roots)
        scaled = mul(g, normed)
        y = linear(scaled, w)
    """,
    "rotary-halves": """
        x = given(2, 3, 5, 8)
        angles = given(5, 8)
        c = cos(angles)
        s = sin(angles)
        first = getitem(x, [..., slice(None, 4, None)])
        second = getitem(x, [..., slice(4, None, None)])
        a = getitem(c, [..., slice(None, 4, None)])
        b = getitem(s, [..., slice(None, 4, None)])
        p = mul(first, a)
        q = mul(second, b)
        left = sub(p, q)
        r = mul(second, a)
        t = mul(first, b)
        right = add(r, t)
        y = cat([left, right], dim=-1)
    """,
    "rotary-pairs": """
        x = given(2, 3, 5, 8)
        angles = given(5, 8)
        c = cos(angles)
        s = sin(angles)
        first = getitem(x, [..., slice(0, None, 2)])
        second = getitem(x, [..., slice(1, None, 2)])
        a = getitem(c, [..., slice(None, 4, None)])
        b = getitem(s, [..., slice(None, 4, None)])
        p = mul(first, a)
        q = mul(second, b)
        left = sub(p, q)
        r = mul(second, a)
        t = mul(first, b)
        right = add(r, t)
        y = cat([left, right], dim=-1)
    """,
    "scaled-dot-product-attention": """
        q = given(2, 3, 5, 4)
        k = given(2, 3, 4, 6)
        v = given(2, 3, 6, 7)
        mask = given(5, 6)
        products = matmul(q, k)
        scores = mul(products, 0.5)
        masked = add(scores, mask)
        a = softmax(masked, dim=-1)
        y = matmul(a, v)
    """,
    "grouped-query-attention": """
        q = given(2, 6, 5, 4)
        k = given(2, 2, 7, 4)
        v = given(2, 2, 7, 3)
        k1 = getitem(k, [slice(None, None, None), slice(None, None, None), None])
        k2 = expand(k1, 2, 2, 3, 7, 4)
        k3 = reshape(k2, 2, 6, 7, 4)
        k4 = transpose(k3, 2, 3)
        v1 = getitem(v, [slice(None, None, None), slice(None, None, None), None])
        v2 = expand(v1, 2, 2, 3, 7, 3)
        v3 = reshape(v2, 2, 6, 7, 3)
        products = matmul(q, k4)
        scores = mul(products, 0.5)
        a = softmax(scores, dim=-1)
        y = matmul(a, v3)
    """,
    "low-rank-projection": """
        x = given(2, 5, 9)
        down = parameter(4, 9)
        up = parameter(8, 4)
        g = parameter(4)
        latent = linear(x, down)
        squares = pow(latent, 2)
        means = mean(squares, -1, keepdim=True)
        shifted = add(means, 0.25)
        roots = rsqrt(shifted)
        normed = mul(latent, roots)
        scaled = mul(g, normed)
        y = linear(scaled, up)
    """,
    "swiglu": """
        x = given(2, 5, 7)
        wg = parameter(9, 7)
        wu = parameter(9, 7)
        wd = parameter(7, 9)
        gate = linear(x, wg)
        active = silu(gate)
        up = linear(x, wu)
        both = mul(active, up)
        y = linear(both, wd)
    """,
    "geglu": """
        x = given(2, 5, 7)
        wg = parameter(9, 7)
        wu = parameter(9, 7)
        wd = parameter(7, 9)
        gate = linear(x, wg)
        active = gelu(gate, approximate='tanh')
        up = linear(x, wu)
        both = mul(active, up)
        y = linear(both, wd)
    """,
    "plain-mlp": """
        x = given(2, 5, 7)
        w1 = parameter(9, 7)
        b1 = parameter(9)
        w2 = parameter(7, 9)
        b2 = parameter(7)
        wide = linear(x, w1, b1)
        active = gelu(wide)
        y = linear(active, w2, b2)
    """,
    "residual-addition": """
        x = given(2, 5, 7)
        w = parameter(7, 7)
        u = linear(x, w)
        y = add(x, u)
    """,
    "logit-soft-cap": """
        x = given(2, 5, 7)
        w = parameter(11, 7)
        logits = linear(x, w)
        divided = div(logits, 0.75)
        bent = tanh(divided)
        y = mul(bent, 0.75)
    """,
}
