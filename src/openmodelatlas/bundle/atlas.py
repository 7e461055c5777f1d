"""The atlas as one opens it in Python: read-only, typed, with nothing heavy loaded."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.bundle.canonical import decode_drawings, decode_knowledge
from openmodelatlas.bundle.manifest import Manifest, read_checked
from openmodelatlas.bundle.references import check_drawings, check_knowledge
from openmodelatlas.bundle.resolve import close_matches, resolve
from openmodelatlas.bundle.tensors import TensorFile, TensorValue
from openmodelatlas.capture.text import lines_of
from openmodelatlas.drawing.drawing import Drawings
from openmodelatlas.errors import BundleError, UsageError
from openmodelatlas.graph.document import Document, Lines, Node


class Atlas:
    """One model's atlas.

    Iterating gives its nodes in order of execution, the model first. ``atlas["layers/dense/self-attn"]``,
    ``atlas["model.layers.0.self_attn"]``, ``atlas["layers.0.self_attn"]`` and a parameter's name give a node.

    Attributes:
        document: everything the atlas says, as data.
        folder: the bundle's folder.
        manifest: the bundle's files and their hashes.
    """

    def __init__(self, document: Document, *, folder: Path, manifest: Manifest) -> None:
        self.document = document
        self.folder = folder
        self.manifest = manifest
        self._lines: dict[str, list[str]] = {}
        self._values: TensorFile | None = None

    def __repr__(self) -> str:
        return f"<Atlas of {self.document.title}: {len(self)} nodes, {self.root.parameter_count:,} parameters>"

    def __len__(self) -> int:
        return len(self.document.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.document.nodes.values())

    def __contains__(self, item: object) -> bool:
        """Whether a node is one of these, or indexing with a name gives one."""
        if isinstance(item, Node):
            return self.document.nodes.get(item.address) == item
        try:
            return isinstance(item, str) and self[item] is not None
        except UsageError:
            return False

    def __getitem__(self, name: str) -> Node:
        """The node with this address, module name or parameter name; see :func:`openmodelatlas.bundle.resolve.resolve`.

        Raises:
            UsageError: nothing is called that; the message lists what comes close.
        """
        return resolve(self.document, _text(name))

    @cached_property
    def knowledge(self) -> Knowledge:
        """Names, formulas and explanations; read when it is first asked for.

        Raises:
            BundleError: the file is missing, altered or of another format.
        """
        where = str(self.folder / "knowledge.json")
        knowledge = decode_knowledge(read_checked(self.folder, self.manifest, "knowledge.json"), where)
        check_knowledge(knowledge, self.document, where)
        return knowledge

    @cached_property
    def drawings(self) -> Drawings:
        """Diagrams and typeset formulas; read when they are first asked for. Raises as :attr:`knowledge`."""
        where = str(self.folder / "drawings.json")
        drawings = decode_drawings(read_checked(self.folder, self.manifest, "drawings.json"), where)
        check_drawings(drawings, where)
        return drawings

    @property
    def root(self) -> Node:
        """The node of the whole model."""
        return self.document.nodes[""]

    def children(self, node: Node | str) -> tuple[Node, ...]:
        """The nodes directly inside ``node``, in order of execution, tensors last."""
        parent = self[node] if isinstance(node, str) else node
        return tuple(self.document.nodes[address] for address in parent.children)

    def parents(self, node: Node | str) -> tuple[Node, ...]:
        """The nodes around ``node``, the model first; empty for the model."""
        current = self[node] if isinstance(node, str) else node
        found: list[Node] = []
        while current.parent is not None:
            current = self.document.nodes[current.parent]
            found.append(current)
        return tuple(reversed(found))

    def find(self, text: str) -> tuple[Node, ...]:
        """Nodes with ``text`` (in any case) in their address, title, label, symbol, function, class or module name."""
        wanted = _text(text).casefold()
        return tuple(node for node in self if any(wanted in words.casefold() for words in _words(node)))

    def close_matches(self, name: str) -> tuple[str, ...]:
        """Addresses and module names that resemble ``name``, best first."""
        return close_matches(self.document, _text(name))

    def lines_of(self, file: str) -> list[str]:
        """The lines of a cited file (a key of ``document.files``), without line ends.

        Raises:
            BundleError: the file is not cited, or its text is missing or altered.
        """
        lines = self._lines.get(file)
        if lines is None:
            cited = self.document.files.get(file)
            if cited is None:
                raise BundleError(f"The atlas cites {file} without holding it.", where=str(self.folder))
            text = read_checked(self.folder, self.manifest, f"sources/{cited.sha256}.txt")
            lines = lines_of(text.decode("utf-8", errors="replace"))
            self._lines[file] = lines
        return lines

    def text_of(self, lines: Lines) -> str:
        """The text of ``lines``: whole lines, or from its first to its last column where it has columns.

        Raises:
            BundleError: the file does not have these lines, or its text is missing or altered.
        """
        every = self.lines_of(lines.file)
        if not 1 <= lines.first <= lines.last <= len(every):
            raise BundleError(f"{lines.file} has no lines {lines.first}–{lines.last}.", where=str(self.folder))
        chosen = every[lines.first - 1 : lines.last]
        if lines.end_column is not None:
            chosen[-1] = chosen[-1][: lines.end_column]
        if lines.column is not None:
            chosen[0] = chosen[0][lines.column :]
        return "\n".join(chosen)

    def value(self, key: str) -> TensorValue:
        """The probe value with this key (``TensorFact.value``).

        Raises:
            BundleError: there is no such value, or the file of values is missing or altered.
        """
        if self._values is None:
            read_checked(self.folder, self.manifest, "values.safetensors")
            self._values = TensorFile(self.folder / "values.safetensors")
        try:
            return self._values[key]
        except KeyError:
            raise BundleError(f"The atlas has no value {key!r}.", where=str(self.folder)) from None

    def _repr_html_(self) -> str:
        """Title and the uppermost levels, for notebooks."""
        from openmodelatlas.bundle.notebook import summary_html

        try:
            knowledge = self.knowledge
        except BundleError:  # its file is damaged: nodes have the names of the recording
            knowledge = Knowledge()
        return summary_html(self.document, knowledge)


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise UsageError(
            f"An atlas is asked by name, not by {name!a}.",
            advice="Iterate over it for all its nodes.",
        )
    return name


def _words(node: Node) -> Iterator[str]:
    yield node.address
    yield node.title
    yield node.label
    if node.symbol is not None:
        yield node.symbol.text
    for name in (node.function, node.class_name, node.module):
        if name is not None:
            yield name
