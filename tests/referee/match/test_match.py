"""The life of a match: what each side is sent and when, what is recorded, who drives the coroutine."""

import asyncio

import pytest

from ggp.engines.registry import Registry
from ggp.engines.service import engine_handlers
from ggp.engines.session import Session
from ggp.protocol.channel import Transport
from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import Handler, Responder
from ggp.referee.match.engine import GameRefused, parse_status
from ggp.referee.match.outcome import CannotStart, EngineFailed, Termination
from tests.support.codes import raises
from tests.support.memory_match import MemoryMatch, bot, plain

SMALL = "go size=2 komi=0.5"


def small(*more: str, **peers: object) -> MemoryMatch:
    return MemoryMatch(SMALL, bot(["A1", "pass"]), bot(["b2", "PASS"]), **peers)  # type: ignore[arg-type]


def test_a_match_from_start_to_end() -> None:
    played = small().run()
    assert played.outcome.termination is Termination.RULES
    assert (played.outcome.result, played.outcome.winner) == ("W+0.5", 2)
    assert played.moves == ["1 black A1", "2 white B2", "1 black pass", "2 white pass"]
    record = played.record
    assert (record.start.game, record.start.options) == ("go", {"size": "2", "komi": "0.5"})
    assert [party.program for party in (*record.start.bots, record.start.engine)] == [
        "scripted",
        "scripted",
        "ggp-engine",
    ]
    assert [ply.left for ply in record.plies] == [10_000] * 4
    assert record.end is not None and record.end.plies == 4 and len(record.end.hash) == 16
    assert '"final": true' in record.end.score and record.end.diagnostics is None


def test_a_bot_is_sent_the_others_moves_with_its_next_question_and_never_its_own() -> None:
    one, two = small().run().peers
    assert [line for line in one.lines if "move" in line or "play" in line] == [
        *("genmove black", "play white B2", "genmove black"),
    ]
    assert [line for line in two.lines if "move" in line or "play" in line] == [
        *("play black A1", "genmove white", "play black pass", "genmove white"),
    ]


def test_the_engine_is_asked_once_a_ply() -> None:
    lines = small().run().engine.lines
    assert lines[lines.index("ggp-new go size=2 komi=0.5") + 1 :] == [
        *("ggp-play black A1", "ggp-play white b2", "ggp-play black pass", "ggp-play white PASS"),
        *("ggp-hash", "ggp-score"),
    ]


def test_the_plies_of_an_opening_are_no_bots_choice_and_both_are_reported() -> None:
    played = MemoryMatch(SMALL, bot(["pass"]), bot(["pass"]), opening=("A1", "B2")).run()
    assert played.moves == ["1 black A1", "2 white B2", "1 black pass", "2 white pass"]
    assert played.record.start.opening == ("A1", "B2")
    one, two = ([line for line in peer.lines if line.startswith("play")] for peer in played.peers)
    assert one == ["play black A1", "play white B2"]
    assert two == ["play black A1", "play white B2", "play black pass"]


def test_handicap_plies_are_several_turns_of_one_side() -> None:
    played = MemoryMatch("yugo size=3 handicap=2", bot(["A1", "B3", "resign"]), bot(["C3"])).run()
    assert played.moves == ["1 black A1", "1 black B3", "2 white C3"]
    assert played.outcome.result == "W+R"
    assert [line for line in played.peers[1].lines if line.startswith("play")] == ["play black A1", "play black B3"]


def test_clocks_and_results_are_sent_to_who_asks_for_them() -> None:
    told: list[str] = []

    def note(name: str) -> Handler:
        def handler(arguments: list[str]) -> str:
            told.append(" ".join([name, *arguments]))
            return ""

        return handler

    curious = bot(["A1", "pass"], ggp_clock=note("ggp-clock"), ggp_result=note("ggp-result"))
    MemoryMatch(SMALL, curious, bot(["B2", "pass"]), time="10+1").run()
    assert told == [
        "ggp-clock black=10000 white=10000 increment=1000",
        "ggp-clock black=11000 white=11000 increment=1000",
        "ggp-result W+0.5",
    ]


def test_analysis_goes_into_the_record() -> None:
    thinker = bot([], **{"ggp-genmove_analyze": lambda arguments: 'A1\n{"winrate": 0.5}'})
    played = MemoryMatch(SMALL, thinker, bot(["resign"])).run()
    assert played.record.plies[0].analysis == '{"winrate": 0.5}'
    assert played.outcome.result == "B+R"


def test_a_tab_beside_an_analysed_move_is_forgiven() -> None:
    thinker = bot([], **{"ggp-genmove_analyze": lambda arguments: 'A1 \t\n{"winrate": 0.5}'})
    played = MemoryMatch(SMALL, thinker, bot(["resign"])).run()
    assert played.moves == ["1 black A1"] and played.record.plies[0].analysis == '{"winrate": 0.5}'


@pytest.mark.parametrize("kind", ["resignation", "refused"])
def test_the_analysis_of_an_answer_that_ends_the_match_is_kept_with_its_end(kind: str) -> None:
    def genmove(arguments: list[str]) -> str:
        if kind == "resignation":
            return 'resign\n{"winrate": 0.01}'
        raise CommandFailed('three answers named no move\n{"winrate": 0.01}')

    played = MemoryMatch(SMALL, bot([], **{"ggp-genmove_analyze": genmove}), bot([])).run()
    end = played.record.end
    assert end is not None and end.termination == kind and end.analysis == '{"winrate": 0.01}'
    refused = "answers `genmove` with `? three answers named no move`: answer with a move or `resign`"
    assert end.detail == ("" if kind == "resignation" else refused)


def test_a_plain_bot_is_set_up_as_gtp_says() -> None:
    done: Handler = lambda arguments: ""  # noqa: E731
    one = plain(["pass"], time_settings=done, time_left=done, fixed_handicap=done)
    two = plain(["pass"], fixed_handicap=done)
    timed, untimed = MemoryMatch("go size=9 komi=0.5 handicap=2", one, two, time="9.5").run().peers
    setup = ["boardsize 9", "clear_board", "komi 0.5", "fixed_handicap 2"]
    assert timed.lines[4:] == [*setup, "time_settings 9 0 0", "play white pass", "time_left black 9 0", "genmove black"]
    assert untimed.lines[4:] == [*setup, "genmove white"]


def test_the_rules_are_sent_to_a_plain_bot_that_can_be_told() -> None:
    """Before all else, because rules may bring a komi of their own; a bot may refuse, and the record says so."""
    done: Handler = lambda arguments: ""  # noqa: E731
    kata = plain(["pass"], **{"kata-set-rules": done, "kgs-rules": done})
    kgs = plain(["pass"], **{"kgs-rules": refuse})
    match = MemoryMatch("go size=9 ko=situational", kata, kgs).run()
    one, two = match.peers
    rules = (
        '{"ko":"SITUATIONAL","scoring":"AREA","tax":"NONE","suicide":false,"hasButton":false,"whiteHandicapBonus":"0"}'
    )
    assert one.lines[4:6] == [f"kata-set-rules {rules}", "boardsize 9"]
    assert two.lines[4:6] == ["kgs-rules chinese", "boardsize 9"] and match.outcome.result
    assert match.record.end and match.record.end.warnings == ("seat2: answers `kgs-rules chinese` with `? not these`",)


def refuse(arguments: list[str]) -> str:
    raise CommandFailed("not these")


def test_periods_are_sent_to_plain_bots_in_words_they_know() -> None:
    done: Handler = lambda arguments: ""  # noqa: E731
    canadian = plain(["pass"], time_settings=done, time_left=done)
    japanese = plain(["pass"], time_left=done, **{"kgs-time_settings": done})
    one, two = MemoryMatch("go size=9", canadian, japanese, time="5x30").run().peers
    assert [line for line in one.lines if "time_" in line] == ["time_settings 0 30 1", "time_left black 30 1"]
    spoken = ["kgs-time_settings byoyomi 0 30 5", "time_left white 30 5"]
    assert [line for line in two.lines if "time_" in line] == spoken


def placing(listed: str, answer: str = "") -> Responder:
    return plain(["pass"], **dict.fromkeys(listed.split(), lambda arguments: answer))


@pytest.mark.parametrize(
    ("listed", "sent"),
    [
        ("fixed_handicap set_free_handicap place_free_handicap", ["fixed_handicap 3"]),
        ("set_free_handicap place_free_handicap", ["set_free_handicap C3 G7 C7"]),
        ("place_free_handicap", ["play black C3", "play black G7", "play black C7"]),
    ],
)
def test_handicap_stones_are_placed_as_the_bot_can_be_told_and_white_begins(listed: str, sent: list[str]) -> None:
    match = MemoryMatch("go size=9 komi=0.5 handicap=3", placing(listed), placing(listed)).run()
    black, white = ([line for line in peer.lines if line not in ("boardsize 9", "clear_board")] for peer in match.peers)
    assert white[4:] == ["komi 0.5", *sent, "genmove white"]
    assert black[4:] == ["komi 0.5", *sent, "play white pass", "genmove black"]
    assert match.moves == ["2 white pass", "1 black pass"] and match.outcome.result == "B+80.5"


@pytest.mark.parametrize("answer", ["G7 C3", "c3 g7", "C3\tG7", ""])
def test_fixed_handicap_may_answer_its_points_in_any_order_or_not_at_all(answer: str) -> None:
    sloppy = placing("fixed_handicap", answer)
    assert MemoryMatch("go size=9 handicap=2", sloppy, placing("")).run().outcome.result == "B+73.5"


@pytest.mark.parametrize("answer", ["C7 G3", "C3", "C3 G7 E5", "D4 G7"])
def test_a_bot_that_places_other_stones_than_gtp_says_does_not_start(answer: str) -> None:
    with pytest.raises(CannotStart, match=rf"answers `fixed_handicap 2` with {answer}, instead of C3 G7"):
        MemoryMatch("go size=9 handicap=2", placing("fixed_handicap", answer), placing("")).run()


def test_a_bot_that_refuses_handicap_stones_does_not_start() -> None:
    for listed, sent in (("fixed_handicap", "fixed_handicap 2"), ("set_free_handicap", "set_free_handicap C3 G7")):
        with pytest.raises(CannotStart, match=f"answers `{sent}` with `\\? not these`"):
            MemoryMatch("go size=9 handicap=2", plain([], **{listed: refuse}), placing("")).run()


def test_another_engines_handicap_that_gtp_does_not_know_is_not_played_by_plain_bots() -> None:
    answers = {"ggp-new": "phase=play to_play=white seat=2 ply=0"}
    names = ("ggp-games", "ggp-options", "ggp-legal_moves", "ggp-new", "ggp-play")
    for words in ("handicap=10", "handicap=some", "handicap=2 size=5", "handicap=2 size=99"):
        engine = Responder("own go", "1", {name: lambda arguments, name=name: answers.get(name, "") for name in names})  # type: ignore[misc]
        with raises(CannotStart, "no-handicap"):
            MemoryMatch(f"go {words}", placing(""), placing(""), engine=engine).run()


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        ("A1 B2", "unreadable move 'A1 B2'"),
        ("A1\nB2", "unreadable move"),
        ("", "unreadable move ''"),
        ("#", "unreadable move '#'"),
        ("é", "illegal move"),
        ("x" * 10_000, "unreadable move 'xxx"),
        ("D4", "illegal move"),
    ],
)
def test_what_cannot_be_a_move_loses_with_the_reason(answer: str, detail: str) -> None:
    outcome = MemoryMatch(SMALL, bot([answer]), bot([])).run().outcome
    assert (outcome.termination, outcome.result, outcome.culprit) == (Termination.ILLEGAL_MOVE, "W+F", "seat1")
    assert detail in outcome.detail and len(outcome.detail) < 300


def test_letters_of_results_follow_the_colours_not_the_seats() -> None:
    swapping = _swapping_engine()
    played = MemoryMatch("swap", bot(["A1", "resign"]), bot(["swap-sides"]), engine=swapping).run()
    assert played.moves == ["1 black A1", "2 white swap-sides"]
    assert "play white swap-sides" in played.peers[0].lines and "genmove white" in played.peers[0].lines
    assert (played.outcome.result, played.outcome.winner) == ("B+R", 2)  # seat 1 had become white
    assert played.record.end is not None and played.record.end.hash == ""


def _swapping_engine() -> Responder:
    """A pie opening, and no optional command."""
    answers = iter(
        [
            "phase=play to_play=black seat=1 ply=0",
            "move=A1 phase=play to_play=white seat=2 ply=1",
            "move=swap-sides phase=play to_play=white seat=1 ply=2 extra=ignored",
        ]
    )
    names = ("ggp-games", "ggp-options", "ggp-legal_moves", "ggp-new", "ggp-play")
    return Responder("swapper", "1", {name: lambda arguments: next(answers) for name in names})


def test_the_engine_must_not_contradict_itself() -> None:
    answers = iter(["phase=play to_play=black seat=1 ply=0", "move=A1 phase=play to_play=white seat=2 ply=2"])
    names = ("ggp-games", "ggp-options", "ggp-legal_moves", "ggp-new", "ggp-play")
    engine = Responder("liar", "1", {name: lambda arguments: next(answers) for name in names})
    outcome = MemoryMatch("any", bot(["A1"]), bot([]), engine=engine).run().outcome
    assert (outcome.termination, outcome.result, outcome.culprit) == (Termination.ENGINE_FAILED, "", "engine")
    assert "2 plies after 1 were played" in outcome.detail


@pytest.mark.parametrize("text", ["", "phase=play", "phase=play to_play=black seat=one ply=0", "nonsense"])
def test_a_status_line_that_is_none_is_the_engines_fault(text: str) -> None:
    with pytest.raises(EngineFailed):
        parse_status(text)


def test_an_engine_without_what_the_referee_needs_is_refused() -> None:
    with raises(EngineFailed, "lacks-commands") as lacks:
        MemoryMatch(SMALL, bot([]), bot([]), engine=bot([], **dict.fromkeys((), str))).run()
    assert "ggp-games, ggp-options, ggp-play, ggp-legal_moves" in str(lacks.value)


def test_a_game_that_the_engine_refuses_is_no_match() -> None:
    played = MemoryMatch("go size=99", bot([]), bot([]))
    with raises(GameRefused, "game-refused"):
        played.run()
    assert played.lines == []


def test_an_engine_that_answers_a_move_with_another_error_has_failed() -> None:
    def confused(arguments: list[str]) -> str:
        raise CommandFailed("internal error: out of cheese")

    handlers = {**engine_handlers(Session(Registry())), "ggp-play": confused}
    outcome = MemoryMatch(SMALL, bot(["A1"]), bot([]), engine=Responder("e", "1", handlers)).run().outcome
    assert outcome.termination is Termination.ENGINE_FAILED and "out of cheese" in outcome.detail


def test_a_match_that_is_too_long_is_scored_as_it_stands() -> None:
    for komi, result, winner in (("4.5", "W+0.5", 2), ("0.5", "B+3.5", 1), ("4", "0", 0)):
        played = MemoryMatch(f"go size=2 komi={komi}", bot(["A1", "B1"]), bot(["pass"]), max_plies=3).run()
        outcome = played.outcome
        assert (outcome.termination, outcome.result, outcome.winner) == (Termination.PLY_LIMIT, result, winner)
        assert played.record.end is not None and played.record.end.plies == 3


def _answering(text: str) -> Handler:
    return lambda arguments: text


def test_a_match_that_is_too_long_is_void_where_the_engine_has_no_score() -> None:
    """A seat without ggp-score, or a score without totals."""
    for answer in ("", '{"black": {"total": null}, "white": {"total": null}, "final": false}'):
        handlers = {**engine_handlers(Session(Registry())), "ggp-score": _answering(answer)}
        if not answer:
            del handlers["ggp-score"]
        outcome = small(max_plies=3, engine=Responder("e", "1", handlers)).run().outcome
        assert (outcome.termination, outcome.void) == (Termination.PLY_LIMIT, True)
        assert outcome.detail.endswith("; the engine has no score for the position")


class Suspending:
    """A transport that gives way to others before it answers, as sockets under asyncio do."""

    def __init__(self, inner: Transport) -> None:
        self.inner, self.now, self.close = inner, inner.now, inner.close

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        await asyncio.sleep(0)
        await self.inner.write(data, deadline)

    async def read(self, deadline: float) -> bytes:
        await asyncio.sleep(0)
        return await self.inner.read(deadline)


async def test_the_same_coroutine_runs_under_asyncio() -> None:
    matches = [small(wrap=Suspending) for _ in range(3)]
    outcomes = await asyncio.gather(*(match.play() for match in matches))
    assert [outcome.result for outcome in outcomes] == ["W+0.5"] * 3
