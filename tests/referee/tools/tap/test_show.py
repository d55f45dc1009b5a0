"""What a tap recorded is read, shown, played back and turned into a regression transcript."""

import sys
from pathlib import Path

import pytest

from ggp.protocol.channel import Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.messages import Reply
from ggp.protocol.regression import RegressionVerdict, judge, parse
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.transcript import Replay
from ggp.referee.tools.tap.recording import BadRecording, read_sessions
from ggp.referee.tools.tap.show import statistics
from tests.support.cli import ggp

HEAD = '# ggp tap 1 2026-01-31T12:00:00.000000+00:00 100.000000 ["./bot"]\n'
TALK = rb"""100.100000 > b'1 na'
100.200000 > b'me\nfoo # no\n\n#\n'
100.200500 < b'=1 \x1b[31mbot\n'
100.200700 < b'\nnoise\n? unknown command\n\n'
100.300000 ! b'hello\xff'
100.400000 > b'2 name\n3 quit\n'
100.400100 < b'=7 bot\n\n'
# 100.500000 exit status 0
""".decode()


def record(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "x.log"
    path.write_text(text, encoding="utf-8")
    return path


def test_commands_find_their_answers(tmp_path: Path) -> None:
    (session,) = read_sessions(record(tmp_path, HEAD + TALK))
    assert (session.command, session.wall[:10], session.stray) == (["./bot"], "2026-01-31", ["noise"])
    assert [(pair.command, pair.reply, round(pair.seconds * 1e6)) for pair in session.pairs] == [
        ("1 name", Reply(True, "[31mbot", 1), 700),
        ("foo", Reply(False, "unknown command"), 700),
        ("2 name", Reply(True, "bot", 7), 100),
        ("3 quit", None, 0),
    ]
    assert session.pairs[2].odd == "asked with id 2, answered with 7"
    assert session.stderr == [(100.3, b"hello\xff")] and session.notes == ["0.500000  exit status 0"]
    name = statistics(session.pairs)[0]
    assert name == {"command": "name", "count": 2, "failed": 0, "median_us": 400, "max_us": 700, "total_us": 800}


def test_a_killed_tap_leaves_a_record_that_can_be_read(tmp_path: Path) -> None:
    (session,) = read_sessions(record(tmp_path, HEAD + "100.1 > b'name\\n'\n100.2 < b'= b'\n100.3 < b'o"))
    assert [(pair.command, pair.reply) for pair in session.pairs] == [("name", Reply(True, "b"))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not a recording"),
        ("dear diary\n", "not a recording"),
        ("# ggp tap 1 today\n", "invalid head"),
        (HEAD + "100.1 > name\n", "line 1 is not a transcript line"),
        (HEAD + "# later\n", "session of line 1"),
    ],
)
def test_what_is_no_record_is_refused_and_says_why(tmp_path: Path, text: str, what: str) -> None:
    path = record(tmp_path, text)
    with pytest.raises(BadRecording, match=what):
        read_sessions(path)
    ran = ggp("tap", "--show", str(path))
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)


@pytest.mark.slow
def test_it_is_shown(tmp_path: Path) -> None:
    path = record(tmp_path, HEAD + TALK + HEAD + TALK)
    shown = ggp("tap", "--show", str(path)).out
    for part in ("0.200000  1 name", "(700 µs)", "? unknown command", "answered with 7", "not an answer: noise",
                 "stderr: hello\\xff", "exit status 0", "slowest:", "median µs"):  # fmt: skip
        assert shown.count(part) >= 2, part
    assert "\x1b" not in shown
    facts = ggp("tap", "--json", str(path)).json
    assert [session["program"] for session in facts] == [["./bot"], ["./bot"]]
    assert facts[0]["pairs"][0] == {
        "at_us": 200000, "command": "1 name", "ok": True, "answer": "[31mbot", "us": 700, "odd": ""
    }  # fmt: skip


@pytest.mark.slow
def test_a_dialogue_becomes_a_transcript_and_plays_back(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    assert ggp("tap", "-o", str(path), sys.executable, "-c", BOT).status == 0  # stdin is /dev/null: nothing passes
    text = (
        HEAD
        + "1.0 > b'1 protocol_version\\n'\n1.1 < b'=1 2\\n\\n'\n1.2 ! b'x'\n1.3 > b'2 name\\n'\n1.4 < b'=2 a*\\n\\n'\n"
    )
    made = ggp("tap", "--tst", str(record(tmp_path, text))).out
    assert made == "1 protocol_version\n#? [2]\n\n2 name\n#? [a\\*]\n"
    assert [judge(step, Reply(True, "a*")) for step in parse(made).steps] == [
        RegressionVerdict.FAIL,
        RegressionVerdict.PASS,
    ]
    channel = Channel(Replay(text.splitlines()), PeerRole.BOT)
    assert run_blocking(channel.probe_ids(10)) == Reply(True, "2", 1)
    assert run_blocking(channel.ask("name", 10)) == Reply(True, "a*", 2)


BOT = "import sys; sys.stdin.read()"


@pytest.mark.slow
def test_a_tapped_bot_plays_a_match(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    bot = f'"{sys.executable}" -m ggp.referee.cli tap -o "{path}" -- "{sys.executable}" -m ggp.bots random'
    ran = ggp("match", "yugo,size=3", f"tapped={bot}", "random", "--games", "2", "--quiet")
    assert ran.status == 0, ran.err
    names = {pair.name for session in read_sessions(path) for pair in session.pairs if pair.reply and pair.reply.ok}
    assert {"ggp-new", "genmove", "play", "quit"} <= names
