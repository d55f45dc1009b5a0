"""What the handlers of `ggp web` share: reading in threads for a bounded time, pages, problems in one sentence."""

import asyncio
import sys
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, TypeVar

import click
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ggp.protocol.drawing.scene import clean
from ggp.protocol.errors import Problem
from ggp.protocol.printed import json_text
from ggp.referee.ladder.source import Trouble
from ggp.referee.store.model import StoreError
from ggp.referee.web.boards import BoardError
from ggp.referee.web.pages import render
from ggp.referee.web.site import QUERY_TIME, Site

T = TypeVar("T")
DRAW_TIME = 12.0  # seconds that a board engine may take, the wait for a thread included
READERS, DRAWERS = 16, 16  # threads that read at once, that wait for board engines
NO_STORE = {"cache-control": "no-store"}
_SENTENCES = {404: "There is no such page.", 405: "This address is asked otherwise."}


class Answers:
    """See the module. `site` is what is read; `seats`: whether people play here."""

    def __init__(self, site: Site, seats: bool = False) -> None:
        self.site, self._seats = site, seats
        # Pools of a fixed size: a thread that reads on after its time keeps its place, so that there are never more.
        self._readers = ThreadPoolExecutor(READERS, "reader")
        self._drawers = ThreadPoolExecutor(DRAWERS, "drawer")

    async def timed(self, read: Callable[[], T]) -> T:
        """Read in a thread. Raises HTTPException for what is not there, takes too long or cannot be read now."""
        try:
            return await within(QUERY_TIME, self._readers, read)
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
        except TimeoutError:
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
        error.detail = self.site.without_folders(error.detail)
        if "text/html" in request.headers.get("accept", ""):
            text = render("problem.html", **self._common(request), status=error.status_code, text=error.detail)
            return HTMLResponse(text, error.status_code, headers)
        return Response(f"{error.detail}\n", error.status_code, headers, "text/plain; charset=utf-8")

    async def failure(self, request: Request, error: Exception) -> Response:
        *_, last = traceback.extract_tb(error.__traceback__)
        said = clean(f"{request.url.path}: {type(error).__name__}: {error} ({last.filename}:{last.lineno})")
        print(f"ggp web: {said}", file=sys.stderr, flush=True)
        return await self.problem(request, HTTPException(500, "This page has failed; the server's log says why."))

    def _common(self, request: Request) -> dict[str, Any]:
        """`root` leads from the page to the first one."""
        root = "../" * max(0, request.url.path.count("/") - 1)
        here = request.url.path[1:]
        common = {"site": True, "root": root, "here": here, "ladder": self.site.name}
        return {**common, "seats": self._seats, "store": self.site.word}


async def within(seconds: float, pool: Executor, call: Callable[[], T]) -> T:
    """The result of a call in a thread of the pool. Raises TimeoutError; a call that has not begun then never does."""
    return await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(pool, call), seconds)


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
