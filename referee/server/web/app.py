"""The whole site of `ggp web` as an ASGI application."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ggp.referee.ladder.store.model import StoreError
from ggp.referee.server.web.answers import Answers
from ggp.referee.server.web.boards import BoardPool
from ggp.referee.server.web.follow import Follower
from ggp.referee.server.web.guard import Guard, QueryWords
from ggp.referee.server.web.ladder_routes import LadderRoutes
from ggp.referee.server.web.match_page import MatchRoutes
from ggp.referee.server.web.page_cache import PageCache
from ggp.referee.server.web.pages import STYLE, file_of
from ggp.referee.server.web.site import Site

if TYPE_CHECKING:
    from ggp.referee.server.web.seats import Seats

_WARM = 10  # pools whose pages are made before the first visitor asks for them
LEVEL = 6  # of gzip: 9 takes three times as long for a hundredth less
_STATIC = Path(__file__).parent / "static"


def make_app(
    site: Site,
    boards: BoardPool,
    follower: Follower,
    hosts: frozenset[str] = frozenset(),
    seats: "Seats | None" = None,
) -> Guard:
    """hosts: names by which the site may be called; empty for any. seats: None where nothing is played here."""
    return make_app_and_cache(site, boards, follower, hosts, seats)[0]


def make_app_and_cache(
    site: Site,
    boards: BoardPool,
    follower: Follower,
    hosts: frozenset[str] = frozenset(),
    seats: "Seats | None" = None,
) -> tuple[Guard, PageCache]:
    """Return the same application, and the cache in it, which can make pages before a visitor asks for them."""
    answers = Answers(site, seats is not None)
    app = _routes(answers, boards, follower, seats)
    packed = GZipMiddleware(app, minimum_size=500, compresslevel=LEVEL)
    pages = PageCache(packed, site.version, answers.later)
    return Guard(QueryWords(pages, app.routes), hosts, seats is not None), pages


def main_pages(site: Site) -> list[str]:
    """Return the addresses of the pages that visitors ask for most, the first page aside."""
    if not site.word:
        return []
    with contextlib.suppress(StoreError), site.store() as store:
        return [*(f"/pools/{file_of(pool.name)}" for pool in store.pools()[:_WARM]), "/games", "/events"]
    return []


def site_routes(site: Site, boards: BoardPool, follower: Follower, seats: "Seats | None" = None) -> Starlette:
    """The pages alone, without bounds and cache."""
    return _routes(Answers(site, seats is not None), boards, follower, seats)


def _routes(answers: Answers, boards: BoardPool, follower: Follower, seats: "Seats | None") -> Starlette:
    return Starlette(
        routes=[
            *LadderRoutes(answers, boards).routes(),
            *MatchRoutes(answers, boards, follower).routes(),
            *(_seat_routes(answers, seats, boards) if seats else ()),
            Route("/favicon.ico", _no_icon),
            Route(f"/{STYLE.file}", _style),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ],
        exception_handlers={HTTPException: answers.problem, Exception: answers.failure},
    )


def _seat_routes(answers: Answers, seats: "Seats", boards: BoardPool) -> list[Route]:
    from ggp.referee.server.web.seat_routes import (
        SeatRoutes,  # this loads ZeroMQ, which a site without seats does not need
    )

    return SeatRoutes(answers, seats, boards).routes()


async def _style(request: Request) -> Response:
    return Response(STYLE.text, media_type="text/css", headers={"cache-control": "max-age=31536000, immutable"})


async def _no_icon(request: Request) -> Response:
    return Response(status_code=204, headers={"cache-control": "max-age=86400"})
