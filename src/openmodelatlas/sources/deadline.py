"""Gives up on a call after a time, whatever it hangs in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class DeadlineExceededError(Exception):
    """The call did not return in time; it goes on in a thread that nobody waits for."""


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """What ``call`` returns or raises, if it does so within ``seconds`` of wall-clock time.

    Socket timeouts bound one connection attempt or one read each; a name look-up, several addresses of one host, or a
    server that sends a byte at a time are bounded by none of them. So the call runs in a daemon thread.

    Raises:
        DeadlineExceededError: it took longer.
    """
    outcome: _Outcome[Result] = _Outcome()
    thread = threading.Thread(target=outcome.fill, args=(call,), daemon=True, name="openmodelatlas-hub")
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise DeadlineExceededError
    return outcome.get()


class _Outcome(Generic[Result]):
    def __init__(self) -> None:
        self.values: list[Result] = []
        self.error: BaseException | None = None

    def fill(self, call: Callable[[], Result]) -> None:
        try:
            self.values.append(call())
        except BaseException as error:
            self.error = error

    def get(self) -> Result:
        if self.error is not None:
            raise self.error
        return self.values[0]
