"""Text of model code that UTF-8 cannot hold is written out."""

from __future__ import annotations

import msgspec

from openmodelatlas.capture.child.output import encoded


class Sample(msgspec.Struct):
    names: dict[str, list[str]]


def test_lone_surrogates_are_written_out() -> None:
    data = encoded(Sample(names={"\udc80bad": ["\udc81", "é变\U0001f44d"]}))

    assert msgspec.json.decode(data, type=Sample).names == {"\\udc80bad": ["\\udc81", "é变\U0001f44d"]}


def test_all_other_text_stays() -> None:
    value = Sample(names={"é": ["a\nb"]})

    assert msgspec.json.decode(encoded(value), type=Sample) == value
