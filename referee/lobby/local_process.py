"""The process that connects one local bot: reads a LocalOrder on stdin, reports failures on stdout.

`python -m referee.lobby.local_process`, started by local_bots only. It and its bot end with the lobby.
"""

import contextlib
import os
import signal
import sys
from typing import Literal

import msgspec

from protocol.transports.lobby_dial import LobbyLink, Replaced
from protocol.transports.signal_fd import Stopped, Stopping
from protocol.transports.subreaper import adopt_orphans, end_with_parent
from protocol.transports.zmq import AccessRefused
from referee.lobby.connect import BotEnded, Lender, Lent
from referee.play.bot_spec import CHANGED, BotSpec, version_of
from referee.play.process import LaunchError
from referee.play.setting import Timeouts


class LocalOrder(msgspec.Struct, frozen=True):
    """What is to be started (see BotSpec), whom to dial, how nice the bot is to be, which process started us."""

    url: str
    name: str
    command: str
    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    memory: int
    version: str
    nice: int
    parent: int


class LocalReport(msgspec.Struct, frozen=True):
    """Why there is no bot now, and whose doing that was."""

    culprit: Literal["bot", "host"]
    reason: str


def main() -> int:
    """The exit status."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=LocalOrder)
    end_with_parent(signal.SIGTERM)
    if os.getppid() != order.parent:  # it died before it was asked for
        return 0
    adopt_orphans()
    with Stopping() as stopping:
        lender = Lender(
            lambda: _start(order),
            LobbyLink(order.url, inside=True),
            order.name,
            _report_event,
            lambda data: None,
            stopping,
        )
        try:
            lender.run()
        except Stopped:
            return 0
        except (BotEnded, LaunchError) as error:
            _report(LocalReport("bot", str(error)))
        except (Replaced, AccessRefused) as error:
            _report(LocalReport("host", str(error)))
        finally:
            lender.close("")
    return 1


def _start(order: LocalOrder) -> Lent:
    """Raises BotEnded, LaunchError: also for a program that is not the one whose version it would play as."""
    start = BotSpec(order.name, order.command, order.argv, "", order.environment, order.memory)
    if (found := version_of(start)) != order.version:
        raise BotEnded(f"{CHANGED}: its version is {found}, not {order.version}: start the lobby again")
    return Lent(order.argv, Timeouts(), memory=order.memory, environment=order.environment, nice=order.nice)


def _report_event(what: str, why: str) -> None:
    if what == "ended":
        _report(LocalReport("bot", why))


def _report(said: LocalReport) -> None:
    with contextlib.suppress(OSError):  # a lobby that is gone hears nothing
        sys.stdout.buffer.write(msgspec.json.encode(said) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
