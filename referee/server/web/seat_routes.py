"""The pages of seats: what is offered, the board of a seat, its events, and the orders that a person gives.

A visitor has a cookie with a token of 128 bits that no script can read; its seats are those of this token. An order
is JSON, with a token that only a page of this site can name; Guard has checked origin and host before.
"""

import asyncio
import contextlib
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ggp.protocol.drawing.scene import Scene, replace_unprintable
from ggp.protocol.drawing.svg import SCALE
from ggp.referee.server.web.answers import NO_STORE, Answers, as_json, json_answer, within
from ggp.referee.server.web.boards import BoardError, BoardPool, BoardView, cell_finder
from ggp.referee.server.web.fair_pool import FairPool, PoolBusy
from ggp.referee.server.web.guard import MAX_BODY, Page, sender
from ggp.referee.server.web.match_page import beside
from ggp.referee.server.web.seats import NotNow, Place, Seats

COOKIE, CSRF = "ggp-visitor", "x-csrf-token"
_TOKEN = re.compile(r"[0-9a-f]{32}")
_YEAR = 365 * 86400  # seconds
_BODY_TIME = 5.0  # seconds for an order to arrive
DRAWERS, DRAWERS_EACH, DRAWS_QUEUED = 8, 2, 20  # threads that wait for boards; for one address; calls of it that wait
DRAW_TIME = 12.0  # seconds that a board may take
_CELLS = 100  # chosen cells that are looked at


class _Order(msgspec.Struct):
    """The body of a POST."""

    pool: str = ""
    opponent: str = ""
    invite: str = ""
    move: str = ""
    ply: int = 0


class SeatRoutes:
    """The handlers."""

    def __init__(self, answers: Answers, seats: Seats, boards: BoardPool) -> None:
        self._answers, self._seats, self._boards = answers, seats, boards
        self._drawers = FairPool(DRAWERS, "seat board", DRAWERS_EACH, DRAWS_QUEUED, time.monotonic)
        self.orders: dict[str, Callable[[Place, _Order], Awaitable[None]]] = {
            "move": self._move,
            "resign": self._resign,
            "rematch": self._rematch,
        }

    def routes(self) -> list[Route]:
        one = "/seats/{id}"
        return [
            Page("/seats", self.offers, "invite opponent"),
            Page("/seats", self.take, methods=["POST"]),
            Page(one, self.seat),
            Page(one + "/events", self.events),
            Page(one + "/position", self.position, several="cell"),
            *(Page(f"{one}/{word}", partial(self.order, word), methods=["POST"]) for word in self.orders),
        ]

    async def offers(self, request: Request) -> Response:
        """What may be played, or the invitation that a link is."""
        visitor = request.cookies.get(COOKIE, "")
        if not _TOKEN.fullmatch(visitor):
            visitor = secrets.token_hex(16)
        invite = request.query_params.get("invite", "")
        opponent = request.query_params.get("opponent", "")[:100]
        values: dict[str, Any] = {"csrf": _csrf(visitor), "invite": invite, "opponent": opponent}
        if invite:
            values["duel"] = duel = self._seats.host(invite).duel
            said: dict[str, object] = {"invitation": {"pool": duel.pool}}
        else:
            values["offers"] = offers = await self._seats.offers()
            said = {"pools": offers.pools, "bots": offers.bots}
        if as_json(request):
            return json_answer(said, NO_STORE)
        values["json"] = "?" + urlencode({**request.query_params, "format": "json"})
        answer = self._answers.page(request, "seats.html", **values)
        answer.headers["cache-control"] = "no-store"
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, visitor, _YEAR, path="/seats", secure=secure, httponly=True, samesite="strict")
        return answer

    async def take(self, request: Request) -> Response:
        visitor, order = _visitor(request), await _order(request)
        address = sender(request.scope)
        if order.invite:
            place = await self._seats.join(visitor, address, order.invite)
        else:
            place = await self._seats.take(visitor, address, order.pool, order.opponent)
        return JSONResponse({"seat": place.id}, 201, NO_STORE)

    async def seat(self, request: Request) -> Response:
        place = self._place(request)
        if as_json(request):
            return json_answer({**self._seats.state(place), "invite": ""}, NO_STORE)
        csrf = _csrf(request.cookies[COOKIE])
        answer = self._answers.page(request, "seat.html", csrf=csrf, seat=place.id, json="?format=json")
        answer.headers["cache-control"] = "no-store"
        return answer

    async def events(self, request: Request) -> Response:
        """The state of the seat as server-sent events."""
        stream = self._seats.stream(self._place(request))

        async def pieces() -> AsyncIterator[bytes]:
            async with contextlib.aclosing(stream):
                async for piece in stream:
                    yield piece

        headers = {**NO_STORE, "x-accel-buffering": "no"}
        if request.method == "HEAD":
            return Response(media_type="text/event-stream", headers=headers)
        return StreamingResponse(pieces(), media_type="text/event-stream", headers=headers)

    async def position(self, request: Request) -> Response:
        """The board, and the moves that begin with the chosen cells (`cell=D4&cell=D5`)."""
        found = self._place(request).seat.position()
        if found is None:
            raise HTTPException(404, "The match has not begun.")
        start, plies = found
        chosen = request.query_params.getlist("cell")[:_CELLS]

        def read() -> dict[str, Any]:
            return seat_position(self._boards.view(start, plies, len(plies)), chosen)

        return JSONResponse(await self._drawn(read), headers=NO_STORE)

    async def order(self, word: str, request: Request) -> Response:
        place, _, order = self._place(request), _visitor(request), await _order(request)
        try:
            await self.orders[word](place, order)
        except NotNow as error:
            raise HTTPException(409, str(error)) from None
        return JSONResponse({}, headers=NO_STORE)

    async def _move(self, place: Place, order: _Order) -> None:
        """An illegal move would lose the match, so the engine is asked before the lobby is."""
        found, word = place.seat.position(), order.move.strip()
        if found is None or len(found[1]) != order.ply:
            raise NotNow("The position is another one now.")
        start, plies = found
        if reason := await self._drawn(lambda: self._boards.why_illegal(start, plies, len(plies), word)):
            raise HTTPException(422, replace_unprintable(f"{word[:40]} is not legal: {reason}")[:300])
        place.seat.move(word, order.ply)

    async def _resign(self, place: Place, order: _Order) -> None:
        place.seat.resign()

    async def _rematch(self, place: Place, order: _Order) -> None:
        self._seats.rematch(place)

    def _place(self, request: Request) -> Place:
        return self._seats.find(request.path_params["id"], request.cookies.get(COOKIE, ""))

    async def _drawn(self, call: Callable[[], Any]) -> Any:
        try:
            return await within(DRAW_TIME, self._drawers, call)
        except (TimeoutError, PoolBusy):
            raise HTTPException(503, "Too many boards are being drawn.", {"retry-after": "1"}) from None
        except BoardError as error:
            raise HTTPException(503, f"{error}."[:300], {"retry-after": "1"}) from None


def _csrf(visitor: str) -> str:
    """What a page of this visitor sends with its orders."""
    return hmac.new(visitor.encode(), b"csrf", hashlib.sha256).hexdigest()


def _visitor(request: Request) -> str:
    """The visitor, whose order this is. Raises HTTPException."""
    visitor = request.cookies.get(COOKIE, "")
    said = request.headers.get(CSRF, "")
    if not _TOKEN.fullmatch(visitor) or not secrets.compare_digest(_csrf(visitor).encode(), said.encode()):
        raise HTTPException(403, "This order has no valid token: load the page again.")
    return visitor


async def _order(request: Request) -> _Order:
    """Raises HTTPException."""
    try:
        async with asyncio.timeout(_BODY_TIME):
            body = b""
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY:
                    raise HTTPException(413, f"An order has at most {MAX_BODY} bytes.")
        return msgspec.json.decode(body or b"{}", type=_Order)
    except TimeoutError:
        raise HTTPException(408, "The order did not arrive in time.") from None
    except msgspec.MsgspecError:
        raise HTTPException(400, "An order is a JSON object.") from None


MOST_MOVES = 2000  # in an answer; of more, those that begin with the chosen cells

Words = list[tuple[str, list[str]]]  # moves with their cells


def narrowed(words: Iterable[tuple[str, list[str]]], chosen: Sequence[str]) -> tuple[Words, bool]:
    """The moves that begin with the chosen cells, and whether these are all. Of too many, those with no other cell, and
    for each cell that may come next an entry without a move."""
    fitting = [(move, cells) for move, cells in words if cells[: len(chosen)] == list(chosen)]
    if len(fitting) <= MOST_MOVES:
        return fitting, True
    here = [(move, cells) for move, cells in fitting if len(cells) == len(chosen)]
    following = dict.fromkeys(cells[len(chosen)] for _, cells in fitting if len(cells) > len(chosen))
    return [*here[:MOST_MOVES], *(("", [*chosen, cell]) for cell in following)], False


def seat_position(view: BoardView, chosen: Sequence[str]) -> dict[str, Any]:
    """As JSON. `cells` are in the picture's lengths: `unit` is the distance of neighbours. `whole`: whether all
    moves are there that begin with the chosen cells."""
    scene = view.scene
    cells = [(replace_unprintable(cell.at), cell.x * SCALE, cell.y * SCALE) for cell in scene.cells] if scene else []
    cells_of = cell_finder(at for at, _, _ in cells)
    # A browser could not send any other word back, and would show what turns the reading direction.
    moves, whole = narrowed(((move, cells_of(move)) for move in view.legal if move.isprintable()), chosen)
    return {
        "ply": view.ply,
        "phase": view.status.phase,
        "colour": view.status.to_play,
        "svg": view.svg,
        "unit": SCALE,
        "cells": cells,
        "pieces": _pieces(scene) if scene else {},
        "moves": moves,
        "whole": whole,
        **beside(scene),
    }


def _pieces(scene: Scene) -> dict[str, str]:
    """`D4`: `black stone`."""
    return {
        replace_unprintable(piece.at): replace_unprintable(f"{piece.colour} {piece.kind}") for piece in scene.pieces
    }
