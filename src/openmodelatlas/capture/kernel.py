"""System calls that Python has no function for, by number or through the C library. Linux only; no torch."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys

# linux/prctl.h
PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

# linux/sched.h
CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

# linux/mount.h
MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MOUNT_ATTR_RDONLY = 1
AT_FDCWD = -100
AT_RECURSIVE = 0x8000

MOUNT_SETATTR = 442  # the same number on every architecture, as for all calls since 424
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
CAPSET = {"x86_64": 126, "aarch64": 91}


def is_linux() -> bool:
    """Whether the calls of this module exist here at all."""
    return sys.platform == "linux"


def machine() -> str:
    """Architecture as the kernel names it: ``x86_64``, ``aarch64``, …"""
    return platform.machine()


def _library() -> ctypes.CDLL:
    if not is_linux():
        raise OSError(f"a feature of Linux; this is {sys.platform}")
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, name: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def syscall(name: str, number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Call the kernel by number.

    Raises:
        OSError: what the kernel answered, with ``name`` in its text.
    """
    converted = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _checked(int(_library().syscall(ctypes.c_long(number), *converted)), name)


def prctl(option: int, first: int = 0, second: int | bytes = 0) -> None:
    """Set a property of this process (``man 2 prctl``). Raises OSError."""
    pointer = second if isinstance(second, bytes) else ctypes.c_ulong(second)
    zero = ctypes.c_ulong(0)
    _checked(int(_library().prctl(option, ctypes.c_ulong(first), pointer, zero, zero)), "prctl")


def unshare(flags: int) -> None:
    """Move this process into new namespaces (``man 2 unshare``). Raises OSError."""
    _checked(int(_library().unshare(flags)), "unshare")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount something in this process's mount namespace (``man 2 mount``). Raises OSError."""
    texts = [text.encode() if text else None for text in (source, target, kind, data)]
    result = _library().mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])
    _checked(int(result), f"mount {target}")


def set_mount_read_only(target: str, *, read_only: bool, recursive: bool) -> None:
    """Make the mounts at ``target`` read-only or writable (``man 2 mount_setattr``, Linux 5.12). Raises OSError."""
    attributes = bytearray(32)  # struct mount_attr: attr_set, attr_clr, propagation, userns_fd
    offset = 0 if read_only else 8
    attributes[offset : offset + 8] = MOUNT_ATTR_RDONLY.to_bytes(8, sys.byteorder)
    flags = AT_RECURSIVE if recursive else 0
    syscall("mount_setattr", MOUNT_SETATTR, AT_FDCWD, target.encode(), flags, bytes(attributes), len(attributes))


def drop_capabilities() -> None:
    """Give up every capability of this process (``man 2 capset``). Raises OSError."""
    number = CAPSET.get(machine())
    if number is None:
        raise OSError(f"capset: unknown on {machine()}")
    header = (0x20080522).to_bytes(4, sys.byteorder) + bytes(4)
    syscall("capset", number, header, bytes(24))


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies. Raises OSError."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
