"""A scripted spectator server, for tests of its clients: an XPUB socket."""

import time
from typing import Any

import msgspec
import zmq

from ggp.protocol.records import Chain, Event, MatchEnded, MatchStarted, MovePlayed, Party
from ggp.protocol.spectator_wire import CaughtUp, Published, Request, publish, publish_line, read_request
from ggp.protocol.transports.keys import KeyPair
from tests.support.lobby_socket import ListeningSocket

KEY = "5feceb66-6b86b273-1-1"
PATIENCE = 60.0  # seconds


def events(plies: int, key: str = KEY, bot: str = "ann", ended: bool = True) -> list[tuple[Event, bytes]]:
    """A match and its lines."""
    party = Party(name="engine")
    start = MatchStarted(
        match=key,
        game="yugo",
        options={"size": "5"},
        bots=(Party(name=bot), Party(name="bob")),
        engine=party,
        control="1+1",
    )
    found: list[Event] = [start]
    found += [
        MovePlayed(n, key, n, 2 - n % 2, "black" if n % 2 else "white", f"A{n}", 5, 900) for n in range(1, plies + 1)
    ]
    if ended:
        found.append(
            MatchEnded(seq=plies + 1, match=key, result="B+1", winner=1, termination="rules", plies=plies, hash="0")
        )
    chain = Chain()
    return [(event, chain.line(event)) for event in found]


class SmallSpectatorServer(ListeningSocket):
    """An XPUB that reports every subscription."""

    def __init__(self, url: str = "", keys: KeyPair | None = None) -> None:
        super().__init__(zmq.XPUB, zmq.XPUB_VERBOSER, keys, url)

    def publish(self, topic: str | bytes, *payload: bytes) -> None:
        self.socket.send_multipart([topic.encode() if isinstance(topic, str) else topic, *payload])

    def say(self, topic: str | bytes, what: Published) -> None:
        self.publish(topic, publish(what))

    def lines(self, topic: str | bytes, *lines: bytes) -> None:
        for line in lines:
            self.publish(topic, publish_line(line))

    def answer(self, request: Request, lines: list[bytes], count: int | None = None) -> None:
        """A page of a match, and that it has so many events."""
        self.lines(request.topic, *lines[request.number :])
        self.say(request.topic, CaughtUp(len(lines) if count is None else count))

    def subscription(self, seconds: float = PATIENCE) -> bytes:
        """The next one, with its first byte; b"" if there is none in time."""
        if not self.socket.poll(int(seconds * 1000)):
            return b""
        return bytes(self.socket.recv())

    def request(self, seconds: float = PATIENCE) -> Request:
        """Wait for a request."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            said = self.subscription(left)
            if said[:1] == b"\1" and (found := read_request(said[1:])):
                return found
        raise AssertionError("no request came")


def fields(line: bytes) -> dict[str, Any]:
    """The fields of a line of a record."""
    found: dict[str, Any] = msgspec.json.decode(line)
    return found


def fail(task: str, error: BaseException) -> None:
    """What a background task must not come to."""
    raise AssertionError(f"{task} failed") from error
