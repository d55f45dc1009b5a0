"""Bots where seat and colour part: what greedy bids, when it takes the other side, whose wins it counts after that."""

import sys
import time
from random import Random

import pytest

from bots.clock import BotClock
from bots.greedy import CERTAIN, Candidate, even_bid, make_choose, settle
from bots.position import Position
from bots.rng import BotRng
from engines.game import Game, read_options
from engines.history import GameHistory
from engines.registry import Registry
from tests.support.raw_peer import RawPeer, play_game
from tests.third_party import auction

BOT = [sys.executable, "-m", "bots"]
LAIDO, STIGMERGY = Registry().load("laido"), Registry().load("stigmergy")


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
    assert swap.rate == swap.share  # nobody may swap again


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
def test_greedy_beats_random_from_both_seats(game: str, words: list[str]) -> None:
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
