"""Pages say all that is known: formulas with terms and verdicts, explanation with lines, claims, differences."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

import openmodelatlas
from openmodelatlas.annotation.knowledge import FormulaCheck
from openmodelatlas.drawing.formulas import latex_of_mechanisms
from openmodelatlas.site.knowing import verdict
from openmodelatlas.site.latex import readable, readable_latex, without_marks
from openmodelatlas.site.markdown import render_markdown
from openmodelatlas.site.node_html import NodeHtml
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.search import search_file, search_script
from openmodelatlas.site.terminal import render
from openmodelatlas.site.typesetting import Typesetter
from tests.site.known import ADD, MARKED
from tests.site.sample import Source


@pytest.fixture(scope="module")
def builder(samples: list[Any]) -> PageBuilder:
    return PageBuilder(samples[2])


def test_the_seed_field_by_field(builder: PageBuilder) -> None:
    page = builder.page(builder.atlas[ADD])
    assert page.title == "Add attention update"
    assert [crumb.label for crumb in page.breadcrumb] == ["93 layers", "First layer"]
    assert page.description.startswith("Add the mechanism’s update to the residual stream element by element. ")
    assert page.formula == r"{s'_n}={\bar{s}_n}+{\Delta_{\mathrm{attn}}}"
    assert page.formulas[0].marked == MARKED
    assert page.formulas[0].check.text == "checked: largest relative error 3e-16 on the probe, float64"
    assert [(port.latex, port.name) for port in page.inputs] == [
        (r"\bar{s}_n", "running"),
        (r"\Delta_{\mathrm{attn}}", "update"),
    ]
    assert page.outputs[0].latex == "s'_n"
    first, last = page.statements[0].spans
    numbers = f"{first.lines[0]}–{first.lines[1]}, {last.lines[0]}–{last.lines[1]}"
    assert page.explanation[0].endswith(rf"$s'_n=\Delta_{{\mathrm{{attn}}}}$ (modeling_running_sum.py {numbers}).")
    assert [(item.kind, item.id) for item in page.sources][:1] == [("direct", "block-forward")]
    assert page.mechanism is not None
    assert page.mechanism.id == "residual-addition"
    assert page.differences[0].mechanism.title == "LayerNorm"


def test_claims_are_inherited(builder: PageBuilder) -> None:
    page = builder.page(builder.atlas["layers/first/running"])
    first = page.sources[0]
    assert (first.kind, first.origin, first.id) == ("contextual", "First layer", "block")


def test_the_page_holds_what_the_front_end_reads(builder: PageBuilder) -> None:
    renderer = NodeHtml(builder, [("known-sum", "Known sum")])
    html = renderer.page(builder.page(builder.atlas[ADD]), markdown="# </script>")
    data = json.loads(re.search(r'<script type="application/json" id="oma-page">(.*?)</script>', html)[1])  # type: ignore[index]
    assert data["markdown"] == "# </script>"
    assert data["lights"]["attention"] == ["layers/first/update"]
    assert data["latex"][0] == without_marks(MARKED)
    assert (data["level"], data["parent"]) == ("layers/first", "layers/first")
    assert 'data-level="layers/first"' in html
    assert f'<img src="../diagram.svg#{ADD}"' in html, "the picture marks what the page is about"
    assert f'<g id="{ADD}" class="node family-residual role-node"' in renderer.drawing("layers/first")[1].decode()  # type: ignore[index]
    assert b'class=\\"node family-residual role-node\\"' in renderer.drawing("layers/first")[0]  # type: ignore[index]
    assert 'data-light="@layers/first/update attention"' in html, "rows of inputs light with their terms"
    assert 'href="../update/index.html"' in html, "links within the level are short"
    assert "⟦" not in html


def test_the_code_lights_with_terms_and_nodes(builder: PageBuilder) -> None:
    html = NodeHtml(builder).page(builder.page(builder.atlas[ADD]))
    assert re.search(r'<span data-light="[^"]*\battention"[^>]*>update</span>', html)
    assert f'data-light="@{ADD}' not in re.search(r'<ol class="code".*?</ol>', html, re.DOTALL)[0]  # type: ignore[index]
    tensor = NodeHtml(builder).page(builder.page(builder.atlas["layers/first/running"]))
    assert '<span data-light="@layers/first/update"' in tensor


def test_formulas_have_no_inline_styles(builder: PageBuilder) -> None:
    setter = Typesetter(builder.atlas.drawings.formulas)
    css = setter.stylesheet().decode()
    html = setter.math(MARKED)
    assert "style=" not in html
    for declaration in ("margin-right:0.05em", "height:0.5em", "vertical-align:-0.2em"):
        found = re.search(rf"\.(m\w+)\{{{re.escape(declaration)}\}}", css)
        assert found is not None
        assert found[1] in html
    assert '<span class="mord' in html
    assert setter.math(r"\beta<1") == r'<code class="latex">\beta&lt;1</code>'


def test_styles_that_are_no_plain_declarations_are_dropped() -> None:
    hostile = '<span style="background:url(javascript:x);width:1em">x</span>'
    setter = Typesetter({"x": hostile})
    assert "url" not in setter.stylesheet().decode()
    assert "url" not in setter.math("x")
    assert "width:1em" in setter.stylesheet().decode()


def test_markdown_and_terminal_say_it_too(builder: PageBuilder) -> None:
    page = builder.page(builder.atlas[ADD])
    text = render_markdown(page)
    for expected in (
        "$$\n{s'_n}={\\bar{s}_n}+{\\Delta_{\\mathrm{attn}}}\n$$",
        "checked: largest relative error 3e-16 on the probe, float64",
        "- in: $\\bar{s}_n$ `running` `[B batch, T positions, 7168 d]`",
        "## Explanation",
        "costs \\$5 and `nothing` else",
        "[LayerNorm](../../../../mechanisms/layer-norm/index.md): The mean is not taken off.",
    ):
        assert expected in text
    out = io.StringIO()
    Console(file=out, width=140).print(render(page))
    for expected in ("s'_n = s̄_n + Δ_attn", "3e-16", "Explanation", "so here s'_n = Δ_attn"):
        assert expected in out.getvalue()


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (("checked", 0.0), "checked: exactly equal on the probe, float64"),
        (("checked", 2.5e-7), "checked: largest relative error 2e-07 on the probe, float64"),
        (("differs", 0.25), "differs from what the code gave by up to 2.5e-01, relative, on the probe"),
        (("not checked", None), "not checked"),
    ],
)
def test_verdicts_in_words(check: tuple[Any, float | None], text: str) -> None:
    assert verdict(FormulaCheck(verdict=check[0], error=check[1], detail="")).text == text


def test_formulas_in_plain_characters() -> None:
    assert readable_latex(r"y=\frac{x}{\sqrt{\epsilon}}\odot\gamma") == "y = (x / (√(ε))) ⊙ γ"
    assert readable_latex(MARKED) == "s'_n = s̄_n + Δ_attn"


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"y_13=\lnot{\mathtt{score\_mask}}", "y_13 = ¬score_mask"),
        (r"y_4=\frac{1}{\sqrt{{\mathtt{variance}}+10^{-6}}}", "y_4 = (1 / (√(variance + 10^(-6))))"),
        (r"{\mathtt{keys}}=\varnothing", "keys = ∅"),
        (r"\begin{aligned}q&=x\\ [c;r]&=y\\[2pt] k&=1\end{aligned}", "q = x ; [c;r] = y ; k = 1"),
        (r"{M}_{{i}{j}}=\begin{cases}{0}&{j}\le{i}\\{-\infty}&{j}\gt{i}\end{cases}", "M_ij = 0 j ≤ i ; -∞ j > i"),
        (r"0.1\,c\ln s+\ln\frac{L}{2}", "0.1 c ln s + ln(L / 2)"),
        (r"\max(0,\left\lfloor p({b})\right\rfloor)+\max_{i} x", "max(0,⌊p(b)⌋) + max_i x"),
        (r"g=W_{\downarrow}x", "g = W_↓x"),
        (r"{\gamma}x", "γx"),
        (r"\frac{{\rho}_{i}}{s}", "(ρ_i / s)"),
        (r"\begin{aligned}a&=b,\\c&=d\end{aligned}", "a = b; c = d"),
        (r"\left\{\,i:x_i\ne 0\,\right\}", "{ i:x_i ≠ 0 }"),
    ],
)
def test_formulas_of_all_kinds_in_plain_characters(latex: str, plain: str) -> None:
    assert readable_latex(latex) == plain


COMMANDS = re.compile(r"(?<!\\)\\([A-Za-z]{2,})")


def test_every_command_of_formulas_has_plain_characters() -> None:
    """Those that sources and the catalogue write; what only steers or sets letters leaves nothing of itself."""
    package = Path(openmodelatlas.__file__).parent
    files = [*(package / "catalogue").rglob("*.md"), *(package / "annotation").rglob("*.py")]
    written = {name for path in files for name in COMMANDS.findall(path.read_text(encoding="utf-8"))}
    ones_own = {"exp", "log", "ln", "min", "max", "sin", "cos", "tan", "tanh", "arcsin", "arccos", "arctan", "sinh"}
    ones_own |= {"cosh", "det", "arg", "htmlData"}
    assert written > {"downarrow", "frac"}

    for name in written - ones_own:
        given = {"frac": "{p}{q}", "tfrac": "{p}{q}", "begin": "{cases}", "end": "{cases}"}.get(name, "{p}")
        plain = readable_latex(rf"\{name}{given}")
        assert name not in plain, f"{name} stays as {plain!r}"


def test_no_formula_of_the_catalogue_keeps_commands() -> None:
    for latex in latex_of_mechanisms():
        plain = readable_latex(latex)
        assert "\\" not in plain
        assert not re.search(r"mathtt|frac|begin|_\{", plain)
    assert readable("so $a=b$ in `f(x)`") == "so a = b in f(x)"


def test_search_finds_everything(samples: list[Any]) -> None:
    entries = search_file(PageBuilder(samples[0])).entries
    found = {(kind, title): (where, text, link) for kind, title, where, text, link in entries}
    _, text, link = found["tensor", "Block output"]
    assert link in ("sample/layers/dense/block-output/index.html", "sample/layers/moe/block-output/index.html")
    assert "hidden_states" in text
    assert (
        found["parameter", "model.layers.0.self_attn.q_proj.weight"][2]
        == "sample/layers/dense/self-attn/q-proj/index.html"
    )
    assert found["configuration", "rope_scaling.factor"][0] == "32.0"
    line = next(entry for entry in entries if entry[0] == "line" and "torch.matmul(" in entry[1])
    number = Source("modeling_sample.py").number("torch.matmul(")
    assert line[2] == f"modeling_sample.py {number}"
    assert line[4].endswith(f"/self-attn/matmul/index.html#L{number}")
    known = search_file(PageBuilder(samples[2])).entries
    assert ("mechanism", "Residual addition") in {(entry[0], entry[1]) for entry in known}


def test_the_search_file_is_one_call(samples: list[Any]) -> None:
    script = search_script(PageBuilder(samples[1])).decode()
    assert script.startswith("omaSearch({")
    assert script.endswith("});\n")
    assert "<" not in script
    data = msgspec.json.decode(script[len("omaSearch(") : -len(");\n")])
    assert data["title"] == "Running sum <&>"
