"""A console whose peer is our engine in this process, and recorded matches of every game; nothing is drawn."""

from collections.abc import Sequence

from ggp.engines.registry import Registry
from ggp.engines.service import engine_handlers
from ggp.engines.session import Session
from ggp.protocol.channel import Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.records import MatchEnded, MatchStarted, MovePlayed, Party, Record
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


def record(game: str, moves: str, match: str = "m-1") -> Record:
    """Return a match of these moves, with the seats and colours that our engine names."""
    name, *words = game.split()
    console, plies = memory_console(f"ggp-new {game}"), list[MovePlayed]()
    for number, move in enumerate(moves.split(), 1):
        status = console.cursor.status()
        canonical = console.ask(f"ggp-play {status.to_play} {move}").text.partition(" ")[0].removeprefix("move=")
        plies.append(MovePlayed(number, match, number, status.seat, status.to_play, canonical, 7, 1000))
    status = console.cursor.status()
    parties = (Party(name="one", command="random"), Party(name="two", command="random"))
    options = dict(word.split("=") for word in words)
    start = MatchStarted(
        match=match, game=name, options=options, bots=parties, engine=Party(name="engine"), control="10"
    )
    result, winner = (status.result, status.winner) if status.phase == "over" else ("W+R", 2)
    seq = len(plies) + 1
    end = MatchEnded(seq=seq, match=match, result=result, winner=winner, termination="rules", plies=len(plies))
    return Record(start, tuple(plies), end)


MATCHES = [
    record("yugo size=3", "A1 B2 button C3 pass pass"),
    record("go size=3 agreement=on", "A1 B2 pass pass dead: dead:"),
    record("laido size=3", "B2 swap-sides B3"),
    record("stigmergy size=3", "bid:3 swap-sides"),
    record("stigmergy size=3", "bid:3 keep-sides"),
]
