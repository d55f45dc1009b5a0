"""What the handlers of `ggp web` share: reading in threads for a bounded time, pages, problems in one sentence.

Threads are shared by address, and each address is charged for the work that is done for it; see FairPool and Visitor.
"""

import asyncio
import contextvars
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

import click
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ggp.protocol.drawing.scene import replace_unprintable
from ggp.protocol.errors import Problem
from ggp.protocol.printed import json_text
from ggp.referee.ladder.source import Trouble
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.server.web.boards import BoardError
from ggp.referee.server.web.fair_pool import FairPool, PoolBusy
from ggp.referee.server.web.guard import PATIENT, VISITOR, Receive, Scope, Send
from ggp.referee.server.web.pages import render
from ggp.referee.server.web.site import PATIENT_TIME, QUERY_TIME, Site

T = TypeVar("T")
DRAW_TIME = 12.0  # seconds that a board engine may take, the wait for a thread included
READERS, READERS_EACH = 16, 2  # threads that read at once; for one address
DRAWERS, DRAWERS_EACH = 16, 1  # threads that wait for board engines, of which there are two
READS_QUEUED, DRAWS_QUEUED = 40, 60  # calls of one address that wait: its streams; the 48 pictures of a wall of boards
NO_STORE = {"cache-control": "no-store"}
_SENTENCES = {404: "There is no such page.", 405: "This address is asked otherwise."}


class Answers:
    """See the module. `site` is what is read; `seats`: whether people play here."""

    def __init__(self, site: Site, seats: bool = False) -> None:
        self.site, self._seats = site, seats
        # Reading is charged by processor time, so a busy machine makes no visitor poorer; boards are drawn elsewhere.
        self._readers = FairPool(READERS, "reader", READERS_EACH, READS_QUEUED, time.thread_time)
        self._drawers = FairPool(DRAWERS, "drawer", DRAWERS_EACH, DRAWS_QUEUED, time.monotonic)

    async def timed(self, read: Callable[[], T]) -> T:
        """Read in a thread. Raises HTTPException for what is not there, takes too long or cannot be read now."""
        try:
            return await within(PATIENT_TIME if PATIENT.get() else QUERY_TIME, self._readers, read)
        except PoolBusy:
            raise HTTPException(503, "Your address asks for too much at once.", {"retry-after": "5"}) from None
        except TimeoutError:
            raise HTTPException(503, "This takes too long at the moment.", {"retry-after": "5"}) from None
        except (StoreError, Trouble, Problem) as error:
            text = error.format_message() if isinstance(error, click.ClickException) else str(error)
            raise HTTPException(503, f"{text}.", {"retry-after": "5"}) from None
        except click.ClickException as error:  # ViewError, UsageError
            raise HTTPException(400, f"{error.format_message()[:200]}.") from None

    async def drawn(self, call: Callable[[], T]) -> T:
        """What a board engine says. Raises BoardError."""
        try:
            return await within(DRAW_TIME, self._drawers, call)
        except (TimeoutError, PoolBusy):
            raise BoardError("too many boards are being drawn: try again in a moment") from None

    def page(self, request: Request, template: str, **values: Any) -> Response:
        text = render(template, **self._common(request), **values)
        return HTMLResponse(text, headers={"cache-control": "no-cache"})

    async def problem(self, request: Request, error: Exception) -> Response:
        """One sentence, as text to programs and as a page to browsers."""
        assert isinstance(error, HTTPException)
        headers = {**NO_STORE, **(error.headers or {})}
        if error.detail == HTTPStatus(error.status_code).phrase:  # the framework's words
            error.detail = _SENTENCES.get(error.status_code, f"{error.detail}.")
        error.detail = replace_unprintable(self.site.without_folders(error.detail))  # scripts show the text as it is
        if "text/html" in request.headers.get("accept", ""):
            values = {"status": error.status_code, "text": error.detail, "again": headers.get("retry-after")}
            text = render("problem.html", **self._common(request), **values)
            return HTMLResponse(text, error.status_code, headers)
        return Response(f"{error.detail}\n", error.status_code, headers, "text/plain; charset=utf-8")

    async def later(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say that a page is still being made; in a browser it comes by itself."""
        request = Request(scope)
        late = HTTPException(503, "This page is being made: it is here in a few seconds.", {"retry-after": "3"})
        await (await self.problem(request, late))(scope, receive, send)

    async def failure(self, request: Request, error: Exception) -> Response:
        *_, last = traceback.extract_tb(error.__traceback__)
        said = replace_unprintable(
            f"{request.url.path}: {type(error).__name__}: {error} ({last.filename}:{last.lineno})"
        )
        print(f"ggp web: {said}", file=sys.stderr, flush=True)
        return await self.problem(request, HTTPException(500, "This page has failed; the server's log says why."))

    def _common(self, request: Request) -> dict[str, Any]:
        """`root` leads from the page to the first one."""
        root = "../" * max(0, request.url.path.count("/") - 1)
        here = request.url.path[1:] or "index.html"
        common = {"site": True, "root": root, "here": here, "ladder": self.site.name, "places": self._places()}
        made = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        return {**common, "seats": self._seats, "store": self.site.word, "made": made}

    def _places(self) -> list[tuple[str, str, str, str]]:
        """The pages that every page leads to: address, name, a short name, icon."""
        store, seats = bool(self.site.word), self._seats
        places = (
            (True, ("index.html", "Home", "Home", "home")),
            (True, ("live", "Watch", "Watch", "watch")),
            (seats, ("seats", "Play", "Play", "play")),
            (store, ("games", "Matches", "Matches", "list")),
            (store or seats, ("take-part", "Enter a bot", "Enter", "plug")),
        )
        return [place for there, place in places if there]


async def within(seconds: float, pool: FairPool, call: Callable[[], T]) -> T:
    """Return the result of a call in a thread of the pool, at the expense of the visitor whose request this is.

    Raises:
        TimeoutError: It took too long; a call that has not begun then never does.
        PoolBusy: Too many calls of this visitor wait already.
    """
    visitor, context = VISITOR.get(), contextvars.copy_context()
    who, spent = (visitor.address, visitor.spend) if visitor else ("", _nobody_pays)
    future = pool.submit(who, lambda: context.run(call), spent)
    return await asyncio.wait_for(asyncio.wrap_future(future), seconds)


def _nobody_pays(seconds: float) -> None:
    """Of work that the site does by itself."""


async def paid() -> None:
    """Wait until the visitor has paid for the work done so far: a long download goes no faster than its share."""
    if (visitor := VISITOR.get()) is not None and (debt := visitor.debt()):
        await asyncio.sleep(debt)


def as_json(request: Request) -> bool:
    return request.query_params.get("format") == "json"


def json_answer(value: Any, headers: Mapping[str, str] | None = None) -> Response:
    """The same text as a command's `--json`."""
    return Response(f"{json_text(value)}\n", headers=headers, media_type="application/json")


def number_of(request: Request, name: str, default: int, most: int) -> int:
    """A number of the query. Raises HTTPException."""
    word = request.query_params.get(name)
    if word is None:
        return default
    if not (word.isascii() and word.isdecimal() and len(word) < 17 and int(word) <= most):
        raise HTTPException(404, f"{name} is a number from 0 to {most}.")
    return int(word)
