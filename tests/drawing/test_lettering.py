"""Symbols and sizes as lines of text, and their widths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas.drawing.drawing import Run
from openmodelatlas.drawing.fitting import MOST_TITLE_LINE, two_lines
from openmodelatlas.drawing.lettering import halves_of, latex_runs, size_runs, text_of, text_runs
from openmodelatlas.drawing.metrics import plain_width, runs_width
from openmodelatlas.drawing.pieces import line


@pytest.mark.parametrize(
    ("latex", "text", "lowered"),
    [
        (r"s'_n", "s′n", "n"),
        (r"\bar{s}_n", "s̄n", "n"),
        (r"\Delta_{\mathrm{attn}}", "Δ\u200aattn", "\u200aattn"),
        (r"{\htmlData{light=residual attention-add}{s'_n}}=\bar{s}_n+x", "s′n = s̄n + x", "nn"),
        (r"\mathtt{a\_b} = \mathrm{max pool}", "a_b = max pool", ""),
        (r"h \cdot (d_{nope} + 1)", "h · (dnope + 1)", "nope"),
    ],
)
def test_symbols_are_set_on_one_line(latex: str, text: str, lowered: str) -> None:
    runs = latex_runs(latex)

    assert runs is not None
    assert text_of(runs) == text
    assert "".join(run.text for run in runs if run.level < 0) == lowered


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\mathtt{query\_states}k^\top", "query_states k⊤"),
        (r"k\mathtt{x}", "k x"),
        (r"\cos\mathtt{emb}", "cos emb"),
        (r"\max_a x", "maxa x"),
        (r"\operatorname{softmax}(x)\sigma", "softmax(x)σ"),
        (r"W_{\mathrm{up}}x", "W\u200aupx"),
        (r"B\mathtt{a}_n\mathtt{b}", "B an b"),
        ("-e^A", "−eA"),
        ("a = -b", "a = −b"),
        (r"x[\ldots,\ -1:]", "x[…, −1:]"),
        ("(-5)", "(−5)"),
        ("a_n-b", "an − b"),
        (r"x^\top-1", "x⊤ − 1"),
        ("f(x)-1", "f(x) − 1"),
    ],
)
def test_names_stand_apart_and_signs_stand_at_what_they_turn(latex: str, text: str) -> None:
    assert text_of(latex_runs(latex) or ()) == text


@pytest.mark.parametrize(
    "latex", [r"\frac{a}{b}", r"\sqrt{x}", "a_{b_c}", "{a", "a}", r"\unknown", r"\sum_{i=1}^n x", "a_", r"\bar{ab}"]
)
def test_what_needs_more_than_a_line_is_not(latex: str) -> None:
    assert latex_runs(latex) is None


@given(st.text(alphabet=r"\{}_^'ab+ =$", max_size=30))
def test_any_latex_gives_runs_or_nothing(latex: str) -> None:
    runs = latex_runs(latex)

    assert runs is None or all(isinstance(run, Run) for run in runs)


def test_sizes_have_their_subscripts() -> None:
    assert size_runs("h·(d_nope + d_h,linear)") == (
        Run("h", "math"), Run("·("), Run("d", "math"), Run("nope", "plain", -1), Run(" + "), Run("d", "math"),
        Run("h,linear", "plain", -1), Run(")"),
    )  # fmt: skip


def test_code_and_formulas_within_titles() -> None:
    assert text_runs("Add `x` to $r_n$") == (
        Run("Add "), Run("x", "code"), Run(" to "), Run("r", "math"), Run("n", "math", -1),
    )  # fmt: skip
    assert text_of(text_runs("an odd ` stays")) == "an odd ` stays"


def test_lines_are_broken_at_blanks() -> None:
    assert [(text_of(first), text_of(second)) for first, second in halves_of((Run("a b"), Run("c d", "code")))] == [
        ("a", "bc d"), ("a bc", "d"),
    ]  # fmt: skip


def test_widths_are_those_of_the_font() -> None:
    assert plain_width("Helvetica") == pytest.approx(0.722 + 0.556 + 0.222 + 0.5 + 0.556 + 0.278 + 0.222 + 0.5 + 0.556)
    assert plain_width("code", code=True) == pytest.approx(4 * 0.602)
    assert plain_width("s̄") == pytest.approx(plain_width("s") + 0.1)
    assert runs_width((Run("x", "plain", -1),), 12.0) == pytest.approx(11 * 0.5 * 1.03)


@given(st.text(max_size=80), st.floats(30, 200))
def test_cut_lines_fit_and_keep_the_whole(text: str, most: float) -> None:
    cut = line([Run(text)], 12.0, most=most)

    assert cut.width <= most
    assert cut.full in (None, text)
    if cut.full is not None:
        assert cut.runs[-1].text.endswith("…")


@pytest.mark.parametrize(
    ("title", "lines"),
    [
        ("Scale the scores", ["Scale the scores"]),
        (
            "Multiply the even features of the shared key part by the cosines",
            ["Multiply the even features of the", "shared key part by the cosines"],
        ),
        (
            "Take the blocks that lie before the ones of this chunk from the table of all the blocks of the sequence",
            ["Take the blocks that lie before the", "… of all the blocks of the sequence"],
        ),
    ],
)
def test_long_titles_keep_their_ends(title: str, lines: list[str]) -> None:
    made = list(two_lines(title).values())

    assert ["".join(run.text for run in each.runs) for each in made] == lines
    assert all(each.width <= MOST_TITLE_LINE for each in made)
    assert made[0].full == (title if "…" in lines[-1] else None)


@given(st.text(alphabet="ab Wx", max_size=200))
def test_any_title_fits(title: str) -> None:
    assert all(each.width <= MOST_TITLE_LINE for each in two_lines(title).values())
