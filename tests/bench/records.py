"""What comes after the games: `ggp rate` and `ggp sprt` on a record, the statistics of a match, and a large book.

The commands are whole processes. Memory is the most that one of them had.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from ggp.protocol.records import MatchEnded, MatchStarted, MovePlayed, Party, Record

GAMES, PLIES, BOTS = 1_000_000, 2, 20
OPENINGS = 1_000_000
ADDED = 20_000  # games of a match whose statistics grow
ROUNDS = 3
Row = tuple[str, float, str]


def main(quick: bool = False) -> list[Row]:
    """Rows (what, figure, unit)."""
    games, openings = (GAMES // 100, OPENINGS // 100) if quick else (GAMES, OPENINGS)
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        return [
            *_rated(Path(folder), games),
            *_opened(Path(folder), openings),
            *_added(ADDED // 10 if quick else ADDED),
        ]


def _rated(folder: Path, games: int) -> list[Row]:
    many, two = folder / "many.jsonl", folder / "two.jsonl"
    _write(many, games, BOTS)
    _write(two, games, 2)
    rows = []
    for name, file, words in (("rate", many, []), ("sprt", two, ["--elo0", "0", "--elo1", "5"])):
        runs = [_run([name, str(file), *words]) for _ in range(ROUNDS)]
        what = f"ggp {name} on a record of {games:,} games"
        rows.append((what, statistics.median(seconds for seconds, _ in runs), "s"))
        rows.append((f"{what}: memory", max(memory for _, memory in runs) / 1024, "MiB"))
    return rows


def _run(words: Sequence[str]) -> tuple[float, int]:
    """Seconds, and the process's largest size in KiB."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "ggp.referee.cli", *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return time.perf_counter() - began, usage.ru_maxrss


def _write(path: Path, games: int, bots: int) -> None:
    """A series after the other, each pair of games between two of the bots."""
    chance, parties = Random(1), [Party(name=f"bot{number}") for number in range(bots)]
    engine = Party(name="engine")
    with path.open("wb") as file:
        for number in range(games):
            if number % 2 == 0:
                first, second = chance.sample(parties, 2) if bots > 2 else parties
            else:
                first, second = second, first
            key, winner = f"s-{number + 1}", 1 + (chance.random() < 0.45)
            start = MatchStarted(
                match=key, game="yugo", options={}, bots=(first, second), engine=engine, control="10+0.1"
            )
            plies = [MovePlayed(ply, key, ply, 2 - ply % 2, "black", "D4", 3, 10_000) for ply in range(1, PLIES + 1)]
            end = MatchEnded(seq=PLIES + 1, match=key, result="B+1", winner=winner, termination="rules", plies=PLIES)
            file.write(Record(start, tuple(plies), end).lines())


def _opened(folder: Path, openings: int) -> list[Row]:
    """From the file's name to the first opening."""
    from ggp.referee.match.openings import OpeningBook, file_data, read_choice

    book = folder / "book.txt"
    cells = [f"{column}{row}" for column in "ABCDEFG" for row in range(1, 8)]
    chance = Random(1)
    book.write_text("".join(f"{' '.join(chance.sample(cells, 4))}\n" for _ in range(openings)), encoding="utf-8")
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        choice = read_choice(f"{book},order=random")
        OpeningBook(choice, file_data(choice.path)).opening(0, 1)
        taken.append(time.perf_counter() - began)
    return [(f"a book of {openings:,} openings, until the first is drawn", statistics.median(taken), "s")]


def _added(games: int) -> list[Row]:
    """What the referee does with a game for the numbers that `ggp match` prints, test and interval included."""
    from ggp.referee.match.outcome import Termination
    from ggp.referee.match.report import effect_of
    from ggp.referee.match.series import GameResult, SeriesTally
    from ggp.referee.ratings.sequential import SequentialTest
    from ggp.referee.ratings.sprt import PRESETS

    chance, results = Random(1), []
    for number in range(games):
        winner = chance.choice((0, 1))
        letter = "B" if winner == number % 2 else "W"
        results.append(
            GameResult(
                number, f"s-{number + 1}", f"{letter}+1", winner, "", Termination.RULES, "", 40, (900, 900), False
            )
        )
    each = []
    for _ in range(ROUNDS):
        test = SequentialTest(PRESETS["gate"])
        test.expect(range(games // 2))
        tally = SeriesTally(test=test)
        began = time.perf_counter()
        for result in results:
            tally.add(result)
            effect_of(tally)
        each.append((time.perf_counter() - began) / games)
    return [("statistics of a match, a game", statistics.median(each) * 1000, "ms")]
