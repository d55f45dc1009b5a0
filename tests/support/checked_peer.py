"""Programs in this process under `ggp check`: an engine, a bot or a plain GTP bot, right or with one mistake."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ggp.bots.sdk import Bot, Position
from ggp.engines.registry import Registry
from ggp.engines.service import engine_handlers
from ggp.engines.session import Session
from ggp.protocol.commands import Who
from ggp.protocol.conformance import CheckVerdict, catalogue
from ggp.protocol.connection import PeerRole
from ggp.protocol.responder import Handler, Responder
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.memory import Memory
from ggp.referee.match.engine import Engine
from ggp.referee.match.process import Peer, Process
from ggp.referee.match.setting import Timeouts
from ggp.referee.tools.check.run import run_trial
from ggp.referee.tools.check.trial import StepResult, Trial
from tests.support.memory_match import MemoryPeer

Mistake = Callable[[dict[str, Handler]], Mapping[str, Handler | None]]
Bytes = Callable[[bytes], bytes]
PLAIN = ("boardsize", "clear_board", "komi", "play", "genmove", "undo", "final_status_list", "time_left", "loadsgf")


def engine_peer(
    mistake: Mistake = lambda handlers: {},
    seconds: float = 0.0,
    out: Bytes = bytes,
    registry: Registry | None = None,
) -> MemoryPeer:
    return _peer(engine_handlers(Session(registry or Registry())), mistake, seconds, out)


def bot_peer(mistake: Mistake = lambda handlers: {}, seconds: float = 0.0, out: Bytes = bytes) -> MemoryPeer:
    """A native bot that takes the first legal move."""

    def choose(position: Position) -> str:
        return position.legal_moves()[0]

    bot = Bot(choose, analysis=True, seed=lambda number: None)
    return _peer(bot.handlers(), mistake, seconds, out)


def plain_peer(mistake: Mistake = lambda handlers: {}, seconds: float = 0.0, out: Bytes = bytes) -> MemoryPeer:
    """The same, of plain GTP."""

    def choose(position: Position) -> str:
        moves = [move for move in position.legal_moves() if move != "pass"]
        return moves[0] if moves else "pass"

    handlers = Bot(choose).handlers()
    return _peer({name: handlers[name] for name in PLAIN}, mistake, seconds, out)


def _peer(handlers: Mapping[str, Handler], mistake: Mistake, seconds: float, out: Bytes) -> MemoryPeer:
    replaced = mistake(dict(handlers))
    table = {name: handler for name, handler in {**handlers, **replaced}.items() if handler is not None}
    responder = Responder("Program", "1", table)

    def answer(data: bytes) -> list[bytes]:
        responder.receive(data)
        said = out(b"".join(iter(responder.next_answer, None)))
        return [*([said] if said else []), *([b""] if responder.closed else [])]

    return MemoryPeer(Memory(answer, seconds))


def judged(start: Callable[[], Peer], who: Who, *only: str, games: tuple[str, ...] = ()) -> list[StepResult]:
    """The findings of the steps that are named."""

    async def run() -> list[StepResult]:
        judge = Engine(engine_peer(), "engine", Timeouts())
        await judge.start()
        trial = Trial(who, start, patience=2.0, first=60.0, judge=judge if who is Who.BOT else None)
        return await run_trial(trial, only, games)

    return run_blocking(run())


def failing(start: Callable[[], Peer], who: Who, *only: str, games: tuple[str, ...] = ()) -> set[str]:
    found = judged(start, who, *only, games=games)
    return {one.check.number for one in found if one.verdict is CheckVerdict.FAIL}


# --- the steps that are single exchanges ---


def exchanges(who: Who, game: str = "") -> tuple[str, ...]:
    """Return the numbers of the steps that are single exchanges."""
    return tuple(check.number for check in catalogue(who, game=game) if not check.script)


def failed_checks(command: Sequence[str], who: Who, game: str) -> list[StepResult]:
    """Return the single exchanges that the program fails, required or not."""
    role = PeerRole.ENGINE if who is Who.ENGINE else PeerRole.BOT
    trial = Trial(who, partial(Process, tuple(command), role, Timeouts()), patience=10.0, first=60.0)
    found = run_blocking(run_trial(trial, exchanges(who, game), (game,)))
    return [one for one in found if one.verdict in (CheckVerdict.FAIL, CheckVerdict.NOT_TRIED)]
