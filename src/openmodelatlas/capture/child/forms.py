"""What the operations of one expression have in common, written down once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch

from openmodelatlas.capture.child.encode import LONGEST_LIST, TENSORS, Encoder
from openmodelatlas.capture.child.output import encoded
from openmodelatlas.capture.child.tensors import TensorTable
from openmodelatlas.capture.recording import DEEPEST, Form

_PLAIN = frozenset({bool, int, str, type(None), type(...), torch.dtype})
"""Types of arguments that their type and value tell apart: 1 and True are equal."""

_SEQUENCES = frozenset({list, tuple, torch.Size})


class _OtherError(Exception):
    """An argument that is none of these."""


class FormTable:
    """The forms of one recording.

    Must be used with torch functions disabled, like the table of tensors.

    Attributes:
        forms: all forms by number.
    """

    def __init__(self, encoder: Encoder, tensors: TensorTable) -> None:
        self.forms: list[Form] = []
        self._numbers: dict[Hashable, int] = {}
        self._tensors = tensors
        self._encoder = encoder.with_places(self._place)
        self._places = 0

    def enter(
        self, function: str, span: int, args: tuple[Any, ...], kwargs: dict[str, Any], found: list[torch.Tensor]
    ) -> tuple[int, list[int]]:
        """The form of an operation, and the numbers of the tensors that it reads; these are added to ``found``."""
        parts: list[Any] = [function, span]
        try:
            for value in args:
                kind = type(value)
                if kind in TENSORS:
                    found.append(value)
                    parts.append(None)
                elif kind in _PLAIN:
                    parts.append(kind)
                    parts.append(value)
                else:
                    parts.append(_told(value, found, 0))
            for name, value in kwargs.items():
                parts.append(name)
                parts.append(_told(value, found, 0))
        except Exception:  # _OtherError, or what a class raises that cannot be hashed
            found.clear()
            return self._enter_any(function, span, args, kwargs, found)
        key = tuple(parts)
        form = self._numbers.get(key)
        if form is None:
            form = self._new(key, self._form(function, span, args, kwargs, []))
        return form, self._numbers_of(found)

    def _enter_any(
        self, function: str, span: int, args: tuple[Any, ...], kwargs: dict[str, Any], found: list[torch.Tensor]
    ) -> tuple[int, list[int]]:
        """The same for arguments of any type: they are told apart as they are written down."""
        form = self._form(function, span, args, kwargs, found)
        key = function, span, encoded((form.arguments, form.keywords))
        number = self._numbers.get(key)
        return self._new(key, form) if number is None else number, self._numbers_of(found)

    def _numbers_of(self, tensors: list[torch.Tensor]) -> list[int]:
        references, number = self._tensors.references, self._tensors.number
        return [
            known["tensor"] if (known := references.get(id(tensor))) is not None else number(tensor)
            for tensor in tensors
        ]

    def _form(
        self, function: str, span: int, args: tuple[Any, ...], kwargs: dict[str, Any], found: list[torch.Tensor]
    ) -> Form:
        self._places = 0
        encode = self._encoder.encode
        arguments = [encode(value, found) for value in args]
        return Form(function, span, arguments, {name: encode(value, found) for name, value in kwargs.items()})

    def _place(self, tensor: torch.Tensor) -> int:
        """Stands for a tensor's number in a form."""
        self._places += 1
        return self._places - 1

    def _new(self, key: Hashable, form: Form) -> int:
        number = self._numbers[key] = len(self.forms)
        self.forms.append(form)
        return number


def _told(value: Any, found: list[torch.Tensor], depth: int) -> Hashable:
    """What of an argument makes a form another one; its tensors are added to ``found``.

    Raises:
        _OtherError: it is or holds something of another type, or is not written down whole.
    """
    kind = type(value)
    if kind in TENSORS:
        found.append(value)
        return None
    if kind in _PLAIN:
        return kind, value
    if kind is float:
        return kind, value.hex()  # 0.0 and -0.0 are equal, and no NaN is equal to itself
    depth += 1
    if kind in _SEQUENCES and len(value) <= LONGEST_LIST and depth <= DEEPEST:
        return tuple([_told(item, found, depth) for item in value])
    if kind is slice and depth <= DEEPEST:
        parts = value.start, value.stop, value.step
        return slice, *[_told(part, found, depth) for part in parts]
    raise _OtherError
