"""The built-in bots: whole games by the rules, the same by seed, in time; greedy is the better one."""

import sys
import time
from random import Random

import pytest

from ggp.bots.clock import BotClock
from ggp.bots.greedy import CERTAIN, Candidate, even_bid, make_choose, settle
from ggp.bots.position import Position
from ggp.bots.random import make_choose as make_random
from ggp.bots.rng import BotRng
from ggp.engines.game import Game, read_options
from ggp.engines.history import GameHistory
from ggp.engines.registry import Registry
from tests.support.raw_peer import RawGame, RawPeer, play_game
from tests.third_party import auction

BOT = [sys.executable, "-m", "ggp.bots"]
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


def test_greedy_resigns_only_when_it_is_hopeless_and_may() -> None:
    lost = position(GO, ["size=3", "komi=100"], "A1 C3")
    assert make_choose(50, BotRng(1), True)(lost) == "resign"
    assert make_choose(50, BotRng(1), False)(lost) == "pass"
    won = position(GO, ["size=3", "komi=-100"], "A1 C3")
    assert make_choose(50, BotRng(1), True)(won) != "resign"


def test_greedy_takes_a_win_by_passing_and_never_passes_into_a_loss() -> None:
    ahead = position(GO, ["size=5", "komi=0"], "C3 pass")
    assert make_choose(50, BotRng(1), True)(ahead) == "pass"
    assert make_choose(50, BotRng(1), True)(position(GO, ["size=5", "komi=0.5"], "pass")) == "pass"
    assert make_choose(50, BotRng(1), True)(position(GO, ["size=5", "komi=-0.5"], "pass")) not in (
        "pass",
        "resign",
    )
    # All of Black's random games are won, but after two passes the komi would count more.
    candidates = [Candidate(position(GO, ["size=5", "komi=24"], "C3 A1"), move) for move in ("C4", "pass")]
    for candidate in candidates:
        candidate.sample(5, 1)
        candidate.won = float(candidate.games)
    assert settle(candidates, Random(1), None).move == "C4"


@pytest.mark.slow
def test_the_list_of_bots_and_bad_names() -> None:
    with RawPeer(BOT) as peer:
        text = peer.until_end().decode()
        assert peer.exit_status() == 0 and all(f"  {name} " in text for name in ("random", "greedy", "mcts"))
    for words, reason in (
        (["alphago"], "unknown bot: alphago; known bots: random greedy mcts oneshot llm mcp uci openspiel"),
        (["random", "playouts=3"], "random has no option playouts; its options are: seed"),
        (["greedy", "playouts=0"], "1..100000"),
        (["greedy", "playouts=many"], "1..100000"),
        (["greedy", "seed=1", "seed=1"], "twice"),
    ):
        with RawPeer([*BOT, *words]) as peer:
            assert peer.exit_status() == 2 and not peer.heard
            assert reason in peer.stderr.decode() and peer.stderr.count(b"\n") == 1
    with RawPeer([*BOT, "greedy", "--help"]) as peer:
        assert "playouts" in peer.until_end().decode()


# --- bids, komi and sides ---

GO, LAIDO, STIGMERGY = map(Registry().load, ("go", "laido", "stigmergy"))


def position(game: Game, words: list[str], moves: str) -> Position:
    line = GameHistory(game, read_options(game, words))
    for move in moves.split():
        line.play(line.state.to_play, move)
    return Position(line, line.state.copy(), BotClock())


def sampled(where: Position, move: str, games: int = 4000) -> Candidate:
    candidate = Candidate(where, move)
    candidate.sample(games, 7)
    return candidate


# --- whose wins ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("swap", ["", "swap-sides "])
def test_wins_are_the_colours_that_the_mover_holds(swap: str) -> None:
    """Three stones of Black's row from edge to edge, and Black to move: the seats have changed, the hopes have not."""
    where = position(LAIDO, ["size=3"], f"A3 {swap}C1 B3 C5 C3 pass")
    assert (where.to_play, where.seat) == ("black", 2 if swap else 1)
    good, bad = sampled(where, "D3"), sampled(where, "A4")
    after = where.copy()
    after.play("D3")
    assert good.share == good.rate == after.playouts(4000, 7, "rollout").black / 4000
    assert good.share > bad.share + 0.1


def test_the_swap_counts_the_other_colours_wins() -> None:
    where = position(LAIDO, ["size=3"], "C3")
    swap = sampled(where, "swap-sides")
    after = where.copy()
    after.play("swap-sides")
    assert (after.to_play, after.seat) == ("white", 1)
    assert swap.share == after.playouts(4000, 7, "rollout").black / 4000
    assert swap.rate == swap.share  # a second swap is not allowed


def test_a_first_stone_is_worth_what_the_opponent_leaves() -> None:
    where = position(LAIDO, ["size=3"], "")
    stone = sampled(where, "C3")
    assert stone.rate == min(stone.share, 1 - stone.share)
    without = sampled(position(LAIDO, ["size=3", "pie=off"], ""), "C3")
    assert without.rate == without.share


@pytest.mark.parametrize(
    ("moves", "mover", "won"),
    [
        ("A3 swap-sides E3 pass", ("white", 1), 0),  # all equal: the half point is Black's, who passed first
        ("A3 E3 pass", ("white", 2), 0),
        ("A3 swap-sides E3 A4 pass", ("black", 2), 1),
        ("A3 E3 A4 pass", ("black", 1), 1),
    ],
)
def test_a_game_that_a_move_ends_is_won_by_seats(moves: str, mover: tuple[str, int], won: int) -> None:
    where = position(LAIDO, ["size=3"], moves)
    assert (where.to_play, where.seat) == mover
    assert sampled(where, "pass", 5).share == won


@pytest.mark.parametrize(("swap", "seats"), [("", (1, 2)), ("swap-sides ", (2, 1))])
def test_a_pass_that_wins_as_it_stands_is_known_by_its_colour(swap: str, seats: tuple[int, int]) -> None:
    """Black has a pair on the edge. White to move would lose by two passes, Black to move would win."""
    black = position(LAIDO, ["size=3"], f"A3 {swap}E3 A4 C3")
    white = position(LAIDO, ["size=3"], f"A3 {swap}E3 A4")
    assert (black.seat, white.seat) == seats
    assert not sampled(black, "pass").loses_as_it_stands(0.5)
    assert sampled(white, "pass").loses_as_it_stands(0.5)


# --- choosing ------------------------------------------------------------------------------------------------------


def test_greedy_takes_the_better_side() -> None:
    """Seat 1 opened where a stone is worth much, or hardly anything."""
    swaps = sum(
        make_choose(50, BotRng(seed), True)(position(auction.GAME, [], "bid:2")) == "swap-sides"  # Black wins 8 of 10
        for seed in range(1, 11)
    )
    keeps = sum(
        make_choose(50, BotRng(seed), True)(position(auction.GAME, [], "bid:9")) == "keep-sides"
        for seed in range(1, 11)
    )
    assert swaps == keeps == 10


def test_a_swap_is_looked_at_as_closely_as_the_luckiest_move() -> None:
    where = position(LAIDO, ["size=3"], "C3")
    swap, lucky = Candidate(where, "swap-sides"), Candidate(where, "A3")
    for candidate in (swap, lucky):
        candidate.sample(5, 1)
    swap.won, lucky.won = 3.0, 5.0
    settle([swap, lucky], Random(1), None)
    assert swap.games >= CERTAIN and lucky.games >= CERTAIN
    assert lucky.rate < 1


@pytest.mark.parametrize("seed", range(1, 6))
def test_greedy_bids_an_even_komi(seed: int) -> None:
    where = position(auction.GAME, [], "")
    assert make_choose(20, BotRng(seed), True)(where) in ("bid:5", "bid:6")
    assert where.analysis["winrate"] > 0.4 and where.analysis["visits"] <= 8 * CERTAIN


@pytest.mark.parametrize(("words", "seed"), [(["size=3"], 1), (["size=5"], 2), ([], 3)])
def test_the_komi_that_greedy_bids_is_even_for_random_games(words: list[str], seed: int) -> None:
    where = position(STIGMERGY, words, "")
    bid = make_choose(20, BotRng(seed), True)(where)
    _, black, white, draws = position(STIGMERGY, words, bid).playouts(2000, 11, "rollout")
    assert black + white + draws == 2000 and abs(black - white) < 2000 * 0.3
    for swap in ("swap-sides", "keep-sides"):  # neither is worth much more
        share = sampled(position(STIGMERGY, words, bid), swap).share
        assert 0.35 < share < 0.65


@pytest.mark.parametrize(("bid", "choice"), [("bid:0", "swap-sides"), ("bid:19", "keep-sides")])
def test_greedy_chooses_the_side_that_the_komi_favours(bid: str, choice: str) -> None:
    """On side 3 Black wins five of eight random games without komi, and none if White has a point for every cell."""
    assert make_choose(400, BotRng(4), True)(position(STIGMERGY, ["size=3"], bid)) == choice


def test_greedy_bids_in_time() -> None:
    where = position(auction.GAME, [], "")
    bids = [Candidate(where, move) for move in where.legal_moves()]
    began = time.monotonic()
    bid = even_bid(bids, 10**9, Random(1), began + 0.2)
    assert time.monotonic() - began < 30 and bid.games > 0
    late = even_bid([Candidate(where, "bid:3"), Candidate(where, "bid:4")], 10**9, Random(1), began)
    assert late.move == "bid:4" and late.games > 0


# --- whole games ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "words"),
    [
        ("laido", ["size=4"]),
        ("laido", ["size=3", "half_point=first"]),
        ("laido", ["size=3", "pie=off"]),
        ("stigmergy", ["size=3"]),
        ("stigmergy", ["size=3", "komi=3"]),
    ],
)
def test_greedy_beats_random_where_sides_are_chosen(game: str, words: list[str]) -> None:
    won = {1: 0, 2: 0}
    swaps = 0
    for seed in range(1, 6):
        for seat in (1, 2):
            greedy, random = [*BOT, "greedy", f"seed={seed}", "playouts=10"], [*BOT, "random", f"seed={seed + 9}"]
            first, second = (greedy, random) if seat == 1 else (random, greedy)
            with RawPeer(first) as one, RawPeer(second) as two:
                played = play_game(game, words, one, two)
            won[seat] += played.state.winner == seat and not played.resigned
            swaps += "swap-sides" in played.moves
    assert won[1] >= 4 and won[2] >= 4, won
    if {"pie=off", "komi=3"} & {*words}:
        assert swaps == 0
    elif game == "stigmergy":  # in laido few of random's first stones are worth a swap
        assert swaps > 0


@pytest.mark.slow
def test_random_swaps_now_and_then_and_ends_its_games() -> None:
    swaps = 0
    for seed in range(1, 13):
        with RawPeer([*BOT, "random", f"seed={seed}"]) as one, RawPeer([*BOT, "random", f"seed={seed + 50}"]) as two:
            played = play_game("laido", ["size=2"], one, two)
        assert played.state.result[0] in "BW" and not played.resigned
        swaps += "swap-sides" in played.moves
    assert 0 < swaps < 12
