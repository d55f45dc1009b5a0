"""The Python example that keeps its own board: it obeys the protocol and plays whole games by the engine's rules."""

import sys

import pytest

from ggp.protocol.commands import Who
from tests.support import ROOT
from tests.support.checked_peer import failed_checks
from tests.support.raw_peer import RawPeer, play_game

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "bots" / "examples"
PYTHON = [sys.executable, str(EXAMPLES / "first_bot.py")]
BUILTIN = [sys.executable, "-m", "ggp.bots", "random", "seed=1"]


def test_no_example_imports_anything_of_the_project() -> None:
    for path in EXAMPLES.glob("*.py"):
        words = {
            word
            for line in path.read_text(encoding="utf-8").splitlines()
            for word in line.split()[:2]
            if "import" in line
        }
        assert not words & {"ggp", "protocol", "engines", "referee", "bots"}


def test_every_check_on_the_python_bot() -> None:
    assert failed_checks(PYTHON, Who.BOT, "go") == []


@pytest.mark.parametrize("ko", ["positional", "situational", "simple"])
@pytest.mark.parametrize("agreement", ["on", "off"])
def test_the_python_bot_plays_go_under_every_ko_rule(ko: str, agreement: str) -> None:
    words = ["size=5", f"ko={ko}", f"agreement={agreement}"]
    with RawPeer(PYTHON) as one, RawPeer(PYTHON) as two, RawPeer(BUILTIN) as other:
        for _ in range(4):
            played = play_game("go", words, one, two)
            assert played.moves.count("dead:") == (2 if agreement == "on" else 0)
        for _ in range(4):
            play_game("go", words, one, other)
            play_game("go", words, other, two)
        play_game("go", ["size=9", *words[1:]], one, other)


ODD_LINES = ("² name", "١ name", f"{'9' * 5000} name", "2147483648 name", "-1 name")


def test_no_odd_line_ends_the_python_bot() -> None:
    """What looks like an id to a careless reader is an unknown command."""
    with RawPeer(PYTHON) as peer:
        for line in ODD_LINES:
            peer.send(f"{line}\n".encode())
            assert peer.answer() == "? unknown command", line[:20]
        assert peer.ask("known_command name twice") == "true"
        assert peer.ask("known_command no-such-command twice") == "false"


def test_the_python_bot_refuses_what_it_cannot_play() -> None:
    with RawPeer(PYTHON) as peer:
        for words in ("yugo", "go handicap=2", "go colour=blue", "go size=26", "go size=1", ""):
            assert peer.ask(f"ggp-new {words}").startswith("? "), words
        assert peer.ask("ggp-new go size=5") == "" and peer.ask("play white C3") == ""
        for move in ("C3", "Z9", "I3", "A0", "A", "4", "A-1", "²4", "A²"):
            assert peer.ask(f"play black {move}") == "? illegal move", move


def test_the_python_bot_plays_on_when_the_dead_lists_differ() -> None:
    with RawPeer(PYTHON) as peer:
        lines = ("play black C3", "play white D4", "play black pass", "play white pass")
        for line in ("ggp-new go size=5 agreement=on", *lines):
            assert peer.ask(line) == ""
        assert peer.ask("genmove black") == "dead:" and peer.ask("play white dead:C3") == ""
        assert peer.ask("genmove black")[0] in "ABCDE"
        assert peer.ask("play white pass") == "" and peer.ask("play black pass") == ""
        assert peer.ask("genmove white") == "pass"  # over, without another agreement
