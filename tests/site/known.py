"""Knowledge and drawings of the sample atlases, written by hand: what the pages of a finished atlas can show."""

from __future__ import annotations

import hashlib

from openmodelatlas.annotation.knowledge import (
    Claim,
    Difference,
    Formula,
    FormulaCheck,
    Knowledge,
    NodeKnowledge,
    Statement,
    Term,
)
from openmodelatlas.drawing.drawing import Drawing, Drawings, DrawnEdge, DrawnNode, DrawnText, Run
from openmodelatlas.graph.document import Lines
from tests.site.sample import Source

MARKED = (
    r"{\htmlData{light=residual attention-add}{s'_n}}={\htmlData{light=carried store}{\bar{s}_n}}"
    r"+{\htmlData{light=attention}{\Delta_{\mathrm{attn}}}}"
)
ADD = "layers/first/add-attention-update"


def running_sum_knowledge() -> Knowledge:
    """Of the K3-like sample: the addition of the attention update, as its seed tells it."""
    code = Source("modeling_running_sum.py")
    forward = code.body("def forward(", "class RunningSumBlock")
    condition = Lines(file=code.path, first=code.number("if running is not None"), last=code.number("running = update"))
    update = code.symbol("update", condition)
    store = Lines(file=code.path, first=code.number("if self.layer_idx %"), last=code.number("running = None"))
    return Knowledge(
        nodes={
            "layers/first": NodeKnowledge(
                title="First layer", family="residual", claims=(_claim(code, "block", forward),)
            ),
            ADD: NodeKnowledge(
                title="Add attention update",
                sentence="Add the mechanism’s update to the residual stream element by element.",
                role="residual addition",
                family="residual",
                mechanism="residual-addition",
                symbols={
                    "layers/first/carried": r"\bar{s}_n",
                    "layers/first/update": r"\Delta_{\mathrm{attn}}",
                    "layers/first/running": "s'_n",
                },
                formulas=(
                    Formula(
                        latex=MARKED,
                        terms=(
                            Term(
                                id="residual",
                                latex="s'_n",
                                meaning="the residual stream",
                                addresses=("layers/first/running",),
                            ),
                            Term(
                                id="carried",
                                latex=r"\bar{s}_n",
                                meaning="the running sum",
                                addresses=("layers/first/carried",),
                            ),
                            Term(
                                id="attention",
                                latex=r"\Delta_{\mathrm{attn}}",
                                meaning="what `attention` gives",
                                addresses=("layers/first/update",),
                                lines=(update.lines,),
                            ),
                        ),
                        check=FormulaCheck(verdict="checked", error=3e-16, detail="1 value of the probe"),
                    ),
                    Formula(
                        latex="s'_n=0",
                        terms=(),
                        check=FormulaCheck(verdict="not checked", error=None, detail="no value was kept"),
                    ),
                ),
                explanation=(
                    Statement(
                        text=r"Layer 1 cleared the running sum before attention, so here $s'_n=\Delta_{\mathrm{attn}}$.",  # noqa: E501
                        lines=(store, condition),
                    ),
                    Statement(text="The running sum costs $5 and `nothing` else."),
                ),
                differences=(Difference(mechanism="layer-norm", text="The mean is not taken off.", lines=(store,)),),
                claims=(_claim(code, "block-forward", forward),),
            ),
            "layers/first/running": NodeKnowledge(symbols={"layers/first/running": "s'_n"}, family="residual"),
        }
    )


def _claim(code: Source, name: str, lines: Lines) -> Claim:
    text = "".join(f"{line}\n" for line in code.lines[lines.first - 1 : lines.last])
    return Claim(
        id=name,
        text="A layer adds the attention output to the running sum.",
        lines=lines,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def running_sum_drawings() -> Drawings:
    """One level with two boxes and a line, and the formulas that were set."""
    first = Drawing(
        width=240.0,
        height=160.0,
        nodes=(
            _box("a", "layers/first/update", 10.0, role="input", link="layers/first/update"),
            _box("b", ADD, 90.0, link=ADD),
        ),
        edges=(
            DrawnEdge(
                tensor="layers/first/update",
                source="a",
                target="b",
                name="update",
                kind="residual",
                points=((120.0, 50.0), (120.0, 90.0)),
                label=_text("update", 124.0, 60.0),
            ),
        ),
    )
    formulas = {
        MARKED: '<span class="katex"><span class="mord" data-light="residual attention-add" '
        'style="margin-right:0.05em;">s</span><span style="height:0.5em;vertical-align:-0.2em">=</span>'
        '<span data-light="attention">Δ</span></span>',
        "s'_n": '<span class="katex"><span class="mord" style="margin-right:0.05em;">s</span></span>',
    }
    return Drawings(levels={"layers/first": first}, formulas=formulas)


def _box(name: str, address: str, y: float, *, role: str = "node", link: str | None = None) -> DrawnNode:
    return DrawnNode(
        id=name,
        address=address,
        link=link,
        role=role,  # type: ignore[arg-type]
        x=40.0,
        y=y,
        width=160.0,
        height=40.0,
        family="residual",
        title=_text(address.rpartition("/")[2], 50.0, y + 8),
    )


def _text(text: str, x: float, y: float) -> DrawnText:
    return DrawnText(text=text, runs=(Run(text=text),), x=x, y=y, width=120.0, height=16.0, size=13.0)
