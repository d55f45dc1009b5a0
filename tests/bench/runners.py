"""A ply of other match runners, in turns with ours: those of fastchess, cutechess-cli, gomill and gogui-twogtp that are
in PATH. None is shipped; docs/explanation/performance.md says where they come from.

Both bots are one C program that knows the game by heart and answers at once (instant.c): go for us, gomill and GoGui,
chess by UCI for the others. The bots tell the time from the first move that they are asked for to the last one, so what
starting and ending cost is left out. All of a series is on one core by `taskset`, but where a row says otherwise.
"""

import argparse
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.bench.measure import GGP, Row, build, medians, script, write_moves

GAMES, ROUNDS = 1000, 5
CHESS_PLIES = range(80, 121)  # as long as usual games; a runner of UCI sends the whole game with each ply
CHESS = "chess, by UCI"
GO = "go 9x9"
GOMILL = """\
competition_type = "playoff"
players = {{"one": Player({bot!r}), "two": Player({bot!r})}}
board_size = 9
komi = 7.5
matchups = [Matchup("one", "two", alternating=True, number_of_games={games}, scorer="internal", move_limit=1000)]
"""


class Runner(NamedTuple):
    """`words(bot, games)`: its command line, in a folder that has gomill.ctl; `bot`: a program and a file."""

    name: str
    program: str
    game: str
    words: Callable[[str, int], list[str]]
    pinned: bool = True  # by us, all of it on one core


def _ggp(jobs: int) -> Callable[[str, int], list[str]]:
    def words(bot: str, games: int) -> list[str]:
        head = [*GGP, "match", "go,size=9", bot, bot, "--games", str(games), "--jobs", str(jobs)]
        return [*head, "--record", "games.jsonl", "--quiet"]

    return words


def _uci(program: str, argument: str, *more: str) -> Callable[[str, int], list[str]]:
    def words(bot: str, games: int) -> list[str]:
        command, moves = bot.split()
        engine = ["-engine", f"cmd={command}", f"{argument}={moves}"]
        head = [program, *engine, "name=one", *engine, "name=two", "-each", "proto=uci", "tc=100+1"]
        return [*head, "-rounds", str(games // 2), "-games", "2", "-repeat", "-pgnout", *more]

    return words


def _gomill(bot: str, games: int) -> list[str]:
    return ["ringmaster", "--quiet", "gomill.ctl", "run"]


def _gogui(bot: str, games: int) -> list[str]:
    head = ["gogui-twogtp", "-black", bot, "-white", bot, "-size", "9", "-komi", "7.5", "-alternate", "-auto"]
    return [*head, "-games", str(games), "-sgffile", "gogui"]


_FASTCHESS = _uci("fastchess", "args", "file=games.pgn")
_FASTCHESS_TWO = _uci("fastchess", "args", "file=games.pgn", "-use-affinity", "-concurrency", "2")
RUNNERS = (
    Runner("ggp match", GGP[0], GO, _ggp(1), pinned=False),
    Runner("ggp match, two at a time", GGP[0], GO, _ggp(2), pinned=False),
    Runner("fastchess", "fastchess", CHESS, _FASTCHESS),
    Runner("fastchess, not pinned", "fastchess", CHESS, _FASTCHESS, pinned=False),
    Runner("fastchess, two at a time, -use-affinity", "fastchess", CHESS, _FASTCHESS_TWO, pinned=False),
    Runner("cutechess-cli", "cutechess-cli", CHESS, _uci("cutechess-cli", "arg", "games.pgn")),
    Runner("gomill", "ringmaster", GO, _gomill),
    Runner("gogui-twogtp", "gogui-twogtp", GO, _gogui),
)


def make_files(folder: Path) -> tuple[Path, dict[str, Path]]:
    """The bot, and the games that it knows; chess where OpenSpiel is installed."""
    moves = {GO: script("go", {"size": "9"}, folder / "go.moves")}
    if chess := chess_game(folder / "chess.moves"):
        moves[CHESS] = chess
    return build(folder), moves


def command_lines() -> list[str]:
    """Return the command lines of all runners, for a reader who has the files in the current folder."""
    lines = []
    for runner in RUNNERS:
        bot = f"./instant {'chess' if runner.game == CHESS else 'go'}.moves"
        words = runner.words(bot, GAMES)
        line = shlex.join(words).replace(shlex.join(GGP), "ggp")
        lines.append(f"taskset -c 1 {line}" if runner.pinned else line)
    return lines


def main(quick: bool = False) -> list[Row]:
    """Measure the runners that are installed, in turns."""
    games, rounds = (20, 1) if quick else (GAMES, ROUNDS)
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as name:
        bot, moves = make_files(Path(name))
        found = [runner for runner in RUNNERS if shutil.which(runner.program) and runner.game in moves]
        for missing in sorted({one.program for one in RUNNERS} - {one.program for one in found}):
            print(f"{missing} is not in PATH: not measured", file=sys.stderr)
        ways = {
            f"{runner.name}, {runner.game}: a ply": partial(_ply, runner, f"{bot} {moves[runner.game]}", games)
            for runner in found
        }
        return medians(ways, rounds, "µs")


def chess_game(path: Path) -> Path | None:
    """Write a random game of chess of a usual length, as UCI writes moves; return None without OpenSpiel."""
    try:
        import pyspiel
    except ImportError:
        return None
    game, seed, moves = pyspiel.load_game("chess"), 0, list[str]()
    while len(moves) not in CHESS_PLIES:
        seed, moves, state = seed + 1, [], game.new_initial_state()
        chance = random.Random(seed)
        while not state.is_terminal() and len(moves) <= CHESS_PLIES[-1]:
            action = chance.choice(state.legal_actions())
            moves.append(pyspiel.chess.action_to_move(action, state.board()).to_lan())
            state.apply_action(action)
    return write_moves(path, moves)


def _ply(runner: Runner, bot: str, games: int) -> float:
    """Return the microseconds of a ply in a series, as its bots saw it."""
    core = str(sorted(os.sched_getaffinity(0))[-1])
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        times = Path(folder, "times")
        Path(folder, "gomill.ctl").write_text(GOMILL.format(bot=bot, games=games), encoding="utf-8")
        subprocess.run(
            [*(["taskset", "-c", core] if runner.pinned else []), *runner.words(bot, games)],
            cwd=folder,
            env={**os.environ, "INSTANT_TIMES": str(times)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        lines = [line.split() for line in times.read_text(encoding="utf-8").splitlines()]
    first, last = min(float(line[0]) for line in lines), max(float(line[1]) for line in lines)
    return (last - first) / sum(int(line[2]) for line in lines) * 1e6


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.runners", description=__doc__)
    parser.add_argument("--files", type=Path, required=True, metavar="DIR", help="make what the lines of the page need")
    there: Path = parser.parse_args().files
    make_files(there)
    (there / "gomill.ctl").write_text(GOMILL.format(bot="./instant go.moves", games=GAMES), encoding="utf-8")
