"""The bot mcts: a legal move in every phase of every game, sensible openings, the dead, its time, its seed."""

import os
import sys
from random import Random

import pytest

from ggp.bots import mcts
from ggp.bots.clock import BotClock
from ggp.bots.mcts import Searcher, play_on
from ggp.bots.position import Position
from ggp.bots.rng import BotRng
from ggp.bots.sdk import Bot
from ggp.engines.game import read_options
from ggp.engines.history import GameHistory
from ggp.engines.registry import Registry
from ggp.protocol.responder import Responder
from tests.support.raw_peer import RawPeer
from tests.third_party import auction

GAMES = [
    ("go", "size=5 agreement=on komi=0"),
    ("go", "size=2 ko=simple"),
    ("go", "size=7 handicap=2 ko=situational"),
    ("laido", "size=3"),
    ("laido", "size=4 pie=off half_point=first"),
    ("stigmergy", "size=3"),
    ("stigmergy", "size=4 komi=3"),
    ("taigo", "tiles=12 dark_cones=1"),
    ("taugo", "size=6"),
    ("taugo", "size=7 pie=off cut_from=any"),
    ("yugo", "size=5 agreement=on handicap=3"),
    ("yugo", "size=2 komi=-4"),
]


def begin(game: str, words: str = "") -> GameHistory:
    rules = Registry().load(game)
    return GameHistory(rules, read_options(rules, words.split()))


def position(line: GameHistory, moves: str = "", times: BotClock | None = None) -> Position:
    for move in moves.split():
        line.play(line.state.to_play, move)
    return Position(line, line.state.copy(), times or BotClock())


def searcher(playouts: int = 30, seed: int = 1, milliseconds: int = 0) -> Searcher:
    return Searcher(BotRng(seed), playouts=playouts, milliseconds=milliseconds)


def self_play(game: str, words: str, bots: list[Searcher]) -> list[str]:
    line = begin(game, words)
    while line.state.phase != "over":
        assert len(line.plies) < 1000
        bot = bots[line.state.seat - 1]
        line.play(line.state.to_play, bot.choose(position(line)))  # raises IllegalMove
    return [move for _, _, move in line.plies]


@pytest.mark.parametrize(("game", "words"), GAMES)
def test_it_plays_every_phase_of_every_game_to_the_end_and_the_same_by_seed(game: str, words: str) -> None:
    once, again = (self_play(game, words, [searcher(10, 1), searcher(10, 2)]) for _ in range(2))
    assert once == again


def test_another_match_of_the_same_seed_is_the_same_and_its_tree_is_new() -> None:
    bot, games = searcher(20), []
    for seed in (7, 8, 7):
        bot.begin_match(seed)
        games.append(self_play("yugo", "size=4", [bot, bot]))
    assert games[0] == games[2] != games[1]


def test_it_keeps_its_tree_as_long_as_the_plies_go_on() -> None:
    bot, line = searcher(500), begin("go", "size=5 komi=0.5")
    first = position(line)
    move = bot.choose(first)
    visits = first.analysis["visits"]
    reply = first.analysis["pv"][1]
    second = position(line, f"{move} {reply}")
    bot.choose(second)
    assert second.analysis["visits"] > visits  # the old ones below the reply among them
    back = line.taken_back(2)
    third = position(back)
    bot.choose(third)
    assert third.analysis["visits"] == visits


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("yugo", "size=5", ""), ("laido", "size=9", "E13")),  # no point of the board before
        (("go", "size=9", ""), ("go", "size=13", "N13")),
    ],
)
def test_a_game_that_is_none_of_the_tree_is_begun_again(
    before: tuple[str, str, str], after: tuple[str, str, str]
) -> None:
    """A plain GTP controller does not announce a new game."""
    bot = searcher(50)
    for game, words, moves in (before, after):
        where = position(begin(game, words), moves)
        assert bot.choose(where) in where.legal_moves()


# --- openings ------------------------------------------------------------------------------------------------------


def test_the_bid_is_even_and_the_side_is_the_better_one() -> None:
    bids = {searcher(300, seed).choose(position(begin("stigmergy", "size=3"))) for seed in range(3)}
    assert all(0 < int(bid.removeprefix("bid:")) < 12 for bid in bids), bids
    for bid, choice in (("bid:0", "swap-sides"), ("bid:18", "keep-sides")):
        assert searcher(300).choose(position(begin("stigmergy", "size=3"), bid)) == choice


def test_the_pie_is_cut_evenly_and_the_larger_piece_taken() -> None:
    assert searcher(1000).choose(position(begin("laido", "size=2"), "B2")) == "swap-sides"
    assert searcher(1000).choose(position(begin("laido", "size=2"), "A2")) == "B2"
    first = position(begin("laido", "size=3"))
    searcher(1000).choose(first)
    assert 0.3 < first.analysis["winrate"] <= 0.5
    assert searcher(1000).choose(position(begin("taugo", "size=6"), "B2")) != "pass"


@pytest.mark.parametrize("playouts", [0, 200])
def test_bids_and_sides_tell_what_was_searched(playouts: int) -> None:
    for moves in ("", "bid:7"):
        where = position(begin("stigmergy", "size=3"), moves)
        move = searcher(playouts, milliseconds=100).choose(where)
        analysis = where.analysis
        assert analysis["pv"] == [move] and 0 <= analysis["winrate"] <= 1
        assert analysis["visits"] > 0 and analysis["nodes"] > 1
        assert playouts == 0 or analysis["visits"] <= playouts * (1 if moves else 5)  # 21 bids, halved


# --- the end -------------------------------------------------------------------------------------------------------

WALL = "A2 A3 B2 B3 C2 C3 D2 D3 E2 E3 B1 A5 pass C1 pass pass"  # a white stone in Black's land, and two passes


@pytest.mark.parametrize("after", ["", "dead:", "dead:C1", "dead:A3"])
def test_it_names_what_does_not_outlive_random_games(after: str) -> None:
    where = position(begin("go", "size=5 agreement=on komi=0"), f"{WALL} {after}")
    assert searcher().choose(where) == "dead:C1"
    assert play_on(where, "A3").phase == "play"


def test_nothing_is_dead_on_an_empty_board_and_kings_never() -> None:
    assert searcher().choose(position(begin("go", "size=5 agreement=on"), "pass pass")) == "dead:"
    king = "A2 A1 B1 button pass pass"  # Black's B1 has captured A1
    assert searcher().choose(position(begin("yugo", "size=5 agreement=on"), king)) == "dead:"


def test_it_wins_by_passing_and_resigns_only_where_it_may() -> None:
    assert searcher(200).choose(position(begin("go", "size=5 komi=0"), "C3 pass")) == "pass"
    lost = "A1 C3"
    where = position(begin("go", "size=3 komi=100"), lost)
    assert Searcher(BotRng(1), playouts=200, resigns=True).choose(where) == "resign"
    assert searcher(200).choose(where) != "resign"


# --- time, talk ----------------------------------------------------------------------------------------------------


def test_how_long_it_thinks() -> None:
    line = begin("go", "size=5")
    ticking = position(line, "", BotClock(3000, 3000))

    def seconds(playouts: int, milliseconds: int, where: Position) -> float:
        return searcher(playouts, milliseconds=milliseconds)._seconds(where)

    assert seconds(100, 0, position(line)) == 0
    assert seconds(0, 0, position(line)) == 1
    assert seconds(100, 0, ticking) == ticking.times.budget("black") / 1000  # type: ignore[operator]
    assert seconds(0, 10, ticking) == seconds(100, 10, position(line)) == 0.01
    assert seconds(0, 10**6, ticking) == seconds(0, 0, ticking) < 1


def test_it_ends_when_its_time_is_over() -> None:
    for clock in (BotClock(0, 0), BotClock(900, 900)):
        where = position(begin("go", "size=19"), "", clock)
        assert where.why_illegal(searcher(0).choose(where)) == ""
        assert where.analysis["visits"] < 10**6


def test_a_game_without_a_core_is_searched_too() -> None:
    line = GameHistory(auction.GAME, {})
    assert searcher().choose(Position(line, line.state.copy(), BotClock())).startswith("bid:")


def test_it_tells_what_it_thought() -> None:
    bot = searcher(200)
    responder = Responder("mcts", "1", Bot(bot.choose, analysis=True, seed=bot.begin_match).handlers())
    responder.receive(b"ggp-new taugo size=7\nggp-genmove_analyze black\n")
    responder.next_answer()
    answer = (responder.next_answer() or b"").decode()
    move, analysis = answer.removeprefix("= ").strip().split("\n")
    assert analysis.startswith('{"winrate": 0.') and f'"pv": ["{move}"' in analysis and '"visits": ' in analysis


@pytest.mark.slow
def test_it_is_a_built_in_bot() -> None:
    with RawPeer([sys.executable, "-m", "ggp.bots", "mcts", "playouts=50", "seed=3", "threads=2"]) as peer:
        assert peer.ask("ggp-new laido size=4") == ""
        assert not peer.ask("genmove black").startswith("?")
        assert peer.ask("quit") == "" and peer.exit_status() == 0
        assert bool(peer.stderr) == (len(os.sched_getaffinity(0)) < 2)


def test_it_says_that_its_threads_have_too_few_cores(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mcts, "run", lambda *_, **__: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    mcts.main(["threads=2"])
    assert not capsys.readouterr().err
    mcts.main(["threads=3"])
    assert capsys.readouterr().err == "mcts: threads=3 is more than the number of processor cores, 2\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("game", "words", "weak"),
    [
        ("go", "size=9", 30),
        ("laido", "size=5 pie=off", 30),
        ("stigmergy", "size=5 komi=10", 30),
        ("taigo", "", 30),
        ("taugo", "size=8 pie=off", 30),
        ("yugo", "size=9", 30),
    ],
)
def test_more_playouts_play_better(game: str, words: str, weak: int) -> None:
    """40 games, half of them with each side: a bot that wins three of four on average fails once in a thousand runs."""
    won = 0.0
    for number in range(40):
        bots = [searcher(weak, 2 * number + 1), searcher(20 * weak, 2 * number + 2)]
        strong = 1 + number % 2
        line = begin(game, words)
        position(line, Random(number // 2).choice(line.state.legal_moves()))
        while line.state.phase != "over":
            mine = line.state.seat == strong
            line.play(line.state.to_play, bots[mine].choose(position(line)))
        won += 0.5 if line.state.winner == 0 else line.state.winner == strong
    assert won >= 20
