"""No fault is worth more than losing: a bot that commits one when it is losing gains nothing on its honest twin."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from ggp.engines.registry import Registry
from ggp.engines.service import engine_handlers
from ggp.engines.session import Session
from ggp.protocol.connection import PeerRole
from ggp.protocol.records import MovePlayed, Record
from ggp.protocol.responder import Handler, Responder
from ggp.referee.match.outcome import REPLAYS, WINDOW, CannotStart, Termination
from ggp.referee.match.series import GameResult, SeriesTally
from tests.support.memory_match import MemoryMatch, MemoryPeer, bot, refuse
from tests.support.series import make_setup, play, script

GAME = "go size=3 komi=9.5"  # White wins it whatever happens
MOVES = (("A1", "A2", "pass"), ("C1", "C2", "pass"))  # by seat
Act = Callable[[bytes], list[bytes]]


class Cheat(MemoryPeer):
    """Plays the moves of a seat; its `at`-th answer to genmove is what `act` makes of the honest one (b"": its end)."""

    def __init__(self, seat: int, act: Act, at: int) -> None:
        super().__init__(bot(MOVES[seat - 1]), PeerRole.BOT)
        self.act, self.left, self.ended = act, at, False
        self._honest, self.memory.answer = self.memory.answer, self._answer

    def _answer(self, data: bytes) -> list[bytes]:
        chunks = self._honest(data)
        self.left -= b"genmove" in data
        if self.left == 0 and b"genmove" in data:
            *before, answer = chunks
            chunks = [*before, *self.act(answer)]
            self.ended = b"" in chunks
        return chunks

    def exited(self, wait: float = 0) -> str:
        return "exit status 0" if self.ended else ""


def _text(mark: bytes, text: bytes) -> Act:
    return lambda answer: [mark + answer[1:].split(b" ")[0] + b" " + text + b"\n\n"]


IN_TURN: dict[str, tuple[Act, str]] = {
    "illegal move": (_text(b"=", b"A1"), "illegal_move"),
    "no move": (_text(b"=", b""), "illegal_move"),
    "an enormous word": (_text(b"=", b"A" * 60_000), "illegal_move"),
    "a list of dead stones": (_text(b"=", b"dead:" + b"A1," * 2000 + b"A1"), "illegal_move"),
    "no such word": (_text(b"=", "\N{PILE OF POO}=1".encode()), "illegal_move"),
    "a refusal": (_text(b"?", b"I will not"), "refused"),
    "silence": (lambda answer: [], "stalled"),
    "half an answer": (lambda answer: [answer[:-1]], "stalled"),
    "end of its output": (lambda answer: [b""], "disconnected"),
    "another id": (lambda answer: [b"=999 A1\n\n"], "protocol_error"),
    "junk": (lambda answer: [b"junk\n" * 300], "protocol_error"),
    "two megabytes": (_text(b"=", b"A" * 2_000_000), "protocol_error"),
    "20,000 lines": (_text(b"=", b"A\n" * 20_000), "protocol_error"),
}
OUT_OF_TURN: dict[str, tuple[Act, str]] = {
    "one answer more": (lambda answer: [answer + b"= \n\n"], "protocol_error"),
    "one answer more, later": (lambda answer: [answer, b"= \n\n"], "protocol_error"),
    "an answer with an id that may come": (lambda answer: [answer + b"=9 pass\n\n"], "protocol_error"),
    "an answer that has just begun": (lambda answer: [answer + b"="], "protocol_error"),
    "junk after its move": (lambda answer: [answer + b"junk\n" * 300], "protocol_error"),
    "blank lines without end": (lambda answer: [answer + b"\n" * 20_000], "protocol_error"),
    "end of its output after its move": (lambda answer: [answer, b""], "disconnected"),
}


def _play(cheat: int, act: Act, at: int = 2) -> MemoryMatch:
    """A game in which the bot of this seat cheats."""
    match = MemoryMatch(GAME, bot(MOVES[0]), bot(MOVES[1]))
    match.peers[cheat - 1] = Cheat(cheat, act, at)
    return match.run()


@pytest.mark.parametrize("words", [*IN_TURN, *OUT_OF_TURN])
def test_a_fault_from_ply_2_on_is_worth_no_more_than_losing(words: str) -> None:
    """Two games with seats exchanged: each honest twin wins as White. The cheat is at fault where it is losing."""
    act, termination = (IN_TURN | OUT_OF_TURN)[words]
    as_black = _play(1, act).outcome
    assert (as_black.termination, as_black.result[:2], as_black.winner) == (termination, "W+", 2)
    assert as_black.culprit == "seat1" and not as_black.void
    as_white = _play(2, act).outcome  # and it gains nothing where it is winning, either
    assert as_white.winner == 1 or as_white.termination == Termination.RULES


@pytest.mark.parametrize("words", OUT_OF_TURN)
def test_before_ply_2_a_fault_out_of_turn_is_void(words: str) -> None:
    outcome = _play(1, OUT_OF_TURN[words][0], at=1).outcome
    if words == "one answer more, later":  # it is read in its own turn
        assert (outcome.termination, outcome.winner) == (Termination.PROTOCOL_ERROR, 2)
    else:
        assert outcome.void and outcome.culprit == "seat1"


def test_plies_of_an_opening_are_not_counted_as_played() -> None:
    match = MemoryMatch("go size=3", bot(["A1"]), bot(["B1"]), opening=("A3", "B3", "C3"))
    match.peers[1] = Cheat(2, lambda answer: [answer, b""], 1)  # the seat that acts first after three plies
    assert match.run().outcome.void


@pytest.mark.parametrize("stone", ["A3", "B3"])
def test_a_bot_that_plays_on_to_the_limit_gets_the_score_of_the_position(stone: str) -> None:
    black = [*MOVES[0][:2], stone]
    outcome = MemoryMatch(GAME, bot(black), bot([*MOVES[1][:2], "B2"]), max_plies=5).run().outcome
    assert (outcome.termination, outcome.winner, outcome.result[:2]) == (Termination.PLY_LIMIT, 2, "W+")


# -- over pipes ------------------------------------------------------------------------------------------------------

PIPED = """
import signal
from pathlib import Path
moves, left = {moves!r}, []
while True:
    line = ask()
    if line == 'list_commands': say('ggp-new play genmove name version quit')
    elif line.startswith('ggp-new'): left = []; say()
    elif line.startswith('genmove'):
        left = left or list(moves[line.split()[1]])
        move = left.pop(0)
        if line == 'genmove black' and move == {moment!r}: {before}
        say(move)
        if line == 'genmove black' and move == {moment!r}: {after}
    else: say()
"""
END_ENGINE = (
    "[os.kill(int(pid), signal.SIGKILL) for task in Path(f'/proc/{os.getppid()}/task').iterdir()"
    " for pid in (task / 'children').read_text().split() "
    "if int(pid) != os.getpid() and b'engines' in Path(f'/proc/{pid}/cmdline').read_bytes()]"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "faults"),
    [
        ("pass", "pass", 0),
        ("pass", "print('= ', end='\\n\\n', flush=True)", 2),
        ("pass", "sys.exit(0)", 2),
        ("pass", "os.kill(os.getpid(), signal.SIGSEGV)", 2),
        ("pass", "os.close(1)", 2),
        ("pass", "sys.stderr.write('x' * 5_000_000)", 0),
        (END_ENGINE, "pass", 0),
    ],
    ids=["honest", "one answer more", "exit", "signal", "closed output", "flood on stderr", "ended the engine"],
)
def test_a_cheat_scores_against_its_honest_twin_what_it_would_honestly(before: str, after: str, faults: int) -> None:
    """Four games, seats exchanged; White wins each. The cheat acts in the middle of those in which it is Black."""
    moves = {"black": MOVES[0], "white": MOVES[1]}
    text, honest = (
        PIPED.format(moves=moves, moment="A2", before=one, after=two)
        for one, two in ((before, after), ("pass", "pass"))
    )
    came = play(make_setup("go,size=3,komi=9.5", script(text, "cheat"), script(honest, "twin")), (0, 1, 2, 3))
    assert came.suspended is None
    assert [(match.result[:2], match.winner) for match in came.played] == [("W+", 1), ("W+", 0)] * 2
    assert [match.culprit for match in came.played].count("cheat") == faults, came.played


# -- matches that were interrupted -----------------------------------------------------------------------------------


def _past(plies: int) -> Sequence[MovePlayed]:
    return MemoryMatch(GAME, bot(MOVES[0]), bot(MOVES[1])).run().record.plies[:plies]


def _go_on(seat: int, peer: Responder | MemoryPeer, plies: int = 4) -> MemoryMatch:
    rest = [bot(moves[2:]) for moves in MOVES]
    match = MemoryMatch(GAME, rest[0], rest[1], past=_past(plies))
    match.peers[seat - 1] = peer if isinstance(peer, MemoryPeer) else MemoryPeer(peer, PeerRole.BOT)
    return match.run()


def test_a_match_that_was_interrupted_goes_on() -> None:
    match = _go_on(1, bot(["pass"]))
    assert (match.outcome.termination, match.outcome.winner) == (Termination.RULES, 2)
    assert [ply.move for ply in match.record.plies] == ["A1", "C1", "A2", "C2", "pass", "pass"]


@pytest.mark.parametrize("seat", [1, 2])
def test_a_bot_that_refuses_to_go_on_with_an_interrupted_match_loses_it(seat: int) -> None:
    outcome = _go_on(seat, bot(["pass"], ggp_new=refuse)).outcome
    assert (outcome.termination, outcome.winner) == (Termination.REFUSED, 3 - seat)
    assert outcome.result == ("W+F" if seat == 1 else "B+F") and "refuses to continue" in outcome.detail


@pytest.mark.parametrize("seat", [1, 2])
def test_a_bot_that_ends_when_an_interrupted_match_is_set_up_loses_it(seat: int) -> None:
    class Ends(MemoryPeer):
        def exited(self, wait: float = 0) -> str:
            return "exit status 0" if b"ggp-new" in self.memory.written else ""

    peer = Ends(bot(["pass"]), PeerRole.BOT)
    honest = peer.memory.answer
    peer.memory.answer = lambda data: [b""] if b"ggp-new" in data else honest(data)
    outcome = _go_on(seat, peer).outcome
    assert (outcome.termination, outcome.winner) == (Termination.DISCONNECTED, 3 - seat)


def test_an_interrupted_match_that_had_hardly_begun_may_be_refused_as_any_other() -> None:
    with pytest.raises(CannotStart):
        _go_on(1, bot([], ggp_new=refuse), plies=1)


def test_a_swap_does_not_confuse_who_loses_an_interrupted_match() -> None:
    begun = MemoryMatch("laido size=5", bot(["C3"]), bot(["swap-sides"]), max_plies=2).run()
    assert begun.record.plies[1].move == "swap-sides"
    lost = MemoryMatch("laido size=5", bot(["resign"]), bot([]), past=begun.record.plies).run().outcome
    assert (lost.result, lost.winner) == ("B+R", 2)  # seat 2 took Black


# -- engines ---------------------------------------------------------------------------------------------------------


@dataclass
class Fragile:
    """An engine process that ends at these moves; `engines` were started."""

    moves: Sequence[str] = ()
    dies_after: int = 10**6  # that many plies, but the first engine only
    every_time: bool = False  # ends at each ply that is new, and at the first question for the score
    dies_at: bytes = b"\0"  # the first engine, at a command that holds this
    engines: int = 0
    _plies: int = 0  # that were played so far

    def peer(self) -> MemoryPeer:
        self.engines += 1
        first, plies = self.engines == 1, 0
        peer = MemoryPeer(Responder("ggp-engine", "1", engine_handlers(Session(Registry()))), PeerRole.ENGINE)
        honest = peer.memory.answer

        def answer(data: bytes) -> list[bytes]:
            nonlocal plies
            plies += b"ggp-play" in data
            falls = any(f" {move}\n".encode() in data for move in self.moves)
            if self.every_time and plies > self._plies:
                self._plies, falls = plies, True
            falls = falls or (first and (plies > self.dies_after or self.dies_at in data))
            return [b""] if falls else honest(data)

        peer.memory.answer = answer
        return peer


def _with_engine(fragile: Fragile, *moves: Sequence[str]) -> MemoryMatch:
    return MemoryMatch(GAME, bot(moves[0]), bot(moves[1]), engines=fragile.peer).run()


def test_a_word_that_brings_the_engine_down_is_an_illegal_move() -> None:
    match = _with_engine(Fragile(["%n%n%n"]), ["A1", "%n%n%n"], MOVES[1])
    assert (match.outcome.termination, match.outcome.result) == (Termination.ILLEGAL_MOVE, "W+F")
    assert "the engine failed on it" in match.outcome.detail


def test_a_match_goes_on_with_another_engine_when_its_engine_ends() -> None:
    """A bot may end the process of an engine; that is no way out of a lost game."""
    match = _with_engine(Fragile(dies_after=3), *MOVES)
    assert (match.outcome.termination, match.outcome.result) == (Termination.RULES, "W+9.5")
    assert match.record.end is not None
    assert [text.partition(":")[0] for text in match.record.end.warnings] == ["the engine was replaced at ply 4"]


def test_a_match_goes_on_however_often_its_engine_ends() -> None:
    match = _with_engine(fragile := Fragile(every_time=True), *MOVES)
    assert (match.outcome.termination, match.outcome.result) == (Termination.RULES, "W+9.5")
    assert fragile.engines == 1 + len(match.record.plies)


def test_an_interrupted_match_goes_on_where_its_engine_ends_as_it_is_set_up() -> None:
    for fragile in (Fragile(dies_at=b"ggp-new"), Fragile(dies_after=2)):
        rest = [bot(moves[2:]) for moves in MOVES]
        match = MemoryMatch(GAME, rest[0], rest[1], past=_past(4), engines=fragile.peer).run()
        assert (match.outcome.termination, match.outcome.result, fragile.engines) == (Termination.RULES, "W+9.5", 2)


def test_an_engine_that_ends_at_the_limit_on_plies_leaves_no_way_out() -> None:
    peers = Fragile(dies_at=b"ggp-score")
    outcome = MemoryMatch(GAME, bot(MOVES[0]), bot(MOVES[1]), max_plies=4, engines=peers.peer).run().outcome
    assert (outcome.termination, outcome.winner, peers.engines) == (Termination.PLY_LIMIT, 2, 2)


def test_an_engine_that_ends_after_the_game_leaves_its_result() -> None:
    match = _with_engine(Fragile(["x"], dies_after=10**6), *MOVES)
    assert match.outcome.result == "W+9.5"
    handlers = engine_handlers(Session(Registry()))
    del handlers["ggp-hash"]
    peer = MemoryPeer(Responder("e", "1", handlers), PeerRole.ENGINE)
    honest = peer.memory.answer
    peer.memory.answer = lambda data: [b""] if b"ggp-score" in data else honest(data)
    end = MemoryMatch(GAME, bot(MOVES[0]), bot(MOVES[1]), engines=lambda: peer).run().record.end
    assert end is not None and (end.result, end.termination) == ("W+9.5", "rules")
    assert [text.partition(":")[0] for text in end.warnings] == ["the final hash and score are missing"]


def test_an_engine_that_fails_at_a_legal_move_again_and_again_makes_the_match_void() -> None:
    fragile = Fragile(["A2"])
    outcome = _with_engine(fragile, *MOVES).outcome
    assert outcome.void and (outcome.termination, outcome.culprit) == (Termination.ENGINE_FAILED, "engine")
    assert fragile.engines == 2


def test_a_bot_with_an_enormous_name_is_recorded_all_the_same() -> None:
    """Its record would be longer than a line of a record may be, and could not be written."""
    moves = iter(MOVES[0])
    quiet: dict[str, Handler] = {name: lambda arguments: "" for name in ("ggp-new", "play")}
    named = Responder("n" * 900_000, "v" * 900_000, {**quiet, "genmove": lambda arguments: next(moves)})
    match = MemoryMatch(GAME, named, bot(MOVES[1])).run()
    assert match.outcome.result == "W+9.5" and match.record.start.bots[0].program == "n" * 200


# -- how often -------------------------------------------------------------------------------------------------------

WON = GameResult(0, "s-1", "B+1", 0, "", "rules", "", 9, (1, 1), False)
VOID = replace(WON, result="", winner=-1, culprit="cheat", termination="disconnected", detail="gone", plies=1)


def _counted(games: Sequence[GameResult]) -> SeriesTally:
    tally = SeriesTally()
    for game in games:
        tally.add(game)
    return tally


def test_void_games_are_counted_over_the_last_hundred_not_in_a_row() -> None:
    tally = _counted(([WON] * 10 + [VOID]) * REPLAYS)
    assert tally.suspended is None
    tally.add(WON)
    tally.add(VOID)
    assert tally.suspended == ("cheat", "made 4 of its last 100 games void, last: disconnected: gone")
    assert _counted(([VOID] + [WON] * (WINDOW // REPLAYS)) * 20).suspended is None
    assert _counted([replace(VOID, culprit="engine")] * 10).suspended is None
    assert _counted([replace(VOID, culprit="", termination="ply_limit")] * 10).suspended is None


def test_beginning_a_series_again_starts_the_count_again() -> None:
    tally = _counted([VOID] * 4)
    tally.forget_voids()
    assert tally.suspended is None and tally.void == 4
    for _ in range(REPLAYS):
        tally.add(VOID)
    assert tally.suspended is None


def test_the_record_says_whose_fault_it_was() -> None:
    record = _play(1, OUT_OF_TURN["one answer more"][0]).record
    assert isinstance(record, Record) and record.end is not None
    assert (record.end.termination, record.end.result, record.end.winner) == ("protocol_error", "W+F", 2)
    assert record.end.diagnostics is not None and record.end.diagnostics.dialogue
