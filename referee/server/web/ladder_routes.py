"""The pages of a ladder in `ggp web`: overview, pools, bots, pairs, tests, lists of matches, what is being played."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from urllib.parse import urlencode

from msgspec import to_builtins
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from ggp.protocol.drawing import svg
from ggp.protocol.records import MatchStarted, Party, Record
from ggp.protocol.rules_text import Rules
from ggp.referee.ladder.queries import (
    PoolSummary,
    bot_json,
    check_filter,
    matching,
    pair_json,
    read_bot,
    read_duel,
    read_game,
    read_meetings,
    since_when,
)
from ggp.referee.ladder.source import check_bots, chosen_pools, exact, the_pool
from ggp.referee.ladder.standings import entered, plain, pools_json, standings_json, title_of
from ggp.referee.ladder.store.model import EITHER_WAY, PAIR_POINTS, RESULTS, GameFilter, PoolRow
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.outcome import Termination
from ggp.referee.server.web.answers import NO_STORE, Answers, as_json, json_answer, number_of, paid
from ggp.referee.server.web.boards import BoardError, BoardPool
from ggp.referee.server.web.guard import Page
from ggp.referee.server.web.pages import LIMITS, file_of

FILTER = ("pool", "bot", "against", "seat", "result", "points", "termination", "since", "until")
SEATS = ("1", "2")
FORMS = ("jsonl", "csv", "sgf")
MEETINGS = 50  # pairs on a page of two bots
DOWNLOADED = 100_000  # matches in a file
SENT = 256 * 1024  # bytes of a file that are read at once
PAGE = 100  # matches on a page of the list
CSV_POOLS = 12  # pools whose files are offered one by one
EVENTS = 50
NEWEST = 14  # results on the first page


class LadderRoutes:
    """The handlers."""

    def __init__(self, answers: Answers, boards: BoardPool) -> None:
        self._answers, self._site, self._boards = answers, answers.site, boards

    def routes(self) -> list[Route]:
        return [
            Page("/", self.index),
            Page("/index.html", self.index),
            Page("/pools/{file}", self.pool, "from"),
            Page("/bots/{file}", self.bot),
            Page("/pair", self.pair, "a b pool before"),
            Page("/test", self.test),
            Page("/find", self.find, "q"),
            Page("/emblem/{file}", self.emblem),
            Page("/games", self.games, f"{' '.join(FILTER)} before"),
            Page("/download", self.download, f"{' '.join(FILTER)} form"),
            Page("/events", self.events),
            Page("/live", self.live),
            Page("/take-part", self.take_part),
            Page("/rules/{file}", self.rules),
        ]

    def _pools(self, store: Store) -> list[PoolSummary]:
        return [PoolSummary(store, pool, self._site.form, self._site.rate) for pool in store.pools()]

    async def index(self, request: Request) -> Response:
        if not self._site.word:
            return await self.live(request)

        def read() -> Response:
            with self._site.store() as store:
                pools = self._pools(store)
                if as_json(request):
                    objects = {pool.pool.name: standings_json(pool.standings) for pool in pools}
                    return json_answer(pools_json(objects))
                bots = sorted({seat.name for pool in pools for seat in pool.standings.seats})
                return self._answers.page(
                    request,
                    "overview.html",
                    pools=pools,
                    total=sum(pool.totals.games for pool in pools),
                    bots=bots,
                    heads=self._site.playing(),
                    newest=list(store.games(limit=NEWEST)),
                    json="index.html?format=json",
                )

        return await self._answers.timed(read)

    async def pool(self, request: Request) -> Response:
        first = max(1, number_of(request, "from", 1, 2**31))

        def read() -> Response:
            with self._site.store() as store:
                pool = _pool_of(store, request)
                summary = PoolSummary(store, pool, self._site.form, self._site.rate)
                if as_json(request):
                    return json_answer(standings_json(summary.standings))
                return self._answers.page(request, "pool_page.html", pool=summary, first=first, json="?format=json")

        return await self._answers.timed(read)

    async def bot(self, request: Request) -> Response:
        def read() -> Response:
            with self._site.store() as store:
                pools = self._pools(store)
                names = {seat.name for pool in pools for seat in pool.standings.seats}
                name = next((name for name in names if file_of(name) == request.path_params["file"]), None)
                if name is None:
                    raise HTTPException(404, "There is no such bot: the first page lists all.")
                if as_json(request):
                    return json_answer(bot_json(pools, read_bot(pools, name, LIMITS["LOOKED_AT"]), name))
                return self._answers.page(request, "bot.html", pools=pools, name=name, json="?format=json")

        return await self._answers.timed(read)

    async def find(self, request: Request) -> Response:
        """Bots by some letters of their names; the page of the only one."""
        wanted = _word(request, "q").strip()

        def read() -> list[str]:
            with self._site.store() as store:
                return sorted({seat.name for pool in store.pools() for seat in store.seats(pool.id)})

        names = await self._answers.timed(read)
        found = [name for name in names if wanted.lower() in name.lower()]
        if as_json(request):
            return json_answer({"bots": found})
        if wanted and len(found) == 1:
            return RedirectResponse(f"bots/{file_of(found[0])}", 303)
        return await self._answers.timed(
            partial(
                self._answers.page,
                request,
                "find.html",
                wanted=wanted,
                found=found,
                json=_query(request, format="json"),
            )
        )

    async def emblem(self, request: Request) -> Response:
        """The middle of a pool's board, as it stood after a third of its newest match."""

        def read() -> Record:
            with self._site.store() as store:
                pool = _pool_of(store, request)
                newest = next(store.games(pool.id, limit=1), None)
                return read_game(store, newest.key) if newest else _unplayed(pool)

        record = await self._answers.timed(read)
        try:
            drawn = partial(self._boards.view, record.start, record.plies, len(record.plies) // 3)
            scene = (await self._answers.drawn(drawn)).scene
        except BoardError as error:
            raise HTTPException(404, f"{error}.") from None
        if scene is None:
            raise HTTPException(404, "The engine describes no positions of this game.")
        return Response(svg.emblem(scene), media_type="image/svg+xml", headers={"cache-control": "max-age=3600"})

    async def pair(self, request: Request) -> Response:
        """All matches between two bots, the first as `a` sees them."""
        one, other = _word(request, "a"), _word(request, "b")
        before = number_of(request, "before", 0, 2**53)

        def read() -> Response:
            with self._site.store() as store:
                pools = chosen_pools(store.pools(), _word(request, "pool") or None)
                check_bots([seat for pool in pools for seat in store.seats(pool.id)], one, other)
                duels = [read_duel(store, pool, one, other, self._site.form, self._site.rate) for pool in pools]
                found = [duel for duel in duels if duel]
                if not found:
                    raise HTTPException(400, "They are in no pool together.")
                if as_json(request):
                    objects = {duel.pool.name: pair_json(duel) for duel in found}
                    return json_answer(pools_json(objects))
                met = [(duel, *read_meetings(store, duel, before or None, MEETINGS)) for duel in found]
                return self._answers.page(
                    request, "pair.html", met=met, one=one, other=other, json=_query(request, format="json")
                )

        return await self._answers.timed(read)

    async def test(self, request: Request) -> Response:
        """The ladder's sequential test, pool by pool."""

        def read() -> Response:
            with self._site.store() as store:
                pools = self._pools(store)
                tested = [pool for pool in pools if pool.trial]
                if not tested:
                    raise HTTPException(404, "This ladder is no test of two versions, or nothing of it was played yet.")
                if as_json(request):
                    form, rate = self._site.form, self._site.rate
                    duels = [read_duel(store, pool.pool, *_tested(pool), form, rate) for pool in tested]
                    objects = {duel.pool.name: pair_json(duel) for duel in duels if duel}
                    return json_answer(pools_json(objects))
                return self._answers.page(request, "test.html", pools=tested, form=self._site.form, json="?format=json")

        return await self._answers.timed(read)

    async def games(self, request: Request) -> Response:
        words, before = _filter_words(request), number_of(request, "before", 0, 2**53)

        def read() -> Response:
            with self._site.store() as store:
                found = list(islice(matching(store, _as_filter(words), before or None), PAGE + 1))
                if as_json(request):
                    return json_answer({"games": [plain(row) for row in found[:PAGE]]})
                older = urlencode({**words, "before": found[PAGE - 1].id}) if len(found) > PAGE else ""
                pools = [pool.name for pool in store.pools(unrated=True)]
                return self._answers.page(
                    request,
                    "games.html",
                    pools=pools,
                    terminations=list(map(str, Termination)),
                    results=RESULTS,
                    points=PAIR_POINTS,
                    wanted=words,
                    games=found[:PAGE],
                    older=older and f"games?{older}",
                    downloads=_downloads(words, pools),
                    json=_query(request, format="json"),
                )

        return await self._answers.timed(read)

    async def download(self, request: Request) -> Response:
        """The matches of a filter, newest first, as records, results or SGF; a piece of them at a time is read."""
        from ggp.referee.ladder.export import exported  # 2.5 MiB, for regression tests above all

        words, form = _filter_words(request), _word(request, "form")
        if form not in FORMS:
            raise HTTPException(400, f"form is one of {', '.join(FORMS)}.")

        def begin() -> Iterator[bytes]:
            with self._site.store() as store:
                wanted = _as_filter(words)
                if form == "csv":
                    names = [pool.name for pool in store.pools(unrated=True)]
                    if wanted.pool is None and len(names) > 1:
                        raise HTTPException(400, f"A CSV file holds the matches of one pool: {_some_of(names)}.")
                    wanted = replace(wanted, pool=the_pool(store.pools(unrated=True), wanted.pool, "").name)
                check_filter(store, wanted)
                return islice(exported(store, wanted, form, False, []), DOWNLOADED)

        pieces = await self._answers.timed(begin)
        first = await self._answers.timed(partial(_some, pieces))

        async def rest() -> AsyncIterator[bytes]:
            piece = first
            while piece:
                yield piece
                await paid()
                piece = await self._answers.timed(partial(_some, pieces))

        headers = {**NO_STORE, "content-disposition": f'attachment; filename="matches.{form}"'}
        return StreamingResponse(rest(), media_type="text/plain; charset=utf-8", headers=headers)

    async def events(self, request: Request) -> Response:
        """What happened, and how the ladder is."""

        def read() -> Response:
            with self._site.store() as store:
                events = sorted(store.events(EVENTS), key=lambda event: event.at)
                if as_json(request):
                    return json_answer({"events": to_builtins(events)})
                seats = [(pool, seat) for pool in store.pools() for seat in store.seats(pool.id) if seat.suspended]
                return self._answers.page(
                    request,
                    "events.html",
                    events=events[::-1],
                    totals=store.totals(),
                    running=store.running(),
                    playing=len(self._site.playing()),
                    newest=next(store.games(limit=1), None),
                    suspended=[(pool.name, seat) for pool, seat in seats if entered(seat)],
                    json="?format=json",
                )

        return await self._answers.timed(read)

    async def live(self, request: Request) -> Response:
        def read() -> Response:
            heads = self._site.playing()
            if as_json(request):
                return json_answer({"playing": [head._asdict() for head in heads]})
            return self._answers.page(
                request, "live.html", heads=heads, trouble=self._site.trouble, json="?format=json"
            )

        return await self._answers.timed(read)

    async def take_part(self, request: Request) -> Response:
        def read() -> Response:
            with self._site.store() if self._site.word else contextlib.nullcontext() as store:
                pools, lobby = store.pools() if store else [], self._site.lobby
                if as_json(request):
                    listed = [{"pool": pool.name, "game": title_of(pool).partition(": ")[2]} for pool in pools]
                    return json_answer({"lobby": lobby and lobby._asdict(), "pools": listed})
                return self._answers.page(request, "take_part.html", pools=pools, lobby=lobby, json="?format=json")

        return await self._answers.timed(read)

    async def rules(self, request: Request) -> Response:
        """The rules of a pool's game in the engine's words, with the start and positions of its newest match."""

        def read() -> tuple[PoolRow, Record]:
            with self._site.store() as store:
                pool = _pool_of(store, request)
                newest = next(store.games(pool.id, limit=1), None)
                return pool, read_game(store, newest.key) if newest else _unplayed(pool)

        pool, record = await self._answers.timed(read)
        plies = len(record.plies)
        numbers = {plies: "the end", plies // 2: f"after {plies // 2} plies", 0: "the start"}
        rules, pictures, problem = Rules(""), [], ""
        try:
            rules = await self._answers.drawn(partial(self._boards.rules, pool.game))
            draw = partial(self._boards.view, record.start, record.plies)
            for number, what in () if as_json(request) else sorted(numbers.items()):
                if picture := (await self._answers.drawn(partial(draw, number))).svg:
                    pictures.append((what, picture, number))
        except BoardError as error:
            problem = self._site.without_folders(f"{error}.")
        if as_json(request):
            said = {
                "pool": pool.name,
                "game": pool.game,
                "options": pool.options,
                "rules": rules.text,
                "problem": problem,
            }
            return json_answer(said, NO_STORE)
        values = {"pool": pool, "rules": rules, "pictures": pictures, "problem": problem, "match": record.start.match}
        return await self._answers.timed(
            partial(self._answers.page, request, "rules.html", **values, json="?format=json")
        )


def _unplayed(pool: PoolRow) -> Record:
    """A match of the pool without plies."""
    bots, engine = (Party(name="seat 1"), Party(name="seat 2")), Party(name="engine")
    start = MatchStarted(match="", game=pool.game, options=pool.options, bots=bots, engine=engine, control=pool.control)
    return Record(start, (), None)


def _pool_of(store: Store, request: Request) -> PoolRow:
    """The pool whose file the path names."""
    for pool in store.pools(unrated=True):
        if file_of(pool.name) == request.path_params["file"]:
            return pool
    raise HTTPException(404, "There is no such pool: the first page lists all.")


def _some(pieces: Iterator[bytes]) -> bytes:
    """Of what is left to send, about as much as is sent at once; b"" at the end."""
    found, size = [], 0
    for piece in pieces:
        found.append(piece)
        size += len(piece) + 100  # a match that is left out takes time, too
        if size > SENT:
            break
    return b"".join(found)


def _downloads(words: dict[str, str], pools: list[str]) -> list[tuple[str, str]]:
    """Return what the matches of a filter can be taken as, each with its address; CSV is of one pool."""
    found = [("records", "jsonl", words), ("SGF", "sgf", words)]
    if "pool" in words or len(pools) == 1:
        found.append(("CSV", "csv", words))
    elif len(pools) <= CSV_POOLS:
        found += [(f"CSV of {pool}", "csv", {**words, "pool": pool}) for pool in pools]
    return [(text, f"download?{urlencode({**chosen, 'form': form})}") for text, form, chosen in found]


def _some_of(names: list[str]) -> str:
    """Return the first of many names, for a sentence."""
    return f"choose {', '.join(names[:CSV_POOLS])}{' or another one' if len(names) > CSV_POOLS else ''}"


def _word(request: Request, name: str) -> str:
    return request.query_params.get(name, "")[:100]


def _query(request: Request, **more: str) -> str:
    return "?" + urlencode({**request.query_params, **more})


def _filter_words(request: Request) -> dict[str, str]:
    """Those of a filter's words that the query has. HTTPException for one that none can be."""
    words = {name: word for name in FILTER if (word := _word(request, name))}
    allowed = {"termination": list(map(str, Termination)), "result": RESULTS, "seat": SEATS, "points": PAIR_POINTS}
    for name, values in allowed.items():
        if name in words and words[name] not in values:
            raise HTTPException(400, f"{name} is one of {', '.join(values)}.")
    of_bot = ("against", "seat", "result", "points")
    alone = [name for name in of_bot if name in words and words[name] not in EITHER_WAY]
    if alone and "bot" not in words:
        raise HTTPException(400, f"{alone[0]} goes with a bot.")
    return words


def _as_filter(words: dict[str, str]) -> GameFilter:
    """Raises UsageError for a date that is none. `until` is a day that counts, too."""
    since, until = (since_when(name, words.get(name)) for name in ("since", "until"))
    if until is not None and len(words["until"]) == len("2026-11-30"):
        until += min(timedelta(days=1), datetime.max.replace(tzinfo=until.tzinfo) - until)
    return GameFilter(
        words.get("pool"),
        words.get("bot"),
        words.get("against"),
        words.get("termination"),
        int(words.get("seat", "0")),
        words.get("result", ""),
        since,
        until,
        float(words["points"]) if "points" in words else None,
    )


def _tested(pool: PoolSummary) -> tuple[str, str]:
    assert pool.trial is not None
    return exact(pool.trial.new), exact(pool.trial.old)
