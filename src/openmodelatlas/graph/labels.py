"""Gives every draft its title, label and address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openmodelatlas.capture.recording import Module
from openmodelatlas.graph import naming
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.syntax import FileSyntax, result_names
from openmodelatlas.graph.tree import Tree


@dataclass(frozen=True, slots=True)
class Name:
    """Attributes: title, label (what a breadcrumb says) and address segment."""

    title: str
    label: str
    segment: str


class Labels:
    """Names drafts. ``names`` and ``addresses`` are filled by :meth:`assign`."""

    def __init__(
        self, trees: Sequence[Tree], syntax: Mapping[str, FileSyntax], configuration: Mapping[str, Any]
    ) -> None:
        self._trees = trees
        self._syntax = syntax
        self._configuration = configuration
        self.names: dict[Draft, Name] = {}
        self.addresses: dict[Draft, str] = {}
        self._root_class = ""

    def assign(self, root: Draft, address: str, name: Name) -> None:
        """Names ``root`` as given and everything inside it by rule."""
        module = self.module(root)
        self._root_class = module.class_name if module is not None else ""
        self.names[root] = name
        self.addresses[root] = address
        self._inside(root, reserved={"decode", "output"} if not address else {"output"})

    def _inside(self, draft: Draft, reserved: set[str]) -> None:
        taken = set(reserved)
        group_names = self._group_names(draft)
        for index, child in enumerate(draft.children):
            name = group_names[index] if group_names else self._name(child)
            segment = naming.unique(name.segment, taken)
            self.names[child] = Name(name.title, name.label, segment)
            parent = self.addresses[draft]
            self.addresses[child] = f"{parent}/{segment}" if parent else segment
            self._inside(child, {"output"})

    def _group_names(self, draft: Draft) -> list[Name] | None:
        """Names of the variants of a loop; ``None`` for what is no loop with several variants."""
        if draft.loop is None or draft.variant is not None or draft.loop.merged:
            return None
        if draft.kind == "layer group":
            return self._variant_names(draft)
        return [
            Name(
                f"Rounds {text}" if len(child.rounds) > 1 else f"Round {text}",
                f"round {text}",
                naming.slug(f"round {text}"),
            )
            for child in draft.children
            for text in [naming.member_ranges(child.rounds)]
        ]

    def module(self, draft: Draft) -> Module | None:
        """The module that a draft runs (its representative)."""
        site = draft.site
        if site is None or not site.is_call:
            return None
        recording = self._trees[site.probe].recording
        index = recording.calls[~site.event].module
        return recording.modules[index] if index >= 0 else None

    def module_names(self, draft: Draft) -> list[str]:
        """True names of the modules that a draft's members run; empty for what is no module."""
        names: list[str] = []
        for site in draft.sites:
            if site.is_call:
                recording = self._trees[site.probe].recording
                index = recording.calls[~site.event].module
                if index >= 0:
                    names.append(recording.modules[index].name)
        return names

    def variable(self, draft: Draft) -> list[str | None]:
        """Variables that the value of a draft's expression is bound to."""
        site = draft.expression
        if site is None:
            return []
        place = self._trees[site.probe].place(site.event)
        return result_names(self._syntax[place[0]], place[1:]) if place is not None else []

    def _name(self, draft: Draft) -> Name:
        match draft.kind:
            case "layer group":
                return self._group_name(draft)
            case "loop":
                return self._loop_name(draft)
            case "branch":
                return self._branch_name(draft)
            case "operation":
                return self._operation_name(draft)
            case _:
                return self._call_name(draft)

    def _call_name(self, draft: Draft) -> Name:
        module = self.module(draft)
        if module is not None:
            short = self._short_module_name(module.name)
            words = naming.spoken(short)
            return Name(words, words, naming.slug(short))
        site = draft.site
        call = self._trees[site.probe].recording.calls[~site.event] if site is not None else None
        short = call.name.rpartition(".")[2] if call is not None else "call"
        if short == "forward" and call is not None:
            short = call.name
        words = naming.spoken(short)
        return Name(words, words, naming.slug(short))

    def _short_module_name(self, name: str) -> str:
        parts = [part for part in name.split(".") if part]
        while len(parts) > 1 and parts[-1].isdigit():
            parts.pop()
        return parts[-1] if parts else "model"

    def _operation_name(self, draft: Draft) -> Name:
        site = draft.site
        assert site is not None
        word = naming.operation_word(self._trees[site.probe].operation(site.event).function)
        variables = [name.rpartition(".")[2] for name in self.variable(draft) if name]
        title = naming.capital(word)
        if variables:
            return Name(f"{title}: {', '.join(variables)}", title, naming.slug(f"{word} {variables[0]}"))
        return Name(title, title, naming.slug(word))

    def _branch_name(self, draft: Draft) -> Name:
        assert draft.decision is not None
        condition = draft.decision.condition
        if condition.targets:
            text = ", ".join(condition.targets)
            title = f"{naming.spoken(condition.targets[0])}, if {condition.test}"
            return Name(title, f"Choice of {text}", naming.slug(f"choose {condition.targets[0]}"))
        return Name(f"If {condition.test}", f"if {condition.test}", naming.slug(f"if {condition.test}")[:40].strip("-"))

    def _loop_name(self, draft: Draft) -> Name:
        module = self.module(draft)
        if module is not None:
            return self._call_name(draft)
        loop = draft.loop.members[0].loop if draft.loop is not None else None
        if loop is None:
            return Name("Loop", "loop", "loop")
        target = loop.text.removeprefix("for ").partition(" in ")[0]
        return Name(naming.capital(loop.text), loop.text, naming.slug(f"each {target}")[:40].strip("-"))

    # Layer groups ---------------------------------------------------------------------------------------------

    def _group_name(self, draft: Draft) -> Name:
        variants = draft.children if draft.variant is None else [draft]
        noun = "transformer block" if self._same_attention(variants) else "layer"
        label = naming.count_phrase(sum(len(variant.numbers) for variant in variants), noun)
        first = self._first_module(draft)
        parts = [part for part in first.name.split(".") if part and not part.isdigit()] if first else []
        return Name(label, label, naming.slug(parts[-1]) if parts else "layers")

    def _first_module(self, draft: Draft) -> Module | None:
        for inner in draft.walk():
            module = self.module(inner)
            if module is not None:
                return module
        return None

    def _mixer(self, variant: Draft) -> tuple[str, str] | None:
        """Attribute and class of what mixes tokens in a layer: its attention or, failing that, its first big module."""
        modules = [module for module in map(self.module, self._direct(variant)) if module is not None]
        named = [(module.name.rpartition(".")[2], module.class_name) for module in modules]
        # ``attention_res_proj``, a plain linear map, mixes no tokens, whatever it is called.
        attention = [
            pair
            for pair in named
            if naming.is_attention("" if pair[1].startswith("torch.") else pair[0], pair[1]) and "norm" not in pair[0]
        ]
        if attention:
            return attention[0]
        others = [pair for pair in named if "norm" not in pair[0].lower() and "norm" not in pair[1].lower()]
        return others[0] if others else None

    def _direct(self, draft: Draft) -> list[Draft]:
        """Modules directly inside, conditions looked through."""
        found: list[Draft] = []
        for child in draft.children:
            found.extend(self._direct(child) if child.kind in ("branch", "function") else [child])
        return found

    def _same_attention(self, variants: Sequence[Draft]) -> bool:
        mixers = [self._mixer(variant) for variant in variants]
        kinds = {mixer[1] for mixer in mixers if mixer is not None and naming.is_attention(*mixer)}
        return len(kinds) == 1 and all(mixer is not None and naming.is_attention(*mixer) for mixer in mixers)

    def _is_mixture(self, variant: Draft) -> bool:
        modules = (self.module(draft) for draft in self._direct(variant))
        return any(module is not None and naming.is_mixture(module.class_name) for module in modules)

    def _variant_names(self, group: Draft) -> list[Name]:
        """Names that tell the variants of one loop apart."""
        variants = group.children
        if group.loop is not None and group.loop.members[0].loop is None:
            return self._container_names(variants)
        noun = "block" if self._same_attention(variants) else "layer"
        kinds = self._kinds(variants)
        names: list[Name] = []
        for index, variant in enumerate(variants):
            count = len(variant.numbers)
            if noun == "layer" and variant.numbers == [1] and len(variants) > 1:
                names.append(Name("First layer", "First layer", "first"))
                continue
            words, segment = kinds[index], naming.slug(kinds[index])
            rivals = [i for i, kind in enumerate(kinds) if kind == words and i != index and variants[i].numbers != [1]]
            label = naming.count_phrase(count, f"{words} {noun}".strip())
            if rivals:
                difference = self._difference(group, variant, [variants[i] for i in rivals])
                label = f"{label}, {difference}" if difference else f"{label} ({naming.member_ranges(variant.numbers)})"
                segment = segment if index < min(rivals) else f"{segment}-from-{noun}-{variant.numbers[0]}"
            names.append(Name(label, label, segment))
        return names

    def _container_names(self, variants: Sequence[Draft]) -> list[Name]:
        """Names of what ``nn.Sequential`` and the like hold: the classes."""
        names: list[Name] = []
        for variant in variants:
            module = self._first_module(variant)
            words = module.class_name.rpartition(".")[2] if module is not None else "step"
            count = len(variant.numbers)
            label = words if count == 1 else f"{count} × {words}"
            names.append(Name(label, label, naming.slug(" ".join(naming.class_words(words)) or words)))
        return names

    def _kinds(self, variants: Sequence[Draft]) -> list[str]:
        configured = naming.configured_kinds(self._configuration, [variant.numbers for variant in variants])
        if configured is not None:
            return [word.replace("_", "-").replace("-attention", " attention") for word in configured]
        mixers = [self._mixer(variant) for variant in variants]
        mixtures = [self._is_mixture(variant) for variant in variants]
        several_mixers = len({mixer[1] for mixer in mixers if mixer is not None}) > 1
        several_feeds = len(set(mixtures)) > 1 and not several_mixers
        kinds: list[str] = []
        for mixer, mixture in zip(mixers, mixtures, strict=True):
            words = []
            if several_mixers and mixer is not None:
                words.append(naming.phrase(naming.without_family(mixer[1], self._root_class)))
            if several_feeds:
                words.append("MoE" if mixture else "dense")
            kinds.append(" ".join(words) or "equal")
        return kinds

    def _difference(self, group: Draft, variant: Draft, rivals: Sequence[Draft]) -> str:
        """A condition that this variant's layers take one way and all rivals' the other."""
        for draft in variant.walk():
            for decision in draft.decisions:
                if decision.by != ("round" if variant.rounds else "layer"):
                    continue
                own = {decision.outcome(number) for number in variant.numbers}
                other = {decision.outcome(number) for rival in rivals for number in rival.numbers}
                if len(own) == 1 and not own & other and None not in own:
                    way = "where" if own == {"true"} else "unless"
                    return f"{way} {' '.join(decision.condition.test.split())}"
        return ""
