"""The pages of a match in `ggp web`: positions, the stream of one that is being played, its record in other forms."""

import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ggp.protocol.drawing.scene import clean
from ggp.protocol.records import Record, gtp_script
from ggp.referee.ladder.queries import diagnostics
from ggp.referee.ladder.views import game_json
from ggp.referee.server.web.answers import NO_STORE, Answers, as_json, json_answer, number_of
from ggp.referee.server.web.boards import BoardError, BoardPool, BoardView
from ggp.referee.server.web.follow import Follower
from ggp.referee.server.web.match_page import match_page, position
from ggp.referee.server.web.overlays import cell_finder
from ggp.referee.server.web.query_words import Page
from ggp.referee.server.web.site import FoundMatch, place_of


class MatchRoutes:
    """The handlers."""

    def __init__(self, answers: Answers, boards: BoardPool, follower: Follower) -> None:
        self._answers, self._site = answers, answers.site
        self._boards, self._follower = boards, follower

    def routes(self) -> list[Route]:
        key = "/match/{key}"
        return [
            Page(key, self.match, "ply move verify"),
            Page(key + "/ply/{ply:int}", self.ply),
            Page(key + "/why/{ply:int}", self.why, "move"),
            Page(key + "/picture/{ply:int}", self.picture),
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
        said = {"move": clean(move), "why": await self._why(record, self._ply_of(record, request), move)}
        return JSONResponse(said, headers=NO_STORE)

    async def picture(self, request: Request) -> Response:
        found = await self._find(request)
        view, problem = await self._draw(found.record, self._ply_of(found.record, request))
        if view is None or not view.svg:
            raise HTTPException(404, problem)
        return Response(view.svg, media_type="image/svg+xml", headers=_cached(found.record))

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
            return f"{clean(move)} is legal."
        cells_of = cell_finder(view.cells)
        begun = [legal for legal in view.legal if cells_of(legal)[:1] == [move]]
        if begun:
            return clean(f"{move} begins {len(begun)} legal moves, such as {' '.join(begun[:8])}.")
        try:
            why = await self._answers.drawn(partial(self._boards.why_illegal, record.start, record.plies, ply, move))
        except BoardError as error:
            return self._site.without_folders(f"{error}.")
        return f"{clean(move)} is not legal: {why}." if why else f"{clean(move)} is legal."

    async def _verify(self, record: Record) -> dict[str, Any]:
        """Whether the match comes out as recorded when it is played again now."""
        try:
            found = await self._answers.drawn(partial(self._boards.verify, record))
        except BoardError as error:
            return {"problem": self._site.without_folders(f"{error}.")}
        return {"as_recorded": True} if found is None else {"as_recorded": False, **found._asdict()}


def _cached(record: Record) -> dict[str, str]:
    """A match that is over does not change."""
    return {"cache-control": "max-age=3600" if record.end is not None else "no-cache"}


def _sgf(record: Record) -> str:
    from ggp.referee.tools.archive.export import sgf  # 2.5 MiB, for regression tests above all

    return sgf(record)
