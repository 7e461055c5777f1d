"""Standard output and error that take every character, and that know whether they failed."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path

from openmodelatlas.errors import BundleError


class Output(io.TextIOWrapper):
    """Standard output.

    Attributes:
        fault: why something could not be written; ``None`` if everything was. What failed once may pass later, since a
            buffer that could not be written is empty.
    """

    fault: OSError | None = None

    def write(self, text: str, /) -> int:
        """As for any file."""
        try:
            return super().write(text)
        except OSError as error:
            self.fault = error
            raise

    def flush(self) -> None:
        """As for any file."""
        try:
            super().flush()
        except OSError as error:
            self.fault = error
            raise


class _Closed(io.RawIOBase):
    """Stands for a stream that was closed before the program began."""

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def prepare_streams() -> None:
    """Makes standard output and error take every character, whatever their encoding, and refuse writes if closed."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # a closed one would be given to the next file that is opened
    os.close(descriptor)
    if sys.stdout is None:
        sys.stdout = Output(io.BufferedWriter(_Closed()), encoding="utf-8")
    elif isinstance(sys.stdout, io.TextIOWrapper):
        encoding, by_line = sys.stdout.encoding, sys.stdout.line_buffering
        sys.stdout = Output(sys.stdout.detach(), encoding, "backslashreplace", line_buffering=by_line)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - it stays open
    elif isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def output_fault() -> BundleError | None:
    """What is wrong with standard output; ``None`` if it took what it was given."""
    fault = sys.stdout.fault if isinstance(sys.stdout, Output) else None
    if fault is None:
        return None
    return BundleError(
        f"The output cannot be written: {fault.strerror or fault}.",
        where="standard output",
        advice="Send it elsewhere.",
    )
