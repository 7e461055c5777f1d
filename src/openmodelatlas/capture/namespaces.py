"""Linux namespaces: the child sees no network device, no other process and a file system that is read-only.

All of it works for an ordinary user through a user namespace; some distributions forbid those, in which case the
other protections (seccomp, Landlock) remain.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from openmodelatlas.capture import kernel

_WANTED = (
    kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET | kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC
)  # fmt: skip


def separate() -> None:
    """Leave the user, network, process, mount and IPC namespaces of the parent.

    The process itself keeps its process number; the first process it starts afterwards is number 1 of the new ones.

    Raises:
        OSError: not Linux, or namespaces are forbidden to this user.
    """
    user, group = os.getuid(), os.getgid()
    kernel.unshare(_WANTED)
    # Without a map the process would have the overflow user's number; files are checked by the real one either way.
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def run_first_process() -> NoReturn:
    """Be process 1 of a new process namespace: all others die with it, and orphans are collected by it."""
    kernel.die_with_parent()
    for descriptor in range(3):
        with contextlib.suppress(OSError):
            os.close(descriptor)
    os.closerange(3, 256)  # the pipes to the parent, which have its numbers: it has few files open
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        signal.pause()


def mount_own_process_list() -> None:
    """Show at ``/proc`` the processes of this namespace only. Raises OSError."""
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)


def limit_processes(most: int) -> None:
    """Let no more than about ``most`` processes and threads live in this process namespace. Raises OSError.

    The limit of ``setrlimit`` does not hold for the real root user (``copy_process`` in Linux's ``kernel/fork.c``), so
    that a model that forks without end would bring a machine to a halt before anybody could end it. A process
    namespace has a highest number of its own since Linux 6.14 (https://docs.kernel.org/admin-guide/sysctl/kernel.html);
    before that the setting is one of the whole machine, which is left alone. The kernel accepts no number below 301, or
    8 for each processor. ``/proc`` must be that of the namespace.
    """
    release = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    if release < (6, 14):
        raise OSError(f"Linux {os.uname().release} limits no process namespace (6.14 does)")
    Path("/proc/sys/kernel/pid_max").write_text(str(max(most, 512, 8 * (os.cpu_count() or 1))))


def make_read_only(*, but: Sequence[str]) -> None:
    """Make every mounted file system read-only, except the folders ``but``. Raises OSError."""
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    for folder in but:
        kernel.mount(folder, folder, "", kernel.MS_BIND)
    kernel.set_mount_read_only("/", read_only=True, recursive=True)
    for folder in but:
        kernel.set_mount_read_only(folder, read_only=False, recursive=False)
