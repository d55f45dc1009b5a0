"""A real Dask cluster on loopback: a scheduler, workers that start and end, and the processes that they leave."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from tests.support.cli import free_port, marked

PATIENCE = 60.0
DASK = [sys.executable, "-m", "dask"]


class DaskCluster:
    """Use it in a `with`, which kills what still runs. `words` and `environment` are for every program."""

    def __init__(self, place: Path, *words: str, protocol: str = "tcp", **environment: str) -> None:
        self.place = place
        self.port = free_port()
        self.address = f"{protocol}://127.0.0.1:{self.port}"
        self.url = f"dask{'+tls' if protocol == 'tls' else ''}://127.0.0.1:{self.port}"
        self._words = [*words, "--protocol", protocol, "--host", "127.0.0.1", "--no-dashboard"]
        self._mark = f"GGP_TEST_CLUSTER={uuid.uuid4().hex}"
        name, _, value = self._mark.partition("=")
        self._environment = {**os.environ, name: value, **environment}
        self._numbers = count()
        self._programs: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "DaskCluster":
        self.scheduler = self._start("scheduler", "--port", str(self.port))
        wait_for(self._listens, "the scheduler")
        return self

    def __exit__(self, *error: object) -> None:
        for program in self._programs:
            program.kill()
            program.wait()
        for pid in marked(self._mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @contextlib.contextmanager
    def alone(self) -> "Iterator[DaskCluster]":
        """The workers that are added in here end here."""
        try:
            yield self
        finally:
            for program in self._programs[1:]:
                program.kill()
                program.wait()
            del self._programs[1:]
            wait_for(lambda: [*marked(self._mark)] == [self.scheduler.pid], "all but the scheduler to end")

    def add_worker(self, *words: str, nanny: bool = False, slots: int = 1) -> "subprocess.Popen[bytes]":
        """A worker of one slot, a single process without a nanny."""
        more = ["--resources", f"slot={slots}"] if slots else []
        return self._start(
            "worker", self.address, "--nthreads", "1", "--nanny" if nanny else "--no-nanny", *more, *words
        )

    def table_processes(self) -> dict[int, str]:
        """The engines and bots that workers of this cluster started, and what these started: their command lines."""
        lines = {pid: " ".join(words) for pid, words in marked(self._mark).items()}
        return {pid: line for pid, line in lines.items() if "dask" not in line and "multiprocessing" not in line}

    def plays_at(self, worker: int) -> bool:
        """Whether the process that plays for that Dask worker has an engine and both bots."""
        return sum(_parent(_parent(pid)) == worker for pid in self.table_processes()) >= 3

    def running(self, word: str) -> int:
        """How many engines and bots have this word in their command line."""
        return sum(word in line for line in self.table_processes().values())

    def nannies_child(self, nanny: "subprocess.Popen[bytes]") -> int:
        """The worker process that a nanny has started."""
        lines = {pid: " ".join(words) for pid, words in marked(self._mark).items()}
        (child,) = [pid for pid, line in lines.items() if _parent(pid) == nanny.pid and "spawn_main" in line]
        return child

    def log(self) -> str:
        return "\n".join(path.read_text(encoding="utf-8") for path in sorted(self.place.glob("*.log")))

    def _listens(self) -> bool:
        with socket.socket() as dialled:
            return dialled.connect_ex(("127.0.0.1", self.port)) == 0

    def _start(self, *words: str) -> "subprocess.Popen[bytes]":
        with (self.place / f"{next(self._numbers)}.log").open("wb") as log:
            program = subprocess.Popen(
                [*DASK, *words, *self._words], cwd=self.place, env=self._environment, stdout=log, stderr=log
            )
        self._programs.append(program)
        return program


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Raises AssertionError when it does not come true in a minute."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"still waiting for {what}"
        time.sleep(0.02)


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except OSError:
        return 0
