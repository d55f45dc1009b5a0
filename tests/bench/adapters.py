"""What a ply costs through an adapter beside one of our own games, and what the engine of OpenSpiel costs to start.

`ggp-play` through pipes, asker and engine on one core, in random games whose moves were drawn before. The adapter's own
time is what is left without OpenSpiel's (legal actions, the string, the action) and without the pipes (`ggp-status`).
Then whole plies of `ggp match` between C programs that answer at once, through either engine, in turns, in games of as
many plies: go 11x11 of ours, ended by passes.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.engine_plies import BenchEngine
from tests.bench.referee import build, run_match, script

GAMES = ("connect_four", "hex", "othello", "breakthrough", "chess")
OURS = ("yugo size=7", "go size=9")
PLIES = 2_000
MATCHED = {"connect_four": 700, "hex": 200, "othello": 350}  # games of a match
ROUNDS = 15  # many short ones: what slows the machine for seconds spoils few
OPENSPIEL = "openspiel"

Row = tuple[str, float, str]


def main(quick: bool = False) -> list[Row]:
    """Rows (what, µs or MiB, unit)."""
    plies = PLIES // 10 if quick else PLIES
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})  # the engine inherits it
    try:
        ours = [(game, *_play(game, plies)) for game in OURS]
        theirs = [(game, *_play(f"{OPENSPIEL} {game}", plies), _openspiel_alone(game, plies)) for game in GAMES]
    finally:
        os.sched_setaffinity(0, before)
    rows: list[Row] = [(f"{game}: ggp-play, of our own engine", play, "µs") for game, play, _ in ours]
    for game, play, empty, alone in theirs:
        rows.append((f"{game} of OpenSpiel: ggp-play", play, "µs"))
        rows.append((f"{game}: OpenSpiel's own part of it", alone, "µs"))
        rows.append((f"{game}: the adapter's own part of it", max(0.0, play - alone - empty), "µs"))
    rows += _matches(quick)
    return [*rows, *_start(2 if quick else 9), *_version(2 if quick else 9)]


def _play(game: str, plies: int) -> tuple[float, float]:
    """The median of a ply, and that of `ggp-status`, which costs the way and little else."""
    chance, playing, asking = random.Random(1), list[float](), list[float]()
    name = game.removeprefix(f"{OPENSPIEL} ")
    with BenchEngine(*game.split()) as engine:
        while len(playing) < plies:
            answer = engine.ask(f"ggp-new {name}\n")
            while (colour := answer.split("to_play=")[1].split(" ")[0]) != "none":
                legal = engine.ask("ggp-legal_moves\n").split()[1:]
                line = f"ggp-play {colour} {chance.choice(legal)}\n"
                start = time.perf_counter()
                answer = engine.ask(line)
                playing.append(time.perf_counter() - start)
                start = time.perf_counter()
                engine.ask("ggp-status\n")
                asking.append(time.perf_counter() - start)
    return statistics.median(playing) * 1e6, statistics.median(asking) * 1e6


def _openspiel_alone(game: str, plies: int) -> float:
    import pyspiel

    chance, times = random.Random(1), list[float]()
    loaded = pyspiel.load_game(game)
    while len(times) < plies:
        state = loaded.new_initial_state()
        while not state.is_terminal():
            action = chance.choice(state.legal_actions())
            start = time.perf_counter()
            state.legal_actions()
            state.action_to_string(state.current_player(), action)
            state.apply_action(action)
            state.current_player()
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def _matches(quick: bool) -> list[Row]:
    share = 10 if quick else 1
    found = dict[str, list[float]]()
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        place = Path(folder)
        bot = build(place)
        moves = script("go", {"size": "11"}, place / "go.moves").read_text(encoding="utf-8").split()
        plies = {game: _openspiel_script(game, place / f"{game}.moves") for game in MATCHED}
        for game, length in plies.items():
            (place / f"go{game}.moves").write_text(
                "\n".join([*moves[: length - 2], "pass", "pass", ""]), encoding="utf-8"
            )
        for _ in range(1 if quick else ROUNDS):
            for game, games in MATCHED.items():
                ours = run_match(place, "go,size=11", f"{bot} {place}/go{game}.moves", games // share, 1)
                engine = ("--engine", "ggp engine openspiel")
                theirs = run_match(place, game, f"{bot} {place}/{game}.moves", games // share, 1, *engine)
                for name, result in ((f"{game} of OpenSpiel", theirs), (f"our go, as long as {game}", ours)):
                    assert result["plies"] == plies[game] * (games // share)
                    found.setdefault(name, []).append(result["seconds"] / result["plies"] * 1e6)
    return [(f"{name}: a ply of ggp match", statistics.median(each), "µs") for name, each in found.items()]


def _openspiel_script(game: str, path: Path) -> int:
    """A random game, a move a line, as OpenSpiel writes them: these games have moves of one word. Its plies."""
    import pyspiel

    chance, state, moves = random.Random(1), pyspiel.load_game(game).new_initial_state(), list[str]()
    while not state.is_terminal():
        action = chance.choice(state.legal_actions())
        moves.append(state.action_to_string(state.current_player(), action))
        state.apply_action(action)
    path.write_text("\n".join([*moves, ""]), encoding="utf-8")
    return len(moves)


def _start(rounds: int) -> list[Row]:
    """From the start of the engine to its first answer, and its memory then."""
    seconds, memory = list[float](), list[float]()
    for _ in range(rounds):
        start = time.perf_counter()
        with BenchEngine(OPENSPIEL, "connect_four") as engine:
            engine.ask("name\n")
            seconds.append(time.perf_counter() - start)
            status = Path(f"/proc/{engine.pid}/status").read_text(encoding="utf-8")
            memory.append(int(status.split("VmRSS:")[1].split()[0]) / 1024)
    return [
        ("ggp engine openspiel: to its first answer", statistics.median(seconds) * 1e3, "ms"),
        ("ggp engine openspiel: resident memory then", statistics.median(memory), "MiB"),
    ]


def _version(rounds: int) -> list[Row]:
    """`ggp --version`, which no installed extra may slow down."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run([Path(sys.executable).with_name("ggp"), "--version"], stdout=subprocess.DEVNULL, check=True)
        seconds.append(time.perf_counter() - start)
    return [("ggp --version", statistics.median(seconds) * 1e3, "ms")]
