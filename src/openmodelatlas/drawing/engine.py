r"""Formulas as HTML: KaTeX in an embedded V8.

KaTeX's file comes with the package (the build hook takes it from npm); V8 comes with ``mini-racer``, a part of the
extra ``capture``. Nothing else of JavaScript is run, and formulas are data to it.
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from openmodelatlas.errors import INSTALL_CAPTURE, DrawingError

KATEX = Path(__file__).parent / "engines" / "katex.min.js"

MOST_CHARACTERS = 4000
"""Longer LaTeX is shown as text: nobody reads it, and KaTeX's time grows with the square of its length."""

_SECONDS = 30.0
"""Time that a batch may take."""

_BATCH = 400

_FLAGS = ("--no-opt", "--always-sparkplug")
"""An atlas' formulas are set in a fifth less time if V8 compiles at once and leaves thorough compilation (measured)."""

_SET = r"""
function setAll(text) {
  const options = {
    output: "htmlAndMathml", throwOnError: true, displayMode: false, maxExpand: 100, maxSize: 20,
    strict: (code, message, token) => ["htmlExtension", "unicodeTextInMathMode", "symbolNotInFont"].includes(code)
      || (code === "unknownSymbol" && /^[\p{L}\p{M}\p{N}]$/u.test(token.text)) ? "ignore" : "error",
    trust: (context) => context.command === "\\htmlData"
      && Object.keys(context.attributes).every((name) => name === "data-light")
      && Object.values(context.attributes).every((value) => /^[a-z0-9 -]*$/.test(value)),
  };
  return JSON.stringify(JSON.parse(text).map((latex) => {
    try {
      const set = katex.renderToString(latex, { ...options, macros: {} });
      return set.includes("katex-error") || set.includes("#cc0000") ? [null, "refused"] : [set, null];
    } catch (error) {
      return [null, String(error && error.message || error)];
    }
  }));
}
"""


class Engine:
    """An embedded V8 with KaTeX; loading takes about 0.1 s.

    Raises:
        DrawingError: KaTeX's file or ``mini-racer`` is missing or does not start.
    """

    def __init__(self) -> None:
        try:
            from py_mini_racer import DEFAULT_V8_FLAGS, MiniRacer, init_mini_racer
        except ImportError as error:
            raise DrawingError(
                "Formulas cannot be set: mini-racer is not installed.", advice=INSTALL_CAPTURE
            ) from error
        try:
            code = KATEX.read_text(encoding="utf-8")
        except OSError as error:
            raise DrawingError(
                "Formulas cannot be set: the package lacks KaTeX.",
                where=str(KATEX),
                advice="Install openmodelatlas anew, or run `python hatch_build.py` in a checkout.",
            ) from error
        self._answers: dict[str, tuple[str | None, str | None]] = {}
        # A thread of its own: where an event loop runs, as in notebooks, mini-racer waits for that loop.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="katex")
        try:
            init_mini_racer(flags=(*DEFAULT_V8_FLAGS, *_FLAGS), ignore_duplicate_init=True)
            self._context: Any = self._run(MiniRacer)
            self._run(
                self._context.eval,
                f"var module = undefined, exports = undefined, define = undefined, self = this;\n{code}\n{_SET}",
            )
        except Exception as error:  # the library of V8 is missing or not for this machine, or KaTeX's file is cut off
            self._thread.shutdown(wait=False)
            said = " ".join(str(error).split())[:200]
            raise DrawingError(
                f"Formulas cannot be set: V8 or KaTeX does not start ({type(error).__name__}: {said}).",
                where=str(KATEX),
                advice=f"{INSTALL_CAPTURE} Where it is installed, add --force-reinstall.",
            ) from error

    def close(self) -> None:
        """Ends the embedded V8."""
        self._run(self._context.close)
        self._thread.shutdown()

    def _run(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        return self._thread.submit(function, *arguments, **named).result()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def set(self, latex: Iterable[str]) -> tuple[dict[str, str], list[str]]:
        r"""HTML (with MathML for screen readers) of each formula, and a note for each that could not be set.

        What was set before is not set again.

        Those that cannot be set (too long, unknown commands, anything that is not mathematics, such as links) are
        escaped text.
        """
        wanted = list(dict.fromkeys(latex))
        short = [each for each in wanted if len(each) <= MOST_CHARACTERS and each not in self._answers]
        for first in range(0, len(short), _BATCH):
            batch = short[first : first + _BATCH]
            self._answers.update(zip(batch, self._set(batch), strict=True))
        formulas: dict[str, str] = {}
        notes: list[str] = []
        for each in wanted:
            made, reason = self._answers.get(each, (None, f"longer than {MOST_CHARACTERS:,} characters"))
            if made is None:
                made = f'<span class="latex">{html.escape(each)}</span>'
                shown = each if len(each) <= 80 else f"{each[:79]}…"
                notes.append(_encodable(f"Formula shown as text: {shown}: {reason}"))
            formulas[each] = _encodable(made)
        return formulas, notes

    def _set(self, latex: list[str]) -> list[tuple[str | None, str | None]]:
        """HTML or the reason of each; what ends or stalls the engine is looked for by halving and costs itself only."""
        try:
            answers = json.loads(self._run(self._context.call, "setAll", json.dumps(latex), timeout_sec=_SECONDS))
        except Exception as error:  # out of time or memory, whatever mini-racer calls it
            if len(latex) == 1:
                return [(None, f"the engine failed ({type(error).__name__})")]
            half = len(latex) // 2
            return [*self._set(latex[:half]), *self._set(latex[half:])]
        return [(made, reason) for made, reason in answers]


def _encodable(text: str) -> str:
    """The text without halves of characters, which KaTeX's messages leave where they mark one place in a formula."""
    return text.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")


def check_engine() -> None:
    """Raises what :class:`Engine` raises where formulas cannot be set here."""
    Engine().close()


def available() -> bool:
    """Whether formulas can be set here."""
    import importlib.util

    return importlib.util.find_spec("py_mini_racer") is not None and os.access(KATEX, os.R_OK)
