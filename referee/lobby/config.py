"""Reads a lobby file: a ladder file without dialled-in bots, and the table `[lobby]`. It starts nothing."""

import os
from dataclasses import dataclass
from pathlib import Path

from protocol.errors import AddressError
from protocol.transports.zmq import check_listen, check_local, is_loopback
from referee.ladder.config import bots_of, budgets_of, engine_of, ladder_name, pools_of, read_store
from referee.ladder.toml_section import BOT, BUDGET, POOL, TOP, ConfigError, Form, Key, Section, dotted, read_toml
from referee.lobby.challenges import Terms
from referee.lobby.remote_bot import Local
from referee.lobby.server import Plan
from referee.lobby.sessions import Bounds
from referee.play.bot_spec import ENGINE
from referee.play.process import executable_hash, find_program
from referee.store.model import Entrant, Format, Ladder, Pool

_ADVICE = "name the lobby's file (ggp serve --init writes an example)"


@dataclass(frozen=True, slots=True)
class LobbyFile:
    """What a file says. `engines`: processes of each; the server's key pair and whom it lets in are files.

    `local` bots are the ladder's, too; `meet`: also each other; `nice`: niceness of their processes.
    `watch`: where anybody may look on, "" for nowhere; `watch_keys`: whether under the server's key.
    """

    ladder: Ladder
    plan: Plan
    listen: str
    keys: bool
    server_key: Path
    registry: Path
    engines: int
    connections: int
    arrivals: float
    local: tuple[Local, ...]
    meet: bool
    nice: int
    watch: str
    watch_keys: bool
    spectators: int


def read_lobby(path: Path, no_keys: bool = False, listen: str | None = None) -> LobbyFile:
    """`no_keys` and `listen` as the command line says them. Raises ConfigError."""
    return lobby_of(read_toml(path, _ADVICE), path, no_keys, listen)


def lobby_of(values: dict[str, object], path: Path, no_keys: bool = False, listen: str | None = None) -> LobbyFile:
    """Of values that are read from the file, or to be written there. Raises ConfigError."""
    file, folder = str(path), path.absolute().parent
    top = Section(file, "", values, LOBBY_TOP)
    name = ladder_name(top, path)
    pools = pools_of(top, folder, engine_of(top, folder, None))
    for pool in pools:
        _check_engine(file, pool)
    ladder = Ladder(
        name=name,
        seed=top.whole("seed"),
        store=read_store(top, folder, name),
        pools=pools,
        bots=bots_of(top, folder, pools, LOCAL_BOT) if top.table("bot") else (),
        format=Format(),
        budgets=budgets_of(top),
        model=top.text("model"),
        path=file,
    )
    local = tuple(
        _local(bot, Section(file, dotted("bot", bot.name), top.table("bot")[bot.name], LOCAL_BOT))
        for bot in ladder.bots
    )
    return _with_table(ladder, local, Section(file, "lobby", top.table("lobby"), LOBBY), no_keys, listen)


def _local(bot: Entrant, section: Section) -> Local:
    if bot.start.url:
        raise section.error("command", f"{bot.start.url} is not started here: name a command line or a built-in bot")
    return Local(bot, section.whole("copies"), executable_hash(find_program(bot.start.argv[0])))


def _with_table(
    ladder: Ladder, local: tuple[Local, ...], own: Section, no_keys: bool, address: str | None
) -> LobbyFile:
    bounds = Bounds(
        grace=own.number("grace"),
        lag=own.whole("lag") / 1000,
        hello=own.number("hello"),
        connections=own.whole("bots"),
        matches=own.whole("owner_matches"),
        messages=own.whole("messages"),
        octets=own.whole("bytes"),
        rest=own.number("rest"),
    )
    terms = Terms(own.whole("challenges"), own.whole("challenge_pairs"), own.number("challenge_days"))
    plan = Plan(bounds, own.number("pairing"), own.number("drain"), own.whole("matches"), terms)
    listen, keys = address or own.text("listen"), own.flag("keys") and not no_keys
    try:
        (check_listen if keys else check_local)(listen)
    except AddressError as error:
        raise own.error("listen", str(error)) from None
    engines = own.whole("engines") or len(os.sched_getaffinity(0))
    folder = Path(ladder.path).absolute().parent
    pair, registry = folder / own.text("server_key"), folder / own.text("registry")
    watch, guarded = _watch(own)
    return LobbyFile(
        ladder=ladder,
        plan=plan,
        listen=listen,
        keys=keys,
        server_key=pair,
        registry=registry,
        engines=engines,
        connections=own.whole("connections"),
        arrivals=own.number("arrivals"),
        local=local,
        meet=own.flag("local_matches"),
        nice=own.whole("nice"),
        watch=watch,
        watch_keys=guarded,
        spectators=own.whole("spectators"),
    )


def _watch(own: Section) -> tuple[str, bool]:
    """Where spectators connect, and whether what they see is encrypted: it is, wherever others could listen."""
    watch = own.text("watch")
    if watch == NOWHERE:
        return "", False
    try:
        check_listen(watch)
    except AddressError as error:
        raise own.error("watch", f"{error}, or {NOWHERE}") from None
    return watch, not is_loopback(watch)


def _check_engine(file: str, pool: Pool) -> None:
    """One process plays many matches, so it must be an engine with a session for each client."""
    start = pool.engine
    if not start.url and start.argv != ENGINE:
        text = f"{start.command} is a program of its own: start it as a service and write tcp://host:port"
        raise ConfigError(file, f"{dotted('pool', pool.name)}.engine", text)


# -- the table of keys beyond those of a ladder file ------------------------------------------------------------------


_BOUNDS, _PLAN, _TERMS = Bounds(), Plan(), Terms()

NOWHERE = "none"  # no spectators

LOBBY = (
    Key("listen", Form.TEXT, "Where bots dial in: `tcp://ADDRESS:PORT`.", "tcp://127.0.0.1:7711"),
    Key(
        "keys",
        Form.FLAG,
        "Whether bots must authenticate with a key. Without keys only loopback addresses are accepted.",
        True,
    ),
    Key("server_key", Form.TEXT, "The key pair of the server, which `ggp keys` makes.", "server.key"),
    Key(
        "registry", Form.TEXT, "Whom it lets in, as `ggp keys allow` keeps it; read again when it changes.", "keys.json"
    ),
    Key(
        "watch",
        Form.TEXT,
        "Where anybody may look on; under the server's key, unless it is a loopback address. `none`: nowhere.",
        "tcp://127.0.0.1:7712",
    ),
    Key("spectators", Form.WHOLE, "Connections of spectators, in all.", 500, least=1, most=10_000),
    Key("engines", Form.WHOLE, "Processes of an engine; each plays many matches.", 0, "one a core", 1, 256),
    Key("matches", Form.WHOLE, "Matches at a time.", _PLAN.matches, least=1, most=10_000),
    Key("pairing", Form.NUMBER, "Seconds between two rounds of pairing.", _PLAN.pairing, least=0.01, most=3600),
    Key("grace", Form.NUMBER, "Seconds for a lost connection to come back.", _BOUNDS.grace, least=0, most=86_400),
    Key(
        "lag",
        Form.WHOLE,
        "Milliseconds of the way's time that are not charged, at most, for a move.",
        round(_BOUNDS.lag * 1000),
        least=0,
        most=10_000,
    ),
    Key(
        "rest",
        Form.NUMBER,
        "Seconds that a bot rests once it has forfeited or left three games in a row, twice as long each time after "
        "that, an hour at most; 0: not at all.",
        _BOUNDS.rest,
        least=0,
        most=3600,
    ),
    Key(
        "drain",
        Form.NUMBER,
        "Seconds that matches have to end when the lobby closes.",
        _PLAN.drain,
        least=0,
        most=86_400,
    ),
    Key(
        "hello", Form.NUMBER, "Seconds until a connection must have sent its hello.", _BOUNDS.hello, least=0.1, most=600
    ),
    Key("connections", Form.WHOLE, "Connections at a time, all in all.", 5000, least=1, most=100_000),
    Key(
        "arrivals",
        Form.NUMBER,
        "Connections a second from one address, five times as many at once; 0: any number.",
        200,
        least=0,
        most=10**6,
    ),
    Key("bots", Form.WHOLE, "Bots of one owner at a time.", _BOUNDS.connections, least=1, most=100_000),
    Key("owner_matches", Form.WHOLE, "Matches of one owner at a time.", _BOUNDS.matches, least=1, most=100_000),
    Key("messages", Form.WHOLE, "Messages a second of one owner.", _BOUNDS.messages, least=1, most=10**6),
    Key("bytes", Form.WHOLE, "Bytes a second of one owner.", _BOUNDS.octets, least=1000, most=10**10),
    Key(
        "challenges",
        Form.WHOLE,
        "Open challenges of one owner; 0: there are none.",
        _TERMS.challenges,
        least=0,
        most=1000,
    ),
    Key("challenge_pairs", Form.WHOLE, "Pairs of games of a challenge, at most.", _TERMS.pairs, least=1, most=1000),
    Key(
        "challenge_days",
        Form.NUMBER,
        "Days after which what is left of a challenge is withdrawn.",
        _TERMS.days,
        least=0.0001,
        most=365,
    ),
    Key("local_matches", Form.FLAG, "Whether local bots also play each other, not only dialled-in bots.", False),
    Key(
        "nice",
        Form.WHOLE,
        "Niceness of local bots, so that they do not delay matches where processors are scarce.",
        10,
        least=0,
        most=19,
    ),
)

_OF_BOTS = ("command", "options", "pools", "parent", "anchor", "environment", "memory")
LOCAL_BOT = (
    *(row for row in BOT if row.name in _OF_BOTS),
    Key("copies", Form.WHOLE, "Processes of it; each plays a match at a time.", 1, least=1, most=1000),
)

_SHARED = ("name", "seed", "store", "engine", "model", "budget", "pool")
LOBBY_TOP = (
    *(row for row in TOP if row.name in _SHARED),
    Key("lobby", Form.TABLE, "The server itself.", None, "as below"),
    Key("bot", Form.TABLE, "A table for each local bot, which the lobby runs itself: `[bot.NAME]`.", None, "none"),
)
LOBBY_TABLES: dict[str, tuple[Key, ...]] = {
    "": LOBBY_TOP,
    "lobby": LOBBY,
    "budget": BUDGET,
    "pool.NAME": POOL,
    "bot.NAME": LOCAL_BOT,
}


# -- the file that `ggp serve --init` writes --------------------------------------------------------------------------


EXAMPLE = """\
# A lobby: a server that bots dial in to, that pairs them, plays, and rates them. It runs as it is:
#
#     ggp serve {file} --no-keys
#
# A line that begins with # and a letter or bracket is an example: take the # away to use it.
# All that can be said: docs/reference/lobby-file.md

#name = "club"  # by default that of the file
#store = "club.db"  # where the games are kept, as a ladder's: ggp ladder standings club.db

[lobby]
listen = "tcp://127.0.0.1:7711"
#keys = false  # identities are not verified: only loopback addresses are accepted
#grace = 60  # seconds for a lost connection to come back to its match
#lag = 100  # ms of the way's time that are not charged, at most, for a move

#nice = 10  # how far the local bots below stand back where processors are scarce

# A pool is what can be compared: a game with its options, and a time control. Who offers the game plays in it.
[pool.main]
game = "yugo,size=7"
control = "10+0.1"  # 10 seconds for each side and a tenth more for each move
openings = 2  # random plies first, the same for both games of a pair

# A local bot is one that the lobby runs itself, a built-in one or a command line, so that somebody is always there to
# play with, and ratings have something to hold on to: `anchor` is its Elo. Copies are the same bot at several tables.
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
