"""The client's side of a command connection to a lobby: challenges, withdrawals, lists of bots and pools."""

from random import Random

from ggp.protocol.grammar import parse_reply
from ggp.protocol.lobby_wire import LobbyAnswer, LobbyAsk, printable
from ggp.protocol.transports.lobby_dial import NO_HANDSHAKE, Dial, LobbyLink
from ggp.protocol.transports.signal_fd import Stopping


class NotReached(Exception):
    """The lobby cannot be reached, or it said goodbye. str() says why."""


class ChallengeRefused(Exception):
    """The lobby refused a command. str() is its answer."""


class Ordering:
    """A connection that asks a lobby. Close it at the end."""

    def __init__(self, lobby: LobbyLink, stopping: Stopping | None = None) -> None:
        """Dial the lobby. With `stopping`, a signal raises Stopped while it waits."""
        self._stopping = stopping
        self._trouble = ""
        self._reached = False
        self._dial = Dial(lobby, None, self._told, Random())
        if stopping is not None:
            self._dial.watch(stopping.descriptor)

    def ask(self, line: str, patient: bool = False) -> str:
        """Ask for a command line, and return the answer.

        Args:
            patient: Once the lobby was reached, ask again on the next connection after each lost one.

        Raises:
            NotReached, ChallengeRefused, AccessRefused, Replaced: There is no answer.
        """
        asked = 0
        while True:
            if self._dial.up and self._dial.number != asked:
                asked = self._dial.number
                self._dial.send(LobbyAsk(f"{line}\n".encode()))
            self.wait(1.0)
            while (message := self._dial.receive()) is not None:
                if isinstance(message, LobbyAnswer) and (reply := parse_reply(message.data.rstrip(b"\n"))) is not None:
                    if not reply.ok:
                        raise ChallengeRefused(reply.text)
                    return reply.text
            if self._trouble and not (patient and self._reached):
                raise NotReached(self._trouble)

    def wait(self, seconds: float) -> None:
        """Wait for an event, for `seconds` at most."""
        self._dial.poll(seconds)
        if self._stopping is not None:
            self._stopping.check()

    def close(self) -> None:
        self._dial.close("done")

    def _told(self, what: str, why: str) -> None:
        if what == "up":
            self._reached, self._trouble = True, ""
        elif what in ("lost", "bye") and (self._reached or why != NO_HANDSHAKE):  # Dial itself gives up after a few
            self._trouble = why


Values = dict[str, str]


def values_of(line: str) -> Values:
    """Return the printable values of a line `key=value …`. A reason extends to the end of the line."""
    head, mark, reason = line.partition(" reason=")
    found = dict(word.partition("=")[::2] for word in head.split())
    return {name: printable(value, 1000) for name, value in (found | ({"reason": reason} if mark else {})).items()}
