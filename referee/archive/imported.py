"""A game that was found in some file becomes a record: every move is played on the engine. It reads no file."""

import re
from dataclasses import dataclass, field

from protocol.drawing.scene import clean
from protocol.records import MatchEnded, MatchStarted, MovePlayed, Party, Record
from referee.archive.found import CannotImport, Found, FoundMove
from referee.config import Setting
from referee.play.clock import Control, Kind
from referee.play.engine import OVER, Engine, GameRefused, Status
from referee.play.outcome import Fault, Termination

IMPORTED = "imported"
"""The termination where the file says a result and not how it came about."""

_BY_LETTER = {"R": Termination.RESIGNATION, "T": Termination.TIME}
_MAX_TEXT = 200


@dataclass(frozen=True)
class Rules:
    """How a game is taken over: `fill` plays a pass for the side that is to move and does not; `lenient` keeps the
    plies before one that cannot be."""

    fill: bool = False
    lenient: bool = False
    referee: str = ""


@dataclass(slots=True)
class _Replay:
    """What came of the moves."""

    status: Status
    plies: list[MovePlayed] = field(default_factory=list)
    problem: str = ""


async def to_record(found: Found, key: str, engine: Engine, rules: Rules) -> tuple[Record, str]:
    """The record under this name, and what of the game it does not hold ("" if it holds all of it).

    Raises CannotImport, and EngineFailed when the engine does.
    """
    replay = await _replay(found, key, engine, rules)
    if replay.problem and not rules.lenient:
        raise CannotImport(f"{replay.problem}; --lenient keeps the {len(replay.plies)} plies before it")
    return Record(
        _start(found, key, engine, replay, rules), tuple(replay.plies), await _end(found, key, engine, replay)
    ), (replay.problem)


async def _replay(found: Found, key: str, engine: Engine, rules: Rules) -> _Replay:
    if any(not _is_word(word) for word in (found.game, *found.options, *found.options.values())):
        raise CannotImport("its game or options are no words")
    if found.game not in await engine.games():
        raise CannotImport(f"the engine knows no {found.game}: name one that does with --engine")
    setting = Setting(found.game, found.options, {}, Control(Kind.NONE))
    try:
        replay = _Replay(await engine.new_game(setting.new_game))
    except GameRefused as refused:
        raise CannotImport(f"the engine refuses the game: {clean(str(refused))}") from None
    for number, move in enumerate(found.moves, 1):
        if replay.status.phase == OVER and move.move.lower() == "pass":
            continue  # servers write down a third pass
        if problem := await _play(replay, key, engine, move, rules.fill):
            replay.problem = f"move {number}, {move.colour} {clean(move.move)[:80]}: {problem}"
            return replay
    replay.problem = found.problem and clean(f"after move {len(found.moves)}: {found.problem}")
    return replay


async def _play(replay: _Replay, key: str, engine: Engine, move: FoundMove, fill: bool) -> str:
    """Play it, and a pass before it where that is asked for; what is wrong, "" if nothing is."""
    status = replay.status
    if status.phase == OVER:
        return "the game was over before it"
    if not _is_word(move.move):
        return "it is not one word"
    moves = [move]
    if status.to_play != move.colour:
        if not fill:
            return f"it is {status.to_play}'s turn (--fill lets the other side pass)"
        moves.insert(0, FoundMove(status.to_play, "pass"))
    for colour, word, left in moves:
        seat = replay.status.seat
        try:
            played, replay.status = await engine.play(colour, word)
        except Fault as fault:
            return clean(str(fault)) + ("" if word == move.move else " (the pass before it)")
        ply = len(replay.plies) + 1
        replay.plies.append(MovePlayed(ply, key, ply, seat, colour, played, 0, left))
    return ""


def _start(found: Found, key: str, engine: Engine, replay: _Replay, rules: Rules) -> MatchStarted:
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
        referee=_text(f"{rules.referee} {found.source}"),
        started=_text(found.date),
    )


async def _end(found: Found, key: str, engine: Engine, replay: _Replay) -> MatchEnded:
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
        counted = f"the engine's is {status.result}" if over else "the game is not over by the rules"
        detail = f"the file says {result}, {counted}" if result else f"the file says no result, {counted}"
    position, score = await engine.final()
    black = _black(replay)
    return MatchEnded(
        seq=len(replay.plies) + 1,
        match=key,
        result=result,
        winner={"B": black, "W": 3 - black}.get(result[:1], 0),
        termination=termination,
        detail="; ".join(filter(None, [detail, replay.problem])),
        plies=len(replay.plies),
        hash=position,
        score=score,
    )


def _black(replay: _Replay) -> int:
    """The seat that holds the black stones in the end."""
    status = replay.status
    seat, colour = status.seat, status.to_play
    if status.phase == OVER and replay.plies:
        seat, colour = replay.plies[-1].seat, replay.plies[-1].colour
    return seat if colour == "black" else 3 - seat


def _is_word(text: str) -> bool:
    return len(text) <= 8192 and bool(re.fullmatch(r"[^\s#]+", text)) and text.isprintable()


def _text(text: str) -> str:
    return clean(" ".join(text.split()))[:_MAX_TEXT]
