"""What the author of a broken bot is told: what was asked, what came, what it looks like, and what to change."""

import sys
from dataclasses import replace

import pytest
from msgspec import structs

from ggp.protocol.channel import Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import PeerTimeout
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.memory import Memory
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.diagnosis import FORM, Silence, last_words, notice, reason
from ggp.referee.match.match_runner import MatchRunner, Suspended
from tests.support.series import SHORT, make_setup, play, script


def silence(said: bytes, stderr: str = "", command: str = "./x --y") -> Silence:
    return Silence("1 protocol_version", said, stderr, command)


UCI = 'this is a UCI engine: write "ggp bot uci -- ./x --y" as the bot'
SHELL = "a shell answers, not a bot"
TRACE = "Traceback (most recent call last):\n  File \"/a/b.py\", line 3, in <module>\n    f()\nKeyError: 'x'\n"
PYTHON = "the Python interpreter runs without a script"


@pytest.mark.parametrize(
    ("said", "stderr", "cause"),
    [
        (b"Stockfish 16 by the Stockfish developers (see AUTHORS file)\n", "", UCI),
        (b"Unknown command: '1 protocol_version'. Type help for more information.\n", "", UCI),
        (b"id name Ethereal\r\nuciok\r\n", "", UCI),
        (b"info string NNUE evaluation\n", "", UCI),
        (b"Error (unknown command): 1\n", "", "this is an xboard engine"),
        (b'feature ping=1 setboard=1\nfeature myname="x" done=1\n', "", "this is an xboard engine"),
        (b"", "sh: 1: 1: not found\n", SHELL),
        (b"", "bash: line 1: 1: command not found\n", SHELL),
        (b"", "zsh: command not found: 1\n", SHELL),
        (b"", "fish: Unknown command: 1\n", SHELL),
        (b"", "./wrapper: line 1: protocol_version: command not found\n", SHELL),
        (b"user@host:~$ ", "", SHELL),
        (b"host% ", "", SHELL),
        (b"", "# ", SHELL),
        (b"", '  File "<stdin>", line 1\n    1 protocol_version\nSyntaxError: invalid syntax\n', PYTHON),
        (
            b"Traceback (most recent call last):\n  File \"a.py\", line 4, in f\nKeyError: 'x'\n",
            "",
            "'x' (a.py, line 4)",
        ),
        (b"Usage: x [options] NET\n", "", "it printed its usage message: correct its command line"),
        (b"", "usage: x [-h] NET\nx: error: NET is missing\n", "correct its command line"),
        (b"2\n", "", FORM),
        (b"ok\r\n", "", FORM),
        (b"=1 2\n", "", f"the empty line after its answer is missing: {FORM}"),
        (b"=1 2\r\n", "", "the empty line after its answer is missing"),
        (b"=1 2", "", "its answer is incomplete"),
        (b" =1 2\n\n", "", "a blank precedes the ="),
        (b"=1 2\r\r", "", "its lines end with CR alone"),
        (b"\xff\xfe=1 2\n", "", "its output is UTF-16"),
        (b"\n\xef\xbb\xbf=1 2\n\n", "", "its answer begins with a byte-order mark"),
    ],
)
def test_what_it_looks_like_and_what_to_change(said: bytes, stderr: str, cause: str) -> None:
    assert cause in silence(said, stderr).cause


@pytest.mark.parametrize(
    "stderr",
    [
        *("", "loading the net\n", "warming up: 100 %\n", "loading: 50% "),
        *("bot.toml: not found, using the defaults\n", "./run.sh: line 3: java: command not found\n"),
        'Traceback (most recent call last):\n  File "<string>", line 3, in __init__\nTypeError: too few\n',
    ],
)
def test_a_bot_that_loads_is_not_accused(stderr: str) -> None:
    assert silence(b"", stderr).cause == ""


def test_a_notice_says_what_was_asked_and_what_came() -> None:
    assert notice("x", silence(b"a\nb\x1b[2J\nc\nd\n"), 60).split("\n") == [
        "x: no valid answer for 5 s; it may take 60 s to start",
        "  asked:  1 protocol_version",
        "  got:    'a\\nb\\x1b[2J\\nc' …",
        f"  cause:  {FORM}; `ggp check -- ./x --y` shows each step",
    ]
    told = notice("x", Silence("7 genmove black", b"", "no net", ""), 60).split("\n")
    assert told[0] == "x: no valid answer for 5 s" and told[2:] == [
        *("  got:    nothing", "  stderr: no net"),
        "  cause:  the bot is slow to load, or does not flush its output after each answer",
    ]


def test_the_reason_holds_what_it_printed_before_it_ended() -> None:
    said = reason("the peer's output ended", silence(b"no net.bin\n"), "exit status 2")
    assert said == "the peer's output ended; exit status 2; to `1 protocol_version` it printed 'no net.bin'"


@pytest.mark.parametrize(
    ("stderr", "ended", "hinted"),
    [
        ("", "exit status 0", True),
        ("", "", True),
        ("", "exit status 3", False),
        ("", "killed by SIGSEGV", False),
        ("no net.bin\n", "exit status 0", False),
    ],
)
def test_how_it_ended_explains_a_crash_better_than_the_form_of_its_answer(
    stderr: str, ended: str, hinted: bool
) -> None:
    said = reason("the peer's output ended", silence(b"=14 B2\n", stderr), ended)
    assert (FORM in said) == ("ggp check" in said) == hinted and ended in said and stderr.strip() in said


def test_a_crash_does_not_hide_that_it_speaks_another_protocol() -> None:
    assert UCI in reason("the peer's output ended", silence(b"uciok\n", "failed\n"), "exit status 3")


def test_last_words_of_a_traceback_have_file_and_line() -> None:
    assert last_words(f"x\n{TRACE}") == "KeyError: 'x' (/a/b.py, line 3)"
    assert last_words("a\n\nb \n") == "b" and last_words(" \n") == ""


def test_a_channel_tells_of_silence_once_and_waits_on() -> None:
    memory = Memory(lambda data: [b"2\n"] if data == b"name\n" else [b"= a\n\n"])
    channel, told = Channel(memory, PeerRole.BOT), list[tuple[str, bytes]]()

    def tell(silent: Channel) -> bool:
        told.append(silent.unanswered)
        return True

    channel.on_silence, channel.patience = tell, 5.0
    for _ in range(2):
        began = channel.now()
        with pytest.raises(PeerTimeout):
            run_blocking(channel.ask("name", began + 60))
        assert channel.now() == began + 60  # nothing is cut short
    assert told == [("name", b"2\n")]


def test_a_channel_whose_silence_was_not_told_asks_again() -> None:
    channel, asked = Channel(Memory(lambda data: []), PeerRole.BOT), list[float]()

    def think(silent: Channel) -> bool:
        asked.append(silent.now())
        return False

    channel.on_silence, channel.patience = think, 5.0
    with pytest.raises(PeerTimeout):
        run_blocking(channel.ask("genmove b", 12.0))
    assert asked == [5.0, 10.0]


GARBAGE = "import sys\nfor line in sys.stdin: print('hello', flush=True)\n"


@pytest.mark.slow
def test_a_bot_that_prints_garbage_is_shown_before_its_time_is_up() -> None:
    setup = make_setup("yugo,size=3", BotSpec("x", "./x", (sys.executable, "-c", GARBAGE)))
    setup, told = replace(setup, budgets=structs.replace(SHORT, start=6.5)), list[str]()
    table = MatchRunner(lambda record, result: None, notify=told.append)
    try:
        with pytest.raises(Suspended) as suspended:
            run_blocking(table.play(setup, 0))
    finally:
        run_blocking(table.close())
    (text,) = told
    assert text.startswith("x: no valid answer for 5 s; it may take 6.5 s to start\n") and "got:    'hello'" in text
    assert "no complete answer after 6.5 s; to `1 protocol_version` it printed 'hello'; an answer" in str(
        suspended.value
    )


HANGS = (
    "while True:\n"
    "    line = ask()\n"
    "    if line == 'list_commands': say('ggp-new play genmove name version quit')\n"
    "    elif line.startswith('genmove'): time.sleep(100)\n"
    "    else: say()\n"
)


@pytest.mark.slow
def test_a_bot_that_hangs_has_used_the_time_that_passed() -> None:
    came = play(make_setup("yugo,size=3", script(HANGS), "random", time="0.3"), (0,))
    (match,), end = came.played, came.end()
    assert match.termination == "stalled" and 700 <= match.used[0] <= 5000 and match.longest[0] == match.used[0]
    assert end.ms == match.used[0] and f"no complete answer after {end.ms / 1000:.1f} s" in end.detail
