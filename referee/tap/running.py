"""Starts the program behind a tap and stays until it ends; how bytes pass is in pump, what is kept in recording."""

import contextlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from referee.play.launch import LaunchError, find_program, with_death_signal
from referee.tap.pump import Flow, exit_status, own_descriptors, pump
from referee.tap.recording import Recording


def run_tapped(argv: Sequence[str], path: Path) -> int:
    """The program's exit status. It is killed if we are. Raises LaunchError, NotARecord."""
    own_descriptors()
    program = find_program(argv[0])
    recording = Recording(path, argv, _warn)
    try:
        popen, stdin, stdout, stderr = _start([*with_death_signal(os.getpid()), program, *argv[1:]])
    except OSError as error:
        raise LaunchError(f"{program} cannot be started: {error.strerror}") from None

    def seen(mark: str, seconds: float, data: bytes) -> None:
        if data or mark == "<":
            recording.chunk(mark, seconds, data)
        elif mark == ">":
            recording.note("end of input")

    to_child = Flow(">", 0, stdin, "sink", seen)
    from_child = [Flow("<", stdout, 1, "source", seen), Flow("!", stderr, 2, "source", seen)]
    pidfd = os.pidfd_open(popen.pid)
    pump(popen.pid, pidfd, to_child, from_child)
    status = exit_status(popen.wait())
    recording.note(f"exit status {status}")
    recording.close()
    return status


def _start(argv: list[str]) -> tuple["subprocess.Popen[bytes]", int, int, int]:
    """The process, in our group, and our ends of its stdin, stdout and stderr."""
    (stdin, ours_in), (ours_out, stdout), (ours_err, stderr) = os.pipe(), os.pipe(), os.pipe()
    try:
        popen = subprocess.Popen(argv, stdin=stdin, stdout=stdout, stderr=stderr)
    finally:
        for descriptor in (stdin, stdout, stderr):
            os.close(descriptor)
    return popen, ours_in, ours_out, ours_err


def _warn(text: str) -> None:
    with contextlib.suppress(OSError):  # nobody reads our stderr: then nobody is told
        os.write(2, f"ggp tap: {text}\n".encode())
