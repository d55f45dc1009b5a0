"""A native bot is a function from position to move and one line, `run(choose)`; the conversation is kept up here.

    from ggp.bots.sdk import Position, run

    def choose(position: Position) -> str:
        return position.legal_moves()[0]

    run(choose)

The bot then plays every installed game, natively and (go) over plain GTP; under GoGui it plays and rules the game that
the words `--gogui GAME [name=value …]` of its command line name. What it prints goes
to stderr, because stdout is the conversation's; so does what the programs that it calls print. When
`choose` raises, or names an illegal move, the bot answers `genmove` with `? ` and the reason, which costs the
game (`refused`) and stays in its record. An illegal move is not sent, because then the bot's own board and the
engine's would no longer be the same.
"""

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from fcntl import F_DUPFD_CLOEXEC, fcntl
from typing import Any, cast

from ggp.bots.clock import BotClock, parse_clock, parse_time_left, parse_time_settings
from ggp.bots.gogui import Clicks, split_words
from ggp.bots.options import BAD_USAGE, ScriptOptions, read_options
from ggp.bots.position import Position
from ggp.engines import gogui, gtp, gtpgo
from ggp.engines.game import IllegalMove, OptionError, SetupState, State
from ggp.engines.history import GameHistory
from ggp.engines.registry import Registry
from ggp.engines.session import Handler, Session, read_colour, syntax_error
from ggp.protocol.errors import CommandFailed, place_of
from ggp.protocol.responder import Responder
from ggp.protocol.transports.pipe import report_on_stderr, serve_stdio

__all__ = ["Bot", "Choose", "NoMove", "Position", "run"]

MOST_SEEDS = 2**31  # "set_random_seed": from 0 to one less, as GNU Go reads it

Choose = Callable[[Position], str]
"""What makes a bot: position -> a move of the game, in every phase (`swap-sides`, `bid:7`, `dead:` …), or `resign`."""

Told = Callable[[str, str], object]


class NoMove(Exception):
    """An exception for `choose` to raise without a move: it loses the game, and the record keeps str(), one line."""


PLAIN = "go"  # the game of those who speak GTP only and never say `ggp-new`


def run(  # noqa: PLR0913 - the keywords of the public interface
    choose: Choose,
    *,
    name: str = "",
    version: str = "1",
    games: Sequence[str] = (),
    analysis: bool = False,
    seed: Callable[[int], object] | None = None,
    told: Told | None = None,
    connect: str = "",
    key: str = "",
    server_key: str = "",
    challenges: bool = True,
    bind: str = "",
    engine: str | Sequence[str] = (),
    registry: Registry | None = None,
    words: Sequence[str] | None = None,
) -> None:
    """Answer stdin on stdout until `quit` or the end of input.

    name: by default that of the script. games: by default all that are installed. analysis: whether `choose`
    puts something into `position.analysis`. seed: is called before each match of a series that can be repeated;
    the bot then draws all chance from this number, so that the same match gets the same moves again.
    told: is called with `ggp-new` and the game with its options when a game begins, with `ggp-result` and the result
    when it is over.
    connect: tcp://host:port of a lobby that the bot dials instead, or its several addresses, separated by commas, with
    `key`, a file of `ggp keys new`, and `server_key`, the lobby's. What it prints or logs the lobby hears then, too, up
    to twenty lines a second; the first SIGTERM or Ctrl-C lets the game end, the second says goodbye at once.
    challenges: whether others may challenge it there to unrated games.
    bind: tcp://127.0.0.1:PORT, ipc://FILE or unix://FILE, at which the bot listens instead, each connection with a
    conversation of its own.
    engine: a command line or an address (tcp://, ipc://), or several: the bot then plays the games of that engine, too,
    and asks a process of its own about their rules. A position of them has the same methods.
    registry: which games there are, in place of those that are installed and of `engine`.
    words: of the command line, which say the same and win: `--connect URL --key FILE --server-key KEY --name NAME
    --no-challenges`, `--bind URL`, `--engine COMMAND|URL`, `--help`. By default those of the script; any other word
    ends it with status 2. A script with words of its own gives those that are left:
    `words=parser.parse_known_args()[1]`.
    """
    name = name or sys.argv[0].rpartition("/")[2].removesuffix(".py") or "bot"
    try:
        others, game = split_words(words or sys.argv[1:])
        said = ScriptOptions(connect, key, server_key, "", challenges, bind)
        said = read_options(name, others if words is None else split_words(words)[0], said).with_environment(os.environ)
        engines = [engine] if isinstance(engine, str) else list(engine)
        registry = registry or make_registry([said.engine] if said.engine else [one for one in engines if one])
        if game:
            Bot(choose, games=games, game=game, registry=registry)  # report an invalid game before the first command
    except (ValueError, CommandFailed) as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(BAD_USAGE)
    sys.stdout = sys.stderr

    def make() -> Responder:
        bot = Bot(choose, games=games, analysis=analysis, seed=seed, told=told, game=game, registry=registry)
        return Responder(name, version, bot.handlers(), report_on_stderr)

    if said.connect:
        from ggp.bots.dial_out import dial_out  # ZeroMQ, which most bots need not load
        from ggp.protocol.lobby_wire import Hello

        plays = games or registry.names()
        hello = Hello(said.name or name, tuple(plays), os.urandom(8).hex(), said.challenges)
        sys.exit(dial_out(said, hello, make))
    if said.bind:
        sys.exit(_listen(name, said.bind, make))
    try:
        serve_stdio(make(), *_take_stdio())
    except KeyboardInterrupt:
        sys.exit(130)


class _Forfeit(CommandFailed):
    """The answer of a bot without a move."""

    def with_analysis(self, analysis: dict[str, Any]) -> CommandFailed:
        """Return the failure with the analysis as its second line, as the answer with a move has it."""
        from json import dumps

        return CommandFailed(f"{self}\n{dumps(analysis, default=str)}" if analysis else str(self))


class Bot:
    """The commands of a bot, as handlers for a Responder; it reads and writes nothing itself."""

    def __init__(
        self,
        choose: Choose,
        *,
        games: Sequence[str] = (),
        analysis: bool = False,
        seed: Callable[[int], object] | None = None,
        told: Told | None = None,
        game: Sequence[str] = (),
        registry: Registry | None = None,
    ) -> None:
        """Create it with the arguments of `run`. Raises CommandFailed for an impossible game or option.

        Args:
            choose: See run, like all that are not named here.
            game: `GAME name=value …` to begin with, which the bot plays and rules for GoGui.
            registry: The games, None for those that are installed.
        """
        self._choose = choose
        self._analysis = analysis
        self._seed = seed
        self._told = told or (lambda command, words: None)
        self._seeded = 0  # what it was last told
        self._session = Session(registry or Registry(), gogui=bool(game))
        self._clicks = Clicks(self._session) if game else None
        self.games = tuple(games) or tuple(self._session.registry.names())
        self.times = BotClock()
        if game:
            self._new(list(game))

    @property
    def line(self) -> GameHistory | None:
        """Return the current game, kept by `play` and `genmove`."""
        return self._session.line

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers of all commands but those that Responder answers itself."""
        plain = {
            **gtp.handlers(self._session),
            **gtpgo.handlers(self._session),
            **gogui.handlers(self._session),
        }
        table: dict[str, Handler] = {
            **{name: self._with_a_game(handler) for name, handler in plain.items()},
            "genmove": self._with_a_game(self._genmove),
            "reg_genmove": self._with_a_game(self._reg_genmove),
            "place_free_handicap": self._with_a_game(self._place_free_handicap),
            "ggp-games": lambda arguments: "\n".join(self.games),
            "ggp-new": self._new,
            "ggp-clock": self._ggp_clock,
            "ggp-result": self._result,
            "time_settings": self._time_settings,
            "time_left": self._time_left,
        }
        if self._analysis:
            table["ggp-genmove_analyze"] = self._genmove_analyze
        if self._seed:
            table["set_random_seed"] = self._set_random_seed
        if self._clicks:
            table["komi"] = self._keeping_komi(table["komi"])
        menu = [entry for entry in gogui.MENU.split("\n") if entry.rpartition("/")[2] in table]
        table["gogui-analyze_commands"] = lambda arguments: "\n".join(menu)
        return table

    def _with_a_game(self, handler: Handler) -> Handler:
        """Start a game of go before the first command: plain GTP names no game and does not announce a new one."""

        def answer(arguments: list[str]) -> str:
            if self._session.line is None and PLAIN in self.games:
                self._session.new(PLAIN, [])
            return handler(arguments)

        return answer

    def _keeping_komi(self, komi: Handler) -> Handler:
        """Keep the komi of the command line: GoGui sends that of its own settings to a program, and none to a ruler."""

        def answer(arguments: list[str]) -> str:
            line, options = self._session.line, self._session.options
            komi(arguments)  # refuses what is no number
            self._session.line, self._session.options = line, options
            return ""

        return answer

    def _new(self, arguments: list[str]) -> str:
        if not arguments:
            raise syntax_error("ggp-new")
        if arguments[0] not in self.games:
            raise CommandFailed(f"this bot plays {' '.join(self.games)}, not {arguments[0][:40]}")
        self._session.new(arguments[0], arguments[1:])
        self._told("ggp-new", " ".join(arguments))
        return ""

    def _result(self, arguments: list[str]) -> str:
        self._told("ggp-result", " ".join(arguments))
        return ""

    def _genmove(self, arguments: list[str]) -> str:
        clicks = self._clicks
        if clicks is None or len(arguments) != 1 or self._session.need().state.phase == "over":
            return self._move(arguments, "genmove")[0]
        return clicks.next(read_colour(arguments[0]), lambda: self._move(arguments, "genmove", play=False)[0])

    def _genmove_analyze(self, arguments: list[str]) -> str:
        from json import dumps

        move, position = self._move(arguments, "ggp-genmove_analyze")
        return f"{move}\n{dumps(position.analysis if position else {}, default=str)}"

    def _reg_genmove(self, arguments: list[str]) -> str:
        """Answer `reg_genmove` of GTP's regression subset, deterministically for a given `seed`."""
        if self._seed:
            self._seed(self._seeded)
        return self._move(arguments, "reg_genmove", play=False)[0]

    def _place_free_handicap(self, arguments: list[str]) -> str:
        """Place as many handicap stones as asked for: on the fixed points first, then where `choose` says."""
        line = self._session.need()
        if not line.game.setup:
            raise CommandFailed("unknown command")
        text = arguments[0] if len(arguments) == 1 else ""
        if not (text.isascii() and text.isdigit()):
            raise syntax_error("place_free_handicap")
        if line.plies or line.state.groups():
            raise CommandFailed("board not empty")
        number, size = int(text[:9]), int(line.options["size"])
        if not 2 <= number < size * size:
            raise CommandFailed("invalid number of stones")
        scratch = GameHistory(line.game, {**line.options, "handicap": 0})
        for point in _fixed_points(line, number):
            scratch.play("black", point, any_turn=True)
        while len(scratch.plies) < number:
            state = _to_move(scratch, "black")
            free = [move for move in state.legal_moves() if move != "pass"]
            chosen = self._ask(Position(scratch, state, self.times))
            scratch.play("black", chosen.upper() if chosen.upper() in free else free[0], any_turn=True)
        points = [move for _, _, move in scratch.plies]
        self._session.line = GameHistory(line.game, line.options, points)
        return " ".join(points)

    def _move(self, arguments: list[str], command: str, play: bool = True) -> tuple[str, Position | None]:
        """Choose a move and play it. Return it, and the position as `choose` left it, None if it was not asked."""
        line = self._session.need()
        if len(arguments) != 1:
            raise syntax_error(command)
        colour = read_colour(arguments[0])
        if line.state.phase == "over":
            return "pass", None
        position = Position(line, _to_move(line, colour), self.times)
        try:
            move = self._ask(position)
        except _Forfeit as lost:
            raise lost.with_analysis(position.analysis if command == "ggp-genmove_analyze" else {}) from None
        if move.lower() == "resign":
            return "resign", position
        try:
            return line.play(colour, move, any_turn=True) if play else _to_move(line, colour).play(move), position
        except IllegalMove as error:
            raise _complaint(f"the bot chose an illegal move, {move!r}: {error}") from None

    def _ask(self, position: Position) -> str:
        """Return the answer of `choose`, which may not be a move. Raises CommandFailed."""
        try:
            move = self._choose(position)
        except NoMove as error:
            raise _Forfeit(str(_complaint(str(error)))) from None
        except Exception as error:
            if not isinstance(error, CommandFailed):  # which the engine of the game brought about
                traceback.print_exc()
            place = place_of(error)
            raise CommandFailed(f"the bot failed: {type(error).__name__}: {_short(str(error))}{place}") from None
        if not isinstance(move, str):
            raise _complaint(f"the bot chose {move!r}, which is no text")
        return move

    def _set_random_seed(self, arguments: list[str]) -> str:
        text = arguments[0] if len(arguments) == 1 else ""
        if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) < MOST_SEEDS):
            raise syntax_error("set_random_seed")
        if self._seed:
            self._seeded = int(text)
            self._seed(self._seeded)
        return ""

    def _ggp_clock(self, arguments: list[str]) -> str:
        return self._set_times(lambda: parse_clock(arguments))

    def _time_settings(self, arguments: list[str]) -> str:
        return self._set_times(lambda: parse_time_settings(arguments))

    def _time_left(self, arguments: list[str]) -> str:
        return self._set_times(lambda: parse_time_left(arguments, self.times))

    def _set_times(self, read: Callable[[], BotClock]) -> str:
        try:
            self.times = read()
        except ValueError as error:
            raise CommandFailed(f"syntax error: {_short(str(error))}") from None
        return ""


def make_registry(engines: Sequence[str]) -> Registry:
    """Return the installed games, with those of the engines. Raises OptionError."""
    if not engines:
        return Registry()
    from ggp.bots.engine_client import OPTIONAL_VARIABLE
    from ggp.bots.foreign_game import EngineRegistry  # what most bots need not load

    return EngineRegistry(engines, optional=os.environ.get(OPTIONAL_VARIABLE) == "1")


def _listen(name: str, url: str, make: Callable[[], Responder]) -> int:
    """Serve at this address until a signal; the exit status."""
    from ggp.engines.command import serve_at
    from ggp.protocol.errors import AddressError

    try:
        return serve_at(name, url, make)
    except AddressError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return BAD_USAGE


def _take_stdio() -> tuple[int, int]:
    """Return stdin and stdout as descriptors that programs of the bot do not inherit.

    They would eat commands, and answer them. Other readers of stdin find it empty from now on, and what is written to
    stdout goes to stderr.
    """
    stdin, stdout = (fcntl(descriptor, F_DUPFD_CLOEXEC, 3) for descriptor in (0, 1))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null if sys.stderr is None else 2, 1)
    return stdin, stdout


def _to_move(line: GameHistory, colour: str) -> State:
    """Return a copy of the position with that colour to move, which plain GTP may ask for out of turn (go)."""
    state = line.state.copy()
    if state.to_play != colour:
        if not line.game.setup or state.phase != "play":
            raise CommandFailed(f"it is {state.to_play}'s turn")
        cast(SetupState, state).set_to_play(colour)
    return state


def _fixed_points(line: GameHistory, most: int) -> list[str]:
    """Return GTP's handicap points of this board, at most so many."""
    for number in range(min(most, 9), 1, -1):
        with contextlib.suppress(OptionError):
            return [point for (point,) in GameHistory(line.game, {**line.options, "handicap": number}).state.groups()]
    return []


def _complaint(text: str) -> CommandFailed:
    """Print it for the bot's author, and return it as the answer that the record keeps."""
    text = _short(text)
    print(text, file=sys.stderr, flush=True)
    return CommandFailed(text)


def _short(text: str) -> str:
    return " ".join(text.split())[:300]
