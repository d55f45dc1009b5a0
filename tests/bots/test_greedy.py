"""The built-in bots: whole games by the rules, the same by seed, in time; greedy is the better one."""

import random
import sys
import time

import pytest

from bots.clock import BotClock
from bots.greedy import Candidate, make_choose, settle
from bots.position import Position
from bots.random import make_choose as make_random
from bots.rng import BotRng
from engines.game import read_options
from engines.history import GameHistory
from engines.registry import Registry
from tests.support.raw_peer import RawGame, RawPeer, play_game

BOT = [sys.executable, "-m", "bots"]
GAMES = [
    ("yugo", []),
    ("yugo", ["size=5", "agreement=on", "handicap=3"]),
    ("yugo", ["size=2", "komi=-4"]),
    ("go", ["size=7"]),
    ("go", ["size=5", "ko=simple", "agreement=on", "komi=0"]),
    ("go", ["size=9", "ko=situational", "handicap=2"]),
]


def match(game: str, words: list[str], first: list[str], second: list[str], clock: str = "") -> RawGame:
    with RawPeer([*BOT, *first]) as one, RawPeer([*BOT, *second]) as two:
        if clock:
            assert one.ask(f"ggp-clock {clock}") == two.ask(f"ggp-clock {clock}") == ""
        played = play_game(game, words, one, two)
        assert one.ask("quit") == two.ask("quit") == ""
        assert one.exit_status() == two.exit_status() == 0
        assert not one.stderr and not two.stderr
    return played


@pytest.mark.slow
@pytest.mark.parametrize(("game", "words"), GAMES)
def test_random_plays_every_option_to_the_end_and_the_same_by_seed(game: str, words: list[str]) -> None:
    first, again, other = (
        match(game, words, ["random", f"seed={a}"], ["random", f"seed={b}"]) for a, b in ((1, 2), (1, 2), (3, 4))
    )
    assert first.moves == again.moves
    assert first.moves != other.moves or words[0] == "size=2"


def test_random_is_uniform_over_all_legal_moves() -> None:
    rules = Registry().load("yugo")
    line = GameHistory(rules, read_options(rules, ["size=3"]))
    choose = make_random(BotRng(7))
    counts: dict[str, int] = {}
    for _ in range(2000):
        move = choose(Position(line, line.state.copy(), BotClock()))
        counts[move] = counts.get(move, 0) + 1
    assert sorted(counts) == line.state.legal_moves() and len(counts) == 10
    assert all(130 < count < 280 for count in counts.values())  # 200 expected, 13 the standard deviation


@pytest.mark.slow
@pytest.mark.parametrize(("game", "words"), [("yugo", ["size=7"]), ("go", ["size=7"])])
def test_greedy_beats_random_from_both_seats(game: str, words: list[str]) -> None:
    greedy = ["greedy", "playouts=10", "seed=5"]
    for seat, (first, second) in enumerate([(greedy, ["random", "seed=9"]), (["random", "seed=9"], greedy)], 1):
        played = match(game, words, first, second)
        assert played.state.winner == seat and not played.resigned


@pytest.mark.slow
def test_greedy_ends_its_games_and_agrees_on_the_dead() -> None:
    quick = ["greedy", "playouts=5", "resign=off"]
    played = match("go", ["size=5", "agreement=on"], [*quick, "seed=1"], [*quick, "seed=2"])
    assert played.moves[-2:] == ["dead:", "dead:"] and played.state.result
    played = match("yugo", ["size=5", "agreement=on"], [*quick, "seed=1"], [*quick, "seed=2"])
    assert played.moves[-2:] == ["dead:", "dead:"] and played.state.result


@pytest.mark.slow
def test_greedy_keeps_its_time() -> None:
    with RawPeer([*BOT, "greedy", "playouts=100000"]) as peer:
        peer.ask("ggp-new go size=19")
        for clock in ("black=3000 white=3000", "black=0 white=0", "black=500 white=500 moves=1"):
            peer.ask(f"ggp-clock {clock}")
            began = time.monotonic()
            assert peer.ask("genmove black")[0] != "?"
            assert time.monotonic() - began < 30  # all its playouts would take hours
            peer.ask("undo")


@pytest.mark.slow
def test_greedy_tells_what_it_thought() -> None:
    with RawPeer([*BOT, "greedy", "playouts=5"]) as peer:
        peer.ask("ggp-new yugo size=5")
        move, analysis = peer.ask("ggp-genmove_analyze black").split("\n")
        assert analysis.startswith('{"winrate": ') and f'"pv": ["{move}"]' in analysis


def position(words: list[str], moves: list[str]) -> Position:
    rules = Registry().load("go")
    line = GameHistory(rules, read_options(rules, words))
    for ply, move in enumerate(moves):
        line.play(("black", "white")[ply % 2], move)
    return Position(line, line.state.copy(), BotClock())


def test_greedy_resigns_only_when_it_is_hopeless_and_may() -> None:
    lost = position(["size=3", "komi=100"], ["A1", "C3"])
    assert make_choose(50, BotRng(1), True)(lost) == "resign"
    assert make_choose(50, BotRng(1), False)(lost) == "pass"
    won = position(["size=3", "komi=-100"], ["A1", "C3"])
    assert make_choose(50, BotRng(1), True)(won) != "resign"


def test_greedy_takes_a_win_by_passing_and_never_passes_into_a_loss() -> None:
    ahead = position(["size=5", "komi=0"], ["C3", "pass"])
    assert make_choose(50, BotRng(1), True)(ahead) == "pass"
    assert make_choose(50, BotRng(1), True)(position(["size=5", "komi=0.5"], ["pass"])) == "pass"
    assert make_choose(50, BotRng(1), True)(position(["size=5", "komi=-0.5"], ["pass"])) not in (
        "pass",
        "resign",
    )
    # All of Black's random games are won, but after two passes the komi would count more.
    candidates = [Candidate(position(["size=5", "komi=24"], ["C3", "A1"]), move) for move in ("C4", "pass")]
    for candidate in candidates:
        candidate.sample(5, 1)
        candidate.won = float(candidate.games)
    assert settle(candidates, random.Random(1), None).move == "C4"


@pytest.mark.slow
def test_the_list_of_bots_and_bad_names() -> None:
    with RawPeer(BOT) as peer:
        text = peer.until_end().decode()
        assert peer.exit_status() == 0 and all(f"  {name} " in text for name in ("random", "greedy", "chaos"))
    for words, reason in (
        (["alphago"], "unknown bot: alphago; there are: random greedy mcts oneshot chaos"),
        (["random", "playouts=3"], "random has no option playouts; it has: seed"),
        (["greedy", "playouts=0"], "1..100000"),
        (["greedy", "playouts=many"], "1..100000"),
        (["greedy", "seed=1", "seed=1"], "twice"),
    ):
        with RawPeer([*BOT, *words]) as peer:
            assert peer.exit_status() == 2 and not peer.heard
            assert reason in peer.stderr.decode() and peer.stderr.count(b"\n") == 1
    with RawPeer([*BOT, "greedy", "--help"]) as peer:
        assert "playouts" in peer.until_end().decode()
