"""The pages of a ladder in `ggp web`: overview, pools, bots, lists of matches, what is being played."""

from itertools import islice
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from referee.ladder.queries import GameFilter, PoolSummary, check_filter, plain, standings_json
from referee.play.outcome import Termination
from referee.web.answers import Answers, as_json, json_answer, number_of
from referee.web.pages import file_of

PAGE = 100  # matches on a page of the list
EVENTS = 50


class LadderRoutes:
    """The handlers."""

    def __init__(self, answers: Answers) -> None:
        self._answers, self._site = answers, answers.site

    def routes(self) -> list[Route]:
        return [
            Route("/", self.index),
            Route("/index.html", self.index),
            Route("/pools/{file}", self.pool),
            Route("/bots/{file}", self.bot),
            Route("/games", self.games),
            Route("/live", self.live),
        ]

    async def index(self, request: Request) -> Response:
        if not self._site.word:
            return await self.live(request)

        def read() -> Response:
            with self._site.store() as store:
                pools = [PoolSummary(store, pool, self._site.form) for pool in store.pools()]
                if as_json(request):
                    objects = {pool.pool.name: standings_json(pool.standings) for pool in pools}
                    return json_answer(next(iter(objects.values())) if len(pools) == 1 else {"pools": objects})
                bots = sorted({seat.name for pool in pools for seat in pool.standings.seats})
                return self._answers.page(
                    request,
                    "index.html",
                    pools=pools,
                    bots=bots,
                    events=store.events(EVENTS),
                    json="index.html?format=json",
                )

        return await self._answers.timed(read)

    async def pool(self, request: Request) -> Response:
        def read() -> Response:
            with self._site.store() as store:
                pool = next((pool for pool in store.pools() if file_of(pool.name) == request.path_params["file"]), None)
                if pool is None:
                    raise HTTPException(404, "There is no such pool: the first page lists all.")
                summary = PoolSummary(store, pool, self._site.form)
                if as_json(request):
                    return json_answer(standings_json(summary.standings))
                return self._answers.page(request, "pool_page.html", pool=summary, json="?format=json")

        return await self._answers.timed(read)

    async def bot(self, request: Request) -> Response:
        def read() -> Response:
            with self._site.store() as store:
                pools = [PoolSummary(store, pool, self._site.form) for pool in store.pools()]
                names = {seat.name for pool in pools for seat in pool.standings.seats}
                name = next((name for name in names if file_of(name) == request.path_params["file"]), None)
                if name is None:
                    raise HTTPException(404, "There is no such bot: the first page lists all.")
                return self._answers.page(request, "bot.html", pools=pools, name=name)

        return await self._answers.timed(read)

    async def games(self, request: Request) -> Response:
        words = {name: request.query_params.get(name, "")[:100] for name in ("pool", "bot", "against", "termination")}
        before = number_of(request, "before", 0, 2**53)

        def read() -> Response:
            with self._site.store() as store:
                wanted = GameFilter(
                    words["pool"] or None, words["bot"] or None, words["against"] or None, words["termination"] or None
                )
                if words["termination"] and words["termination"] not in set(Termination):
                    raise HTTPException(400, f"No match ends by {words['termination']}.")
                pool = check_filter(store, wanted)
                rows = store.games(pool, wanted.bot, wanted.against, wanted.termination, before=before or None)
                found = list(islice(rows, PAGE + 1))
                if as_json(request):
                    return json_answer({"games": [plain(row) for row in found[:PAGE]]})
                given = {name: word for name, word in words.items() if word}
                older = urlencode({**given, "before": found[PAGE - 1].id}) if len(found) > PAGE else ""
                return self._answers.page(
                    request,
                    "games.html",
                    pools=[pool.name for pool in store.pools(unrated=True)],
                    terminations=list(map(str, Termination)),
                    wanted=words,
                    games=found[:PAGE],
                    older=older and f"games?{older}",
                    json="?" + urlencode({**given, "format": "json"}),
                )

        return await self._answers.timed(read)

    async def live(self, request: Request) -> Response:
        def read() -> Response:
            return self._answers.page(request, "live.html", heads=self._site.playing(), trouble=self._site.trouble)

        return await self._answers.timed(read)
