"""What a page says, as data: the JSON twin of every page, and what the other renderings are made from."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from openmodelatlas.evidence.sources import Evidence

PAGE_FORMAT = 1

LineRange = tuple[int, int]
"""First and last line, 1-based, inclusive."""


class Crumb(msgspec.Struct, frozen=True, kw_only=True):
    """A link to a node: what it is called where it is linked from, and its address."""

    label: str
    address: str


class PageSymbol(msgspec.Struct, frozen=True, kw_only=True):
    """The characters of the source that are the node.

    Attributes:
        text: the characters.
        file: path of the file.
        lines: where they are.
        columns: 0-based character in the first line, and the one after the last in the last line; ``null`` for whole
            lines.
    """

    text: str
    file: str
    lines: LineRange
    columns: tuple[int, int] | None


class PageDimension(msgspec.Struct, frozen=True, kw_only=True):
    """The size of one axis, in elements.

    Attributes:
        symbol: short form, ``d`` or ``h·d_h``; ``null`` where there is none.
        name: in words, ``hidden size``; ``null`` for numbers and compound expressions.
        value: number of elements at the published configuration; ``null`` where the run or its values decide.
        expression: in configuration names; ``null`` for numbers and sizes that no expression gives.
        kind: how the size is known, see ``openmodelatlas.shapes.dimension``.
        text: how it is written within a shape, ``7168 d``.
        note: what else must be said of it, such as the reason why it is not resolved.
    """

    symbol: str | None
    name: str | None
    value: int | None
    expression: str | None
    kind: Literal["symbolic", "constant", "data-dependent", "varying", "unresolved"]
    text: str
    note: str | None = None


class PageInput(msgspec.Struct, frozen=True, kw_only=True):
    """Something a node reads.

    Attributes:
        name: argument or variable name in the code.
        shape: one dimension per axis, as the node itself receives it (after ``via``); ``null`` if the tensor is not
            known, see ``note``.
        dtype: element type; ``null`` if not recorded, see ``note``.
        producer: address of the node that made it; ``null`` for parameters and what comes from outside.
        origin: the same as seen from this page: the outermost node that makes it and does not enclose this one.
        tensor: address of the tensor's page; ``null`` where it has none.
        parameter: true name, for parameters and buffers only.
        source: where it comes from.
        via: the views, transpositions and casts that it passes on the way, in order.
        others: what other members read here instead, such as the block before of the same kind.
        note: reason for what is missing.
    """

    name: str
    shape: tuple[PageDimension, ...] | None
    dtype: str | None
    producer: str | None
    origin: Crumb | None
    tensor: str | None
    parameter: str | None
    source: Literal["tensor", "parameter", "buffer", "input", "outside"]
    via: tuple[Crumb, ...]
    others: tuple[Crumb, ...]
    note: str | None


class PageOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Something a node gives; attributes as in :class:`PageInput`.

    Attributes:
        consumers: addresses of the nodes that read it.
        readers: the same as seen from this page.
        others: what other members give instead.
    """

    name: str
    shape: tuple[PageDimension, ...] | None
    dtype: str | None
    consumers: tuple[str, ...]
    readers: tuple[Crumb, ...]
    tensor: str | None
    via: tuple[Crumb, ...]
    others: tuple[Crumb, ...]
    note: str | None


class PageArgument(msgspec.Struct, frozen=True, kw_only=True):
    """An argument that is no tensor, or an attribute of a module, at the published configuration.

    Attributes:
        name: as in the code.
        text: the value as one would write it; sizes that the run decides are expressions.
        note: what the sizes in it are, or that it is known of the probe only.
    """

    name: str
    text: str
    note: str | None


class PageTensor(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a tensor, on its own page.

    Attributes:
        variable: name the code gives it.
        producer: address of the node that computes it.
        consumers: addresses of the nodes that read it.
        origin, readers: the same as seen from the tensor's page.
        value: key of its probe value in the bundle.
        value_dtype, value_shape: of that value, in the probe.
        value_start: its first elements in row-major order (at most 8); a number that is not finite is ``null``.
        note: why there is no value.
    """

    variable: str | None
    producer: str | None
    consumers: tuple[str, ...]
    origin: Crumb | None
    readers: tuple[Crumb, ...]
    value: str | None
    value_dtype: str | None
    value_shape: tuple[int, ...] | None
    value_start: tuple[float | int | bool | None, ...] | None
    note: str | None


class PageParameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter or buffer (or the equal ones of folded members).

    Attributes:
        name: true name, ``*`` for folded indices.
        aliases: further names of the same tensor; it counts once.
        kind: buffers do not count as parameters.
        shape: one dimension per axis.
        dtype: element type.
        each, count: elements of one, and how many equal ones there are.
        owner: address of the module that owns it.
        readers: addresses of the nodes that read it.
    """

    name: str
    aliases: tuple[str, ...]
    kind: Literal["parameter", "buffer"]
    shape: tuple[PageDimension, ...]
    dtype: str
    each: int
    count: int
    owner: str | None
    readers: tuple[str, ...]


class PageParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of the node and all inside it.

    Attributes:
        count: elements of all members, at the published configuration; tied weights once.
        each: the same for one member.
        tensors: the parameters themselves.
    """

    count: int
    each: int
    tensors: tuple[PageParameter, ...]


class PageUnreached(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that no layer reached, and the condition (with its line) that kept them out, if it was one."""

    file: str
    lines: LineRange
    condition: str | None
    condition_line: int | None


class PageCode(msgspec.Struct, frozen=True, kw_only=True):
    """The code of the function or class around the node.

    Attributes:
        file, lines, text: where it is, and the lines themselves.
        name: qualified name of the function or class.
        own_lines: the node's own lines within it; ``null`` if that is all or none of them.
        own_columns: characters in the first and last own line (end exclusive); ``null`` for whole lines.
        url: web address of the lines.
        unreached: lines within it that no layer reached.
    """

    file: str
    lines: LineRange
    text: str
    name: str | None
    own_lines: LineRange | None
    own_columns: tuple[int, int] | None
    url: str | None
    unreached: tuple[PageUnreached, ...]


class PageBranch(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that layers take differently.

    Attributes:
        test, file, lines: the condition, and where the whole statement is.
        taken: layer numbers (from 1) by outcome.
        elsewhere: the nodes that this statement is in other layers.
    """

    test: str
    file: str
    lines: LineRange
    taken: dict[str, tuple[int, ...]]
    elsewhere: tuple[Crumb, ...] = ()


class PageLayers(msgspec.Struct, frozen=True, kw_only=True):
    """Layers the node stands for (numbered from 1), and the conditions they take differently."""

    members: tuple[int, ...]
    branches: tuple[PageBranch, ...]


class PageChild(msgspec.Struct, frozen=True, kw_only=True):
    """One of the nodes directly inside.

    Attributes:
        label, address, title, kind: as on its own page.
        count: equal members folded into it.
        note: how often it runs, if that is not once.
        plumbing: whether it only rearranges or casts.
        symbol: its characters in the source.
        parameter_count: elements of all its parameters.
        outputs: shapes of what it gives, written out; for tensors its own.
        dtypes: their element types.
        members: layer numbers it stands for, where they are not those of the node around it.
    """

    label: str
    address: str
    title: str
    kind: str
    count: int
    note: str | None
    plumbing: bool
    symbol: str | None
    parameter_count: int
    outputs: tuple[str, ...]
    dtypes: tuple[str | None, ...]
    members: tuple[int, ...]


class PageRepeat(msgspec.Struct, frozen=True, kw_only=True):
    """How often the node runs within one run of its parent; see ``graph.document.Repeat``."""

    observed: tuple[int, int]
    expression: str | None
    of: str | None
    note: str


class PageVariation(msgspec.Struct, frozen=True, kw_only=True):
    """Something in which the folded members differ: its value, as text, in each of them."""

    what: str
    values: tuple[str, ...]


class PageProvenance(msgspec.Struct, frozen=True, kw_only=True):
    """Which source the atlas shows.

    Attributes:
        kind: ``hub``, ``transformers``, ``folder``, ``factory`` or ``reference``.
        repository, revision, requested_revision, entry, configuration: where code and configuration were read.
        passed_over: sources that were preferred but could not be used, each with the reason.
        versions: of what ran.
    """

    kind: str
    repository: str
    revision: str
    requested_revision: str | None
    entry: str
    configuration: str
    passed_over: tuple[str, ...]
    versions: dict[str, str]


class PageCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of one machine check; ``passed`` is ``null`` if it could not be made, ``detail`` says why."""

    name: str
    passed: bool | None
    detail: str


class PageConstant(msgspec.Struct, frozen=True, kw_only=True):
    """A number that an operation takes, at the published configuration.

    Attributes:
        text: the number.
        name: the argument that it is.
        operation, address, inside: title and address of the operation, and what encloses it.
        code: the expression in the source.
        members: the layers.
    """

    text: str
    name: str
    operation: str
    address: str
    inside: str
    code: str
    members: tuple[int, ...]


class PageAtlas(msgspec.Struct, frozen=True, kw_only=True):
    """What concerns the whole atlas; on the model's page only.

    Attributes:
        nodes: number of pages.
        checks: verdicts of the machine checks.
        notes: sentences about the atlas.
        constants: numbers that operations take, as used at run time.
        configuration: the published configuration with class defaults filled in.
        configuration_defaults: keys that came from the class rather than the published file.
        choices: what the shrinking did with each key, for the probes.
        probes: the probes with their sizes.
    """

    nodes: int
    checks: tuple[PageCheck, ...]
    notes: tuple[str, ...]
    constants: tuple[PageConstant, ...]
    configuration: dict[str, Any]
    configuration_defaults: tuple[str, ...]
    choices: tuple[dict[str, Any], ...]
    probes: tuple[dict[str, Any], ...]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One page of an atlas.

    Attributes:
        format: ``PAGE_FORMAT``.
        model, model_title: identifier and display name of the model.
        address: of the node; empty for the model.
        title, label, kind: of the node.
        phase: prefill or decode.
        breadcrumb: the nodes around this one, outermost first, without the model.
        symbol: the node's characters in the source.
        description: one sentence or two, made from facts.
        parameters: of the node and all inside it.
        formula: ``null`` until knowledge of mechanisms supplies one that was checked.
        inputs, outputs: in the order of the code.
        explanation: sentences for this place in this model; empty until knowledge supplies them.
        code: of the function or class around the node.
        sources: the evidence, direct first.
        layers: which layers the node stands for, and their branches.
        function, module, class_name: true names.
        arguments: arguments that are no tensors.
        attributes: of a module: its plain public attributes at run time.
        plumbing: whether the node only rearranges or casts.
        repeat: how often it runs, if that is not once.
        variations: differences between the folded members.
        tensor: for tensors only.
        children: the nodes directly inside.
        previous, next: neighbours in order of execution within the same node.
        provenance: which source the atlas shows.
        atlas: on the model's page only.
    """

    format: int = PAGE_FORMAT
    model: str
    model_title: str
    address: str
    title: str
    label: str
    kind: str
    phase: str
    breadcrumb: tuple[Crumb, ...]
    symbol: PageSymbol | None
    description: str
    parameters: PageParameters
    formula: str | None
    inputs: tuple[PageInput, ...]
    outputs: tuple[PageOutput, ...]
    explanation: tuple[str, ...]
    code: PageCode | None
    sources: tuple[Evidence, ...]
    layers: PageLayers
    function: str | None
    module: str | None
    class_name: str | None
    arguments: tuple[PageArgument, ...]
    attributes: tuple[PageArgument, ...]
    plumbing: bool
    repeat: PageRepeat | None
    variations: tuple[PageVariation, ...]
    tensor: PageTensor | None
    children: tuple[PageChild, ...]
    previous: Crumb | None
    next: Crumb | None
    provenance: PageProvenance
    atlas: PageAtlas | None
