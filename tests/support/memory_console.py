"""A console whose peer is our engine in this process; nothing is drawn."""

from collections.abc import Sequence

from ggp.engines.registry import Registry
from ggp.engines.service import engine_handlers
from ggp.engines.session import Session
from ggp.protocol.channel import Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.records import Record
from ggp.protocol.responder import Responder
from ggp.protocol.transports.memory import Memory
from ggp.protocol.transports.transcript import Sink
from ggp.referee.match.bot_spec import BotSpec, read_engine
from ggp.referee.match.process import Peer
from ggp.referee.tools.archive.places import RecordPlace, RecordSource
from ggp.referee.tools.console.console import Console
from ggp.referee.tools.console.dialogue import Target


class EnginePeer(Peer):
    """Our engine without some commands."""

    def __init__(self, *lacks: str) -> None:
        handlers = engine_handlers(Session(Registry()))
        known = {name: row for name, row in handlers.items() if name not in lacks}
        self.channel = Channel(Memory.of(Responder("engine", "1", known)), PeerRole.ENGINE)


def memory_console(
    first: str = "ggp-new yugo size=3", *lacks: str, match: Record | None = None, bots: Sequence[BotSpec] = ()
) -> Console:
    """A console that has begun. With a match it is at its start."""

    def peer(sink: Sink) -> Peer:
        return EnginePeer(*lacks)

    console = Console(
        Target("engine", peer, read_engine(None), first, bots=tuple(bots)),
        source=RecordSource(RecordPlace(""), match, 0) if match else None,
    )
    console.begin()
    return console


def typed(console: Console, *lines: str) -> list[str]:
    """Return what each of the console's own lines says, and what the engine answers to each other line."""
    said = []
    for line in lines:
        if console.is_own(line):
            said.append(console.run_own(line))
            continue
        sent = console.dialogue.send_line(line)
        assert sent is not None
        console.dialogue.wait(sent, console.dialogue.now() + 60)
        assert sent.reply is not None
        said.append(sent.reply.text)
    return said
