r"""Lines of text for diagrams: names of the code, symbols with sub- and superscripts, shapes in named dimensions.

LaTeX of symbols is set as Unicode text in runs, since an SVG that is to look the same everywhere cannot hold HTML.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from openmodelatlas.annotation.markup import split
from openmodelatlas.drawing.drawing import Run

_COMMANDS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ",
    "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
    "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ",
    "Omega": "Ω", "cdot": "·", "times": "×", "odot": "⊙", "oplus": "⊕", "otimes": "⊗", "circ": "∘", "top": "⊤",
    "prime": "′", "ell": "ℓ", "infty": "∞", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠",
    "approx": "≈", "in": "∈", "to": "→", "rightarrow": "→", "leftarrow": "←", "mapsto": "↦", "lfloor": "⌊",
    "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "ldots": "…", "dots": "…", "cdots": "…", "sum": "∑", "prod": "∏",
    "partial": "∂", "nabla": "∇", "pm": "±", "mid": "|", "vert": "|", "Vert": "‖", "langle": "⟨", "rangle": "⟩",
    ",": " ", ";": " ", ":": " ", "!": "", " ": " ", "quad": "  ", "_": "_", "%": "%", "#": "#", "&": "&", "{": "{",
    "}": "}", "|": "‖", "left": "", "right": "", "big": "", "Big": "", "bigl": "", "bigr": "", "limits": "",
    "displaystyle": "", "colon": ":", "setminus": "∖", "ast": "∗", "star": "⋆", "dagger": "†", "forall": "∀",
    "max": "max", "min": "min", "exp": "exp", "log": "log", "ln": "ln", "sin": "sin", "cos": "cos", "tanh": "tanh",
}  # fmt: skip
_UPRIGHT = frozenset({"max", "min", "exp", "log", "ln", "sin", "cos", "tanh"})
_SPACED = frozenset("=+−·×⊙⊕⊗≤≥≠≈∈→←↦±∘")
_SIGNS = frozenset("+−±")
_OPEN = frozenset("([{⌊⌈⟨,;:→←↦") | _SPACED
"""Behind these, and where nothing stands before, a plus or minus is a sign of what follows."""

_HAIR = "\u200a"
"""Between a letter and words below it, which are hardly smaller."""

_ACCENTS = {"bar": "\u0304", "overline": "\u0304", "hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303",
            "widetilde": "\u0303", "dot": "\u0307", "vec": "\u20d7"}  # fmt: skip
_WORDS = frozenset({"mathrm", "operatorname", "text", "textrm", "mathsf", "textsf"})
_CODE = frozenset({"mathtt", "texttt"})
_WITH_LIMITS = frozenset({"sum", "prod"})
_LETTERS = frozenset({"mathbf", "boldsymbol", "bm", "mathcal", "mathbb", "mathit", "mathnormal"})
_TOKEN = re.compile(r"\\([A-Za-z]+|.)|([{}_^'])|(\s+)|(.)", re.DOTALL)


_MOST_CHARACTERS = 400
"""Longer LaTeX is no short formula."""


class _UnsettableError(Exception):
    """The LaTeX needs more than one line of text."""


class _Setter:
    """Turns tokens of LaTeX into runs; raises for what is more than one line."""

    def __init__(self, latex: str) -> None:
        self._tokens: list[tuple[str, str, str, str]] = _TOKEN.findall(latex)
        self._at = 0

    def sequence(self, level: int, *, closed: bool, style: str = "math") -> list[Run]:
        """Runs up to the closing brace, or the end."""
        runs: list[Run] = []
        while self._at < len(self._tokens):
            if self._tokens[self._at][1] == "}":
                if not closed:
                    raise _UnsettableError
                self._at += 1
                return runs
            runs += self._item(level, style)
        if closed:
            raise _UnsettableError
        return runs

    def _item(self, level: int, style: str) -> list[Run]:
        command, sign, blank, character = self._tokens[self._at]
        self._at += 1
        if command:
            return self._command(command, level, style)
        if blank:  # it counts in words only
            return [Run(" ", "plain", level)] if style in ("words", "code") else []
        if sign == "{":
            return self.sequence(level, closed=True, style=style)
        if sign in ("_", "^"):
            if level:
                raise _UnsettableError
            return self._argument(-1 if sign == "_" else 1, style)
        if sign == "}":
            raise _UnsettableError
        if sign == "'":
            return [Run("′", "plain", level)]
        return [_character(character, level, style)]

    def _argument(self, level: int, style: str) -> list[Run]:
        while self._at < len(self._tokens) and self._tokens[self._at][2]:
            self._at += 1
        if self._at >= len(self._tokens):
            raise _UnsettableError
        return self._item(level, style)

    def _command(self, name: str, level: int, style: str) -> list[Run]:
        if name == "htmlData":
            self._skip_group()
            return self._argument(level, style)
        if name in _WORDS:
            return list(joined(self._argument(level, "words")))
        if name in _CODE:
            return list(joined(self._argument(level, "code")))
        if name in _WITH_LIMITS and self._is_script_next():
            raise _UnsettableError
        if name in _LETTERS:
            return self._argument(level, style)
        if name in _ACCENTS:
            inner = self._argument(level, style)
            if not inner or len(inner[0].text) != 1 or len(inner) != 1:
                raise _UnsettableError
            text = unicodedata.normalize("NFC", inner[0].text + _ACCENTS[name])
            return [Run(text, inner[0].style, level)]
        known = _COMMANDS.get(name)
        if known is None:
            raise _UnsettableError
        if not known:
            return []
        if name in _UPRIGHT:
            return [Run(known, "plain", level)]
        return [_character(known, level, style)]

    def _is_script_next(self) -> bool:
        rest = (sign for _, sign, blank, _ in self._tokens[self._at :] if not blank)
        return next(rest, None) in ("_", "^")

    def _skip_group(self) -> None:
        depth = 0
        while self._at < len(self._tokens):
            sign = self._tokens[self._at][1]
            self._at += 1
            depth += (sign == "{") - (sign == "}")
            if depth == 0:
                return
        raise _UnsettableError


def _character(character: str, level: int, style: str) -> Run:
    if style in ("words", "code"):
        return Run(character, "code" if style == "code" else "plain", level)
    character = "−" if character == "-" else character
    if character in _SPACED:
        return Run(character if level else f" {character} ", "plain", level)
    if character == ",":
        return Run("," if level else ", ", "plain", level)
    italic = style == "math" and (character.isalpha()) and character not in "ΓΔΘΛΞΠΣΦΨΩ"
    return Run(character, "math" if italic else "plain", level)


@lru_cache(maxsize=4096)
def latex_runs(latex: str) -> tuple[Run, ...] | None:
    """A symbol or short formula as one line of text; ``None`` if it is more than that (fractions, roots, unknown)."""
    if len(latex) > _MOST_CHARACTERS:
        return None
    try:
        return joined(_spaced(_Setter(latex).sequence(0, closed=False)))
    except _UnsettableError:
        return None


def _spaced(runs: Iterable[Run]) -> list[Run]:
    """Runs with blanks as in formulas: none behind a sign, one between names, a hair before words below letters."""
    found: list[Run] = []
    base: Run | None = None
    for run in runs:
        before = found[-1] if found else None
        text = run.text
        if run.level:
            if run.level < 0 and _is_name(run) and before is not None and not before.level:
                text = f"{_HAIR}{text}"
        elif not text.strip():
            if before is not None and before.text.endswith(" "):
                continue
        else:
            if text.strip() in _SIGNS and (
                base is None or (not _is_script(before) and base.text.rstrip()[-1] in _OPEN)
            ):
                text = text.strip()
            elif before is not None and base is not None and _are_apart(before, base, run):
                found.append(Run(" "))
            base = run
        found.append(Run(text, run.style, run.level, run.axis))
    return found


def _is_script(run: Run | None) -> bool:
    return run is not None and run.level != 0


def _are_apart(before: Run, base: Run, run: Run) -> bool:
    """Whether ``run`` would read as one name with what stands before it: ``base``, which may end with a script."""
    closed = before.level or before.text[-1:].isalnum() or before.text[-1:] in ")]⌋⌉′"
    return bool(closed) and run.text[:1].isalnum() and (_is_name(run) or _is_name(base))


def _is_name(run: Run) -> bool:
    return run.style == "code" or (run.style == "plain" and run.text[:2].isalpha() and len(run.text) > 1)


def joined(runs: Iterable[Run]) -> tuple[Run, ...]:
    """The same with neighbours that are set alike as one run."""
    found: list[Run] = []
    for run in runs:
        if found and _alike(found[-1], run):
            found[-1] = Run(found[-1].text + run.text, run.style, run.level, run.axis)
        elif run.text:
            found.append(run)
    return tuple(found)


_NAME = re.compile(r"[A-Za-zΑ-ω]\w*(?:,\w+)*|[^A-Za-zΑ-ω]+")


def size_runs(text: str) -> tuple[Run, ...]:
    """A size as ``shapes.display.short`` writes it, ``h·(d_nope + d_rope)``, with its subscripts set as such."""
    runs: list[Run] = []
    for piece in _NAME.findall(text):
        base, _, subscript = piece.partition("_")
        if not piece[0].isalpha():
            runs.append(Run(piece))
            continue
        runs.append(Run(base, "math" if len(base) == 1 else "plain"))
        if subscript:
            runs.append(Run(subscript, "plain", -1))
    return joined(runs)


def text_of(runs: Sequence[Run]) -> str:
    """All of a line as plain text."""
    return "".join(run.text for run in runs)


def _alike(first: Run, second: Run) -> bool:
    return (first.style, first.level, first.axis) == (second.style, second.level, second.axis)


def text_runs(text: str) -> tuple[Run, ...]:
    """A title or sentence on one line: code between backticks, LaTeX between dollar signs."""
    runs: list[Run] = []
    for kind, content in split(text):
        if kind == "latex":
            runs += latex_runs(content) or (Run(content),)
        else:
            runs.append(Run(content, "code" if kind == "code" else "plain"))
    return joined(runs)


def halves_of(runs: Sequence[Run]) -> list[tuple[tuple[Run, ...], tuple[Run, ...]]]:
    """The ways to break a line at a blank, each as the two lines."""
    found: list[tuple[tuple[Run, ...], tuple[Run, ...]]] = []
    for number, run in enumerate(runs):
        for place, sign in enumerate(run.text):
            if sign == " " and (number or place) and (number < len(runs) - 1 or place < len(run.text) - 1):
                first, second = run.text[:place], run.text[place + 1 :]
                before = joined([*runs[:number], Run(first, run.style, run.level)])
                after = joined([Run(second, run.style, run.level), *runs[number + 1 :]])
                found.append((before, after))
    return found
