"""Positions of matches as pictures: engine processes replay a match and describe a position, and this draws it.

A process that fails is ended, and another one is asked. Each game may have an engine of its own.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from cachetools import LRUCache

from ggp.protocol.drawing import svg
from ggp.protocol.drawing.scene import DrawingError, Scene, read_scene, replace_unprintable
from ggp.protocol.drawing.svg import SCALE, circle, element, text
from ggp.protocol.records import MatchStarted, MovePlayed, Record
from ggp.protocol.rules_text import Rules
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.engine import OVER, Engine, GameRefused, Status, start_engine
from ggp.referee.match.outcome import BotFault, EngineFailed
from ggp.referee.match.replay import Deviation, Replayer, verify

T = TypeVar("T")
AHEAD = 8  # positions drawn together with the one that was asked for: the next steps are likely
VERIFIED = 1000  # matches whose verification is kept
_WAIT = 10.0  # seconds for an answer, the wait for a free process included


class BoardError(Exception):
    """There is no picture of this position; str() says why, in one line for the reader of the page."""


@dataclass(frozen=True, slots=True)
class BoardView:
    """A position after `ply` plies. `svg` and `score` (the engine's JSON) are "" where the engine has none.

    `cells`: where in the picture each cell lies, in units of the picture.
    """

    ply: int
    status: Status
    svg: str
    score: str
    legal: tuple[str, ...]
    scene: Scene | None = None

    @property
    def cells(self) -> dict[str, tuple[float, float]]:
        """Where in the picture each cell lies, in units of the picture."""
        return {cell.at: (cell.x * SCALE, cell.y * SCALE) for cell in self.scene.cells} if self.scene else {}


class BoardPool:
    """Draws positions and keeps the pictures drawn last. Any thread may call it."""

    def __init__(
        self,
        engine: BotSpec,
        engines: Mapping[str, BotSpec] | None = None,
        processes: int = 2,
        most: int = 32 * 1024 * 1024,
    ) -> None:
        """engines: by game; `engine` is that of every other game. processes: of each engine, started when needed.
        most: bytes of pictures that are kept."""
        self._engine, self._engines = engine, engines or {}
        # A process ends with the thread that started it, so threads of our own that stay.
        self._threads = ThreadPoolExecutor(processes, "boards")
        self._own = threading.local()  # `replays`: each thread's processes, by engine
        self._lock = threading.Lock()  # of what follows
        self._replays: list[_BoardEngine] = []
        self._views: LRUCache[bytes, BoardView] = LRUCache(most, _size)
        self._verified: LRUCache[bytes, Deviation | None] = LRUCache(VERIFIED)

    def view(self, start: MatchStarted, plies: Sequence[MovePlayed], number: int) -> BoardView:
        """The position after `number` plies. Raises BoardError."""
        key = _key(start, plies, number)
        with self._lock:
            if (found := self._views.get(key)) is not None:
                return found
        ahead = range(number, min(number + AHEAD, len(plies)) + 1)
        views = self._asked(start.game, lambda replay: replay.views(start, plies, ahead))
        with self._lock, contextlib.suppress(ValueError):  # a picture is larger than the cache
            for view in reversed(views):
                self._views[_key(start, plies, view.ply)] = view
        return views[0]

    def why_illegal(self, start: MatchStarted, plies: Sequence[MovePlayed], number: int, move: str) -> str:
        """The engine's reason why a move is not legal after `number` plies, "" if it is. Raises BoardError."""
        return replace_unprintable(
            self._asked(start.game, lambda replay: replay.why_illegal(start, plies, number, move))
        )

    def verify(self, record: Record) -> Deviation | None:
        """Where the match comes out otherwise on the engine; None if it does nowhere. Raises BoardError."""
        key = _key(record.start, record.plies, len(record.plies)) + repr(record.end).encode()
        with self._lock:
            if key in self._verified:
                return self._verified[key]
        found = self._asked(record.start.game, lambda replay: replay.verify(record))
        with self._lock:
            self._verified[key] = found
        return found

    def rules(self, game: str) -> Rules:
        """Return the rules in the engine's words, an empty text if it has none. Raises BoardError."""
        return self._asked(game, lambda replay: replay.rules(game))

    def close(self) -> None:
        """End the engine processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for replay in self._replays:
            replay.stop()

    def _asked(self, game: str, question: "Callable[[_BoardEngine], T]") -> T:
        """Ask a process of the game's engine, in its thread. Raises BoardError."""
        asking = self._threads.submit(self._ask, self._engines.get(game, self._engine), question)
        try:
            return asking.result(_WAIT)
        except TimeoutError:
            asking.cancel()
            raise BoardError("the engine is busy: try again in a moment") from None

    def _ask(self, spec: BotSpec, question: "Callable[[_BoardEngine], T]") -> T:
        """Of a process that was there before: it may have died meanwhile, so another one is asked if it fails."""
        replays: dict[BotSpec, _BoardEngine] = self._own.__dict__.setdefault("replays", {})
        if (before := replays.get(spec)) is not None:
            try:
                return question(before)
            except BoardError:
                del replays[spec]
                with self._lock:
                    self._replays.remove(before)
                before.stop()
        replay = _BoardEngine(spec)
        try:
            found = question(replay)
        except BoardError:
            replay.stop()
            raise
        replays[spec] = replay
        with self._lock:
            self._replays.append(replay)
        return found


class _BoardEngine:
    """One engine process, and the position it has."""

    def __init__(self, spec: BotSpec) -> None:
        try:
            self._engine: Engine = run_blocking(start_engine(spec))
        except EngineFailed as error:
            raise BoardError(replace_unprintable(f"the engine does not start: {error}")) from None
        self._replayer = Replayer(self._engine)

    def views(self, start: MatchStarted, plies: Sequence[MovePlayed], numbers: range) -> list[BoardView]:
        with _as_board_error(start):
            return [run_blocking(self._view(start, plies, number)) for number in numbers]

    def why_illegal(self, start: MatchStarted, plies: Sequence[MovePlayed], number: int, move: str) -> str:
        with _as_board_error(start):
            status = run_blocking(self._go_to(start, plies, number))
            return run_blocking(self._engine.why_illegal(move, status.to_play))

    def verify(self, record: Record) -> Deviation | None:
        self._replayer.forget()
        with _as_board_error(record.start):
            found = run_blocking(verify(record, self._engine))
        if found is not None and found.failed:
            raise BoardError(found.what)
        return found

    def rules(self, game: str) -> Rules:
        try:
            return run_blocking(self._engine.rules(game))
        except EngineFailed as error:
            raise BoardError(replace_unprintable(f"the engine says no rules: {error}")) from None

    def stop(self) -> None:
        with contextlib.suppress(EngineFailed):
            run_blocking(self._engine.peer.stop())

    async def _view(self, start: MatchStarted, plies: Sequence[MovePlayed], number: int) -> BoardView:
        status, engine = await self._go_to(start, plies, number), self._engine
        drawn = await engine.scene()
        _, score = await engine.final()
        legal = await engine.legal_moves() if status.phase != OVER else []
        title = f"{replace_unprintable(start.game)} after ply {number}"
        scene = read_scene(drawn) if drawn else None
        return BoardView(number, status, svg.draw(scene, title, page=True) if scene else "", score, tuple(legal), scene)

    async def _go_to(self, start: MatchStarted, plies: Sequence[MovePlayed], number: int) -> Status:
        try:
            return await self._replayer.go_to(start, plies, number)
        except GameRefused:
            if start.game in await self._engine.games():
                raise
            how = "the operator can name an engine that does with --engine"
            raise GameRefused(f"it knows no {start.game}: {how}") from None


@contextlib.contextmanager
def _as_board_error(start: MatchStarted) -> Iterator[None]:
    try:
        yield
    except GameRefused as error:
        raise BoardError(replace_unprintable(f"the engine refuses {start.game}: {error}")) from None
    except (EngineFailed, BotFault, DrawingError) as error:
        raise BoardError(replace_unprintable(f"the engine does not replay this match: {error}")) from None


def _key(start: MatchStarted, plies: Sequence[MovePlayed], number: int) -> bytes:
    """Of what decides the picture: game, options and moves."""
    hashed = sha256(repr((start.game, sorted(start.options.items()))).encode())
    for ply in plies[:number]:
        hashed.update(f"\n{ply.colour} {ply.move}".encode())
    return hashed.digest()


def _size(view: BoardView) -> int:
    cells = len(view.scene.cells) if view.scene else 0
    return len(view.svg) + len(view.score) + sum(map(len, view.legal)) + 200 * cells + 500


MOST_LINE = 12  # moves of a line that are drawn
Cells = Mapping[str, tuple[float, float]]


def with_overlays(svg: str, cells: Cells, legal: Sequence[str], line: Sequence[str], to_play: str) -> str:
    """The picture with the groups before its end. `line`: moves from this position on, `to_play` first."""
    if not svg:
        return ""
    cells_of = cell_finder(cells)
    begins = {named[0] for move in legal if (named := cells_of(move))}
    groups = [
        ("cells", (element("circle", cx=x, cy=y, r=0.5, data_at=at) for at, x, y in _places(cells, cells))),
        ("legal", (element("circle", cx=x, cy=y, r=0.13) for _, x, y in _places(cells, begins))),
        ("line", _line(cells, line[:MOST_LINE], to_play)),
    ]
    drawn = "".join(
        element("g", "\n" + "".join(f"{part}\n" for part in parts), class_=name) + "\n" for name, parts in groups
    )
    return f"{svg.rstrip().removesuffix('</svg>')}{drawn}\n</svg>\n"


def cell_finder(names: Iterable[str]) -> Callable[[str], list[str]]:
    """What finds the cells with these names in a move, in the move's order: `1,-1/2,-1`, `L7+M7`, `D4`; [] for `pass`.

    A move is read from left to right: the longest name of a cell is a cell, the rest is not looked at.
    """
    known = frozenset(names)
    longest = max(map(len, known), default=0)

    def cells_of(move: str) -> list[str]:
        found, at = [], 0
        while at < len(move):
            for end in range(min(len(move), at + longest), at, -1):
                if move[at:end] in known and not (_joins(move, at) or _joins(move, end)):
                    found.append(move[at:end])
                    at = end
                    break
            else:
                at += 1
        return found

    return cells_of


def _joins(move: str, at: int) -> bool:
    """Whether a word goes on here."""
    return 0 < at < len(move) and move[at - 1].isalnum() and move[at].isalnum()


def _places(cells: Cells, some: "Cells | set[str]") -> Iterator[tuple[str, float, float]]:
    """In distances between neighbours."""
    return ((at, x / SCALE, y / SCALE) for at, (x, y) in cells.items() if at in some)


def _line(cells: Cells, line: Sequence[str], to_play: str) -> Iterator[str]:
    """A numbered stone for each move; a move of several cells has its number on each."""
    cells_of = cell_finder(cells)
    colours = ("black", "white") if to_play != "white" else ("white", "black")
    seen = set[str]()
    for number, move in enumerate(line):
        colour = colours[number % 2]
        for at in cells_of(move):
            if at in seen:
                continue
            seen.add(at)
            x, y = (length / SCALE for length in cells[at])
            yield circle(x, y, 0.34, f"mk-line line-{colour[0]}")
            yield text(str(number + 1), x, y, 0.36, f"on-{colour[0]}")
