"""Plays matches in this process, one after another, where a human sits or somebody looks on. It reports as run does.

No worker and no schedule: the caller says which matches. Ctrl-C, SIGTERM and a terminal that is closed drop the match
that is under way.
"""

import signal
import time
from collections.abc import Callable
from types import FrameType

from protocol.drawing.scene import clean
from protocol.records import Event, MatchEnded, MatchStarted
from protocol.transports.blocking import run_blocking
from referee.play.desk import Desk
from referee.play.engine import Engine
from referee.play.human import HELP, HumanPlayer
from referee.play.player import Player
from referee.play.pool import on_signals
from referee.play.recorder import Recorder
from referee.play.run import Report
from referee.play.seating import Start, is_human
from referee.play.series import Played, Setup, Tally
from referee.play.table import Suspended, Table


class _Stop(BaseException):
    """Raised by a signal that ends the match."""


def play_by_hand(
    setup: Setup, numbers: list[int], recorder: Recorder, tally: Tally, desk: Desk, seen: Callable[[Event], None]
) -> Report:
    """Play these matches and add them to the tally. `seen` is told each event as it happens; humans sit at the desk."""
    report, began, keeping = Report(tally), time.monotonic(), False
    tally.forget_voids()

    def keep(record: bytes, facts: Played) -> None:
        nonlocal keeping
        keeping = True  # not to be stopped between the record and the count
        recorder.append(record)
        recorder.commit()
        tally.add(facts)
        report.plies += facts.plies
        keeping = False

    def stop(number: int, frame: FrameType | None) -> None:
        first, report.stopped = not report.stopped, report.stopped or number
        if first and not keeping:
            raise _Stop

    humans = [bot for bot in setup.bots if is_human(bot)]

    def host(start: Start, engine: Callable[[], Engine]) -> Player:
        return HumanPlayer(start, engine, desk, shows_end=start == humans[0])

    if humans:
        desk.show(HELP)
    table = Table(keep, recorder.side_file(), seen=seen, host=host)
    killed = True
    with on_signals(stop, signal.SIGHUP):
        try:
            for number in numbers:
                if not (report.stopped or report.suspended):
                    run_blocking(table.play(setup, number, tally.tried[number]))
                    report.suspended = tally.suspended
            killed = bool(report.stopped)
        except Suspended as error:
            report.suspended = error.who, str(error)
        except OSError as error:  # of a write to the record
            report.failed = str(error)
        except (KeyboardInterrupt, _Stop):  # an editor of lines takes Ctrl-C for itself
            report.stopped = report.stopped or signal.SIGINT
        finally:
            keeping = True  # a second signal does not disturb the ending
            run_blocking(table.close(killed))
    report.seconds = time.monotonic() - began
    return report


def announce(event: Event) -> str:
    """The start and the end of a match as a line, "" for a ply: what happens in between its players know."""
    if isinstance(event, MatchStarted):
        options = "".join(f" {name}={value}" for name, value in event.options.items())
        first, second = (bot.name for bot in event.bots)
        return clean(f"{event.game}{options}: {first} (seat 1) - {second} (seat 2), time {event.control}")
    if isinstance(event, MatchEnded):
        detail = f": {event.detail}" if event.detail else ""
        return clean(f"Result: {event.result or 'void'}, {event.termination}{detail}")
    return ""
