"""What a condition did at this place, what it does in other layers, and what earlier statement decided it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from openmodelatlas.annotation.counting import few_layers, layers_text
from openmodelatlas.annotation.explanations.code import Syntax
from openmodelatlas.annotation.explanations.verbs import lower, past, third_person
from openmodelatlas.annotation.knowledge import Statement
from openmodelatlas.annotation.material import Drafts, Material
from openmodelatlas.graph.document import Branch, Lines, Node, Port
from openmodelatlas.graph.outcomes import branches_of, outcome_for

_WAYS = {"true": "holds", "false": "does not hold", "both": "holds in some rounds and not in others"}
_IN = {"true": "holds in", "false": "does not hold in", "both": "goes both ways in"}


class Branches:
    """Writes the explanations of branch nodes."""

    def __init__(self, material: Material, drafts: Drafts, syntax: Syntax) -> None:
        self._nodes = material.document.nodes
        self._drafts = drafts
        self._syntax = syntax
        self._statements: dict[tuple[str, str, int, int], list[Node]] = {}
        for node in self._nodes.values():
            if node.kind == "branch" and node.symbol is not None:
                lines = node.symbol.lines
                self._statements.setdefault((node.phase, lines.file, lines.first, lines.last), []).append(node)

    def statements(self, node: Node) -> list[Statement]:
        """What the condition of a branch did here; for layer groups, the conditions that set them apart."""
        if node.kind == "branch":
            conditions = branches_of(node, self._nodes)
            return [each for branch in conditions for each in self._of_branch(node, branch)]
        if node.kind == "layer group" and node.members:
            return [self._condition(node, branch) for branch in node.branches]
        return []

    def passing(self, node: Node) -> list[Statement]:
        """Why a statement that computes something in other layers only gives a tensor another name here."""
        passed = self._passed_on(node) if node.kind == "branch" else None
        if passed is None:
            return []
        return [self._passing(node, branch, passed) for branch in branches_of(node, self._nodes)[:1]]

    def _of_branch(self, node: Node, branch: Branch) -> Iterator[Statement]:
        yield self._condition(node, branch)
        yield from self._elsewhere(node, branch)

    def _condition(self, node: Node, branch: Branch) -> Statement:
        outcome = outcome_for(branch, node)
        test = " ".join(branch.test.split())
        if outcome in _WAYS:
            own = set(branch.taken[outcome or ""])
            others = sorted({layer for layers in branch.taken.values() for layer in layers} - own)
            text = f"The condition `{test}` {_WAYS[outcome]} here, as in {few_layers(sorted(own))}"
            if set(node.members) == own:
                text = f"The condition `{test}` {_WAYS[outcome]} here"
            text = f"{text}, unlike in {few_layers(others)}." if others else f"{text}."
            return Statement(text=text, lines=(branch.lines,))
        ways = " and ".join(f"{_IN[way]} {few_layers(layers)}" for way, layers in branch.taken.items() if layers)
        return Statement(text=f"The condition `{test}` {ways}.", lines=(branch.lines,))

    def _elsewhere(self, node: Node, branch: Branch) -> Iterator[Statement]:
        """What the same statement computes in the layers that go the other way."""
        own = outcome_for(branch, node)
        said: set[str] = set()
        for other in self._others(node):
            if outcome_for(branch, other) == own:
                continue
            steps = [
                third_person(self._title(child), otherwise="computes" if child.kind == "operation" else "applies")
                for child in self._inside(other)
                if not child.plumbing
            ]
            doing = f"it {' and '.join(dict.fromkeys(steps))}" if steps else "it computes nothing"
            layers = few_layers(branch.taken.get(outcome_for(branch, other) or "", other.members))
            text = f"In {layers}, {doing}."
            if text not in said:
                said.add(text)
                yield Statement(text=text, lines=(branch.lines,))

    def _passed_on(self, node: Node) -> tuple[Port, Port] | None:
        """Output and input of a branch that computes nothing here: it gives a tensor another name."""
        if any(not child.plumbing for child in self._inside(node)):
            return None
        for output in node.outputs:
            for given in node.inputs:
                if given.tensor == output.tensor:
                    return output, given
        return None

    def _passing(self, node: Node, branch: Branch, passed: tuple[Port, Port]) -> Statement:
        """``Layer 1 stored the embedding and cleared the running sum before attention ran, so here …``."""
        output, given = passed
        equal = f"{self._output_symbol(node, output)} is {self._symbol(given)}"
        if self._latex(node, output) and self._drafts.tensor_symbols.get(given.tensor):
            equal = f"${self._latex(node, output)} = {self._drafts.tensor_symbols[given.tensor]}$"
        lines: list[Lines] = []
        causes: list[str] = []
        for earlier, text in self._causes(node, branch):
            causes.append(text)
            if earlier not in lines:
                lines.append(earlier)
        lines.append(branch.lines)
        if not causes:
            return Statement(text=f"Nothing is computed here: {equal}.", lines=tuple(lines))
        subject = layers_text(node.members)
        subject = f"{subject[:1].upper()}{subject[1:]}"
        before = self._ran_before(node, given)
        text = f"{subject} {' and '.join(causes)}{before}, so here {equal}."
        return Statement(text=text, lines=tuple(lines))

    def _causes(self, node: Node, branch: Branch) -> Iterator[tuple[Lines, str]]:
        """Earlier statements of the same code that took what the other ways add: stored it, or set it to ``None``."""
        names = self._missing_names(node)
        if not names or node.parent is None:
            return
        siblings = self._nodes[node.parent].children
        for address in siblings[: siblings.index(node.address)]:
            earlier = self._nodes[address]
            if earlier.kind != "branch" or earlier.symbol is None:
                continue
            took = [port for port in earlier.inputs if port.name in names]
            computed = [child for child in self._inside(earlier) if not child.plumbing]
            if took and computed:
                yield earlier.symbol.lines, self._taking(earlier, took[0])
            for name in sorted(names & self._cleared(earlier.symbol.lines)):
                yield earlier.symbol.lines, f"cleared {self._noun(node, name)}"

    def _taking(self, earlier: Node, took: Port) -> str:
        """``stored the token embeddings``."""
        verb = past(self._title(earlier), otherwise="computed").split()[0]
        return f"{verb} the {lower(self._tensor_title(took.tensor))}"

    def _missing_names(self, node: Node) -> set[str]:
        """Variables that this statement reads in other layers, but not here."""
        read = {port.name for port in node.inputs}
        return {
            port.name
            for other in self._others(node)
            for port in other.inputs
            if port.name not in read and port.source == "tensor"
        }

    def _cleared(self, lines: Lines) -> set[str]:
        """Variables that a statement sets to ``None``."""
        tree = self._syntax.tree(lines.file)
        found: set[str] = set()
        for statement in ast.walk(tree) if tree is not None else ():
            if (
                isinstance(statement, ast.Assign)
                and lines.first <= statement.lineno <= lines.last
                and isinstance(statement.value, ast.Constant)
                and statement.value.value is None
            ):
                found |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
        return found

    def _ran_before(self, node: Node, given: Port) -> str:
        """`` before attention ran``, from the family of what made the tensor that is passed on."""
        if node.parent is None:
            return ""
        for address in self._nodes[node.parent].children:
            if given.tensor == address or given.tensor.startswith(f"{address}/"):
                update = self._drafts.nodes[given.tensor].role if given.tensor in self._drafts.nodes else None
                families = (self._drafts.nodes[address].family, (update or "").removesuffix(" update"))
                family = next((each for each in families if each in ("attention", "feed-forward")), None)
                return f" before {family} ran" if family is not None else ""
        return ""

    def _noun(self, node: Node, name: str) -> str:
        """What a variable holds in the layers that read it here: ``the running sum``."""
        for other in self._others(node):
            for port in other.inputs:
                if port.name == name:
                    return f"the {lower(self._tensor_title(port.tensor))}".replace("carried ", "")
        return f"`{name}`"

    def _others(self, node: Node) -> list[Node]:
        if node.symbol is None:
            return []
        lines = node.symbol.lines
        found = self._statements.get((node.phase, lines.file, lines.first, lines.last), [])
        return [other for other in found if other.address != node.address]

    def _inside(self, node: Node) -> list[Node]:
        return [self._nodes[address] for address in node.children if self._nodes[address].kind != "tensor"]

    def _title(self, node: Node) -> str:
        return self._drafts.nodes[node.address].title or node.title

    def _tensor_title(self, tensor: str) -> str:
        node = self._nodes.get(tensor)
        return self._title(node) if node is not None else tensor

    def _symbol(self, port: Port) -> str:
        symbol = self._drafts.tensor_symbols.get(port.tensor)
        return f"${symbol}$" if symbol else f"`{port.name}`"

    def _latex(self, node: Node, port: Port) -> str | None:
        """The symbol that the statement gives its result in the layers that compute it, also where none does here."""
        own = self._drafts.nodes[node.address].symbols.get(port.tensor)
        if own:
            return own
        for other in self._others(node):
            for output in other.outputs:
                if output.name == port.name and output.tensor != port.tensor:
                    found = self._drafts.tensor_symbols.get(output.tensor)
                    if found:
                        return found
        return None

    def _output_symbol(self, node: Node, port: Port) -> str:
        latex = self._latex(node, port)
        return f"${latex}$" if latex else f"`{port.name}`"
