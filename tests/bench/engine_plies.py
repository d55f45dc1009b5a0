"""What a ply costs one who asks an engine process what is legal: `ggp-legal_moves` and `ggp-play` through its pipes.

Whole random games on every default board, asker and engine on one core. A row is the median over all plies.
"""

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import entry_points

ENGINE = [sys.executable, "-m", "ggp.engines"]
PLIES = 3_000


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Rows (what, µs, unit) for every game of this environment."""
    games = sorted(point.name for point in entry_points(group="ggp.games"))
    core = min(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})  # the engine inherits it
    try:
        return [row for game in games for row in _game(game, PLIES // 10 if quick else PLIES)]
    finally:
        os.sched_setaffinity(0, before)


def _game(game: str, plies: int) -> Iterator[tuple[str, float, str]]:
    """Whole games until there were so many plies; the medians of a ply and of its two questions."""
    chance = random.Random(1)
    listing: list[float] = []
    playing: list[float] = []
    moves = 0
    with BenchEngine(game) as engine:
        while len(playing) < plies:
            engine.ask(f"ggp-new {game}\n")
            colour, over = "", False
            for field in engine.ask("ggp-status\n").split():
                colour = field.removeprefix("to_play=") if field.startswith("to_play=") else colour
            while not over:
                start = time.perf_counter()
                legal = engine.ask("ggp-legal_moves\n").split()[1:]
                listing.append(time.perf_counter() - start)
                moves += len(legal)
                line = f"ggp-play {colour} {chance.choice(legal)}\n"
                start = time.perf_counter()
                answer = engine.ask(line)
                playing.append(time.perf_counter() - start)
                colour = answer.split(" to_play=")[1].split(" ")[0]
                over = colour == "none"
    both = [one + two for one, two in zip(listing, playing, strict=True)]
    mean = moves / len(listing)
    yield f"{game}: ggp-legal_moves + ggp-play, {mean:.0f} moves on average", statistics.median(both) * 1e6, "µs"
    yield f"{game}: the slowest hundredth of them", statistics.quantiles(both, n=100)[-1] * 1e6, "µs"


class BenchEngine:
    """`ggp engine GAME` on this core, asked line by line."""

    def __init__(self, *words: str) -> None:
        self._child = subprocess.Popen([*ENGINE, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._child.stdin is not None and self._child.stdout is not None
        self.pid = self._child.pid
        self._into, self._out = self._child.stdin.fileno(), self._child.stdout.fileno()

    def __enter__(self) -> "BenchEngine":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._child.stdin is not None and self._child.stdout is not None
        self._child.stdin.close()
        self._child.wait()
        self._child.stdout.close()

    def ask(self, line: str) -> str:
        """The answer, which must be a success."""
        os.write(self._into, line.encode())
        answer = os.read(self._out, 1 << 16)
        while not answer.endswith(b"\n\n"):
            answer += os.read(self._out, 1 << 16)
        if answer[:1] != b"=":
            raise RuntimeError(f"{line.strip()}: {answer.decode()}")
        return answer.decode()
