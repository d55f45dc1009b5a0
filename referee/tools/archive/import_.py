"""Records made from games of SGF files and GTP scripts, by playing each move on an engine."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from ggp.protocol.records import MatchEnded, MatchStarted, MovePlayed, Party, Record
from ggp.referee.match.engine import OVER, Engine, GameRefused, Status
from ggp.referee.match.outcome import BotFault, Termination
from ggp.referee.match.setting import new_game
from ggp.referee.terminal import escape_unprintable
from ggp.referee.tools.archive.game_files import (
    CannotImport,
    FoundMove,
    ImportedGame,
)

IMPORTED = "imported"
"""The termination of a game whose file has a result, but no cause."""

_BY_LETTER = {"R": Termination.RESIGNATION, "T": Termination.TIME}
_MAX_TEXT = 200


@dataclass(frozen=True)
class ImportRules:
    """How to treat a game with missing or invalid moves.

    Attributes:
        fill: Play a pass for a side whose turn is missing.
        lenient: Keep the plies before an invalid one.
        referee: The name of the referee in the record.
    """

    fill: bool = False
    lenient: bool = False
    referee: str = ""


@dataclass(slots=True)
class _Replay:
    """The plies so far.

    Attributes:
        problem: Why there are no more plies.
        passes: How many passes after the end were left out.
    """

    status: Status
    plies: list[MovePlayed] = field(default_factory=list)
    problem: str = ""
    passes: int = 0

    @property
    def left_out(self) -> str:
        """Return a text about passes after the end; "" for none."""
        return f"{self.passes} pass{'es'[: 2 * (self.passes > 1)]} after the end left out" if self.passes else ""


class Imported(NamedTuple):
    """A record of an imported game.

    Attributes:
        problem: Why the record does not hold the whole game; "" if it does.
        left_out: What the file has after the end of the game; "" for nothing.
    """

    record: Record
    problem: str
    left_out: str


async def to_record(found: ImportedGame, key: str, engine: Engine, rules: ImportRules) -> Imported:
    """Make a record of a game by playing it on the engine.

    Args:
        found: The game.
        key: The key of the match in the record.
        engine: The engine.
        rules: How to treat missing or invalid moves.

    Raises:
        CannotImport: The engine refuses the game or a move, and the rules are not lenient.
        EngineFailed: The engine crashed or broke the protocol.
    """
    replay = await _replay(found, key, engine, rules)
    if replay.problem and not rules.lenient:
        raise CannotImport(f"{replay.problem}; --lenient keeps the {len(replay.plies)} plies before it")
    start, end = _start(found, key, engine, replay, rules), await _end(found, key, engine, replay)
    return Imported(Record(start, tuple(replay.plies), end), replay.problem, replay.left_out)


async def _replay(found: ImportedGame, key: str, engine: Engine, rules: ImportRules) -> _Replay:
    if any(not _is_word(word) for word in (found.game, *found.options, *found.options.values())):
        raise CannotImport("the name of its game or an option is not a word")
    if found.game not in await engine.games():
        raise CannotImport(f"the engine does not know {found.game}: name one that does with --engine")
    try:
        replay = _Replay(await engine.new_game(new_game(found.game, found.options)))
    except GameRefused as refused:
        raise CannotImport(f"the engine refuses the game: {escape_unprintable(str(refused))}") from None
    for number, move in enumerate(found.moves, 1):
        if replay.status.phase == OVER and move.move.lower() == "pass":
            replay.passes += 1  # servers record a third pass
            continue
        if problem := await _play(replay, key, engine, move, rules.fill):
            step = f"move {number - found.set_up}" if number > found.set_up else "the initial position"
            replay.problem = f"{step}, {move.colour} {escape_unprintable(move.move)[:80]}: {problem}"
            return replay
    replay.problem = found.problem and escape_unprintable(f"after move {len(found.moves)}: {found.problem}")
    return replay


async def _play(replay: _Replay, key: str, engine: Engine, move: FoundMove, fill: bool) -> str:
    """Play a move, after a pass if `fill` needs one. Return the problem, or ""."""
    status = replay.status
    if status.phase == OVER:
        return "the game was already over"
    if not _is_word(move.move):
        return "it is not one word"
    moves = [move]
    if status.to_play != move.colour:
        if not fill:
            return f"it is {status.to_play}'s turn (--fill inserts a pass)"
        moves.insert(0, FoundMove(status.to_play, "pass"))
    for colour, word, left in moves:
        seat = replay.status.seat
        try:
            played, replay.status = await engine.play(colour, word)
        except BotFault as fault:
            return escape_unprintable(str(fault)) + ("" if word == move.move else " (the inserted pass)")
        ply = len(replay.plies) + 1
        replay.plies.append(MovePlayed(ply, key, ply, seat, colour, played, 0, left))
    return ""


def _start(found: ImportedGame, key: str, engine: Engine, replay: _Replay, rules: ImportRules) -> MatchStarted:
    black, white = (
        Party(name=_text(name) or colour) for name, colour in zip(found.players, ("black", "white"), strict=True)
    )
    if black.name == white.name:
        black, white = Party(name=f"{black.name}-1"), Party(name=f"{white.name}-2")
    bots = (black, white) if _black(replay) == 1 else (white, black)
    return MatchStarted(
        match=key,
        game=found.game,
        options=found.options,
        bots=bots,
        engine=Party(name="engine", program=engine.party.program, version=engine.party.version),
        control=_text(found.control) or "none",
        opening=tuple(ply.move for ply in replay.plies[: found.set_up]),
        referee=_text(f"{rules.referee} {found.source}"),
        started=_text(found.date),
    )


async def _end(found: ImportedGame, key: str, engine: Engine, replay: _Replay) -> MatchEnded:
    status = replay.status
    result, termination, detail = found.result, found.termination or IMPORTED, ""
    over = status.phase == OVER
    if over and result in ("", status.result):
        result, termination = status.result, str(Termination.RULES)
    elif result[2:] in _BY_LETTER and not found.termination:
        termination = str(_BY_LETTER[result[2:]])
    elif termination == Termination.RULES:
        termination = IMPORTED
    if termination == IMPORTED:
        judged = f"the engine says {status.result}" if over else "the game is not over by the rules"
        detail = f"the file says {result}, {judged}" if result else f"the file has no result, {judged}"
    position, score = await engine.final()
    black = _black(replay)
    return MatchEnded(
        seq=len(replay.plies) + 1,
        match=key,
        result=result,
        winner={"B": black, "W": 3 - black}.get(result[:1], 0),
        termination=termination,
        detail="; ".join(filter(None, [detail, replay.left_out, replay.problem])),
        plies=len(replay.plies),
        hash=position,
        score=score,
    )


def _black(replay: _Replay) -> int:
    """Return the seat that plays black at the end."""
    status = replay.status
    seat, colour = status.seat, status.to_play
    if status.phase == OVER and replay.plies:
        seat, colour = replay.plies[-1].seat, replay.plies[-1].colour
    return seat if colour == "black" else 3 - seat


def _is_word(text: str) -> bool:
    return len(text) <= 8192 and bool(re.fullmatch(r"[^\s#]+", text)) and text.isprintable()


def _text(text: str) -> str:
    return escape_unprintable(" ".join(text.split()))[:_MAX_TEXT]
