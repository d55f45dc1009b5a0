"""How the tests of the asking side let a peer speak: a Connection or a Channel, and what it made of it."""

from protocol.channel import Channel
from protocol.connection import Connection, PeerRole, ReadLimits
from protocol.errors import ProtocolError
from protocol.messages import Reply
from protocol.transports.blocking import run_blocking
from protocol.transports.memory import Memory

ENGINE, BOT = PeerRole.ENGINE, PeerRole.BOT


def hear(data: bytes, asked: int = 1, peer: PeerRole = ENGINE, limits: ReadLimits | None = None) -> list[Reply | str]:
    """What a Connection without ids makes of `data` and the end of the stream: replies, then the error's type."""
    connection = Connection(peer, limits)
    connection.send(*["name"] * asked)
    connection.receive(data)
    connection.receive(b"")
    return taken(connection)


def taken(connection: Connection) -> list[Reply | str]:
    heard: list[Reply | str] = []
    try:
        while (reply := connection.next_reply()) is not None:
            heard.append(reply)
    except ProtocolError as error:
        heard.append(type(error).__name__)
    return heard


def channel_to(*answers: bytes, peer: PeerRole = ENGINE) -> tuple[Channel, Memory]:
    """A channel to a peer that says one of `answers` to each write, and then is silent."""
    script = iter(answers)

    def answer(data: bytes) -> list[bytes]:
        said = next(script, None)
        return [] if said is None else [said]

    memory = Memory(answer)
    return Channel(memory, peer), memory


def ask(channel: Channel, line: str = "name") -> Reply:
    return run_blocking(channel.ask(line, channel.now() + 1))
