"""Printed ratings: 95 % of the intervals hold the true strength."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from ggp.referee.cli import ladder_standings
from ggp.referee.cli import rate as rate_command
from ggp.referee.ladder.rating import rate_seats
from ggp.referee.ladder.standings import Standings, make_fit, places, standings_json
from ggp.referee.ladder.store.model import PairScore, PoolEntry, PoolRow
from ggp.referee.ratings.scale import ELO
from ggp.referee.server.control.control import CommandQueue
from ggp.referee.server.control.handlers import RefereeCommands
from tests.support.stores import Filled, entrant, ladder, scores

Capture = pytest.CaptureFixture[str]
Line = tuple[str, float, float | None]  # name, Elo, half of the 95 % interval

POOL = PoolRow(1, "key", "main", "yugo", {}, "1+0.1", 0, 0)


@dataclass(frozen=True)
class Shape:
    """A pool to be simulated: `met` names who meets whom, `games` from each seat; ν is Davidson's."""

    bots: int
    met: str  # "all", "neighbours", "first" (a gauntlet)
    games: int
    spread: float = 120.0
    nu: float = 0.0
    anchors: tuple[int, ...] = ()

    def pairs(self) -> list[tuple[int, int]]:
        every = [(one, two) for one in range(self.bots) for two in range(one + 1, self.bots)]
        return [
            (one, two)
            for one, two in every
            if self.met == "all" or (two - one == 1 if self.met == "neighbours" else one == 0)
        ]


SHAPES = {
    "two": Shape(2, "all", 150),
    "two, draws": Shape(2, "all", 150, nu=1.5),
    "two, one anchor": Shape(2, "all", 150, anchors=(1,)),
    "all": Shape(6, "all", 25),
    "neighbours": Shape(5, "neighbours", 80, spread=80),
    "gauntlet, draws": Shape(6, "first", 80, nu=0.7),
    "all, one anchor, draws": Shape(6, "all", 25, nu=0.7, anchors=(3,)),
    "all, three anchors": Shape(7, "all", 20, anchors=(0, 2, 5)),
    "neighbours, two anchors": Shape(5, "neighbours", 80, spread=80, anchors=(0, 4)),
}


def simulated(shape: Shape, seed: int) -> tuple[dict[str, float], list[tuple[int, int, list[int]]]]:
    """True strengths on the scale that should be printed, and wins, ties, losses by ordered pair."""
    chance = np.random.default_rng(seed)
    elo = chance.normal(300, shape.spread, shape.bots)
    played = []
    for one, two in shape.pairs():
        for first, second in ((one, two), (two, one)):
            x = (elo[first] - elo[second] + 30) / ELO
            shares = np.array([math.exp(x / 2), shape.nu, math.exp(-x / 2)])
            played.append((first, second, chance.multinomial(shape.games, shares / shares.sum()).tolist()))
    truth = np.round(elo) if shape.anchors else elo - elo.mean()
    return {f"bot{number}": float(value) for number, value in enumerate(truth)}, played


def printed_by_rate(shape: Shape, seed: int, folder: Path, capsys: Capture) -> tuple[dict[str, float], list[Line]]:
    """What `ggp rate` prints."""
    truth, played = simulated(shape, seed)
    rows = [
        f"bot{first},bot{second},{result},{count}"
        for first, second, counts in played
        for result, count in zip(("1", "0.5", "0"), counts, strict=True)
    ]
    file = folder / "results.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    anchors = [word for bot in shape.anchors for word in ("--anchor", f"bot{bot}={truth[f'bot{bot}']:g}")]
    assert rate_command.run_rate([str(file), *anchors]) == 0
    return truth, table(capsys.readouterr().out, shape)


def ladder_of(shape: Shape, seed: int) -> tuple[dict[str, float], Standings]:
    """The same pool as a ladder has it."""
    truth, played = simulated(shape, seed)
    seats = [PoolEntry(number, name, name, f"v{number}") for number, name in enumerate(truth)]
    for bot in shape.anchors:
        seats[bot] = replace(seats[bot], anchor=truth[f"bot{bot}"])
    meetings = [PairScore(first, second, *counts) for first, second, counts in played]
    fit = make_fit(rate_seats(meetings, seats), 1, seats)
    return truth, Standings(POOL, seats, fit, places(seats, scores(meetings), fit))


def printed_by_ladder(shape: Shape, seed: int, folder: Path, capsys: Capture) -> tuple[dict[str, float], list[Line]]:
    """What `ggp ladder standings` prints; the JSON says the same."""
    truth, found = ladder_of(shape, seed)
    ladder_standings.show_standings(found)
    lines = table(capsys.readouterr().out, shape)
    for (name, elo, error), row in zip(lines, standings_json(found)["ratings"], strict=True):
        assert (row["name"], f"{round(row['elo'], 1) + 0.0:.1f}") == (name, f"{elo:.1f}")  # no -0.0
        assert row["se"] is None if error is None else f"{1.96 * row['se']:.1f}" == f"{error:.1f}"
    return truth, lines


PRINTERS = {"rate": printed_by_rate, "ladder": printed_by_ladder}


def table(text: str, shape: Shape) -> list[Line]:
    """The columns bot, Elo and ± of a printed table; an anchor has no ±."""
    head, *lines = [line for line in text.splitlines() if line.split() and line.split()[0] in "#123456789"]
    elo, error = head.index("Elo") + 3, head.index("±") + 1
    found: list[Line] = []
    for line in lines:
        cell = line[elo:error].strip()
        found.append((line.split()[1], float(line[:elo].split()[-1]), float(cell) if cell else None))
    assert len(found) == shape.bots
    return found


def hits(shape: Shape, seeds: range, printer: str, folder: Path, capsys: Capture) -> Iterator[bool]:
    """Whether each printed interval holds the truth. Checks what needs no statistics on the way."""
    for seed in seeds:
        truth, lines = PRINTERS[printer](shape, seed, folder, capsys)
        held = {f"bot{bot}" for bot in shape.anchors}
        assert {name for name, _, error in lines if error is None} == held
        assert all(elo == truth[name] for name, elo, _ in lines if name in held)
        if not held:
            assert abs(sum(elo for _, elo, _ in lines)) <= 0.05 * shape.bots + 1e-9
        for name, elo, error in lines:
            if error is not None:
                yield abs(elo - truth[name]) <= error


@pytest.mark.slow
def test_printed_intervals_cover_the_truth(tmp_path: Path, capsys: Capture) -> None:
    """A few pools of every shape, together; test_printed_intervals_of_each_shape takes many of each."""
    for number, printer in enumerate(PRINTERS):
        seeds = range(1000 * number, 1000 * number + 16)
        found = [hit for shape in SHAPES.values() for hit in hits(shape, seeds, printer, tmp_path, capsys)]
        assert 0.93 <= sum(found) / len(found) <= 0.97, (printer, sum(found) / len(found), len(found))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_printed_intervals_of_each_shape(name: str, tmp_path: Path, capsys: Capture) -> None:
    found = list(hits(SHAPES[name], range(800), "ladder", tmp_path, capsys))
    assert 0.93 <= sum(found) / len(found) <= 0.97, (sum(found) / len(found), len(found))


def said_zero(shape: Shape, capsys: Capture) -> tuple[str, str]:
    """The line under the table of a ladder, and the `zero` of its JSON."""
    _, found = ladder_of(shape, 5)
    ladder_standings.show_standings(found)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("zero is ")]
    return line, standings_json(found)["zero"]


@pytest.mark.parametrize(
    ("name", "zero", "of"),
    [
        ("all", "the mean of these bots", "of the difference to that mean"),
        ("two, one anchor", "Elo below the anchor bot1", "of the difference to the anchor"),
        ("neighbours, two anchors", "set by the anchors bot0 = ", "with the anchors taken as exact"),
    ],
)
def test_one_line_says_what_zero_is(name: str, zero: str, of: str, capsys: Capture) -> None:
    line, told = said_zero(SHAPES[name], capsys)
    assert zero in line and zero in told and line.partition("; ± is 95 %, ")[2] == of


def test_a_bot_without_games_does_not_move_the_mean(capsys: Capture) -> None:
    """Its own rating is a guess: its error would be in that of all the others."""
    seats = [PoolEntry(number, name, name, name) for number, name in enumerate(("ann", "bob", "new"))]
    meetings = [PairScore(0, 1, 60, 0, 40), PairScore(1, 0, 35, 0, 65)]
    fit = make_fit(rate_seats(meetings, seats), 200, seats)
    lines = {int(row.name): row for row in fit.rows}
    assert lines[0].elo + lines[1].elo == pytest.approx(0, abs=1e-9) and lines[0].se < 20 < 200 < lines[2].se
    ladder_standings.show_standings(Standings(POOL, seats, fit, places(seats, scores(meetings), fit)))
    assert "the mean of these bots that have a game" in capsys.readouterr().out


def test_versions_and_their_parents_have_mean_zero_too() -> None:
    """The prior of a version is its parent, which pulls no mean to zero."""
    seats = [PoolEntry(1, "old", "old", "v1"), PoolEntry(2, "new", "new", "v2", parent=1)]
    fit = make_fit(rate_seats([PairScore(1, 2, 30, 0, 70), PairScore(2, 1, 70, 0, 30)], seats), 200, seats)
    new, old = fit.rows
    assert new.elo == pytest.approx(-old.elo) and new.se == pytest.approx(old.se)
    assert new.next is not None
    assert new.next.elo == pytest.approx(2 * new.elo) and new.next.se == pytest.approx(2 * new.se)


def test_json_of_rate_says_the_same(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "results.csv"
    file.write_text("a,b,1,60\na,b,0,40\nb,c,1,50\nb,c,0,30\nc,a,1,20\nc,a,0,30\n", encoding="utf-8")
    for words, zero in (([], "the mean of these bots"), (["--anchor", "b=0"], "the anchor b")):
        assert rate_command.run_rate([str(file), *words]) == 0
        text = capsys.readouterr().out
        assert rate_command.run_rate([str(file), *words, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["zero"] == zero and f"zero is {zero}; " in text
        for name, elo, error in table(text, Shape(3, "all", 1)):
            (row,) = [row for row in found["ratings"] if row["name"] == name]
            assert f"{round(row['elo'], 1) + 0.0:.1f}" == f"{elo:.1f}"
            assert row["se"] is None if error is None else f"{1.96 * row['se']:.1f}" == f"{error:.1f}"


def test_the_referee_answers_the_same(tmp_path: Path) -> None:
    for anchor, zero in ((None, "mean"), (1500.0, "anchors")):
        folder = tmp_path / zero
        folder.mkdir()
        with Filled(folder, ladder([entrant("ann", "v1", anchor=anchor), entrant("bob", "v2")])) as filled:
            filled.meet("ann", "bob", (0, "rules"), (0, "rules"), (1, "rules"), (0, "rules"))
            commands: CommandQueue = None  # type: ignore[assignment]  # standings come from the store alone
            said = RefereeCommands(commands, filled.store).standings()
        ann, bob = (dict(word.split("=", 1) for word in line.split()) for line in said.splitlines())
        assert ann["zero"] == bob["zero"] == zero and float(bob["error"]) > 0
        if anchor is None:
            assert float(ann["elo"]) == -float(bob["elo"]) and ann["error"] == bob["error"]
        else:
            assert (ann["elo"], ann["error"]) == ("1500.0", "-")
