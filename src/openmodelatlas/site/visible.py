"""Makes visible what would steer a terminal or reorder a line: names and code come from strangers."""

from __future__ import annotations

import re

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PICTURES, _DELETE = 0x2400, 0x7F


def visible(text: str) -> str:
    """``text`` with every control character but tab and line feed as one visible character in its place.

    Those of ASCII become their pictures (``␛`` for escape: Unicode's block Control Pictures), the others and those that
    change the direction of writing (https://trojansource.codes) ``�``. Lengths and columns stay as they are.
    """
    return _UNSEEN.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    number = ord(found.group())
    if number < 0x20:
        return chr(_PICTURES + number)
    return "␡" if number == _DELETE else "�"
