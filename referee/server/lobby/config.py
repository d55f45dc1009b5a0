"""The lobby file: a ladder file without dialled-in bots, with tables for the server. Reading it starts nothing."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, field, structs

from ggp.protocol.errors import AddressError
from ggp.protocol.lobby_wire import printable
from ggp.protocol.transports.zmq import check_listen, check_local, check_url, is_loopback, is_wildcard
from ggp.referee.ladder.bot_settings import SandboxTable
from ggp.referee.ladder.config import BotTable, PoolTable, Tables, TopTable, without_format
from ggp.referee.ladder.session import within_reach
from ggp.referee.ladder.store.model import Entrant, Ladder, Pool
from ggp.referee.ladder.toml_file import ConfigError, Table, Text, decode, dotted, key, read_toml
from ggp.referee.match.bot_spec import ENGINE, knowing
from ggp.referee.match.setting import Timeouts
from ggp.referee.server.lobby.remote_bot import Local

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}")
NAMES = "1 to 40 letters, digits, _ . or -, the first no . or -"
_ADVICE = "name the lobby's file (ggp serve --init writes an example)"
_Many = Annotated[int, Meta(ge=1, le=100_000)]
_Day = Annotated[float, Meta(ge=0, le=86_400)]
NOWHERE = "none"  # no spectators

# -- The tables beyond those of a ladder file, for the decoder and for the reference page.


class LobbyTopTable(TopTable, frozen=True):
    """The top of a lobby file."""

    lobby: Annotated[dict[str, Any], key("The server itself.", "as below")] = field(default_factory=dict)
    web: Annotated[
        dict[str, Any] | None, key("The pages in a browser, served by a process of their own (`ggp web`).", "none")
    ] = None
    front: Annotated[
        Tables, key("A table for each front process, where the lobby has several: `[front.NAME]`.", "none")
    ] = field(default_factory=dict)
    bot: Annotated[Tables, key("A table for each local bot, which the lobby runs itself: `[bot.NAME]`.", "none")] = (
        field(default_factory=dict)
    )


class LocalBotTable(BotTable, frozen=True, kw_only=True):
    """`[bot.NAME]` of a lobby."""

    copies: Annotated[int, Meta(ge=1, le=1000), key("Processes of it; each plays one match at a time.")] = 1


class LobbyTable(Table, frozen=True):
    """`[lobby]`."""

    listen: Annotated[Text, key("Where bots dial in: `tcp://ADDRESS:PORT`.")] = "tcp://127.0.0.1:7711"
    address: Annotated[
        str,
        key(
            "The address that bots dial, as *Take part* shows it: `tcp://HOST:PORT`. Needed if `listen` is a wildcard, "
            "as `tcp://0.0.0.0:7711`, or behind NAT.",
            "that of `listen`",
        ),
    ] = ""
    keys: Annotated[
        bool, key("Whether bots must authenticate with a key. Without keys only loopback addresses are accepted.")
    ] = True
    server_key: Annotated[Text, key("The key pair of the server, which `ggp keys` makes.")] = "server.key"
    registry: Annotated[
        Text, key("The keys that it lets in, as `ggp keys allow` writes them; read again when it changes.")
    ] = "keys.json"
    watch: Annotated[
        Text,
        key("Where spectators connect; under the server's key, unless it is a loopback address. `none`: nowhere."),
    ] = "tcp://127.0.0.1:7712"
    spectators: Annotated[int, Meta(ge=1, le=10_000), key("Connections of spectators, in all.")] = 500
    engines: Annotated[
        int, Meta(ge=1, le=256), key("Processes of an engine; each plays many matches.", "one a core")
    ] = 0
    matches: Annotated[int, Meta(ge=1, le=10_000), key("Matches at a time.")] = 1000
    pairing: Annotated[float, Meta(ge=0.01, le=3600), key("Seconds between two rounds of pairing.")] = 1.0
    grace: Annotated[_Day, key("Seconds for a lost connection to come back.")] = 60.0
    lag: Annotated[
        int, Meta(ge=0, le=10_000), key("Milliseconds of network delay that are not charged, at most, for a move.")
    ] = 100
    rest: Annotated[
        float,
        Meta(ge=0, le=3600),
        key(
            "Seconds before a bot is paired again that forfeited or left three games in a row, doubled each time after "
            "that, an hour at most; 0: none."
        ),
    ] = 60.0
    drain: Annotated[_Day, key("Seconds that matches have to end when the lobby closes.")] = 60.0
    hello: Annotated[float, Meta(ge=0.1, le=600), key("Seconds until a connection must have sent its hello.")] = 10.0
    connections: Annotated[_Many, key("Connections at a time, in all.")] = 5000
    arrivals: Annotated[
        float,
        Meta(ge=0, le=10**6),
        key("Connections a second from one address, five times as many at once; 0: any number."),
    ] = 200
    bots: Annotated[_Many, key("Bots of one owner at a time.")] = 100
    owner_matches: Annotated[_Many, key("Matches of one owner at a time.")] = 100
    messages: Annotated[int, Meta(ge=1, le=10**6), key("Messages a second of one owner.")] = 2000
    bytes: Annotated[int, Meta(ge=1000, le=10**10), key("Bytes a second of one owner.")] = 2_000_000
    challenges: Annotated[int, Meta(ge=0, le=1000), key("Open challenges of one owner; 0: there are none.")] = 10
    challenge_pairs: Annotated[int, Meta(ge=1, le=1000), key("Pairs of games of a challenge, at most.")] = 50
    challenge_days: Annotated[
        float, Meta(ge=0.0001, le=365), key("Days after which the rest of a challenge is withdrawn.")
    ] = 7.0
    local_matches: Annotated[bool, key("Whether local bots also play each other, not only dialled-in bots.")] = False
    nice: Annotated[
        int,
        Meta(ge=0, le=19),
        key("Niceness of local bots, so that they do not delay matches where processors are scarce."),
    ] = 10


class FrontTable(Table, frozen=True, kw_only=True):
    """`[front.NAME]`: one process of the lobby, `ggp serve FILE --front NAME`, on this machine or another."""

    listen: Annotated[Text, key("Where bots dial in at this front, in place of `lobby.listen`: `tcp://ADDRESS:PORT`.")]
    address: Annotated[
        str, key("The address that bots know it by: where other fronts send them.", "that of `listen`")
    ] = ""
    watch: Annotated[Text, key("Where its spectators connect, in place of `lobby.watch`.")] = NOWHERE


class WebTable(Table, frozen=True):
    """`[web]`."""

    listen: Annotated[Text, key("Where browsers connect: `HOST:PORT`.")] = "127.0.0.1:8080"
    hosts: Annotated[tuple[Text, ...], key("The names of the site; requests for others are refused.", "any")] = ()
    seats: Annotated[int, Meta(ge=0, le=200), key("Browsers that play at a time; 0: none.")] = 20
    nice: Annotated[int, Meta(ge=0, le=19), key("Niceness of the process, so that it does not delay matches.")] = 10


LOBBY_TABLES: dict[str, type[Struct]] = {
    "": LobbyTopTable,
    "lobby": LobbyTable,
    "web": WebTable,
    "front.NAME": FrontTable,
    "sandbox": SandboxTable,
    "budget": Timeouts,
    "pool.NAME": PoolTable,
    "bot.NAME": LocalBotTable,
}


@dataclass(frozen=True, slots=True)
class LobbyFile:
    """A lobby file, with the command line applied to it. Paths are absolute."""

    ladder: Ladder  # with the local bots
    table: LobbyTable
    listen: str
    keys: bool
    server_key: Path
    registry: Path
    local: tuple[Local, ...]
    watch: str  # where spectators connect, "" for nowhere
    watch_keys: bool  # spectators use the server's key
    web: WebTable | None
    front: str = ""  # the name of the front that this process is, "" if the lobby is one process
    address: str = ""  # of that front, or of the lobby, as bots dial it

    @property
    def warning(self) -> str:
        """What the operator should know at the start, "" for nothing."""
        if self.address or not is_wildcard(self.listen):
            return ""
        at = f"{_table(self.front)}.address"
        return f"{at}: bots cannot dial {self.listen}: write the address that they dial, as tcp://HOST:PORT"


def read_lobby(
    path: Path, no_keys: bool = False, listen: str | None = None, front: str = "", lenient: bool = False
) -> LobbyFile:
    """Read a lobby file. See lobby_of."""
    return lobby_of(read_toml(path, _ADVICE), path, no_keys, listen, front, lenient)


def lobby_of(
    values: dict[str, Any],
    path: Path,
    no_keys: bool = False,
    listen: str | None = None,
    front: str = "",
    lenient: bool = False,
) -> LobbyFile:
    """Return the lobby that the values of a file describe.

    Args:
        path: The file, which messages name and relative paths start from.
        no_keys, listen, front: The options of `ggp serve`, which override the file.
        lenient: Accept a local bot whose program is missing, and mark it as unfit.

    Raises:
        ConfigError: The file is invalid.
    """
    file, folder = str(path), path.absolute().parent
    top = decode(file, "", values, LobbyTopTable)
    table = decode(file, "lobby", top.lobby, LobbyTable)
    address, at = table.address, _table(front)
    _check(file, "lobby.address", check_url, address)
    if (own := _front(file, top, table, front)) is not None:
        table, address = structs.replace(table, listen=own.listen, watch=own.watch), own.address
    secrets = [str(folder / name) for name in (table.server_key, table.registry)]
    ladder = without_format(file, top, LocalBotTable, secrets, lenient)
    for pool in ladder.pools:
        _check_engine(file, pool)
        for name in ("resign", "draw"):
            if name in top.pool[pool.name]:
                raise ConfigError(file, f"{dotted('pool', pool.name)}.{name}", "is for ladders alone: remove it")
    listen, keys = listen or table.listen, table.keys and not no_keys
    watch = "" if table.watch == NOWHERE else table.watch
    _check(file, f"{at}.listen", check_listen if keys else check_local, listen)
    _check(file, f"{at}.watch", check_listen, watch, f", or {NOWHERE}")
    return LobbyFile(
        ladder=ladder,
        table=table,
        listen=listen,
        keys=keys,
        server_key=folder / table.server_key,
        registry=folder / table.registry,
        local=tuple(_local(file, bot, ladder.pools, top.bot[bot.name].get("copies", 1)) for bot in ladder.bots),
        watch=watch,
        watch_keys=watch != "" and not is_loopback(watch),
        web=None if top.web is None else decode(file, "web", top.web, WebTable),
        front=front,
        address=address,
    )


def dialled_address(table: LobbyTable, fronts: Sequence[FrontTable] = ()) -> str:
    """Return the address that bots dial, several with commas between if there are fronts; "" if none is known."""
    if table.address:
        return table.address
    known = [one.address or one.listen for one in fronts] or [table.listen]
    return ",".join(url for url in known if not is_wildcard(url))


def _table(front: str) -> str:
    """Return the name of the table that holds the addresses."""
    return dotted("front", front) if front else "lobby"


def _check(file: str, where: str, check: Callable[[str], object], url: str, advice: str = "") -> None:
    """Check an address, unless it is "". Raises ConfigError."""
    try:
        if url:
            check(url)
    except AddressError as error:
        raise ConfigError(file, where, f"{error}{advice}") from None


def _front(file: str, top: LobbyTopTable, table: LobbyTable, name: str) -> FrontTable | None:
    """Return the table of this front, None if the lobby is one process. Raises ConfigError."""
    tables = {one: decode(file, dotted("front", one), said, FrontTable) for one, said in top.front.items()}
    if not tables and not name:
        return None
    if not tables:
        problem = f"has no table [front.{printable(name, 60)}]: add it, or leave out --front"
        raise ConfigError(file, "front", problem)
    if name not in tables:
        wrong = f"there is no front {printable(name, 60)}" if name else "it runs as several processes"
        raise ConfigError(file, "front", f"{wrong}: add --front and one of {', '.join(tables)}")
    for one, said in tables.items():
        if not NAME.fullmatch(one):
            raise ConfigError(file, dotted("front", one), f"is no name of a front: {NAMES}")
        _check(file, f"{dotted('front', one)}.address", check_url, said.address)
    for place, refused, instead in (
        ("web", top.web is not None, f", and run ggp web {Path(file).name} beside the fronts"),
        ("lobby.local_matches", table.local_matches, ", and let a ladder play these games"),
        ("lobby.challenges", "challenges" in top.lobby and table.challenges > 0, ""),
    ):
        if refused:
            raise ConfigError(file, place, f"works in lobbies of one process only: leave it out{instead}")
    return tables[name]


def _local(file: str, bot: Entrant, pools: Sequence[Pool], copies: int) -> Local:
    if bot.start.url:
        problem = f"{bot.start.url} is not started here: name a command line or a built-in bot"
        raise ConfigError(file, f"{dotted('bot', bot.name)}.command", problem)
    if bot.start.cores > 1:
        problem = "has no effect in a lobby, which keeps no bot on one core: remove it"
        raise ConfigError(file, f"{dotted('bot', bot.name)}.cores", problem)
    bot = within_reach(bot, pools)
    start = knowing(bot.start, *(pool.engine for pool in pools if pool.name in bot.pools), optional=True)
    built = start.source is None or start.source.is_built
    return Local(replace(bot, start=start), copies, start.version if built else "")


def _check_engine(file: str, pool: Pool) -> None:
    """One process plays many matches, so it must be an engine with a session for each client."""
    start = pool.engine
    if not start.url and start.argv != ENGINE:
        text = f"{start.command} is a program of its own: start it as a service and write tcp://host:port"
        raise ConfigError(file, f"{dotted('pool', pool.name)}.engine", text)


# -- the file that `ggp serve --init` writes --------------------------------------------------------------------------


EXAMPLE = """\
# A lobby: a server that bots dial in to, that pairs them, plays, and rates them. It runs as it is:
#
#     ggp serve {file}
#
# A line that begins with # and a letter or bracket is an example: take the # away to use it.
# All that can be said: docs/reference/lobby-file.md

#name = "club"  # by default that of the file
#store = "club.db"  # where the games are kept, as a ladder's: ggp ladder standings club.db

[lobby]
listen = "tcp://127.0.0.1:7711"
keys = false  # identities are not verified: only loopback addresses are accepted
#grace = 60  # seconds for a lost connection to come back to its match
#lag = 100  # ms of the way's time that are not charged, at most, for a move

#nice = 10  # how far the local bots below stand back where processors are scarce

# The pages in a browser: standings, live matches, and a game against a bot, at http://127.0.0.1:8080/
[web]
listen = "127.0.0.1:8080"

# A pool is what can be compared: a game with its options, and a time control. Who offers the game plays in it.
[pool.main]
game = "yugo,size=7"
control = "10+0.1"  # 10 seconds for each side and a tenth more for each move
openings = 2  # random plies first, the same for both games of a pair

# Here people play from a browser, too: always unrated.
[pool.people]
game = "taigo"
control = "900+15"
seats = true

# What bots are kept from: files, network and processes of others, and more memory, disk and processor time than is
# theirs. docs/operating/run-strangers-bots.md
[sandbox]
level = "default"

# A local bot is one that the lobby runs itself, a built-in one or a command line, so that an opponent is always
# there to play with, and ratings have a reference: `anchor` is its Elo. Copies are the same bot in several matches.
[bot.random]
command = "random"
anchor = 0

[bot.greedy]
command = "greedy:playouts=20"
copies = 2

#[pool.go9]
#game = "go"
#options = {{ size = 9, komi = 6.5 }}
#control = "10x1"
"""


def example(file: str) -> str:
    """The text of the file, which its comments call `file`."""
    return EXAMPLE.format(file=file)
