"""`python -m docs.openspiel_games` plays every game of `ggp engine openspiel` and writes the page about them.

It takes some minutes, and OpenSpiel: `make extras` first. The page is made again for a new version of OpenSpiel, not at
every change, because its times are those of one machine.
"""

import json
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ggp.protocol.entry_points import version
from ggp.referee.tools.archive.places import open_matches

PAGE = Path(__file__).parent / "reference" / "openspiel-games.md"
GGP = (sys.executable, "-P", "-c", "from ggp.referee.cli.main import main; raise SystemExit(main())")
ENGINE = (sys.executable, "-P", "-m", "ggp.engines", "openspiel")
GAMES = 20
HEAD = """\
# The games of OpenSpiel

What [`ggp engine openspiel`](../how-to/play-openspiel.md) offers with OpenSpiel {version}. For each game two random
bots played {games} games; `ggp verify` played all of them again. `python -m docs.openspiel_games` wrote this page.

*plies* are those of all games together. *checks* are the steps of `ggp check --engine` that passed, of those that
apply. *µs a ply* is the time of one `ggp-play` in the engine without the way through the pipes, and *of OpenSpiel* the
part of it that OpenSpiel takes (one machine, median). *drawn* is what `ggp-scene` has: a grid of rows × columns where
the text of a position is one, else that text. *options* are the parameters with the values that load.

| game | plies | as recorded | checks | µs a ply | of OpenSpiel | drawn | options |
|---|---|---|---|---|---|---|---|
"""


class PlayedGame(NamedTuple):
    """A row of the table."""

    name: str
    plies: int
    verified: str
    checks: str
    micros: float
    own: float
    drawn: str
    options: str

    def __str__(self) -> str:
        numbers = f"{self.plies} | {self.verified} | {self.checks} | {self.micros:.1f} | {self.own:.1f}"
        return f"| {self.name} | {numbers} | {self.drawn} | {self.options} |\n"


def main(arguments: Sequence[str]) -> int:
    """All games, or those that are named, which are printed only."""
    from ggp.engines.adapters.openspiel import OpenSpielRegistry

    names = list(arguments) or OpenSpielRegistry().names()
    rows = []
    for name in names:
        rows.append(play(name, GAMES))
        print(str(rows[-1]).strip(), flush=True)
    if not arguments:
        PAGE.write_text(
            HEAD.format(version=version("open_spiel"), games=GAMES) + "".join(map(str, rows)) + _foot(rows),
            encoding="utf-8",
        )
    return 0


def play(name: str, games: int) -> PlayedGame:
    """Play the games, play them again, check the engine, and look at what it draws."""
    engine = ("--engine", shlex.join(ENGINE))
    with tempfile.TemporaryDirectory() as folder:
        record = f"{folder}/games.jsonl"
        _run("match", *engine, name, "random:seed=1", "random:seed=2", "--games", str(games), "--record", record)
        verified = _run("verify", *engine, record).returncode == 0
        found = json.loads(_run("check", "--engine", "--game", name, "--json", "--", *ENGINE).stdout)
        plies = [[ply.move for ply in record.plies] for record in open_matches(record, print, print)]
    verdicts = [row["verdict"] for row in found["steps"]]
    passed, applicable = verdicts.count("pass"), len(verdicts) - verdicts.count("not applicable")
    micros, own = measure(name, plies)
    drawn, options = describe(name)
    checks = f"{passed} of {applicable}"
    return PlayedGame(name, sum(map(len, plies)), "all" if verified else "NOT ALL", checks, micros, own, drawn, options)


def measure(name: str, games: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Microseconds of a ply in the engine, and of OpenSpiel alone: medians of the games."""
    from ggp.engines.adapters.openspiel import OpenSpielRegistry, extend
    from ggp.engines.service import make_responder
    from ggp.engines.session import Session

    session = Session(OpenSpielRegistry())
    responder = make_responder(session, extend)

    def ask(line: str) -> bytes:
        responder.receive(line.encode())
        return responder.next_answer() or b""

    ours, theirs = [], []
    for moves in games:
        begun = ask(f"ggp-new {name}\n").decode()
        state: Any = session.need().state
        bare, colour = state.inner.clone(), _colour(begun)
        start = time.perf_counter()
        for move in moves:
            colour = _colour(ask(f"ggp-play {colour} {move}\n").decode())
        ours.append((time.perf_counter() - start) / len(moves))
        state = session.need().state
        actions = state.inner.history()
        start = time.perf_counter()
        for action in actions:
            bare.legal_actions()
            bare.action_to_string(bare.current_player(), action)
            bare.apply_action(action)
        theirs.append((time.perf_counter() - start) / len(moves))
    return sorted(ours)[len(ours) // 2] * 1e6, sorted(theirs)[len(theirs) // 2] * 1e6


def describe(name: str) -> tuple[str, str]:
    """What is drawn of the first position; the options."""
    from ggp.engines.adapters.openspiel import OpenSpielRegistry

    game = OpenSpielRegistry().load(name)
    state = game.new({option.name: option.parse(option.default) for option in game.options})
    board = state.scene()
    drawn = f"{board['board']['height']} × {board['board']['width']}" if board["cells"] else "text"
    return drawn, ", ".join(f"`{option.name}={option.default}` ({option.domain})" for option in game.options) or "none"


def _colour(answer: str) -> str:
    return answer.partition("to_play=")[2].split()[0]


def _run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*GGP, *words], capture_output=True, encoding="utf-8", check=False)


def _foot(rows: Sequence[PlayedGame]) -> str:
    total = sum(row.plies for row in rows)
    return f"\n{len(rows)} games, {GAMES} matches of each, {total} plies.\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
