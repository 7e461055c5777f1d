"""Roles come from structure: other names change none of them, another structure does."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.graph import driver
from tests.graph.specimens import specimen

from openmodelatlas.annotation.material import Draft, Drafts, Material
from openmodelatlas.annotation.roles import step
from openmodelatlas.graph.document import Document

from .renaming import SOURCE, changed, load, renamed

TOKENS = {"Transformer"}


class NoCode:
    """Roles read neither values nor code."""

    def value(self, key: str) -> None:
        raise AssertionError(key)

    def lines_of(self, file: str) -> list[str]:
        raise AssertionError(file)


def annotated(document: Document) -> Drafts:
    drafts = Drafts(nodes={address: Draft() for address in document.nodes})
    step(Material(document=document, code=NoCode()), drafts)
    return drafts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("models")
    before, driver.CORPUS = driver.CORPUS, path
    yield path
    driver.CORPUS = before


Roles = tuple[Document, Drafts]


def found(folder: Path, text: str, module: str, model: str, original: str) -> Roles:
    make = getattr(load(text, folder, module), model)
    document = driver.build(make, tokens=original in TOKENS).document
    return document, annotated(document)


@functools.cache
def source() -> str:
    return SOURCE.read_text()


@pytest.fixture(scope="module")
def transformer(folder: Path) -> Roles:
    return found(folder, source(), "transformer", "Transformer", "Transformer")


@pytest.fixture(scope="module")
def recurrent(folder: Path) -> Roles:
    return found(folder, source(), "recurrent", "Recurrent", "Recurrent")


@pytest.fixture(scope="module")
def depth(folder: Path) -> Roles:
    return found(folder, source(), "depth", "Depth", "Depth")


@pytest.fixture(scope="module")
def latents(folder: Path) -> Roles:
    return found(folder, source(), "latents", "Latents", "Latents")


def titles(roles: Roles, inside: str = "") -> list[str]:
    document, drafts = roles
    return [
        drafts.nodes[address].title or ""
        for address, node in document.nodes.items()
        if node.kind != "tensor" and address.startswith(inside)
    ]


def signature(roles: Roles) -> list[tuple[str, str | None, str | None]]:
    document, drafts = roles
    return [
        (node.kind, drafts.nodes[address].role, drafts.nodes[address].family)
        for address, node in document.nodes.items()
    ]


def test_every_node_has_title_sentence_and_role(transformer: Roles, recurrent: Roles, depth: Roles) -> None:
    for document, drafts in (transformer, recurrent, depth):
        for address, node in document.nodes.items():
            draft = drafts.nodes[address]
            assert draft.sentence, address
            assert draft.role, (address, draft.title)
            assert draft.title or node.kind in ("model", "phase", "layer group"), address


@pytest.mark.parametrize(
    "title",
    [
        "Token embedding",
        "Rotary angles",
        "Cosines of the angles",
        "RMSNorm before attention",
        "RMSNorm before the feed-forward network",
        "Final RMSNorm",
        "Query projection",
        "Key projection",
        "Value projection",
        "Output gate projection",
        "Output projection",
        "Split the queries into heads",
        "Move heads before positions of the queries",
        "Rotate the queries",
        "Rotate the keys",
        "Scores",
        "Scale the scores",
        "Add the mask",
        "Mask to add",
        "Softmax over the keys",
        "Mix the values",
        "Gate the output",
        "Add attention update",
        "Gated feed-forward network",
        "Gate projection",
        "Activate the gate",
        "Up projection",
        "Gate the up features",
        "Down projection",
        "Add feed-forward update",
        "Mixture of experts",
        "Router",
        "Router logits",
        "Router scores",
        "Add the correction bias",
        "Keep the best 8 of 64 experts",
        "Weights of the chosen experts",
        "Normalise the expert weights",
        "Scale the expert weights",
        "Each expert with tokens",
        "Find the tokens of this expert",
        "Dispatch tokens to this expert",
        "Expert",
        "Weigh the expert output",
        "Combine the expert outputs",
        "Shared experts",
        "Add the shared experts",
        "Logits",
    ],
)
def test_transformer(transformer: Roles, title: str) -> None:
    assert title in titles(transformer)


@pytest.mark.parametrize(
    "title",
    [
        "Delta-rule attention",
        "Query projection",
        "Key projection",
        "Value projection",
        "Write strength projection",
        "Decay the state",
        "Recall the values",
        "Value errors",
        "Scale the value errors",
        "Write to the state",
        "Update the state",
        "Read the state",
        "Empty state",
        "Add attention update",
    ],
)
def test_delta_rule(recurrent: Roles, title: str) -> None:
    assert title in titles(recurrent)


@pytest.mark.parametrize(
    "title",
    [
        "Latent attention",
        "Query latent projection",
        "RMSNorm of the query latent",
        "Query projection",
        "Key-value latent and shared key projection",
        "RMSNorm of the key-value latent",
        "Key and value projection",
        "Split the keys and values",
        "Join the parts of the keys",
        "RMSNorm of the attention output",
        "Add attention update",
    ],
)
def test_latent_attention(latents: Roles, title: str) -> None:
    assert title in titles(latents)


def test_symbols_of_the_residual_stream(transformer: Roles) -> None:
    document, drafts = transformer
    for address, node in document.nodes.items():
        title = drafts.nodes[address].title
        if title not in ("Add attention update", "Add feed-forward update"):
            continue
        own = drafts.nodes[address].symbols
        stream, update = (own.get(p.tensor) or drafts.tensor_symbols[p.tensor] for p in node.inputs)
        result = drafts.tensor_symbols[node.outputs[0].tensor]
        if title == "Add attention update":
            assert (result, stream, update) == ("r_n", "x_n", r"\Delta_{\mathrm{attn}}")
        else:
            assert (result, stream, update) == ("x_{n+1}", "r_n", r"\Delta_{\mathrm{mlp}}")


def test_block_output(transformer: Roles) -> None:
    document, drafts = transformer
    outputs = [a for a, n in document.nodes.items() if n.kind == "tensor" and drafts.nodes[a].title == "Block output"]
    assert len(outputs) == 2
    for address in outputs:
        assert drafts.nodes[address].sentence == "The residual features after both mechanism updates."
        assert drafts.tensor_symbols[address] == "x_{n+1}"


def test_a_branch_is_what_its_statement_is_in_other_layers(depth: Roles) -> None:
    document, drafts = depth
    branches = [node for node in document.nodes.values() if node.kind == "branch"]
    added = [node for node in branches if drafts.nodes[node.address].title == "Add attention update"]
    passed = [node for node in added if not any("add" in child for child in node.children)]
    assert passed
    assert len(passed) < len(added)
    for node in passed:
        (formula,) = drafts.nodes[node.address].formulas
        assert [term.latex for term in formula.terms] == ["s'_n", r"\bar{s}_n", r"\Delta_{\mathrm{attn}}"]
        assert formula.check.error is None  # nothing is evaluated: the result is the tensor that comes in
    assert "Store the running sum" in titles(depth)
    assert any(title.startswith("Mix the stored sums") for title in titles(depth))


@pytest.mark.parametrize("model", ["Transformer", "Recurrent", "Depth", "Latents"])
def test_other_names_change_no_role(folder: Path, model: str, request: pytest.FixtureRequest) -> None:
    original: Roles = request.getfixturevalue(model.lower())
    text, table = renamed(source(), seed=len(model))
    other = found(folder, text, f"renamed_{model.lower()}", table[model], model)
    assert signature(other) == signature(original)


MUTATIONS = [
    ("Transformer", "torch.softmax(match + hidden, dim=-1)", "torch.relu(match + hidden)", "Softmax over the keys"),
    ("Transformer", "torch.softmax(match + hidden, dim=-1)", "torch.relu(match + hidden)", "Mix the values"),
    (
        "Transformer",
        "stream + self.mix(self.before(stream)",
        "0.5 * self.mix(self.before(stream)",
        "Add attention update",
    ),
    ("Transformer", "wide.pow(2).mean", "wide.pow(3).mean", "Average the squares"),
    ("Transformer", "wide * torch.rsqrt(", "wide + torch.rsqrt(", "Apply the gain"),
    ("Transformer", "worth.gather(1, picked)", "nudged.gather(1, picked)", "Add the correction bias"),
    ("Transformer", "torch.nn.functional.silu(self.first(features))", "self.first(features)", "Gate the up features"),
    ("Transformer", "swap_halves(features) * table[1]", "swap_halves(features)", "Rotate the queries"),
    (
        "Transformer",
        "total.view(features.shape) + self.common(features)",
        "total.view(features.shape)",
        "Shared experts",
    ),
    ("Transformer", "* torch.sigmoid(self.valve(features))", "", "Gate the output"),
    ("Recurrent", "(carried[:, :, place] - known)", "(carried[:, :, place] + known)", "Value errors"),
    ("Recurrent", "memory * faded[:, :, place].exp().unsqueeze(-1)", "memory", "Decay the state"),
    (
        "Depth",
        "torch.matmul(shares.unsqueeze(2), every)",
        "torch.matmul(shares.unsqueeze(2), every * 2)",
        "Mix the sums",
    ),
]


@pytest.mark.parametrize(("model", "old", "new", "lost"), MUTATIONS)
def test_another_structure_loses_the_role(
    folder: Path, request: pytest.FixtureRequest, model: str, old: str, new: str, lost: str
) -> None:
    assert lost in titles(request.getfixturevalue(model.lower()))
    text = changed(source(), old, new)
    other = found(folder, text, f"changed_{MUTATIONS.index((model, old, new, lost))}", model, model)
    assert lost not in titles(other)


def test_siblings_have_titles_of_their_own(transformer: Roles, recurrent: Roles, depth: Roles) -> None:
    for document, drafts in (transformer, recurrent, depth):
        for node in document.nodes.values():
            for tensors in (False, True):
                own = [
                    drafts.nodes[child].title
                    for child in node.children
                    if drafts.nodes[child].title and (document.nodes[child].kind == "tensor") == tensors
                ]
                assert len(own) == len(set(own)), node.address


def test_a_model_of_transformers(tmp_path: Path) -> None:
    """Qwen3 of the installed package: its attention in plain operations, with grouped queries and a rotary table."""
    transformers = pytest.importorskip("transformers")

    def make(sizes: dict[str, int]) -> object:
        configuration = transformers.Qwen3Config(
            hidden_size=sizes["hidden_size"],
            intermediate_size=sizes["intermediate_size"],
            vocab_size=sizes["vocab_size"],
            num_hidden_layers=3,
            num_attention_heads=2 * sizes["num_heads"],
            num_key_value_heads=sizes["num_heads"],
            head_dim=sizes["head_dim"],
            attn_implementation="eager",
            use_cache=False,
        )
        return transformers.Qwen3ForCausalLM(configuration)

    before, driver.CORPUS = driver.CORPUS, Path(transformers.__file__).parent
    try:
        document = driver.build(make, tokens=True).document  # type: ignore[arg-type]
    finally:
        driver.CORPUS = before
    roles = document, annotated(document)
    have = titles(roles)
    for title in (
        "Causal mask",
        "Rotary table",
        "RMSNorm before attention",
        "Rotate the queries and the keys",
        "RMSNorm of the queries",
        "Share the keys among the query heads",
        "Attention core",
        "Add attention update",
        "Gated feed-forward network",
        "Add feed-forward update",
        "Logits",
    ):
        assert title in have
    drafts = roles[1]
    assert all(draft.role for draft in drafts.nodes.values())


def test_a_decode_step_has_the_roles_of_the_prefill() -> None:
    document = specimen("cached").document
    drafts = annotated(document)
    twins = [
        address
        for address, node in document.nodes.items()
        if address.startswith("decode/") and address.removeprefix("decode/") in document.nodes and node.kind != "tensor"
    ]
    assert len(twins) > 10
    for address in twins:
        assert drafts.nodes[address].role == drafts.nodes[address.removeprefix("decode/")].role, address


def test_plain_attention_with_a_cache() -> None:
    """One projection for queries, keys and values; keys and values are appended in the decode step."""
    document = specimen("cached").document
    have = titles((document, annotated(document)))
    assert "Query, key and value projection" in have
    assert "Append the keys to the cache" in have
    assert "Append the values to the cache" in have
