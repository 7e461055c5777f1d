"""Which tensor is which: numbers for tensor objects, new numbers for in-place writes, views by shared storage."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence, Set
from typing import Literal

import torch

from openmodelatlas.capture.child.encode import dtype_name
from openmodelatlas.capture.child.table import Table
from openmodelatlas.capture.recording import Tensor

Origin = Literal["input", "parameter", "buffer", "operation", "outside"]

LARGEST_OVERLAP_MASK = 2**20
"""Elements of a storage up to which two views of it are compared element by element."""

RELEASE_AFTER = 2**28
"""Bytes of new storages after which the memory of tensors that nobody uses any more is given back."""

_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_NONE: frozenset[int] = frozenset()
_OWN_REFERENCES = 4  # kept list, storage list, loop variable, argument of getrefcount


def version_of(tensor: torch.Tensor) -> int:
    """The counter autograd raises at every in-place write, shared by all views; -1 for tensors that keep none."""
    try:
        return tensor._version
    except RuntimeError:  # inference tensors
        return -1


def storage_of(tensor: torch.Tensor) -> int:
    """Identity of the memory behind ``tensor``, 0 for tensors without one (empty, sparse, functorch wrappers).

    The address of the storage's first byte while it lives; asking for the storage object costs thirty times as much.
    A tensor on the meta device has no address: what torch gives as one is its offset, in bytes.
    """
    try:
        if tensor.is_meta:
            identity: int = tensor.untyped_storage()._cdata
            return identity
        address = tensor.data_ptr()
        if address:
            offset = tensor.storage_offset()
            return address - int(offset) * tensor.element_size() if offset else address
    except (RuntimeError, NotImplementedError):
        return 0
    return 0


class TensorTable:
    """All tensors of one recording. Holds every tensor object, so that an ``id`` never comes to mean another one.

    The memory behind tensors that nobody else holds is given back now and then: the objects stay, empty.

    Must be used with torch functions disabled: reading a size of a tensor would be recorded otherwise.

    Values are kept without copying them as long as nothing can have changed them: a tensor is copied when a function
    that may write, or hand its memory to others, meets a tensor of the same storage (:meth:`expose`).

    Attributes:
        references: every tensor object by ``id`` as recordings refer to it: ``{"tensor": current number}``.
        table: all tensors by number.
        keeps_values: whether values are kept; none are for tensors on the meta device.
    """

    def __init__(self, *, keep_values: bool, keep_records: bool = True) -> None:
        """``keep_records``: see :class:`.table.Table`; without it nothing can be asked of :meth:`description`."""
        self.keeps_values = keep_values
        self.references: dict[int, dict[str, int]] = {}
        self._kept: list[torch.Tensor] = []
        self.table: Table[Tensor] = Table(keep=keep_records)
        self._storages: list[int] = []
        self._sharing: dict[int, list[torch.Tensor]] = {}
        self._fresh_bytes = 0
        self._views_refer = _views_refer()
        self._values: dict[int, torch.Tensor] = {}
        self._uncopied: dict[int, int] = {}  # number to place in _kept
        self._exposed: set[int] = set()
        self._versions: dict[int, int] = {}

    @property
    def count(self) -> int:
        """How many numbers were given out."""
        return self.table.count

    def description(self, number: int) -> Tensor:
        """What is known of a tensor."""
        return self.table.latest[number]

    def values(self) -> dict[int, torch.Tensor]:
        """The kept values by number."""
        return self._values | {number: self._kept[place].detach() for number, place in self._uncopied.items()}

    def drop(self, numbers: Iterable[int]) -> None:
        """Keep the values of these tensors no longer."""
        for number in numbers:
            if self._uncopied.pop(number, None) is None:
                self._values.pop(number, None)

    def keep_again(self, numbers: Set[int]) -> None:
        """Keep values that were dropped, of the tensors that nothing has written to since."""
        for tensor in self._kept:
            number = self.number(tensor)
            if number in numbers and number not in self._values and number not in self._uncopied:
                version = self._versions.get(number, -1)
                if version >= 0 and version == version_of(tensor):
                    self._values[number] = _copy(tensor)

    def expose(self, tensors: Iterable[torch.Tensor]) -> None:
        """From now on the memory of these tensors may change unseen: copy what lies in it, and what ever will."""
        if not self.keeps_values:
            return
        for tensor in tensors:
            storage = storage_of(tensor)
            if storage and storage not in self._exposed:
                self._exposed.add(storage)
                for other in self._sharing.get(storage, ()):
                    number = self.number(other)
                    if self._uncopied.pop(number, None) is not None:
                        self._values[number] = _copy(other)

    def known(self, tensor: torch.Tensor) -> int | None:
        """Current number of ``tensor``, ``None`` if it was never seen."""
        reference = self.references.get(id(tensor))
        return None if reference is None else reference["tensor"]

    def number(self, tensor: torch.Tensor) -> int:
        """Current number of ``tensor``; one never seen is entered as coming from outside."""
        known = self.references.get(id(tensor))
        if known is not None:
            return known["tensor"]
        with torch._C.DisableTorchFunction():
            return self.enter(tensor, "outside", -1)

    def enter(
        self, tensor: torch.Tensor, origin: Origin, index: int, name: str = "", inputs: Sequence[torch.Tensor] = ()
    ) -> int:
        """Give a tensor object that has no number its first one, or a new one after a write.

        Args:
            tensor: the object.
            origin, index, name: as in :class:`openmodelatlas.capture.recording.Tensor`.
            inputs: tensors the operation read; if one shares the storage, it becomes the base.
        """
        if self._fresh_bytes > RELEASE_AFTER:
            self._release()
        records = self.table.latest
        number = self.table.earlier + len(records)
        storage = storage_of(tensor)
        sharing = self._sharing.get(storage) if storage else None
        base = -1
        if sharing is None:
            if storage:
                self._sharing[storage] = [tensor]
                if tensor.is_cpu:  # the others have no memory here
                    self._fresh_bytes += tensor.nbytes
            self._kept.append(tensor)
        else:
            base = self._base(tensor, storage, sharing, inputs)
            if id(tensor) not in self.references:
                sharing.append(tensor)
                self._kept.append(tensor)
        self.references[id(tensor)] = {"tensor": number}
        self._storages.append(storage)
        records.append(Tensor(list(tensor.shape), dtype_name(tensor.dtype), origin, index, name, base))
        if self.keeps_values:
            self._keep(number, tensor, storage)
        return number

    def _base(
        self, tensor: torch.Tensor, storage: int, sharing: list[torch.Tensor], inputs: Sequence[torch.Tensor]
    ) -> int:
        for source in inputs:
            number = self.references[id(source)]["tensor"]
            if source is not tensor and self._storages[number] == storage:
                return number
        return -1 if sharing[0] is tensor else self.number(sharing[0])

    def others_written(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """Tensor objects still in use elsewhere whose elements overlap those of ``tensor``, which was written to."""
        sharing = self._sharing.get(storage_of(tensor), [])
        found = []
        for other in sharing:
            if other is not tensor and sys.getrefcount(other) > _OWN_REFERENCES and overlap(tensor, other):
                found.append(other)
        return found

    def _release(self) -> None:
        """Empty the storages that only tensors of this table share, and that no code outside of it can reach."""
        self._fresh_bytes = 0
        for storage, sharing in list(self._sharing.items()):
            bases = {id(tensor._base) for tensor in sharing} if len(sharing) > 1 and self._views_refer else _NONE
            if any(sys.getrefcount(tensor) - (id(tensor) in bases) > _OWN_REFERENCES for tensor in sharing):
                continue
            if any(self.number(tensor) in self._uncopied for tensor in sharing):
                continue
            memory = sharing[0].untyped_storage()
            # One use for each tensor and one for ``memory``; others are arrays, or tensors that C++ or nobody told of.
            if memory.device.type != "cpu" or not memory.resizable():
                continue
            if torch._C._storage_Use_Count(memory._cdata) != len(sharing) + 1:
                continue
            memory.resize_(0)
            del self._sharing[storage]
            self._exposed.discard(storage)
            for tensor in sharing:
                self._versions.pop(self.number(tensor), None)

    def forget(self) -> None:
        """Let go of every tensor."""
        self.references = {}
        self._kept = []
        self.table = Table(keep=True)
        self._storages = []
        self._sharing = {}
        self._values = {}
        self._uncopied = {}
        self._versions = {}

    def _keep(self, number: int, tensor: torch.Tensor, storage: int) -> None:
        if tensor.is_meta:
            return
        if storage and storage not in self._exposed and self._kept[-1] is tensor:
            self._uncopied[number] = len(self._kept) - 1
        elif storage or (tensor.layout is torch.strided and not _is_wrapped(tensor)):
            self._values[number] = _copy(tensor)
        else:
            return
        self._versions[number] = version_of(tensor)


def _views_refer() -> bool:
    """Whether the views of a tensor count as one more reference to it: of torch 2.13, not of earlier ones."""
    tensor = torch.empty(1)
    before = sys.getrefcount(tensor)
    view = tensor.view(1)
    return view is not tensor and sys.getrefcount(tensor) > before


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def overlap(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two tensors of one storage have an element in common (``True`` when it is too large to tell)."""
    if first.numel() == 0 or second.numel() == 0:
        return False
    if first.dtype != second.dtype:
        return True
    (first_low, first_high), (second_low, second_high) = _extent(first), _extent(second)
    if first_high < second_low or second_high < first_low:
        return False
    told = _boxes_overlap(first, second)
    if told is not None:
        return told
    low, high = min(first_low, second_low), max(first_high, second_high)
    if high - low >= LARGEST_OVERLAP_MASK:
        return True
    mask = torch.zeros(high - low + 1, dtype=torch.bool)
    mask.as_strided(first.shape, first.stride(), first_low - low).fill_(True)
    return bool(mask.as_strided(second.shape, second.stride(), second_low - low).any())


def _boxes_overlap(first: torch.Tensor, second: torch.Tensor) -> bool | None:
    """Whether two slices of one dense tensor meet; ``None`` if they are no such slices.

    With equal strides, each no shorter than all that varies within it, an offset is a number in mixed radix whose
    digits are the coordinates, and a slice is a box: boxes meet if they meet along every axis.
    """
    if first.stride() != second.stride():
        return None
    rests = [int(first.storage_offset()), int(second.storage_offset())]
    outer = None
    meet = True
    strides = first.stride()
    for axis in sorted(range(first.dim()), key=lambda axis: -strides[axis]):
        stride = strides[axis]
        if stride == 0:
            return None
        starts = [rest // stride for rest in rests]
        ends = [starts[0] + first.shape[axis], starts[1] + second.shape[axis]]
        if outer is not None and max(ends) * stride > outer:
            return None
        meet = meet and starts[0] < ends[1] and starts[1] < ends[0]
        rests = [rest % stride for rest in rests]
        outer = stride
    return meet if rests[0] == rests[1] else None


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """Offsets of the first and the last element in the storage, in elements (torch's strides are never negative)."""
    low = int(tensor.storage_offset())
    return low, low + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
