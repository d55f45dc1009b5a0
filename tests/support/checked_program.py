"""protocol.conformance run on a command line: a fresh process for every check, none left behind."""

import os
import subprocess
from collections.abc import Sequence

from protocol.commands import Who
from protocol.conformance import Finding, checks_for, run_checks
from protocol.transports.blocking import run_blocking
from protocol.transports.pipe import Pipe


def failed_checks(command: Sequence[str], who: Who, game: str) -> list[Finding]:
    """The findings of the checks that the program does not pass, required or not."""
    processes: list[subprocess.Popen[bytes]] = []

    def connect() -> Pipe:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        processes.append(process)
        assert process.stdin and process.stdout
        pipe = Pipe(os.dup(process.stdin.fileno()), os.dup(process.stdout.fileno()))
        process.stdin.close()
        process.stdout.close()
        return pipe

    try:
        findings = run_blocking(run_checks(connect, checks_for(who, game=game)))
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return [finding for finding in findings if not finding.passed]
