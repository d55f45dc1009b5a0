"""Shows how a ladder run goes: a table that is drawn over again on a terminal, or lines for a log. It counts nothing.

Both live on Progress values alone; what the rows say is frame's.
"""

import sys
from collections.abc import Callable
from types import TracebackType

from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType, Segment
from rich.style import Style

from referee.ladder.frame import Row, compose, headline, number, shown, summarise
from referee.ladder.progress import Progress
from referee.ratings.scale import half

OFTEN = 8  # drawings a second at the most
STYLES = {
    "": Style(),
    "head": Style(bold=True),
    "pool": Style(bold=True),
    "bar": Style(color="green"),
    "dim": Style(dim=True),
    "note": Style(italic=True, color="yellow"),
    "verdict": Style(bold=True, color="cyan"),
    "fault": Style(color="red"),
    "message": Style(color="yellow"),
}


class Rows:
    """Rows for a console, made for its width: names are never read as markup, nothing that its encoding has not."""

    def __init__(self, rows: Callable[[int], list[Row]]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        plain = not options.encoding.startswith("utf")
        for row in self._rows(options.max_width):
            for text, style in row:
                yield Segment(
                    text.encode(options.encoding, "replace").decode(options.encoding) if plain else text, STYLES[style]
                )
            yield Segment.line()


class LiveTable:
    """The table of a run on a terminal, taken away again at the end. `now` is a monotonic clock, in seconds.

    Only `update` and leaving draw, so a run that draws nothing pays nothing; no thread is started.
    """

    def __init__(self, console: Console, now: Callable[[], float]) -> None:
        self._console = console
        self._now = now
        self._progress = Progress("")
        self._drawn = float("-inf")
        self._size = console.size
        self._live = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            # What goes to a file must not come to the terminal instead.
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=sys.stderr.isatty(),
            get_renderable=self._rows,
        )

    def __enter__(self) -> "LiveTable":
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._settle()
        self._live.stop()

    def update(self, progress: Progress) -> None:
        """Show it, unless the table was drawn an eighth of a second ago or less."""
        self._progress = progress
        now = self._now()
        if now - self._drawn < 1 / OFTEN:
            return
        self._drawn = now
        self._settle()
        self._live.refresh()

    def _settle(self) -> None:
        """Begin on a clean screen if the terminal changed its size: it has broken the rows that stand there."""
        size = self._console.size
        if size != self._size:
            self._size = size
            self._console.control(Control(ControlType.CLEAR, ControlType.HOME))

    def _rows(self) -> Rows:
        # A row stays above the table, and one is where the cursor goes before the table is taken away.
        return Rows(lambda width: compose(self._progress, width, self._console.height - 2, self._now()))


class LogLines:
    """The run as lines, for --quiet and where there is no terminal: `say` gets each, without its end.

    A line every `every` seconds of the run, and each time a tenth of its games is done; one for every message; one
    for every kind of fault of every bot when it happens first.
    """

    def __init__(self, say: Callable[[str], None], every: float = 60.0) -> None:
        self._say = say
        self._every = every
        self._said = 0.0  # seconds of the run
        self._tenth: int | None = None
        self._messages = 0
        self._faults: set[tuple[str, str]] = set()

    def update(self, progress: Progress) -> None:
        """Say what is new."""
        for message in progress.messages[self._messages :]:
            self._say(shown(message))
        self._messages = len(progress.messages)
        for who, what in sorted(progress.faults.keys() - self._faults):
            self._say(f"fault: {shown(who)} {shown(what)}")
        self._faults |= progress.faults.keys()
        tenth = self._tenths(progress)
        first = self._tenth is None
        if progress.seconds - self._said >= self._every or (not first and tenth != self._tenth):
            self._said = progress.seconds
            self._say(status_line(progress))
        self._tenth = tenth

    def _tenths(self, progress: Progress) -> int:
        """How many tenths of the games that this run is to play."""
        if progress.target is None:
            return 0
        wanted = progress.target - (progress.stored - progress.games)
        return min(10, 10 * progress.games // wanted) if wanted > 0 else 10


def status_line(progress: Progress) -> str:
    """`120 of 200 games · 3.1 games/s · … · yugo: greedy 120 ± 35`: the run, its tests, who leads each pool."""
    words = [word for word, _ in headline(progress)[1:]]
    for pool, lines in progress.standings.items():
        if pool in progress.verdicts:
            words.append(f"{shown(pool)}: {shown(progress.verdicts[pool])}")
        elif lines and lines[0].games:
            best = lines[0]
            error = f" ± {half(best.se, 0)}" if best.se else ""
            words.append(f"{shown(pool)}: {shown(best.label)} {number(best.elo)}{error}")
    return " · ".join(words)


def final_summary(progress: Progress) -> Rows:
    """What is printed when a run ends: standings, verdicts, how games ended, whose faults."""
    return Rows(lambda width: summarise(progress, width))
