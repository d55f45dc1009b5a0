"""Measure the C++ core on one processor core: random games a second, and the cost of a search."""

import multiprocessing
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Literal, NamedTuple

from ggp.engines._core import Go, Laido, Stigmergy, Taigo, Taugo, Yugo
from tests.bench.measure import Row

ROUNDS = 5
ROUNDS_OF_TWO = 21
POLICIES: tuple[Literal["uniform", "rollout"], ...] = ("uniform", "rollout")


class Board(NamedTuple):
    """A position to begin from. Games and playouts make a round of about a quarter of a second; 0: not measured."""

    what: str
    start: Callable[[], Go | Laido | Stigmergy | Taigo | Taugo | Yugo]
    games: int
    playouts: int


BOARDS = (
    Board("go 9x9", lambda: Go(size=9), 20_000, 20_000),
    Board("go 19x19, ko=simple", lambda: Go(size=19, ko="simple"), 4_000, 5_000),
    Board("yugo 9x9", lambda: Yugo(size=9), 25_000, 25_000),
    Board("yugo 19x19", lambda: Yugo(size=19), 5_000, 0),
    Board("taugo 8", lambda: Taugo(size=8, pie=False), 0, 40_000),
    Board("taugo 16", lambda: Taugo(pie=False), 4_000, 8_000),
    Board("taigo", Taigo, 15_000, 8_000),
    Board("laido, side 5", lambda: Laido(size=5, pie=False), 0, 50_000),
    Board("laido, side 9", lambda: Laido(size=9, pie=False), 20_000, 20_000),
    Board("stigmergy 5, komi=10", lambda: Stigmergy(size=5, komi=10), 0, 80_000),
    Board("stigmergy 8, komi=0", lambda: Stigmergy(size=8, komi=0), 15_000, 25_000),
    Board("stigmergy 13, komi=0", lambda: Stigmergy(size=13, komi=0), 2_500, 0),
)
SEARCHED = [board for board in BOARDS if board.playouts]


def playouts(quick: bool = False) -> list[Row]:
    """Measure random games by the clock, each round with its own seed."""
    rows: list[Row] = []
    for board in BOARDS:
        games = board.games // (10 if quick else 1)
        for policy in POLICIES if games else ():
            state, seconds = board.start(), []
            state.playouts(games // 10, 0, policy)  # warm caches and a clock speed that has risen
            for seed in range(1, ROUNDS + 1):
                began = time.perf_counter()
                state.playouts(games, seed, policy)
                seconds.append(time.perf_counter() - began)
            rows.append((f"{board.what}, {policy}", games / statistics.median(seconds), "playouts/s"))
    return rows


def search(quick: bool = False) -> list[Row]:
    """Measure the playouts of a search beside bare rollouts by processor time, and two threads beside two processes."""
    rows: list[Row] = []
    for board in SEARCHED:
        number = board.playouts // (10 if quick else 1)
        rates, costs = zip(*(_round(board, number, seed) for seed in range(1, ROUNDS + 1)), strict=True)
        rows += [
            (f"{board.what}, search", statistics.median(rates), "playouts/s"),
            (f"{board.what}, search", statistics.median(costs), "x a rollout"),
            (f"{board.what}, search", type(board.start().search()).node_bytes, "bytes/node"),
        ]
    return rows + _two_of(SEARCHED[0], 2_000 if quick else 20_000)


def _round(board: Board, number: int, seed: int) -> tuple[float, float]:
    """Return the playouts of a search per second, and what one costs beside a bare one."""
    state = board.start()
    search = state.search(seed, megabytes=1024)
    state.playouts(number // 10, 0, "rollout")  # a clock speed that has risen
    began = time.process_time()
    state.playouts(number, seed, "rollout")
    middle = time.process_time()
    search.run(number)
    mine = time.process_time() - middle
    done = sum(visits for _, visits, _, _ in search.votes())  # less if the rest could change nothing
    return done / mine, mine / done / ((middle - began) / number)


def _two_of(board: Board, number: int) -> list[Row]:
    """Compare what two threads and two processes do in the time in which one thread plays as much as each of them."""
    spawn = multiprocessing.get_context("spawn")
    ends = [spawn.Pipe() for _ in range(2)]
    helpers = [spawn.Process(target=_serve, args=(there, board.what, number), daemon=True) for _, there in ends]
    for helper in helpers:
        helper.start()
    threads, processes = [], []
    for seed in range(1, ROUNDS_OF_TWO + 1):
        one, two = (_rate(board, number, count, seed) for count in (1, 2))
        threads.append(two / one)
        processes.append(_rate_of_processes([here for here, _ in ends], seed) / one)
    for helper in helpers:
        helper.kill()
        helper.join()
    between = statistics.median(these / those for these, those in zip(threads, processes, strict=True))
    return [
        (f"{board.what}, search, two threads", statistics.median(threads), "x one thread"),
        (f"{board.what}, search, two processes", statistics.median(processes), "x one thread"),
        (f"{board.what}, search, two threads", between, "x two processes"),
    ]


def _rate(board: Board, number: int, threads: int, seed: int) -> float:
    """Return the playouts per second of all threads together."""
    search = board.start().search(seed, threads, 128 * threads)
    began = time.perf_counter()
    search.run(number * threads)
    return sum(visits for _, visits, _, _ in search.votes()) / (time.perf_counter() - began)


def _rate_of_processes(helpers: list[Connection], seed: int) -> float:
    """Return the same of processes that search the same position, from a common start until the last one ends."""
    for step in (seed, "go"):
        began = time.perf_counter()
        for helper in helpers:
            helper.send(step)
        answers: list[int] = [helper.recv() for helper in helpers]
    return sum(answers) / (time.perf_counter() - began)


def _serve(parent: Connection, what: str, number: int) -> None:
    """Prepare a search for each seed that comes, and run it at the next message."""
    board = next(board for board in BOARDS if board.what == what)
    while True:
        search = board.start().search(parent.recv(), 1, 128)
        parent.send(0)
        parent.recv()
        search.run(number)
        parent.send(sum(visits for _, visits, _, _ in search.votes()))
