"""The pages of `ggp web`, and how each is answered. Reading blocks, so threads do it, each for a bounded time."""

import asyncio
import contextlib
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import click
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from protocol.drawing.scene import clean
from protocol.errors import Problem
from protocol.records import Record, gtp_script
from referee.archive.export import sgf
from referee.ladder.queries import (
    GameFilter,
    PoolSummary,
    check_filter,
    diagnostics,
    plain,
    standings_json,
)
from referee.ladder.source import Trouble
from referee.play.outcome import Termination
from referee.store.model import StoreError
from referee.web.boards import BoardError, BoardPool, BoardView
from referee.web.follow import Follower
from referee.web.guard import Guard
from referee.web.match_page import caption, match_page, score_lines
from referee.web.pages import file_of, render
from referee.web.site import FoundMatch, Site

T = TypeVar("T")
QUERY_TIME = 2.0  # seconds that a page may read
PAGE = 100  # matches on a page of the list
EVENTS = 50
READERS, DRAWERS = 16, 16  # threads that read at once, that wait for boards
DRAW_TIME = 12.0  # seconds that a board may take, the wait for a thread included
_NO_STORE = {"cache-control": "no-store"}
_STATIC = Path(__file__).parent / "static"


def make_app(site: Site, boards: BoardPool, follower: Follower, hosts: frozenset[str] = frozenset()) -> Guard:
    """The whole site as an ASGI application."""
    pages = _Pages(site, boards, follower)
    key = "/match/{key}"
    app = Starlette(
        routes=[
            Route("/", pages.index),
            Route("/index.html", pages.index),
            Route("/pools/{file}", pages.pool),
            Route("/bots/{file}", pages.bot),
            Route("/games", pages.games),
            Route("/live", pages.live),
            Route(key, pages.match),
            Route(key + "/ply/{ply:int}", pages.ply),
            Route(key + "/picture/{ply:int}", pages.picture),
            Route(key + "/stream", pages.stream),
            Route(key + "/record", partial(pages.download, "jsonl", lambda record: record.lines().decode())),
            Route(key + "/sgf", partial(pages.download, "sgf", sgf)),
            Route(key + "/gtp", partial(pages.download, "gtp", gtp_script)),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ],
        exception_handlers={HTTPException: pages.problem, Exception: pages.failure},
    )
    return Guard(GZipMiddleware(app, minimum_size=500), hosts)


class _Pages:
    """The handlers of the routes."""

    def __init__(self, site: Site, boards: BoardPool, follower: Follower) -> None:
        self._site, self._boards, self._follower = site, boards, follower
        # Pools of a fixed size: a thread that reads on after its time keeps its place, so that there are never more.
        self._readers = ThreadPoolExecutor(READERS, "reader")
        self._drawers = ThreadPoolExecutor(DRAWERS, "drawer")

    # -- the ladder -------------------------------------------------------------------------------------

    async def index(self, request: Request) -> Response:
        def read() -> Response:
            with self._site.store() as store:
                pools = [PoolSummary(store, pool, self._site.form) for pool in store.pools()]
                if _as_json(request):
                    objects = {pool.pool.name: standings_json(pool.standings) for pool in pools}
                    return JSONResponse(next(iter(objects.values())) if len(pools) == 1 else {"pools": objects})
                bots = sorted({seat.name for pool in pools for seat in pool.standings.seats})
                return self._page(
                    "index.html", pools=pools, bots=bots, events=store.events(EVENTS), json="index.html?format=json"
                )

        return await self._timed(read)

    async def pool(self, request: Request) -> Response:
        def read() -> Response:
            with self._site.store() as store:
                pool = next((pool for pool in store.pools() if file_of(pool.name) == request.path_params["file"]), None)
                if pool is None:
                    raise HTTPException(404, "There is no such pool: the first page lists all.")
                summary = PoolSummary(store, pool, self._site.form)
                if _as_json(request):
                    return JSONResponse(standings_json(summary.standings))
                return self._page("pool_page.html", "../", pool=summary, json="?format=json")

        return await self._timed(read)

    async def bot(self, request: Request) -> Response:
        def read() -> Response:
            with self._site.store() as store:
                pools = [PoolSummary(store, pool, self._site.form) for pool in store.pools()]
                names = {seat.name for pool in pools for seat in pool.standings.seats}
                name = next((name for name in names if file_of(name) == request.path_params["file"]), None)
                if name is None:
                    raise HTTPException(404, "There is no such bot: the first page lists all.")
                return self._page("bot.html", "../", pools=pools, name=name)

        return await self._timed(read)

    async def games(self, request: Request) -> Response:
        words = {name: request.query_params.get(name, "")[:100] for name in ("pool", "bot", "against", "termination")}
        before = _number(request, "before", 0, 2**53)

        def read() -> Response:
            with self._site.store() as store:
                wanted = GameFilter(
                    words["pool"] or None, words["bot"] or None, words["against"] or None, words["termination"] or None
                )
                if words["termination"] and words["termination"] not in set(Termination):
                    raise HTTPException(400, f"No match ends by {words['termination']}.")
                try:
                    pool = check_filter(store, wanted)
                except click.ClickException as error:
                    raise HTTPException(400, f"{error.format_message()[:200]}.") from None
                rows = store.games(pool, wanted.bot, wanted.against, wanted.termination, before=before or None)
                found = list(islice(rows, PAGE + 1))
                if _as_json(request):
                    return JSONResponse({"games": [plain(row) for row in found[:PAGE]]})
                given = {name: word for name, word in words.items() if word}
                older = urlencode({**given, "before": found[PAGE - 1].id}) if len(found) > PAGE else ""
                return self._page(
                    "games.html",
                    pools=[pool.name for pool in store.pools(unrated=True)],
                    terminations=list(map(str, Termination)),
                    wanted=words,
                    games=found[:PAGE],
                    older=older and f"games?{older}",
                    json="?" + urlencode({**given, "format": "json"}),
                )

        return await self._timed(read)

    async def live(self, request: Request) -> Response:
        return await self._timed(lambda: self._page("live.html", heads=self._site.playing()))

    # -- a match ----------------------------------------------------------------------------------------

    async def match(self, request: Request) -> Response:
        found = await self._find(request)
        record = found.record
        ply = _number(request, "ply", len(record.plies), len(record.plies))
        view, problem = await self._draw(record, ply)
        page = partial(
            self._page,
            "match.html",
            "../",
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
        return await self._timed(page)  # thousands of plies take a while

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
        return JSONResponse(said, headers=_cached(record) if view else _NO_STORE)

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

        headers = {**_NO_STORE, "x-accel-buffering": "no"}
        if request.method == "HEAD":
            await stream.aclose()
            return Response(media_type="text/event-stream", headers=headers)
        return StreamingResponse(events(), media_type="text/event-stream", headers=headers)

    async def download(self, ending: str, form: Callable[[Record], str | bytes], request: Request) -> Response:
        record = (await self._find(request)).record
        stem = "".join(one if one.isalnum() or one in "._-" else "_" for one in record.start.match)[:80]
        headers = {
            **_NO_STORE,
            "content-disposition": f'attachment; filename="{stem.encode("ascii", "replace").decode()}.{ending}"',
        }
        try:
            text = await self._timed(lambda: form(record))
        except ValueError as error:
            raise HTTPException(404, f"This match has no form {ending}: {error}"[:300]) from None
        return Response(text, media_type="text/plain; charset=utf-8", headers=headers)

    # -- problems ---------------------------------------------------------------------------------------

    async def problem(self, request: Request, error: Exception) -> Response:
        """One sentence, as text to programs and as a page to browsers."""
        assert isinstance(error, HTTPException)
        headers = {**_NO_STORE, **(error.headers or {})}
        if "text/html" in request.headers.get("accept", ""):
            root = "../" * max(0, request.url.path.count("/") - 1)
            text = render("problem.html", **self._common(root), status=error.status_code, text=error.detail)
            return HTMLResponse(text, error.status_code, headers)
        return Response(f"{error.detail}\n", error.status_code, headers, "text/plain; charset=utf-8")

    async def failure(self, request: Request, error: Exception) -> Response:
        *_, last = traceback.extract_tb(error.__traceback__)
        said = clean(f"{request.url.path}: {type(error).__name__}: {error} ({last.filename}:{last.lineno})")
        print(f"ggp web: {said}", file=sys.stderr, flush=True)
        return await self.problem(request, HTTPException(500, "This page has failed; the server's log says why."))

    # -- what the handlers share ------------------------------------------------------------------------

    async def _timed(self, read: Callable[[], T]) -> T:
        """Read in a thread. Raises HTTPException for what takes too long or cannot be read now."""
        try:
            return await _within(QUERY_TIME, self._readers, read)
        except TimeoutError:
            raise HTTPException(503, "This takes too long at the moment.", {"retry-after": "5"}) from None
        except (StoreError, Trouble, Problem) as error:
            text = error.format_message() if isinstance(error, click.ClickException) else str(error)
            raise HTTPException(503, f"{text}.", {"retry-after": "5"}) from None

    async def _find(self, request: Request) -> FoundMatch:
        found = await self._timed(partial(self._site.find, request.path_params["key"]))
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
            view = await _within(DRAW_TIME, self._drawers, partial(self._boards.view, record.start, record.plies, ply))
        except TimeoutError:
            return None, "Too many boards are being drawn: try again in a moment."
        except BoardError as error:
            return None, f"{error}."
        return view, "" if view.svg else "The engine describes no positions of this game."

    def _page(self, template: str, root: str = "", **values: Any) -> Response:
        return HTMLResponse(render(template, **self._common(root), **values), headers={"cache-control": "no-cache"})

    def _common(self, root: str) -> dict[str, Any]:
        return {"site": True, "root": root, "ladder": self._site.name}


async def _within(seconds: float, pool: Executor, call: Callable[[], T]) -> T:
    """The result of a call in a thread of the pool. Raises TimeoutError; a call that has not begun then never does."""
    return await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(pool, call), seconds)


def _as_json(request: Request) -> bool:
    return request.query_params.get("format") == "json"


def _number(request: Request, name: str, default: int, most: int) -> int:
    """A number of the query. Raises HTTPException."""
    word = request.query_params.get(name)
    if word is None:
        return default
    if not (word.isascii() and word.isdecimal() and len(word) < 17 and int(word) <= most):
        raise HTTPException(404, f"{name} is a number from 0 to {most}.")
    return int(word)


def _cached(record: Record) -> dict[str, str]:
    """A match that is over does not change."""
    return {"cache-control": "max-age=3600" if record.end is not None else "no-cache"}
