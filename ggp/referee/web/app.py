"""The whole site of `ggp web` as an ASGI application."""

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ggp.referee.web.answers import Answers
from ggp.referee.web.boards import BoardPool
from ggp.referee.web.follow import Follower
from ggp.referee.web.guard import Guard
from ggp.referee.web.ladder_routes import LadderRoutes
from ggp.referee.web.match_routes import MatchRoutes
from ggp.referee.web.page_cache import PageCache
from ggp.referee.web.site import Site

if TYPE_CHECKING:
    from ggp.referee.web.seats import Seats

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
    app = site_routes(site, boards, follower, seats)
    return Guard(
        PageCache(GZipMiddleware(app, minimum_size=500, compresslevel=LEVEL), site.version), hosts, seats is not None
    )


def site_routes(site: Site, boards: BoardPool, follower: Follower, seats: "Seats | None" = None) -> Starlette:
    """The pages alone, without bounds and cache."""
    answers = Answers(site, seats is not None)
    return Starlette(
        routes=[
            *LadderRoutes(answers, boards).routes(),
            *MatchRoutes(answers, boards, follower).routes(),
            *(_seat_routes(answers, seats, boards) if seats else ()),
            Route("/favicon.ico", _no_icon),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ],
        exception_handlers={HTTPException: answers.problem, Exception: answers.failure},
    )


def _seat_routes(answers: Answers, seats: "Seats", boards: BoardPool) -> list[Route]:
    from ggp.referee.web.seat_routes import SeatRoutes  # this loads ZeroMQ, which a site without seats does not need

    return SeatRoutes(answers, seats, boards).routes()


async def _no_icon(request: Request) -> Response:
    return Response(status_code=204, headers={"cache-control": "max-age=86400"})
