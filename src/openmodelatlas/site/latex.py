"""LaTeX as it stands in texts and formulas."""

from __future__ import annotations

import re

from openmodelatlas.annotation import markup


def without_marks(latex: str) -> str:
    r"""A formula without ``\htmlData{light=…}``, the braces around the term kept: ``{s'_n}={\bar{s}_n}``."""
    return _unwrapped(markup.without_marks(latex))


def _unwrapped(latex: str) -> str:
    """The formula with ``{`` for every ``{{`` whose ends stand together too."""
    opened: list[int] = []
    ends: dict[int, int] = {}
    for place, sign in enumerate(latex):
        if place and latex[place - 1] == "\\":
            continue
        if sign == "{":
            opened.append(place)
        elif sign == "}" and opened:
            ends[opened.pop()] = place
    doubled = {place for place, end in ends.items() if ends.get(place + 1) == end - 1}
    dropped = doubled | {ends[place] for place in doubled}
    return "".join(sign for place, sign in enumerate(latex) if place not in dropped)


_NAMES = {
    **{name: chr(0x03B1 + index) for index, name in enumerate(
        ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu",
         "xi", "omicron", "pi", "rho", "varsigma", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega")
    )},
    "varepsilon": "ε", "Delta": "Δ", "Sigma": "Σ", "Lambda": "Λ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "Theta": "Θ",
    "cdot": "·", "times": "×", "odot": "⊙", "otimes": "⊗", "oplus": "⊕", "sum": "Σ", "prod": "Π", "infty": "∞",
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "in": "∈", "to": "→", "rightarrow": "→",
    "leftarrow": "←", "gets": "←", "top": "ᵀ", "ldots": "…", "dots": "…", "cdots": "⋯", "lfloor": "⌊", "rfloor": "⌋",
    "lceil": "⌈", "rceil": "⌉", "langle": "⟨", "rangle": "⟩", "partial": "∂", "approx": "≈", "pm": "±", "sim": "∼",
    "parallel": "∥", "mid": "|", "vert": "|", "lVert": "‖", "rVert": "‖", "Vert": "‖", "quad": "  ", "qquad": "    ",
    "prime": "′", "lt": "<", "gt": ">", "colon": ":", "forall": "∀", "exists": "∃", "ell": "ℓ", "circ": "∘",
    "lnot": "¬", "neg": "¬", "land": "∧", "lor": "∨", "varnothing": "∅", "emptyset": "∅", "cup": "∪", "cap": "∩",
    "downarrow": "↓", "uparrow": "↑", "bigwedge": "⋀", "bigvee": "⋁", "backslash": "\\",
    "Gamma": "Γ", "Xi": "Ξ", "Pi": "Π",
    "setminus": "∖", "notin": "∉", "subset": "⊂", "equiv": "≡", "ll": "≪", "gg": "≫", "propto": "∝", "nabla": "∇",
    "ast": "∗", "star": "⋆", "mapsto": "↦", "iff": "⇔", "implies": "⇒", "Rightarrow": "⇒", "Vdash": "⊩", "sqrt": "√",
    "bmod": " mod ", "left": "", "right": "", "big": "", "Big": "", "bigl": "", "bigr": "", "displaystyle": "",
    "Bigl": "", "Bigr": "", "limits": "", "allowbreak": "", "nobreak": "",
}  # fmt: skip
_FUNCTIONS = frozenset({
    "arccos", "arcsin", "arctan", "arg", "cos", "cosh", "det", "exp", "lim", "ln", "log", "max", "min", "sin", "sinh",
    "sup", "tan", "tanh",
})  # fmt: skip
_OPENED_FUNCTION = re.compile(r"\b(" + "|".join(sorted(_FUNCTIONS)) + r") +(?=[(_^])")
_WORDS = re.compile(
    r"\\(?:mathrm|mathbf|mathit|mathcal|mathbb|mathsf|mathtt|boldsymbol|operatorname\*?|text|textrm|texttt|textit)\{([^{}]*)\}"
)
_ACCENT = re.compile(r"\\(bar|hat|tilde|dot|vec|overline|widetilde|widehat)\{([^{}]*)\}")
_ACCENTS = {"bar": "\u0304", "overline": "\u0304", "hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303"}
_ACCENTS |= {"widetilde": "\u0303", "dot": "\u0307", "vec": "\u20d7"}
_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")
_ROOT = re.compile(r"\\sqrt\{([^{}]*)\}")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\{[a-z]+\*?\}(?:\{[lcr| ]*\})?")
_ROW = re.compile(r"\\\\(?:\[-?[\d.]+(?:pt|em|ex|mm)\])?")
_ESCAPED = re.compile(r"\\([_%&#$])")
_COMMAND = re.compile(r"\\([A-Za-z]+)\s?")
_SCRIPT = re.compile(r"([_^])\{([^{}]*)\}")


def readable(text: str) -> str:
    """A text for places that set nothing: no backticks and dollar signs, formulas in plain characters."""
    return "".join(readable_latex(content) if kind == "latex" else content for kind, content in markup.split(text))


def readable_latex(latex: str) -> str:
    r"""A formula in plain characters: ``s'_n = s̄_n + Δ_attn`` for ``s'_n=\bar{s}_n+\Delta_{\mathrm{attn}}``."""
    text = _ROW.sub(" ; ", _ENVIRONMENT.sub(" ", " ".join(without_marks(latex).split())))
    text = _ESCAPED.sub(r"\1", text.replace("&", "  "))
    for _ in range(12):  # from the inside outwards
        before = text
        text = _WORDS.sub(r"\1", text)
        text = _ACCENT.sub(lambda found: found[2] + _ACCENTS[found[1]], text)
        text = _FRACTION.sub(lambda found: f"({_group(found[1])} / {_group(found[2])})", text)
        text = _ROOT.sub(r"√(\1)", text)
        text = _SCRIPT.sub(_written_script, text)
        text = re.sub(r"(?<![\\A-Za-z}])\{([^{}]*)\}", lambda found: _ended(found[1], found), text)
        if text == before:
            break
    text = _COMMAND.sub(_written_command, text)
    for _ in range(3):  # what stood behind a letter or a sign that takes nothing: x{y}, \\lnot{m}
        text = _SCRIPT.sub(_written_script, text)
        text = re.sub(r"(?<![\\_^])\{([^{}]*)(?<!\\)\}", r"\1", text)
    text = re.sub(r"\\[,;:! ]", " ", text).replace("\\{", "{").replace("\\}", "}")
    text = re.sub(r"\s+([)\]⌋⌉])", r"\1", re.sub(r",\s*;", ";", _OPENED_FUNCTION.sub(r"\1", text)))
    return re.sub(r"\s+", " ", re.sub(r"\s*([=+⊙×·≤≥≈←→≠<>])\s*", r" \1 ", text)).strip()


def _written_command(found: re.Match[str]) -> str:
    """The sign that a command stands for; names of functions stand apart from letters."""
    name = found[1]
    if name not in _FUNCTIONS:
        return _NAMES.get(name, name)
    return f"{' ' if found.start() and found.string[found.start() - 1].isalnum() else ''}{name} "


def _written_script(found: re.Match[str]) -> str:
    return found[1] + _ended(found[2] if len(found[2]) < 2 else _group(found[2]), found)


def _ended(text: str, found: re.Match[str]) -> str:
    """``text`` without the braces that it has in ``found``; a command at its end still ends there."""
    goes_on = found.string[found.end() : found.end() + 1].isalpha()
    return f"{text} " if goes_on and re.search(r"\\[A-Za-z]+$", text) else text


def _group(text: str) -> str:
    """``text`` in brackets unless it is one piece."""
    return text if re.fullmatch(r"\\?[\w.,]+'*|\([^()]*\)", text) else f"({text})"
