"""How a match is shown: drawn over and over on a terminal, a line a move in a pipe, or as JSON. What, `shown` says."""

import sys
import time

import click
import msgspec
from rich.console import Console
from rich.live import Live
from rich.text import Text

from protocol.drawing.scene import clean
from protocol.printed import escaped
from protocol.records import Event, MatchEnded, MatchStarted, MovePlayed
from protocol.spectating import News
from referee.console.board import Board
from referee.console.travel import line_of
from referee.watch.easel import Easel
from referee.watch.shown import Shown, about, result

OFTEN = 8  # drawings a second at the most
_STYLES = {"class:black": "bold blue", "class:white": "bold yellow", "class:mark": "bold green"}
_LISTED = 8  # matches under way beneath the board


class View:
    """Is told what happens, and may look at all that is shown; this one shows nothing. `linger`: seconds that the end
    of a match is to be seen."""

    linger = 0.0

    def event(self, event: Event) -> None:
        """Of the match that is shown."""

    def again(self) -> None:
        """The match is told from the beginning once more, and otherwise."""

    def news(self, news: News) -> None:
        """Of the ladder."""

    def tell(self, text: str) -> None:
        """Of the connection."""

    def draw(self) -> None:
        """Called often; whoever draws, draws if it is time."""

    def close(self) -> None:
        """In the end."""


class Lines(View):
    """Plain text: a line for a start, a ply and an end; with an easel a board after each."""

    def __init__(self, shown: Shown, easel: Easel | None) -> None:
        self._shown, self._easel = shown, easel

    def event(self, event: Event) -> None:
        if isinstance(event, MatchStarted):
            game = " ".join([event.game, *(f"{name}={value}" for name, value in event.options.items())])
            first, second = event.bots
            click.echo(clean(f"{event.match}: {game}, {event.control}, {first.name} - {second.name}"))
        elif isinstance(event, MovePlayed):
            left = "" if event.left is None else f"  {event.left / 1000:.3f} s left"
            click.echo(clean(f"{line_of(event)}{left}"))
        else:
            click.echo(clean(f"{event.match} over: {event.result or 'void'}, {event.termination}"))
        record = self._shown.record
        if self._easel is not None and record is not None and not isinstance(event, MatchEnded):
            board = self._easel.draw(record)
            lines = ["".join(piece for _, piece in line) for line in board.lines]
            click.echo("\n".join([*lines, *(board.notes if not lines else ()), ""]))

    def again(self) -> None:
        click.echo(clean(f"{self._shown.match} was taken up from an earlier ply:"))

    def tell(self, text: str) -> None:
        click.echo(clean(text), err=True)

    def close(self) -> None:
        if self._easel is not None:
            self._easel.close()


class Json(View):
    """Every event and all news as JSON lines, as they were published; the connection's on stderr."""

    def event(self, event: Event) -> None:
        self._say(event)

    def news(self, news: News) -> None:
        self._say(news)

    def tell(self, text: str) -> None:
        click.echo(clean(text), err=True)

    def _say(self, what: Event | News) -> None:
        click.echo(escaped(msgspec.json.encode(what).decode()))


class Screen(View):
    """A board that is drawn over and over, with what else is under way. The last one stays when it is closed."""

    linger = 3.0

    def __init__(self, shown: Shown, easel: Easel) -> None:
        self._shown, self._easel = shown, easel
        self._board, self._drawn = Board([]), ("", -1, False)
        self._due, self._next = True, 0.0
        self._closed = False
        self._console = Console(file=sys.stdout, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, get_renderable=self._page)
        self._live.start()

    def event(self, event: Event) -> None:
        self._due = True

    def news(self, news: News) -> None:
        self._due = True

    def tell(self, text: str) -> None:
        self._due = True

    def draw(self) -> None:
        if self._due and time.monotonic() >= self._next:
            self._due = False
            self._next = time.monotonic() + 1 / OFTEN
            self._live.refresh()

    def close(self) -> None:
        self._closed = True
        self._live.stop()  # which draws once more
        self._easel.close()

    def _page(self) -> Text:
        """As many lines as there is room for; the last one stays empty, for the cursor."""
        room, width = self._console.height - 1, self._console.width
        lines = [*self._match(), *self._rest()]
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        return Text("\n").join(lines[:room])

    def _match(self) -> list[Text]:
        shown, record = self._shown, self._shown.record
        trouble = [Text(clean(shown.trouble), style="bold red")] if shown.trouble else []
        if record is None:
            waits = "waiting for a match to begin" if not shown.match else f"waiting for {clean(shown.match)}"
            return [*trouble, Text(waits, style="dim")]
        at = (record.start.match, len(record.plies), record.end is not None)
        if at != self._drawn and not self._closed:  # whoever is in a hurry to end does not wait for an engine
            self._board, self._drawn = self._easel.draw(record), at
        start, board = record.start, self._board
        game = " ".join([start.game, *(f"{name}={value}" for name, value in start.options.items())])
        lines = [Text(clean(f"{game}  {start.control}  {start.match}"), style="bold"), *trouble]
        lines += [Text(line) for line in board.caption]
        if record.end is not None:
            end = record.end
            winner = f", won by {start.bots[end.winner - 1].name}" if end.winner in (1, 2) else ""
            lines.append(Text(clean(f"over: {end.result or 'void'}, {end.termination}{winner}"), style="bold cyan"))
        lines.append(Text())
        lines += [Text.assemble(*((piece, _STYLES.get(style, "")) for style, piece in line)) for line in board.lines]
        return [*lines, *(Text(clean(note), style="dim") for note in board.notes)]

    def _rest(self) -> list[Text]:
        shown = self._shown
        heads = sorted(shown.roll.matches.values(), key=lambda head: head.started, reverse=True)
        lines = [Text(), Text(f"{len(heads)} under way at {shown.url}", style="bold")]
        for head in heads[:_LISTED]:
            here = head.match == shown.match
            lines.append(Text(f"{'>' if here else ' '} {about(head)}", style="" if here else "dim"))
        return [*lines, *(Text(f"  {result(over)}", style="dim") for over in shown.results)]
