"""What a person at `ggp console` waits for: the first prompt, and each key while there are 625 moves to complete from.

Measured in a pseudo-terminal, from the start of the process, and from the key to the first byte that answers it.
Also the pure completion alone. Not a test: nothing is asserted.
"""

import statistics
import tempfile
import time
from pathlib import Path

from ggp.referee.tools.console.completion import PeerInfo, complete
from tests.support.terminal import CTRL_C, CTRL_D, Terminal

MOVES = tuple(f"{column}{row}" for column in "ABCDEFGHJKLMNOPQRSTUVWXYZ" for row in range(1, 26))


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Rows (what, figure, unit), medians."""
    starts, keys = (3, 5) if quick else (9, 40)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        return [
            ("ggp console go: start to first prompt", 1e3 * statistics.median(_starts(home, starts)), "ms"),
            ("ggp console: a key, 625 moves to complete from", 1e3 * statistics.median(_keys(home, keys)), "ms"),
            ("completion alone, 625 moves", 1e3 * statistics.median(_completions(10 * keys)), "ms"),
        ]


def _starts(home: Path, number: int) -> list[float]:
    found = []
    for _ in range(number):
        began = time.perf_counter()
        with Terminal("console", "go", home=home) as terminal:
            terminal.wait_for(">")
            found.append(time.perf_counter() - began)
            terminal.type(CTRL_D)
            terminal.end()
    return found


def _keys(home: Path, number: int) -> list[float]:
    """`play b ` and then a column's letter, which completes to 25 moves, again and again."""
    found = []
    with Terminal("console", "go", "size=25", home=home, columns=140) as terminal:
        terminal.wait_for("25 .")
        for index in range(number):
            terminal.type("ggp-play black ")
            terminal.settle(0.2)
            found.append(terminal.answer_to("ABCDEFGH"[index % 8]))
            terminal.settle(0.1)
            terminal.type(CTRL_C)
            terminal.settle(0.1)
        terminal.type(CTRL_D)
        terminal.end()
    return found


def _completions(number: int) -> list[float]:
    known, found = PeerInfo(commands=("ggp-play",), moves=MOVES), []
    for _ in range(number):
        began = time.perf_counter()
        complete("ggp-play black ", known)
        found.append(time.perf_counter() - began)
    return found
