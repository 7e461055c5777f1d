"""What the child process does to itself before any code of a model is imported.

Every protection that the machine has is switched on and reported as a :class:`Protection`; one that it lacks is
reported with the reason, never silently left out. No torch here.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

import openmodelatlas
from openmodelatlas.capture import kernel, landlock, namespaces, refusals, seccomp

_SYSTEM_FOLDERS = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/System", "/Library",
    "/proc", "/sys/devices", "/sys/fs/cgroup",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/localtime",
    "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/mime.types", "/etc/os-release",
)  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_MEMORY_SLACK = 2**30
_OPEN_FILES = 1024
"""Of one process: what Linux allows by default, so that code runs under it elsewhere too."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What the child may do; written by the parent beside the job.

    Attributes:
        parent: process number of the parent.
        source_root: folder of the model's code.
        writable: folders that may be written, the first of which is the working directory.
        readable: folders that may be read beyond Python, its packages and the system's libraries.
        memory_bytes: resident memory of all its processes, in bytes.
        file_bytes: size of one file, in bytes.
        cpu_seconds: processor time of one process.
        processes: processes and threads.
    """

    parent: int
    source_root: str
    writable: tuple[str, ...]
    readable: tuple[str, ...] = ()
    memory_bytes: int
    file_bytes: int
    cpu_seconds: int
    processes: int


class Protection(msgspec.Struct, frozen=True):
    """One protection of the child process.

    Attributes:
        name: ``no network``, ``files``, …
        on: whether it is in force.
        detail: how, or why not.
    """

    name: str
    on: bool
    detail: str


def enter(policy: Policy, separated: str | None) -> list[Protection]:
    """Give up everything a model's code has no business with. Runs in the worker process, before any other import.

    Args:
        policy: what remains allowed.
        separated: why the process has no namespaces of its own; ``None`` if it has.

    Returns:
        All protections, in force or not.
    """
    found: list[Protection] = []
    alone = separated is None
    found.append(Protection("own namespaces", alone, separated or "user, network, process, mount, IPC"))
    steps: list[tuple[str, Callable[[], object], str]] = [
        ("no new privileges", lambda: kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1), "setuid programs gain nothing"),
        ("no capabilities", kernel.drop_capabilities, "even root's child has none"),
        ("resource limits", lambda: _limit_resources(policy, alone), "memory, file size, processor time"),
        ("files", lambda: _restrict_files(policy), "Landlock limits reads and writes to named folders"),
        ("no sockets", seccomp.refuse_sockets_and_escapes, seccomp.DETAIL),
    ]
    if alone:
        steps[:0] = [
            ("own process list", namespaces.mount_own_process_list, "/proc shows the child's processes only"),
            *_process_limit(policy),
            ("read-only file system", lambda: namespaces.make_read_only(but=policy.writable), "but for its folders"),
        ]
    for name, action, detail in steps:
        _try(found, name, action, detail)
    os.chdir(policy.writable[0])  # the old one lies beneath the mount that replaced it
    on = {protection.name: protection.on for protection in found}
    offline = on["no sockets"] or alone
    confined = on["files"] or on.get("read-only file system", False)
    refusals.translate(policy.source_root)
    if not (offline and confined):
        refusals.audit(
            source_root=policy.source_root, writable=policy.writable, network=not offline, files=not confined
        )
        found.append(Protection("audit hook", True, "refuses from Python what the kernel cannot; no wall"))
    return found


def _process_limit(policy: Policy) -> list[tuple[str, Callable[[], object], str]]:
    """For root, to whom the resource limit on processes does not apply."""
    if os.getuid() != 0:
        return []
    return [
        ("process limit", lambda: namespaces.limit_processes(policy.processes), "the namespace's own highest number")
    ]


def _try(found: list[Protection], name: str, action: Callable[[], object], detail: str) -> None:
    try:
        action()
    except (OSError, ValueError) as error:
        found.append(Protection(name, False, str(error)))
    else:
        found.append(Protection(name, True, detail))


def _limit_resources(policy: Policy, own_namespace: bool) -> None:
    def lower(kind: int, value: int) -> None:
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(kind, (value, value))

    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_FSIZE, policy.file_bytes)
    lower(resource.RLIMIT_CPU, policy.cpu_seconds)
    lower(resource.RLIMIT_NOFILE, _OPEN_FILES)
    # Private writable mappings, not address space: torch maps far more than it touches. The slack leaves room for
    # mappings that are never touched; the parent watches resident memory exactly.
    with contextlib.suppress(ValueError):  # macOS knows the name but refuses the value
        lower(resource.RLIMIT_DATA, policy.memory_bytes + _MEMORY_SLACK)
    if own_namespace:
        # Counted per user, hence over everything that user runs, except in a user namespace of its own.
        lower(resource.RLIMIT_NPROC, policy.processes)


def _restrict_files(policy: Policy) -> None:
    readable, listed = readable_paths(policy)
    landlock.restrict(writable=policy.writable, readable=readable, listed=listed, devices=_DEVICES)


def readable_paths(policy: Policy) -> tuple[list[str], list[str]]:
    """Folders and files that may be read, and folders that may only be listed.

    Everything on Python's path may be read, but a home folder or the root of the file system is only listed even if
    somebody put it there: keys and tokens lie in it.
    """
    package = Path(openmodelatlas.__file__).parent
    paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.realpath(sys.executable), str(package)]
    paths += [*policy.readable, policy.source_root, *_SYSTEM_FOLDERS]
    paths += os.environ.get("LD_LIBRARY_PATH", "").split(":")
    paths += sys.path
    homes = {Path(os.path.expanduser(f"~{name}")).resolve() for name in ("", *_user_name())}  # noqa: PTH111 - names a user
    listed = [str(package.parent)]
    readable: list[str] = []
    for path in paths:
        if not path:
            continue
        resolved = Path(path).resolve()
        too_wide = any(home.is_relative_to(resolved) for home in homes) or resolved == Path("/")
        (listed if too_wide else readable).append(str(resolved))
    return list(dict.fromkeys(readable)), list(dict.fromkeys(listed))


def _user_name() -> Sequence[str]:
    import pwd

    with contextlib.suppress(KeyError):
        return (pwd.getpwuid(os.getuid()).pw_name,)
    return ()
