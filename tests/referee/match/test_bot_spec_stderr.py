"""What bots write to stderr: in the record of its own game, shown live, kept in files; and why a bot was at fault."""

import os
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ggp.protocol.connection import PeerRole
from ggp.protocol.records import Diagnostics, MatchEnded, MatchStarted, MovePlayed, Party, Record
from ggp.referee.cli.show import show
from ggp.referee.match import process
from ggp.referee.match.process import BotStderr, Process, ProcessLimits
from ggp.referee.match.setting import Timeouts
from tests.support.cli import PYTHON, ggp
from tests.support.memory_match import MemoryMatch, MemoryPeer, bot
from tests.support.series import make_setup, play, script

TALKS = (
    "game = 0\n"
    "while True:\n"
    "    line = ask()\n"
    "    if line == 'list_commands': say('ggp-new play genmove name version quit')\n"
    "    elif line.startswith('ggp-new'):\n"
    "        game += 1\n"
    "        print('game', game, file=sys.stderr, flush=True)\n"
    "        say()\n"
    "    elif line.startswith('genmove'): say('I will not', '?')\n"
    "    else: say()\n"
)


@pytest.mark.slow
def test_a_fault_keeps_the_stderr_of_its_own_game_alone() -> None:
    came = play(make_setup("yugo,size=3", script(TALKS)), (0, 1, 2))
    told = [end.diagnostics.stderr for end in map(came.end, range(3)) if end.diagnostics]
    assert told == ["game 1\n", "game 2\n", "game 3\n"]
    assert [match.detail for match in came.played] == [
        "answers `genmove` with `? I will not`: answer with a move or `resign`"
    ] * 3


@pytest.mark.slow
def test_the_detail_of_a_bot_that_ended_has_the_last_line_of_its_stderr() -> None:
    raises = script(
        "while True:\n    if 'genmove' in ask(): raise ValueError('no idea')\n    say('play genmove ggp-new')\n"
    )
    (match,) = play(make_setup("yugo,size=3", raises), (0,)).played
    assert "exit status 1; ValueError: no idea (" in match.detail, "with the file and the line"


class StderrTalker(MemoryPeer):
    """Writes a line for each game to stderr."""

    def __init__(self, name: str, *moves: str, text: str = "") -> None:
        super().__init__(bot(moves), PeerRole.BOT)
        self.text = text or f"{name} thinks\n"

    def stderr_tail(self) -> str:
        return self.text

    def end_game(self) -> None:
        self.text = ""


def test_the_record_has_the_end_of_the_stderr_of_both_bots() -> None:
    match = MemoryMatch("go size=2 komi=0.5", bot([]), bot([]))
    match.peers = [StderrTalker("one", "A1", "pass"), StderrTalker("two", "B2", "pass", text="x" * 10_000 + "end")]
    end = match.run().record.end
    assert end is not None and end.stderr == ("one thinks\n", "x" * 4093 + "end")
    assert [peer.stderr_tail() for peer in match.peers] == ["", ""], "the next game begins without it"


def test_a_game_without_stderr_has_none_in_its_record() -> None:
    match = MemoryMatch("go size=2 komi=0.5", bot(["A1", "pass"]), bot(["B2", "pass"])).run()
    assert match.record.end is not None and match.record.end.stderr == ()
    assert b'"stderr"' not in match.lines[-1]


# -- files -----------------------------------------------------------------------------------------------------------


def test_lines_are_kept_with_the_time_and_the_match(tmp_path: Path) -> None:
    lines = BotStderr("my bot/1", ProcessLimits(stderr_folder=str(tmp_path)))
    lines.begin_game("s-1")
    lines.begin_game("s-2")  # nothing was written in the first
    lines.take(b"one\ntw")
    lines.take(b"o\n\x1b[2Jthree")
    lines.take(b"")
    (file,) = tmp_path.iterdir()
    assert file.name == "my_bot_1.log"
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d "
    texts = file.read_text(encoding="utf-8").splitlines()
    assert all(re.match(stamp, text) for text in texts)
    assert [re.sub(stamp, "", text) for text in texts] == ["-- match s-2", "one", "two", "[2Jthree"]


def test_a_file_is_bounded_and_the_one_before_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LOG_SIZE", 10_000)
    one, other = (BotStderr("bot", ProcessLimits(stderr_folder=str(tmp_path))) for _ in range(2))  # two workers
    for number in range(2000):
        (one if number % 2 else other).take(b"line %d\n" % number)
    one.take(b"y" * 100_000 + b"\n")  # a line without an end is cut into lines
    assert {file.name for file in tmp_path.iterdir()} == {"bot.log", "bot.log.1"}
    newest, before = (
        (tmp_path / "bot.log").read_text(encoding="utf-8"),
        (tmp_path / "bot.log.1").read_text(encoding="utf-8"),
    )
    assert len(before) <= 10_000 and "line 1999" in before and "y" * 2000 in newest
    assert max(map(len, newest.splitlines())) < 2100


@pytest.mark.parametrize("how", ["file", "folder", "replaced", "truncated"])
def test_a_file_that_is_gone_is_begun_anew(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "logs"
    lines, path = BotStderr("bot", ProcessLimits(stderr_folder=str(folder))), folder / "bot.log"
    lines.take(b"one\n")
    if how == "replaced":
        (tmp_path / "other").write_bytes(b"another\n")
        (tmp_path / "other").replace(path)
    elif how == "truncated":
        os.truncate(path, 0)
    else:
        path.unlink()
    if how == "folder":
        folder.rmdir()
    lines.take(b"two\n")
    said = path.read_text(encoding="utf-8")
    assert said.endswith(" two\n") and said.startswith("another\n") == (how == "replaced")


def test_what_cannot_be_kept_is_said_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bot.log").mkdir()
    lines = BotStderr("bot", ProcessLimits(stderr_folder=str(tmp_path)))
    for _ in range(3):
        lines.take(b"hello\n")
    said = f"{tmp_path / 'bot.log'}: Is a directory: some stderr output of bot is lost\n"
    assert capfd.readouterr().err == said


@pytest.mark.slow
def test_a_process_hands_on_all_that_it_writes(tmp_path: Path) -> None:
    code = "import sys; sys.stderr.write('a' * 200_000); sys.stderr.flush(); sys.stdin.readline()"
    lines = BotStderr("bot", ProcessLimits(stderr_folder=str(tmp_path)))
    process = Process((sys.executable, "-c", code), PeerRole.BOT, Timeouts(quit=0.5, grace=0.2), stderr=lines)
    from ggp.protocol.transports.blocking import run_blocking

    run_blocking(process.stop())
    assert (tmp_path / "bot.log").read_text(encoding="utf-8").count("a") == 200_000


# -- what the user sees ----------------------------------------------------------------------------------------------


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    """The mistake of the tutorial, which prints what it thinks."""
    path = tmp_path / "wrong.py"
    path.write_text(
        "import sys\nfrom ggp.bots.sdk import run\n"
        "def choose(position):\n"
        "    print('thinking of ply', position.ply, file=sys.stderr)\n"
        "    return 'A1'\n"
        "run(choose)\n",
        encoding="utf-8",
    )
    return f"{PYTHON} {path}"


@pytest.mark.slow
def test_match_says_why_a_bot_lost_and_shows_what_it_wrote(tmp_path: Path, wrong: str) -> None:
    words = ("match", "yugo,size=5", f"wrong={wrong}", "random", "--games", "2")
    logs, record = tmp_path / "logs", tmp_path / "games.jsonl"
    ran = ggp(*words, "--log-stderr", str(logs), "--record", str(record))
    why = (
        "answers `genmove` with `? the bot chose an illegal move, 'A1': A1 is occupied`: answer with a move or `resign`"
    )
    assert f"fault: wrong refused 2: {why}" in ran.out
    assert [file.name for file in logs.iterdir()] == ["wrong.log"]
    assert "thinking of ply 0\n" in (logs / "wrong.log").read_text(encoding="utf-8")

    shown = ggp("show", str(record)).out
    assert f"refused by wrong: {why}" in shown
    assert "stderr of wrong:\n  thinking of ply" in shown

    live = ggp(*words, "--verbose=wrong")
    assert re.search(r"^wrong ! \d\d:\d\d:\d\d\.\d{3} thinking of ply 0$", live.err, re.MULTILINE)
    assert ggp(*words, "--json").json["bots"][0]["reasons"] == {"refused": why}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    ran = ggp("match", "yugo,size=3", "random", "random", "--log-stderr", str(tmp_path / "file" / "logs"))
    assert ran.status == 2 and "--log-stderr" in ran.err and "name a folder that can be created" in ran.err


def _faulty(stderr: str, diagnostics: Diagnostics | None) -> Record:
    bots = (Party(name="bad\x1b[2J"), Party(name="good"))
    start = MatchStarted(
        match="m-1", game="yugo", options={"size": "5"}, bots=bots, engine=Party(name="e"), control="none"
    )
    end = MatchEnded(
        seq=2,
        match="m-1",
        result="W+F",
        winner=2,
        termination="disconnected",
        culprit="seat1",
        detail="exit status 1; \x1b[1mboom",
        plies=1,
        diagnostics=diagnostics,
        stderr=(stderr, "") if stderr else (),
    )
    return Record(start, (MovePlayed(1, "m-1", 1, 1, "black", "C3", 0),), end)


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False], ids=["in the end event", "with the fault only"])
def test_show_tells_who_was_at_fault_and_why(tmp_path: Path, kept: bool) -> None:
    path = tmp_path / "games.jsonl"
    text = "".join(f"line {number}\n" for number in range(30))
    path.write_bytes(_faulty(text if kept else "", Diagnostics(stderr=text)).lines())
    out = CliRunner().invoke(show, [str(path)]).output
    assert "result: W+F, disconnected by bad\\x1b[2J: exit status 1; \\x1b[1mboom" in out
    assert out.endswith("stderr of bad\\x1b[2J:\n" + "".join(f"  line {number}\n" for number in range(30)))


@pytest.mark.slow
def test_a_series_without_a_game_names_no_record(tmp_path: Path) -> None:
    record = tmp_path / "games.jsonl"
    words = ("match", "yugo,size=3", f"{PYTHON} -c 0", "random", "--games", "2", "--record", str(record))
    ran = ggp(*words)
    assert ran.status == 1 and not record.exists() and "record:" not in ran.out
    assert ggp(*words, "--json").json["record"] == ""
