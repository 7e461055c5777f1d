"""Stand-ins: our own plain-PyTorch implementations of GPU-kernel packages that model code imports.

``install()`` makes ``import fla`` and the like load them. Importing this module imports no torch; importing a
stand-in package does.
"""

from __future__ import annotations

from openmodelatlas.capture.standins.absent import (
    AbsentKernelError,
    Miss,
    UnsupportedCallError,
    explain_missing,
    misses,
)
from openmodelatlas.capture.standins.finder import install, uninstall
from openmodelatlas.capture.standins.packages import PACKAGES
from openmodelatlas.capture.standins.scan import imported_standins

__all__ = [
    "PACKAGES",
    "AbsentKernelError",
    "Miss",
    "UnsupportedCallError",
    "explain_missing",
    "imported_standins",
    "install",
    "misses",
    "uninstall",
]
