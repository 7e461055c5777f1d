"""Names: words, slugs, ranges; addresses are unique and of one pattern."""

from __future__ import annotations

import re

import hypothesis.strategies as st
import pytest
from hypothesis import given

from openmodelatlas.graph import naming
from openmodelatlas.graph.invariants import INVARIANTS

from .specimens import MODELS, specimen

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@given(st.text(max_size=60))
def test_every_text_has_a_slug_of_one_pattern(text):
    assert SLUG.fullmatch(naming.slug(text))


@given(st.text(max_size=60))
def test_slugs_are_stable(text):
    assert naming.slug(naming.slug(text)) == naming.slug(text)


@given(st.lists(st.sampled_from(["a", "a-2", "b", "a-3", "step"]), max_size=12))
def test_unique_never_repeats(segments):
    taken: set[str] = set()
    made = [naming.unique(segment, taken) for segment in segments]
    assert len(set(made)) == len(made)
    assert set(made) == taken
    assert all(SLUG.fullmatch(segment) for segment in made)


@given(st.sets(st.integers(1, 200)))
def test_ranges_say_exactly_their_numbers(numbers):
    found: set[int] = set()
    for part in filter(None, naming.member_ranges(numbers).split(", ")):
        first, _, last = part.partition("–")
        found |= set(range(int(first), int(last or first) + 1))
    assert found == numbers


@given(st.text(alphabet="abcXYZ09_.", max_size=20))
def test_words_of_a_class_lose_no_letter(name):
    words = "".join(naming.class_words(name))
    assert words == re.sub(r"[^A-Za-z0-9]", "", name.rpartition(".")[2])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("KimiMLAAttention", ["Kimi", "MLA", "Attention"]),
        ("DeepseekV3RMSNorm", ["Deepseek", "V", "3", "RMS", "Norm"]),
        ("torch.nn.Linear", ["Linear"]),
        ("GPT2MLP", ["GPT", "2", "MLP"]),
    ],
)
def test_class_words(name, words):
    assert naming.class_words(name) == words


def test_family_names_are_left_out():
    assert naming.without_family("DeepseekV3Attention", "DeepseekV3ForCausalLM") == ["Attention"]
    assert naming.without_family("Attention", "Model") == ["Attention"]
    assert naming.without_family("DeepseekV3", "DeepseekV3") == ["3"]


@pytest.mark.parametrize(
    ("function", "word", "plumbing"),
    [
        ("torch.Tensor.__add__", "add", False),
        ("torch.Tensor.__getitem__", "select", False),
        ("torch.nn.functional.softmax", "softmax", False),
        ("torch.Tensor.mT.__get__", "mT", True),
        ("torch.Tensor.view", "view", True),
        ("torch.Tensor.to", "to", True),
        ("torch.Tensor.masked_fill_", "masked fill", False),
    ],
)
def test_words_of_operations(function, word, plumbing):
    assert naming.operation_word(function) == word
    assert naming.is_plumbing(function) is plumbing


def test_plumbing_of_properties():
    assert naming.is_plumbing("torch.Tensor.T.__get__")


def test_counts_and_spoken_names():
    assert naming.count_phrase(1, "dense block") == "1 dense block"
    assert naming.count_phrase(60, "MoE block") == "60 MoE blocks"
    assert naming.spoken("q_a_proj") == "Q a proj"
    assert naming.spoken("") == ""


def test_kinds_from_a_list_in_the_configuration():
    configuration = {"layer_types": ["full", "linear", "full"], "other": [1, 2, 3]}
    assert naming.configured_kinds(configuration, [[1, 3], [2]]) == ["full", "linear"]
    assert naming.configured_kinds({"text": configuration}, [[1, 3], [2]]) == ["full", "linear"]
    assert naming.configured_kinds(configuration, [[1], [2, 3]]) is None
    assert naming.configured_kinds(configuration, [[1, 2, 3]]) is None
    assert naming.configured_kinds(configuration, [[1, 3], [2], [4]]) is None


@pytest.mark.parametrize("name", sorted(MODELS))
def test_addresses_are_paths_from_the_model_and_unique(name):
    document = specimen(name).document
    assert list(INVARIANTS["addresses are readable and unique"](document)) == []
    for address, node in document.nodes.items():
        assert all(SLUG.fullmatch(segment) for segment in address.split("/") if address)
        if address and node.parent:
            assert address.startswith(f"{node.parent}/")
        assert node.title
        assert node.label


def test_variants_have_names_of_their_own():
    for name in ("alternating", "listed", "branches", "three-to-one"):
        built = specimen(name)
        labels = [built.nodes[c].label for c in built.nodes["layers"].children]
        assert len(set(labels)) == len(labels), labels


@pytest.mark.parametrize(
    ("class_name", "said"),
    [
        ("DeepseekV3MoE", True),
        ("Qwen3MoeSparseMoeBlock", True),
        ("module.MixtureOfExperts", True),
        ("LatentMixtureOfExperts", True),
        ("MOEExpertMixture", True),
        ("mixture_of_experts", True),
        ("MixtureOfDepths", False),
        ("Experts", False),
        ("Smoed", False),
        ("MLP", False),
    ],
)
def test_a_class_that_says_mixture_of_experts(class_name: str, said: bool) -> None:
    assert naming.is_mixture(class_name) == said


def test_the_dense_layers_and_the_mixtures_are_told_apart():
    built = specimen("stacked")
    assert [built.nodes[child].address for child in built.nodes["layers"].children] == [
        "layers/first",
        "layers/stacked-experts",
    ]
