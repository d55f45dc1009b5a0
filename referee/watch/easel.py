"""Draws the position of a match as it comes along: an engine follows it, and says what there is to draw."""

from protocol.errors import ProtocolError
from protocol.messages import Reply
from protocol.records import Record
from protocol.transports.blocking import run_blocking
from referee.archive.reading import started
from referee.config import Budgets
from referee.console.board import NOTHING, Board
from referee.console.caption import Caption
from referee.console.drawing import draw_scene
from referee.console.journey import Journey
from referee.console.own import OwnFailed
from referee.play.engine import Engine
from referee.play.words import read_engine

_PATIENCE = Budgets().command


class Easel:
    """`engine` is a command line or an address, None for the built-in one. Nothing is started before it is needed.

    An engine that cannot follow a match draws nothing, and a note says why; the match goes on.
    """

    def __init__(self, engine: str | None) -> None:
        self._word = engine
        self._engine: Engine | None = None
        self._journey: Journey | None = None
        self._record: Record | None = None

    def draw(self, record: Record) -> Board:
        """The position after the last ply, with a caption. ClickException if the engine cannot be started."""
        engine = self._engine = self._engine or run_blocking(started(read_engine(self._word)))
        journey = self._journey
        if journey is None or self._record is None or self._record.start != record.start:
            journey = self._journey = Journey(record, self._ask, lambda: self._record)
        self._record = record
        if "ggp-scene" in engine.lacks:
            return Board([], ("the engine lists no ggp-scene: it cannot say what to draw",))
        try:
            journey.goto(-1)
            scene = self._ask("ggp-scene")
            board = draw_scene(scene.text) if scene.ok else NOTHING
            return board._replace(caption=Caption(journey).ask(self._ask))
        except (OwnFailed, ProtocolError) as error:
            self._journey = None
            self.close()
            return Board([], (f"the engine cannot follow this match: {error}",))

    def close(self) -> None:
        """End the engine; it is started again when it is needed."""
        engine, self._engine = self._engine, None
        if engine is not None:
            run_blocking(engine.peer.stop())

    def _ask(self, line: str) -> Reply:
        assert self._engine is not None
        channel = self._engine.peer.channel
        return run_blocking(channel.ask(line, channel.now() + _PATIENCE))
