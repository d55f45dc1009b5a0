"""Plays many games of honest bots in one process, with an attack now and then, and looks at what it holds.

    python -m tests.support.zoo_soak FOLDER LEVEL GAMES ATTACKS

Writes FOLDER/soak.json, a SoakReport. The honest games are the same ones whatever the number of attacks.
"""

import faulthandler
import hashlib
import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from ggp.protocol.records import read_records
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.subreaper import adopt_orphans
from ggp.referee.match.match_runner import MatchRunner, Suspended
from ggp.referee.match.process import available_cores, pin
from ggp.referee.match.series import GameResult
from tests.support.series import make_setup
from tests.support.zoo_arena import ArenaTarget, attacker, confined, groups, kill_marked

LOOKS = 200  # how many times it looks at what it holds


class HeldNow(TypedDict):
    """After so many games: what this process has, and what is there because of it. `memory` is in KiB."""

    games: int
    descriptors: int
    memory: int
    groups: int
    files: int
    mounts: int
    children: int


class SoakReport(TypedDict):
    """`honest`: of each honest game a hash of its moves and its result."""

    honest: list[str]
    held: list[HeldNow]
    seconds: float


def held(games: int, target: ArenaTarget) -> HeldNow:
    memory = next(
        line for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines() if line.startswith("VmRSS")
    )
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="utf-8").split()
    return HeldNow(
        games=games,
        descriptors=len(list(Path("/proc/self/fd").iterdir())),
        memory=int(memory.split()[1]),
        groups=len(groups(f"ggp-{os.getpid()}-")),
        files=len(list(Path(os.environ["TMPDIR"]).iterdir())) + len(list(target.left())),
        mounts=len(Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()),
        children=len(children),
    )


def soak(folder: Path, level: str, games: int, attacks: int, names: list[str]) -> SoakReport:
    """`attacks` of the games are against attackers, each of these in turn."""
    mark = f"zoo-mark-soak-{os.getpid()}"
    target = ArenaTarget(folder, os.environ["GGP_ZOO_SECRET"], mark)
    adopt_orphans()
    pin(available_cores()[-1])
    honest, looks = list[str](), list[HeldNow]()

    def keep(record: bytes, result: GameResult) -> None:
        (one,) = read_records(record.splitlines(keepends=True))
        if not one.start.match.startswith("attack"):
            moves = " ".join([*(ply.move for ply in one.plies), one.end.result if one.end else "none"])
            honest.append(hashlib.sha256(moves.encode()).hexdigest()[:16])

    setup = make_setup("yugo,size=4", "a=random", "b=greedy:playouts=2", name="honest", seeded=True, time="20")
    setup = replace(setup, bots=(confined(setup.bots[0], level), confined(setup.bots[1], level)))
    table, began = MatchRunner(keep, most=3), time.monotonic()
    try:
        for number in range(games):
            if attacks and number % (games // attacks) == 0:
                name = names[number // (games // attacks) % len(names)]
                bot = replace(confined(attacker(name, target), level), restart=True)
                with suppress(Suspended):
                    run_blocking(table.play(replace(setup, name="attack", bots=(bot, setup.bots[0])), number * 2))
            run_blocking(table.play(setup, number))
            if number % max(1, games // LOOKS) == 0:
                looks.append(held(number, target))
    finally:
        run_blocking(table.close())
        target.close()
        kill_marked(mark)
    return SoakReport(honest=honest, held=looks, seconds=time.monotonic() - began)


def main(folder: Path, level: str, games: str, attacks: str, *names: str) -> None:
    faulthandler.dump_traceback_later(3 * 3600, exit=True)
    report = folder / "report.new"
    report.write_text(json.dumps(soak(folder, level, int(games), int(attacks), [*names])), encoding="utf-8")
    report.replace(folder / "soak.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
