"""The example bot that searches: its Laido is the engine's, move for move and result for result, and it wins games."""

import random
import subprocess
import sys

import pytest

from ggp.engines.game import read_options
from ggp.engines.registry import Registry
from ggp.protocol.commands import Who
from tests.support import ROOT
from tests.support.checked_peer import failed_checks
from tests.support.cli import ggp
from tests.support.raw_peer import RawPeer, play_game

PAGE = ROOT / "docs" / "how-to" / "write-a-bot-in-any-language.md"
EXAMPLE = ROOT / "bots" / "examples" / "laido_bot.c"
RANDOM = [sys.executable, "-m", "ggp.bots", "random", "seed=1"]
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
WORDS = ("pass", "swap-sides", "dead:", "button", "resign", "A", "4", "I3", "A0", "Z9", "A-1", "A99", "A001", "²4")


@pytest.fixture(scope="module")
def bot(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Compiled; it must not draw a single warning."""
    target = str(tmp_path_factory.mktemp("bot") / "laido_bot")
    flags = ["-std=c11", "-pedantic", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "-o", target, str(EXAMPLE), "-lm"], check=True)
    return target


def follow(bot: RawPeer, words: list[str], chance: random.Random, passes: float) -> None:
    """A random game on the engine, told to the bot, which chooses some moves itself; both agree at every ply on what is
    legal and on how it would end there."""
    rules = Registry().load("laido")
    state, size = rules.new(read_options(rules, words)), int(words[0].partition("=")[2])
    texts = [f"{column}{row}" for column in COLUMNS[: 2 * size - 1] for row in range(1, 2 * size)] + [*WORDS]
    assert bot.ask(" ".join(["ggp-new laido", *words])) == ""
    while state.phase != "over":
        legal = state.legal_moves()
        for text in chance.sample([text for text in texts if text not in legal], 6):
            assert bot.ask(f"play {state.to_play} {text}") == "? illegal move", text
        other = "white" if state.to_play == "black" else "black"
        assert bot.ask(f"play {other} {legal[0]}") == "? illegal move"
        if chance.random() < 0.1:
            state.play(bot.ask(f"genmove {state.to_play}"))
        else:
            move = "pass" if "pass" in legal and chance.random() < passes else chance.choice(legal)
            assert bot.ask(f"play {state.to_play} {move}") == ""
            state.play(move)
        assert bot.ask("final_score") == (state.result or state.standing())
    assert bot.ask("genmove black") == "pass" and bot.ask("play black pass") == "? illegal move"


@pytest.mark.slow
@pytest.mark.parametrize("half_point", ["final", "first"])
@pytest.mark.parametrize("pie", ["on", "off"])
def test_it_knows_the_rules_exactly(bot: str, half_point: str, pie: str) -> None:
    chance = random.Random(f"{half_point} {pie}")
    with RawPeer([bot, "4", "1"]) as peer:
        for size in (2, 2, 2, 2, 3, 3, 3, 4, 5, 6):
            follow(peer, [f"size={size}", f"pie={pie}", f"half_point={half_point}"], chance, chance.choice([0, 0.2]))


@pytest.mark.long
def test_it_knows_the_rules_on_every_board(bot: str) -> None:
    chance = random.Random(2)
    with RawPeer([bot, "2", "2"]) as peer:
        for game in range(240):
            words = [f"size={2 + game % 12}", f"pie={chance.choice(['on', 'off'])}"]
            follow(
                peer, [*words, f"half_point={chance.choice(['final', 'first'])}"], chance, chance.choice([0, 0.02, 0.3])
            )


@pytest.mark.slow
def test_every_check(bot: str) -> None:
    assert failed_checks([bot, "4"], Who.BOT, "laido") == []


@pytest.mark.long
def test_every_step(bot: str) -> None:
    ran = ggp("check", "--json", "--timeout", "60", "--", bot)
    assert [step for step in ran.json["steps"] if step["verdict"] == "fail"] == [] and ran.status == 0


@pytest.mark.slow
def test_it_beats_random_moves(bot: str) -> None:
    """In both seats, after a swap and without; a hundred games looked at for each move are enough for that."""
    with RawPeer([bot, "100", "1"]) as peer, RawPeer(RANDOM) as other:
        for seat, (one, two) in enumerate([(peer, other), (other, peer)] * 2, 1):
            assert play_game("laido", ["size=4"], one, two).state.winner == 2 - seat % 2


@pytest.mark.slow
def test_it_moves_when_hardly_any_time_is_left(bot: str) -> None:
    rules = Registry().load("laido")
    state = rules.new(read_options(rules, ["size=4"]))
    with RawPeer([bot]) as peer:
        assert peer.ask("ggp-new laido size=4") == ""
        for left in (59, 30, 1):
            assert peer.ask(f"ggp-clock black={left} white={left}") == ""
            state.play(peer.ask(f"genmove {state.to_play}"))
    assert state.ply == 3


def test_its_head_and_the_page_build_it_alike() -> None:
    (line,) = [line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if line.startswith(" *     build ")]
    assert f"\n{line.removeprefix(' *     build').strip()}\n" in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_it_refuses_what_it_cannot_play(bot: str) -> None:
    with RawPeer([bot, "4"]) as peer:
        assert peer.ask("ggp-new laido size=3") == "" and peer.ask("play black C3") == ""
        for words in ("", "yugo", "laido size=14", "laido size=1", "laido size=3 pie=maybe", "laido komi=1"):
            assert peer.ask(f"ggp-new {words}").startswith("? "), words
        assert peer.ask("genmove black").startswith("? ") and peer.ask("genmove").startswith("? ")
        assert peer.ask("play white C3") == "? illegal move" and peer.ask("play white pass") == ""
