"""The atlas as data: the hand-over from ``graph`` to the bundle, the site, the server and the API.

A :class:`Document` is a flat table of nodes, keyed by address, plus the tables they refer to. Layer numbers are as a
reader counts them: the first layer is 1 (``layers.0`` in the model's own names).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from openmodelatlas.shapes.dimension import Dimension

DOCUMENT_FORMAT = 1

NodeKind = Literal[
    "model", "phase", "layer group", "module", "function", "kernel", "branch", "loop", "operation", "tensor"
]


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """A range of lines in a cited file.

    Attributes:
        file: key of ``Document.files``.
        first, last: 1-based, inclusive.
        column, end_column: 0-based characters in the first and last line (end exclusive), ``None`` for whole lines.
    """

    file: str
    first: int
    last: int
    column: int | None = None
    end_column: int | None = None


class Symbol(msgspec.Struct, frozen=True, kw_only=True):
    """The characters of the source that are this node: an expression, a variable, a function or class name."""

    text: str
    lines: Lines


class Port(msgspec.Struct, frozen=True, kw_only=True):
    """One input or output of a node.

    Attributes:
        name: argument or variable name in the code (``hidden_states``), or ``input``, ``output`` where there is none.
        tensor: address of the tensor node, or the true parameter name for a parameter or buffer.
        source: ``tensor``, ``parameter``, ``buffer``, ``input`` (handed to the model) or ``outside``.
        via: addresses of the plumbing (views, casts, …) that the tensor passes on this edge, in order.
        others: what other members read or return here instead, such as the block before of the same kind.
        shape: what the members read (behind ``via``) or return, if numbers in it are others than those of the tensor's
            node: 8 after the last layer, where each layer made another number; else ``None``.
    """

    name: str
    tensor: str
    source: Literal["tensor", "parameter", "buffer", "input", "outside"]
    via: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    shape: tuple[Dimension, ...] | None = None


class TensorFact(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a tensor node (and of a model input).

    Attributes:
        shape: one dimension per axis, in order.
        dtype: element type in a model of the published dtype; ``None`` if that probe could not run (``dtype_note``).
        dtype_note: why ``dtype`` is not recorded or is not that of the published type, else ``None``.
        variable: name the code gives it, ``None`` if it stays unnamed.
        producer: address of the node that computes it; ``None`` for inputs and tensors from outside.
        consumers: addresses of the nodes that read it, in order of execution.
        value: key in the bundle's ``values.safetensors``; ``None`` with ``value_note`` where it is not recorded.
        value_note: why there is no value, else ``None``.
    """

    shape: tuple[Dimension, ...]
    dtype: str | None
    dtype_note: str | None = None
    variable: str | None = None
    producer: str | None = None
    consumers: tuple[str, ...] = ()
    value: str | None = None
    value_note: str | None = None


class ParameterFact(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter or buffer, or the equal ones of the folded members.

    Attributes:
        name: true name; a ``*`` stands for the layer (or expert) index of folded members.
        aliases: further names of the same tensor (tied weights); it counts once.
        kind: ``parameter`` or ``buffer`` (buffers do not count as parameters).
        shape: dimensions in elements.
        dtype: element type in a model of the published dtype.
        each: elements of one, at the published configuration.
        count: how many equal ones there are.
        readers: addresses of the operations that read it; empty if no probe read it.
        owner: address of the module node that owns it.
        value: key in the bundle's ``values.safetensors`` of the first one, ``None`` if no recorded operation read it.
    """

    name: str
    aliases: tuple[str, ...]
    kind: Literal["parameter", "buffer"]
    shape: tuple[Dimension, ...]
    dtype: str
    each: int
    count: int
    readers: tuple[str, ...]
    owner: str
    value: str | None = None


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """An ``if`` (or conditional ``while``, ``for … else``) that the layers do not all take alike, or a loop's rounds.

    Attributes:
        test: text of the condition.
        lines: the whole statement.
        taken: their numbers by outcome: ``true``, ``false``, ``both`` (inside a loop).
        by: what the numbers count: layers, or rounds of the loop around, whose rounds are no layers.
    """

    test: str
    lines: Lines
    taken: dict[str, tuple[int, ...]]
    by: Literal["layer", "round"] = "layer"


class Unreached(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of the node's code that no layer reached, and what kept them out.

    Attributes:
        lines: the lines.
        condition: text of the innermost condition that kept them out; ``None`` if they are simply never called.
        condition_line: its line.
    """

    lines: Lines
    condition: str | None
    condition_line: int | None


class Variation(msgspec.Struct, frozen=True, kw_only=True):
    """Something in which the folded members differ, though their structure is equal.

    Attributes:
        what: one sentence naming it: ``axis 1 of block_residual``, ``argument layer_idx``.
        values: value (as text) of each member, in member order.
    """

    what: str
    values: tuple[str, ...]


class Repeat(msgspec.Struct, frozen=True, kw_only=True):
    """How often a node runs within one run of its parent.

    Attributes:
        observed: smallest and largest number in the probes.
        expression: the number as an expression in configuration names, or ``None`` where it depends on values.
        of: total that it chooses from (``n_routed_experts``), or ``None``.
        note: a sentence for the page, such as "8 of 384 per token"; for a round that differs from others which it is.
    """

    observed: tuple[int, int]
    expression: str | None
    of: str | None
    note: str


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One thing of the model with a page of its own.

    Attributes:
        address: readable and stable: ``layers/dense/self-attn/q-proj``; empty for the model. Segments are lower-case
            letters, digits and hyphens.
        kind: what it is.
        title: sober automatic name; knowledge may replace it.
        label: what a breadcrumb says: ``60 MoE blocks``, ``Self attn``.
        parent: address of the enclosing node, ``None`` for the model.
        children: addresses in order of execution (tensors last).
        members: layer numbers this node stands for (first is 1); empty outside layers.
        rounds: numbers of the rounds (first is 1) it stands for, of the loop around it whose rounds are no layers;
            empty where there is no such loop, or all its rounds are alike.
        count: how many equal members were folded into this node (1 if none).
        repeat: for loops and what is inside them, else ``None``.
        phase: prefill or decode.
        symbol: the characters in the source, ``None`` only for the model and phases.
        code: lines of the enclosing function (for modules: of the class), ``None`` if its source is not available.
        function: qualified torch function, kernel or code name; ``None`` for groups.
        module: true module name with ``*`` for folded indices; ``None`` outside modules.
        class_name: class of the module, ``None`` for others.
        arguments: encoded non-tensor arguments of an operation or call (see ``capture.recording``), as in the first
            probe, whose values are kept.
        published: those of them that are otherwise at the published configuration, by the same name: encoded values,
            or within them ``{"size": expression, "value": number}`` for a solved size and ``{"probe": value}`` for
            what is known of the probe only.
        operands: arguments of an operation that are or hold tensors, by the same names and encoded in the same way, as
            in the first probe. A tensor is ``{"tensor": name}``: the address of the tensor that the operation itself
            reads (past no plumbing), the true name of a parameter or buffer, or a key of ``Document.inputs``. Beside it
            stands ``"value"``, the key of its captured value, of parameters and wherever a tensor's fact has another
            (a later round's result).
        result: encoded result, in the first probe, of an operation that gives no tensor (``bool``, ``item``).
        attributes: plain public attributes of a module at the published configuration (``scaling``, ``eps``), those
            that vary between members left out; ``{"probe": value}`` for what is known of the probe only.
        plumbing: whether it only rearranges or casts (folds into the edge it sits on).
        inputs, outputs: ports in the order of the code.
        parameters: names (keys of ``Document.parameters``) owned by this node or anything inside it.
        parameter_count: elements of all parameters of everything it stands for, at the published configuration; tied
            weights once.
        parameter_count_each: the same for one member.
        tensor: facts, for kind ``tensor`` only.
        branches: conditions that layers or rounds take differently, in this node's own function.
        unreached: lines no layer reached, in this node's own function.
        variations: differences between members.
        events: number of operations of the first probe that this node alone stands for, in all its members.
    """

    address: str
    kind: NodeKind
    title: str
    label: str
    parent: str | None
    children: tuple[str, ...] = ()
    members: tuple[int, ...] = ()
    rounds: tuple[int, ...] = ()
    count: int = 1
    repeat: Repeat | None = None
    phase: Literal["prefill", "decode"] = "prefill"
    symbol: Symbol | None = None
    code: Lines | None = None
    function: str | None = None
    module: str | None = None
    class_name: str | None = None
    arguments: dict[str, Any] = {}
    published: dict[str, Any] = {}
    operands: dict[str, Any] = {}
    result: Any = None
    attributes: dict[str, Any] = {}
    plumbing: bool = False
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    parameters: tuple[str, ...] = ()
    parameter_count: int = 0
    parameter_count_each: int = 0
    tensor: TensorFact | None = None
    branches: tuple[Branch, ...] = ()
    unreached: tuple[Unreached, ...] = ()
    variations: tuple[Variation, ...] = ()
    events: int = 0


class CitedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A source file that nodes cite. Its text lies in the bundle under ``sources/<sha256>``.

    Attributes:
        path: shown path (key of ``Document.files``).
        repository: ``moonshotai/Kimi-K2-Instruct`` or ``transformers``.
        revision: full commit hash or version.
        sha256: of the bytes.
        url: address of the file at the revision, with ``{first}`` and ``{last}`` for the lines, or ``None``.
    """

    path: str
    repository: str
    revision: str
    sha256: str
    url: str | None


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of one machine check.

    Attributes:
        name: ``dimensions confirmed on the held-out probe``.
        passed: the verdict; ``None`` if it could not be made.
        detail: numbers, or the reason why it could not be made.
    """

    name: str
    passed: bool | None
    detail: str


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Which source the atlas shows and how it was obtained.

    Attributes:
        source: kind of source.
        repository, revision, requested_revision, entry, configuration_origin: as in ``sources.source.Source``.
        preferred: sources that were preferred but could not be used, each with the reason.
        versions: ``python``, ``torch``, ``transformers``, ``openmodelatlas``.
        choices: report of the shrinking, one mapping per key (``capture.recording.Choice``).
        probes: the probes with their sizes (``capture.recording.Probe``).
    """

    source: str
    repository: str
    revision: str
    requested_revision: str | None
    entry: str
    configuration_origin: str
    preferred: tuple[str, ...]
    versions: dict[str, str]
    choices: tuple[dict[str, Any], ...]
    probes: tuple[dict[str, Any], ...]


class SizeName(msgspec.Struct, frozen=True, kw_only=True):
    """How a size is spoken of on pages: symbol ``d``, name ``hidden_size``, value 7168 (``None`` for B, T, P)."""

    symbol: str
    name: str
    value: int | None


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One atlas.

    Attributes:
        format: ``DOCUMENT_FORMAT``.
        model: identifier in addresses and commands: ``kimi-k2``.
        title: display name: ``Kimi K2``.
        provenance: where everything was read.
        configuration: the published configuration with class defaults filled in.
        configuration_defaults: keys of it that came from the class rather than the published file.
        sizes: names used in dimension expressions.
        nodes: every node by address, the model (empty address) first, then in order of execution.
        inputs: what the probe handed to the model (``input_ids``; ``decode/input_ids`` in the decode step) and tensors
            made outside recorded operations, by the name that ports give.
        parameters: by name.
        files: cited files by path.
        checks: verdicts.
        notes: sentences that concern the whole atlas.
    """

    format: int
    model: str
    title: str
    provenance: Provenance
    configuration: dict[str, Any]
    configuration_defaults: tuple[str, ...]
    sizes: dict[str, SizeName]
    nodes: dict[str, Node]
    inputs: dict[str, TensorFact] = {}
    parameters: dict[str, ParameterFact]
    files: dict[str, CitedFile]
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
