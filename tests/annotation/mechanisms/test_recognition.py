"""Where mechanisms are found, what they bind, and when they are not attached."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.annotation.mechanisms.programs import ProgramCode, material
from tests.annotation.mechanisms.written import PROGRAMS

from openmodelatlas.annotation.material import Draft, Drafts, Material
from openmodelatlas.annotation.mechanisms.attach import attach
from openmodelatlas.annotation.mechanisms.find import Findings
from openmodelatlas.annotation.mechanisms.plausible import Plausible
from openmodelatlas.catalogue.load import load

CATALOGUE = load()


def annotated(program: str | Material) -> tuple[Drafts, Findings]:
    made = material(program) if isinstance(program, str) else program
    drafts = Drafts(nodes={address: Draft() for address in made.document.nodes})
    return drafts, attach(made, drafts, CATALOGUE)


@pytest.mark.parametrize("identifier", PROGRAMS)
def test_the_mechanism_is_found_at_the_last_result(identifier: str) -> None:
    _, findings = annotated(PROGRAMS[identifier])
    places = findings.places[identifier]
    assert len(places) == 1
    assert places[0].error is not None
    assert places[0].error < 1e-6
    assert not findings.differing


def test_the_module_is_the_mechanism_and_says_so() -> None:
    drafts, _ = annotated(PROGRAMS["rms-norm"])
    block = drafts.nodes["block"]
    assert block.mechanism == "rms-norm"
    assert block.family == "norm"
    assert block.title == "RMSNorm"
    (formula,) = block.formulas
    assert formula.check.verdict == "checked"
    terms = {term.id: term for term in formula.terms}
    assert terms["rms-norm-g"].addresses == ("g",)
    assert terms["rms-norm-x"].addresses == ("x",)
    assert terms["rms-norm-y"].addresses == ("block/y/output-y",)
    (line,) = terms["rms-norm-eps"].lines
    assert (line.first, line.column) == (5, 10)
    assert set(re.findall(r"light=([a-z-]+)", formula.latex)) == set(terms)


def test_notes_tell_the_number_and_cite_its_line() -> None:
    drafts, _ = annotated(PROGRAMS["rms-norm"])
    (note,) = [said for said in drafts.nodes["block"].explanation if "inside the root" in said.text]
    assert note.text.startswith(r"$\varepsilon$: 0.25 is added")
    assert [line.first for line in note.lines] == [5]


def test_a_note_about_a_symbol_that_is_not_bound_is_left_out() -> None:
    drafts, _ = annotated(PROGRAMS["rms-norm"])
    assert not any("counts from zero" in said.text for said in drafts.nodes["block"].explanation)


def test_roles_give_the_symbols_where_they_can() -> None:
    made = material(PROGRAMS["rms-norm"])
    drafts = Drafts(nodes={address: Draft() for address in made.document.nodes}, tensor_symbols={"x": "h_n"})
    attach(made, drafts, CATALOGUE)
    assert r"\htmlData{light=rms-norm-x}{h_n}" in drafts.nodes["block"].formulas[0].latex


def test_two_symbols_never_look_alike() -> None:
    made = material(PROGRAMS["rms-norm"])
    drafts = Drafts(nodes={address: Draft() for address in made.document.nodes}, tensor_symbols={"x": r"\gamma"})
    attach(made, drafts, CATALOGUE)
    latex = drafts.nodes["block"].formulas[0].latex
    assert r"\htmlData{light=rms-norm-x}{\gamma}" in latex
    assert r"\htmlData{light=rms-norm-g}{{\gamma}'}" in latex


def test_no_symbol_looks_like_another_tensor_of_the_page() -> None:
    made = material(PROGRAMS["rms-norm"])
    drafts = Drafts(nodes={address: Draft() for address in made.document.nodes})
    drafts.nodes["block"].symbols["another"] = "x"
    attach(made, drafts, CATALOGUE)
    assert r"\htmlData{light=rms-norm-x}{{x}'}" in drafts.nodes["block"].formulas[0].latex


def test_only_the_letters_that_collide_are_the_entrys_own() -> None:
    """``g`` keeps the letter that a role gave it, though ``eps`` cannot have its own."""
    made = material(PROGRAMS["rms-norm"])
    symbols = {"g": "w", "x": r"\varepsilon"}
    drafts = Drafts(nodes={address: Draft() for address in made.document.nodes}, tensor_symbols=symbols)
    attach(made, drafts, CATALOGUE)
    latex = drafts.nodes["block"].formulas[0].latex
    assert r"\htmlData{light=rms-norm-x}{\varepsilon}" in latex
    assert r"\htmlData{light=rms-norm-eps}{{\varepsilon}'}" in latex
    assert r"\htmlData{light=rms-norm-g}{w}" in latex


@pytest.mark.parametrize(
    ("identifier", "change"),
    [
        ("rms-norm", ("mean(squares", "sum(squares")),
        ("rms-norm", ("roots = rsqrt(shifted)", "roots = rsqrt(means)")),
        ("rms-norm", ("pow(x, 2)", "pow(x, 3)")),
        ("rotary-halves", ("left = sub(p, q)", "left = add(p, q)")),
        ("rotary-halves", ("t = mul(first, b)", "t = mul(second, b)")),
        ("scaled-dot-product-attention", ("softmax(masked, dim=-1)", "softmax(masked, dim=-2)")),
        ("scaled-dot-product-attention", ("masked = add(scores, mask)", "masked = mul(scores, mask)")),
        ("swiglu", ("active = silu(gate)", "active = sigmoid(gate)")),
        ("swiglu", ("both = mul(active, up)", "both = mul(gate, up)")),
        ("residual-addition", ("y = add(x, u)", "y = sub(x, u)")),
        ("residual-addition", ("y = add(x, u)", "y = add(u, u)")),
        ("logit-soft-cap", ("y = mul(bent, 0.75)", "y = mul(bent, 0.5)")),
        ("geglu", ("approximate='tanh'", "approximate='none'")),
    ],
)
def test_other_code_is_another_thing(identifier: str, change: tuple[str, str]) -> None:
    assert change[0] in PROGRAMS[identifier]
    _, findings = annotated(PROGRAMS[identifier].replace(*change))
    found = findings.places[identifier]
    if identifier == "geglu":  # the exact function is GeGLU too, by another pattern
        assert "tanh" not in found[0].fit.bound
    else:
        assert not found


def test_numbers_that_differ_are_reported_and_not_attached() -> None:
    drafts, findings = annotated(PROGRAMS["rms-norm"].replace("mean(squares, -1,", "mean(squares, -2,"))
    assert not findings.places["rms-norm"]
    block = drafts.nodes["block"]
    assert block.mechanism is None
    (difference,) = [one for one in block.differences if one.mechanism == "rms-norm"]
    assert re.search(r"`block/\w+/output-\w+` differs by \d\.\de[+-]\d\d of its largest value", difference.text)
    assert difference.lines


def test_a_value_that_is_missing_is_told() -> None:
    made = material(PROGRAMS["rms-norm"])
    code = made.code
    assert isinstance(code, ProgramCode)
    fact = made.document.inputs["x"]
    del code.arrays[str(fact.value)]
    drafts, _ = annotated(made)
    (formula,) = drafts.nodes["block"].formulas
    assert formula.check.verdict == "not checked"
    assert "`x`: it was not recorded" in formula.check.detail
    assert formula.check.missing


def test_pairs_and_halves_are_told_apart_by_numbers() -> None:
    _, halves = annotated(PROGRAMS["rotary-halves"])
    assert not halves.places["rotary-pairs"]
    _, pairs = annotated(PROGRAMS["rotary-pairs"])
    assert not pairs.places["rotary-halves"]


def test_as_many_key_heads_as_query_heads_are_no_groups() -> None:
    _, findings = annotated(PROGRAMS["scaled-dot-product-attention"])
    assert not findings.places["grouped-query-attention"]
    assert not findings.differing


def test_a_mechanism_that_another_builds_on_is_named_without_its_formula() -> None:
    drafts, _ = annotated(PROGRAMS["tied-head"])
    head = drafts.nodes["block/y"]
    assert (head.mechanism, head.mechanisms) == ("tied-head", ["head"])


@pytest.mark.parametrize(
    ("arguments", "bound"),
    [
        ("attn_mask=mask, scale=0.25", {"mask", "scale"}),
        ("attn_mask=mask", {"mask"}),
        ("is_causal=True", {"causal"}),
        ("is_causal=True, scale=0.25", {"causal", "scale"}),
    ],
)
def test_torch_has_a_function_for_attention(arguments: str, bound: set[str]) -> None:
    _, findings = annotated(
        f"""
        q = given(2, 6, 5, 4)
        k = given(2, 6, 7, 4)
        v = given(2, 6, 7, 3)
        mask = given(5, 7)
        y = scaled_dot_product_attention(q, k, v, {arguments})
        """
    )
    (place,) = findings.places["scaled-dot-product-attention"]
    assert place.error is not None
    assert bound <= place.fit.bound.keys()


@pytest.mark.parametrize(
    ("identifier", "program"),
    [
        (
            "gated-rms-norm",
            """
            x = given(2, 5, 3, 7)
            gate = given(2, 5, 3, 7)
            g = parameter(7)
            y = rms_norm_gated(x, gate, g, None, 'sigmoid', None, False, False, 0.25)
            """,
        ),
        (
            "short-convolution",
            """
            x = given(2, 9, 7)
            w = parameter(7, 1, 4)
            y, window = ShortConvolution(x, w, None, 'silu', residual=None, output_final_state=True)
            """,
        ),
        (
            "kimi-delta-attention",
            """
            q = given(2, 9, 3, 4)
            k = given(2, 9, 3, 4)
            v = given(2, 9, 3, 5)
            g = given(2, 9, 3, 4)
            b = given(2, 9, 3)
            a = parameter(3)
            bias = parameter(12)
            y, s = chunk_kda(q=q, k=k, v=v, g=g, beta=b, A_log=a, dt_bias=bias, initial_state=None,
            """
            "output_final_state=True, use_qk_l2norm_in_kernel=True, use_gate_in_kernel=True)",
        ),
    ],
)
def test_kernels_are_recognised_by_their_names(identifier: str, program: str) -> None:
    joined = re.sub(r"initial_state=None,\s+", "initial_state=None, ", program)
    _, findings = annotated(joined)
    (place,) = findings.places[identifier]
    assert place.error is not None
    assert place.error < 1e-5


def test_dropout_and_views_are_passed_over() -> None:
    program = PROGRAMS["swiglu"].replace(
        "y = linear(both, wd)",
        "dropped = dropout(both, 0.5, False)\nviewed = view(dropped, 2, 5, 9)\ny = linear(viewed, wd)",
    )
    _, findings = annotated(program)
    assert len(findings.places["swiglu"]) == 1


_COMMUTING = re.compile(r"\b(?P<name>mul|add)\((?P<first>[a-z]\w*), (?P<second>[a-z]\w*)\)")


@given(st.sampled_from(sorted(PROGRAMS)), st.integers())
def test_the_order_of_operands_that_commute_does_not_matter(identifier: str, seed: int) -> None:
    chance = random.Random(seed)

    def turn(match: re.Match[str]) -> str:
        first, second = match["first"], match["second"]
        return f"{match['name']}({second}, {first})" if chance.random() < 0.5 else match[0]

    _, findings = annotated(_COMMUTING.sub(turn, PROGRAMS[identifier]))
    assert len(findings.places[identifier]) == 1


def test_what_is_not_tried_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {identifier: annotated(program)[1] for identifier, program in PROGRAMS.items()}
    monkeypatch.setattr(Plausible, "__call__", lambda *_: True)
    monkeypatch.setattr(Plausible, "anywhere", lambda *_: True)
    thorough = {identifier: annotated(program)[1] for identifier, program in PROGRAMS.items()}

    assert quick == thorough
