"""`ggp bot uci -- stockfish`: a UCI chess engine as a bot, for OpenSpiel's chess.

UCI writes `e2e4` where OpenSpiel writes `e4`; the bot asks OpenSpiel which is which.
"""

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ggp.bots.adapters import load
from ggp.bots.adapters.uci_dialogue import EngineGone, UciEngine
from ggp.bots.engine_client import find_program
from ggp.bots.options import flags_in, parse_options
from ggp.bots.sdk import Bot, NoMove, Position
from ggp.engines.game import Option, OptionError
from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import Responder
from ggp.protocol.transports.pipe import report_on_stderr, serve_stdio

GAME = "chess"
OPTIONS = (
    Option("nodes", "int", "0", "0..1000000000"),
    Option("depth", "int", "0", "0..200"),
    Option("movetime", "int", "0", "0..600000"),
)
FLAGS = ("--option",)
USAGE = "[name=value …] [--option Name=value]… -- COMMAND …"
HELP = """
Write the command line of a UCI engine after --. It plays OpenSpiel's chess:

  ggp match --engine "ggp engine openspiel" chess "ggp bot uci -- stockfish" "ggp bot uci nodes=100 -- stockfish"

nodes, depth and movetime (milliseconds) limit each move; 0 means no limit. With a limit of nodes or depth, the bot
ignores its clock. Without any limit and without a clock, it thinks for a second.

  --option Name=value   Set one of the engine's own options, such as --option Threads=2.
"""
_UNCLOCKED = 1000  # ms for a move without a limit and without a clock
_LONGEST = 600.0  # seconds that the referee allows for a move without a clock
_GRACE = 12.0  # seconds beyond its time to wait for a silent engine; the referee gives up earlier
_MOST_PV = 20  # the most moves of a main line to translate
_VISITS = "maxVisits"  # the parameter with which a referee limits the nodes (kata-set-param)


def main(words: Sequence[str], engines: Sequence[str] = ()) -> None:
    """Serve stdin with the UCI engine after `--`; `engines` are ignored.

    It exits with status 1 if the UCI engine ends.

    Raises:
        OptionError: The command line is invalid, or the engine cannot be started.
    """
    limits, options, command = read_command(words)
    pyspiel = load("uci", "pyspiel", "open_spiel")
    from ggp.engines.adapters.openspiel import OpenSpielRegistry

    engine = _start(command)
    try:
        with _needed():
            engine.set_options(options)
            if "uci_showwdl" in engine.options and "uci_showwdl" not in map(str.lower, options):
                engine.set_options({"UCI_ShowWDL": "true"})
        uci = UciBot(engine, pyspiel, limits)
        bot = Bot(uci.choose, games=(GAME,), analysis=True, told=uci.told, registry=OpenSpielRegistry())
        handlers = {**bot.handlers(), "kata-set-param": uci.set_param}
        serve_stdio(Responder(engine.name, "", handlers, report_on_stderr))
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        engine.close()


def read_command(words: Sequence[str]) -> tuple[Mapping[str, int | str], dict[str, str], list[str]]:
    """Return the limits, the engine's options and its command line.

    Raises:
        OptionError: The command line is invalid.
    """
    if "--" not in words or words[-1] == "--":
        raise OptionError("uci: write the engine's command line after --, as in ggp bot uci -- stockfish")
    at = list(words).index("--")
    limits, options = [], {}
    for flag, word in flags_in(words[:at], FLAGS):
        if flag:
            name, equals, value = word.partition("=")
            if not name:
                raise OptionError("uci: --option needs Name=value, as in --option Threads=2")
            if not (name + value).isprintable():
                raise OptionError("uci: --option: the name and the value must be printable text")
            options[name.strip()] = value.strip() if equals else ""
        elif word.startswith("-"):
            raise OptionError(
                f"uci: unknown option {word[:40]}: before the command line only --option and -- are allowed"
            )
        else:
            limits.append(word)
    return parse_options("uci", OPTIONS, limits), options, list(words[at + 1 :])


def _start(command: Sequence[str]) -> UciEngine:
    try:
        return UciEngine([find_program(command[0]) or command[0], *command[1:]])
    except OSError as error:
        raise OptionError(f"uci: cannot start {command[0][:80]}: {error.strerror}") from None
    except EngineGone as gone:
        raise OptionError(f"uci: {gone}; is it a UCI engine?") from None


class UciBot:
    """A bot that plays the engine's moves; `pyspiel` translates them."""

    def __init__(self, engine: UciEngine, pyspiel: Any, limits: Mapping[str, int | str]) -> None:
        self._engine, self._pyspiel = engine, pyspiel
        self._limits = {name: int(value) for name, value in limits.items()}
        self._known: list[str] = []  # the moves of the game so far, as OpenSpiel writes them
        self._moves: list[str] = []  # the same moves, as UCI writes them

    def told(self, command: str, words: str) -> None:
        """Note that a game begins or is over."""
        if command == "ggp-new":
            with _needed():
                self._engine.new_game()

    def choose(self, position: Position) -> str:
        """Return the engine's move. Exit if the engine has ended.

        Raises:
            NoMove: The engine's move is not legal.
        """
        moves = self._past(position)
        start = " ".join(["position startpos", *(["moves", *moves] if moves else [])])
        go, seconds = self._go(position)
        with _needed():
            best, said = self._engine.search(start, go, seconds)
        position.analysis = self._analysis(said, position)
        state = position.copy()
        word = self._words(state).get(best)
        if word is None:
            raise NoMove(f"{self._engine.name} chose {best[:40] or 'no move'}, which is not a legal move here")
        return word

    def set_param(self, arguments: list[str]) -> str:
        """Handle kata-set-param, with which a referee limits the nodes."""
        name, text = arguments if len(arguments) == 2 else ("", "")
        if name != _VISITS:
            raise CommandFailed(f"unknown parameter: {name[:40]}; the only one is {_VISITS}, a limit of nodes")
        if not (text.isascii() and text.isdecimal() and 0 < int(text[:10]) < 10**9 and len(text) < 10):
            raise CommandFailed(f"syntax error: {_VISITS} must be a number of nodes")
        self._limits["nodes"] = int(text)
        return ""

    def _past(self, position: Position) -> list[str]:
        """Return all moves so far in UCI's notation, translating only those that are new."""
        plies = [move for _, _, move in position.plies]
        common = 0
        while common < min(len(plies), len(self._known)) and plies[common] == self._known[common]:
            common += 1
        if common < len(plies):
            state: Any = position.first()
            del self._moves[common:]
            for move in plies[:common]:
                state.play(move)
            for move in plies[common:]:
                self._moves.append(next(uci for uci, word in self._words(state).items() if word == move))
                state.play(move)
        self._known, self._moves = plies, self._moves[: len(plies)]
        return self._moves

    def _words(self, state: Any) -> dict[str, str]:
        """Return OpenSpiel's word for each legal move in UCI's notation; {} after the end."""
        if state.phase == "over":
            return {}
        board, move = state.inner.board(), self._pyspiel.chess.action_to_move
        return {move(action, board).to_lan(): word for word, action in state.actions().items()}

    def _line(self, moves: Sequence[str], position: Position) -> list[str]:
        """Translate UCI's moves from here into OpenSpiel's, up to the first illegal one."""
        state, words = position.copy(), list[str]()
        for move in moves[:_MOST_PV]:
            word = self._words(state).get(move)
            if word is None:
                break
            words.append(state.play(word))
        return words

    def _go(self, position: Position) -> tuple[str, float]:
        """Return the `go` command, and how many seconds to wait for the engine."""
        fixed = [f"{name} {self._limits[name]}" for name in ("nodes", "depth", "movetime") if self._limits[name]]
        colour, clock, left = position.colour, position.times, position.clock
        longest = clock.longest(colour)
        seconds = _LONGEST if longest is None else longest
        if fixed:
            return " ".join(["go", *fixed]), seconds + _GRACE
        if left is None:
            return f"go movetime {_UNCLOCKED}", seconds + _GRACE
        if clock.periods:  # UCI has no byo-yomi
            return f"go movetime {position.budget}", seconds + _GRACE
        other = clock.left("white" if colour == "black" else "black") or 0
        white, black = (left, other) if colour == "black" else (other, left)  # OpenSpiel's Black moves first
        words = [f"wtime {white} btime {black} winc {clock.increment} binc {clock.increment}"]
        words += [f"movestogo {clock.moves}"] if clock.moves else []
        return " ".join(["go", *words]), seconds + _GRACE

    def _analysis(self, said: dict[str, Any], position: Position) -> dict[str, Any]:
        """Return the analysis with the keys that readers of records know.

        Without win probabilities from the engine, they are derived from its score.

        Source: the Elo curve, with 400 centipawns for a factor of ten.
        """
        found: dict[str, Any] = {
            name: said[name] for name in ("depth", "seldepth", "nodes", "nps", "mate", "wdl") if name in said
        }
        if "wdl" in said and sum(said["wdl"]) > 0:
            won, drawn, _ = said["wdl"]
            found["winrate"] = round((won + drawn / 2) / sum(said["wdl"]), 4)
        elif "mate" in said:
            found["winrate"] = float(said["mate"] > 0)
        elif "cp" in said:
            found["winrate"] = round(1 / (1 + 10 ** (-max(-4000, min(4000, said["cp"])) / 400)), 4)
        if "cp" in said:
            found["score"] = said["cp"] / 100
        if "pv" in said:
            found["pv"] = self._line(said["pv"], position)
        return found


@contextlib.contextmanager
def _needed() -> Iterator[None]:
    """Exit if the engine ends in this context; the referee finds the reason and its last lines on stderr."""
    try:
        yield
    except EngineGone as gone:
        for line in gone.tail:
            print(f"the engine wrote: {line}", file=sys.stderr)
        print(gone, file=sys.stderr, flush=True)
        sys.exit(1)
