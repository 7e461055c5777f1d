"""Landlock: a process gives up access to files for itself and everything it starts, without any privilege.

Constants and layouts: linux/landlock.h; meaning and history of the versions:
https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
from collections.abc import Iterable

from openmodelatlas.capture import kernel

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK, MAKE_SOCKET = 1 << 6, 1 << 11, 1 << 9
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1
_SCOPE_ABSTRACT_SOCKET, _SCOPE_SIGNAL = 1 << 0, 1 << 1
_NETWORK_BIND, _NETWORK_CONNECT = 1 << 0, 1 << 1
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE

READ = READ_FILE | READ_DIR | EXECUTE
LIST = READ_DIR


def version() -> int:
    """Version of Landlock that the running kernel speaks; 0 where it has none or has it switched off."""
    if not kernel.is_linux():
        return 0
    try:
        return kernel.syscall("landlock", kernel.LANDLOCK_CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION)
    except OSError:
        return 0


def _all_rights(abi: int) -> int:
    rights = {1: (1 << 13) - 1, 2: (1 << 14) - 1}.get(abi, (1 << 15) - 1)
    return rights | IOCTL_DEVICE if abi >= 5 else rights


def restrict(*, writable: Iterable[str], readable: Iterable[str], listed: Iterable[str], devices: Iterable[str]) -> int:
    """Give up all access to files but what is named here. Paths that do not exist are left out.

    ``no_new_privs`` must be set before. Network sockets (version 4) and signals to processes outside (version 6) are
    given up as well where the kernel knows how.

    Args:
        writable: folders whose content may be read and written.
        readable: files and folders that may be read and executed.
        listed: folders that may only be listed, with everything beneath them.
        devices: files that may be read and written but not replaced, such as ``/dev/null``.

    Returns:
        Version of Landlock in force.

    Raises:
        OSError: the kernel has no Landlock or refuses it.
    """
    abi = version()
    if abi == 0:
        raise OSError("this kernel has no Landlock (it came with Linux 5.13)")
    rights = _all_rights(abi)
    fields = [rights]
    if abi >= 4:
        fields.append(_NETWORK_BIND | _NETWORK_CONNECT)
    if abi >= 6:
        fields.append(_SCOPE_ABSTRACT_SOCKET | _SCOPE_SIGNAL)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = kernel.syscall("landlock", kernel.LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        write = rights & ~(MAKE_CHAR | MAKE_BLOCK | MAKE_SOCKET | IOCTL_DEVICE | EXECUTE)
        for paths, allowed in ((writable, write), (readable, READ), (listed, LIST)):
            for path in paths:
                _allow(ruleset, path, allowed & rights)
        for path in devices:
            _allow(ruleset, path, (READ_FILE | WRITE_FILE) & rights)
        kernel.syscall("landlock", kernel.LANDLOCK_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return abi


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _ON_FILES
        if rights:
            rule = struct.pack("=Qi", rights, descriptor)
            # Some special file systems take no rules; then nothing there is allowed.
            with contextlib.suppress(OSError):
                kernel.syscall("landlock", kernel.LANDLOCK_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)
