"""Which node of the document each recorded tensor is, and which tensor it only hands on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from openmodelatlas.graph import naming
from openmodelatlas.graph.align import Site
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.tree import Tree
from openmodelatlas.graph.wiring import first_tensor, output_index


@dataclass(eq=False)
class TensorDraft:
    """A tensor node in the making.

    Attributes:
        operation: the operation (or one-operation module, kernel) that computes it.
        index: which of its results.
        owner: the node it is a child of: the outermost call that returns it, up to the round of a loop.
        address, title, variable: as in the document.
        consumers: addresses of the nodes that read it.
    """

    operation: Draft
    site: Site
    index: int
    owner: Draft
    address: str = ""
    title: str = ""
    variable: str | None = None
    line_site: Site | None = None
    consumers: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Makers:
    """What the tensors of one probe are.

    Attributes:
        drafts: for each tensor its draft; ``None`` where the document has none.
        handed_on: for each tensor that plumbing made, the tensor that the plumbing reads.
        counts: how many tensors each draft is.
        ends: like ``drafts``, plumbing looked through; ``None`` also where that leads outside.
    """

    drafts: list[TensorDraft | None]
    handed_on: dict[int, int]
    ends: list[TensorDraft | None]
    counts: Counter[TensorDraft | None]


def find_makers(
    trees: Sequence[Tree], probe: int, producers: Sequence[Site | None], tensors: Iterable[TensorDraft]
) -> Makers:
    """What the tensors of one probe are.

    Args:
        trees: all probes.
        probe: which of them.
        producers: for each of its tensors the operation site that made it.
        tensors: all tensor drafts.
    """
    results: dict[Draft, dict[int, TensorDraft]] = {}
    for tensor in tensors:
        results.setdefault(tensor.operation, {})[tensor.index] = tensor
    made_at: dict[Site | None, tuple[dict[int, TensorDraft], bool]] = {}
    for draft, made in results.items():
        made_at.update(dict.fromkeys(draft.operation or draft.sites, (made, _is_plumbing(draft, trees))))
    tree = trees[probe]
    operations, keys = tree.recording.operations, tree.result_keys
    single = {key for key in set(keys) if len(tree.keys.shapes(key)) == 1}  # operations of one result, nearly all
    makers = Makers([None] * len(producers), {}, [None] * len(producers), Counter())
    for number, (site, operation) in enumerate(zip(producers, tree.made_by, strict=True)):
        if site not in made_at:
            continue
        made, plumbing = made_at[site]
        index = 0 if keys[operation] in single else output_index(operations[operation], number)
        makers.drafts[number] = makers.ends[number] = made.get(index)
        source = first_tensor(tree, operation) if plumbing else None
        if source is not None and index in made:
            makers.handed_on[number] = source
            makers.ends[number] = makers.ends[source]  # what is read was made before
    makers.counts.update(makers.drafts)
    return makers


def _is_plumbing(draft: Draft, trees: Sequence[Tree]) -> bool:
    leaf = draft.leaf
    if leaf is None or draft.kind != "operation":
        return False
    return naming.is_plumbing(trees[leaf.probe].operation(leaf.event).function)
