"""What nodes read and give, their arguments, and the parameters."""

from __future__ import annotations

from typing import Literal

import msgspec

from openmodelatlas.site.fields.places import Crumb, PageDimension


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
        others_are: whose ``others`` are: those of other layers, or of later rounds of a loop.
        note: reason for what is missing; for what is handed over and not read inside, that.
        latex: its symbol; ``null`` where no role gives it one.
        title: what the tensor is called, where others on the page have the same name in the code.
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
    latex: str | None = None
    title: str | None = None
    others_are: Literal["layers", "rounds"] = "layers"


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
    latex: str | None = None
    title: str | None = None


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
        latex: its symbol on this page; ``null`` where no role gives it one.
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
    latex: str | None = None


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
