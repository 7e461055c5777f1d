"""An atlas in which everything that a stranger writes is an attack: names, code, files, formulas, sentences."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from openmodelatlas.annotation.knowledge import (
    Claim,
    Formula,
    FormulaCheck,
    Knowledge,
    NodeKnowledge,
    Statement,
    Term,
)
from openmodelatlas.bundle.store import read, write
from openmodelatlas.drawing.drawing import Drawing, Drawings, DrawnEdge, DrawnNode, DrawnText, Run
from openmodelatlas.graph.document import Branch, CitedFile, Document, Lines, Node, Symbol, Unreached, Variation
from tests.site.sample import SIZES, B, D, T, Tree, port, provenance

MARKUP = "</script></style></title>\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}&amp;&"
LONG = "Antidisestablishmentarianism" * 60
BACKWARDS = "שָׁלוֹם مرحبا \u202eevil\u202c \u200f"
CONTROL = "\x1b[31mred\x07\x00"
FILE = f"{MARKUP}/{LONG[:80]}/{BACKWARDS}.py".replace("\x00", "")
LINES = 5_000


def source() -> str:
    """A module of 5,000 lines; each holds something that could end an element, a string or a line."""
    head = f'class Hostile:\n    """{MARKUP} {BACKWARDS} {CONTROL}"""\n    def forward(self, x):\n'
    texts = [f"        x = x + {n}  # {MARKUP if n % 3 else BACKWARDS} \u2028 \u0085" for n in range(LINES - 4)]
    return head + "\n".join(texts) + f"\n        return {LONG}\n"


def document() -> Document:
    text = source()
    lines = text.split("\n")
    code = Lines(file=FILE, first=3, last=LINES)
    own = Lines(file=FILE, first=2000, last=2000, column=12, end_column=20)
    cited = CitedFile(
        path=FILE,
        repository=MARKUP,
        revision=MARKUP,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        url=f"javascript:alert(1)//{MARKUP}",
    )
    tree = Tree()
    tree.add("", "model", MARKUP, title=MARKUP, class_name=MARKUP, function=MARKUP, parameter_count=1)
    branch = Branch(test=MARKUP, lines=own, taken={"true": (1,), "false": (2,)})
    tree.add("layers", "layer group", f"2 {LONG}", members=(1, 2), count=2, code=code)
    for name, member in (("one", 1), ("two", 2)):
        tree.add(
            f"layers/{name}",
            "module",
            f"{MARKUP}{BACKWARDS}",
            members=(member,),
            symbol=Symbol(text=MARKUP, lines=own),
            code=code,
            class_name=f"{MARKUP}.{name}",
            module=MARKUP,
            branches=(branch,),
            unreached=(Unreached(lines=Lines(file=FILE, first=9, last=11), condition=MARKUP, condition_line=8),),
            variations=(Variation(what=MARKUP, values=(LONG, CONTROL)),),
            arguments={MARKUP: MARKUP, "long": LONG},
            attributes={MARKUP: LONG},
            inputs=(port(MARKUP, f"layers/{name}/seen"),),
            outputs=(port(BACKWARDS, f"layers/{name}/seen"),),
        )
        tree.add(
            f"layers/{name}/step",
            "operation",
            LONG,
            members=(member,),
            symbol=Symbol(text=lines[1999][12:20], lines=own),
            code=code,
            function=MARKUP,
        )
        tree.tensor(f"layers/{name}/seen", CONTROL, (B, T, D), variable=MARKUP, symbol=Symbol(text=MARKUP, lines=own))
    return Document(
        format=1,
        model="hostile",
        title=MARKUP,
        provenance=msgspec.structs.replace(provenance(), repository=MARKUP, revision=MARKUP, preferred=(MARKUP, LONG)),
        configuration={MARKUP: MARKUP, "nested": {MARKUP: [LONG]}},
        configuration_defaults=(MARKUP,),
        sizes=SIZES,
        nodes=tree.nodes,
        parameters={},
        files={FILE: cited},
        checks=(),
        notes=(MARKUP, f"`{MARKUP}` and $\\href{{javascript:alert(1)}}{{x}}$"),
    )


def knowledge(text: str) -> Knowledge:
    own = Lines(file=FILE, first=2000, last=2000, column=12, end_column=20)
    cited = "".join(f"{line}\n" for line in text.split("\n")[1999:2000])
    latex = rf"\htmlData{{light=a}}{{x}}\text{{{MARKUP}}}"
    check = FormulaCheck(verdict="differs", error=0.5, detail=MARKUP)
    known = NodeKnowledge(
        title=f"{MARKUP} {LONG}",
        sentence=f"{MARKUP} `{MARKUP}` ${MARKUP}$ {BACKWARDS}",
        role=MARKUP,
        symbols={"layers/one/seen": latex},
        formulas=(
            Formula(latex=latex, terms=(Term(id="a", latex=MARKUP, meaning=MARKUP, lines=(own,)),), check=check),
        ),
        explanation=(Statement(text=MARKUP, lines=(own,)),),
        claims=(Claim(id=MARKUP, text=MARKUP, lines=own, sha256=hashlib.sha256(cited.encode()).hexdigest()),),
    )
    return Knowledge(nodes={"layers/one/step": known, "layers/one": known})


def drawings() -> Drawings:
    def text(words: str) -> DrawnText:
        return DrawnText(text=words, runs=(Run(text=words),), x=4.0, y=4.0, width=90.0, height=16.0, size=13.0)

    def box(name: str, address: str, y: float) -> DrawnNode:
        return DrawnNode(
            id=name, address=address, link=address, x=4.0, y=y, width=90.0, height=30.0, title=text(MARKUP)
        )

    nodes = (box("a", "layers/one/step", 4.0), box("b", "layers/one/seen", 80.0))
    edge = DrawnEdge(
        tensor=MARKUP, source="a", target="b", name=MARKUP, points=((40.0, 34.0), (40.0, 80.0)), label=text(BACKWARDS)
    )
    return Drawings(levels={"layers/one": Drawing(width=100.0, height=120.0, nodes=nodes, edges=(edge,))})


def open_hostile(home: Path) -> Any:
    made, text = document(), source()
    texts = {hashlib.sha256(text.encode()).hexdigest(): text}
    return read(
        write(made, texts=texts, values={}, home=home, model="hostile", knowledge=knowledge(text), drawings=drawings())
    )


def nodes_of(made: Document) -> list[Node]:
    return list(made.nodes.values())
