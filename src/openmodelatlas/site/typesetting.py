"""Formulas and texts as HTML. Formulas were set when the atlas was built; here they are only put in place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from markupsafe import Markup, escape

from openmodelatlas.annotation.markup import split
from openmodelatlas.drawing.breaking import rows_of
from openmodelatlas.site.latex import without_marks

_STYLE = re.compile(r'\sstyle="([^"]*)"')
_CLASS = re.compile(r'\sclass="([^"]*)"')
_TAG = re.compile(r'<[a-zA-Z][^<>]*\sstyle="[^<>]*>')
_DECLARATION = re.compile(r"[a-z-]+:[-+.%#\w ]+")


class Typesetter:
    """Puts formulas in place, and texts that hold formulas and code.

    The policy of the pages allows no inline styles, of which typeset formulas have many (heights, offsets): each
    distinct one becomes a class, and :meth:`stylesheet` has them all.

    Args:
        formulas: HTML by LaTeX, see ``drawing.drawing.Drawings.formulas``.
    """

    def __init__(self, formulas: Mapping[str, str]) -> None:
        self._formulas = formulas
        self._unmarked = {without_marks(latex): html for latex, html in formulas.items()}
        self._set: dict[str, Markup] = {}
        self._classes: dict[str, str] = {}

    def math(self, latex: str, *, block: bool = False) -> Markup:
        """A formula, within a text or by itself; what was not set at build time is shown as LaTeX."""
        if block:
            return self._display(latex)
        found = self._set.get(latex)
        if found is None:
            html = self._formulas.get(latex) or self._unmarked.get(without_marks(latex))
            if html is None:
                found = Markup('<code class="latex">{}</code>').format(without_marks(latex))
            else:
                found = Markup(_TAG.sub(self._classed, html))  # noqa: S704  (KaTeX escapes what it sets)
            self._set[latex] = found
        return found

    def _display(self, latex: str) -> Markup:
        """A formula by itself, which breaks where it is wider than the page; aligned rows are two cells each."""
        rows = rows_of(latex)
        if not all(self._is_set(clause) for row in rows for cell in row for clause in cell):
            return Markup('<div class="formula" tabindex="0">{}</div>').format(self.math(latex))
        if len(rows) == len(rows[0]) == 1:
            return Markup('<div class="formula" tabindex="0">{}</div>').format(self._cell(rows[0][0]))
        cells = (self._cell(cell) for row in rows for cell in (row if len(row) == 2 else ((), *row)))
        return Markup('<div class="formula rows" tabindex="0">{}</div>').format(
            Markup("").join(Markup("<div>{}</div>").format(cell) for cell in cells)
        )

    def _cell(self, clauses: Sequence[str]) -> Markup:
        """Clauses, of which each stays on one line if it can."""
        if len(clauses) == 1:
            return self.math(clauses[0])
        return Markup(" ").join(Markup('<span class="clause">{}</span>').format(self.math(each)) for each in clauses)

    def _is_set(self, latex: str) -> bool:
        return 'class="katex' in (self._formulas.get(latex) or self._unmarked.get(without_marks(latex)) or "")

    def text(self, text: str) -> Markup:
        """Escaped text in which what stands between dollar signs is set, and between backticks is code."""
        parts = []
        for kind, content in split(text):
            if kind == "code":
                parts.append(Markup("<code>{}</code>").format(content))
            elif kind == "latex":
                parts.append(self.math(content))
            else:
                parts.append(escape(content))
        return Markup("").join(parts)

    def stylesheet(self) -> bytes:
        """The styles of all formulas, as a style sheet."""
        for latex in self._formulas:
            self.math(latex)
        rules = (f".{name}{{{style}}}" for style, name in sorted(self._classes.items()))
        return ("/* Heights and offsets within formulas. */\n" + "\n".join(rules) + "\n").encode()

    def _classed(self, found: re.Match[str]) -> str:
        """A tag with the declarations of its style as classes."""
        tag = found[0]
        styles = _STYLE.search(tag)
        if styles is None:
            return tag
        names = [self._class(text.strip()) for text in styles[1].split(";") if text.strip()]
        tag = tag[: styles.start()] + tag[styles.end() :]
        added = " ".join(name for name in names if name)
        if not added:
            return tag
        if _CLASS.search(tag):
            return _CLASS.sub(lambda match: f' class="{match[1]} {added}"', tag, count=1)
        head, space, rest = tag.partition(" ")
        return f'{head} class="{added}"{space}{rest}' if space else f'{tag[:-1]} class="{added}">'

    def _class(self, declaration: str) -> str:
        """The class that stands for a declaration; empty for what is no plain declaration."""
        plain = re.sub(r"\s*:\s*", ":", declaration)
        if not _DECLARATION.fullmatch(plain):
            return ""
        return self._classes.setdefault(plain, _class_name(plain))


@lru_cache(maxsize=16384)
def _class_name(declaration: str) -> str:
    return "m" + hashlib.sha256(declaration.encode()).hexdigest()[:7]
