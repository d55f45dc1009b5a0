"""A journey through a recorded match on an engine: to any ply, and back from whatever was tried beside the record.

The engine is asked where it stands before each step, so it may be moved by others, or be started anew, in between.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

from protocol.messages import Reply
from protocol.records import Record
from referee.config import Setting
from referee.console.own import OwnFailed
from referee.play.clock import Control, Kind
from referee.play.engine import Status, parse_status
from referee.play.outcome import EngineFailed

Ask = Callable[[str], Reply]


class Where(NamedTuple):
    """Where the engine stands: the plies before it, of which the first `ply` are the record's, and their colours.

    `known`: whether it is this match at all, and not another game.
    """

    moves: tuple[str, ...]
    ply: int
    known: bool = True
    colours: tuple[str, ...] = ()

    @property
    def aside(self) -> tuple[str, ...]:
        """The plies that are not the record's."""
        return self.moves[self.ply :]


class Journey:
    """Moves an engine to plies of a record. `ask` sends a line and waits for the reply; what it raises goes through.

    `again` gives the record anew while its match is being played.
    """

    def __init__(self, record: Record, ask: Ask, again: Callable[[], Record | None] = lambda: None) -> None:
        self.record = record
        self._ask = ask
        self._again = again
        self._moves: tuple[str, ...] = ()  # where it was put last, for engines that keep no history
        self._game: object = None  # what the scene says of game and options

    @property
    def new_game(self) -> str:
        start = self.record.start
        return Setting(start.game, start.options, {}, Control(Kind.NONE)).new_game

    @property
    def last(self) -> int:
        """The number of plies, after a look at whether there are more."""
        record = self._again()
        # A file that was written anew is another match, and ours goes on as it was read.
        if record is not None and record.plies[: len(self.record.plies)] == self.record.plies:
            self.record = record
        return len(self.record.plies)

    def where(self) -> Where:
        """Ask the engine."""
        reply = self._ask("ggp-history")
        if not reply.ok and reply.text != "unknown command":
            return Where((), 0, known=False)
        return self.see(reply, self._look())

    def see(self, history: Reply, seen: object) -> Where:
        """By the answer to ggp-history, and what the scene says of the game (see facts_of_scene)."""
        lines = [line.split() for line in history.text.splitlines() if line.count(" ") == 2] if history.ok else []
        moves = tuple(move for _, _, move in lines) if history.ok else self._moves
        if self._game is None:  # it was put there by others: see at least that it is this game
            known = not (isinstance(seen, list) and seen[0] not in (None, self.record.start.game))
        else:
            known = seen == self._game
        colours = tuple(colour for _, colour, _ in lines)
        return Where(moves, _common(moves, self._recorded()), known, colours)

    def coloured(self, at: Where) -> list[tuple[str, str]]:
        """Colour and move of every ply before this place."""
        colours = at.colours or tuple(ply.colour for ply in self.record.plies)
        return list(zip(colours, at.moves, strict=False))

    def goto(self, ply: int) -> Status:
        """Put the engine after so many plies of the record; negative ones count from the end, -1 is the last."""
        last = self.last
        number = ply if ply >= 0 else last + 1 + ply
        if not 0 <= number <= last:
            raise OwnFailed(f"there is no ply {ply}: the match has the plies 0 to {last}")
        return self._put(self._recorded()[:number])

    def back(self, count: int) -> Status:
        """So many plies back, of the record or of what was tried."""
        at = self._here()
        if not 1 <= count <= len(at.moves):
            raise OwnFailed(f"there are {len(at.moves)} plies before this, so {count} cannot be taken back")
        return self._put(at.moves[:-count])

    def forward(self, count: int) -> Status:
        """So many plies of the record on, as far as it goes."""
        at, last = self._here(), self.last
        if at.aside:
            raise OwnFailed(f"this is off the record, after ply {at.ply}: :goto {at.ply} returns to it")
        if at.ply == last:
            raise OwnFailed(f"ply {last} is the last" + ("" if self.record.end else " so far"))
        if count < 1:
            raise OwnFailed(f":forward {count}: write a number of plies from 1 on")
        return self._put(self._recorded()[: min(at.ply + count, last)])

    def why(self, move: str) -> str:
        """Why a move is illegal here, "" if it is legal; tried out where the engine gives no reasons."""
        reply = self._ask(f"ggp-legal {move}")
        if reply.ok:
            legal, _, reason = reply.text.partition(" ")
            return "" if legal == "true" else reason or "the engine gives no reason"
        if reply.text != "unknown command":
            raise OwnFailed(f"the engine answers: {reply.text}")
        at, status = self._here(), self.status()
        reply = self._ask(f"ggp-play {status.to_play} {move}")
        if reply.ok:
            self._moves = (*at.moves, move)
            self._put(at.moves)
        return "" if reply.ok else reply.text

    def status(self) -> Status:
        """What the engine says of the position."""
        return self._read(self._ask("ggp-status"))

    def caption(self) -> str:
        """Where we are, in a line."""
        at = self.where()
        if not at.known:
            return "the engine has another game before it: :goto PLY returns to the match"
        last = self.last
        ply = self.record.plies[at.ply - 1] if at.ply else None
        text = f"ply {at.ply} of {last}" + (f": {ply.colour} {ply.move}" if ply else "")
        if at.aside:
            return f"off the record after {text}; then {' '.join(at.aside)}"
        return text if at.ply < last or self.record.end else f"{text}, the last so far"

    # -- moving the engine -----------------------------------------------------------------------------------

    def _here(self) -> Where:
        at = self.where()
        if not at.known:
            raise OwnFailed("the engine has another game before it: :goto PLY returns to the match")
        return at

    def _put(self, moves: tuple[str, ...]) -> Status:
        """By as few undone plies as possible if the engine takes back, else all from the start."""
        at = self.where()
        common = _common(at.moves, moves)
        status = None
        if at.known and self._game is not None:
            undone = len(at.moves) - common
            reply = self._ask(f"ggp-undo {undone}") if undone else self._ask("ggp-status")
            status = self._read(reply) if reply.ok else None
        if status is None:
            status, common = self._read(self._ask(self.new_game)), 0
            self._game = self._look()
        for number, move in enumerate(moves[common:], common + 1):
            reply = self._ask(f"ggp-play {status.to_play} {move}")
            if not reply.ok:
                raise OwnFailed(f"the engine does not take ply {number}, {status.to_play} {move}: {reply.text}")
            self._moves = moves[:number]
            status = self._read(Reply(True, reply.text.partition(" ")[2]))
        self._moves = moves
        return status

    def _recorded(self) -> tuple[str, ...]:
        return tuple(ply.move for ply in self.record.plies)

    def _look(self) -> object:
        return facts_of_scene(self._ask("ggp-scene"))

    def _read(self, reply: Reply) -> Status:
        if not reply.ok:
            raise OwnFailed(f"the engine answers: {reply.text}")
        try:
            return parse_status(reply.text)
        except EngineFailed as error:
            raise OwnFailed(str(error)) from None


def facts_of_scene(reply: Reply | None) -> object:
    """Game and options as the engine's scene tells them, "" where it does not."""
    try:
        scene = json.loads(reply.text) if reply and reply.ok else {}
        return [scene.get("game"), scene.get("options")]
    except (ValueError, AttributeError, RecursionError):
        return ""


def _common(one: tuple[str, ...], two: tuple[str, ...]) -> int:
    """How many plies both begin with."""
    count = 0
    for left, right in zip(one, two, strict=False):
        if left != right:
            break
        count += 1
    return count
