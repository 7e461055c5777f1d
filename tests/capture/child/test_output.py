"""Text of model code that UTF-8 cannot hold is written out."""

from __future__ import annotations

import msgspec
import pytest

from openmodelatlas.capture.child.output import encoded
from openmodelatlas.capture.child.table import AT_ONCE, Table


class Sample(msgspec.Struct):
    names: dict[str, list[str]]


def test_lone_surrogates_are_written_out() -> None:
    data = encoded(Sample(names={"\udc80bad": ["\udc81", "é变\U0001f44d"]}))

    assert msgspec.json.decode(data, type=Sample).names == {"\\udc80bad": ["\\udc81", "é变\U0001f44d"]}


def test_all_other_text_stays() -> None:
    value = Sample(names={"é": ["a\nb"]})

    assert msgspec.json.decode(encoded(value), type=Sample) == value


class Held(msgspec.Struct):
    name: str
    table: list[Sample]


@pytest.mark.parametrize("name", ["a", "\udc80"])
@pytest.mark.parametrize("count", [0, 1, AT_ONCE, AT_ONCE + 1])
@pytest.mark.parametrize("keep", [True, False])
def test_a_table_is_the_same_packed_or_not(name: str, count: int, keep: bool) -> None:
    records = [Sample(names={f"é{number}": []}) for number in range(count)]
    table: Table[Sample] = Table(keep=keep)
    for number, record in enumerate(records):
        assert table.count == number
        table.latest.append(record)
        if number % AT_ONCE == AT_ONCE - 1:
            table.pack()
            assert bool(table.latest) == keep

    data = encoded(Held(name=name, table=table.finished()))

    assert msgspec.json.decode(data, type=Held).table == records
