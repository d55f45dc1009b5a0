"""The bot that misbehaves on cue, for trying referees; otherwise it plays at random. chaos_faults has what it does.

It ends by itself: at the end of input, or `life` seconds after a fault that ignores that. It starts and dies fast.
"""

import os
import random
import shlex
import signal
import sys
from collections.abc import Sequence

from ggp.bots.options import SEED, parse_options
from ggp.bots.random import make_choose
from ggp.bots.rng import BotRng
from ggp.bots.sdk import Bot, make_registry
from ggp.engines.game import Option, OptionError
from ggp.engines.registry import Registry
from ggp.engines.session import Handler
from ggp.protocol.responder import Responder
from ggp.protocol.transports.pipe import CHUNK, report_on_stderr
from tests.support import ROOT
from tests.support.chaos_faults import FAULTS
from tests.support.raw_output import RawOutput

CHAOS = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.support.chaos"]
MOMENTS = {
    "start": "before it reads anything",
    "new": "at ggp-new",
    "genmove": "when it is asked for a move",
    "after": "when it has answered a move: the opponent's turn begins",
    "play": "when it receives a move of the opponent",
    "result": "when it receives the result, between two games",
    "quit": "when it receives quit",
}
COMMANDS = {"ggp-new": "new", "genmove": "genmove", "play": "play", "ggp-result": "result", "quit": "quit"}
QUICK = ("late", "crash", "garbage", "illegal", "unreadable", "refuse", "resign", "empty", "wrong_id")
OPTIONS = (
    Option("fault", "enum", "none", ",".join([*FAULTS, "any"])),
    Option("when", "enum", "auto", ",".join(["auto", *MOMENTS])),
    Option("move", "int", "1", "0..1000"),  # the which-th moment of a game; 0: all
    Option(
        "game", "int", "0", "0..1000000"
    ),  # the number of the game; 0: all; in a seeded match: one in this many, at random
    Option("ms", "int", "500", "0..600000"),
    Option("mb", "int", "100", "1..10000"),
    Option("status", "int", "1", "0..255"),
    Option("signal", "int", "0", "0..31"),
    Option("life", "int", "60", "1..600"),
    Option("setsid", "enum", "off", "on,off"),
    SEED,
)
HELP = "\n".join(
    [
        "options:",
        *(f"  {option.name} {option.type} {option.default} {option.domain}" for option in OPTIONS),
        "faults:",
        *(f"  {name:15}{fault.act.__doc__} (at {fault.when})" for name, fault in FAULTS.items()),
        f"  {'any':15}in every game another of the quick ones, at another move",
        "moments, if another than the one in brackets is wanted (when=, and the which-th of a game: move=):",
        *(f"  {name:15}{text}" for name, text in MOMENTS.items()),
        "",
    ]
)


def chaos(words: str = "", name: str = "chaos") -> str:
    """Return this bot as a word of `ggp match`, with options such as "fault=late,ms=300"."""
    return f"{name}={chaos_command(words)}"


def chaos_command(words: str = "") -> str:
    """Return its command line, which runs in any folder."""
    return shlex.join([*CHAOS, *words.split(",")] if words else CHAOS)


def main(words: Sequence[str]) -> None:
    """Serve stdin, more or less. Raises OptionError."""
    if words == ["--help"]:
        print(HELP)
        return
    options = parse_options("chaos", OPTIONS, words)
    wire = RawOutput(
        ms=int(options["ms"]),
        mb=int(options["mb"]),
        status=int(options["status"]),
        number=int(options["signal"]),
        life=int(options["life"]),
        setsid=options["setsid"] == "on",
    )
    cue = Cue(str(options["fault"]), str(options["when"]), int(options["move"]), int(options["game"]))
    Chaos(wire, cue, int(options["seed"]), make_registry(())).serve()


class Cue:
    """When to misbehave, and how: `fault` at the move-th `when` of the game-th game (0: of all).

    A match that has a seed knows nothing of earlier games: it is the one with a chance of one in `game`.
    """

    def __init__(self, fault: str, when: str, move: int, game: int) -> None:
        self.any = fault == "any"
        self.fault = fault
        self.when = when if when != "auto" else "genmove" if self.any else FAULTS[fault].when
        self.move, self.game = move, game
        self.games = 0
        self.seeded = False  # the next game
        self.in_match = False  # the present game is one with a seed
        self.chosen = game == 0  # the present game
        self.counts = dict.fromkeys(MOMENTS, 0)  # in this game

    def new_game(self, chance: random.Random) -> None:
        self.games += 1
        turn = chance.randint(1, self.game) if self.seeded and self.game else self.games
        self.chosen = self.game in (0, turn)
        self.in_match, self.seeded = self.seeded, False
        self.counts = dict.fromkeys(MOMENTS, 0)
        if self.any:
            self.fault = chance.choice(QUICK)
            self.when = chance.choice(("genmove", "after")) if self.fault == "crash" else "genmove"
            self.move = chance.randint(1, 12)

    def is_due(self, moment: str) -> bool:
        """Count the moment; whether it is the one."""
        self.counts[moment] += 1
        return (
            moment == self.when
            and self.chosen
            and (moment not in ("genmove", "after", "play") or self.move in (0, self.counts[moment]))
        )


class Chaos:
    """A good bot, and between it and the wire the fault that waits for its cue."""

    def __init__(self, wire: RawOutput, cue: Cue, seed: int, registry: Registry) -> None:
        self._wire, self._cue = wire, cue
        self._chance = BotRng(seed)
        self._bot = Bot(make_choose(self._chance), seed=self._begin_match, registry=registry)
        self._moment = ""  # of the command that is being answered
        handlers = self._bot.handlers()
        handlers["quit"] = self._quit
        for command, moment in COMMANDS.items():
            handlers[command] = self._at(moment, handlers[command])
        self._responder = Responder("chaos", "1", handlers, report_on_stderr)

    def serve(self) -> None:
        """Answer until `quit` or the end of input, unless a fault is against it."""
        wire, responder = self._wire, self._responder
        if self._cue.is_due("start"):
            self._misbehave(b"")
        while not responder.closed:
            data = os.read(0, CHUNK)
            if not data and wire.deathless:
                wire.linger()
            responder.receive(data)
            while True:
                self._moment = ""
                answer = responder.next_answer()
                if answer is None:
                    break
                self._say(wire.dress(answer) if wire.dress else answer)

    def _say(self, answer: bytes) -> None:
        if self._moment and self._cue.is_due(self._moment):
            self._misbehave(answer)
        else:
            self._wire.write(answer)
        if self._moment == "genmove" and self._cue.is_due("after"):
            self._misbehave(b"")

    def _misbehave(self, answer: bytes) -> None:
        self._wire.limit_life()
        FAULTS[self._cue.fault].act(self._wire, answer)
        if not self._wire.muted:
            signal.alarm(0)  # it is over, and the bot as good as any

    def _at(self, moment: str, handler: Handler) -> Handler:
        """The handler, which also notes what is being answered."""

        def answer(arguments: list[str]) -> str:
            self._moment = moment
            if moment == "new":
                self._cue.new_game(self._chance)
            elif moment == "genmove":
                self._count_moves(arguments)
                self._wire.illegal_move = self._find_illegal_move()
            return handler(arguments)

        return answer

    def _count_moves(self, arguments: list[str]) -> None:
        """In a match that was interrupted the fault comes where it would have: so its colour's moves so far count."""
        if not self._cue.in_match:
            return
        plies = self._bot.line.plies if self._bot.line and arguments else []
        moves = sum(colour[0] == arguments[0][:1].lower() for _, colour, _ in plies)
        self._cue.counts["genmove"] = self._cue.counts["after"] = moves

    def _begin_match(self, seed: int) -> None:
        """Whatever was played before is forgotten."""
        self._chance.begin_match(seed)
        self._cue.seeded = True
        self._wire.dress = None

    def _quit(self, arguments: list[str]) -> str:
        if self._wire.deathless:
            self._wire.linger()
        self._responder.closed = True
        return ""

    def _find_illegal_move(self) -> str:
        """A well-formed illegal move: a move of this game again, else one off the board."""
        line = self._bot.line
        if line is None or self._cue.fault != "illegal":
            return self._wire.illegal_move
        played = [move for _, _, move in reversed(line.plies) if move not in line.game.words]
        moves = [move for move in (*played, "Z25", "Z99") if line.state.why_illegal(move)]
        return moves[0] if moves else "Z99"


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OptionError as wrong:
        print(f"chaos: {wrong}", file=sys.stderr)
        sys.exit(2)
