"""The example bots, one file each: they compile, speak well, and play whole games by the rules of the real engine."""

import random
import subprocess
import sys

import pytest

from engines.game import read_options
from engines.registry import Registry
from protocol.commands import Who
from tests.support.checked_program import failed_checks
from tests.support.paths import ROOT
from tests.support.raw_match import play_game
from tests.support.raw_peer import RawPeer

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "bots" / "examples"
PYTHON = [sys.executable, str(EXAMPLES / "first_bot.py")]
SMALL_GAMES = [sys.executable, str(EXAMPLES / "small_games_bot.py")]
BUILTIN = [sys.executable, "-m", "bots", "random", "seed=1"]


@pytest.fixture(scope="module")
def c_bot(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The compiled bot; it must not draw a single warning."""
    target = str(tmp_path_factory.mktemp("bot") / "first_bot")
    flags = ["-std=c11", "-pedantic", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "-o", target, str(EXAMPLES / "first_bot.c")], check=True)
    return target


def test_no_example_imports_anything_of_the_project() -> None:
    for path in EXAMPLES.glob("*.py"):
        words = {word for line in path.read_text().splitlines() for word in line.split()[:2] if "import" in line}
        assert not words & {"protocol", "engines", "referee", "bots"}


def test_every_check_on_the_python_bot() -> None:
    assert failed_checks(PYTHON, Who.BOT, "go") == []


def test_every_check_on_the_c_bot(c_bot: str) -> None:
    assert failed_checks([c_bot], Who.BOT, "yugo") == []


@pytest.mark.parametrize("game", ["hexapawn", "connect4"])
def test_every_check_on_the_bot_for_small_games(game: str) -> None:
    assert failed_checks(SMALL_GAMES, Who.BOT, game) == []


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


@pytest.mark.parametrize("words", [["size=9"], ["size=5", "agreement=on"], ["size=6", "handicap=4"], ["size=2"]])
def test_the_c_bot_plays_yugo_with_every_option(c_bot: str, words: list[str]) -> None:
    with RawPeer([c_bot, "1"]) as one, RawPeer([c_bot, "2"]) as two, RawPeer(BUILTIN) as other:
        for _ in range(10):
            played = play_game("yugo", words, one, two)
            assert played.moves.count("dead:") == (2 if "agreement=on" in words else 0)
            play_game("yugo", words, other, two)
            play_game("yugo", words, one, other)


def test_the_c_bot_knows_the_legal_moves_exactly(c_bot: str) -> None:
    """`play` of every point, legal or not, in positions of random games: it refuses just what the engine refuses."""
    rules, chance = Registry().load("yugo"), random.Random(5)
    points = [f"{column}{row}" for column in "ABCDE" for row in range(1, 6)]
    with RawPeer([c_bot]) as peer:
        for handicap in (0, 0, 0, 3):
            words = ["size=5", f"handicap={handicap}"]
            moves: list[tuple[str, str]] = []
            state = rules.new(read_options(rules, words))
            while state.phase != "over":
                peer.ask(f"ggp-new yugo {' '.join(words)}")
                for colour, move in moves:
                    assert peer.ask(f"play {colour} {move}") == ""
                illegal = [point for point in points if state.why_illegal(point)]
                assert [peer.ask(f"play {state.to_play} {point}") for point in illegal] == ["? illegal move"] * len(
                    illegal
                )
                moves.append((state.to_play, chance.choice(state.legal_moves())))
                state.play(moves[-1][1])


ODD_LINES = ("² name", "١ name", f"{'9' * 5000} name", "2147483648 name", "-1 name")


def test_no_odd_line_ends_an_example(c_bot: str) -> None:
    """What looks like an id to a careless reader is a command that nobody knows."""
    for command in (PYTHON, SMALL_GAMES, [c_bot]):
        with RawPeer(command) as peer:
            for line in ODD_LINES:
                peer.send(f"{line}\n".encode())
                assert peer.answer() == "? unknown command", line[:20]
            assert peer.ask("known_command name twice") == "true"
            assert peer.ask("known_command no-such-command twice") == "false"


def test_the_bots_refuse_what_they_cannot_play(c_bot: str) -> None:
    with RawPeer(PYTHON) as peer:
        for words in ("yugo", "go handicap=2", "go colour=blue", "go size=26", "go size=1", ""):
            assert peer.ask(f"ggp-new {words}").startswith("? "), words
        assert peer.ask("ggp-new go size=5") == "" and peer.ask("play white C3") == ""
        for move in ("C3", "Z9", "I3", "A0", "A", "4", "A-1", "²4", "A²"):
            assert peer.ask(f"play black {move}") == "? illegal move", move
    with RawPeer([c_bot]) as peer:
        for line in ("ggp-new go", "ggp-new yugo size=26", "ggp-new yugo size=1", "ggp-new yugo x=1", "ggp-new"):
            assert peer.ask(line).startswith("? "), line
        assert peer.ask("play black") == "? usage: play COLOUR MOVE"
        assert peer.ask("play black Z9") == "? illegal move"


def test_the_bots_play_on_when_the_dead_lists_differ(c_bot: str) -> None:
    for game, command, before in (
        ("go", PYTHON, ["play black C3", "play white D4", "play black pass", "play white pass"]),
        ("yugo", [c_bot, "1"], ["play black C3", "play white button", "play black pass", "play white pass"]),
    ):
        with RawPeer(command) as peer:
            for line in (f"ggp-new {game} size=5 agreement=on", *before):
                assert peer.ask(line) == ""
            assert peer.ask("genmove black") == "dead:" and peer.ask("play white dead:C3") == ""
            assert peer.ask("genmove black")[0] in "ABCDE"
            assert peer.ask("play white pass") == "" and peer.ask("play black pass") == ""
            assert peer.ask("genmove white") == "pass"  # over, without another agreement
