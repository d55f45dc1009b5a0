"""`ggp watch [URL] [MATCH]`: shows the matches of a lobby while they are played."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import click
import msgspec
from rich.live import Live
from rich.text import Text

from ggp.protocol.errors import Problem, ProtocolError
from ggp.protocol.messages import Reply
from ggp.protocol.printed import escaped
from ggp.protocol.records import Event, MatchEnded, MatchStarted, MovePlayed, Record
from ggp.protocol.spectator_wire import MatchHead, News, Over, Roll, SpectatorState
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.keys import read_public
from ggp.protocol.transports.spectator import Again, Down, Happened, Missing, NoSuch, SeenEvents, Sight, Spectator, Up
from ggp.referee.command_line import HELP, run_command
from ggp.referee.match.analysis import line_of
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.match.engine import Engine, start_engine
from ggp.referee.match.setting import Timeouts
from ggp.referee.terminal import NOTHING, BoardText, can_redraw, draw_scene, escape_unprintable, rich_console
from ggp.referee.tools.console.own_commands import OwnFailed
from ggp.referee.tools.console.replay import MatchCaption
from ggp.referee.tools.console.workbench import Workbench

HERE = "tcp://127.0.0.1:7712"
EPILOGUE = """\b
Without MATCH the one that began last is shown, and when it has ended the next.
On a terminal the board is drawn over and over; in a pipe each ply is a line.

\b
A lost connection is renewed, and missed events are requested.
The exit status is 0 after Ctrl-C and after the end of MATCH, 2 for an unknown
match, an invalid address, or a server with another key.
"""


def main(argv: list[str]) -> int:
    """The exit status."""

    return run_command(watch, "ggp watch", argv)


@click.command("watch", epilog=EPILOGUE, context_settings=HELP)
@click.argument("words", metavar="[tcp://HOST:PORT] [MATCH]", nargs=-1)
@click.option("--bot", metavar="NAME", default="", help="Only matches of this bot, one after another.")
@click.option("--list", "only_list", is_flag=True, help="List the running matches, and end.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines.")
@click.option("--boards", is_flag=True, help="In plain text: a board after each ply.")
@click.option("--server-key", metavar="KEY|FILE", help="The lobby's public key, if it is on another machine.")
@click.option("--engine", metavar="COMMAND|URL", help="The engine of the game: a command line, or tcp://host:port.")
def watch(
    words: tuple[str, ...],
    bot: str,
    only_list: bool,
    as_json: bool,
    boards: bool,
    server_key: str | None,
    engine: str | None,
) -> int:
    """Watch the matches of a lobby (ggp serve) live: boards, clocks, results.

    MATCH is the name of a match, or a part that no other has; also one that has ended.
    """

    url, match = _read(words)
    if match and bot:
        raise click.UsageError("name a MATCH or a --bot, not both")
    with Spectator(url, read_public(server_key) if server_key else "") as there:
        try:
            if only_list:
                list_matches(there, click.echo)
                return 0
            shown = ViewState(url, there.roll)
            view: View = JsonView()
            if not as_json:
                view = (
                    LinesView(shown, BoardRenderer(engine) if boards else None)
                    if _is_plain()
                    else ScreenView(shown, BoardRenderer(engine))
                )
            try:
                SpectatorClient(there, shown, view, match, bot).run()
            finally:
                view.close()
        except (KeyboardInterrupt, BrokenPipeError):
            return 0
    return 0


def _read(words: tuple[str, ...]) -> tuple[str, str]:
    """Address and match, each if it is there."""
    urls = [word for word in words if "://" in word]
    others = [word for word in words if "://" not in word]
    if len(urls) > 1 or len(others) > 1:
        raise click.UsageError("write ggp watch [tcp://HOST:PORT] [MATCH]")
    return urls[0] if urls else HERE, others[0] if others else ""


def _is_plain() -> bool:
    return not can_redraw()


# -- state of the view ------------------------------------------------------------------------------------------------


LATEST = 5  # results that are remembered


@dataclass(slots=True)
class ViewState:
    """`match` is the name of the one that is shown, "" for none; `trouble`: why nothing comes, or ""."""

    url: str
    roll: Roll
    match: str = ""
    trouble: str = ""
    start: MatchStarted | None = None
    plies: list[MovePlayed] = field(default_factory=list)
    end: MatchEnded | None = None
    results: deque[Over] = field(default_factory=lambda: deque(maxlen=LATEST))

    def choose(self, match: str) -> None:
        """Show this match."""
        self.match, self.start, self.plies, self.end = match, None, [], None

    def add(self, event: Event) -> None:
        """The next event of the match that is shown."""
        if isinstance(event, MatchStarted):
            self.start, self.plies, self.end = event, [], None
        elif isinstance(event, MovePlayed):
            self.plies.append(event)
        else:
            self.end = event

    @property
    def record(self) -> Record | None:
        """The events so far; None before the start."""
        return Record(self.start, tuple(self.plies), self.end) if self.start else None


class Ambiguous(Problem):
    """A word means several matches; str() lists them."""

    code = "ambiguous-match"


def find(word: str, roll: Roll) -> str:
    """The match under way whose name is or contains the word; the word itself if there is none: it may have ended.

    Raises Ambiguous.
    """
    if word in roll.matches:
        return word
    found = [name for name in roll.matches if word in name]
    if len(found) > 1:
        raise Ambiguous(f"{escape_unprintable(word)} may mean {len(found)} matches: name more of it\n{listing(roll)}")
    return found[0] if found else word


def newest(roll: Roll, bot: str) -> str:
    """The match that began last, of this bot if one is named; "" if there is none."""
    heads = [head for head in roll.matches.values() if not bot or bot in head.bots]
    return max(heads, key=lambda head: head.started).match if heads else ""


def listing(roll: Roll, most: int = 50) -> str:
    """The matches under way, newest first, a line each."""
    heads = sorted(roll.matches.values(), key=lambda head: head.started, reverse=True)
    if not heads:
        return "no match is under way"
    more = [f"… {len(heads) - most} more"] if len(heads) > most else []
    return "\n".join([*(about(head) for head in heads[:most]), *more])


def about(head: MatchHead) -> str:
    """A match in a line."""
    game = " ".join([head.game, *(f"{name}={value}" for name, value in head.options.items())])
    return escape_unprintable(f"{head.match}  {game}  {head.control}  {' - '.join(head.bots)}")


def result(over: Over) -> str:
    """How a match ended, in a line."""
    return escape_unprintable(
        f"{over.head.match}  {' - '.join(over.head.bots)}  {over.result or 'void'}, {over.termination}"
    )


# -- the board --------------------------------------------------------------------------------------------------------


_PATIENCE = Timeouts().command


class BoardRenderer:
    """`engine` is a command line or an address, None for the built-in one. Nothing is started before it is needed.

    An engine that cannot follow a match draws nothing, and a note says why.
    """

    def __init__(self, engine: str | None) -> None:
        self._word = engine
        self._engine: Engine | None = None
        self._bench: Workbench | None = None
        self._record: Record | None = None

    def draw(self, record: Record) -> BoardText:
        """The position after the last ply, with a caption. EngineFailed if the engine does not start."""
        engine = self._engine = self._engine or run_blocking(start_engine(read_engine(self._word)))
        bench = self._bench
        if bench is None or self._record is None or self._record.start != record.start:
            bench = self._bench = Workbench.of_match(record, self._ask, lambda: self._record)
        self._record = record
        if "ggp-scene" in engine.lacks:
            return BoardText([], ("the engine lists no ggp-scene: it cannot say what to draw",))
        try:
            bench.goto(-1)
            scene = self._ask("ggp-scene")
            board = draw_scene(scene.text) if scene.ok else NOTHING
            return board._replace(caption=MatchCaption(bench, record).ask(self._ask))
        except (OwnFailed, ProtocolError) as error:
            self._bench = None
            self.close()
            return BoardText([], (f"the engine cannot follow this match: {error}",))

    def close(self) -> None:
        """End the engine; it is started again when it is needed."""
        engine, self._engine = self._engine, None
        if engine is not None:
            run_blocking(engine.peer.stop())

    def _ask(self, line: str) -> Reply:
        assert self._engine is not None
        channel = self._engine.peer.channel
        return run_blocking(channel.ask(line, channel.now() + _PATIENCE))


# -- views: screen, lines, JSON ---------------------------------------------------------------------------------------


OFTEN = 8  # drawings a second at the most
_STYLES = {"class:black": "bold blue", "class:white": "bold yellow", "class:mark": "bold green"}
_LISTED = 8  # matches under way beneath the board


class View:
    """Receives events and may read the view state. This base class shows only notes.

    `linger`: seconds for which the end of a match stays on the screen.
    """

    linger = 0.0

    def event(self, event: Event) -> None:
        """Of the match that is shown."""

    def again(self) -> None:
        """The match was restarted: discard its events; they are resent from the first."""

    def news(self, news: News) -> None:
        """Of the ladder."""

    def note(self, text: str) -> None:
        """Of the connection: a line on stderr."""
        click.echo(escape_unprintable(text), err=True)

    def draw(self) -> None:
        """Called often; draw if it is time."""

    def close(self) -> None:
        """In the end."""


class LinesView(View):
    """Plain text: a line for a start, a ply and an end; with a renderer a board after each."""

    def __init__(self, shown: ViewState, renderer: BoardRenderer | None) -> None:
        self._shown, self._renderer = shown, renderer

    def event(self, event: Event) -> None:
        if isinstance(event, MatchStarted):
            game = " ".join([event.game, *(f"{name}={value}" for name, value in event.options.items())])
            first, second = event.bots
            click.echo(escape_unprintable(f"{event.match}: {game}, {event.time}, {first.name} - {second.name}"))
        elif isinstance(event, MovePlayed):
            left = "" if event.left is None else f"  {event.left / 1000:.3f} s left"
            click.echo(escape_unprintable(f"{line_of(event)}{left}"))
        else:
            click.echo(escape_unprintable(f"{event.match} over: {event.result or 'void'}, {event.termination}"))
        record = self._shown.record
        if self._renderer is not None and record is not None and not isinstance(event, MatchEnded):
            board = self._renderer.draw(record)
            lines = ["".join(piece for _, piece in line) for line in board.lines]
            click.echo("\n".join([*lines, *(board.notes if not lines else ()), ""]))

    def again(self) -> None:
        click.echo(escape_unprintable(f"{self._shown.match} was taken up from an earlier ply:"))

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()


class JsonView(View):
    """Every event and all news as JSON lines; notes about the connection on stderr."""

    def event(self, event: Event) -> None:
        self._print(event)

    def news(self, news: News) -> None:
        self._print(news)

    def _print(self, what: Event | News) -> None:
        click.echo(escaped(msgspec.json.encode(what).decode()))


class ScreenView(View):
    """A board that is drawn again and again, above the list of matches. The last one stays after the end."""

    linger = 3.0

    def __init__(self, shown: ViewState, renderer: BoardRenderer) -> None:
        self._shown, self._renderer = shown, renderer
        self._board, self._drawn = BoardText([]), ("", -1, False)
        self._due, self._next = True, 0.0
        self._closed = False
        self._console = rich_console()
        self._live = Live(console=self._console, auto_refresh=False, get_renderable=self._page)
        self._live.start()

    def event(self, event: Event) -> None:
        self._due = True

    def news(self, news: News) -> None:
        self._due = True

    def note(self, text: str) -> None:
        self._due = True

    def draw(self) -> None:
        if self._due and time.monotonic() >= self._next:
            self._due = False
            self._next = time.monotonic() + 1 / OFTEN
            self._live.refresh()

    def close(self) -> None:
        self._closed = True
        self._live.stop()  # which draws once more
        self._renderer.close()

    def _page(self) -> Text:
        """The lines that have room; the last line of the screen is for the cursor."""
        room, width = self._console.height - 1, self._console.width
        lines = [*self._match(), *self._rest()]
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        return Text("\n").join(lines[:room])

    def _match(self) -> list[Text]:
        shown, record = self._shown, self._shown.record
        trouble = [Text(escape_unprintable(shown.trouble), style="bold red")] if shown.trouble else []
        if record is None:
            waits = (
                "waiting for a match to begin" if not shown.match else f"waiting for {escape_unprintable(shown.match)}"
            )
            return [*trouble, Text(waits, style="dim")]
        at = (record.start.match, len(record.plies), record.end is not None)
        if at != self._drawn and not self._closed:  # when closing, do not wait for an engine
            self._board, self._drawn = self._renderer.draw(record), at
        start, board = record.start, self._board
        game = " ".join([start.game, *(f"{name}={value}" for name, value in start.options.items())])
        lines = [Text(escape_unprintable(f"{game}  {start.time}  {start.match}"), style="bold"), *trouble]
        lines += [Text(line) for line in board.caption]
        if record.end is not None:
            end = record.end
            winner = f", won by {start.bots[end.winner - 1].name}" if end.winner in (1, 2) else ""
            lines.append(
                Text(escape_unprintable(f"over: {end.result or 'void'}, {end.termination}{winner}"), style="bold cyan")
            )
        lines.append(Text())
        lines += [Text.assemble(*((piece, _STYLES.get(style, "")) for style, piece in line)) for line in board.lines]
        return [*lines, *(Text(escape_unprintable(note), style="dim") for note in board.notes)]

    def _rest(self) -> list[Text]:
        shown = self._shown
        heads = sorted(shown.roll.matches.values(), key=lambda head: head.started, reverse=True)
        lines = [Text(), Text(f"{len(heads)} under way at {shown.url}", style="bold")]
        for head in heads[:_LISTED]:
            here = head.match == shown.match
            lines.append(Text(f"{'>' if here else ' '} {about(head)}", style="" if here else "dim"))
        return [*lines, *(Text(f"  {result(over)}", style="dim") for over in shown.results)]


# -- the client -------------------------------------------------------------------------------------------------------


PATIENCE = 10.0  # seconds that --list waits for the lobby's list
_WAIT = 1.0


class SpectatorClient:
    """Shows the match that `word` means, to its end; without a word one match after another, of `bot` if named."""

    def __init__(self, there: Spectator, shown: ViewState, view: View, word: str = "", bot: str = "") -> None:
        self._there, self._shown, self._view = there, shown, view
        self._word, self._bot = word, bot
        self._known = False  # whether the list of matches has come
        self._over = False
        self._until = 0.0  # the time until which the end of a match is shown

    def run(self) -> None:
        """Run until that match has ended, or for ever. Raises ClickException, Ambiguous."""
        self._there.follow_ladder()
        while not (self._over and time.monotonic() >= self._until):
            self._choose()
            sight = self._there.read(1 / OFTEN if self._until > time.monotonic() or self._shown.match else _WAIT)
            if sight is not None:
                self._on_sight(sight)
            self._view.draw()

    def _choose(self) -> None:
        shown = self._shown
        if not self._known or self._over or time.monotonic() < self._until:
            return
        if self._word:
            if not shown.match:
                self._show(find(self._word, shown.roll))
        elif (not shown.match or shown.end) and (match := newest(shown.roll, self._bot)) and match != shown.match:
            self._show(match)

    def _show(self, match: str) -> None:
        self._shown.choose(match)
        try:
            self._there.follow(match)
        except ValueError:
            raise self._nowhere(match) from None

    def _on_sight(self, sight: Sight) -> None:
        shown, view = self._shown, self._view
        match sight:
            case SeenEvents(_, event):
                shown.add(event)
                view.event(event)
                if isinstance(event, MatchEnded):
                    self._until = time.monotonic() + view.linger
                    self._over = bool(self._word)
            case Again():
                shown.choose(shown.match)
                view.again()
            case Missing(_, number):
                view.note(f"events from {number} on were lost on the way and are asked for")
            case NoSuch(match):
                if self._word:
                    raise self._nowhere(match)
                shown.choose("")
            case Happened(news):
                self._known = True
                if isinstance(news, Over):
                    shown.results.append(news)
                    self._given_up(news)
                if not isinstance(news, SpectatorState):
                    view.news(news)
            case Up():
                shown.trouble = ""
                view.note(f"connected to {shown.url}")
            case Down(reason):
                shown.trouble = f"{_trouble(shown.url, reason)} (trying again)"
                view.note(shown.trouble)

    def _given_up(self, over: Over) -> None:
        """A match without an end."""
        if over.head.match == self._shown.match and over.termination == "dropped":
            self._view.note(f"{over.head.match} was given up: its bots did not come back")
            self._there.leave(over.head.match)
            self._shown.choose("")
            self._over = bool(self._word)

    def _nowhere(self, match: str) -> click.ClickException:
        return click.ClickException(
            f"{self._shown.url} knows no match {escape_unprintable(match)}\n{listing(self._shown.roll)}"
        )


def list_matches(there: Spectator, say: Callable[[str], None]) -> None:
    """List the running matches once. Raises ClickException without an answer in time."""
    there.follow_ladder()
    until, reason = time.monotonic() + PATIENCE, "no answer"
    while (left := until - time.monotonic()) > 0:
        sight = there.read(left)
        if isinstance(sight, Happened):
            say(listing(there.roll, most=10_000))
            return
        if isinstance(sight, Down):
            reason = sight.reason
    raise click.ClickException(_trouble(there.url, reason))


def _trouble(url: str, reason: str) -> str:
    return "; ".join(filter(None, (f"{url}: {reason}", _REMEDIES.get(reason))))


_REMEDIES = {
    "no program listens there": "is the lobby running (ggp serve), with this address as lobby.watch?",
}
