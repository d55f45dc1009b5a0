"""THE table of what a lobby file may say beyond a ladder file: one row a key, for the reader and the reference page."""

from referee.ladder.keys import BOT, BUDGET, POOL, TOP, Form, Key
from referee.lobby.bounds import Bounds
from referee.lobby.challenges import Terms
from referee.lobby.lobby import Plan

_BOUNDS, _PLAN, _TERMS = Bounds(), Plan(), Terms()

NOWHERE = "none"  # where nobody may look on

LOBBY = (
    Key("listen", Form.TEXT, "Where bots dial in: `tcp://ADDRESS:PORT`.", "tcp://127.0.0.1:7711"),
    Key("keys", Form.FLAG, "Whether bots must prove who they are. Without keys only a loopback address.", True),
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
    Key("spectators", Form.WHOLE, "Connections of those who look on, all in all.", 500, least=1, most=10_000),
    Key("engines", Form.WHOLE, "Processes of an engine; each plays many matches.", 0, "one a core", 1, 256),
    Key("matches", Form.WHOLE, "Matches at a time.", _PLAN.matches, least=1, most=10_000),
    Key("pairing", Form.NUMBER, "Seconds between looks at who is idle.", _PLAN.pairing, least=0.01, most=3600),
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
    Key("hello", Form.NUMBER, "Seconds until a connection has said who it is.", _BOUNDS.hello, least=0.1, most=600),
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
    Key("local_matches", Form.FLAG, "Whether local bots also meet each other, not only who dials in.", False),
    Key(
        "nice",
        Form.WHOLE,
        "How far local bots stand back where processors are scarce (niceness), so that they delay nobody's clock.",
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
