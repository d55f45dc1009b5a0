"""The search of the core: what it proves is true, and found where it is near; the same by seed; within its memory."""

import threading
from collections.abc import Callable
from hashlib import blake2b

import pytest

from ggp.engines._core import Go, IllegalMove, Laido, Stigmergy, Taigo, Taugo, Yugo
from tests.support.positions import play

Position = Go | Laido | Stigmergy | Taigo | Taugo | Yugo

MOST = 1_000  # positions that may be looked at to solve one

SMALL: dict[str, Callable[[], Position]] = {
    "go": lambda: Go(3, komi=1.5, ko="situational"),
    "go, draws": lambda: Go(2, komi=0, ko="simple"),
    "laido": lambda: Laido(2, pie=False),
    "laido, first": lambda: Laido(3, pie=False, half_point="first"),
    "stigmergy": lambda: Stigmergy(2, komi=1),
    "taugo": lambda: Taugo(6, pie=False),
    "yugo": lambda: Yugo(2, komi=0),
    "yugo 3": lambda: Yugo(3, komi=2),
}
LARGE: dict[str, Callable[[], Position]] = {
    "go": lambda: Go(9),
    "laido": lambda: Laido(5),
    "stigmergy": lambda: Stigmergy(5, komi=3),
    "taigo": Taigo,
    "taugo": lambda: Taugo(8),
    "yugo": lambda: Yugo(9, handicap=2),
}


def near_the_end(start: Callable[[], Position], wanted: int) -> list[Position]:
    """Positions of random games that are not over, and from which plain minimax gets to the end."""
    found: list[Position] = []
    for seed in range(100 * wanted):
        state = start()
        line: list[Position] = []
        while state.phase != "over" and len(line) < 300:
            line.append(state.copy())
            state.play(state.random_move(seed * 1000 + len(line), ("rollout", "uniform")[seed % 2]))
        solvable = None
        for position in reversed(line):
            try:
                solve(position, [MOST])
            except TooManyError:
                break
            solvable = position  # the earliest one from which all later ones can be solved
        if solvable is not None:
            found.append(solvable)
        if len(found) == wanted:
            return found
    raise AssertionError("not enough positions")


def outcome(proof: str, mover: str) -> str:
    return {"win": mover, "loss": "white" if mover == "black" else "black", "draw": "draw"}[proof]


def check_proofs(position: Position, playouts: int, threads: int = 1) -> tuple[bool, int, int]:
    """What is proven is true, and the side that can win finds the win.

    Returns whether the side to move can win, and how many proven moves were solved plainly and were too far to be.
    """
    solved = too_far = 0
    search = position.search(seed=5, threads=threads)
    search.run(playouts)
    mover = position.to_play
    for move, _, _, proof in search.votes():
        if proof:
            after = position.copy()
            after.play(move)
            try:
                winner = solve(after, [10 * MOST])
            except TooManyError:  # a move that leads away from the end, as taking many stones does
                too_far += 1
                continue
            solved += 1
            assert outcome(proof, mover) == winner, (position.board(), move)
    best, *others = search.votes()
    truth = solve(position, [MOST])
    if truth == mover and not best[3]:  # it ended sooner: what was left could not change which move is best
        left = playouts - sum(visits for _, visits, _, _ in search.votes())
        assert not others or others[0][3] == "loss" or best[1] - others[0][1] > left, (position.board(), best, others)
        after = position.copy()
        after.play(best[0])
        assert solve(after, [10 * MOST]) == mover, (position.board(), position.to_play, best)
    elif truth == mover:
        assert best[3] == "win", (position.board(), position.to_play, best)
    elif best[3]:
        assert outcome(best[3], mover) == truth
    return truth == mover, solved, too_far


def check_all_proofs(positions: list[Position], playouts: int, threads: int = 1) -> int:
    """Returns how many of the sides to move can win."""
    wins, solved, too_far = map(sum, zip(*(check_proofs(one, playouts, threads) for one in positions), strict=True))
    assert too_far <= solved / 50
    return wins


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("game", SMALL)
def test_what_is_proven_is_true_and_forced_wins_are_found(game: str, threads: int) -> None:
    positions = near_the_end(SMALL[game], 8)
    assert check_all_proofs(positions, 10_000, threads) >= 3


@pytest.mark.long
@pytest.mark.parametrize("game", SMALL)
def test_what_is_proven_is_true_in_many_positions(game: str) -> None:
    positions = near_the_end(SMALL[game], 200)
    assert check_all_proofs(positions, 50_000) > 50


@pytest.mark.parametrize("komi", [0, 1])
def test_the_button_is_taken_where_nothing_else_wins(komi: int) -> None:
    decided = 0
    for game in range(60):
        state = Yugo(2, komi=komi)
        while state.phase == "play" and {"button"} < set(state.legal_moves()):
            if winning_moves(state) == {"button"}:
                search = state.search(seed=1)
                search.run(2000)
                assert search.votes()[0][0] == "button", state.board()
                decided += 1
            others = [move for move in state.legal_moves() if move != "button"]
            state.play(others[hash((game, len(others))) % len(others)])
    assert decided >= 10


def test_five_in_a_row_is_seen_two_plies_before() -> None:
    """Taigo is too wide for minimax in Python: here are its wins in one, and a loss in two."""
    four = "0,0=X 1,0=X 2,0=X 3,0=X 0,5=O 3,5=O"
    attack, defence = Taigo(), Taigo()
    attack.set_up(four, "black")
    search = attack.search(seed=1)
    search.run(playouts=10)
    winners = {move for move, _, _, proof in search.votes() if proof == "win"}
    for move in attack.legal_moves():
        after = attack.copy()
        after.play(move)
        assert (after.winner == 1) == (move in winners)
    assert winners
    defence.set_up(four, "white")
    search = defence.search(seed=1)
    search.run(playouts=20_000)
    assert {proof for _, _, _, proof in search.votes()} == {"loss"}  # one move cannot cover both ends


def test_a_few_playouts_stop_a_line_of_four() -> None:
    """Of the many moves in Taigo hardly one does, and few are tried: a look at the lines tells them apart."""
    state = Taigo()
    state.set_up("0,0=X 1,0=X 2,0=X 3,0=X 4,0=O 0,4=O 1,4=X 2,3=O", "white")
    for seed in range(10):
        search = state.search(seed=seed)
        search.run(playouts=20)
        after = state.copy()
        after.play(search.votes()[0][0])
        for reply in after.legal_moves():
            end = after.copy()
            end.play(reply)
            assert end.winner != 1, (seed, search.votes()[0], reply)


def playing(
    start: Callable[[], Position], playouts: int, plies: int, seconds: float = 0.0, **options: int
) -> list[str]:
    """The moves of a game against itself, with one tree that is kept from move to move."""
    state = start()
    search = state.search(**options)
    moves: list[str] = []
    while len(moves) < plies and state.phase != "over":
        search.run(playouts, seconds)
        moves.append(search.votes()[0][0])
        assert search.line()[0] == moves[-1] and not state.why_illegal(moves[-1])
        state.play(moves[-1])
        search.play(moves[-1])
        assert search.hash() == state.hash()
    return moves


@pytest.mark.parametrize("game", LARGE)
def test_the_same_seed_finds_the_same(game: str) -> None:
    once = playing(LARGE[game], 100, 6, seed=1)
    assert once == playing(LARGE[game], 100, 6, seed=1)
    assert once != playing(LARGE[game], 100, 6, seed=2)


@pytest.mark.parametrize("game", LARGE)
def test_a_clock_with_time_enough_changes_nothing(game: str) -> None:
    for seed in (1, 2):
        assert playing(LARGE[game], 300, 12, seed=seed) == playing(LARGE[game], 300, 12, 3600.0, seed=seed)


def test_a_first_stone_that_is_proven_is_not_the_most_even() -> None:
    """A side that may swap takes the winning side: an open move comes first, however few its visits."""
    mixed = 0
    for seed in range(1, 6):
        for playouts in (400, 800, 1600):
            search = Laido(2).search(seed)
            search.run(playouts)
            proven = [bool(proof) for _, _, _, proof in search.votes()]
            assert search.swap_follows and proven == sorted(proven)
            mixed += proven[-1] and not proven[0]
    assert mixed > 2


@pytest.mark.parametrize(("komi", "proof"), [(0, "win"), (30, "loss"), (25, "")])
def test_a_pass_that_ends_a_game_of_go_is_known_before_it_is_tried(komi: float, proof: str) -> None:
    for agreement in (False, True):
        search = play(Go(5, komi, agreement=agreement), "C3 pass").search(1)
        search.run(1)
        proofs = {move: found for move, _, _, found in search.votes()}
        assert proofs["pass"] == ("" if agreement else proof)
        assert not any(found for move, found in proofs.items() if move != "pass")


GOLDEN = {
    "go": "f51e8bd0",
    "laido": "a6f3eeef",
    "stigmergy": "19eca06d",
    "taigo": "863b2ecb",
    "taugo": "63c7118e",
    "yugo": "c368705a",
}
"""What the moves of ten plies hash to: on every machine, by every compiler. Another search changes them."""


@pytest.mark.parametrize("game", LARGE)
def test_the_same_is_found_on_every_machine(game: str) -> None:
    moves = playing(LARGE[game], 200, 10, seed=1)
    assert blake2b(" ".join(moves).encode(), digest_size=4).hexdigest() == GOLDEN[game]


@pytest.mark.parametrize("game", LARGE)
def test_a_tree_is_kept_for_any_move(game: str) -> None:
    """Also from moves that it holds for bad, and its memory shrinks to what still counts."""
    state = LARGE[game]()
    search = state.search(seed=3)
    kept = 0
    for ply in range(40):
        if state.phase == "over":
            break
        search.run(50)
        before = search.nodes
        move = state.random_move(ply) if ply % 2 else search.votes()[0][0]
        state.play(move)
        search.play(move)
        kept += 1 < search.nodes < before
        assert search.hash() == state.hash()
    assert kept > 1  # a game against random moves is soon won
    with pytest.raises(IllegalMove):
        search.play("nonsense")
    assert search.hash() == state.hash()


@pytest.mark.slow
@pytest.mark.parametrize("game", LARGE)
def test_a_full_tree_is_searched_without_growing(game: str) -> None:
    state = LARGE[game]()
    search = state.search(seed=1, megabytes=1)
    assert type(search).node_bytes <= 64
    most = 2**20 // type(search).node_bytes
    search.run(playouts=20_000)
    full = search.nodes
    assert most - 5_000 < full <= most
    search.run(playouts=5_000)
    assert search.nodes <= most and sum(visits for _, visits, _, _ in search.votes()) > 5_000


def test_what_is_decided_ends_at_once() -> None:
    """Of a thousand million playouts hardly any is needed where there is one move, and where a move wins."""
    lone = Stigmergy(2, komi=0)
    for move in ["B2", "A2", "C2", "B1", "A3"]:
        lone.play(move)
    assert lone.legal_moves() == ["pass"]
    search = lone.search(seed=1)
    search.run(playouts=10**9)
    assert [vote[0] for vote in search.votes()] == ["pass"]
    ahead = Go(5, komi=-3.5)
    ahead.play("C3")
    ahead.play("pass")
    search = ahead.search(seed=1)
    search.run(playouts=10**9)
    assert search.votes()[0][0] == "pass" and search.votes()[0][3] == "win"


def test_moves_are_even_where_the_opponent_may_take_the_side() -> None:
    state = Laido(4)
    search = state.search(seed=1)
    search.run(playouts=3000)
    assert search.swap_follows and abs(search.votes()[0][2] - 0.5) < 0.1
    state = Laido(2)
    search = state.search(seed=1)
    state.play("B2")
    search.play("B2")
    search.run(playouts=2000)
    assert not search.swap_follows
    assert "swap-sides" in state.legal_moves() and "swap-sides" not in [vote[0] for vote in search.votes()]
    assert search.votes()[0][2] < 0.1  # the centre of seven points is worth a swap
    search.play("swap-sides")
    state.play("swap-sides")
    assert search.hash() == state.hash()


@pytest.mark.parametrize(
    ("options", "run", "reason"),
    [
        ({"threads": 0}, {"playouts": 1}, "threads must be 1..64"),
        ({"megabytes": 0}, {"playouts": 1}, "megabytes must be 1..65536"),
        ({}, {}, "a search needs a number of playouts, or of seconds, or both"),
        ({}, {"playouts": -1}, "a search needs a number of playouts, or of seconds, or both"),
        ({}, {"seconds": float("nan")}, "a search needs a number of playouts, or of seconds, or both"),
    ],
)
def test_bad_numbers_are_refused(options: dict[str, int], run: dict[str, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Go(5).search(**options).run(**run)


def test_nothing_is_searched_after_the_end() -> None:
    state = Go(3)
    search = state.search()
    for move in ("pass", "pass"):
        state.play(move)
        search.play(move)
    with pytest.raises(IllegalMove, match="over"):
        search.run(playouts=1)
    with pytest.raises(IllegalMove, match="over"):
        state.search()


@pytest.mark.slow
def test_a_running_search_is_left_alone_by_other_threads() -> None:
    search = Go(9).search(seed=1)
    refusals: list[Exception] = []
    began = threading.Event()

    def ask() -> None:
        began.set()
        while not refusals and worker.is_alive():
            try:
                search.votes()
            except RuntimeError as error:
                refusals.append(error)

    worker = threading.Thread(target=lambda: search.run(seconds=1.0))
    asker = threading.Thread(target=ask)
    worker.start()
    asker.start()
    worker.join()
    asker.join()
    assert len(refusals) == 1 and "another thread" in str(refusals[0])


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("game", LARGE)
def test_threads_play_as_many_playouts_as_were_asked_for(game: str, threads: int) -> None:
    search = LARGE[game]().search(seed=1, threads=threads)
    search.run(playouts=100)
    assert sum(visits for _, visits, _, _ in search.votes()) == 100


# --- minimax: plain, over all moves ---


class TooManyError(Exception):
    """The position is not near enough to the end to be solved plainly."""


def solve(state: Position, left: list[int]) -> str:
    """The result of best play: black, white or draw. Plain minimax over all moves."""
    if state.phase == "over":
        return {"B": "black", "W": "white", "0": "draw"}[state.result[0]]
    left[0] -= 1
    if left[0] < 0:
        raise TooManyError
    mover = state.to_play
    found = set()
    for move in state.legal_moves():
        after = state.copy()
        after.play(move)
        found.add(solve(after, left))
        if mover in found:
            return mover
    return "draw" if "draw" in found else {"black": "white", "white": "black"}[mover]


def winning_moves(state: Position) -> set[str]:
    """By plain minimax; empty also if that is too far."""
    winners = set()
    for move in state.legal_moves():
        after = state.copy()
        after.play(move)
        try:
            if solve(after, [10 * MOST]) == state.to_play:
                winners.add(move)
        except TooManyError:
            return set()
    return winners
