"""The pages of a ladder as a static site, for `ggp ladder report`."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from markupsafe import Markup

from ggp.protocol.input_files import read_input
from ggp.protocol.printed import json_text
from ggp.protocol.records import Record
from ggp.protocol.safe_files import replace_file
from ggp.referee.ladder.queries import PoolSummary, diagnostics, format_of, read_game
from ggp.referee.ladder.source import ViewError, chosen_pools, engines_of, read_top
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.server.web.boards import BoardError, BoardPool
from ggp.referee.server.web.match_page import match_page, position
from ggp.referee.server.web.pages import file_of, render
from ggp.referee.server.web.site import place_of

if TYPE_CHECKING:
    from ggp.referee.ladder.store.store import Store


Bar = Callable[[Sequence[str], str], Iterable[str]]  # names and what they are of -> the names, shown as they come
EVENTS = 50  # that are listed
INDEX = "index.html"


def write_report(
    store: "Store",
    ladder: str,
    output: Path,
    pool_name: str | None,
    each: "Bar",
    matches: int = 0,
    engine: str | None = None,
) -> int:
    """How many pages. `each` goes through bots and matches, and may show how far it is. ViewError, StoreError, OSError.

    `matches`: of each pool, those that get a page; `engine` draws them.
    """
    folder, form, name = Folder(output), format_of(ladder), name_of(ladder)
    pools = [PoolSummary(store, pool, form, whole=True) for pool in chosen_pools(store.pools(), pool_name)]
    bots = sorted({seat.name for pool in pools for seat in pool.standings.seats})
    of_pools = {f"pools/{file_of(pool.pool.name)}": pool for pool in pools if len(pools) > 1}
    kept = {row.key: row for pool in pools for row in store.games(pool.pool.id, limit=matches)}
    of_matches = {f"matches/{file_of(key)}": key for key in kept}
    folder.begin({INDEX, *of_pools, *of_matches, *(f"bots/{file_of(bot)}" for bot in bots)})
    common = {"ladder": name, "kept": kept}
    for bot in each(bots, "bots"):
        folder.write(f"bots/{file_of(bot)}", render("bot.html", root="../", pools=pools, name=bot, **common))
    for file, pool in of_pools.items():
        folder.write(file, render("pool_page.html", root="../", pool=pool, **common))
    with closing(BoardPool(read_engine(engine), {} if engine else engines_of(ladder))) as boards:
        for file in each(list(of_matches), "matches"):
            record, place = read_game(store, of_matches[file]), f"{place_of(ladder)}#{of_matches[file]}"
            folder.write(file, render("match.html", root="../", place=place, **_match(record, boards), **common))
    events = store.events(EVENTS)
    folder.write(INDEX, render("index.html", root="", pools=pools, bots=bots, events=events, **common))
    folder.close()
    return 1 + len(of_pools) + len(of_matches) + len(bots)


def _match(record: Record, boards: BoardPool) -> dict[str, object]:
    """For match.html: a match with all its positions. Lines that pictures have in common are there once."""
    views, lines = [], dict[str, int]()
    for ply in range(len(record.plies) + 1):
        try:
            views.append(position(record, ply, boards.view(record.start, record.plies, ply)))
        except BoardError as error:
            views.append(position(record, ply, None, f"{error}."))
    packed = [
        {**view, "svg": [lines.setdefault(line, len(lines)) for line in view["svg"].splitlines()]} for view in views
    ]
    data = json_text({"lines": list(lines), "views": packed}).replace("<", "\\u003c")
    script = (Path(__file__).parent / "static/match.js").read_text("utf-8")
    return {
        "match": match_page(record),
        "base": "",
        "ply": len(record.plies),
        "view": views[-1],
        "left": diagnostics(record.end),
        "positions": Markup(data),
        "script": Markup(script),
        "script_hash": f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
    }


def name_of(word: str) -> str:
    """What a ladder is called: as its file says, or as its store is."""
    if "://" in word:
        return Path(urlsplit(word).path).stem or "ladder"
    if not word.endswith(".toml"):
        return Path(word).stem
    from ggp.referee.ladder.config import ladder_name

    return ladder_name(word, read_top(word))


# -- The output folder: only files of the report; each is replaced atomically, and stale ones are removed.


MARKER = ".ggp-report"
_FIRST_LINE = "Files of `ggp ladder report`: it writes them again, and takes away those that it does not need any more."
_LARGEST_MARKER = 64 << 20  # bytes
_OURS = re.compile(r"index\.html|(?:bots|matches|pools)/[^/]+\.html")


class Folder:
    """Raises ViewError for a folder that holds other files, OSError where nothing can be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = _listed(path)
        self._pages: set[str] = set()

    def begin(self, pages: set[str]) -> None:
        """Say which pages will be written, so that a report that is cut off is known as one."""
        self._pages = pages
        self._path.mkdir(parents=True, exist_ok=True)
        self._mark(self._before | pages)

    def write(self, name: str, text: str) -> None:
        """A page; one that says the same stays as it is."""
        data = text.encode()
        path = self._path / name
        path.parent.mkdir(exist_ok=True)
        if not _holds(path, data):
            replace_file(path, data)

    def close(self) -> None:
        """Take away what was of an earlier report alone."""
        for name in sorted(self._before - self._pages):
            (self._path / name).unlink(missing_ok=True)
        self._mark(self._pages)

    def _mark(self, names: set[str]) -> None:
        replace_file(self._path / MARKER, "\n".join([_FIRST_LINE, *sorted(names), ""]).encode())


def _listed(path: Path) -> set[str]:
    """What an earlier report left. ViewError if there is anything and no report made it."""
    if path.exists() and not path.is_dir():
        raise ViewError(f"{path} is no folder: name another with -o")
    marker = path / MARKER
    if marker.is_file():
        lines = read_input(marker, _LARGEST_MARKER).decode("utf-8", "replace").splitlines()
        return {line for line in lines if _OURS.fullmatch(line) and ".." not in line.split("/")}
    if path.is_dir() and any(path.iterdir()):
        raise ViewError(f"{path} holds files that are not of a report: name a new folder or an empty one with -o")
    return set()


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read_input(path, len(data)) == data
    except OSError:  # it is not there, is larger, or is no file: replacing it says what is wrong
        return False
