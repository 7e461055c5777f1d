"""One table of a recording while it grows."""

from __future__ import annotations

from typing import Generic, TypeVar, cast

import msgspec

from openmodelatlas.capture.child.output import encoded

Record = TypeVar("Record")

AT_ONCE = 256
"""Records that are encoded together: while they are still in the processor's cache."""


class Table(Generic[Record]):
    """Records in order, of which all but the latest may be JSON already.

    Tens of thousands of small objects that stay lie so scattered in memory that encoding them in the end takes three
    times as long (measured).

    Attributes:
        latest: the records that are objects still; records are appended here.
        earlier: how many records came before those.
    """

    def __init__(self, *, keep: bool) -> None:
        """``keep``: all records stay objects, for those who look at them again."""
        self.latest: list[Record] = []
        self.earlier = 0
        self._keep = keep
        self._text = bytearray()

    @property
    def count(self) -> int:
        """How many records there are."""
        return self.earlier + len(self.latest)

    def pack(self) -> None:
        """Turn the latest records into JSON, unless somebody looks at them again."""
        if self.latest and not self._keep:
            self._text += encoded(self.latest)[1:-1] + b","
            self.earlier += len(self.latest)
            self.latest.clear()

    def finished(self) -> list[Record]:
        """The whole table, for a recording that is to be encoded: to ``msgspec`` JSON is as good as records."""
        if self._keep:
            return self.latest
        self.pack()
        return cast(list[Record], msgspec.Raw(b"[" + self._text.removesuffix(b",") + b"]"))
