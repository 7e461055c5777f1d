"""Where the code of released packages can be read on the web."""

from __future__ import annotations

import re

_RELEASE = re.compile(r"\d+(\.\d+){1,3}(\.post\d+)?")
_SAFE = re.compile(r"[A-Za-z0-9_./-]+")

_PLACES = {
    # Every release has a tag `v4.56.2`, in which the package lies under `src`.
    "transformers": "https://github.com/huggingface/transformers/blob/v{version}/src/{path}#L{{first}}-L{{last}}",
}


def code_url(package: str, version: str, path: str) -> str | None:
    """Web address of lines of a file of a released package, with ``{first}`` and ``{last}`` for the lines.

    It is not asked whether it answers. The hash of the cited file, which the atlas holds, tells whether that is it.

    Args:
        package, version: the installed distribution; versions that were never released have no address.
        path: POSIX path within the folder of installed packages, ``transformers/cache_utils.py``.

    Returns:
        ``None`` if no such place is known.
    """
    place = _PLACES.get(package)
    if place is None or not (_RELEASE.fullmatch(version) and _SAFE.fullmatch(path)):
        return None
    return place.format(version=version, path=path)
