"""What stands in the boxes of a level, and how large they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.catalogue.entry import Family
from openmodelatlas.drawing.drawing import Run
from openmodelatlas.drawing.fitting import MOST_TITLE, two_lines, within
from openmodelatlas.drawing.flow import Flow
from openmodelatlas.drawing.lettering import latex_runs, text_of, text_runs
from openmodelatlas.drawing.level import Box, Level, Stream
from openmodelatlas.drawing.pieces import BODY, CODE, Line, Piece, line
from openmodelatlas.drawing.shapes import ShapeWriter
from openmodelatlas.graph.document import Document, Node, Port
from openmodelatlas.graph.outcomes import counted
from openmodelatlas.shapes.dimension import Dimension

MOST_NOTE = 240.0
MOST_FORMULA = 210.0
MOST_NAME = 170.0
MOST_SHAPE = 210.0
SIDE = 14.0
"""From the side of a box to its text."""

ABOVE_TEXT = 8.0
OPENER = 15.0
"""Room for the sign of what opens, at the right of the title and, for balance, at its left."""

LEAST_WIDTH = 96.0
ROW_SIDE, ROW_ABOVE, ROW_GAP = 12.0, 4.0, 9.0
"""Within the rows of a stack: from the sides, from above and below, and between name and shape."""

CIRCLE = 24.0
BESIDE_CIRCLE = 10.0
STUB = 26.0
"""From the circle of an addition to where the update comes down."""

STEP_HEIGHT = 19.0
STEP_GAP = 6.0
CLOSER_GAP = 6.0
"""From the steps of opened plumbing to the mark that closes them."""

MARK_WIDTH, MARK_HEIGHT = 24.0, 13.0
LABEL_GAP = 7.0
"""From a line to its label."""


class BoxWriter:
    """Writes the texts of boxes, labels and knots of one atlas."""

    def __init__(self, flow: Flow, knowledge: Knowledge, titles: Mapping[str, str]) -> None:
        self._flow = flow
        self._document: Document = flow.document
        self._knowledge = knowledge.nodes
        self._titles = titles
        self._shapes = ShapeWriter(flow.document.sizes)
        self._alike: dict[tuple[Dimension, ...], Line] = {}

    def title(self, address: str) -> str:
        """Name of a node."""
        return self._titles[address]

    def node(self, address: str) -> Node:
        """The node at ``address``."""
        return self._document.nodes[address]

    def page_of(self, address: str) -> str | None:
        """``address`` if there is a page for it: for nodes and tensors."""
        return address if address in self._document.nodes else None

    def family(self, address: str) -> Family | None:
        """Family of a node, ``None`` if it belongs to none."""
        known = self._knowledge.get(address)
        return None if known is None else known.family

    def shape(self, tensor: str, ports: Sequence[Port] = ()) -> Line | None:
        """Shape of a tensor or parameter in symbols."""
        seen = next((port.shape for port in ports if port.tensor == tensor and port.shape is not None), None)
        dimensions = seen or self._flow.shape(tensor)
        if dimensions is None:
            return None
        alike = self._alike.get(dimensions)
        if alike is None:
            alike = self._alike[dimensions] = self._measured(dimensions)
        return Line(alike.runs, BODY, alike.width, full=alike.full, tensor=tensor, axes=alike.axes)

    def _measured(self, dimensions: tuple[Dimension, ...]) -> Line:
        runs, axes = self._shapes.runs(dimensions)
        symbols = line(runs, BODY, most=MOST_SHAPE)
        width = max(symbols.width, line(self._shapes.numbers(dimensions), BODY, most=MOST_SHAPE).width)
        return Line(symbols.runs, BODY, width, full=symbols.full, axes=axes)

    def shows_shape(self, level: Level, box: Box, tensor: str) -> bool:
        """Whether a box with one output already says the shape of the tensor that leaves it."""
        if box.role != "node":
            return False
        node = self._document.nodes[box.address]
        given = self._given(level, box, node)
        shown = None if given is None else self.shape(given, node.outputs)
        own = self.shape(tensor, node.outputs)
        streams = sum(stream.origin == box.index for stream in level.streams)
        return streams == 1 and shown is not None and own is not None and shown.runs == own.runs

    def symbol(self, page: str, name: str) -> str | None:
        """LaTeX of a tensor as the page of a node has it."""
        known = self._knowledge.get(page)
        return None if known is None else known.symbols.get(name)

    def box(self, level: Level, box: Box) -> Piece:
        """The piece for a box."""
        if box.role == "addition":
            return self._addition(box)
        lines = self._node_lines(level, box) if box.role == "node" else self._terminal_lines(level, box)
        return _stacked(lines, opens=box.role == "node" and self.opens(box.address))

    def opens(self, address: str) -> bool:
        """Whether there is a level below the node at ``address``."""
        nodes = self._document.nodes
        return any(nodes[child].kind != "tensor" for child in nodes[address].children)

    def _addition(self, box: Box) -> Piece:
        title = line(text_runs(_one_line(self.title(box.address))), 12.0, most=150.0)
        axis = title.width + BESIDE_CIRCLE + CIRCLE / 2
        width = axis + CIRCLE / 2 + STUB
        return Piece(width, CIRCLE, {"title": title}, {"title": (CIRCLE - title.height) / 2}, axis)

    def _node_lines(self, level: Level, box: Box) -> dict[str, Line]:
        node = self._document.nodes[box.address]
        lines = dict(two_lines(self._short_title(node, level.node)))
        badge = badge_text(node, level.node)
        if badge is not None:
            lines["badge"] = line([Run(badge)], BODY, bold=True)
        given = self._given(level, box, node)
        formula = self._formula(node, given, self._others(level, box))
        if formula is not None:
            lines["formula"] = formula
        if node.kind == "branch" and node.branches:
            branch = node.branches[0]
            lines["formula"] = line([Run("if "), Run(_one_line(branch.test), "code")], CODE, most=MOST_FORMULA)
            lines["note"] = line([Run(branch_text(node))], BODY, most=MOST_TITLE + 60)
        shape = None if given is None else self.shape(given, node.outputs)
        if shape is not None:
            lines["shape"] = shape
        return lines

    def _given(self, level: Level, box: Box, node: Node) -> str | None:
        """The tensor that a box gives to others on the level; its first output if it gives them nothing.

        Of several it is what goes along the spine, else the first that the node itself names.
        """
        read = _read_on(level, box)
        spine = next((tensor for tensor, is_spine in read.items() if is_spine), None)
        named = [port.tensor for port in node.outputs]
        first = next((tensor for tensor in named if tensor in read), None)
        return spine or first or next(iter([*read, *named]), None)

    def _others(self, level: Level, box: Box) -> int:
        """How many more tensors a box gives to others on the level."""
        return max(0, len(_read_on(level, box)) - 1)

    def _short_title(self, node: Node, around: Node) -> str:
        title = _one_line(self.title(node.address))
        if badge_text(node, around) == f"×{node.count}" and title.startswith(f"{node.count} "):
            title = title.removeprefix(f"{node.count} ")
            title = title[:1].upper() + title[1:]
        if node.kind == "branch" and node.branches and title == _one_line(node.title):
            return title.partition(", if ")[0]
        return title

    def _formula(self, node: Node, given: str | None, others: int) -> Line | None:
        """The node's formula if it goes on one line, else the symbol of what it gives, whose shape is shown too."""
        known = self._knowledge.get(node.address)
        formulas = () if known is None else known.formulas
        if self.opens(node.address):
            formulas = formulas[:1]  # others are of what is inside
        for latex in (formula.latex for formula in formulas):
            made = self._set(latex)
            if made is not None:
                return made
        more = [Run(f" and {others} more")] if others else []
        symbol = None if known is None or given is None else known.symbols.get(given)
        made = None if symbol is None else self._set(symbol, more)
        if made is None and more:
            name = next((port.name for port in node.outputs if port.tensor == given), "output")
            return line([Run(name, "code"), *more], 12.0, most=MOST_FORMULA)
        return made

    def _set(self, latex: str, more: Sequence[Run] = ()) -> Line | None:
        """LaTeX as a line, if it fits on one."""
        runs = latex_runs(latex)
        made = None if runs is None else line([*runs, *more], 12.0)
        if made is None or made.width > MOST_FORMULA:
            return None
        return Line(made.runs, made.size, made.width, latex=latex)

    def _terminal_lines(self, level: Level, box: Box) -> dict[str, Line]:
        lines = {"title": line([Run(_one_line(box.name) or "input", "code")], 12.0, most=MOST_TITLE)}
        if not box.tensors or len(box.tensors) == 1:
            ports = level.node.inputs if box.role == "input" else level.node.outputs
            seen = any(port.tensor == box.address and port.shape is not None for port in ports)
            shape = self.shape(box.address if seen else box.received or box.address, ports)
            if shape is not None:
                lines["shape"] = shape
        note = self._origin_text(level.node, box)
        if note:
            lines["note"] = within(note, BODY, MOST_NOTE)
        return lines

    def row(self, level: Level, box: Box) -> Piece:
        """The piece for what enters the level, in a stack: name and shape on one line, where it comes from below."""
        lines = self._terminal_lines(level, box)
        first = [lines[name] for name in ("title", "shape") if name in lines]
        height = max(each.height for each in first)
        tops: dict[str, float] = {}
        tops |= {name: ROW_ABOVE + (height - lines[name].height) / 2 for name in ("title", "shape") if name in lines}
        lefts: dict[str, float] = {"title": ROW_SIDE, "shape": ROW_SIDE + lines["title"].width + ROW_GAP}
        width = sum(each.width for each in first) + ROW_GAP * (len(first) - 1)
        bottom = ROW_ABOVE + height
        if "note" in lines:
            tops["note"], lefts["note"] = bottom, ROW_SIDE
            width = max(width, lines["note"].width)
            bottom += lines["note"].height
        return Piece(round(width + 2 * ROW_SIDE), round(bottom + ROW_ABOVE), lines, tops, lefts=lefts)

    def _origin_text(self, around: Node, box: Box) -> str:
        count = f"{len(box.tensors)} tensors " if len(box.tensors) > 1 else ""
        if box.role == "output":
            return f"{count}for the decode step" if box.state else ""
        if box.state:
            return f"{count}from the prefill"
        if box.address in self._document.parameters:
            return self._document.parameters[box.address].kind
        seen = self.seen_from(around, box.source)
        if seen is None:
            return "input of the model" if box.address in self._document.inputs else ""
        if seen == around.address:
            return "from the round before"
        return f"from {text_of(text_runs(_one_line(self.title(seen))))}"

    def seen_from(self, around: Node, source: str | None) -> str | None:
        """The outermost node that is or encloses ``source`` but not ``around``; ``around`` itself if that is inside."""
        if source is None:
            return None
        enclosing = {each.address for each in self._flow.ancestors(around.address)}
        found: str | None = None
        for node in self._flow.ancestors(source):
            if node.address == around.address:
                return node.address
            if node.address in enclosing:
                break
            found = node.address
        return found

    def label(self, level: Level, stream: Stream) -> Piece:
        """The piece for the label of a stream: a vertical line with name and shape at its right."""
        lines: dict[str, Line] = {}
        if stream.name:
            lines["label"] = line([Run(_one_line(stream.name), "code")], CODE, most=MOST_NAME)
        origin = level.boxes[stream.origin]
        node = self._document.nodes.get(origin.address) if origin.role == "node" else None
        shape = self.shape(stream.tensor, level.node.inputs if node is None else node.outputs)
        if stream.count > 1:
            lines["shape"] = line([Run(f"{stream.count} tensors")], BODY)
        elif shape is not None:
            lines["shape"] = shape
        width = sum(each.width for each in lines.values()) + LABEL_GAP * len(lines)
        height = max((each.height for each in lines.values()), default=0.0)
        return Piece(width, height, lines, dict.fromkeys(lines, 0.0), 0.0)

    def knot(self, steps: tuple[str, ...]) -> Piece:
        """The piece for plumbing: room for all its steps, one below the other, and for the shape after them."""
        lines = {f"step {step}": line([Run(self.step_text(step))], BODY, most=MOST_NAME) for step in steps}
        half = max(max(each.width for each in lines.values()) / 2 + 8, MARK_WIDTH / 2)
        left = half + CLOSER_GAP + MARK_WIDTH
        node = self._document.nodes[steps[-1]]
        shape = self.shape(node.outputs[0].tensor) if node.outputs else None
        right = half
        if shape is not None:
            lines["shape"] = shape
            right = half + LABEL_GAP + shape.width
        height = len(steps) * STEP_HEIGHT + (len(steps) - 1) * STEP_GAP
        return Piece(left + right, height, lines, {"end": half + LABEL_GAP}, left)

    def step_text(self, address: str) -> str:
        """What a step of plumbing is called: the function that it calls."""
        node = self._document.nodes[address]
        return (node.function or node.title).rpartition(".")[2].strip("_") or node.title


def _stacked(lines: dict[str, Line], *, opens: bool) -> Piece:
    """Lines one below the other; the badge stands beside the title."""
    tops: dict[str, float] = {}
    y = ABOVE_TEXT
    width = 0.0
    for name in ("title", "title_end", "formula", "note", "shape"):
        if name not in lines:
            continue
        taken = lines[name].width
        if name == "title":
            tops[name] = y
            if "badge" in lines:
                tops["badge"] = y + (lines["title"].height - lines["badge"].height) / 2
                taken += lines["badge"].width + 22
            taken += 2 * OPENER if opens else 0
        elif name == "title_end":
            tops[name] = y
        else:
            raised = any(run.level > 0 for run in lines[name].runs)
            y += 4.0 if raised else 1.5
            tops[name] = y
        width = max(width, taken)
        y += lines[name].height
    return Piece(max(LEAST_WIDTH, round(width + 2 * SIDE)), round(y + ABOVE_TEXT), lines, tops)


def _read_on(level: Level, box: Box) -> dict[str, bool]:
    """The tensors that a box gives to others on the level, state aside, and whether the spine runs along each."""
    streams = [stream for stream in level.streams if stream.origin == box.index]
    return {
        stream.tensor: any(use.spine for use in stream.uses)
        for stream in streams
        if any(stream.kind(use) != "state" for use in stream.uses)
    }


def badge_text(node: Node, around: Node) -> str | None:
    """How often a box runs: ``×60`` for folded layers, ``8 of 384`` for a loop; ``None`` for once."""
    if node.repeat is not None:
        counted = node.repeat.note.partition(";")[0]
        if counted == "once":
            return None
        times = counted.removesuffix(" times")
        return f"×{times}" if times != counted and times.isdigit() else counted.replace(" per token", "")
    if node.count > 1 and (node.kind == "layer group" or node.count > around.count):
        return f"×{node.count}"
    return None


def branch_text(node: Node) -> str:
    """Which way this layer (or round) goes, and how many of them go the other way."""
    branch = node.branches[0]
    numbers = counted(branch, node)
    own = [outcome for outcome, members in branch.taken.items() if set(numbers) & set(members)]
    others = sum(len(members) for outcome, members in branch.taken.items() if outcome not in own)
    words = {"true": "yes", "false": "no", "both": "both"}
    here = " or ".join(words.get(each, each) for each in own)
    if not here:
        return f"taken differently by the {branch.by}s"
    start = f"this {branch.by}: {here}" if len(numbers) <= 1 else f"these {branch.by}s: {here}"
    if not others:
        return start
    return f"{start}; {others} {branch.by}{'s' if others > 1 else ''} go{'es' if others == 1 else ''} the other way"


def _one_line(text: str) -> str:
    return " ".join(text.split())
