"""A workbench along records of every game, on engines with and without some commands; a match that grows; places."""

from collections.abc import Callable
from pathlib import Path

import click
import msgspec
import pytest

from ggp.engines.registry import Registry
from ggp.engines.service import engine_handlers
from ggp.engines.session import Session
from ggp.protocol.errors import CommandFailed
from ggp.protocol.messages import Reply
from ggp.protocol.records import MatchEnded, MatchStarted, MovePlayed, Party, Record
from ggp.referee.match.analysis import line_of
from ggp.referee.match.record_file import RecordWriter
from ggp.referee.match.resume import SideFile
from ggp.referee.tools.archive.places import is_ladder, open_match
from ggp.referee.tools.console import match as travel
from ggp.referee.tools.console.cursor import Cursor
from ggp.referee.tools.console.own_commands import OwnFailed
from tests.support.codes import raises
from tests.support.memory_console import memory_console, typed


class ReplaySession:
    """Our engine in this process, as far as it is not to lack commands; every line it was asked."""

    def __init__(self, *lacks: str) -> None:
        self.asked: list[str] = []
        self._lacks = lacks
        self.restart()

    def restart(self) -> None:
        handlers = engine_handlers(Session(Registry()))
        self._handlers = {name: row for name, row in handlers.items() if name not in self._lacks}

    def ask(self, line: str) -> Reply:
        self.asked.append(line)
        name, *words = line.split()
        try:
            return (
                Reply(True, self._handlers[name](words)) if name in self._handlers else Reply(False, "unknown command")
            )
        except CommandFailed as failure:
            return Reply(False, str(failure))


def record(game: str, moves: str, ended: bool = True, match: str = "m-1") -> Record:
    """A match of these moves, as our engine names seats and colours."""
    name, *words = game.split()
    session = ReplaySession()
    status = session.ask(f"ggp-new {game}").text
    plies = []
    for number, move in enumerate(moves.split(), 1):
        keys = dict(word.split("=") for word in status.split() if "=" in word)
        reply = session.ask(f"ggp-play {keys['to_play']} {move}")
        assert reply.ok, reply.text
        canonical, _, status = reply.text.partition(" ")
        plies.append(MovePlayed(number, match, number, int(keys["seat"]), keys["to_play"], canonical[5:], 7, 1000))
    start = MatchStarted(
        match=match,
        game=name,
        options=dict(word.split("=") for word in words),
        bots=(Party(name="one", command="random"), Party(name="two", command="random")),
        engine=Party(name="engine"),
        control="10",
    )
    keys = dict(word.split("=") for word in status.split())
    result, winner = keys.get("result", "W+R"), int(keys.get("winner", "2"))
    end = MatchEnded(
        seq=len(plies) + 1, match=match, result=result, winner=winner, termination="rules", plies=len(plies)
    )
    return Record(start, tuple(plies), end if ended else None)


MATCHES = [
    record("yugo size=3", "A1 B2 button C3 pass pass"),
    record("go size=3 agreement=on", "A1 B2 pass pass dead: dead:"),
    record("laido size=3", "B2 swap-sides B3"),
    record("stigmergy size=3", "bid:3 swap-sides"),
    record("stigmergy size=3", "bid:3 keep-sides"),
]


@pytest.mark.parametrize("match", MATCHES, ids=lambda match: match.start.game + " " + match.plies[1].move)
@pytest.mark.parametrize("lacks", [(), ("ggp-undo",), ("ggp-undo", "ggp-history", "ggp-scene")], ids=str)
def test_every_ply_from_every_other(match: Record, lacks: tuple[str, ...]) -> None:
    session, whole = ReplaySession(*lacks), ReplaySession()
    cursor, count = Cursor(record=match, ask=session.ask), len(match.plies)
    expected = []
    for number in range(count + 1):
        ply = match.plies[number - 1]
        whole.ask(f"ggp-play {ply.colour} {ply.move}" if number else cursor.tree.new_game)
        expected.append(whole.ask("ggp-hash").text)
    for ply in [*range(count, -1, -1), *range(count + 1), 0, -1, 1]:
        status = cursor.goto(ply)
        assert status.ply == (ply if ply >= 0 else count) and session.ask("ggp-hash").text == expected[ply]
        assert cursor.caption().startswith(f"ply {status.ply} of {count}")
    cursor.goto(count)
    assert cursor.back(2).ply == count - 2 and cursor.forward(99).ply == count
    for wrong in (count + 1, -count - 2):
        with raises(OwnFailed, "no-ply"):
            cursor.goto(wrong)
    for move, code in ((cursor.back, "no-ply"), (cursor.forward, "last-ply")):
        with raises(OwnFailed, code):
            move(count + 1)


def test_an_engine_with_undo_does_not_replay() -> None:
    session = ReplaySession()
    cursor = Cursor(session.ask, record=MATCHES[0])
    cursor.goto(6)
    session.asked.clear()
    cursor.back(1)
    assert "ggp-undo 1" in session.asked and not [
        line for line in session.asked if line.startswith(("ggp-new", "ggp-play"))
    ]


def test_tried_moves_are_a_variation() -> None:
    session = ReplaySession()
    cursor = Cursor(session.ask, record=MATCHES[0])
    cursor.goto(2)
    session.ask("ggp-play black C1")
    session.ask("ggp-play white C2")
    at = cursor.here()
    assert (at.name, at.match_ply, [node.move for node in at.path]) == ("4a", 2, ["A1", "B2", "C1", "C2"])
    assert (cursor.here().colour, cursor.here().move) == ("white", "C2")
    assert cursor.caption() == "ply 4a, which leaves ply 2 of 6: white C2"
    with raises(OwnFailed, "last-ply"):
        cursor.forward(1)
    assert cursor.back(1).ply == 3 and cursor.here().name == "3a"
    assert cursor.forward(5).ply == 4 and cursor.back(2).ply == 2
    assert cursor.goto(3).ply == 3 and cursor.here().recorded and cursor.goto("a").ply == 4
    assert cursor.record == MATCHES[0]


@pytest.mark.parametrize("line", ["ggp-new go size=3", "ggp-new yugo size=5", "clear_board"])
def test_another_game_on_the_engine(line: str) -> None:
    session = ReplaySession()
    cursor = Cursor(session.ask, record=MATCHES[0])
    if line.startswith("ggp-new go"):  # before the cursor began, too
        session.ask(line)
        assert cursor.where() is None
    cursor.goto(3)
    session.ask(line)
    if line != "clear_board":
        assert "another game" in cursor.caption()
        for step in (cursor.back, cursor.forward):
            with raises(OwnFailed, "another-game"):
                step(1)
    assert cursor.goto(2).ply == 2 and cursor.here().name == "2"


def test_a_restarted_engine() -> None:
    session = ReplaySession()
    cursor = Cursor(session.ask, record=MATCHES[0])
    cursor.goto(3)
    session.restart()
    assert cursor.where() is None
    assert cursor.goto(3).ply == 3


def test_an_engine_that_refuses_the_record() -> None:
    session = ReplaySession()
    match = record("go size=3", "A1 B2")
    other = Record(match.start, (match.plies[0],) * 2, None)
    with raises(OwnFailed, "ply-refused") as refused:
        Cursor(record=other, ask=session.ask).goto(2)
    assert "ply 2, white A1" in str(refused.value)
    with raises(OwnFailed, "engine-refused"):
        Cursor(record=other, ask=ReplaySession("ggp-new").ask).goto(1)
    with raises(OwnFailed, "engine-failed"):
        Cursor(record=other, ask=lambda line: Reply(True, "what")).goto(1)


@pytest.mark.parametrize("lacks", [(), ("ggp-legal",), ("ggp-legal", "ggp-undo")], ids=str)
def test_why(lacks: tuple[str, ...]) -> None:
    session = ReplaySession(*lacks)
    cursor = Cursor(session.ask, record=MATCHES[0])
    cursor.goto(2)
    assert "occupied" in cursor.why("A1") and cursor.why("C1") == ""
    assert [node.move for node in cursor.here().path] == ["A1", "B2"] and cursor.tree.variations == []


def test_the_commands() -> None:
    console = memory_console(match=MATCHES[0])
    assert typed(console, ":goto 2", ":forward", ":back 2", ":moves", ":moves -1") == [
        "ply 2 of 6: white B2",
        "ply 3 of 6: black button",
        "ply 1 of 6: black A1",
        "[1 A1]  2 B2  3 button  4 C3  5 pass  6 pass",
        "6 white pass  0.007 s, 1.000 s left",
    ]
    assert typed(console, ":info")[0].split("\n") == [
        "match m-1: yugo size=3, time control 10",
        "seat 1: one (random), 0.021 s used",
        "seat 2: two (random), 0.021 s used",
        "result: W+7.5, rules, two won, 6 plies",
        "",
        "ply 1 of 6: black A1",
    ]
    assert typed(console, ":why A1", ":why B2") == ["A1 is illegal: A1 is occupied", "B2 is legal"]
    score = typed(console, ":score")[0].splitlines()
    assert score[0].split()[:2] == ["total", "territory"] and score[3] == "the game is not over"
    assert [line.split()[0] for line in score[1:3]] == ["black", "white"]
    assert typed(console, ":live")[0].startswith("the match is over: ")
    said = typed(console, ":score")[0]
    assert "final" not in said and said.count("\n") == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("goto", "usage"),
        ("goto x", "no-ply"),
        ("goto 99", "no-ply"),
        ("goto 3b", "no-ply"),
        ("back x", "usage"),
        ("back 0", "no-ply"),
        ("forward 0", "usage"),
        ("forward 1 2", "usage"),
        ("moves 7", "no-ply"),
        ("moves !", "no-ply"),
        ("why", "usage"),
        ("move", "usage"),
        ("move A1", "ply-refused"),
        ("Z9", "ply-refused"),
        ("replay soon", "usage"),
        ("replay 0x", "usage"),
        ("comment " + "x" * 10_001, "usage"),
        ("save x.sgf main", "usage"),
        ("save x.jsonl all", "usage"),
        ("eval", "no-evaluation"),
        ("eval greedy", "usage"),
        ("graph", "no-evaluation"),
        ("graph greedy", "no-evaluation"),
        ("graph 5", "usage"),
        ("ask", "no-bot"),
        ("ask nobody", "no-answer"),
        ("ask human", "no-human"),
        ("hint", "usage"),
        ("hint a b c", "usage"),
        ("answer random soon", "bad-control"),
        ("bots nobody", "bad-word"),
        ("fork random", ""),
        ("play random", ""),
        ("restart nobody", "usage"),
    ],
)
def test_invalid_commands_are_reported(words: str, code: str) -> None:
    console = memory_console(match=MATCHES[0])
    typed(console, ":goto 3")
    with pytest.raises(OwnFailed) as failed:
        typed(console, f":{words}")
    assert failed.value.code == (code or OwnFailed.code) or not code
    assert "\n" not in str(failed.value)
    assert typed(console, ":back") == ["ply 2 of 6: white B2"]


def test_an_engine_without_scores_and_one_with_invalid_scores() -> None:
    console = memory_console("ggp-new yugo size=3", "ggp-score", match=MATCHES[0])
    with raises(OwnFailed, "engine-refused"):
        typed(console, ":score")


def test_words_of_the_game_are_played_or_refused_with_the_reason() -> None:
    console = memory_console("ggp-new stigmergy size=3")
    with raises(OwnFailed, "ply-refused") as refused:
        typed(console, ":keep-sides")
    assert "bid" in str(refused.value)
    with raises(OwnFailed, "usage") as usage:
        typed(console, ":move")
    assert str(usage.value) == "write :move MOVE, as in :move bid:0, or :bid:0"
    assert typed(console, "keep-sides") == ["unknown command"]
    assert console.how_to_play("7 keep-sides") == "keep-sides is a move: type :keep-sides to play it"
    assert console.how_to_play("D4") == "if D4 is a move, type :D4 to play it"
    assert not any(map(console.how_to_play, ("foo", "ggp-status", "play b D4", "keep-sides now", "", "7")))
    assert typed(console, ":bid:3", ":keep-sides")[1].endswith("white keep-sides")
    assert memory_console("ggp-new yugo size=3", "ggp-play").how_to_play("pass") == ""


def test_a_match_that_grows_is_read_again() -> None:
    whole = MATCHES[0]
    half = Record(whole.start, whole.plies[:2], None)
    read = [half, Record(whole.start, whole.plies[:4], None), whole, record("yugo size=3", "C3 A1"), None]
    cursor = Cursor(record=half, ask=ReplaySession().ask, again=lambda: read.pop(0))
    assert [cursor.last() for _ in range(5)] == [2, 4, 6, 6, 6] and cursor.record == whole


# --- following a match ------------------------------------------------------------------------------------------


def emit(tape: RecordWriter, match: Record, first: int, last: int) -> None:
    """The events of these numbers, as a worker writes them; 0 is the start, the one after the plies the end."""
    for event in [match.start, *match.plies, match.end][first : last + 1]:
        assert event is not None
        tape.emit(event)


def follow(base: Path, match: Record, then: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `:live` shows of a match of which 2 plies are played; `then` happens while it waits for the next look."""
    moments = [then]

    def sleep(seconds: float) -> None:
        moments.pop()()  # it looks once more, and no more, after the match has ended

    source, shown, session = open_match(f"{base}#{match.start.match}"), list[str](), ReplaySession()
    monkeypatch.setattr("ggp.referee.tools.console.match.time.sleep", sleep)
    bench = Cursor(record=source.record, ask=session.ask, again=source.again)
    said = travel.follow(bench, source, lambda: None, shown.append)
    return [said, *shown]


@pytest.mark.parametrize("after", ["nothing", "the next match", "gone", "gone, and stored"])
def test_a_match_is_followed_to_its_last_event(after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker plays its next match at once, and delivers its records later."""
    base, match = tmp_path / "games.jsonl", MATCHES[0]
    live = SideFile(str(base), 1)
    tape = RecordWriter(live.begin())
    emit(tape, match, 0, 2)

    def end() -> None:
        emit(tape, match, 3, 7)
        live.close()
        if after == "the next match":
            emit(RecordWriter(live.begin()), record("go size=3", "A1", match="m-2"), 0, 1)
        elif after.startswith("gone"):
            Path(f"{base}.live-1").unlink()
        if after.endswith("stored"):
            base.write_bytes(match.lines())

    said, *shown = follow(base, match, end, monkeypatch)
    assert said == f"the match is over: {match.end and match.end.result}, rules; ply 6 of 6: white pass"
    assert [line for line in shown if " s" in line] == [line_of(ply) for ply in match.plies[2:]]
    live.close()


def test_a_dropped_or_void_match_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, match = tmp_path / "games.jsonl", MATCHES[0]
    live = SideFile(str(base), 1)
    emit(RecordWriter(live.begin()), match, 0, 2)
    said, *_ = follow(base, match, live.close, monkeypatch)
    assert said == "the match was dropped before its end; ply 2 of 6: white B2, the last so far".replace("of 6", "of 2")
    assert match.end is not None
    void = Record(match.start, match.plies[:2], msgspec.structs.replace(match.end, result="", winner=0, seq=3))
    tape = RecordWriter(live.begin())
    emit(tape, void, 0, 2)

    def replay() -> None:
        emit(tape, void, 3, 3)
        emit(RecordWriter(live.begin()), record("yugo size=3", "C3", match="m-1.1"), 0, 1)

    said, *_ = follow(base, void, replay, monkeypatch)
    assert said == "the match is over: void, rules; ply 2 of 2: white B2"
    live.close()


def test_a_match_with_a_short_side_file_is_read_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that was full for a moment."""
    base, match = tmp_path / "games.jsonl", MATCHES[0]
    live = SideFile(str(base), 1)
    emit(RecordWriter(live.begin()), match, 0, 2)

    def end() -> None:
        live.close()
        base.write_bytes(match.lines())

    said, *_ = follow(base, match, end, monkeypatch)
    assert said.startswith("the match is over: ")


# --- places -----------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "games.jsonl"
    path.write_bytes(MATCHES[0].lines() + record("go size=3", "A1 B2", ended=False, match="m-2").lines())
    return path


def test_places_in_a_file(file: Path) -> None:
    assert (open_match(str(file)).record.start.match, open_match(str(file)).ply) == ("m-1", 6)
    found = open_match(f"{file}#m-2@1")
    assert (found.record.start.match, found.ply, found.again(), found.playing()) == ("m-2", 1, None, False)
    assert not is_ladder(str(file)) and is_ladder("ladder.toml") and is_ladder("postgresql://u@h/d")


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("{}#m-3", "holds no match m-3; it holds m-1, m-2"),
        ("{}@7", "ply 7: the match m-1 has the plies 0 to 6"),
        ("{}@-9", "ply -9"),
        ("nothing.jsonl", "cannot read nothing.jsonl"),
        ("nothing.toml#k", "nothing.toml"),
        ("nothing.db#k", "nothing.db"),
    ],
)
def test_missing_places(place: str, reason: str, file: Path, tmp_path: Path) -> None:
    with pytest.raises(click.ClickException) as raised:
        open_match(place.format(file))
    assert reason in raised.value.format_message()
