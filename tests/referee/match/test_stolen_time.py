"""What interrupts take from the side to move: how it is measured, who is credited, and whose fault it is."""

import os
import re
from dataclasses import dataclass, field, replace

import pytest

from ggp.protocol.records import MatchEnded
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.ladder.bot_settings import apart
from ggp.referee.match import stolen_time
from ggp.referee.match.interference import InterferenceTable, Losses
from ggp.referee.match.match_runner import MatchRunner
from ggp.referee.match.process import Process
from ggp.referee.match.sandbox.levels import Sandbox
from ggp.referee.match.series import GameResult, SeriesTally
from ggp.referee.match.stolen_time import LONG_FIRST_WAIT, STEP, TurnWatch
from tests.support.series import make_setup, play, script

BOT = """
free = True
while True:
    words = ask().split()
    if words[0] == 'list_commands': say('ggp-new play genmove name version quit')
    elif words[0] == 'ggp-new': free = True; say()
    elif words[0] == 'play': free = free and words[2] != 'button'; say()
    elif words[0] == 'genmove': time.sleep(0.1); say('button' if free else 'pass'); free = False
    elif words[0] == 'quit': say(); sys.exit()
    else: say()
"""


@dataclass
class SlowWakeUps:
    """A clock, a run queue, and interrupts that hold up wake-ups."""

    now: float = 100.0
    delay: int = 0
    interrupts: list[float] = field(default_factory=list)  # seconds that the next wake-ups are late because of one
    queues: list[float] = field(default_factory=list)  # the same because of other programs

    def output(self, ms: int) -> bool | None:
        queued = self.queues.pop(0) if self.queues else 0.0
        self.now += ms / 1000 + (self.interrupts.pop(0) if self.interrupts else 0.00005) + queued
        self.delay += int(queued * 1e9)
        return False


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> SlowWakeUps:
    made = SlowWakeUps()
    monkeypatch.setattr("ggp.referee.match.stolen_time.time.monotonic", lambda: made.now)
    monkeypatch.setattr(stolen_time, "run_delay_ns", lambda: made.delay)
    return made


def test_a_wake_up_that_comes_late_tells_what_interrupts_took(machine: SlowWakeUps) -> None:
    watch = TurnWatch(machine.output)
    watch.begin(1.0)
    machine.interrupts = [0.00005, 0.3]
    assert not watch.wait(0.4)
    assert watch.taken == pytest.approx(0.3, abs=0.001)
    watch.begin(1.0)
    assert watch.taken == 0.0


def test_the_time_in_the_run_queue_is_not_taken_for_it(machine: SlowWakeUps) -> None:
    watch = TurnWatch(machine.output)
    watch.begin(1.0)
    machine.queues = [0.02] * 50
    watch.wait(1.0)
    assert watch.taken == 0.0


def test_late_wake_ups_stand_for_the_time_between_them(machine: SlowWakeUps) -> None:
    """Of interrupts that take a fifth of the core, 2 ms each, the wake-ups meet a fifth, halfway."""
    watch = TurnWatch(machine.output)
    watch.begin(1.0)
    machine.interrupts = [0.001 if number % 5 == 0 else 0.00005 for number in range(150)]
    began = machine.now
    watch.wait(0.5)
    assert watch.taken == pytest.approx((machine.now - began) / 5, rel=0.25)


def test_an_answer_that_came_long_after_the_first_wait_was_held_up(machine: SlowWakeUps) -> None:
    watch = TurnWatch(machine.output)
    watch.begin(1.0)
    watch.first_wait_over(LONG_FIRST_WAIT + 0.2)
    assert watch.taken == pytest.approx(0.2)
    watch.begin(1.0)
    machine.delay += 50_000_000
    watch.first_wait_over(LONG_FIRST_WAIT + 0.05)
    assert watch.taken == 0.0


def test_the_first_wait_is_short() -> None:
    assert TurnWatch(lambda ms: False).begin(1.0) <= STEP
    assert TurnWatch(lambda ms: False).begin(0.001) == 0.001


def robbed_of(seconds: float, monkeypatch: pytest.MonkeyPatch) -> tuple[MatchEnded, list[int]]:
    """Return the end of a game in which so much is taken from each turn of seat 2, which lasts 100 ms or more, and the
    ms that it was charged."""

    class Thief(TurnWatch):
        def wait(self, seconds_more: float) -> bool:
            found = super().wait(seconds_more)
            self.taken = seconds
            return found

    first = Process.__init__

    def begin(self: Process, argv: tuple[str, ...], *more: object, **named: object) -> None:
        first(self, argv, *more, **named)  # type: ignore[arg-type]
        if any("sleep" in word for word in argv):
            self.turn_watch = Thief(self._pipe.wait_for_output)

    monkeypatch.setattr(Process, "__init__", begin)
    came = play(make_setup("yugo,size=3", "random", script(BOT)), range(1))
    return came.end(), [ply.ms for ply in came.records[0].plies if ply.seat == 2]


def test_what_was_taken_is_credited_and_in_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    end, charged = robbed_of(0.06, monkeypatch)
    assert charged and all(ms >= 30 for ms in charged), "100 ms less 60, and more on a busy machine"
    assert end.stolen == (0, 60 * len(charged))
    turns = "1 turn" if len(charged) == 1 else f"{len(charged)} turns"
    words = f"seat2: interrupts on its core took {60 * len(charged)} ms of {turns}"
    assert f"{words}, caused by its opponent or the machine and not charged" in end.warnings


def test_no_more_is_credited_than_a_turn_took(monkeypatch: pytest.MonkeyPatch) -> None:
    end, charged = robbed_of(30.0, monkeypatch)
    assert charged and set(charged) == {0}
    assert end.stolen is not None and end.stolen[1] >= 95 * len(charged)


# -- whose fault it is


def lost(table: InterferenceTable, bot: str, opponent: str, games: int, stolen: int) -> None:
    for _ in range(games):
        losses = Losses()
        losses.add(1000, stolen, 0)
        table.add(bot, opponent, losses)


def test_time_that_is_lost_to_one_opponent_only_is_that_opponents_fault() -> None:
    table = InterferenceTable()
    lost(table, "honest", "storm", 3, 500)
    lost(table, "honest", "other", 10, 0)
    (fault,) = table.faults()
    assert (fault.who, fault.kind, fault.games) == ("storm", "stolen_time", 3)
    assert fault.reason == (
        "interrupts took 1500 ms from honest in 3 of 3 games against it, and in 0 of 10 against others; "
        "they were not charged to honest"
    )


def test_time_that_is_lost_to_every_opponent_is_nobodys_fault() -> None:
    table = InterferenceTable()
    for opponent in ("one", "two", "three"):
        lost(table, "honest", opponent, 4, 500)
    assert table.faults() == []


@pytest.mark.parametrize(("games", "stolen"), [(2, 500), (10, 9), (10, 19)])
def test_little_or_seldom_is_no_fault(games: int, stolen: int) -> None:
    table = InterferenceTable()
    lost(table, "honest", "storm", games, stolen)
    assert table.faults() == []


def test_a_match_of_two_cannot_tell_the_opponent_from_the_machine() -> None:
    table = InterferenceTable()
    lost(table, "honest", "storm", 10, 500)
    assert table.faults() == [] and table.taken() == {"honest": 5000}


def test_a_fault_is_reported_once() -> None:
    table = InterferenceTable()
    lost(table, "honest", "other", 20, 0)
    told = [table.add_game(("honest", "storm"), (100, 1), (50, 0), (0, 0)) for _ in range(6)]
    assert [len(faults) for faults in told] == [0, 0, 1, 0, 0, 0]
    assert len(table.add_game(("storm", "honest"), (1, 100), (0, 50), (40, 0))) == 1, "the slow input is new"


def test_a_tally_counts_the_losses_of_each_bot() -> None:
    facts = GameResult(0, "aa-1", "B+1", 0, "", "rules", "", 9, (10, 200), False, stolen=(0, 300), slow_input=(60, 0))
    tally = SeriesTally()
    tally.add(facts)
    tally.add(replace(facts, number=1, key="aa-2", stolen=(0, 0)))
    assert tally.losses == (Losses(2, 0, 0, 2, 120), Losses(2, 1, 300, 0, 0))


# -- two strict bots on different cores

COUNTING = """
while True:
    words = ask().split()
    if words[0] == 'list_commands': say('ggp-new play genmove name version quit')
    elif words[0] == 'genmove':
        print('core', *os.sched_getaffinity(0), file=sys.stderr, flush=True)
        say('pass', '?')
    elif words[0] == 'quit': say(); sys.exit()
    else: say()
"""


def pinned(cores: str, level: str = "strict") -> list[str]:
    """The cores that the bots of two games say they may run on, in their order, each once."""
    sandbox = Sandbox(level, cores=cores)  # type: ignore[arg-type]
    bots = [replace(script(COUNTING, name), sandbox=sandbox) for name in ("one", "two")]
    setup = make_setup("yugo,size=3", *bots)
    kept: list[bytes] = []
    before = os.sched_getaffinity(0)
    first, second = min(before), max(before)
    os.sched_setaffinity(0, {first})
    runner = MatchRunner(lambda record, result: kept.append(record), spare=[second])
    try:
        for number in (0, 1):
            run_blocking(runner.play(setup, number))
    finally:
        run_blocking(runner.close())
        os.sched_setaffinity(0, before)
    return [said.decode() for record in kept for said in re.findall(rb"core [0-9 ]+", record)]


@pytest.mark.needs("strict")
def test_two_strict_bots_run_on_different_cores_if_they_are_to() -> None:
    two = min(2, len(os.sched_getaffinity(0)))
    assert len({*pinned("apart")}) == two, "each game is lost by its first seat, which the bots take in turn"
    assert len({*pinned("shared")}) == len({*pinned("apart", "default")}) == 1


def test_two_cores_for_each_match_need_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.referee.ladder.bot_settings.available_cores", lambda: [0, 1, 2, 3, 4])
    strict, share, default = Sandbox("strict"), Sandbox("strict", cores="shared"), Sandbox("default")
    assert apart([strict, default], None, True) == (2, 2)
    assert apart([strict], 2, True) == (2, 2)
    assert apart([strict], 3, True) == (3, 1), "more matches were asked for than there are pairs of cores"
    assert apart([strict], None, False) == (None, 1)
    assert apart([share, default], None, True) == (None, 1)
    monkeypatch.setattr("ggp.referee.ladder.bot_settings.available_cores", lambda: [0])
    assert apart([strict], None, True) == (None, 1)
