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
            "causal_conv1d",
            "causal-conv1d",
            "1.7.0",
            (f"{HERE}.causal_conv1d.convolution",),
        ),
        Package(
            "fla",
            "flash-linear-attention",
            "0.6.0",
            (
                f"{HERE}.fla.kda",
                f"{HERE}.fla.gate",
                f"{HERE}.fla.gated_delta",
                f"{HERE}.fla.linear",
                f"{HERE}.fla.plain_linear",
                f"{HERE}.fla.convolution",
                f"{HERE}.fla.norms",
                f"{HERE}.fla.index",
                f"{HERE}.fla.padding",
                f"{HERE}.fla.utils",
            ),
        ),
        Package(
            "flash_attn",
            "flash-attn",
            "2.8.3.post2",
            (
                f"{HERE}.flash_attn.attention",
                f"{HERE}.flash_attn.packed",
                f"{HERE}.flash_attn.padding",
                f"{HERE}.flash_attn.rotary",
            ),
        ),
        Package(
            "mamba_ssm",
            "mamba-ssm",
            "2.3.2.post1",
            (
                f"{HERE}.mamba_ssm.selective_scan",
                f"{HERE}.mamba_ssm.ssd",
                f"{HERE}.mamba_ssm.norms",
                f"{HERE}.mamba_ssm.add_norm",
            ),
        ),
    )
}
