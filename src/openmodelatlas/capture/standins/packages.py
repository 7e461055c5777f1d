"""Which packages have stand-ins, and where their implementations live. The one table to extend for a new package."""

from __future__ import annotations

import dataclasses

HERE = "openmodelatlas.capture.standins"


@dataclasses.dataclass(frozen=True)
class Package:
    """One package that stand-ins replace.

    Attributes:
        name: import name.
        distribution: name on PyPI, which ``importlib.metadata`` answers to.
        version: release whose signatures and semantics the stand-ins follow; their ``__version__``.
        implementations: our modules that declare its functions and classes when imported.
    """

    name: str
    distribution: str
    version: str
    implementations: tuple[str, ...]


PACKAGES: dict[str, Package] = {
    package.name: package
    for package in (
        Package(
            "fla",
            "flash-linear-attention",
            "0.6.0",
            (
                f"{HERE}.fla.kda",
                f"{HERE}.fla.gate",
                f"{HERE}.fla.convolution",
                f"{HERE}.fla.norms",
                f"{HERE}.fla.index",
                f"{HERE}.fla.padding",
                f"{HERE}.fla.utils",
            ),
        ),
    )
}
