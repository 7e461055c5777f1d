"""What a page says, as data: the JSON twin of every page, and what the other renderings are made from."""

from __future__ import annotations

from openmodelatlas.site.fields.atlas import PageAtlas, PageCheck, PageConstant, PageProvenance, PageSize
from openmodelatlas.site.fields.code import PageBranch, PageCode, PageLayers, PageRepeat, PageUnreached, PageVariation
from openmodelatlas.site.fields.knowledge import (
    PageDifference,
    PageFormula,
    PageMechanism,
    PageStatement,
    PageTerm,
    PageVerdict,
)
from openmodelatlas.site.fields.page import Page, PageChild
from openmodelatlas.site.fields.places import Crumb, LineRange, PageDimension, PageSamePlace, PageSpan, PageSymbol
from openmodelatlas.site.fields.tensors import (
    PageArgument,
    PageInput,
    PageOutput,
    PageParameter,
    PageParameters,
    PageTensor,
)

__all__ = [
    "Crumb",
    "LineRange",
    "Page",
    "PageArgument",
    "PageAtlas",
    "PageBranch",
    "PageCheck",
    "PageChild",
    "PageCode",
    "PageConstant",
    "PageDifference",
    "PageDimension",
    "PageFormula",
    "PageInput",
    "PageLayers",
    "PageMechanism",
    "PageOutput",
    "PageParameter",
    "PageParameters",
    "PageProvenance",
    "PageRepeat",
    "PageSamePlace",
    "PageSize",
    "PageSpan",
    "PageStatement",
    "PageSymbol",
    "PageTensor",
    "PageTerm",
    "PageUnreached",
    "PageVariation",
    "PageVerdict",
]
