"""THE table of what a ladder file may say: one row a key. It feeds the reader, its messages and the reference page.

Nothing is read here (see toml_section and config).
"""

from dataclasses import dataclass, fields
from enum import StrEnum

from referee.config import Budgets
from referee.ladder.entries import Format, Kind, Pool
from referee.play.clock import FORMS
from referee.ratings.sprt import MODELS, PRESETS

MOST_BOTS = 5000
MOST_POOLS = 1000
FARTHEST = 10_000.0  # Elo; an anchor beyond it is a slip of the pen


class Form(StrEnum):
    """What a value may be, in the words of messages and of the reference page."""

    TEXT = "text in quotes"
    WHOLE = "a whole number"
    NUMBER = "a number"
    FLAG = "true or false"
    NAMES = "a list of names"
    OPTIONS = "a table of options"
    TEXTS = "a table of texts in quotes"
    TABLE = "a table"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table. `least` and `most` bound a number, `choices` a text; () of `kinds`: every format knows it.

    `default` is what stands in the file's place; `otherwise` says it in words where the value would not.
    """

    name: str
    form: Form
    help: str
    default: object = None
    otherwise: str = ""
    least: float = 0
    most: float = 0
    choices: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()

    @property
    def domain(self) -> str:
        """What may be written, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.form in (Form.WHOLE, Form.NUMBER):
            return f"{self.form} from {self.least:g} " + (f"to {self.most:.10g}" if self.most < 2**40 else "up")
        return str(self.form)


_COMMAND = "a command line, or `tcp://host:port`"
_PAIRED = (Kind.ROUND_ROBIN, Kind.GAUNTLET, Kind.SWISS, Kind.TEST)
PAIRS = {Kind.ROUND_ROBIN: 10, Kind.GAUNTLET: 100, Kind.SWISS: 1, Kind.TEST: 10_000}

TOP = (
    Key("name", Form.TEXT, "Of the ladder.", "", "the file's name without `.toml`"),
    Key("seed", Form.WHOLE, "All chance of the ladder follows from it.", 1, least=0, most=2**63 - 1),
    Key(
        "store",
        Form.TEXT,
        "Where games are kept: a file for SQLite, beside this one if its path is relative, or a URL, as in "
        "`postgresql://ladder:${PASSWORD}@host/games`. `${NAME}` is a variable of the environment, here alone.",
        "",
        "`NAME.db`, NAME being that of the ladder",
    ),
    Key("engine", Form.TEXT, f"Who knows the rules: {_COMMAND}.", "", "the built-in one"),
    Key("model", Form.TEXT, "How ties are rated.", "davidson", choices=("davidson", "rao-kupper")),
    Key("format", Form.TABLE, "Who meets whom.", None, "a ladder"),
    Key("budget", Form.TABLE, "Seconds for everything apart from the clock.", None, "as below"),
    Key("pool", Form.TABLE, "A table for each pool: `[pool.NAME]`.", None, "needed"),
    Key("bot", Form.TABLE, "A table for each bot: `[bot.NAME]`.", None, "needed"),
)

FORMAT = (
    Key("kind", Form.TEXT, "Which format.", Kind.LADDER.value, choices=tuple(kind.value for kind in Kind)),
    Key(
        "pairs",
        Form.WHOLE,
        "Pairs of games that any two bots play who meet; of a test, after which it is given up.",
        0,
        ", ".join(f"{number} ({kind})" for kind, number in PAIRS.items()),
        1,
        10**9,
        kinds=_PAIRED,
    ),
    Key("rounds", Form.WHOLE, "Rounds to be played.", 9, least=1, most=1000, kinds=(Kind.SWISS,)),
    Key(
        "bots",
        Form.NAMES,
        "Of a gauntlet, who meets all others; of a test, the new version and the old one.",
        (),
        "needed by a gauntlet; of a test, the two bots of the file, the one with a `parent` as the new version",
        kinds=(Kind.GAUNTLET, Kind.TEST),
    ),
    Key(
        "share",
        Form.NUMBER,
        "Of all games of a pool, the most that one bot may have, while enough others are there.",
        Format().share,
        least=0.001,
        most=1,
        kinds=(Kind.LADDER,),
    ),
    Key("batch", Form.WHOLE, "Pairs that are scheduled at a time.", 0, "by the number of bots", 1, 100_000),
    Key(
        "preset",
        Form.TEXT,
        "What is tested, in place of `elo0`, `elo1` and `model`: "
        + ", ".join(f"`{name}` {test.elo0:g} against {test.elo1:g}" for name, test in PRESETS.items())
        + " (normalized Elo).",
        "",
        "`gate`",
        choices=tuple(PRESETS),
        kinds=(Kind.TEST,),
    ),
    Key(
        "elo0",
        Form.NUMBER,
        "H0: the new version is so much better.",
        None,
        "as `preset` says",
        -2000,
        2000,
        kinds=(Kind.TEST,),
    ),
    Key(
        "elo1",
        Form.NUMBER,
        "H1: the new version is so much better.",
        None,
        "as `preset` says",
        -2000,
        2000,
        kinds=(Kind.TEST,),
    ),
    Key("alpha", Form.NUMBER, "Risk of H1 where H0 is true.", 0.05, least=1e-9, most=0.5, kinds=(Kind.TEST,)),
    Key("beta", Form.NUMBER, "Risk of H0 where H1 is true.", 0.05, least=1e-9, most=0.5, kinds=(Kind.TEST,)),
    Key("model", Form.TEXT, "What Elo means.", MODELS[0], choices=MODELS, kinds=(Kind.TEST,)),
)

_BUDGETS = {
    "start": "From the launch of a program to its answers about name and commands.",
    "command": "Any other command.",
    "new": "A new game.",
    "agreement": "A list of dead stones.",
    "quit": "The answer to `quit`.",
    "grace": "After `quit`, and again after SIGTERM.",
    "stall": "After its clock, until a silent bot counts as stalled.",
}
BUDGET = tuple(
    Key(row.name, Form.NUMBER, _BUDGETS[row.name], row.default, least=0.001, most=3600) for row in fields(Budgets)
)

POOL = (
    Key("game", Form.TEXT, "A game that the engine knows, with options or without: `yugo,size=7`.", None, "needed"),
    Key("options", Form.OPTIONS, "Options of the game: `{ size = 7, komi = 6.5 }`.", (), "those of the game"),
    Key("control", Form.TEXT, f"The time of each side: {FORMS}.", "10+0.1"),
    Key("openings", Form.WHOLE, "Random plies before each pair of games, the same in both.", 0, least=0, most=1000),
    Key("margin", Form.WHOLE, "Milliseconds of overrun forgiven.", Pool.margin, least=0, most=60_000),
    Key(
        "max_plies",
        Form.WHOLE,
        "A longer game ends with the score of its position; one of a game that has no score is void.",
        0,
        "20 times the cells of the board",
        1,
        10**7,
    ),
    Key("engine", Form.TEXT, f"Who knows the rules: {_COMMAND}.", "", "that of the ladder"),
)

BOT = (
    Key("command", Form.TEXT, f"A built-in bot (`greedy`, `greedy:playouts=50`), {_COMMAND}.", None, "needed"),
    Key("options", Form.OPTIONS, "Options of a built-in bot: `{ playouts = 50 }`.", (), "those of the bot"),
    Key("pools", Form.NAMES, "Where it plays.", (), "all pools"),
    Key("parent", Form.TEXT, "The bot that it was made from, whose rating is the first guess at its own.", "", "none"),
    Key("anchor", Form.NUMBER, "Its Elo, if that is known.", None, "none", -FARTHEST, FARTHEST),
    Key("environment", Form.TEXTS, 'Variables for its process: `{ OMP_NUM_THREADS = "1" }`.', (), "none"),
    Key("cores", Form.WHOLE, "With more than one it may run on all of them.", 1, least=1, most=1024),
    Key("memory", Form.WHOLE, "MiB of address space that it may have.", 0, "no limit", 1, 1 << 30),
    Key("restart", Form.FLAG, "Start it anew for each game.", False),
)

TABLES: dict[str, tuple[Key, ...]] = {
    "": TOP,
    "format": FORMAT,
    "budget": BUDGET,
    "pool.NAME": POOL,
    "bot.NAME": BOT,
}
