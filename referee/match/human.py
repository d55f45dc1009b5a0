"""A human player, who is asked for each move at the terminal, with help from the engine.

Input is a move, a short form of one (see _meant), `resign`, or a question that begins with `:`.
"""

import os
import select
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import Protocol, TextIO, cast

from ggp.protocol.channel import Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.drawing import text
from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.messages import Reply
from ggp.protocol.records import Diagnostics, Event, MatchEnded, MatchStarted, Party
from ggp.protocol.responder import Responder
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.memory import Memory
from ggp.protocol.transports.signal_fd import STOP_SIGNALS, on_signals
from ggp.protocol.transports.subreaper import adopt_orphans
from ggp.referee.match.advice import Adviser, analysis_control
from ggp.referee.match.analysis import analysis_line, score_lines, show_plies
from ggp.referee.match.bot_spec import (
    HUMAN,
    OUR_ENGINE,
    BotSpec,
    LaunchError,
    WordError,
    is_human,
    knowing,
    read_bot,
    read_engine,
)
from ggp.referee.match.clock import Clock, ControlKind
from ggp.referee.match.engine import AGREE, MOVE_WORDS, Engine, Status
from ggp.referee.match.match_runner import MatchRunner, Suspended
from ggp.referee.match.outcome import BotFault, CannotStart, PliesTakenBack, Termination, no_move_in_time
from ggp.referee.match.player import Player
from ggp.referee.match.process import Peer
from ggp.referee.match.record_file import RecordFile
from ggp.referee.match.series import GameResult
from ggp.referee.match.series_run import SeriesReport, SeriesRun
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.terminal import can_redraw, escape_unprintable, on_terminal, screen_columns, visible

# -- the terminal: output, and input lines from a terminal or a pipe -------------------------------------------------


_HELD = (signal.SIGTERM, signal.SIGHUP)  # Ctrl-C is a key to a line editor
_LONGEST = 64 * 1024  # bytes of a line; the rest is dropped
_DAY = 86400.0


class TimeUp(Exception):
    """An exception when no line was entered before the deadline."""


class HumanLeft(Exception):
    """An exception when the input has ended."""


class HumanTerminal(Protocol):
    """A terminal that shows text and reads lines."""

    def show(self, text: str) -> None:
        """Print a text and a newline."""

    def read(self, prompt: str, words: Sequence[str], deadline: float | None, status: Callable[[], str]) -> str:
        """Read a line without the blanks around it.

        Args:
            prompt: The text before the input.
            words: Words that Tab may complete.
            deadline: The time limit, in seconds of time.monotonic; None for no limit.
            status: Returns the text shown below the line, and is called again while the user types.

        Raises:
            TimeUp: The deadline passed.
            HumanLeft: The input has ended.
            KeyboardInterrupt: The user pressed Ctrl-C.
        """


def open_terminal(out: TextIO) -> HumanTerminal:
    """Open a terminal, with completion if both input and output are terminals."""
    if on_terminal(sys.stdin) and can_redraw(out):
        return PromptTerminal(out)
    return PlainTerminal(out)


class PlainTerminal:
    """Lines of standard input. Unless it is a terminal, each line is printed after its prompt."""

    def __init__(self, out: TextIO, stdin: int = 0) -> None:
        self._out = out
        self._stdin = stdin
        self._rest = b""
        self._echo = not os.isatty(stdin)
        self._first = True  # the first line of the input may begin with a byte-order mark

    def show(self, text: str) -> None:
        """Print a text and a newline."""
        print(text, file=self._out, flush=True)

    def read(self, prompt: str, words: Sequence[str], deadline: float | None, status: Callable[[], str]) -> str:
        """Read a line; see HumanTerminal.read."""
        if text := status():
            self.show(text)
        print(prompt, end="", file=self._out, flush=True)
        try:
            line = self._line(deadline)
        except (TimeUp, HumanLeft):
            self.show("")
            raise
        if self._echo:
            self.show(line)
        return line

    def _line(self, deadline: float | None) -> str:
        while b"\n" not in self._rest:
            wait = _DAY if deadline is None else deadline - time.monotonic()
            if not select.select([self._stdin], [], [], max(0.0, min(wait, _DAY)))[0]:
                if wait <= 0:
                    raise TimeUp
                continue
            data = os.read(self._stdin, 4096)
            if not data and not self._rest:
                raise HumanLeft
            self._rest = (self._rest + data)[:_LONGEST] + (b"" if data else b"\n")
            if len(self._rest) == _LONGEST and b"\n" not in self._rest:
                self._rest = self._rest[: _LONGEST // 2]  # too long to be valid; keep memory bounded
        line, _, self._rest = self._rest.partition(b"\n")
        encoding, self._first = ("utf-8-sig" if self._first else "utf-8"), False
        return line.decode(encoding, "replace").strip()


class PromptTerminal:
    """A line editor with completion and history. The clocks are shown below the line."""

    def __init__(self, out: TextIO) -> None:
        from prompt_toolkit import PromptSession  # slow to import: only for a terminal
        from prompt_toolkit.output import create_output

        self._out = out
        self._session: PromptSession[str] = PromptSession(output=create_output(out))

    def show(self, text: str) -> None:
        """Print a text and a newline."""
        print(text, file=self._out, flush=True)

    def read(self, prompt: str, words: Sequence[str], deadline: float | None, status: Callable[[], str]) -> str:
        """Read a line; see HumanTerminal.read."""
        from prompt_toolkit.completion import WordCompleter

        try:
            with _signals_end_the_editor() as begun:

                def begin() -> None:
                    begun()
                    if deadline is not None:
                        _end_at(deadline)

                line = self._session.prompt(
                    prompt,
                    completer=WordCompleter([*words], ignore_case=True, sentence=True),
                    complete_while_typing=False,
                    bottom_toolbar=(lambda: status()) if status() else None,
                    refresh_interval=0.2 if deadline is not None else 0,
                    pre_run=begin,
                    in_thread=_loop_runs(),
                )
        except EOFError:
            raise HumanLeft from None
        return line.strip()


@contextmanager
def _signals_end_the_editor() -> Iterator[Callable[[], None]]:
    """Let signals end the line editor before their handlers run.

    Otherwise the event loop of the editor would swallow the exceptions of the handlers. Call the yielded function once
    the editor has begun.
    """
    taken: list[int] = []
    ends: list[Callable[[], None]] = []

    def take(number: int, frame: FrameType | None) -> None:
        taken.append(number)
        for end in ends:
            end()

    def begun() -> None:
        ends.append(_ender())
        if taken:
            ends[0]()

    try:
        with on_signals(take, *_HELD):
            yield begun
    finally:
        if taken:
            signal.raise_signal(signal.Signals(taken[0]))


def _ender() -> Callable[[], None]:
    """Return a function that ends the current line editor. It may be called from any thread and more than once."""
    import asyncio

    from prompt_toolkit.application import get_app

    app, loop = get_app(), asyncio.get_running_loop()

    def give_up() -> None:
        if app.is_running and not app.is_done:
            app.exit(exception=KeyboardInterrupt())

    def end() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(give_up)

    return end


def _end_at(deadline: float) -> None:
    """Let the line editor that has just begun end at this time."""
    import asyncio

    from prompt_toolkit.application import get_app

    app = get_app()

    async def give_up() -> None:
        await asyncio.sleep(max(0.0, deadline - time.monotonic()))
        if app.is_running and app.future is not None and not app.future.done():
            app.exit(exception=TimeUp())

    app.create_background_task(give_up())


def _loop_runs() -> bool:
    """Return True if an asyncio loop runs in this thread. An editor then needs its own thread for its loop."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


HELP = """Type a move as the engine writes it{example}, or `resign`; Tab completes. The end of input also resigns.
Ctrl-C ends the program without a result.
:board  show the position         :why MOVE  explain why a move is not legal
:moves  list all legal moves      :score     show the current score
:rules  show the rules            :hint [BOT [SECONDS]]  list the moves, or ask a bot for its move
:undo [PLIES]  take back your last ply and the plies after it, if your opponent agrees"""


def help_text(legal: Sequence[str]) -> str:
    """Return the help for input, with the first of these legal moves as an example."""
    return HELP.format(example=f", as in {escape_unprintable(legal[0])}" if legal else "")


_HINTS = {
    "bid": "Bid the komi: a number, as in 7",
    "choose": "Choose: swap-sides or keep-sides",
    AGREE: "Name the dead stones, as in A1 B2, or `none`",
}
_SHORT = {"choose": {"swap": "swap-sides", "keep": "keep-sides"}, AGREE: {"none": "dead:"}}
_QUESTIONS = (":board", ":help", ":hint", ":moves", ":rules", ":score", ":undo", ":why")
_MOST = 5000  # legal moves offered for completion
_HINT_WIDTH = 100  # columns


class HumanPlayer(Player):
    """A human who plays all games of a series, and shares the engine of the match."""

    def __init__(
        self, start: BotSpec, engine: Callable[[], Engine], terminal: HumanTerminal, shows_end: bool = True
    ) -> None:
        """Create the player.

        Args:
            start: The human as named on the command line.
            engine: Returns the current engine, which may change during a match.
            terminal: The terminal that the human uses.
            shows_end: Show the end of the match.
        """
        party = Party(name=start.name, program=HUMAN, command=HUMAN)
        self._adviser = Adviser()
        super().__init__(_NoProcess(self._adviser), party, frozenset(), Timeouts())
        self._engine = engine
        self._terminal = terminal
        self._shows_end = shows_end
        self._news: list[tuple[str, str]] = []
        self._hints: list[str] = []  # for the record
        self._example_shown = False
        self._seat, self._other, self._opening, self._known = 0, cast(Player, self), 0, 0

    def sit(self, seat: int, other: Player, opening: int, known: int) -> None:
        """Take a seat; see Player.sit."""
        self._seat, self._other, self._opening, self._known = seat, other, opening, known

    async def new_game(self, setting: Setting, seed: int | None = None) -> None:
        """Begin a game. A human never refuses one."""
        self._news.clear()
        self._hints.clear()
        self._setting = setting

    def tell(self, colour: str, move: str) -> None:
        """Keep a move until the human's turn, unless the human has already seen it."""
        if self._known:
            self._known -= 1
        else:
            self._news.append((colour, move))

    def new_warnings(self) -> list[str]:
        """Return which bots were asked for hints."""
        hints, self._hints = self._hints, []
        return hints

    async def agree_to_undo(self, plies: Sequence[tuple[str, str]]) -> str:
        """Ask the human to agree to a takeback. The clock of the other side keeps running."""
        asked = f"{self._other.name} asks {self.name} to take back {', '.join(move for _, move in plies)}"
        try:
            said = self._terminal.read(
                f"{escape_unprintable(asked)}: agree? (yes or no)> ", ["yes", "no"], None, lambda: ""
            )
        except HumanLeft:
            said = "no"
        return "" if said.lower() in ("y", "yes") else f"{self.name} does not agree"

    def check_alive(self) -> None:
        """Do nothing: a human has no process."""

    @property
    def agrees_by_genmove(self) -> bool:
        """Return True: a human is asked for dead stones like for a move."""
        return True

    async def agree(self, colour: str) -> Reply:
        """Ask for the dead stones. No clock runs."""
        return Reply(True, await self._turn(colour, None, "", AGREE))

    async def genmove(self, colour: str, mine: Clock, other: Clock) -> tuple[Reply, int]:
        """Ask for a move, and return it with the ms it took. Without a clock there is no time limit."""
        untimed, began = mine.control.kind is ControlKind.NONE, time.monotonic()
        deadline = None if untimed else began + mine.left / 1000
        theirs = "" if untimed else f"opponent {_shown(other.left / 1000)}"
        reply = Reply(True, await self._turn(colour, deadline, theirs))
        ms = int((time.monotonic() - began) * 1000)
        return reply, min(ms, mine.left) if untimed else ms

    async def end_game(self, result: str) -> bool:
        """Show the last position. Return True, because a human is always ready for another game."""
        if self._shows_end and result:
            self._tell_news()
            await self._show(self._engine())
        return True

    def diagnostics(self) -> Diagnostics:
        """Return empty diagnostics."""
        return Diagnostics()

    def _lines_of_a_new_game(self, setting: Setting) -> dict[str, bool]:
        return {}

    def _clock_line(self, colour: str, mine: Clock, other: Clock) -> str:
        return ""

    # -- a turn ----------------------------------------------------------------------------------------------

    async def _turn(self, colour: str, deadline: float | None, theirs: str, phase: str = "") -> str:
        """Ask until the human enters a legal move or `resign`, and return it.

        Raises:
            BotFault: The time is up.
        """
        engine, terminal = self._engine(), self._terminal
        proposed = next((move for _, move in self._news[-1:] if move.startswith("dead:")), "")
        self._tell_news()
        await self._show(engine)
        legal = [] if phase == AGREE else await engine.legal_moves()
        phase = phase or _phase(legal)
        if phase == "play" and legal and not self._example_shown:
            self._example_shown = True
            terminal.show(f"Type a move, as in {escape_unprintable(legal[0])}")
        if hint := _HINTS.get(phase):
            terminal.show(hint + (f"; `agree` to {proposed}" if proposed else ""))
        words = [*legal[:_MOST], *_SHORT.get(phase, {}), *(["agree"] if proposed else []), "resign", *_QUESTIONS]

        def clocks() -> str:
            return f"{self.name} {_shown(deadline - time.monotonic())}, {theirs}" if deadline else ""

        while True:
            try:
                typed = terminal.read(f"{colour} ({self.name})> ", words, deadline, clocks)
            except TimeUp:
                raise no_move_in_time() from None
            except HumanLeft:
                terminal.show("The input has ended: you resign")
                return "resign"
            if typed.startswith(":") and (typed[1:] not in legal or typed.split()[0] in _QUESTIONS):
                await self._answer(_words(typed[1:]), engine, legal, colour, phase)
            elif typed.lower() == "resign":
                return "resign"
            elif typed:
                move = proposed if proposed and typed.lower() == "agree" else _meant(typed.removeprefix(":"), phase)
                reason = await engine.why_illegal(move)
                if not reason:
                    return move
                terminal.show(f"illegal move: {escape_unprintable(reason)}")

    def _tell_news(self) -> None:
        for who, move in self._news:
            self._terminal.show(f"{who} played {escape_unprintable(move)}")
        self._news.clear()

    async def _answer(self, words: list[str], engine: Engine, legal: list[str], colour: str, phase: str) -> None:
        """Answer a question of the human. Only an agreed `:undo` changes the game, by raising PliesTakenBack."""
        show = self._terminal.show
        match words:
            case ["board"]:
                await self._show(engine)
            case ["moves"]:
                show(escape_unprintable(" ".join(legal)) or "a list of dead stones, as in dead:A1,B2")
            case ["score"]:
                said = (await engine.final())[1]
                width = screen_columns() or text.WIDTH
                show("\n".join(score_lines(said, width)) if said else "the engine does not provide a score")
            case ["why", move]:
                reason = await engine.why_illegal(move)
                show(escape_unprintable(f"{move} is illegal: {reason}" if reason else f"{move} is legal"))
            case ["why"]:
                show(f"write :why MOVE, as in :why {escape_unprintable(legal[0])}" if legal else "write :why MOVE")
            case ["rules"]:
                show(visible((await engine.rules(self._setting.game)).text) or "the engine does not provide its rules")
            case ["hint"]:
                show(_HINTS.get(phase, "Play one of these"))
                show(escape_unprintable(" ".join(legal)) or "a list of dead stones, as in dead:A1,B2")
            case ["hint", bot, *time] if len(time) <= 1:
                await self._hint(bot, "".join(time), engine, colour, phase)
            case ["undo", *count] if len(count) <= 1:
                await self._undo("".join(count), engine)
            case _:
                show(help_text(legal))

    async def _hint(self, word: str, time: str, engine: Engine, colour: str, phase: str) -> None:
        """Show what a bot would play here. The record notes that it was asked."""
        plies = await self._plies(engine)
        try:
            command = engine.party.command
            bot = knowing(read_bot(word), read_engine(None if command == OUR_ENGINE else command))
            control = analysis_control(time)
            status = Status(phase, colour, self._seat, len(plies))
            advice = await self._adviser.ask(bot, replace(self._setting, control=control), plies, status)
        except (WordError, LaunchError, CannotStart, BotFault, ValueError) as error:
            self._terminal.show(escape_unprintable(f"{word}: {error}"))
            return
        self._hints.append(f"asked {bot.name} for a hint at ply {len(plies) + 1}")
        reason = "" if advice.move.lower() == "resign" else await engine.why_illegal(advice.move)
        said = analysis_line(advice.analysis, _HINT_WIDTH)
        words = [f"{bot.name}: {advice.move or 'names no dead stones'}"]
        words += [f"illegal: {reason}"] if reason else [f"{advice.seconds:.1f} s", *([said] if said else [])]
        self._terminal.show(escape_unprintable(", ".join(words)))

    async def _undo(self, count: str, engine: Engine) -> None:
        """Ask the opponent to take back plies.

        Raises:
            PliesTakenBack: The opponent agrees.
        """
        plies, rows = await self._plies(engine), [line.split() for line in await engine.history()]
        if count:
            number = int(count) if count.isdecimal() and len(count) < 7 else 0
        else:
            mine = [at for at, row in enumerate(rows) if row[0] == str(self._seat) and at >= self._opening]
            number = len(plies) - mine[-1] if mine else 0
        if not 1 <= number <= len(plies) - self._opening:
            most = len(plies) - self._opening
            self._terminal.show(
                f"write :undo PLIES, with 1 to {most} plies" if most else "there is no ply to take back"
            )
        elif reason := await self._other.agree_to_undo(plies[-number:]):
            self._terminal.show(escape_unprintable(f"not taken back: {reason}"))
        else:
            raise PliesTakenBack(number)

    async def _plies(self, engine: Engine) -> list[tuple[str, str]]:
        """Return the colour and move of each ply."""
        return [(row[1], row[2]) for row in (line.split() for line in await engine.history()) if len(row) > 2]

    async def _show(self, engine: Engine) -> None:
        drawn = await engine.scene()
        if not drawn:
            self._terminal.show("the engine does not draw its board; :moves lists the legal moves")
            return
        try:
            scene = read_scene(drawn)
        except DrawingError as error:
            self._terminal.show(f"the engine's board cannot be drawn: {error}")
            return
        width = screen_columns() or text.WIDTH
        self._terminal.show("\n".join(["", text.draw(scene, width), "", *text.describe(scene, width)]))


def _phase(legal: list[str]) -> str:
    if "keep-sides" in legal:
        return "choose"
    return "bid" if legal and all(move.startswith("bid:") for move in legal) else "play"


def _words(typed: str) -> list[str]:
    """Split a text into words, with quotes as in a shell; at blanks only if a quote is not closed."""
    try:
        return shlex.split(typed)
    except ValueError:
        return typed.split()


def _meant(typed: str, phase: str) -> str:
    """Expand short forms: `7` to `bid:7`, `swap` to `swap-sides`, and `A1 B2` to a list of dead stones."""
    word = typed.lower()
    if short := _SHORT.get(phase, {}).get(word):
        return short
    if word in MOVE_WORDS:
        return word
    if word.startswith(("bid ", "dead ")):
        head, _, rest = typed.partition(" ")
        typed = f"{head.lower()}:{','.join(rest.replace(',', ' ').split())}"
    if phase == "bid" and typed.lstrip("+-").isdigit():
        return f"bid:{typed}"
    if phase == AGREE and not typed.lower().startswith("dead:"):
        return "dead:" + ",".join(typed.replace(",", " ").upper().split())
    return typed


def _shown(seconds: float) -> str:
    """Format seconds as `1:02:03`, `9:59` or `9.8 s`."""
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


class _NoProcess(Peer):
    """The Peer of a human, without a process. Stopping it ends the bots that were asked for hints."""

    def __init__(self, adviser: Adviser) -> None:
        self.channel = Channel(Memory.of(Responder(HUMAN, "", {})), PeerRole.BOT)
        self._adviser = adviser

    async def stop(self, kill: bool = False) -> None:
        await self._adviser.close()
        await super().stop(kill)


# -- matches in this process, for a human or a viewer -------------------------------------------------------------


class _Stop(BaseException):
    """An exception raised by a signal that ends the match."""


def play_by_hand(
    run: SeriesRun, recorder: RecordFile, terminal: HumanTerminal, seen: Callable[[Event], None]
) -> SeriesReport:
    """Play the remaining matches of a series in this process.

    Args:
        run: The series.
        recorder: The file that receives the records.
        terminal: The terminal of the human players.
        seen: Called with each event.
    """
    report, began, keeping = SeriesReport([run]), time.monotonic(), False
    setup, tally = run.setup, run.tally
    tally.forget_voids()

    def keep(record: bytes, result: GameResult) -> None:
        nonlocal keeping
        keeping = True  # a signal must not come between the record and the count
        recorder.append(record)
        recorder.commit()
        tally.add(result)
        report.plies += result.plies
        keeping = False

    def stop(number: int, frame: FrameType | None) -> None:
        first, report.stopped = not report.stopped, report.stopped or number
        if first and not keeping:
            raise _Stop

    humans = [bot for bot in setup.bots if is_human(bot)]

    def host(start: BotSpec, engine: Callable[[], Engine]) -> Player:
        return HumanPlayer(start, engine, terminal, shows_end=start == humans[0])

    if humans:
        terminal.show(help_text(()))
    runner = MatchRunner(keep, recorder.side_file(), seen=seen, host=host, notify=terminal.show)
    killed = True
    with on_signals(stop, *STOP_SIGNALS, signal.SIGHUP):
        try:
            while run.left and not report.over:
                number = run.left.popleft()
                run_blocking(runner.play(setup, number, tally.tried[number]))
                if tally.suspended:
                    report.suspend(*tally.suspended)
            killed = bool(report.stopped)
        except Suspended as error:
            report.suspend(error.who, str(error))
        except OSError as error:  # writing the record failed
            report.failed = str(error)
        except (KeyboardInterrupt, _Stop):  # a line editor handles Ctrl-C itself
            report.stopped = report.stopped or signal.SIGINT
        finally:
            keeping = True  # a second signal must not interrupt the cleanup
            run_blocking(runner.close(killed))
    report.began, report.ended = began, time.monotonic()
    return report


def play_at_terminal(run: SeriesRun, recorder: RecordFile, out: TextIO) -> SeriesReport:
    """Play the remaining matches at this terminal, announce each, and close the record."""
    adopt_orphans()
    terminal = open_terminal(out)
    show_ply = show_plies() if run.setup.extras.shows_plies else None

    def seen(event: Event) -> None:
        if show_ply is not None:
            show_ply(event)
        if line := announce(event):
            terminal.show(line)

    with recorder:
        return play_by_hand(run, recorder, terminal, seen)


def announce(event: Event) -> str:
    """Describe the start or the end of a match in one line. Return "" for plies, which the players see anyway."""
    if isinstance(event, MatchStarted):
        options = "".join(f" {name}={value}" for name, value in event.options.items())
        first, second = (bot.name for bot in event.bots)
        if event.continues:
            return escape_unprintable(f"{event.match} continues {event.continues}")
        return escape_unprintable(f"{event.game}{options}: {first} (seat 1) - {second} (seat 2), time {event.time}")
    if isinstance(event, MatchEnded) and event.termination == Termination.TAKEN_BACK:
        return escape_unprintable(event.detail)
    if isinstance(event, MatchEnded):
        detail = f": {event.detail}" if event.detail else ""
        return escape_unprintable(f"Result: {event.result or 'void'}, {event.termination}{detail}")
    return ""
