"""Seccomp: system calls that answer "permission denied" from now on, for this process and everything it starts.

What is refused: making a socket of any family (pairs of connected ones stay possible), and calls by which a process
leaves a sandbox or looks into other processes. ``io_uring`` is among them because its rings make sockets as well.

Filter language: linux/filter.h, linux/seccomp.h. Numbers: the kernel's syscall_64.tbl and asm-generic/unistd.h.
"""

from __future__ import annotations

import ctypes
import errno
import struct
import sys

from openmodelatlas.capture import kernel

_AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

# name: (x86_64, aarch64)
REFUSED = {
    "socket": (41, 198),
    "ptrace": (101, 117),
    "pivot_root": (155, 41),
    "mount": (165, 40),
    "umount2": (166, 39),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "finit_module": (313, 273),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "pidfd_getfd": (438, 438),
    "mount_setattr": (442, 442),
}

DETAIL = f"seccomp refuses {', '.join(list(REFUSED)[:4])} and {len(REFUSED) - 4} more calls"

_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_GREATER_OR_EQUAL, _RETURN = 0x20, 0x15, 0x35, 0x06
_OFFSET_NUMBER, _OFFSET_ARCHITECTURE = 0, 4
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_SECCOMP_MODE_FILTER = 2


def _program(machine: str) -> list[tuple[int, int, int, int]]:
    column = list(_AUDIT_ARCHITECTURE).index(machine)
    numbers = [row[column] for row in REFUSED.values()]
    program = [
        (_LOAD, 0, 0, _OFFSET_ARCHITECTURE),
        # Another architecture's calls (32 bit on a 64 bit kernel) have other numbers: refuse them all.
        (_JUMP_IF_EQUAL, 0, len(numbers) + 3, _AUDIT_ARCHITECTURE[machine]),
        (_LOAD, 0, 0, _OFFSET_NUMBER),
        (_JUMP_IF_GREATER_OR_EQUAL, len(numbers) + 1, 0, _X32_BIT),
    ]
    for position, number in enumerate(numbers):
        program.append((_JUMP_IF_EQUAL, len(numbers) - position, 0, number))
    program.append((_RETURN, 0, 0, _ALLOW))
    program.append((_RETURN, 0, 0, _ERROR | errno.EACCES))
    return program


def refuse_sockets_and_escapes() -> None:
    """Install the filter. ``no_new_privs`` must be set before.

    Raises:
        OSError: the architecture is unknown here, or the kernel refuses filters.
    """
    machine = kernel.machine()
    if not kernel.is_linux() or machine not in _AUDIT_ARCHITECTURE or sys.maxsize < 2**32:
        raise OSError(f"no seccomp filter is known for {sys.platform} on {machine}")
    program = _program(machine)
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *instruction) for instruction in program))
    header = struct.pack("@HP", len(program), ctypes.addressof(code))  # struct sock_fprog
    kernel.prctl(kernel.PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header)
