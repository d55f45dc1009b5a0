"""`ggp bot oneshot`: a program for every move. What it reads, that its move is played, and that no process remains."""

import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ggp.bots.clock import BotClock
from ggp.bots.command import find_problem
from ggp.bots.oneshot import describe, seconds_left
from ggp.bots.position import Position
from ggp.engines.game import read_options
from ggp.engines.history import GameHistory
from ggp.engines.registry import Registry
from tests.referee.match.test_process import running
from tests.support import ROOT
from tests.support.cli import Ggp, ggp, wait_until
from tests.support.raw_peer import RawPeer, play_game
from tests.system.test_languages import members

PAGE = ROOT / "docs" / "how-to" / "write-a-bot-in-any-language.md"
EXAMPLE = ["sh", str(ROOT / "bots/examples/one_move.sh")]
RANDOM = [sys.executable, "-m", "ggp.bots", "random", "seed=1"]


def oneshot(*command: str) -> list[str]:
    return [sys.executable, "-m", "ggp.bots", "oneshot", "--", *command]


def position(game: str, *moves: str, clock: BotClock = BotClock()) -> Position:  # noqa: B008
    name, *words = game.split()
    rules = Registry().load(name)
    line = GameHistory(rules, read_options(rules, words))
    for move in moves:
        line.play(line.state.to_play, move)
    return Position(line, line.state.copy(), clock)


def test_it_reads_the_whole_position() -> None:
    assert describe(
        position("stigmergy size=2", "bid:3", "keep-sides", "B2", clock=BotClock(900, 800))
    ).splitlines() == [
        "game stigmergy size=2 komi=bid",
        "phase play",
        "seat 2",
        "colour white",
        "clock 800",
        "legal A2 A3 B1 B3 C1 C2 button",
        "ply 1 black bid:3",
        "ply 2 white keep-sides",
        "ply 1 black B2",
    ]
    assert "clock" not in describe(position("go size=2 komi=-0.5"))
    assert describe(position("go size=2 komi=-0.5")).startswith("game go size=2 komi=-0.5 ")


def test_the_page_shows_what_it_reads() -> None:
    shown = describe(position("yugo size=5", "C3", clock=BotClock(10000, 9870)))
    assert f"```text\n{shown}```\n" in PAGE.read_text(encoding="utf-8")


def test_it_has_all_the_time_of_its_clock() -> None:
    assert seconds_left(position("yugo")) == 600
    assert seconds_left(position("yugo", clock=BotClock(black=2500, white=10))) == 2.5
    assert seconds_left(position("yugo", clock=BotClock(black=500, white=10, period=3000, periods=2))) == 3.5
    assert seconds_left(position("yugo", clock=BotClock(black=3000, white=10, period=3000, periods=2))) == 6
    assert seconds_left(position("yugo", clock=BotClock(black=3000, white=10, period=3000, periods=1))) == 3


@pytest.mark.slow
@pytest.mark.parametrize("game", ["stigmergy size=2", "yugo size=3 agreement=on", "laido size=2"])
def test_it_plays_whole_games_in_both_seats(game: str) -> None:
    name, *words = game.split()
    with RawPeer(oneshot(*EXAMPLE)) as one, RawPeer(RANDOM) as two:
        play_game(name, words, one, two)
        play_game(name, words, two, one)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("true", "the program printed no move"),
        ("echo; echo C3", "the program printed no move"),
        ("echo two words", "not one move"),
        ("echo A9", "illegal move"),
        ("yes | tr -d '\\n'", "a line of more than 65536 bytes"),
        ("sleep 600 & sleep 600", "before its clock ran out"),
        ("exec >&-; sleep 600", "the program printed no move"),
    ],
)
def test_a_program_that_makes_no_move_costs_the_game_and_nothing_stays(
    program: str, words: str, tmp_path: Path
) -> None:
    """The next move is asked of another process, as if nothing had been."""
    noted = tmp_path / "group"
    script = f"[ -e {noted} ] && echo C3 && exit; echo $$ >{noted}.new; mv {noted}.new {noted}; {program}"
    with RawPeer(oneshot("sh", "-c", script)) as bot:
        assert bot.ask("ggp-new yugo size=5") == "" and bot.ask("ggp-clock black=400 white=400") == ""
        assert words in bot.ask("genmove black")
        wait_until(lambda: not members(int(noted.read_text(encoding="utf-8"))))
        assert bot.ask("genmove black") == "C3"


@pytest.mark.slow
def test_one_that_has_printed_its_move_is_not_waited_for(tmp_path: Path) -> None:
    noted = tmp_path / "group"
    with RawPeer(oneshot("sh", "-c", f"echo $$ >{noted}; sleep 600 & echo c3; sleep 600")) as bot:
        assert bot.ask("ggp-new yugo size=5") == "" and bot.ask("genmove black") == "C3"
        wait_until(lambda: not members(int(noted.read_text(encoding="utf-8"))))


# Each starts a process that outlives its parent, notes its pid in $1, and does not end by itself.
CHILD = 'sh -c "echo \\$\\$ >$1.new; mv $1.new $1; exec sleep 600"'
FAMILIES = {
    "itself": f"exec {CHILD}",
    "a child": f"{CHILD}; true",
    "a pipeline": f"{CHILD} | cat",
    "in the background": f"{CHILD} & sleep 600",
    "orphaned": f"({CHILD} &); sleep 600",
    "of another session": f"setsid {CHILD} & sleep 600",
}
KILLERS: dict[str, Callable[[int], None]] = {
    "its group is killed": lambda pid: os.killpg(pid, signal.SIGKILL),
    "it is killed": lambda pid: os.kill(pid, signal.SIGKILL),
    "it is told to end": lambda pid: os.kill(pid, signal.SIGTERM),
    "it is interrupted": lambda pid: os.kill(pid, signal.SIGINT),
}


def family(name: str, noted: Path, before: str = "") -> list[str]:
    return oneshot("sh", "-c", before + FAMILIES[name], "sh", str(noted))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "name"),
    # A bot that is killed cannot look for what has left the group: the referee does, see the test with a match.
    [(how, name) for how in KILLERS for name in FAMILIES if "killed" not in how or name != "of another session"],
)
def test_whatever_a_program_started_ends_with_its_bot(how: str, name: str, tmp_path: Path) -> None:
    noted = tmp_path / "child"
    with RawPeer(family(name, noted)) as bot:
        assert bot.ask("ggp-new yugo size=5") == ""
        bot.send(b"genmove black\n")
        wait_until(noted.exists)
        KILLERS[how](bot.process.pid)
        wait_until(lambda: not running(int(noted.read_text(encoding="utf-8"))))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_whatever_a_program_started_ends_with_its_time(name: str, tmp_path: Path) -> None:
    noted = tmp_path / "child"
    with RawPeer(family(name, noted)) as bot:
        assert bot.ask("ggp-new yugo size=5") == "" and bot.ask("ggp-clock black=2000 white=2000") == ""
        assert "before its clock ran out" in bot.ask("genmove black")
        assert not running(int(noted.read_text(encoding="utf-8")))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["in the background", "orphaned", "of another session"])
def test_whatever_a_program_started_ends_with_its_move(name: str, tmp_path: Path) -> None:
    noted = tmp_path / "child"
    answer = "(while [ ! -e $1 ]; do sleep 0.01; done; echo C3) & "
    with RawPeer(family(name, noted, answer)) as bot:
        assert bot.ask("ggp-new yugo size=5") == "" and bot.ask("genmove black") == "C3"
        assert not running(int(noted.read_text(encoding="utf-8")))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_whatever_a_program_started_ends_with_its_match(number: signal.Signals, name: str, tmp_path: Path) -> None:
    noted = tmp_path / "child"
    match = Ggp("match", "yugo,size=5", shlex.join(family(name, noted)), "random", "--games", "1", "--time", "600")
    wait_until(noted.exists)
    match.process.send_signal(number)
    match.wait()  # looks for all that carries its mark, in the groups of others, too
    assert not running(int(noted.read_text(encoding="utf-8")))


@pytest.mark.slow
def test_a_program_may_wait_for_all_its_children() -> None:
    """What watches over it is none of them."""
    with RawPeer(oneshot("perl", "-e", "1 while wait > 0; print qq(C3\\n)")) as bot:
        assert bot.ask("ggp-new yugo size=5") == "" and bot.ask("ggp-clock black=60000 white=60000") == ""
        assert bot.ask("genmove black") == "C3"


@pytest.mark.parametrize("words", [[], ["--"], ["seed=1", "--", "cat"], ["--", "no-such-program"]])
def test_words_that_cannot_be_are_one_line(words: list[str]) -> None:
    problem = find_problem(["oneshot", *words])
    assert problem is not None and problem[0] == "options" and problem[1].startswith("oneshot: ")
    assert find_problem(["oneshot", "--", "sh", "-h"]) is None


@pytest.mark.long
def test_every_step_and_a_match() -> None:
    ran = ggp("check", "--json", "--timeout", "60", "--", *oneshot(*EXAMPLE))
    assert [step for step in ran.json["steps"] if step["verdict"] == "fail"] == [] and ran.status == 0
    ran = ggp("match", "go,size=5,agreement=on", shlex.join(oneshot(*EXAMPLE)), "random", "--games", "2", "--json")
    assert ran.status == 0 and ran.json["terminations"] == {"rules": 2}
