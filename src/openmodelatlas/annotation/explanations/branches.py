"""What a condition did at this place, what it does in other layers, and what earlier statement decided it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from openmodelatlas.annotation.counting import few_layers, layers_text
from openmodelatlas.annotation.explanations.code import Syntax
from openmodelatlas.annotation.explanations.verbs import base_form, lower, past, third_person
from openmodelatlas.annotation.knowledge import Statement
from openmodelatlas.annotation.material import Drafts, Material
from openmodelatlas.graph.document import Branch, Lines, Node, Port
from openmodelatlas.graph.outcomes import branches_of, counted, outcome_for

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
        """What a branch computes in other layers; for layer groups, what follows from the conditions in them."""
        if node.kind == "branch":
            conditions = branches_of(node, self._nodes)
            return [each for branch in conditions for each in self._of_branch(node, branch)]
        if node.kind == "layer group" and node.members:
            inside = [child for child in self._inside(node) if child.kind == "branch"]
            return [each for child in inside for each in self._in_layer(child)]
        return []

    def passing(self, node: Node) -> list[Statement]:
        """Why a statement that computes something in other layers only gives a tensor another name here."""
        passed = self._passed_on(node) if node.kind == "branch" else None
        if passed is None:
            return []
        return [self._passing(node, branch, passed) for branch in branches_of(node, self._nodes)[:1]]

    def _of_branch(self, node: Node, branch: Branch) -> Iterator[Statement]:
        if outcome_for(branch, node) is None:
            ways = " and ".join(
                f"{_IN[way]} {few_layers(taken, branch.by)}" for way, taken in branch.taken.items() if taken
            )
            yield Statement(text=f"The condition `{' '.join(branch.test.split())}` {ways}.", lines=(branch.lines,))
        instead = " instead" if self._steps(node) else ""
        for layers, steps in self._elsewhere(node, branch):
            doing = f"{_doing(layers, steps)}{instead}" if steps else _doing(layers, ["compute nothing here"])
            text = f"{few_layers(layers, branch.by)} {doing}."
            yield Statement(text=f"{text[:1].upper()}{text[1:]}", lines=(branch.lines,))

    def _in_layer(self, node: Node) -> Iterator[Statement]:
        """What a branch does in its layer, as the layer's page says it, beside what it does in other layers."""
        passed = self._passed_on(node)
        for branch in branches_of(node, self._nodes)[:1]:
            if passed is not None:
                yield self._replaced(node, self._passing(node, branch, passed), passed[1])
                continue
            text = self._done(node, branch, list(self._elsewhere(node, branch)))
            if text is not None:
                yield Statement(text=text, lines=(branch.lines,))

    def _replaced(self, node: Node, said: Statement, given: Port) -> Statement:
        """``…: the attention update replaces the running sum.``"""
        taken = sorted(self._noun(node, name) for name in self._missing_names(node))
        if len(taken) != 1:
            return said
        replaced = f": the {lower(self._tensor_title(given.tensor))} replaces {taken[0]}."
        return Statement(text=f"{said.text.removesuffix('.')}{replaced}", lines=said.lines)

    def _done(self, node: Node, branch: Branch, others: list[tuple[tuple[int, ...], list[str]]]) -> str | None:
        """``The layer stores the running sum, as do layers 13, 25; the other layers do not.``"""
        steps = self._steps(node)
        if not steps:
            computing = [
                f"{few_layers(layers, branch.by)} {_doing(layers, doing)}" for layers, doing in others if doing
            ]
            return f"Only {' and '.join(computing)}." if computing else None
        own = counted(branch, node)
        text = f"{f'These {branch.by}s' if len(own) > 1 else f'The {branch.by}'} {_doing(own, steps)}"
        alike = sorted(set(branch.taken.get(outcome_for(branch, node) or "", ())) - set(own))
        if alike:
            text += f", as {_do(alike)} {few_layers(alike, branch.by)}"
        for layers, doing in others:
            together = doing or len(others) > 1 or len(layers) == 1
            whose = few_layers(layers, branch.by) if together else f"the other {branch.by}s"
            text += f"; {whose} {_doing(layers, doing) if doing else f'{_do(layers)} not'}"
        return f"{text}."

    def _elsewhere(self, node: Node, branch: Branch) -> Iterator[tuple[tuple[int, ...], list[str]]]:
        """What the same statement does in the layers that go the other way: their numbers, and steps as verbs."""
        own = outcome_for(branch, node)
        seen: list[tuple[tuple[int, ...], list[str]]] = []
        for other in self._others(node):
            outcome = outcome_for(branch, other)
            if outcome == own:
                continue
            found = (tuple(branch.taken.get(outcome or "", counted(branch, other))), self._steps(other))
            if found not in seen:
                seen.append(found)
                yield found

    def _steps(self, node: Node) -> list[str]:
        """What is directly inside, as verbs in their base form: ``apply the latent attention``."""
        steps = []
        for child in self._inside(node):
            if child.plumbing:
                continue
            title = self._title(child)
            steps.append(base_form(title, otherwise="compute" if child.kind == "operation" else "apply"))
        return list(dict.fromkeys(steps))

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
        subject = layers_text(counted(branch, node), branch.by)
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
        found: set[str] = set()
        around = (
            part
            for part in self._syntax.tree(lines.file).body
            if part.lineno <= lines.last and lines.first <= (part.end_lineno or part.lineno)
        )
        for statement in (inner for part in around for inner in ast.walk(part)):
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


def _doing(layers: Sequence[int], steps: Sequence[str]) -> str:
    """Steps in their base form, as one layer or several do them."""
    return " and ".join(third_person(step, otherwise="") if len(layers) == 1 else step for step in steps)


def _do(layers: Sequence[int]) -> str:
    return "does" if len(layers) == 1 else "do"
