"""One page as data."""

from __future__ import annotations

import msgspec

from openmodelatlas.catalogue.entry import Family
from openmodelatlas.evidence.sources import Evidence
from openmodelatlas.site.fields.atlas import PageAtlas, PageProvenance
from openmodelatlas.site.fields.code import PageCode, PageLayers, PageRepeat, PageVariation
from openmodelatlas.site.fields.knowledge import PageDifference, PageFormula, PageMechanism, PageStatement
from openmodelatlas.site.fields.places import Crumb, PageSamePlace, PageSymbol
from openmodelatlas.site.fields.tensors import PageArgument, PageInput, PageOutput, PageParameters, PageTensor

PAGE_FORMAT = 2


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
        family: of mechanisms that it belongs to.
        latex: its formula, or for tensors its symbol.
        reads: what it reads directly, as seen from here: the edges of the diagram.
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
    family: Family | None = None
    latex: str | None = None
    reads: tuple[Crumb, ...] = ()


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
        description: what the node is, in one sentence or two, and what the recording says of it.
        role: its place in the structure, ``residual addition``; ``null`` if none was found.
        family: the family of mechanisms that it belongs to; ``null`` if it belongs to none.
        mechanism: the mechanism that the node is; ``null`` if it is none of the catalogue.
        mechanisms: further ones whose code lies in this node's own statements.
        parameters: of the node and all inside it.
        formula: the first of ``formulas`` in LaTeX; ``null`` if there is none.
        formulas: the node's own first, each with its terms and the verdict of its evaluation.
        inputs, outputs: in the order of the code.
        explanation: sentences for this place in this model, each with the lines that prove it in brackets.
        statements: the same, with text and lines apart.
        differences: mechanisms that were tried and do not hold here.
        code: of the function or class around the node.
        sources: the evidence, direct first.
        layers: which layers the node stands for, and their branches.
        rounds: which rounds (from 1) it stands for, of the loop around it whose rounds are no layers and differ.
        same_place: this place in each group of layers, in order.
        level: the node whose inside the diagram beside the page shows.
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
        damage: files of the atlas that cannot be read, and what pages lack therefore, a sentence or two for each.
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
    role: str | None
    family: Family | None
    mechanism: PageMechanism | None
    mechanisms: tuple[PageMechanism, ...]
    parameters: PageParameters
    formula: str | None
    formulas: tuple[PageFormula, ...]
    inputs: tuple[PageInput, ...]
    outputs: tuple[PageOutput, ...]
    explanation: tuple[str, ...]
    statements: tuple[PageStatement, ...]
    differences: tuple[PageDifference, ...]
    code: PageCode | None
    sources: tuple[Evidence, ...]
    layers: PageLayers
    rounds: tuple[int, ...] = ()
    same_place: tuple[PageSamePlace, ...]
    level: str
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
    damage: tuple[str, ...] = ()
