"""Matches on a Dask cluster: batches are Dask tasks, and each Dask worker has a process of ours that plays them.

The cluster may grow and shrink. A batch whose worker is lost is played again from its start, so a match may be played
twice: its key identifies it. Such a loss is a fault of the network or of a machine, never of a bot. Heavy: import
this module where a cluster is asked for.
"""

import contextlib
import gc
import logging
import multiprocessing
import re
import socket
import threading
import time
import uuid
import warnings
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass, replace

import distributed
from distributed.core import Status

from ggp.protocol.entry_points import version
from ggp.protocol.printed import without_password
from ggp.referee.match.match_runner import MOST_BOTS
from ggp.referee.match.pool import LocalPool, WorkerDied, WorkerPool, WorkersLost
from ggp.referee.match.sandbox.levels import STRICT
from ggp.referee.match.sandbox.machine import this_machine
from ggp.referee.match.worker import Batch, BatchResult, WorkerConfig

SLOT = "slot"
OURS = f"general-game-protocol {version('general-game-protocol')}"
_SCHEMES = {"dask": "tcp", "dask+tls": "tls"}
_SHORT = 0.5  # seconds: a batch should take longer than its way through the network
_RETRIES = 3  # of a batch that fails on a worker; Dask's allowed-failures counts the workers that are lost
_LOOK = 1.0  # seconds between looks at the slots, and at whether a Dask worker ends
_LAST = 60.0  # seconds that workers have to answer after `stop`
_TELL = 10.0  # seconds to call a function on all workers
_IDLE = 60.0  # seconds without work after which bots are ended


# -- in a Dask worker ------------------------------------------------------------------------------------------------


class WrongVersion(Exception):
    """This Dask worker has another version of the project; str() is one line that names the remedy."""


@dataclass(slots=True)
class _Player:
    """The process that plays for a run, and the number of tasks that use it: one per slot of the Dask worker."""

    pool: LocalPool
    tasks: int = 0
    timer: threading.Timer | None = None


_lock = threading.Lock()
_players: dict[str, _Player] = {}  # by run
_ended: set[str] = set()  # runs


def play_here(run: str, wanted: str, bots: int, batch: list[Batch]) -> BatchResult:
    """Play a batch for a run unless the run has ended; a Dask task. `wanted` is the project and version of the client.

    Raises:
        WrongVersion: This worker has another version.
        WorkerDied: The process that played has died.
        Reschedule: This Dask worker ends.
    """
    host = socket.gethostname()
    if wanted != OURS:
        raise WrongVersion(f"the worker at {host} has {OURS}, and here is {wanted}: install the same there")
    with _lock:
        if run in _ended:
            return BatchResult([work.setup.series for work in batch], [], [], 0.0, 0.0, 0.0, 0)
        player = _begin_task(run, bots)
    try:
        result = _play(player.pool, batch)
    except (WorkerDied, distributed.Reschedule) as error:
        player.pool.loss(error)
        _close(run, player)
        raise
    finally:
        _end_task(run, player)
    return replace(result, refused=[replace(one, reason=f"{one.reason} (on {host})") for one in result.refused])


def missing_here() -> tuple[str, ...]:
    """Return the properties of a strict sandbox that this Dask worker cannot keep."""
    return tuple(this_machine().missing)


def end_run(run: str) -> None:
    """Drop the match of this run that is under way, its later batches, and its bots. Return at once."""
    with _lock:
        _ended.add(run)
        player = _players.get(run)
    if player:
        _close(run, player)


def _play(pool: LocalPool, batch: list[Batch]) -> BatchResult:
    worker, future = distributed.get_worker(), pool.start(batch)
    while not future.done() and worker.status == Status.running:
        pool.turn(_LOOK)
    if worker.status != Status.running:
        raise distributed.Reschedule
    return future.result()


def _begin_task(run: str, bots: int) -> _Player:
    if run not in _players:
        # A nanny makes its worker a daemon, which Python allows no process of its own.
        multiprocessing.current_process().daemon = False
        _players[run] = _Player(LocalPool(1, WorkerConfig(pin=False, bots=bots)))
    player = _players[run]
    player.tasks += 1
    if player.timer:
        player.timer.cancel()
    return player


def _end_task(run: str, player: _Player) -> None:
    with _lock:
        player.tasks -= 1
        if player.tasks:
            return
        if _players.get(run) is not player:  # it was stopped, and has returned what it had played
            player.pool.close(wait=False)
        else:
            player.timer = threading.Timer(_IDLE, _close, (run, player, True))
            player.timer.daemon = True
            player.timer.start()


def _close(run: str, player: _Player, idle: bool = False) -> None:
    """End the process; with `idle`, only if it has no work."""
    with _lock:
        if _players.get(run) is player and not (idle and player.tasks):
            del _players[run]
            player.pool.stop()
            if not player.tasks:
                player.pool.close(wait=False)


# -- in the run ------------------------------------------------------------------------------------------------------


class DaskPool(WorkerPool):
    """A batch at a time for each slot of the cluster. `jobs` is the number of slots, at least 1.

    `bots` are kept alive at a time by a worker; `patience`: seconds to wait for a scheduler and for its first slot;
    `drought`: seconds that a run goes on without any slot. Raises WorkersLost when the cluster cannot be used.
    """

    def __init__(self, url: str, bots: int = MOST_BOTS, *, patience: float = 15.0, drought: float = 300.0) -> None:
        super().__init__(_SHORT)
        self.url = url
        self._bots, self._drought = bots, drought
        self._run = uuid.uuid4().hex[:12]
        self._client = _connect(url, patience)
        self._executors = dict[tuple[str, ...], Executor]()  # by the workers that they use, () for all
        self._missing = dict[str, object]()  # by worker: what it cannot keep of a strict sandbox, or an error
        self._seen = time.monotonic()  # when there was a slot
        try:
            while not self.count_slots():
                if time.monotonic() - self._seen > patience:
                    raise self._no_slot()
                time.sleep(0.1)
        except BaseException:
            self.close()
            raise

    def start(self, chunk: list[Batch]) -> Future[BatchResult]:
        """Submit a chunk to the scheduler, for workers that can play it."""
        executor = self._executor(self._strict_workers() if any(map(is_strict, chunk)) else ())
        future: Future[BatchResult] = executor.submit(play_here, self._run, OURS, self._bots, chunk)
        return future

    def _executor(self, workers: tuple[str, ...]) -> Executor:
        if workers not in self._executors:
            place = {"workers": list(workers), "allow_other_workers": False} if workers else {}
            self._executors[workers] = self._client.get_executor(  # type: ignore[no-untyped-call]
                pure=False, retries=_RETRIES, resources={SLOT: 1}, **place
            )
        return self._executors[workers]

    def _strict_workers(self) -> tuple[str, ...]:
        """Return the workers that keep a strict sandbox. If none does, any of them says what is missing."""
        there = list(self._client.scheduler_info()["workers"])
        if new := [address for address in there if address not in self._missing]:
            self._missing |= self._client.run(missing_here, workers=new, on_error="return", callback_timeout=_TELL)
        return tuple(address for address in there if self._missing.get(address) == ())

    def gather(self, seconds: float) -> list[BatchResult]:
        """Return the results that arrived. Raises WorkersLost if the scheduler is gone."""
        if self._client.status != "running":
            raise self._disconnected()
        if time.monotonic() - self._looked > _LOOK:
            self.count_slots()
        if self._looked - self._seen > self._drought:
            raise self._no_slot()
        return super().gather(seconds)

    def loss(self, error: BaseException) -> WorkersLost:
        """Return why a chunk failed, in words for the operator."""
        if isinstance(error, ImportError):
            reason = f"a worker of {without_password(self.url)} is not of our kind ({error}): install {OURS} there"
            return WorkersLost(reason, code="wrong-version")
        if isinstance(error, WrongVersion):
            return WorkersLost(str(error), code="wrong-version")
        if isinstance(error, CancelledError):
            return self._disconnected()
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        return WorkersLost(f"{without_password(self.url)} could not play a batch; last: {text}")

    def drop(self, keys: list[str]) -> bool:
        """Return False: matches cannot be dropped one by one."""
        return False  # its workers hear of whole runs only

    def playing(self) -> None:
        """Dask does not say which tasks its workers have begun."""

    def stop(self) -> None:
        """Stop the matches under way within about a second, or once their bots and engines are set up."""
        with contextlib.suppress(Exception):  # an unreachable worker returns no results anyway
            self._client.run(end_run, self._run, on_error="ignore", callback_timeout=_TELL)

    def drain(self, seconds: float | None = None) -> list[BatchResult]:
        """Stop the run and return what its workers still deliver."""
        self.stop()
        return super().drain(_LAST if self._client.status == "running" and self.count_slots() else 0.0)

    def close(self, wait: bool = True) -> None:
        """End our bots and the connection; the Dask workers stay."""
        if self._client.status == "running":
            self.stop()
        with contextlib.suppress(Exception):  # whatever is wrong with the cluster, we are done with it
            self._client.close(timeout=_TELL)  # type: ignore[no-untyped-call]

    def count_slots(self) -> int:
        """Ask the scheduler how many slots its workers have."""
        workers = self._client.scheduler_info()["workers"].values()
        slots = int(sum(worker.get("resources", {}).get(SLOT, 0) for worker in workers))
        self.jobs = max(1, slots)  # what is given out waits for the next worker
        self._looked = time.monotonic()
        if slots:
            self._seen = self._looked
        return slots

    def _disconnected(self) -> WorkersLost:
        return WorkersLost(
            f"the connection to the scheduler {without_password(self.url)} is lost", code="scheduler-lost"
        )

    def _no_slot(self) -> WorkersLost:
        start = f"dask worker {address_of(self.url)} --nworkers N --nthreads 1 --resources {SLOT}=1"
        reason = f"no worker of {without_password(self.url)} has a slot: start some with `{start}`"
        return WorkersLost(reason, code="no-slot")


def is_strict(batch: Batch) -> bool:
    """Return whether a bot, the engine or the judge of a batch runs in a strict sandbox."""
    programs = filter(None, (*batch.setup.bots, batch.setup.engine, batch.setup.judge))
    return any(spec.sandbox is not None and spec.sandbox.level == STRICT for spec in programs)


def address_of(url: str) -> str:
    """Return Dask's own address for `dask://HOST:PORT` or `dask+tls://HOST:PORT`. Raise ValueError for others."""
    scheme, _, place = url.partition("://")
    host, _, port = place.rpartition(":")
    if scheme not in _SCHEMES or not host or "@" in host or not port.isdigit():
        raise ValueError(
            f"{without_password(url)}: write a cluster as dask://HOST:PORT or dask+tls://HOST:PORT, the scheduler's"
        )
    return f"{_SCHEMES[scheme]}://{place}"


def _connect(url: str, patience: float) -> distributed.Client:
    """Connect to a cluster. Raise WorkersLost, or ValueError for an invalid URL."""
    address = address_of(url)
    for name in ("distributed", "distributed.client", "distributed.core", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what goes wrong is said here, in one line
    try:
        with warnings.catch_warnings(action="ignore"):  # other versions of Dask; what must be equal, we compare
            security = distributed.Security(require_encryption=address.startswith("tls"))  # type: ignore[no-untyped-call]
            return distributed.Client(  # type: ignore[no-untyped-call]
                address, timeout=patience, set_as_default=False, security=security, name="ggp-ladder"
            )
    except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
        said = " ".join(str(error.__cause__ or error).split())
        reason = re.sub(r"(\s*\b(in|for))?\s*<[^>]* object at 0x[0-9a-f]+>:?", "", said).strip()[:300]
    gc.collect()  # the half-made client: let go while another one is made, it would wait for a lock of that one
    raise WorkersLost(f"{without_password(url)} cannot be reached ({reason}): {_remedy(address)}", code="unreachable")


def _remedy(address: str) -> str:
    if address.startswith("tls"):
        return (
            "start `dask scheduler --protocol tls …`, and give us the certificates too (docs/how-to/run-a-cluster.md)"
        )
    return f"start `dask scheduler --port {address.rpartition(':')[2]}` there; if it uses TLS, write dask+tls://"
