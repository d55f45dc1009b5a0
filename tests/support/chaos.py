"""The bot that misbehaves on cue, for trying referees; otherwise it plays at random.

It ends by itself: at the end of input, or `life` seconds after a fault that ignores that. It starts and dies fast.
"""

import os
import random
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, NoReturn

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

CHAOS = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.support.chaos"]


def chaos(words: str = "", name: str = "chaos") -> str:
    """Return this bot as a word of `ggp match`, with options such as "fault=late,ms=300"."""
    return f"{name}={chaos_command(words)}"


def chaos_command(words: str = "") -> str:
    """Return its command line, which runs in any folder."""
    return shlex.join([*CHAOS, *words.split(",")] if words else CHAOS)


# --- the bot's end of the conversation: writing, dying and lingering, each within bounds ---


class Wire:
    """The bot's side of the conversation, and the options that faults are tuned by."""

    def __init__(self, options: Mapping[str, object]) -> None:
        self.ms, self.mb, self.life = (int(str(options[name])) for name in ("ms", "mb", "life"))
        self.status, self.signal = (int(str(options[name])) for name in ("status", "signal"))
        self.setsid = options["setsid"] == "on"
        self.muted = False  # nothing is written any more
        self.deathless = False  # neither `quit` nor the end of input ends the bot
        self.illegal_move = "Z99"
        self.dress: Callable[[bytes], bytes] | None = None  # changes every answer from now on

    def write(self, data: bytes, mute: bool = False) -> None:
        """Write all of it unless muted; if the reader has gone, leave silently, as at the end of input."""
        if not self.muted:
            write_all(1, data)
        self.muted |= mute

    def dressed(self, answer: bytes, dress: Callable[[bytes], bytes]) -> None:
        """Write the answer in a dress that all later ones have too."""
        self.dress = dress
        self.write(dress(answer))

    def flood(self, descriptor: int, text: bytes = b"all work and no play\n") -> None:
        block = text * (65536 // len(text))
        for _ in range(self.mb * 1_000_000 // len(block) + 1):
            write_all(descriptor, block)

    def limit_life(self, more_ms: int = 0) -> None:
        """End by SIGALRM after at most `life` seconds and this many milliseconds."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(self.life + more_ms // 1000)

    def linger(self) -> NoReturn:
        """Do nothing until a signal comes or life is over."""
        self.limit_life()
        while True:
            time.sleep(self.life)

    def exit(self, last: bytes = b"") -> NoReturn:
        """Write the last words; end by `signal` if there is one, else with `status`. Buffers are not flushed."""
        self.write(last)
        if self.signal:
            if self.signal not in (signal.SIGKILL, signal.SIGSTOP):  # these cannot be handled
                signal.signal(self.signal, signal.SIG_DFL)
            os.kill(os.getpid(), self.signal)
        os._exit(self.status)


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:  # the reader has gone, or we closed our own end
        os._exit(0)


# --- the faults ---


def head_of(answer: bytes) -> bytes:
    """Return the mark and the id of the answer."""
    found = re.match(rb"[=?][0-9]*", answer)
    return found[0] if found else b""


def with_text(answer: bytes, text: bytes, mark: bytes = b"=") -> bytes:
    """Return the answer with another mark and text, but its own id."""
    return mark + head_of(answer)[1:] + b" " + text + b"\n\n"


def half_of(answer: bytes) -> bytes:
    return answer[: (len(answer) + 1) // 2].rstrip(b"\n")


def late(wire: Wire, answer: bytes) -> None:
    wire.limit_life(wire.ms)
    time.sleep(wire.ms / 1000)
    wire.write(answer)


def close_stdout(wire: Wire, answer: bytes) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    wire.muted = True


def close_stdin(wire: Wire, answer: bytes) -> None:
    wire.write(answer)
    os.close(0)
    wire.linger()


def leave_child(wire: Wire, answer: bytes) -> None:
    if os.fork() == 0:
        if wire.setsid:
            os.setsid()  # out of the process group that a referee kills
        wire.linger()
    wire.write(answer)


def fork(wire: Wire, answer: bytes) -> None:
    leave_child(wire, b"")
    wire.exit()


def ignore_quit(wire: Wire, answer: bytes) -> None:
    wire.deathless = True
    wire.write(answer)


def ignore_sigterm(wire: Wire, answer: bytes) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    ignore_quit(wire, answer)


def flood(descriptor: int) -> "Act":
    def act(wire: Wire, answer: bytes) -> None:
        wire.flood(descriptor)
        wire.write(answer)

    return act


def long_line(wire: Wire, answer: bytes) -> None:
    wire.write(head_of(answer) + b" ")
    wire.flood(1, b"A")
    wire.write(b"\n\n")


def wrong_id(wire: Wire, answer: bytes) -> None:
    head = head_of(answer)
    number = int(head[1:] or b"98") + 1
    wire.write((answer[:1] or b"=") + b"%d" % number + answer[len(head) :])


def complain(wire: Wire, answer: bytes) -> None:
    print("chaos: out of cheese", file=sys.stderr, flush=True)
    wire.status, wire.signal = 70, 0
    wire.exit()


Act = Callable[[Wire, bytes], None]
"""What a fault does with the answer that a good bot would write now (b"" if none is due)."""
JUNK = b"I am thinking...\n"
MANY_LINES = 20_000  # more than an answer may have (10,000)


class ChaosFault(NamedTuple):
    """What `--help` prints of it, what it does, and the moment at which it happens by default."""

    help: str
    act: Act
    when: str = "genmove"


FAULTS = {
    "none": ChaosFault("behave", lambda wire, answer: wire.write(answer)),
    # late or never
    "late": ChaosFault("answer after ms milliseconds (with when=start: start that slowly)", late),
    "silent": ChaosFault(
        "never answer again, but read on and leave at the end of input", lambda wire, answer: wire.write(b"", mute=True)
    ),
    "deaf": ChaosFault("neither read nor answer any more", lambda wire, answer: wire.linger()),
    "half": ChaosFault(
        "write half an answer, no newline, then nothing any more",
        lambda wire, answer: wire.write(half_of(answer), mute=True),
    ),
    "close_stdout": ChaosFault("close stdout and read on", close_stdout),
    "close_stdin": ChaosFault("answer, then close stdin and stay", close_stdin),
    # the process ends, or does not
    "crash": ChaosFault("exit at once with status (or by signal)", lambda wire, answer: wire.exit()),
    "half_crash": ChaosFault(
        "write half an answer, then exit with status (or by signal)", lambda wire, answer: wire.exit(half_of(answer))
    ),
    "last_words": ChaosFault(
        "answer with one newline instead of two, then exit: the answer still counts",
        lambda wire, answer: wire.exit(answer.rstrip(b"\n") + b"\n"),
    ),
    "fork": ChaosFault("exit with status, but leave a child that holds the pipes open for `life` seconds", fork),
    "leave_child": ChaosFault(
        "go on, but leave a child that holds the pipes open for `life` seconds", leave_child, "start"
    ),
    "ignore_quit": ChaosFault(
        "neither answer `quit` nor leave at the end of input: it takes SIGTERM", ignore_quit, "start"
    ),
    "ignore_sigterm": ChaosFault(
        "as ignore_quit, and ignore SIGTERM, SIGINT and SIGHUP too: it takes SIGKILL", ignore_sigterm, "start"
    ),
    "complain": ChaosFault("write a last word of trouble to stderr, then exit with status 70", complain),
    # floods
    "flood_stdout": ChaosFault("write mb megabytes of lines to stdout, then the answer", flood(1)),
    "flood_stderr": ChaosFault("write mb megabytes of lines to stderr, then answer as if nothing had been", flood(2)),
    "long_line": ChaosFault("answer with one line of mb megabytes", long_line),
    "many_lines": ChaosFault(
        "answer with 20,000 short lines",
        lambda wire, answer: wire.write(with_text(answer, b"A1\n" * MANY_LINES + b"A1")),
    ),
    # wrong bytes
    "garbage": ChaosFault(
        "write 300 lines that are no answer, and then none", lambda wire, answer: wire.write(JUNK * 300, mute=True)
    ),
    "chatter": ChaosFault(
        "write 5 lines that are no answer, then the answer: sloppy, not fatal",
        lambda wire, answer: wire.write(JUNK * 5 + answer),
    ),
    "binary": ChaosFault(
        "write bytes that are no text, and then no answer",
        lambda wire, answer: wire.write(bytes(range(128, 256)) * 8 + b"\n\n", mute=True),
    ),
    "nul": ChaosFault(
        "put a NUL after every byte of the answer",
        lambda wire, answer: wire.write(b"".join(bytes([byte, 0]) for byte in answer)),
    ),
    "crlf": ChaosFault(
        "end every line with CR LF: sloppy, not fatal",
        lambda wire, answer: wire.dressed(answer, lambda each: each.replace(b"\n", b"\r\n")),
        "start",
    ),
    "wrong_id": ChaosFault("answer with another id", wrong_id),
    "no_ids": ChaosFault(
        "never echo an id: sloppy, not fatal",
        lambda wire, answer: wire.dressed(answer, lambda each: each[:1] + each[len(head_of(each)) :]),
        "start",
    ),
    "double": ChaosFault("answer twice", lambda wire, answer: wire.write(answer + answer)),
    # wrong answers
    "illegal": ChaosFault(
        "answer with a move that is readable but illegal",
        lambda wire, answer: wire.write(with_text(answer, wire.illegal_move.encode())),
    ),
    "unreadable": ChaosFault(
        "answer with a word that is no move", lambda wire, answer: wire.write(with_text(answer, b"banana!"))
    ),
    "empty": ChaosFault("answer with nothing", lambda wire, answer: wire.write(head_of(answer) + b"\n\n")),
    "refuse": ChaosFault(
        "answer `? I will not` (when=play: reject a legal move; when=new: refuse the game)",
        lambda wire, answer: wire.write(with_text(answer, b"I will not", b"?")),
    ),
    "resign": ChaosFault("resign", lambda wire, answer: wire.write(with_text(answer, b"resign"))),
}

# --- when ---

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
        *(f"  {name:15}{fault.help} (at {fault.when})" for name, fault in FAULTS.items()),
        f"  {'any':15}in every game another of the quick ones, at another move",
        "moments, if another than the one in brackets is wanted (when=, and the which-th of a game: move=):",
        *(f"  {name:15}{text}" for name, text in MOMENTS.items()),
        "",
    ]
)


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

    def __init__(self, wire: Wire, cue: Cue, seed: int, registry: Registry) -> None:
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


def main(words: Sequence[str]) -> None:
    """Serve stdin, more or less. Raises OptionError."""
    if words == ["--help"]:
        print(HELP)
        return
    options = parse_options("chaos", OPTIONS, words)
    cue = Cue(str(options["fault"]), str(options["when"]), int(options["move"]), int(options["game"]))
    Chaos(Wire(options), cue, int(options["seed"]), make_registry(())).serve()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OptionError as wrong:
        print(f"chaos: {wrong}", file=sys.stderr)
        sys.exit(2)
