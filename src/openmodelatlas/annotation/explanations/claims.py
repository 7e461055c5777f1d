"""Claims: one sentence about a piece of code that its recording makes true, with the lines and their hash."""

from __future__ import annotations

import re

from openmodelatlas.annotation.explanations.citing import Citing
from openmodelatlas.annotation.explanations.code import Syntax
from openmodelatlas.annotation.explanations.sentences import Sentences
from openmodelatlas.annotation.explanations.titles import Titles
from openmodelatlas.annotation.explanations.verbs import is_imperative
from openmodelatlas.annotation.knowledge import Claim
from openmodelatlas.annotation.material import Drafts, Material
from openmodelatlas.capture.text import sha256_of_lines
from openmodelatlas.graph.document import Lines, Node

_DEEPEST = 60


class Claims:
    """Writes the claims of every node whose code is cited."""

    def __init__(self, material: Material, drafts: Drafts, syntax: Syntax) -> None:
        self._document = material.document
        self._nodes = material.document.nodes
        self._code = material.code
        self._drafts = drafts
        self._syntax = syntax
        self._titles = Titles(material.document, drafts)
        self._sentences = Sentences(material, drafts, syntax)
        self._citing = Citing(material, syntax)
        self._hashes: dict[tuple[str, int, int], str] = {}
        self._texts: dict[tuple[str, bool], str] = {}

    def claims(self, node: Node) -> list[Claim]:
        """What the lines of ``node.code`` prove of it, then what its context proves; none if no lines are cited."""
        own = self._own(node)
        if own is None:
            return []
        norm = self._norm_before(node) if self._drafts.nodes[node.address].role == "residual addition" else None
        context = self._own(norm) if norm is not None and not _is_torch(norm) else None
        if norm is None or context is None:
            return [own]
        return [
            own,
            Claim(id=context.id, text=context.text, lines=context.lines, sha256=context.sha256, of=norm.address),
        ]

    def sha256(self, lines: Lines) -> str:
        """Of whole lines in UTF-8, each ended by a line feed."""
        key = (lines.file, lines.first, lines.last)
        if key not in self._hashes:
            self._hashes[key] = sha256_of_lines(self._code.lines_of(lines.file), lines.first, lines.last)
        return self._hashes[key]

    def _own(self, node: Node) -> Claim | None:
        code = node.code
        if code is None or code.file not in self._document.files or node.kind == "tensor":
            return None
        owner = self._owner(node)
        lines = self._citing.lines(node)
        return Claim(id=self._id(owner, code), text=self._text(node, owner), lines=lines, sha256=self.sha256(lines))

    def _text(self, node: Node, owner: Node) -> str:
        if node.kind in ("operation", "kernel") or (node.kind == "module" and owner is not node):
            return self._sentences.of_step(node, self._code_name(node.code, owner))
        if node.kind == "loop":
            return self._sentences.of_loop(node)
        if node.kind == "layer group" and owner is not node:
            return self._sentences.of_layers(node)
        whole = node.code is not None and self._syntax.class_of(node.code) is not None
        key = owner.address, whole
        if key not in self._texts:
            self._texts[key] = self._sentences.of_code(owner, whole=whole)
        return self._texts[key]

    def _owner(self, node: Node) -> Node:
        """The module, function or layer group that the lines are the code of: what the sentence is about."""
        current = node
        # A module of PyTorch's own has no code in the atlas: the lines are of what runs it.
        if _is_torch(current) and current.parent is not None:
            current = self._nodes[current.parent]
        while current.kind in ("operation", "kernel", "branch", "loop") and current.parent is not None:
            current = self._nodes[current.parent]
        # The loop over layers stands in the code of what encloses it.
        while current.kind == "layer group" and current.class_name is None and current.parent is not None:
            current = self._nodes[current.parent]
        return current

    def _norm_before(self, addition: Node) -> Node | None:
        """The norm whose output the update was computed from; additions that compute nothing here have none."""
        if addition.kind != "operation" or addition.parent is None:
            return None
        beside = [self._nodes[address] for address in self._nodes[addition.parent].children]
        waiting = [port.tensor for port in addition.inputs]
        seen: set[str] = set()
        for tensor in waiting:  # grows while it is walked
            maker = self._beside(tensor, addition.parent)
            if maker is None or maker.address in seen or len(seen) > _DEEPEST:
                continue
            seen.add(maker.address)
            role = self._drafts.nodes[maker.address].role
            if (role or "").endswith("norm") and maker.kind == "module" and maker in beside:
                return maker
            if role != "residual addition":
                waiting += [port.tensor for port in maker.inputs]
        return None

    def _beside(self, tensor: str, parent: str) -> Node | None:
        """The node directly inside ``parent`` that makes a tensor."""
        fact = self._nodes[tensor].tensor if tensor in self._nodes else None
        current = self._nodes.get(fact.producer or "") if fact is not None else None
        while current is not None and current.parent != parent:
            current = self._nodes[current.parent] if current.parent is not None else None
        return current

    def _id(self, owner: Node, code: Lines) -> str:
        """``block`` or ``rmsnorm`` for a class, ``block-forward`` for the function in which it runs."""
        if owner.kind == "function":
            return _slug(owner.function or owner.title)
        if owner.kind == "layer group":
            base = "block"
        elif owner.kind == "model":
            base = "model"
        else:
            title = self._titles.base(owner)
            base = _slug(owner.class_name or title if is_imperative(title) else title)
        return base if self._syntax.class_of(code) is not None else f"{base}-forward"

    def _code_name(self, code: Lines | None, owner: Node) -> str:
        name = self._syntax.name_at(code.file, code.first) if code is not None else None
        return name or owner.class_name or owner.function or owner.title


def _is_torch(node: Node) -> bool:
    return node.kind == "module" and (node.class_name or "").startswith("torch.")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "-", text).lower()).strip("-")
