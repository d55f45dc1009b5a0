"""The questions and answers that bots with a language model keep in their records, and statistics about them.

A bot's analysis is untrusted: any other form is ignored.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

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
    """One question and its answer, as the bot recorded it.

    Attributes:
        picture: The digest of the picture that was shown.
        named: The move that the answer names.
        illegal: Why that move cannot be played.
        unreadable: Why no move could be read.
        failed: Why there is no answer.
        estimated: The numbers of tokens are estimates.
        cut: The answer ended at the limit of tokens.
        tries: The number of requests.
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

    Attributes:
        legal: How the prompt lists the legal moves.
        board: How the prompt shows the board.
        system: The system prompt; only for the first move of a match.
    """

    model: Said
    answers: Annotated[list[KeptAnswer], Meta(max_length=1000)]
    legal: Said = ""
    board: Said = ""
    system: Said = ""


class AskedMove(NamedTuple):
    """All questions of one turn. `played` is the move; "" if the turn ended the match without one."""

    ply: int
    seat: int
    colour: str
    played: str
    kept: KeptAnalysis


_decode = msgspec.json.Decoder(KeptAnalysis).decode


def asked_moves(record: Record) -> Iterator[AskedMove]:
    """Yield the turns of a match in which a model was asked, in order."""
    for ply in record.plies:
        if (kept := read_kept(ply.analysis)) is not None:
            yield AskedMove(ply.ply, ply.seat, ply.colour, ply.move, kept)
    end = record.end
    if end is not None and (kept := read_kept(end.analysis)) is not None:
        seat = 3 - end.winner if end.winner else {"seat1": 1, "seat2": 2}.get(end.culprit, 0)
        yield AskedMove(end.plies + 1, seat, "", "", kept)


def read_kept(analysis: str) -> KeptAnalysis | None:
    """Return the analysis; None if it has another form."""
    if '"answers"' not in analysis:
        return None
    try:
        return _decode(analysis)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def transcript(record: Record) -> Iterator[bytes]:
    """Yield a line of JSON for each question of a match: who asked which model, and the answer."""
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


class ModelTable:
    """Sums by bot, model, and how the prompt lists the legal moves."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str, str], Counter[str]] = {}
        self._costs: defaultdict[tuple[str, str, str], float] = defaultdict(float)

    def add(self, record: Record) -> None:
        """Add a match."""
        seen = set()
        for move in asked_moves(record):
            name = record.start.bots[move.seat - 1].name if move.seat else ""
            key = name, move.kept.model, move.kept.legal
            sums = self._sums.setdefault(key, Counter())
            sums["games"] += key not in seen
            seen.add(key)
            sums["moves"] += 1
            for answer in move.kept.answers:
                if answer.failed:
                    sums["failed"] += 1
                    continue
                sums["answers"] += 1
                sums["illegal"] += bool(answer.illegal)
                sums["unreadable"] += bool(answer.unreadable)
                sums["tokens_in"] += answer.tokens_in
                sums["tokens_out"] += answer.tokens_out
                sums["ms"] += answer.ms
                self._costs[key] += answer.cost

    def sheet(self) -> TextTable:
        """Return the table.

        `rate` is the share of answers that were illegal or unreadable. Tokens and cost are per game, seconds per
        answer.
        """
        sheet = TextTable(HEADS, frozenset({"bot", "model", "legal"}))
        for key, sums in sorted(self._sums.items()):
            answers, games = max(1, sums["answers"]), max(1, sums["games"])
            sheet.add(
                *key,
                *(sums[name] for name in ("games", "moves", "answers", "illegal", "unreadable")),
                f"{100 * (sums['illegal'] + sums['unreadable']) / answers:.1f}%",
                sums["failed"],
                *(f"{sums[name] / games:.0f}" for name in ("tokens_in", "tokens_out")),
                *(f"{self._costs[key] / games:.4g}", f"{sums['ms'] / 1000 / answers:.2f}"),
            )
        return sheet
