"""The SDK: a native bot is a function from position to move and one line, `run(choose)`.

    from ggp.bots.sdk import Position, run

    def choose(position: Position) -> str:
        return position.legal_moves()[0]

    run(choose)

The bot then plays every installed game, natively and (go) over plain GTP. Under GoGui it plays, and knows the rules of,
the game given by `--gogui GAME [name=value …]`. Its output goes to stderr, because stdout is used for the conversation;
so does the output of programs that it starts. If `choose` raises, or returns an illegal move, the bot answers `genmove`
with `? ` and the reason. This loses the game (`refused`), and the reason stays in the record. An illegal move is never
sent, because the boards of the bot and the engine would then differ.
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

MOST_SEEDS = 2**31  # set_random_seed accepts 0 to one less, as GNU Go does

Choose = Callable[[Position], str]
"""The function that makes a bot. It returns a move in every phase (`swap-sides`, `bid:7`, `dead:` …), or `resign`."""

Told = Callable[[str, str], object]


class NoMove(Exception):
    """An exception that `choose` may raise instead of moving.

    The game is lost, and the record keeps str(), which should be one line.
    """


PLAIN = "go"  # the game of controllers that speak only GTP and never send `ggp-new`


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
    """Answer stdin on stdout until `quit` or the end of input, or dial a lobby, or listen.

    Args:
        choose: Returns a move for a position.
        name: Name of the bot; by default that of the script.
        version: Version of the bot.
        games: Games that it plays; by default all installed games.
        analysis: Whether `choose` puts data into `position.analysis`.
        seed: Called before each match of a repeatable series. The bot then derives all random choices from this number,
            so that the same match gives the same moves again.
        told: Called with `ggp-new` and the game with its options when a game begins, and with `ggp-result` and the
            result when it is over.
        connect: tcp://host:port of a lobby to dial, or its several addresses separated by commas. The bot's output and
            logging then go to the lobby too, at most twenty lines a second. The first SIGTERM or Ctrl-C lets the game
            end; the second one disconnects at once.
        key: For `connect`, a key file made by `ggp keys new`.
        server_key: For `connect`, the lobby's public key.
        challenges: Whether others may challenge the bot to unrated games at the lobby.
        bind: tcp://127.0.0.1:PORT, ipc://FILE or unix://FILE to listen at. Each connection has its own conversation.
        engine: A command line or an address (tcp://, ipc://) of an engine, or several. The bot also plays their games,
            and asks its own engine process about their rules. A position of these games has the same methods.
        registry: The games to use instead of the installed ones and those of `engine`.
        words: Words of the command line, by default the script's. They override the arguments above: `--connect URL
            --key FILE --server-key KEY --name NAME --no-challenges`, `--bind URL`, `--engine COMMAND|URL`, `--help`.
            Any other word ends the bot with status 2. A script with its own options passes on the rest:
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
        from ggp.bots.dial_out import dial_out  # imported late, because most bots do not need ZeroMQ
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
    """The answer of a bot that has no move."""

    def with_analysis(self, analysis: dict[str, Any]) -> CommandFailed:
        """Return the failure with the analysis as its second line, in the form of an answer with a move."""
        from json import dumps

        return CommandFailed(f"{self}\n{dumps(analysis, default=str)}" if analysis else str(self))


class Bot:
    """The commands of a bot, as handlers for a Responder; it does no I/O itself."""

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
        """Create a bot with the arguments of `run`.

        Args:
            choose: See run.
            games: See run.
            analysis: See run.
            seed: See run.
            told: See run.
            game: `GAME name=value …` to start with; the bot plays it and knows its rules, for GoGui.
            registry: The games; None for the installed ones.

        Raises:
            CommandFailed: The game or an option is impossible.
        """
        self._choose = choose
        self._analysis = analysis
        self._seed = seed
        self._told = told or (lambda command, words: None)
        self._seeded = 0  # the last seed received
        self._session = Session(registry or Registry(), gogui=bool(game))
        self._clicks = Clicks(self._session) if game else None
        self.games = tuple(games) or tuple(self._session.registry.names())
        self.times = BotClock()
        if game:
            self._new(list(game))

    @property
    def line(self) -> GameHistory | None:
        """Return the current game, which `play` and `genmove` update."""
        return self._session.line

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers of all commands, except those that Responder answers itself."""
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
        """Start a game of go before the first command, because plain GTP does not announce a new game."""

        def answer(arguments: list[str]) -> str:
            if self._session.line is None and PLAIN in self.games:
                self._session.new(PLAIN, [])
            return handler(arguments)

        return answer

    def _keeping_komi(self, komi: Handler) -> Handler:
        """Keep the komi of the command line, because GoGui sends the one from its settings."""

        def answer(arguments: list[str]) -> str:
            line, options = self._session.line, self._session.options
            komi(arguments)  # refuses anything that is not a number
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
        """Place the requested number of handicap stones: on the fixed points first, then where `choose` wants."""
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
        """Choose a move and play it. Return it with the position, or with None if `choose` was not called."""
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
        """Return the answer of `choose`, which may not be a legal move.

        Raises:
            CommandFailed: It raised an exception, or did not return text.
        """
        try:
            move = self._choose(position)
        except NoMove as error:
            raise _Forfeit(str(_complaint(str(error)))) from None
        except Exception as error:
            if not isinstance(error, CommandFailed):  # a CommandFailed comes from the game's engine
                traceback.print_exc()
            place = place_of(error)
            raise CommandFailed(f"the bot failed: {type(error).__name__}: {_short(str(error))}{place}") from None
        if not isinstance(move, str):
            raise _complaint(f"the bot chose {move!r}, which is not text")
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
    """Return the installed games, and those of the engines.

    Raises:
        OptionError: An engine cannot be used.
    """
    if not engines:
        return Registry()
    from ggp.bots.engine_client import OPTIONAL_VARIABLE
    from ggp.bots.foreign_game import EngineRegistry  # imported late, because most bots do not need it

    return EngineRegistry(engines, optional=os.environ.get(OPTIONAL_VARIABLE) == "1")


def _listen(name: str, url: str, make: Callable[[], Responder]) -> int:
    """Serve at this address until a signal, and return the exit status."""
    from ggp.engines.command import serve_at
    from ggp.protocol.errors import AddressError

    try:
        return serve_at(name, url, make)
    except AddressError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return BAD_USAGE


def _take_stdio() -> tuple[int, int]:
    """Return stdin and stdout as descriptors that programs started by the bot do not inherit.

    Otherwise these programs could read commands, or write answers. From now on stdin is empty for other readers, and
    what is written to stdout goes to stderr.
    """
    stdin, stdout = (fcntl(descriptor, F_DUPFD_CLOEXEC, 3) for descriptor in (0, 1))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null if sys.stderr is None else 2, 1)
    return stdin, stdout


def _to_move(line: GameHistory, colour: str) -> State:
    """Return a copy of the position with that colour to move; plain GTP may ask out of turn (go)."""
    state = line.state.copy()
    if state.to_play != colour:
        if not line.game.setup or state.phase != "play":
            raise CommandFailed(f"it is {state.to_play}'s turn")
        cast(SetupState, state).set_to_play(colour)
    return state


def _fixed_points(line: GameHistory, most: int) -> list[str]:
    """Return up to `most` of GTP's handicap points of this board."""
    for number in range(min(most, 9), 1, -1):
        with contextlib.suppress(OptionError):
            return [point for (point,) in GameHistory(line.game, {**line.options, "handicap": number}).state.groups()]
    return []


def _complaint(text: str) -> CommandFailed:
    """Print the text for the bot's author, and return it as the failure that the record keeps."""
    text = _short(text)
    print(text, file=sys.stderr, flush=True)
    return CommandFailed(text)


def _short(text: str) -> str:
    return " ".join(text.split())[:300]
