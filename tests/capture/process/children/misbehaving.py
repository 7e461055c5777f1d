"""Runs in the sandbox in place of the capture child; the job's entry names what it does wrong."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path


def finish(job):
    Path(job["output"], "summary.json").write_text("{}")


def well(job):
    os.write(int(os.environ["OMA_PROGRESS"]), b'not json\n{"stage":"Half \\u001b[31mway","done":1,"total":2}\n')
    Path(os.environ["TMPDIR"], "note").write_text("scratch may be written")
    finish(job)


def raises(job):
    raise ValueError("wrong on purpose")


def loops(job):
    while True:
        pass


def sleeps_with_a_daemon(job):
    """Leaves a grandchild in a session of its own, which inherits the pipes, and ends."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            Path(job["output"], "daemon").write_text(Path("/proc/self/stat").read_text())
            time.sleep(60)
        os._exit(0)
    deadline = time.monotonic() + 10
    while not Path(job["output"], "daemon").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    finish(job)


def eats_memory(job):
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1 << 20) * 16))


def eats_memory_in_two(job):
    if os.fork() == 0:
        eats_memory(job)
    os.wait()


def asks_for_much_memory(job):
    bytearray(2**42)


def exits_with_nothing(job):
    os._exit(0)


def exits_with_three(job):
    print("last words", file=sys.stderr, flush=True)
    os._exit(3)


def crashes(job):
    os.kill(os.getpid(), signal.SIGSEGV)


def kills_itself(job):
    os.kill(os.getpid(), signal.SIGKILL)


def opens_a_socket(job):
    socket.create_connection(("192.0.2.1", 80), timeout=5)


def opens_a_socket_below_python(job):
    import ctypes

    made = ctypes.CDLL(None, use_errno=True).socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    raise RuntimeError(f"socket {made} errno {ctypes.get_errno()}")


def writes_outside(job):
    Path(job["configuration"]["outside"], "trace").write_text("x")


def writes_outside_below_python(job):
    done = subprocess.run(["/bin/sh", "-c", 'echo x > "$0"/trace', job["configuration"]["outside"]], check=False)
    raise RuntimeError(f"shell ended with {done.returncode}")


def changes_a_mode_outside(job):
    Path(job["configuration"]["outside"]).chmod(0o777)


def reads_a_secret(job):
    Path(job["configuration"]["secret"]).read_text()


def shows_environment(job):
    Path(job["output"], "environment.json").write_text(json.dumps(dict(os.environ)))
    finish(job)


def prints_gigabytes(job):
    line = b"x" * (1 << 20)
    while True:
        os.write(1, line)


def prints_to_the_progress_pipe(job):
    line = b"x" * (1 << 20)
    while True:
        os.write(int(os.environ["OMA_PROGRESS"]), line)


def writes_gigabytes(job):
    for number in range(1000):
        Path(job["output"], f"{number}").write_bytes(b"x" * (1 << 20))
        time.sleep(0.002)
    time.sleep(60)


def writes_one_large_file(job):
    with Path(job["output"], "large").open("wb") as file:
        while True:
            file.write(b"x" * (1 << 20))


def writes_many_files(job):
    for number in range(10**6):
        Path(job["output"], f"{number}").touch()


def forks_a_lot(job):
    for _ in range(400):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    time.sleep(60)


def forks_without_end(job):
    while True:
        with contextlib.suppress(OSError):
            os.fork()


def starts_threads(job):
    import threading

    for _ in range(400):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    time.sleep(60)


def links(job):
    Path(job["output"], "summary.json").symlink_to("/etc/passwd")


def makes_a_fifo(job):
    os.mkfifo(Path(job["output"], "summary.json"))


def fails(job):
    Path(job["output"], "failure.json").write_text(json.dumps(job["configuration"]))
    sys.exit(1)


def links_its_failure(job):
    Path(job["output"], "failure.json").symlink_to("/etc/passwd")


def garbles_its_failure(job):
    Path(job["output"], "failure.json").write_bytes(b"[" * 10**6)


def reads_its_source(job):
    text = Path(job["root"], job["configuration"]["name"]).read_text()
    Path(job["output"], "summary.json").write_text(text)


def tells_and_sleeps(job):
    os.write(int(os.environ["OMA_PROGRESS"]), b'{"stage":"","done":0,"total":0}\n')
    time.sleep(60)


def says_it_runs(job):
    Path(job["output"], "running").write_text("")
    time.sleep(60)


if __name__ == "__main__":
    job = json.loads(Path(sys.argv[1]).read_text())
    globals()[job["entry"]](job)
