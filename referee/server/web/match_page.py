"""The page of a match: players, plies in words, analysis and score; the stream of a running match; other forms.

Text from outside is cleaned and cut here, because it reaches scripts as well as templates.
"""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ggp.protocol.drawing import svg
from ggp.protocol.drawing.scene import Scene, Token, replace_unprintable
from ggp.protocol.records import MatchEnded, MatchStarted, MovePlayed, Record, gtp_script
from ggp.referee.ladder.queries import diagnostics, game_json
from ggp.referee.match.analysis import analysis_facts, caption, decode, facts, read_analysis
from ggp.referee.match.engine import Status
from ggp.referee.server.web.answers import NO_STORE, Answers, as_json, json_answer, number_of
from ggp.referee.server.web.boards import BoardError, BoardPool, BoardView, cell_finder, with_overlays
from ggp.referee.server.web.follow import Follower
from ggp.referee.server.web.guard import Page
from ggp.referee.server.web.pages import CUT, in_words
from ggp.referee.server.web.site import FoundMatch, place_of


class MatchRoutes:
    """The handlers."""

    def __init__(self, answers: Answers, boards: BoardPool, follower: Follower) -> None:
        self._answers, self._site = answers, answers.site
        self._boards, self._follower = boards, follower

    def routes(self) -> list[Route]:
        key = "/match/{key}"
        return [
            Page("/live/stream", self.wall),
            Page(key, self.match, "ply move verify"),
            Page(key + "/ply/{ply:int}", self.ply),
            Page(key + "/why/{ply:int}", self.why, "move"),
            Page(key + "/picture/{ply:int}", partial(self.picture, False)),
            Page(key + "/thumb/{ply:int}", partial(self.picture, True)),
            Page(key + "/stream", self.stream, "after"),
            Page(key + "/record", partial(self.download, "jsonl", lambda record: record.lines().decode())),
            Page(key + "/sgf", partial(self.download, "sgf", _sgf)),
            Page(key + "/gtp", partial(self.download, "gtp", gtp_script)),
        ]

    async def match(self, request: Request) -> Response:
        found = await self._find(request)
        record = found.record
        if as_json(request):
            return json_answer(await self._answers.timed(partial(game_json, record)))
        ply = number_of(request, "ply", len(record.plies), len(record.plies))
        view = await self._view(record, ply)
        move = request.query_params.get("move", "")[:100].strip()
        page = partial(
            self._answers.page,
            request,
            "match.html",
            match=match_page(record),
            base=f"../match/{quote(record.start.match, safe='')}",
            place=f"{place_of(self._site.word)}#{record.start.match}",
            pool=await self._answers.timed(partial(self._site.pool_of, record.start.match)),
            live=found.live is not None,
            idle=found.live.idle() if found.live else 0,
            ply=ply,
            view=view,
            move=move,
            why=await self._why(record, ply, move) if move else "",
            verified=await self._verify(record) if "verify" in request.query_params else None,
            left=diagnostics(record.end),
            json="?format=json",
        )
        return await self._answers.timed(page)  # thousands of plies take a while

    async def ply(self, request: Request) -> Response:
        record = (await self._find(request)).record
        view = await self._view(record, self._ply_of(record, request))
        return JSONResponse(view, headers=NO_STORE if view["problem"] and not view["svg"] else _cached(record))

    async def why(self, request: Request) -> Response:
        """Why a move is not legal in a position, by the engine."""
        record = (await self._find(request)).record
        move = request.query_params.get("move", "")[:100].strip()
        said = {"move": replace_unprintable(move), "why": await self._why(record, self._ply_of(record, request), move)}
        return JSONResponse(said, headers=NO_STORE)

    async def picture(self, small: bool, request: Request) -> Response:
        """A position as a file of its own."""
        found = await self._find(request)
        view, problem = await self._draw(found.record, self._ply_of(found.record, request))
        if view is None or view.scene is None:
            raise HTTPException(404, problem)
        drawn = svg.draw(view.scene, f"{view.scene.game} after ply {view.ply}", thumbnail=small)
        return Response(drawn, media_type="image/svg+xml", headers=_cached(found.record))

    async def stream(self, request: Request) -> Response:
        """Server-sent events of a match; `Last-Event-ID` is the number of the last event that the browser has."""
        word = request.headers.get("last-event-id") or request.query_params.get("after") or "-1"
        after = int(word) if word.isdecimal() and len(word) < 10 else -1
        key = request.path_params["key"]
        if not self._follower.follows(key):
            await self._find(request)
        stream = self._follower.stream(key, after)
        try:
            first = await anext(stream)
        except KeyError:
            raise HTTPException(404, "There is no such match.") from None

        return await _events(request, stream, first)

    async def wall(self, request: Request) -> Response:
        """Stream the ply counts of the matches under way."""
        return await _events(request, self._follower.wall.stream(), b"")

    async def download(self, ending: str, form: Callable[[Record], str | bytes], request: Request) -> Response:
        record = (await self._find(request)).record
        stem = "".join(one if one.isalnum() or one in "._-" else "_" for one in record.start.match)[:80]
        headers = {
            **NO_STORE,
            "content-disposition": f'attachment; filename="{stem.encode("ascii", "replace").decode()}.{ending}"',
        }
        try:
            text = await self._answers.timed(lambda: form(record))
        except ValueError as error:
            raise HTTPException(404, f"This match has no form {ending}: {error}"[:300]) from None
        return Response(text, media_type="text/plain; charset=utf-8", headers=headers)

    async def _find(self, request: Request) -> FoundMatch:
        found = await self._answers.timed(partial(self._site.find, request.path_params["key"]))
        if found is None:
            raise HTTPException(404, "There is no such match.")
        return found

    def _ply_of(self, record: Record, request: Request) -> int:
        ply: int = request.path_params["ply"]
        if ply > len(record.plies):
            raise HTTPException(404, f"The match has the plies 0 to {len(record.plies)}.")
        return ply

    async def _draw(self, record: Record, ply: int) -> tuple[BoardView | None, str]:
        """The position, or why there is no picture of it."""
        try:
            view = await self._answers.drawn(partial(self._boards.view, record.start, record.plies, ply))
        except BoardError as error:
            return None, self._site.without_folders(f"{error}.")
        return view, "" if view.svg else "The engine describes no positions of this game."

    async def _view(self, record: Record, ply: int) -> dict[str, Any]:
        view, problem = await self._draw(record, ply)
        return position(record, ply, view, problem)

    async def _why(self, record: Record, ply: int, move: str) -> str:
        view, problem = await self._draw(record, ply)
        if view is None:
            return problem
        if move in view.legal:
            return f"{replace_unprintable(move)} is legal."
        cells_of = cell_finder(view.cells)
        begun = [legal for legal in view.legal if cells_of(legal)[:1] == [move]]
        if begun:
            return replace_unprintable(f"{move} begins {len(begun)} legal moves, such as {' '.join(begun[:8])}.")
        try:
            why = await self._answers.drawn(partial(self._boards.why_illegal, record.start, record.plies, ply, move))
        except BoardError as error:
            return self._site.without_folders(f"{error}.")
        return f"{replace_unprintable(move)} is not legal: {why}." if why else f"{replace_unprintable(move)} is legal."

    async def _verify(self, record: Record) -> dict[str, Any]:
        """Whether the match comes out as recorded when it is played again now."""
        try:
            found = await self._answers.drawn(partial(self._boards.verify, record))
        except BoardError as error:
            return {"problem": self._site.without_folders(f"{error}.")}
        return {"as_recorded": True} if found is None else {"as_recorded": False, **found._asdict()}


async def _events(request: Request, stream: AsyncGenerator[bytes, None], first: bytes) -> Response:
    """Answer with a stream of events whose beginning was read already."""

    async def events() -> AsyncIterator[bytes]:
        async with contextlib.aclosing(stream):
            yield first
            async for piece in stream:
                yield piece

    headers = {**NO_STORE, "x-accel-buffering": "no"}
    if request.method == "HEAD":
        await stream.aclose()
        return Response(media_type="text/event-stream", headers=headers)
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


def _cached(record: Record) -> dict[str, str]:
    """A match that is over does not change."""
    return {"cache-control": "max-age=3600" if record.end is not None else "no-cache"}


def _sgf(record: Record) -> str:
    from ggp.referee.match.record_forms import sgf  # 2.5 MiB, for regression tests above all

    return sgf(record)


_LINES = 40  # of a score, of an analysis
Facts = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class SeatLine:
    """A player: what it used and its longest move in ms, what its clock has left (None without a clock)."""

    number: int
    name: str
    program: str
    ms: int
    longest: int
    left: int | None
    stderr: str


@dataclass(frozen=True)
class MatchPage:
    """See the module. `winner` and `culprit` are names; `end` is None of a match that is not over."""

    start: MatchStarted
    plies: Sequence[MovePlayed]
    end: MatchEnded | None
    seats: tuple[SeatLine, SeatLine]
    winner: str
    culprit: str

    @property
    def title(self) -> str:
        return " – ".join(seat.name for seat in self.seats)

    @property
    def game(self) -> str:
        return " ".join([self.start.game, *(f"{name}={value}" for name, value in self.start.options.items())])

    @cached_property
    def rates(self) -> list[tuple[int, int, float]]:
        """(ply, seat of the bot that says so, the chance of seat 1 to win) wherever a bot said it."""
        found = ((ply, read_analysis(ply.analysis).winrate) for ply in self.plies if ply.analysis)
        return [(ply.ply, ply.seat, rate if ply.seat == 1 else 1 - rate) for ply, rate in found if rate is not None]


def match_page(record: Record) -> MatchPage:
    end, names = record.end, [bot.name for bot in record.start.bots]
    winner = names[end.winner - 1] if end and end.winner else ""
    culprit = end.culprit if end else ""
    if culprit in ("seat1", "seat2"):
        culprit = names[int(culprit[-1]) - 1]
    return MatchPage(record.start, record.plies, end, (_seat(record, 1), _seat(record, 2)), winner, culprit)


def _seat(record: Record, number: int) -> SeatLine:
    bot, end = record.start.bots[number - 1], record.end
    own = [ply for ply in record.plies if ply.seat == number]
    program = " ".join(word for word in (bot.program, bot.version) if word)
    left = own[-1].left if own else None
    used, longest = sum(ply.ms for ply in own), max((ply.ms for ply in own), default=0)
    stderr = end.stderr[number - 1] if end and len(end.stderr) >= number else ""
    return SeatLine(number, bot.name, program, used, longest, left, stderr)


def position(record: Record, ply: int, view: BoardView | None, problem: str = "") -> dict[str, Any]:
    """A position as the page shows it, in plain values; `view` None: there is no picture, and `problem` says why."""
    move, analysis = (record.plies[ply - 1].move, record.plies[ply - 1].analysis) if ply else ("", "")
    line = expected_line(move, analysis)
    status = view.status if view else Status("", "black", 1, ply)
    legal = view.legal if view else ()
    return {
        "ply": ply,
        "caption": _caption(record, ply),
        "words": in_words(move) if ply else "",
        "svg": with_overlays(view.svg, view.cells, legal, line, status.to_play) if view else "",
        "legal": [replace_unprintable(move) for move in legal],
        "score": score_table(view.score) if view else [],
        "analysis": _cleaned(analysis_facts(analysis)),
        "colours": colours(record, ply, status.to_play, status.seat),
        "to_play": status.seat,
        "left": [_left(record, seat, ply) for seat in (1, 2)],
        "problem": problem,
        **beside(view.scene if view else None),
    }


def beside(scene: Scene | None) -> dict[str, Any]:
    """Return the text beside a board: the tokens of each colour, the other tokens, the legend."""
    tokens = scene.tokens if scene else []
    return {
        "held": {colour: _said(tokens, colour) for colour in ("black", "white")},
        "tokens": _said(tokens, "none"),
        "legend": svg.legend(scene) if scene else [],
    }


def _said(tokens: Sequence[Token], owner: str) -> str:
    """Join the tokens of an owner; beside Black, "Black has captured 3" becomes "captured 3"."""
    texts = (replace_unprintable(token.text)[:CUT] for token in tokens if token.owner == owner)
    return ", ".join(text.removeprefix(f"{owner.capitalize()} has ") for text in texts)


def _left(record: Record, seat: int, number: int) -> str:
    """What the clock of a seat had left after so many plies; "" before its first one, and without a clock."""
    left = next((ply.left for ply in reversed(record.plies[:number]) if ply.seat == seat), None)
    return "" if left is None else f"{left / 1000:.2f} s"


def _caption(record: Record, number: int) -> str:
    """The caption of a position; of the last one the result, too."""
    text = caption(record, number, in_words)
    if record.end is not None and number == len(record.plies):
        text += f"; {record.end.result or 'void'}, {record.end.termination.replace('_', ' ')}"
    return replace_unprintable(text)


def colours(record: Record, number: int, to_play: str, seat: int) -> tuple[str, str]:
    """The colours of seats 1 and 2 after so many plies; `to_play` and `seat` as the engine says them."""
    if seat not in (1, 2) and number:
        to_play, seat = record.plies[number - 1].colour, record.plies[number - 1].seat
    first = to_play if seat != 2 else "white" if to_play == "black" else "black"
    return ("white", "black") if first == "white" else ("black", "white")


def expected_line(move: str, analysis: str) -> tuple[str, ...]:
    """Return the moves that a bot expects after its own."""
    pv = read_analysis(analysis).pv
    return pv[1:] if pv[:1] == (move,) else ()


def score_table(score: str) -> list[tuple[str, str, str]]:
    """Of a score as the engine's `ggp-score` says it: what it is made of, black's part and white's."""
    said = decode(score)
    sides = [said.get(colour) if isinstance(said, dict) else None for colour in ("black", "white")]
    known = [side if isinstance(side, dict) else {} for side in sides]
    black, white = (
        dict(_cleaned(facts({name: part for name, part in side.items() if part is not None}))) for side in known
    )
    return [(name, black.get(name, ""), white.get(name, "")) for name in {**black, **white}][:_LINES]


def _cleaned(said: Facts) -> Facts:
    return [(replace_unprintable(name)[:CUT], replace_unprintable(text)[:CUT]) for name, text in said]
