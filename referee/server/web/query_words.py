"""The words that the query of an address may have: an ASGI middleware in front of the page cache.

Any other word would make the same page again under another name, as often as a visitor likes. So unknown
words are refused, and the known ones are brought into one order, without those that say nothing.
"""

from collections.abc import Sequence
from operator import itemgetter
from urllib.parse import parse_qsl, urlencode

from starlette.routing import Match, Route

from ggp.protocol.drawing.scene import clean
from ggp.referee.server.web.guard import App, Receive, Scope, Send, refuse

FORMAT = "format"  # the word for a page as JSON


class Page(Route):
    """A route whose query may have these `words`, besides `format`; `several`: words that may be there repeatedly."""

    def __init__(self, path: str, endpoint: object, words: str = "", several: str = "", **options: object) -> None:
        super().__init__(path, endpoint, **options)  # type: ignore[arg-type]
        self.words = (*words.split(), *several.split(), FORMAT)
        self.several = several.split()


class QueryWords:
    """See the module. `routes` are asked in their order; a path that is none of them is no page."""

    def __init__(self, app: App, routes: Sequence[object]) -> None:
        self._app, self._routes = app, [route for route in routes if isinstance(route, Page)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["query_string"]:
            await self._app(scope, receive, send)
            return
        said: list[tuple[str, str]] = []
        if page := next((one for one in self._routes if one.matches(scope)[0] is not Match.NONE), None):
            pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            if wrong := _wrong(page, pairs):
                await refuse(send, 400, wrong)
                return
            said = sorted((pair for pair in pairs if pair[1]), key=itemgetter(0))
        await self._app({**scope, "query_string": urlencode(said).encode()}, receive, send)


def _wrong(page: Page, pairs: Sequence[tuple[str, str]]) -> str:
    """Return what is wrong with a query, in a sentence; "" if nothing is."""
    seen = set[str]()
    for name, value in pairs:
        if name not in page.words:
            return f'unknown word "{clean(name[:40])}" in the address: this page knows {", ".join(page.words)}'
        if name in seen and name not in page.several:
            return f"{name} is in the address twice: say it once"
        if name == FORMAT and value not in ("", "json"):
            return "format is json, or left out for the page"
        seen.add(name)
    return ""
