"""An author's side of the orders that a lobby takes: commands asked, answers read, over connections made again."""

from random import Random

from protocol.dialling import Answer, Ask
from protocol.grammar import parse_reply
from protocol.transports.dial import NO_HANDSHAKE, Dial, Lobby
from protocol.transports.stopping import Stopping


class NotReached(Exception):
    """There is no lobby to ask, or it said goodbye; str() says why."""


class Refused(Exception):
    """The lobby answered `?`; str() is what it said."""


class Ordering:
    """`stopping` is looked at while an answer is waited for, which raises Stopped. `close` at the end."""

    def __init__(self, lobby: Lobby, stopping: Stopping) -> None:
        self._stopping = stopping
        self._trouble = ""
        self._reached = False
        self._dial = Dial(lobby, None, self._told, Random())
        self._dial.watch(stopping.descriptor)

    def ask(self, line: str, patient: bool = False) -> str:
        """The answer. `patient`: asked again on the next connection if this one is lost, for ever, once the lobby was
        reached. Raises NotReached, Refused, AccessRefused, Replaced."""
        asked = 0
        while True:
            if self._dial.up and self._dial.number != asked:
                asked = self._dial.number
                self._dial.send(Ask(f"{line}\n".encode()))
            self.wait(1.0)
            while (message := self._dial.receive()) is not None:
                if isinstance(message, Answer) and (reply := parse_reply(message.data.rstrip(b"\n"))) is not None:
                    if not reply.ok:
                        raise Refused(reply.text)
                    return reply.text
            if self._trouble and not (patient and self._reached):
                raise NotReached(self._trouble)

    def wait(self, seconds: float) -> None:
        """So long at most, until something comes."""
        self._dial.poll(seconds)
        self._stopping.check()

    def close(self) -> None:
        self._dial.close("done")

    def _told(self, what: str, why: str) -> None:
        if what == "up":
            self._reached, self._trouble = True, ""
        elif what in ("lost", "bye") and (self._reached or why != NO_HANDSHAKE):  # of that Dial itself has enough soon
            self._trouble = why
