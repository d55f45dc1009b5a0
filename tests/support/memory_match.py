"""A match in this process: our engine and bots that are tables of answers, over memory; no process, no waiting."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ggp.engines.registry import Registry
from ggp.engines.service import make_responder
from ggp.engines.session import Session
from ggp.protocol.channel import Channel, Transport
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import CommandFailed
from ggp.protocol.records import Chain, Event, MovePlayed, Party, Record, read_records
from ggp.protocol.responder import Handler, Responder
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.memory import Memory
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.engine import Engine
from ggp.referee.match.match import Match, play_match
from ggp.referee.match.outcome import Outcome
from ggp.referee.match.player import meet
from ggp.referee.match.process import Peer
from ggp.referee.match.setting import Setting, Timeouts

BUDGETS = Timeouts()
Wrap = Callable[[Transport], Transport]


class MemoryPeer(Peer):
    """A Peer that is no process. `written` is all that it was sent."""

    def __init__(self, program: Responder | Memory, role: PeerRole = PeerRole.BOT, wrap: Wrap | None = None) -> None:
        self.memory = Memory.of(program) if isinstance(program, Responder) else program
        self.channel = Channel(wrap(self.memory) if wrap else self.memory, role)

    @property
    def lines(self) -> list[str]:
        """The lines it was sent, without their ids."""
        return [line.partition(" ")[2] for line in self.memory.written.decode().splitlines()]


def bot(moves: Sequence[str] | Callable[[str], str], **more: Handler) -> Responder:
    """A native bot that gives these moves in their order, whatever happens; `_` in a name is `-`."""
    left = iter(() if callable(moves) else moves)

    def genmove(arguments: list[str]) -> str:
        return moves(arguments[0]) if callable(moves) else next(left)

    quiet: dict[str, Handler] = {name: lambda arguments: "" for name in ("ggp-new", "play")}
    named = {name.replace("ggp_", "ggp-"): handler for name, handler in more.items()}
    return Responder("scripted", "1", {**quiet, "genmove": genmove, **named})


def plain(moves: Sequence[str], dead: str | None = "", /, **more: Handler) -> Responder:
    """A bot of plain GTP; `dead` is its answer to final_status_list, None for a refusal."""
    left = iter(moves)

    def final_status_list(arguments: list[str]) -> str:
        if dead is None:
            raise CommandFailed("cannot tell")
        return dead

    quiet: dict[str, Handler] = {name: lambda arguments: "" for name in ("boardsize", "clear_board", "komi", "play")}
    table = {**quiet, "genmove": lambda arguments: next(left), "final_status_list": final_status_list, **more}
    return Responder("plain", "1", table)


def refuse(arguments: list[str]) -> str:
    raise CommandFailed("I will not")


class MemoryMatch:
    """Plays one match. `engines` gives the first engine, and others in the place of one that fails.

    `times`: the controls by seat.

    Afterwards: `outcome`, `record`, and the `peers` of engine and seats.
    """

    def __init__(
        self,
        game: str,
        one: Responder,
        two: Responder,
        *,
        time: str = "10",
        opening: tuple[str, ...] = (),
        engine: Responder | None = None,
        max_plies: int = 1000,
        seeds: tuple[int, int] | None = None,
        wrap: Wrap | None = None,
        past: Sequence[MovePlayed] = (),
        engines: Callable[[], MemoryPeer] | None = None,
        times: tuple[str, str] | None = None,
        budgets: tuple[Timeouts, Timeouts] = (BUDGETS, BUDGETS),
    ) -> None:
        name, *words = game.split()
        options = dict(word.split("=") for word in words)
        setting = Setting(name, options, {"size": "9", "komi": "7.5", "handicap": "0"}, TimeControl.parse(time))
        self.match = Match("memory-1", setting, 50, max_plies, 1, opening, "test", seeds, tuple(past))
        if times:
            first, second = map(TimeControl.parse, times)
            self.match = replace(self.match, controls=(first, second))
        self._budgets = budgets
        self._engines = engines
        if engines is None:
            self.engine = MemoryPeer(engine or make_responder(Session(Registry())), PeerRole.ENGINE, wrap)
        else:
            self.engine = engines()
        self.peers: list[MemoryPeer] = [MemoryPeer(responder, PeerRole.BOT, wrap) for responder in (one, two)]
        self.lines: list[bytes] = []
        self.record: Record
        self._chain = Chain()

    def run(self) -> "MemoryMatch":
        self.outcome = run_blocking(self.play())
        return self

    async def play(self) -> Outcome:
        engine = await self._engine(self.engine)
        one, two = [
            await meet(peer, Party(name=name), budgets)
            for name, peer, budgets in zip(("one", "two"), self.peers, self._budgets, strict=True)
        ]
        engines = self._engines
        renew = (lambda: self._engine(engines())) if engines is not None else None
        outcome, self.record = await play_match(self.match, engine, (one, two), self._emit, renew)
        assert list(read_records(self.lines)) == [self.record]
        return outcome

    @staticmethod
    async def _engine(peer: MemoryPeer) -> Engine:
        engine = Engine(peer, "memory", BUDGETS)
        await engine.start()
        return engine

    def _emit(self, event: Event) -> None:
        self.lines.append(self._chain.line(event))

    @property
    def moves(self) -> list[str]:
        return [f"{ply.seat} {ply.colour} {ply.move}" for ply in self.record.plies]
