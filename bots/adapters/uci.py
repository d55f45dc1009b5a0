"""`ggp bot uci -- stockfish`: a chess engine of UCI as a bot, at OpenSpiel's chess.

UCI says `e2e4` where OpenSpiel says `e4`: the bot asks OpenSpiel which is which.
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
Behind -- stands the command line of an engine that speaks UCI. It plays chess as OpenSpiel has it:

  ggp match --engine "ggp engine openspiel" chess "ggp bot uci -- stockfish" "ggp bot uci nodes=100 -- stockfish"

nodes, depth and movetime (milliseconds) limit each move, 0: not. With nodes or depth it does not look at its clock;
without a limit and without a clock it thinks for a second.

  --option Name=value   set one of the engine's own options, such as --option Threads=2
"""
_UNCLOCKED = 1000  # ms for a move without a limit and without a clock
_LONGEST = 600.0  # seconds that the referee allows a move without a clock
_GRACE = 12.0  # seconds after which a silent engine is given up; the referee gives up before that
_MOST_PV = 20  # moves of a main line that are put into the game's words
_VISITS = "maxVisits"  # the parameter by which a referee sets a limit of nodes (kata-set-param)


def main(words: Sequence[str], engines: Sequence[str] = ()) -> None:
    """Serve stdin with the UCI engine behind `--`; `engines` are not needed.

    Raises OptionError. Exits with status 1 when the UCI engine has ended.
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
    """Return the limits, the engine's options and its command line. Raises OptionError."""
    if "--" not in words or words[-1] == "--":
        raise OptionError("uci: write the engine's command line behind --, as in ggp bot uci -- stockfish")
    at = list(words).index("--")
    limits, options = [], {}
    for flag, word in flags_in(words[:at], FLAGS):
        if flag:
            name, equals, value = word.partition("=")
            if not name:
                raise OptionError("uci: --option: Name=value follows, as in --option Threads=2")
            if not (name + value).isprintable():
                raise OptionError("uci: --option: a name and a value are printable text")
            options[name.strip()] = value.strip() if equals else ""
        elif word.startswith("-"):
            raise OptionError(f"uci: {word[:40]}: only --option and -- stand before the command line")
        else:
            limits.append(word)
    return parse_options("uci", OPTIONS, limits), options, list(words[at + 1 :])


def _start(command: Sequence[str]) -> UciEngine:
    try:
        return UciEngine([find_program(command[0]) or command[0], *command[1:]])
    except OSError as error:
        raise OptionError(f"uci: cannot start {command[0][:80]}: {error.strerror}") from None
    except EngineGone as gone:
        raise OptionError(f"uci: {gone}; is it an engine of UCI?") from None


class UciBot:
    """A bot that plays the engine's moves. `pyspiel` translates them."""

    def __init__(self, engine: UciEngine, pyspiel: Any, limits: Mapping[str, int | str]) -> None:
        self._engine, self._pyspiel = engine, pyspiel
        self._limits = {name: int(value) for name, value in limits.items()}
        self._known: list[str] = []  # the moves of the game so far, as OpenSpiel's words
        self._moves: list[str] = []  # the same as UCI's

    def told(self, command: str, words: str) -> None:
        """Hear that a game begins or is over."""
        if command == "ggp-new":
            with _needed():
                self._engine.new_game()

    def choose(self, position: Position) -> str:
        """Return the engine's move. Raises NoMove if it is not one; exits if the engine has ended."""
        moves = self._past(position)
        start = " ".join(["position startpos", *(["moves", *moves] if moves else [])])
        go, seconds = self._go(position)
        with _needed():
            best, said = self._engine.search(start, go, seconds)
        position.analysis = self._analysis(said, position)
        state = position.copy()
        word = self._words(state).get(best)
        if word is None:
            raise NoMove(f"{self._engine.name} chose {best[:40] or 'no move'}, which is no legal move here")
        return word

    def set_param(self, arguments: list[str]) -> str:
        """Handle kata-set-param, by which a referee sets a limit of nodes."""
        name, text = arguments if len(arguments) == 2 else ("", "")
        if name != _VISITS:
            raise CommandFailed(f"unknown parameter: {name[:40]}; there is {_VISITS}, a limit of nodes")
        if not (text.isascii() and text.isdecimal() and 0 < int(text[:10]) < 10**9 and len(text) < 10):
            raise CommandFailed(f"syntax error: {_VISITS} is a number of nodes")
        self._limits["nodes"] = int(text)
        return ""

    def _past(self, position: Position) -> list[str]:
        """Return all moves so far in UCI's notation; only those since the last question are looked up."""
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
        """Map each legal move in UCI's notation to OpenSpiel's; {} when the game is over."""
        if state.phase == "over":
            return {}
        board, move = state.inner.board(), self._pyspiel.chess.action_to_move
        return {move(action, board).to_lan(): word for word, action in state.actions().items()}

    def _line(self, moves: Sequence[str], position: Position) -> list[str]:
        """Translate UCI's moves from here on into OpenSpiel's, up to the first that is illegal."""
        state, words = position.copy(), list[str]()
        for move in moves[:_MOST_PV]:
            word = self._words(state).get(move)
            if word is None:
                break
            words.append(state.play(word))
        return words

    def _go(self, position: Position) -> tuple[str, float]:
        """Return the command, and how many seconds to wait for the engine."""
        fixed = [f"{name} {self._limits[name]}" for name in ("nodes", "depth", "movetime") if self._limits[name]]
        colour, clock, left = position.colour, position.times, position.clock
        longest = clock.longest(colour)
        seconds = _LONGEST if longest is None else longest
        if fixed:
            return " ".join(["go", *fixed]), seconds + _GRACE
        if left is None:
            return f"go movetime {_UNCLOCKED}", seconds + _GRACE
        if clock.periods:  # UCI knows no byo-yomi
            return f"go movetime {position.budget}", seconds + _GRACE
        other = clock.left("white" if colour == "black" else "black") or 0
        white, black = (left, other) if colour == "black" else (other, left)  # OpenSpiel's Black moves first
        words = [f"wtime {white} btime {black} winc {clock.increment} binc {clock.increment}"]
        words += [f"movestogo {clock.moves}"] if clock.moves else []
        return " ".join(["go", *words]), seconds + _GRACE

    def _analysis(self, said: dict[str, Any], position: Position) -> dict[str, Any]:
        """Return the analysis under the names that readers of records know.

        Without the engine's own win probabilities they follow from its score: the Elo curve, with 400 centipawns for a
        factor of ten.
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
    """Exit if the engine ends in here; the referee finds the reason, and the engine's last lines, on stderr."""
    try:
        yield
    except EngineGone as gone:
        for line in gone.tail:
            print(f"it said: {line}", file=sys.stderr)
        print(gone, file=sys.stderr, flush=True)
        sys.exit(1)
