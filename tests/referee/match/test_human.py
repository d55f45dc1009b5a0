"""A human in a seat of a match: what he may type in every phase, his clock, how he leaves; pipe and terminal."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from ggp.protocol.records import Event, Record, read_records
from ggp.referee.cli.match import main
from ggp.referee.cli.verify import main as main_verify
from ggp.referee.ladder.config import read_ladder
from ggp.referee.ladder.toml_file import ConfigError
from ggp.referee.match.bot_spec import BotSpec, WordError, read_bot
from ggp.referee.match.human import HumanLeft, PlainTerminal, TimeUp, announce, play_by_hand
from ggp.referee.match.record_file import RecordFile
from ggp.referee.match.series_run import SeriesReport, new_run
from tests.support.cli import PYTHON
from tests.support.codes import raises
from tests.support.series import make_setup
from tests.support.terminal import Terminal

HUMAN = read_bot("human", human=True)
OTHER = read_bot("other=human", human=True)


class HumanScript:
    """A terminal that types these lines; then the input ends. None: the time runs out over it."""

    def __init__(self, *lines: str | None) -> None:
        self.lines = list(lines)
        self.shown: list[str] = []
        self.words: list[list[str]] = []
        self.status = ""

    def show(self, text: str) -> None:
        self.shown.append(text)

    def read(self, prompt: str, words: Sequence[str], deadline: float | None, status: Callable[[], str]) -> str:
        self.words.append(list(words))
        self.status = status()
        if not self.lines:
            raise HumanLeft
        line = self.lines.pop(0)
        if line is None:
            raise TimeUp
        self.shown.append(f"{prompt}{line}")
        return line

    @property
    def text(self) -> str:
        return "\n".join(self.shown)


def play(
    tmp_path: Path, game: str, *lines: str | None, bots: tuple[str, ...] = (), time: str = "none"
) -> tuple[Record, HumanScript, SeriesReport]:
    """One match of two humans who share the script, or of one against a bot in seat 2."""
    setup = make_setup(game, HUMAN, bots[0] if bots else OTHER, time=time)
    script, path = HumanScript(*lines), tmp_path / "games.jsonl"
    path.unlink(missing_ok=True)
    events: list[Event] = []
    with RecordFile(path) as recorder:
        report = play_by_hand(new_run(replace(setup, games=1)), recorder, script, events.append)
    (record,) = read_records(path.read_bytes().splitlines(keepends=True))
    assert [*map(announce, events)] == [announce(events[0]), *[""] * len(record.plies), announce(events[-1])]
    assert [path.name for path in tmp_path.iterdir()] == ["games.jsonl"]
    return record, script, report


def moves(record: Record) -> list[str]:
    return [f"{ply.seat} {ply.colour} {ply.move}" for ply in record.plies]


@pytest.mark.slow
def test_questions_change_nothing_and_illegal_moves_are_asked_again(tmp_path: Path) -> None:
    typed = ("a1", ":why A1", "A1", ":why", ":undo 9", ":what", ":moves", ":score", ":board", "two words", "", "resign")
    record, script, report = play(tmp_path, "yugo,size=3", *typed, bots=("random",))
    assert record.start.bots[0].name == "human" and moves(record)[0] == "1 black A1"
    assert record.end is not None and (record.end.result, record.end.termination) == ("W+R", "resignation")
    assert "A1 is illegal: A1 is occupied" in script.text and "illegal move: A1 is occupied" in script.text
    assert (
        "write :undo PLIES, with 1 to 2" in script.text
        and "write :why MOVE" in script.text
        and script.text.count(":help") == 0
    )
    assert "a move is one word" in script.text and "the game is not over" in script.text
    assert script.text.count("3 ") >= 3 and f"white played {record.plies[1].move}" in script.text
    assert {"A1", "button", "resign", ":why"} <= set(script.words[0]) and "A1" not in script.words[1]
    assert (report.tally.games, report.stopped, report.suspended) == (1, 0, {})


@pytest.mark.slow
def test_examples_come_from_the_game_and_the_score_is_a_table(tmp_path: Path) -> None:
    typed = (":help", ":score", "0,-1/1,-1", ":why", "resign")
    _, script, _ = play(tmp_path, "taigo", *typed)
    examples = re.findall(r"as in (?::why )?([^\s,]+,[^\s]*|\S+)", script.text)
    assert examples and all("/" in example for example in examples) and "D4" not in script.text
    assert "       longest line  cones left" in script.text and "{" not in script.text


@pytest.mark.slow
def test_words_of_a_game_are_taken_with_a_colon_or_blank_and_in_capitals(tmp_path: Path) -> None:
    record, _, _ = play(tmp_path, "stigmergy,size=3", "BID 3", ":keep-sides", "A3", "BUTTON", "resign")
    assert moves(record)[:2] == ["1 black bid:3", "2 white keep-sides"] and moves(record)[3].endswith("button")


def series(tmp_path: Path, game: str, one: str | BotSpec, two: str | BotSpec, *lines: str | None) -> list[Record]:
    """Every record of a match of a human with this script."""
    path, script = tmp_path / "games.jsonl", HumanScript(*lines)
    setup = make_setup(game, one, two, time="60")
    with RecordFile(path) as recorder:
        report = play_by_hand(new_run(replace(setup, games=1)), recorder, script, lambda event: None)
    assert (report.tally.games, report.tally.void, report.suspended) == (1, 0, {}), script.text
    assert [path.name for path in tmp_path.iterdir()] == ["games.jsonl"]
    SHOWN[:] = [script.text]
    return list(read_records(path.read_bytes().splitlines(keepends=True)))


SHOWN: list[str] = []  # of the series that was played last


CHANGED = """from ggp.bots.sdk import Bot, Position
import ggp.bots.sdk
table = Bot.handlers
def handlers(self):
    found = table(self)
    {}
    return found
Bot.handlers = handlers
ggp.bots.sdk.run(lambda position: position.legal_moves()[0], words=())
"""
REFUSES = """import itertools
    from ggp.protocol.errors import CommandFailed
    undo, count = found["undo"], itertools.count()
    def once(arguments):
        if next(count) % 2: raise CommandFailed("cannot undo")
        return undo(arguments)
    found["undo"] = once"""


def bot_with(tmp_path: Path, change: str) -> BotSpec:
    """A bot whose moves are the first legal ones, after this change to the table of its commands."""
    script = tmp_path.parent / f"{tmp_path.name}.py"
    script.write_text(CHANGED.format(change), encoding="utf-8")
    return read_bot(f"stubborn={PYTHON} {script}")


@pytest.mark.slow
def test_plies_are_taken_back_by_agreement_and_both_records_say_so(tmp_path: Path) -> None:
    """The bot agrees by undoing them; the match goes on under another key, its clocks as they were."""
    bot = bot_with(tmp_path, "pass")
    records = series(tmp_path, "go,size=3", HUMAN, bot, "A1", "B2", ":undo", ":undo", "C3", "resign")
    first, second, third = records
    ends = [record.end for record in records if record.end]
    assert [end.termination for end in ends] == ["taken_back", "taken_back", "resignation"]
    assert [end.detail.partition(" taken")[0] for end in ends[:2]] == ["seat 1: 2 plies", "seat 1: 2 plies"]
    assert [(end.result, end.winner) for end in ends] == [("", 0), ("", 0), ("W+R", 2)]
    key = first.start.match
    assert [record.start.match for record in records] == [key, f"{key}.1", f"{key}.2"]
    assert [record.start.continues for record in records] == ["", f"{key}@2", f"{key}.1@0"]
    assert second.plies[:2] == tuple(structs.replace(ply, match=f"{key}.1") for ply in first.plies[:2])
    assert third.plies[0].move == "C3" and "white played" in SHOWN[0]
    assert main_verify([str(tmp_path / "games.jsonl")]) == 0


@pytest.mark.slow
def test_another_human_is_asked(tmp_path: Path) -> None:
    lines = ("A1", "B2", "C3", ":undo", "no", "pass", ":undo 1", "A2", ":undo 2", "yes", "B1", "resign")
    records = series(tmp_path, "go,size=3", HUMAN, OTHER, *lines)
    assert len(records) == 2 and "other does not agree" in SHOWN[0] and SHOWN[0].count("asks") >= 2
    assert [ply.move for ply in records[0].plies][:3] == ["A1", "B2", "C3"]
    assert records[1].start.continues.endswith(f"@{len(records[0].plies) - 2}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [("del found['undo']", "does not support undo"), (REFUSES, "refused to undo")],
    ids=["none", "half"],
)
def test_a_bot_that_does_not_undo_does_not_agree(change: str, reason: str, tmp_path: Path) -> None:
    """It is where it was before, and the match goes on."""
    bot = bot_with(tmp_path, change)
    (record,) = series(tmp_path, "go,size=3", HUMAN, bot, "C3", ":undo", "B2", "pass", "pass", "resign", "resign")
    assert f"not taken back: stubborn {reason}" in SHOWN[0]
    assert record.end is not None and record.end.termination in ("resignation", "rules"), record.end
    assert len(record.plies) >= 6


@pytest.mark.slow
def test_there_must_be_a_ply_to_take_back(tmp_path: Path) -> None:
    setup = replace(make_setup("go,size=3", HUMAN, "random"), games=1, position=("A1", "B2"))
    script = HumanScript(":undo", ":undo 1", ":undo x", "C3", ":undo 3", ":undo 0", "resign")
    with RecordFile(None) as recorder:
        report = play_by_hand(new_run(setup), recorder, script, lambda event: None)
    assert report.tally.games == 1
    assert script.text.count("there is no ply to take back") == 3
    assert script.text.count("write :undo PLIES, with 1 to 2") == 2


@pytest.mark.slow
def test_hints_and_rules(tmp_path: Path) -> None:
    """A bot that was asked is in the record, and is gone after the match."""
    typed = (":hint", ":hint greedy:playouts=5 1", ":hint nobody", ":hint random soon", ":hint 'x", ":rules")
    (record,) = series(tmp_path, "stigmergy,size=3", HUMAN, "random", *typed, "3", "resign")
    assert record.end is not None
    assert record.end.warnings == ("seat1: asked greedy for a hint at ply 1",)
    assert "Bid the komi" in SHOWN[0] and "greedy: bid:" in SHOWN[0] and "playouts" in SHOWN[0]
    assert "nobody: does not start" in SHOWN[0] and "random: unknown time control 'soon'" in SHOWN[0]
    assert "# Stigmergy" in SHOWN[0] or "Stigmergy" in SHOWN[0]


@pytest.mark.slow
def test_an_undo_on_the_command_line_is_no_void_match(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    ran = run("yugo,size=3", "human", "random", "--record", str(path), typed="A1\n:undo\nB2\nresign\n")
    assert ran.returncode == 0 and "void" not in ran.stdout, ran.stdout + ran.stderr
    assert "seat 1: 2 plies taken back by agreement" in ran.stdout and " continues " in ran.stdout
    again = run("yugo,size=3", "human", "random", "--record", str(path))
    assert again.returncode == 0 and "already holds 1 of these 1 matches" in again.stderr


@pytest.mark.slow
def test_the_agreement_about_dead_stones(tmp_path: Path) -> None:
    lines = ("A1", "B2", "pass", "pass", "a1", "agree", ":moves")
    record, script, _ = play(tmp_path, "go,size=2,agreement=on", *lines)
    assert moves(record)[2:6] == ["1 black pass", "2 white pass", "1 black dead:A1", "2 white dead:A1"]
    assert "Name the dead stones" in script.text and "`agree` to dead:A1" in script.text
    record, script, _ = play(tmp_path, "go,size=2,agreement=on", "A1", "B2", "pass", "pass", ":moves", "none", "NONE")
    assert (
        moves(record)[4:] == ["1 black dead:", "2 white dead:"]
        and "a list of dead stones, as in dead:A1,B2" in script.text
    )


@pytest.mark.slow
def test_bids_and_sides(tmp_path: Path) -> None:
    record, script, _ = play(tmp_path, "stigmergy,size=3", "-x", "3", "swap")
    assert moves(record)[:2] == ["1 black bid:3", "2 white swap-sides"]
    assert "Bid the komi" in script.text and "Choose: swap-sides or keep-sides" in script.text
    first = str(next(word for word in script.words[-1] if word.isalnum() and word[-1:].isdigit()))
    record, _, _ = play(tmp_path, "stigmergy,size=3", "bid:2", "keep-sides", first)
    assert moves(record)[1:] == ["2 white keep-sides", f"1 black {first}"]
    record, _, _ = play(tmp_path, "laido,size=3", "B2", "swap-sides", "B3", "resign")
    assert moves(record) == ["1 black B2", "2 white swap-sides", "1 white B3"]
    assert record.end is not None and (record.end.result, record.end.winner) == ("W+R", 1)


@pytest.mark.slow
def test_a_game_to_its_end_shows_the_last_position(tmp_path: Path) -> None:
    record, script, _ = play(tmp_path, "go,size=2,komi=0.5", "A1", "pass", "pass")
    assert record.end is not None and record.end.termination == "rules"
    assert "Game over: " in script.shown[-1] and script.text.count("Game over") == 1


@pytest.mark.slow
def test_the_clock_of_a_human_is_honest(tmp_path: Path) -> None:
    record, script, _ = play(tmp_path, "go,size=2", "A1", None, time="20")
    assert record.end is not None and (record.end.result, record.end.termination) == ("B+T", "time")
    assert script.status == "other 20.0 s, opponent 20.0 s" and record.plies[0].left is not None
    record, script, _ = play(tmp_path, "go,size=2", "A1", time="none")
    assert script.status == "" and record.plies[0].left is None
    assert record.end is not None and record.end.result == "B+R" and "The input has ended: you resign" in script.text


@pytest.mark.slow
def test_ctrl_c_drops_the_match(tmp_path: Path) -> None:
    class Impatient(HumanScript):
        def read(self, prompt: str, words: Sequence[str], deadline: float | None, status: Callable[[], str]) -> str:
            raise KeyboardInterrupt

    path = tmp_path / "games.jsonl"
    with RecordFile(path) as recorder:
        assert recorder.side_file() is recorder.side_file()
        setup = make_setup("go,size=2", HUMAN, "random")
        report = play_by_hand(new_run(setup), recorder, Impatient(), lambda event: None)
    assert (report.stopped, report.tally.games) == (2, 0) and [*tmp_path.iterdir()] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lacks", "told"),
    [("ggp-scene", "the engine does not draw its board"), ("scene=broken", "the engine's board cannot be drawn")],
)
def test_an_engine_that_tells_less(lacks: str, told: str) -> None:
    argv = (sys.executable, "-m", "tests.support.foreign_engine", "without", "ggp-legal", "ggp-score", lacks)
    setup = replace(make_setup("go,size=2,agreement=on", HUMAN, OTHER), engine=BotSpec("engine", "lesser", argv))
    terminal = HumanScript("Z9", "a1", ":score", "pass", "pass", "b1,", "a1")
    with RecordFile(None) as recorder:
        report = play_by_hand(new_run(replace(setup, games=1)), recorder, terminal, lambda event: None)
    assert report.tally.games == 1 and told in terminal.text and "illegal move: it is not among" in terminal.text
    assert "the engine does not provide a score" in terminal.text


@pytest.mark.parametrize("text", ["human", "me=human"])
def test_a_human_sits_nowhere_else(text: str, tmp_path: Path) -> None:
    with raises(WordError, "no-human"):
        read_bot(text)
    (tmp_path / "ladder.toml").write_text('[pool.a]\ngame = "go"\n[bot.me]\ncommand = "human"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="human"):
        read_ladder(tmp_path / "ladder.toml")


def test_lines_of_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = os.pipe()
    try:
        terminal = PlainTerminal(sys.stdout, ours)
        os.write(theirs, b" D4 \nlast" + b"\xff")
        assert terminal.read("> ", [], None, lambda: "status") == "D4"
        with pytest.raises(TimeUp):
            terminal.read("> ", [], 0.0, lambda: "")
        os.write(theirs, b"x" * 60_000)
        os.close(theirs)
        theirs = -1
        assert terminal.read("> ", [], None, lambda: "").startswith("last\ufffdxxx")
        with pytest.raises(HumanLeft):
            terminal.read("> ", [], None, lambda: "")
        assert capsys.readouterr().out.startswith("status\n> D4\n> \n> last")
    finally:
        os.close(ours)
        if theirs >= 0:
            os.close(theirs)


def run(*arguments: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "ggp.referee.cli", "match", *arguments]
    return subprocess.run(command, input=typed, capture_output=True, encoding="utf-8", timeout=180, check=False)


@pytest.mark.slow
def test_a_script_as_a_human() -> None:
    ran = run("yugo,size=3", "human", "random", "--json", typed="A1\nresign\n")
    assert ran.returncode == 0 and json.loads(ran.stdout)["time"] == "none"
    assert json.loads(ran.stdout)["terminations"] == {"resignation": 1} and "black (human)> A1" in ran.stderr


def test_several_at_a_time_are_too_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["yugo", "human", "random", "--jobs", "2"]) == 2
    assert "a human plays one match at a time" in capsys.readouterr().err


TURN = "black (human)>"
AT_A_TERMINAL: dict[str, tuple[list[str], list[tuple[str, str]], int, str]] = {
    "completion, a clock that runs, Ctrl-C": (
        ["--time", "600", "--record", "games.jsonl"],
        [
            *((TURN, ""), ("opponent 10:00", "butt\t"), ("button", "\r")),
            *(("white played", ""), (TURN, ":why Z9\r"), ("Z9 is illegal", "\x03")),
        ],
        130,
        "stopped",
    ),
    "an undo, a hint and the rules": (
        [],
        [
            *((TURN, "C3\r"), ("white played", ""), (TURN, ":hint random 1\r")),
            *(("random: ", ""), (TURN, ":undo\r"), ("2 plies taken back by agreement", ""), (" continues ", "")),
            *((TURN, ":rules\r"), ("button", ""), (TURN, "C3\r"), ("white played", "resign\r")),
        ],
        0,
        "ended by: resignation 1",
    ),
    "a clock that runs out": (["--time", "0.5"], [("Result: W+T, time", "")], 0, "ended by: time 1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_A_TERMINAL)
def test_at_a_terminal(tmp_path: Path, name: str) -> None:
    """What is expected on the screen, and typed then; nothing is left behind."""
    options, steps, status, last = AT_A_TERMINAL[name]
    words = [str(tmp_path / word) if word.endswith("jsonl") else word for word in options]
    with Terminal("match", "yugo,size=5", "human", "random", *words, home=tmp_path, rows=60) as terminal:
        for expected, typed in steps:
            terminal.expect(expected)
            terminal.type(typed)
        assert terminal.end() == status
    assert last in terminal.text and not [*tmp_path.glob("games*")]
