"""Imports and calls that no stand-in serves: one clear error that names them, the place, and what to do."""

from __future__ import annotations

import dataclasses
import sys
from types import FrameType
from typing import Any, NoReturn

from openmodelatlas.errors import MissingStandInError

GUIDE = "docs/adding-a-stand-in.md"

KERNEL_PACKAGES = frozenset(
    {
        "apex", "bitsandbytes", "cuda", "cupy", "cutlass", "deep_ep", "deep_gemm", "deepspeed", "flash_attn_3",
        "flash_attn_interface", "flash_mla", "flashinfer", "grouped_gemm", "kernels", "liger_kernel", "lightning_attn",
        "magi_attention", "megablocks", "mamba_ssm", "sageattention", "sgl_kernel", "tilelang", "tokenspeed_triton",
        "transformer_engine", "triton", "vllm", "xformers", "flash_attn", "fla", "causal_conv1d",
    }
)  # fmt: skip
"""Packages that need a GPU or its compiler: installing them does not help, a stand-in does."""


class AbsentKernelError(MissingStandInError, ModuleNotFoundError):
    """An import from a package that stand-ins replace, of something they do not have.

    It is an ``ImportError`` too, so that model code with ``try: import … except ImportError`` behaves as it would
    where the package is absent.
    """


class UnsupportedCallError(MissingStandInError, NotImplementedError):
    """A stand-in was called with an argument whose meaning it does not implement."""


@dataclasses.dataclass(frozen=True)
class Miss:
    """One import that found nothing.

    Attributes:
        name: dotted name of the module, or of the attribute of a stand-in module.
        file, line: the importing statement; ``<unknown>`` and 0 where there is none.
    """

    name: str
    file: str
    line: int


_misses: dict[Miss, None] = {}


def misses() -> tuple[Miss, ...]:
    """Imports that found nothing since :func:`~openmodelatlas.capture.standins.install`, in order, without repeats.

    Model code often catches ``ImportError`` and sets the names to ``None``; the failure then appears far away, as a
    ``None`` that is called. Whoever reports it finds the cause here, by the file of the model's code.
    """
    return tuple(_misses)


def clear_misses() -> None:
    """Forgets what :func:`misses` lists."""
    _misses.clear()


def importing_place(frame: FrameType | None) -> tuple[str, int]:
    """File and line of the nearest frame that is neither import machinery nor ours."""
    ours = __name__.rpartition(".")[0]
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(("importlib", "_frozen_importlib", ours)):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "<unknown>", 0


def record_miss(name: str) -> Miss:
    """Remembers that ``name`` could not be imported from where we are being called."""
    miss = Miss(name, *importing_place(sys._getframe(1)))
    _misses.setdefault(miss)
    return miss


def absent_kernel(name: str) -> AbsentKernelError:
    """The error for ``name``, something in a package that stand-ins replace."""
    miss = record_miss(name)
    error = AbsentKernelError(
        f"No module or function named {name!r} has a stand-in.",
        where=f"{miss.file}:{miss.line}",
        advice=f"{GUIDE} says how to add one.",
    )
    error.name = name
    return error


def refuse(kernel: str, argument: str, value: Any = ...) -> NoReturn:
    """Raises :class:`UnsupportedCallError` for an argument that the stand-in of ``kernel`` does not implement."""
    shown = (
        ""
        if value is ...
        else f"={value!r}"
        if isinstance(value, bool | int | float | str)
        else f" ({type(value).__name__})"
    )
    file, line = importing_place(sys._getframe(1))
    raise UnsupportedCallError(
        f"The stand-in of {kernel} does not implement the argument {argument}{shown}.",
        where=f"{file}:{line}",
        advice=f"{GUIDE} says how to extend a stand-in.",
    )


def explain_missing(error: ImportError) -> MissingStandInError:
    """Turns any failed import into the error that a user should read.

    Args:
        error: what an import raised; its traceback tells the importing statement.

    Returns:
        ``error`` itself if it is already explained; otherwise an error that names the module, the importing file and
        line, and whether a stand-in or an installed package is what is missing.
    """
    if isinstance(error, MissingStandInError):
        return error
    where = _place_of(error)
    if not isinstance(error, ModuleNotFoundError):
        from openmodelatlas.capture.child.source_package import PACKAGE

        package = (error.name or "a module").partition(".")[0]
        advice = f"The code was written for another version of {package}: choose it with --with."
        if package == PACKAGE:
            advice = "The source's own modules do not fit together: build a revision whose code can be imported."
        return MissingStandInError(f"{error.msg or error}.", where=where, advice=advice)
    name = error.name or str(error)
    package = name.partition(".")[0]
    if package in KERNEL_PACKAGES:
        advice = f"It is a package of GPU kernels; {GUIDE} says how to add a stand-in."
    else:
        advice = f"Add it to the environment the code runs in: --with {package}."
    return MissingStandInError(f"The code imports {name!r}, which is absent.", where=where, advice=advice)


def _place_of(error: ImportError) -> str | None:
    place = None
    traceback = error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith("<frozen importlib") and "/importlib/" not in file.replace("\\", "/"):
            place = f"{file}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
