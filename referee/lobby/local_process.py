"""The process that lends one local bot its connection: told what to start on stdin, it says on stdout what went wrong.

`python -m referee.lobby.local_process`, for local alone. It ends with the lobby, however that ends, and its bot, too.
"""

import contextlib
import os
import signal
import sys
from typing import Literal

import msgspec

from protocol.orphans import adopt_orphans, end_with_parent
from protocol.transports.dial import Lobby, Replaced
from protocol.transports.stopping import Stopped, Stopping
from protocol.transports.zmq import AccessRefused
from referee.config import Budgets
from referee.lobby.connect import Lender
from referee.lobby.lent import BotEnded, Lent
from referee.play.launch import LaunchError
from referee.play.seating import CHANGED, Start
from referee.play.versions import version_of


class Order(msgspec.Struct, frozen=True):
    """What is to be started (see Start), whom to dial, how nice the bot is to be, which process started us."""

    url: str
    name: str
    command: str
    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    memory: int
    version: str
    nice: int
    parent: int


class Said(msgspec.Struct, frozen=True):
    """Why there is no bot now, and whose doing that was."""

    culprit: Literal["bot", "host"]
    reason: str


def main() -> int:
    """The exit status."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    end_with_parent(signal.SIGTERM)
    if os.getppid() != order.parent:  # it died before it was asked for
        return 0
    adopt_orphans()
    with Stopping() as stopping:
        lender = Lender(
            lambda: _start(order), Lobby(order.url, inside=True), order.name, _tell, lambda data: None, stopping
        )
        try:
            lender.run()
        except Stopped:
            return 0
        except (BotEnded, LaunchError) as error:
            _say(Said("bot", str(error)))
        except (Replaced, AccessRefused) as error:
            _say(Said("host", str(error)))
        finally:
            lender.close("")
    return 1


def _start(order: Order) -> Lent:
    """Raises BotEnded, LaunchError: also for a program that is not the one whose version it would play as."""
    start = Start(order.name, order.command, order.argv, "", order.environment, order.memory)
    if (found := version_of(start)) != order.version:
        raise BotEnded(f"{CHANGED}: its version is {found}, not {order.version}: start the lobby again")
    return Lent(order.argv, Budgets(), memory=order.memory, environment=order.environment, nice=order.nice)


def _tell(what: str, why: str) -> None:
    if what == "ended":
        _say(Said("bot", why))


def _say(said: Said) -> None:
    with contextlib.suppress(OSError):  # a lobby that is gone hears nothing
        sys.stdout.buffer.write(msgspec.json.encode(said) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
