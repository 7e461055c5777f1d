"""Names of torch functions and what the recorder does with each kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from torch.overrides import resolve_name

Kind = Literal["pass", "record", "read"]

DATA_READERS = frozenset(
    {
        "item",
        "tolist",
        "numpy",
        "__array__",
        "__bool__",
        "__int__",
        "__float__",
        "__index__",
        "__complex__",
        "__contains__",
        "equal",
        "allclose",
        "is_nonzero",
    }
)
"""Functions that give plain values read from a tensor's elements: recorded, since what follows depends on data."""

NOT_OPERATIONS = frozenset(
    {
        "requires_grad_",
        "retain_grad",
        "register_hook",
        "register_post_accumulate_grad_hook",
        "share_memory_",
        "backward",
        "_set_grad_enabled",
        "size",
        "dim",
        "ndimension",
        "numel",
        "nelement",
        "stride",
        "storage_offset",
        "element_size",
        "data_ptr",
        "untyped_storage",
        "get_device",
        "is_contiguous",
        "is_floating_point",
        "is_complex",
        "is_signed",
        "is_same_size",
        "is_inference",
        "is_pinned",
        "__repr__",
        "__format__",
        "__hash__",
        "__len__",
        "__dir__",
        "__deepcopy__",
        "__reduce_ex__",
        "__setstate__",
        "_base",
        "grad",
        "grad_fn",
    }
)
"""Functions that compute nothing: called, never recorded."""

HANDS_OUT_MEMORY = frozenset({"data_ptr", "untyped_storage"})
"""Those of them through which a tensor's memory can be written to unseen."""

UNINITIALISED = frozenset({"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"})
"""Functions whose result holds whatever lay in memory."""

TENSOR_PROPERTIES = frozenset({"T", "mT", "H", "mH", "real", "imag", "data"})
"""Properties of a tensor that give another tensor."""

_NAMES_THAT_READ = """
    add sub subtract rsub mul multiply div true_divide floor_divide remainder pow neg abs
    matmul mm bmm addmm einsum outer
    eq ne gt ge lt le greater less logical_and logical_or logical_not bitwise_and bitwise_or bitwise_xor bitwise_not
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __rdiv__ __floordiv__ __rfloordiv__
    __mod__ __pow__ __rpow__ __matmul__ __rmatmul__ __neg__ __invert__ __and__ __or__ __xor__
    __eq__ __ne__ __gt__ __ge__ __lt__ __le__ __getitem__ __bool__ __int__ __float__ __index__ item tolist
    view view_as reshape transpose permute unsqueeze squeeze flatten unflatten expand expand_as narrow select t
    split chunk unbind cat stack repeat repeat_interleave contiguous clone detach
    to type float half bfloat16 double long int bool
    exp log sqrt rsqrt sin cos sigmoid tanh softmax log_softmax softplus square reciprocal clamp
    mean sum prod amax amin max min argmax topk sort argsort cumsum any all
    where gather scatter index_select masked_fill take_along_dim one_hot triu tril
    zeros_like ones_like full_like arange zeros ones full
    linear conv1d layer_norm rms_norm gelu scaled_dot_product_attention
"""
_TORCH = frozenset({"torch.", "torch.Tensor.", "torch.nn.functional."})
READ_ONLY = frozenset(_NAMES_THAT_READ.split())
"""Functions of torch that never write to what they read, except to what is handed to them as ``out``."""

_OPERATORS = {
    "add": "__add__",
    "sub": "__sub__",
    "subtract": "__sub__",
    "mul": "__mul__",
    "multiply": "__mul__",
    "div": "__truediv__",
    "true_divide": "__truediv__",
    "__div__": "__truediv__",
    "__rdiv__": "__rtruediv__",
    "floor_divide": "__floordiv__",
    "remainder": "__mod__",
    "matmul": "__matmul__",
    "pow": "__pow__",
    "neg": "__neg__",
    "bitwise_not": "__invert__",
    "bitwise_and": "__and__",
    "bitwise_or": "__or__",
    "bitwise_xor": "__xor__",
    "eq": "__eq__",
    "ne": "__ne__",
    "gt": "__gt__",
    "ge": "__ge__",
    "lt": "__lt__",
    "le": "__le__",
    "greater": "__gt__",
    "less": "__lt__",
    "add_": "__iadd__",
    "sub_": "__isub__",
    "mul_": "__imul__",
    "div_": "__itruediv__",
    "true_divide_": "__itruediv__",
    "__idiv__": "__itruediv__",
    "floor_divide_": "__ifloordiv__",
    "remainder_": "__imod__",
    "pow_": "__ipow__",
}
"""Torch's C slots name an operator after its method; where an operator instruction ran, its own name is restored."""


class TorchFunction:
    """What is known of one torch function.

    Attributes:
        name: ``torch.Tensor.softmax``, ``torch.nn.functional.softmax``, ``torch.cat``.
        operator_name: the name where an operator instruction called it: ``torch.Tensor.__add__``.
        short: last part of ``name``.
        kind: ``pass`` (never recorded), ``record`` (if it gives or writes tensors), ``read`` (always recorded).
        uninitialised: whether its result holds whatever lay in memory.
        read_only: whether it is known by its name to write to no argument but ``out``.
        writes: whether it is known by its name to write to its first argument.
    """

    __slots__ = ("kind", "name", "operator_name", "read_only", "short", "uninitialised", "writes")

    def __init__(self, function: Callable[..., Any]) -> None:
        name = public_name(function)
        self.short = name.rsplit(".", 1)[-1]
        self.kind: Kind = "record"
        property_of = name.removesuffix(".__get__").removesuffix(".__set__").rsplit(".", 1)[-1]
        if name.endswith(".__get__"):
            self.kind = "record" if property_of in TENSOR_PROPERTIES else "pass"
            name, self.short = name.removesuffix(".__get__"), property_of
        elif name.endswith((".__set__", ".__delete__")):
            self.kind = "record" if property_of in TENSOR_PROPERTIES else "pass"
        elif self.short in NOT_OPERATIONS:
            self.kind = "pass"
        elif self.short in DATA_READERS:
            self.kind = "read"
        self.uninitialised = self.short in UNINITIALISED
        self.read_only = self.short in READ_ONLY and name.removesuffix(self.short) in _TORCH
        self.name = name
        self.operator_name = name.removesuffix(self.short) + _OPERATORS.get(self.short, self.short)
        self.writes = (
            self.short in {"__setitem__", "__set__"}
            or (self.short.endswith("_") and not self.short.startswith("_"))
            or (self.short.startswith("__i") and self.short not in {"__index__", "__int__", "__invert__", "__iter__"})
        )


def public_name(function: Callable[..., Any]) -> str:
    """Name under which an author finds ``function``: ``torch.einsum``, not ``torch.functional.einsum``."""
    name: str | None = resolve_name(function)
    if name is None:
        module = getattr(function, "__module__", None) or "torch"
        qualified = getattr(function, "__qualname__", type(function).__name__)
        module = module.replace("torch._C._nn", "torch.nn.functional").replace("torch._C", "torch")
        name = f"{module}.{qualified.replace('_VariableFunctionsClass.', '')}".replace("TensorBase", "Tensor")
    if name.startswith("torch.functional."):
        return "torch." + name.removeprefix("torch.functional.")
    return name


KNOWN: dict[Callable[..., Any], TorchFunction] = {}
"""What :func:`torch_function` worked out so far."""

PASSED: set[Callable[..., Any]] = set()
"""Those of them that are never recorded and need not be watched either."""


def torch_function(function: Callable[..., Any]) -> TorchFunction:
    """What is known of ``function``; worked out once."""
    known = KNOWN.get(function)
    if known is None:
        known = KNOWN[function] = TorchFunction(function)
        if known.kind == "pass" and known.short not in HANDS_OUT_MEMORY:
            PASSED.add(function)
    return known
