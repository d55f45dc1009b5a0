"""Every fault of the chaos bot does what it says, at the moment that was asked for, and leaves nothing behind."""

import os
import re
import signal
import time

import pytest

from tests.support.chaos import CHAOS, FAULTS, MOMENTS, OPTIONS
from tests.support.raw_peer import RawPeer

pytestmark = pytest.mark.slow

SHORT = 0.25  # seconds in which nothing may come
GENMOVE = b"7 genmove black\n"
MOVE = "[A-E][1-5]|button"

ASKED: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("fault=none move=0", (("name", "chaos"), ("genmove black", MOVE), ("quit", ""))),
    ("fault=illegal move=2", (("genmove black", MOVE), ("play white C3", ""), ("genmove black", "C3"))),
    ("fault=illegal", (("genmove black", "Z25"),)),
    ("fault=illegal", (("play black button", ""), ("genmove white", "Z25"))),
    ("fault=unreadable", (("genmove black", "banana!"),)),
    ("fault=refuse", (("genmove black", r"\? I will not"),)),
    ("fault=refuse when=play move=2", (("play black C3", ""), ("play white D3", r"\? I will not"))),
    ("fault=resign move=2", (("genmove black", MOVE), ("genmove white", "resign"), ("genmove black", MOVE))),
    ("fault=resign move=0", (("genmove b", "resign"), ("genmove w", "resign"))),
)
"""Questions and the form of their answers, after `ggp-new yugo size=5`."""

WRITTEN = (
    ("half", GENMOVE, rb"=[^\n]*"),
    ("flood_stdout mb=3", GENMOVE, rb".{3000000,}\n=7 \w+\n\n"),
    ("long_line mb=3", GENMOVE, rb"=7 AAA[^\n]{3000000,}\n.*"),
    ("many_lines", GENMOVE, rb"(?:[^\n]+\n){20001}\n"),
    ("garbage", GENMOVE, rb"(?:[^\n=?]*\n){300}"),
    ("chatter", GENMOVE, rb"(?:[^\n]*\n){5}=7 \w+\n\n"),
    ("binary", GENMOVE, rb"(?=.*[\x80-\xff]).{1001,}"),
    ("nul", GENMOVE, rb"=\x007\x00 \x00(?:[^\0]\0)+|\x00=\x007\x00 (?:\0[^\0])+"),
    ("crlf", b"name\n", rb"= chaos\r\n\r\n"),
    ("wrong_id", GENMOVE + b"name\n3 name\n", rb"=8 \w+\n\n= chaos\n\n=3 chaos\n\n"),
    ("no_ids", b"1 name\n2 ggp-new yugo\n3 foo\n", rb"= chaos\n\n=\n\n\? unknown command\n\n"),
    ("double", GENMOVE, rb"(=7 \w+\n\n)\1"),
    ("empty", GENMOVE, rb"=7\n\n"),
    ("refuse when=new", b"ggp-new yugo\n", rb"\? I will not\n\n"),
)
"""A fault, what is sent, and the form of all that comes."""

ENDS = (
    ("half_crash status=9", GENMOVE, rb"=[^\n]*", 9),
    ("last_words status=0", GENMOVE, rb"=7 [^\n]*\n", 0),
    ("crash status=3 move=2", b"genmove black\n" + GENMOVE, rb"= \w+\n\n", 3),
    ("crash signal=11", GENMOVE, b"", -11),
    ("crash signal=9", GENMOVE, b"", -9),
    ("crash status=5 when=after", b"genmove black\n", rb"= \w+\n\n", 5),
    ("crash status=5 when=result game=2", b"ggp-result B+1\nggp-new yugo\nggp-result W+1\n", rb"=\n\n=\n\n", 5),
    ("silent when=quit", b"quit\n", b"", 0),
    ("complain", GENMOVE, b"", 70),
)
"""A fault, what is sent, the form of all that comes, and the exit status."""

STUBBORN = (
    ("deaf", (), signal.SIGTERM),
    ("ignore_quit", (), signal.SIGTERM),
    ("ignore_sigterm", (signal.SIGTERM, signal.SIGINT, signal.SIGHUP), signal.SIGKILL),
)
"""A fault, the signals that it ignores, and the one that ends it."""


def chaos(*words: str, start: bool = True) -> RawPeer:
    """A chaos bot that has begun a game of yugo 5x5 (`start`) and will not live long."""
    named = {word.partition("=")[0] for word in words}
    defaults = [word for word in ("seed=1", "life=5") if word.partition("=")[0] not in named]
    peer = RawPeer([*CHAOS, *defaults, *words])
    if start:
        assert peer.ask("ggp-new yugo size=5") == ""
    return peer


def test_every_fault_is_tried_here() -> None:
    tried = {word for word in globals() if word.startswith("test_")}
    rows = [row[0] for table in (ASKED, WRITTEN, ENDS, STUBBORN) for row in table]
    listed = {str(words).split()[0].removeprefix("fault=") for words in rows}
    others = [name for name in FAULTS if name not in listed]
    assert [name for name in others if not any(f"_{name}_" in f"{word}_" for word in tried)] == []


@pytest.mark.parametrize(("words", "dialogue"), ASKED)
def test_what_it_answers(words: str, dialogue: tuple[tuple[str, str], ...]) -> None:
    with chaos(*words.split()) as peer:
        for question, form in dialogue:
            answer = peer.ask(question)
            assert re.fullmatch(form, answer), (question, answer)


@pytest.mark.parametrize(("fault", "sent", "form"), WRITTEN, ids=[fault for fault, *_ in WRITTEN])
def test_what_it_writes(fault: str, sent: bytes, form: bytes) -> None:
    with chaos(*f"fault={fault}".split(), start=fault not in ("crlf", "no_ids", "refuse when=new")) as peer:
        peer.send(sent)
        peer.wait_for(lambda: bool(peer.heard))
        said = b""
        while more := peer.listen(SHORT):
            said += more
        assert re.fullmatch(form, said, re.DOTALL), said[:100]
        assert not peer.ended


@pytest.mark.parametrize(("fault", "sent", "form", "status"), ENDS)
def test_how_it_ends(fault: str, sent: bytes, form: bytes, status: int) -> None:
    with chaos(*f"fault={fault}".split()) as peer:
        peer.send(sent)
        assert re.fullmatch(form, peer.until_end())
        assert peer.exit_status() == status
        assert (b"out of cheese" in peer.stderr) == (fault == "complain")


def test_a_fault_at_the_start() -> None:
    with chaos("fault=crash", "status=5", "when=start", start=False) as peer:
        assert peer.exit_status() == 5
    began = time.monotonic()
    with chaos("fault=late", "when=start", "ms=400"):
        assert time.monotonic() - began >= 0.4
    assert set(MOMENTS) == {"start", "new", "genmove", "after", "play", "result", "quit"}


def test_late_answers_after_so_many_milliseconds() -> None:
    with chaos("fault=late", "ms=300", "move=2") as peer:
        assert peer.ask("genmove black", patience=60)
        began = time.monotonic()
        assert peer.ask("genmove white")
        assert 0.3 <= time.monotonic() - began < 30
        assert peer.ask("genmove black")


def test_silent_never_answers_and_leaves_at_the_end() -> None:
    with chaos("fault=silent") as peer:
        peer.send(GENMOVE + b"name\n")
        assert peer.listen(SHORT) == b""
        peer.close_stdin()
        assert peer.until_end() == b"" and peer.exit_status() == 0


def test_close_stdout_closes_stdout_only() -> None:
    with chaos("fault=close_stdout") as peer:
        peer.send(GENMOVE)
        assert peer.until_end() == b""
        assert peer.process.poll() is None
        peer.close_stdin()
        assert peer.exit_status() == 0


def test_close_stdin_answers_and_stays() -> None:
    with chaos("fault=close_stdin") as peer:
        assert peer.ask("genmove black")[0] in "ABCDE"
        with pytest.raises(BrokenPipeError):
            for _ in range(100):
                os.write(peer.process.stdin.fileno(), b"name\n")  # type: ignore[union-attr]
                time.sleep(0.01)
        assert peer.process.poll() is None


@pytest.mark.parametrize("setsid", ["off", "on"])
def test_fork_exits_but_the_pipes_stay_open(setsid: str) -> None:
    with chaos("fault=fork", "status=0", "life=1", f"setsid={setsid}") as peer:
        peer.send(GENMOVE)
        peer.process.wait(5)
        assert peer.process.returncode == 0
        assert peer.listen(SHORT) == b"" and not peer.ended
        if setsid == "off":
            os.killpg(peer.process.pid, signal.SIGKILL)
        else:
            with pytest.raises(ProcessLookupError):  # no process is left in the group
                os.killpg(peer.process.pid, signal.SIGKILL)
        peer.until_end(3)  # the child is gone too, at the latest when its life is over


def test_leave_child_plays_on_and_leaves_a_child_with_the_pipes() -> None:
    with chaos("fault=leave_child", "setsid=on", "life=1") as peer:
        assert peer.ask("genmove black") and peer.ask("quit") == ""
        peer.process.wait(5)
        assert peer.process.returncode == 0 and not peer.ended
        peer.until_end(3)


@pytest.mark.parametrize(("fault", "ignored", "number"), STUBBORN)
def test_what_it_takes_to_end_it(fault: str, ignored: tuple[int, ...], number: int) -> None:
    with chaos(f"fault={fault}") as peer:
        peer.send(GENMOVE)
        if fault != "deaf":
            assert peer.answer().startswith("=7 ")
            peer.send(b"quit\n" if fault == "ignore_quit" else b"")
        for each in ignored:
            os.kill(peer.process.pid, each)
        peer.close_stdin()
        assert peer.listen(SHORT) == b"" and peer.process.poll() is None
        os.kill(peer.process.pid, number)
        assert peer.exit_status() == -number


def test_flood_stderr_answers_all_the_same() -> None:
    with chaos("fault=flood_stderr", "mb=3") as peer:
        assert peer.ask("genmove black")[0] in "ABCDE"
        peer.wait_for(lambda: peer.stderr_bytes > 3_000_000)


def test_the_game_and_the_move_are_counted() -> None:
    with chaos("fault=resign", "game=2", "move=2") as peer:
        for game in (1, 2, 3):
            for move in (1, 2, 3):
                answer = peer.ask(f"genmove {'white' if move % 2 == 0 else 'black'}")
                assert (answer == "resign") == ((game, move) == (2, 2))
            peer.ask("ggp-new yugo size=5")


def test_any_fault_is_chosen_by_seed() -> None:
    def play(seed: int) -> bytes:
        """What a bot says in four short games, or until its fault ends it."""
        turns = "genmove b\ngenmove w\n" * 8
        with chaos("fault=any", "ms=1", f"seed={seed}", start=False) as peer:
            peer.send("".join(f"ggp-new yugo size=5\n{turns}" for _ in range(4)).encode() + b"quit\n")
            peer.close_stdin()
            return peer.until_end()

    once = [play(seed) for seed in range(1, 5)]
    assert once == [play(seed) for seed in range(1, 5)]
    assert len(set(once)) == 4


@pytest.mark.parametrize("fault", ["deaf", "ignore_sigterm", "silent"])
def test_nothing_lives_longer_than_it_may(fault: str) -> None:
    with chaos(f"fault={fault}", "life=1") as peer:
        peer.send(GENMOVE)
        if fault == "ignore_sigterm":
            peer.close_stdin()
        assert peer.exit_status(5) == -signal.SIGALRM


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("fault=nonsense", "fault"),
        ("colour=blue", "no option colour"),
        ("move=-1", "0..1000"),
        ("move=1 move=2", "twice"),
        ("fault", "name=value"),
    ],
)
def test_bad_options_are_one_clear_line(words: str, reason: str) -> None:
    with RawPeer([*CHAOS, *words.split()]) as peer:
        assert peer.exit_status() == 2
        assert reason in peer.stderr.decode() and peer.stderr.count(b"\n") == 1 and not peer.heard


def test_help_tells_every_option_fault_and_moment() -> None:
    with RawPeer([*CHAOS, "--help"]) as peer:
        text = peer.until_end().decode()
    for word in (*FAULTS, *MOMENTS, *(option.name for option in OPTIONS)):
        assert f"\n  {word} " in text
