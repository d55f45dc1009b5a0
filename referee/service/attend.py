"""Gets a referee's parts together: the desk, the doors that clients come in by, and who steers the run of a ladder."""

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import click

from protocol.errors import AddressError
from referee.ladder.helm import Helm
from referee.ladder.playing import Attend, Attended
from referee.service.desk import Desk
from referee.service.doors import Listener, StandardInput
from referee.service.service import Make, responders
from referee.service.steering import Steering, first_news

EVERYBODY = "every user of this machine may steer and stop this over tcp; --bind ipc://FILE is for you alone"


class Doors(NamedTuple):
    """Where clients come in: a loopback or ipc address ("" for none), standard input or not.

    `remains`: the referee waits to be told to stop when nothing is left to play.
    """

    url: str = ""
    stdin: bool = False
    remains: bool = False


def attended(name: str, doors: Doors) -> Attend:
    """Has the run of a ladder answer there, as the command `name`. Raises UsageError for a bad address."""

    @contextlib.contextmanager
    def attend(run: Attended) -> Iterator[Helm]:
        desk = Desk(first_news(run.ladder.name, run.ladder))
        steering = Steering(desk, doors.remains, run.read)
        make = responders(desk, run.store, run.live)
        with opened(name, doors, desk, make), contextlib.closing(steering):
            yield steering

    return attend


@contextlib.contextmanager
def opened(name: str, doors: Doors, desk: Desk, make: Make) -> Iterator[None]:
    """Clients are answered in here. Raises UsageError."""
    with contextlib.ExitStack() as open_doors:
        if doors.url:
            try:
                listener = Listener(doors.url, make)
            except AddressError as error:
                raise click.UsageError(str(error)) from None
            open_doors.callback(listener.close)
            click.echo(f"{name}: listening at {listener.url}", err=True)
            if not listener.trusted:
                click.echo(f"{name}: {EVERYBODY}", err=True)
        if doors.stdin:
            open_doors.callback(StandardInput(make(True), _leave(desk, not doors.url)).close)
        yield


def _leave(desk: Desk, ends: bool) -> Callable[[], None]:
    """Who was on standard input has left: the referee ends with him, unless others can reach it."""

    def left() -> None:
        if ends:
            with contextlib.suppress(Exception):  # it is ending anyway
                desk.ask(lambda steering: steering.stop(False), math.inf)

    return left
