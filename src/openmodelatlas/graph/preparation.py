"""What can be done with one recording before the others are there."""

from __future__ import annotations

from collections.abc import Sequence

from openmodelatlas.capture.recording import Recording
from openmodelatlas.graph.syntax import FileSyntax, parsed
from openmodelatlas.graph.tree import Keys, Tree


class Preparation:
    """Trees of recordings, made as they come. What could not be prepared is made when it is needed."""

    def __init__(self) -> None:
        self._keys = Keys()
        self._syntax: dict[str, FileSyntax] = {}
        self._texts: dict[str, str] = {}
        self._trees: dict[int, Tree] = {}

    def add(self, recording: Recording) -> None:
        """Make the tree of ``recording``, and everything of it that will be asked for in any case."""
        self._enter(recording)
        tree = Tree(recording, self._syntax, self._keys)
        for path in tree.paths:
            _ = self._syntax[path].tree
        _ = tree.result_keys, tree.inputs, tree.lines_run
        if recording.probe.role != "true-size":
            _ = tree.loop_signatures
        if not self._trees and recording.probe.role == "solve":  # the first probe's data flow is the document's
            for events in tree.children:
                for event in events:
                    _ = tree.readings[event]
        self._trees[id(recording)] = tree  # which holds the recording, so that its id stays its own

    def _enter(self, recording: Recording) -> None:
        for file in recording.files:
            if file.path not in self._syntax:
                self._note(file.path, file.text)

    def _note(self, path: str, text: str) -> None:
        self._syntax[path] = parsed(text)
        self._texts[path] = text

    def trees(self, recordings: Sequence[Recording]) -> tuple[list[Tree], dict[str, FileSyntax]]:
        """The trees of ``recordings`` in their order, and the parsed files by shown path.

        A file that does not parse has positions, but no nodes. Where recordings disagree about the text of a file, the
        last one's is taken for all, and nothing that was prepared is used.
        """
        texts = {file.path: file.text for recording in recordings for file in recording.files}
        agreed = all(texts[file.path] == file.text for recording in recordings for file in recording.files)
        if not agreed or any(texts.get(path, text) != text for path, text in self._texts.items()):
            self._keys, self._trees, self._texts, self._syntax = Keys(), {}, {}, {}
            for path, text in texts.items():
                self._note(path, text)
        for recording in recordings:
            self._enter(recording)
        made = [self._trees.get(id(recording)) or Tree(recording, self._syntax, self._keys) for recording in recordings]
        return made, self._syntax
