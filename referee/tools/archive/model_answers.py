"""What bots that ask a model or an agent have kept in their records: each question with its answer, and sums of them.

A bot's analysis comes from outside: whatever is not of this shape counts as no answers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta, structs

from ggp.protocol.printed import json_text
from ggp.protocol.records import Record
from ggp.referee.terminal import TextTable

MAX_TEXT = 64 * 1024  # characters; no analysis is longer
Said = Annotated[str, Meta(max_length=MAX_TEXT)]
Number = Annotated[int, Meta(ge=0, le=10**12)]
HEADS = (
    *("bot", "model", "legal", "games", "moves", "answers", "illegal", "unread", "rate", "failed"),
    *("tokens in", "out", "cost", "s"),
)


class KeptAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question and its answer, as the bot wrote it.

    `named`: the move that it names; `illegal`: why it cannot be played; `unreadable`: why none was read; `failed`: why
    there is no answer. `tries`: requests that it took; `estimated`: whether the tokens are; `cut`: whether it ended at
    the limit of tokens. `picture`: the digest of the picture that was shown.
    """

    prompt: Said = ""
    picture: Said = ""
    answer: Said = ""
    named: Said = ""
    illegal: Said = ""
    unreadable: Said = ""
    failed: Said = ""
    tokens_in: Number = 0
    tokens_out: Number = 0
    estimated: bool = False
    cut: bool = False
    ms: Number = 0
    tries: Number = 0
    cost: Annotated[float, Meta(ge=0, le=1e12)] = 0.0


class KeptAnalysis(msgspec.Struct, frozen=True):
    """The part of a record that describes how a model chose one move.

    `legal` says how the prompt lists the legal moves, `board` how it shows the board. `system` is the system prompt; it
    is there for the first move of a match only.
    """

    model: Said
    answers: Annotated[list[KeptAnswer], Meta(max_length=1000)]
    legal: Said = ""
    board: Said = ""
    system: Said = ""


@dataclass(frozen=True, slots=True)
class AskedMove:
    """All questions of one turn. `played`: the move, "" where the turn ended the match without one."""

    ply: int
    seat: int
    colour: str
    played: str
    kept: KeptAnalysis


_decode = msgspec.json.Decoder(KeptAnalysis).decode


def asked_moves(record: Record) -> Iterator[AskedMove]:
    """The turns of a match for which a model was asked, in their order."""
    for ply in record.plies:
        if (kept := read_kept(ply.analysis)) is not None:
            yield AskedMove(ply.ply, ply.seat, ply.colour, ply.move, kept)
    end = record.end
    if end is not None and (kept := read_kept(end.analysis)) is not None:
        seat = 3 - end.winner if end.winner else {"seat1": 1, "seat2": 2}.get(end.culprit, 0)
        yield AskedMove(end.plies + 1, seat, "", "", kept)


def read_kept(analysis: str) -> KeptAnalysis | None:
    """None: it is another bot's."""
    if '"answers"' not in analysis:
        return None
    try:
        return _decode(analysis)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def transcript(record: Record) -> Iterator[bytes]:
    """A line of JSON for each question of a match: who was asked what, by which model, and what came of it."""
    systems: dict[int, str] = {}
    for move in asked_moves(record):
        kept = move.kept
        systems[move.seat] = kept.system or systems.get(move.seat, "")
        name = record.start.bots[move.seat - 1].name if move.seat else ""
        for number, answer in enumerate(kept.answers, 1):
            last = number == len(kept.answers)
            line: dict[str, Any] = {
                "match": record.start.match,
                "game": record.start.game,
                "ply": move.ply,
                "seat": move.seat,
                **({"colour": move.colour} if move.colour else {}),
                "bot": name,
                "model": kept.model,
                "legal": kept.legal,
                "board": kept.board,
                "question": number,
                "system": systems[move.seat],
                **structs.asdict(answer),
                "played": move.played if last else "",
            }
            yield f"{json_text(line)}\n".encode("utf-8", "backslashreplace")


@dataclass(slots=True)
class _Sums:
    games: int = 0
    moves: int = 0
    answers: int = 0
    illegal: int = 0
    unreadable: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    ms: int = 0


class ModelTable:
    """Sums by bot, model and how much is said of the legal moves."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str, str], _Sums] = {}

    def add(self, record: Record) -> None:
        seen = set()
        for move in asked_moves(record):
            name = record.start.bots[move.seat - 1].name if move.seat else ""
            key = name, move.kept.model, move.kept.legal
            sums = self._sums.setdefault(key, _Sums())
            sums.games += key not in seen
            seen.add(key)
            sums.moves += 1
            for answer in move.kept.answers:
                _add(sums, answer)

    def sheet(self) -> TextTable:
        """`rate`: of answers that were illegal or could not be read; tokens and cost are those of a game, seconds those
        of an answer."""
        sheet = TextTable(HEADS, frozenset({"bot", "model", "legal"}))
        for (name, model, legal), sums in sorted(self._sums.items()):
            read = max(1, sums.answers)
            games = max(1, sums.games)
            sheet.add(
                *(name, model, legal, sums.games, sums.moves, sums.answers, sums.illegal, sums.unreadable),
                f"{100 * (sums.illegal + sums.unreadable) / read:.1f}%",
                sums.failed,
                *(f"{sums.tokens_in / games:.0f}", f"{sums.tokens_out / games:.0f}"),
                *(f"{sums.cost / games:.4g}", f"{sums.ms / 1000 / read:.2f}"),
            )
        return sheet


def _add(sums: _Sums, answer: KeptAnswer) -> None:
    if answer.failed:
        sums.failed += 1
        return
    sums.answers += 1
    sums.illegal += bool(answer.illegal)
    sums.unreadable += bool(answer.unreadable)
    sums.tokens_in += answer.tokens_in
    sums.tokens_out += answer.tokens_out
    sums.cost += answer.cost
    sums.ms += answer.ms
