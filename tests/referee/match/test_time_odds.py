"""Time odds: each bot has its own control. Its clock, what both bots are told, the record, and a match that goes on."""

import msgspec
import pytest

from ggp.protocol.records import MatchStarted, Party, Record
from ggp.protocol.responder import Responder
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.clock import NO_LIMIT, MoveClock, TimeControl
from ggp.referee.match.player import meet
from ggp.referee.match.record_forms import sgf
from ggp.referee.match.setting import Timeouts
from ggp.referee.records import head
from ggp.referee.server.lobby.spectators import RunningMatch
from ggp.referee.tools.console.match import full_times
from tests.support.memory_match import MemoryMatch, MemoryPeer, bot, plain

GAME = "go size=9 komi=6.5"


def passing() -> Responder:
    return bot(lambda colour: "pass", ggp_clock=lambda arguments: "")


def moves(*words: str) -> Responder:
    return bot(words, ggp_clock=lambda arguments: "")


def lefts(record: Record, seat: int) -> list[int | None]:
    return [ply.left for ply in record.plies if ply.seat == seat]


def test_each_bot_plays_by_its_own_control_and_learns_it() -> None:
    match = MemoryMatch(GAME, passing(), passing(), times=("60", "7+1")).run()
    one, two = match.peers
    assert "ggp-clock black=60000 white=7000" in one.lines
    (told,) = (line for line in two.lines if line.startswith("ggp-clock"))
    assert told.startswith("ggp-clock black=") and told.endswith(" white=7000 increment=1000")
    start = match.record.start
    assert start.control == "10" and start.controls == ("60", "7+1") and start.time == "60 against 7+1"
    (left,) = lefts(match.record, 2)
    assert left is not None and 7000 < left <= 8000


def test_a_plain_bot_gets_its_own_control() -> None:
    more = {"time_settings": lambda arguments: "", "time_left": lambda arguments: ""}
    match = MemoryMatch(GAME, plain(["pass"], **more), plain(["pass"], **more), times=("60", "7")).run()
    one, two = match.peers
    assert "time_settings 60 0 0" in one.lines and "time_settings 7 0 0" in two.lines
    assert "time_left black 60 0" in one.lines and "time_left white 7 0" in two.lines


def test_a_bot_without_a_clock_against_one_with_a_clock() -> None:
    match = MemoryMatch(GAME, passing(), passing(), times=("none", "7")).run()
    assert not any(line.startswith("ggp-clock") for line in match.peers[0].lines)
    assert lefts(match.record, 1) == [None] and lefts(match.record, 2) != [None]


def test_an_interrupted_match_goes_on_with_both_clocks() -> None:
    played = MemoryMatch(GAME, moves("A1", "pass"), moves("B1", "pass"), times=("60", "7+1")).run().record.plies
    past = [msgspec.structs.replace(ply, ms=ms) for ply, ms in zip(played, (2500, 3000), strict=False)]
    again = MemoryMatch(GAME, passing(), passing(), times=("60", "7+1"), past=past).run()
    assert again.record.plies[:2] == tuple(past)
    assert "ggp-clock black=57500 white=5000" in again.peers[0].lines
    assert any(line.endswith(" white=5000 increment=1000") for line in again.peers[1].lines)


def test_without_odds_the_record_is_what_it_was() -> None:
    start = MemoryMatch(GAME, passing(), passing()).run().record.start
    assert start.bots[0] == Party(name="one", program="scripted", version="1")
    assert start.controls == ("10", "10") and start.time == "10"
    lines = msgspec.json.encode(start).decode()
    assert "settings" not in lines and lines.count('"control"') == 1


# -- the time-out of a move ------------------------------------------------------------------------------------------


def test_without_a_clock_a_move_may_take_as_long_as_its_bot_s_time_out() -> None:
    none = TimeControl.parse("none")
    assert (none.clock().left, none.clock(2500).left, str(none.clock(2500).control)) == (NO_LIMIT, 2500, "none")
    assert isinstance(none.clock(), MoveClock) and none.clock(2500).spend(2600) == 100
    own = Timeouts(move=2)
    match = MemoryMatch(GAME, passing(), passing(), time="none", budgets=(Timeouts(), own))
    assert match.run().record.plies[1].left is None


# -- limits of nodes and playouts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["kata-set-param", "lz-setoption"])
def test_a_bot_gets_its_limits_before_each_game(command: str) -> None:
    peer = MemoryPeer(bot(["pass"], **{command: lambda arguments: ""}))
    player = run_blocking(meet(peer, Party(name="one"), Timeouts(), (("nodes", 100), ("playouts", 7))))
    run_blocking(player.new_game(MemoryMatch(GAME, passing(), passing()).match.setting))
    told = {
        "kata-set-param": ["kata-set-param maxVisits 100", "kata-set-param maxPlayouts 7"],
        "lz-setoption": ["lz-setoption name visits value 100", "lz-setoption name playouts value 7"],
    }
    assert peer.lines[-3:] == [*told[command], "ggp-new go size=9 komi=6.5"]


# -- readers of records ----------------------------------------------------------------------------------------------


def test_readers_show_the_control_of_each_seat() -> None:
    record = MemoryMatch(GAME, passing(), passing(), times=("60", "none")).run().record
    assert head(record).control == "60 against none"
    assert "OT[60 against none]" in sgf(record)
    assert RunningMatch(msgspec.to_builtins(record.start)).head.control == "60 against none"
    assert full_times(record.start.controls) == {1: 60_000}
    same = MemoryMatch(GAME, passing(), passing()).run().record
    assert RunningMatch(msgspec.to_builtins(same.start)).head.control == head(same).control == "10"


def test_a_record_of_before_has_one_control_for_both() -> None:
    line = b'{"bots":[{"name":"a"},{"name":"b"}],"control":"5+1","engine":{"name":"e"},"event":"start","game":"go",'
    start = msgspec.json.decode(line + b'"match":"m","options":{}}', type=MatchStarted)
    assert start.controls == ("5+1", "5+1") and start.time == "5+1" and start.bots[0].settings == ""
