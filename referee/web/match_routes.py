"""The pages of a match in `ggp web`: positions, the stream of one that is being played, its record in other forms."""

import contextlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import quote

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from protocol.records import Record, gtp_script
from referee.archive.export import sgf
from referee.ladder.queries import diagnostics
from referee.web.answers import NO_STORE, Answers, number_of, within
from referee.web.boards import BoardError, BoardPool, BoardView
from referee.web.follow import Follower
from referee.web.match_page import caption, match_page, score_lines
from referee.web.site import FoundMatch

DRAWERS = 16  # threads that wait for boards
DRAW_TIME = 12.0  # seconds that a board may take, the wait for a thread included


class MatchRoutes:
    """The handlers."""

    def __init__(self, answers: Answers, boards: BoardPool, follower: Follower) -> None:
        self._answers, self._site = answers, answers.site
        self._boards, self._follower = boards, follower
        self._drawers = ThreadPoolExecutor(DRAWERS, "drawer")

    def routes(self) -> list[Route]:
        key = "/match/{key}"
        return [
            Route(key, self.match),
            Route(key + "/ply/{ply:int}", self.ply),
            Route(key + "/picture/{ply:int}", self.picture),
            Route(key + "/stream", self.stream),
            Route(key + "/record", partial(self.download, "jsonl", lambda record: record.lines().decode())),
            Route(key + "/sgf", partial(self.download, "sgf", sgf)),
            Route(key + "/gtp", partial(self.download, "gtp", gtp_script)),
        ]

    async def match(self, request: Request) -> Response:
        found = await self._find(request)
        record = found.record
        ply = number_of(request, "ply", len(record.plies), len(record.plies))
        view, problem = await self._draw(record, ply)
        page = partial(
            self._answers.page,
            request,
            "match.html",
            match=match_page(record),
            base=f"../match/{quote(record.start.match, safe='')}",
            place=f"{self._site.word}#{record.start.match}",
            live=found.live is not None,
            ply=ply,
            times=[one.ms for one in record.plies],
            caption=caption(record, ply),
            picture=Markup(view.svg) if view else "",
            problem=problem,
            legal=view.legal if view else (),
            score=score_lines(view.score) if view else [],
            analysis=record.plies[ply - 1].analysis[:2000] if ply else "",
            left=diagnostics(record.end),
        )
        return await self._answers.timed(page)  # thousands of plies take a while

    async def ply(self, request: Request) -> Response:
        found = await self._find(request)
        record, ply = found.record, self._ply_of(found.record, request)
        view, problem = await self._draw(record, ply)
        said = {
            "ply": ply,
            "caption": caption(record, ply),
            "svg": view.svg if view else "",
            "legal": list(view.legal) if view else [],
            "problem": problem,
        }
        return JSONResponse(said, headers=_cached(record) if view else NO_STORE)

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
        await self._find(request)
        stream = self._follower.stream(request.path_params["key"], after)
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
            view = await within(DRAW_TIME, self._drawers, partial(self._boards.view, record.start, record.plies, ply))
        except TimeoutError:
            return None, "Too many boards are being drawn: try again in a moment."
        except BoardError as error:
            return None, f"{error}."
        return view, "" if view.svg else "The engine describes no positions of this game."


def _cached(record: Record) -> dict[str, str]:
    """A match that is over does not change."""
    return {"cache-control": "max-age=3600" if record.end is not None else "no-cache"}
