"""The progress of a run: a live table on a terminal, lines for a log, and the summary at the end."""

import math
import sys
from collections.abc import Callable, Iterable
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.control import Control
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.segment import ControlType
from rich.table import Table
from rich.text import Text

from ggp.protocol.drawing.scene import replace_unprintable
from ggp.referee.ladder.progress import Progress
from ggp.referee.ladder.standings import RankedPlace
from ggp.referee.ladder.tune import TUNE_HEADS, TuneState
from ggp.referee.ratings.scale import half
from ggp.referee.terminal import on_terminal, spelled

OFTEN = 2  # drawings a second at the most: one may take 25 ms
MOST_NAME = 40  # cells of a bot
MOST_RATED = 50  # bots of a pool in the summary
MOST_FAULTY = 20  # in the summary
_LONGEST = 400  # characters of a text from outside that are looked at
_TITLE = 24  # characters of the ladder's name that are shown
_SELECTORS = dict.fromkeys([*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])  # terminals disagree on their width


class LiveTable:
    """The table of a run on a terminal, removed at the end. `now` is a monotonic clock, in seconds.

    Only `update` and the end draw, in the thread that feeds the workers.
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
            redirect_stdout=on_terminal(sys.stdout),
            redirect_stderr=on_terminal(sys.stderr),
            # A row stays above the table, and one is where the cursor goes before the table is taken away.
            get_renderable=lambda: compose(self._progress, console.height - 2, now()),
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
        """Draw the progress, unless the last drawing is too recent."""
        self._progress = progress
        now = self._now()
        if now - self._drawn < 1 / OFTEN:
            return
        self._drawn = now
        self._settle()
        self._live.refresh()

    def _settle(self) -> None:
        """Clear the screen if the terminal changed its size, which breaks the rows on it."""
        size = self._console.size
        if size != self._size:
            self._size = size
            self._console.control(Control(ControlType.CLEAR, ControlType.HOME))


def compose(progress: Progress, height: int, now: float) -> RenderableType:
    """The run in at most `height` rows: what matters most where there is little room."""
    tight = height < 20
    head: list[RenderableType] = [_row(" · ".join(headline(progress)), "bold")]
    if not tight and progress.target:
        bar = ProgressBar(progress.target, progress.stored, complete_style="green", finished_style="green")
        head.append(Padding(bar, 0))  # alone it would not end its row
    verdicts = _at_most(_verdicts(progress), 1 + height // 8, "tests")
    playing = _at_most(_playing(progress, now), height // 5, "pairs")
    counts: list[RenderableType] = (
        [] if tight else [_row(f"{what}{text}", style) for what, text, style in _counts(progress)]
    )
    messages: list[RenderableType] = [_row(shown(text), "yellow") for text in progress.messages[-1 if tight else -3 :]]
    blocks: list[list[RenderableType]] = [head, verdicts, [], playing, counts, messages]
    gaps = 0 if tight else sum(map(bool, blocks))
    blocks[2] = _middle(progress, height - sum(map(len, blocks)) - gaps)
    gap = [] if tight else [Text()]
    rows = [row for block in blocks if block for row in [*gap, *block]][len(gap) :]
    return Group(*rows)


def final_summary(progress: Progress) -> RenderableType:
    """All there is to say when a run ends: standings, verdicts, how games ended, whose faults."""
    rows: list[RenderableType] = [_row(" · ".join(headline(progress)), "bold"), *_verdicts(progress)]
    if progress.tune:
        rows += [Text(), *_tune(progress.tune, len(progress.tune.rows) + 2)]
    for pool, lines in progress.standings.items() if not progress.tune else ():
        rows += [Text(), _pool(pool, lines[:MOST_RATED])]
        if len(lines) > MOST_RATED:
            rows.append(_row(f"… {len(lines) - MOST_RATED:,} more", "dim"))
        if pool in progress.zeros:
            rows.append(_row(shown(progress.zeros[pool]), "dim"))
    counts = Table.grid()
    for what, text, style in _counts(progress):
        counts.add_row(what, Text(spelled(text)), style=style)
    plies = f"{progress.plies:,} plies in {duration(progress.seconds)}"
    return Group(*rows, Text(), counts, _row(f"{progress.games:,} games in this run, {plies}", "dim"))


# --- the rows of each part -------------------------------------------------------------------------------------------


def headline(progress: Progress) -> list[str]:
    """The run in few words, the ladder's name first."""
    games = f"{progress.stored:,} games"
    if progress.target is not None:
        games = f"{progress.stored:,} of {progress.target:,} games"
    return [
        shown(progress.ladder[:_TITLE]),
        games,
        f"{progress.games:,} in this run",
        f"{progress.rate:,.1f} games/s",
        *([f"{duration(progress.left)} left"] if progress.left is not None else []),
        f"{duration(progress.seconds)} so far",
    ]


def _row(text: str, style: str = "") -> Text:
    return Text(spelled(text), style, no_wrap=True, overflow="ellipsis")


def _middle(progress: Progress, room: int) -> list[RenderableType]:
    return _tune(progress.tune, room) if progress.tune else _standings(progress, room)


def _tune(state: TuneState, room: int) -> list[RenderableType]:
    """The parameters, as many as there is room for, and how far the tune is."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for place, head in enumerate(TUNE_HEADS):
        table.add_column(head, justify="right" if 0 < place < len(TUNE_HEADS) - 1 else "left", no_wrap=True)
    for row in state.rows[: max(0, room - 2)]:
        table.add_row(*(spelled(shown(cell)) for cell in row))
    return [table, _row(state.summary, "dim")] if room > 2 else [_row(state.summary, "dim")]


def _standings(progress: Progress, room: int) -> list[RenderableType]:
    """As many pools as get three rows each; of each the heads, as many bots as there is room for, and what zero is."""
    pools = list(progress.standings.items())
    count = min(len(pools), max(1, room // 3))
    more = [_row(f"pools not shown: {len(pools) - count}", "dim")] if count < len(pools) else []
    wanted = [1 + len(lines) + (pool in progress.zeros) for pool, lines in pools[:count]]
    rows: list[RenderableType] = []
    for (pool, lines), fair in zip(pools, shares(wanted, room - len(more)), strict=False):
        best = lines if len(lines) < fair else lines[: max(0, fair - 2)]
        if fair > 0:
            rows.append(_pool(pool, best))
        if len(best) < len(lines) and fair > 1:
            rows.append(_row(f"… {len(lines) - len(best):,} more", "dim"))
        elif pool in progress.zeros and 1 + len(lines) < fair:
            rows.append(_row(shown(progress.zeros[pool]), "dim"))
    return [*rows, *more]


def _pool(pool: str, lines: list[RankedPlace]) -> Table:
    """The name of the pool and heads, then the bots, a row each: on a narrow terminal names and notes are cut."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("", justify="right", style="dim", no_wrap=True)
    table.add_column(_row(shown(pool), "bold not dim"), max_width=MOST_NAME)
    for head, width in (("Elo", 5), ("±", 4), ("games", 7), ("score", 6)):
        table.add_column(spelled(head), justify="right", min_width=width, no_wrap=True)
    table.add_column("", style="italic yellow")
    for rank, place in enumerate(lines, 1):
        row, score = place.row, place.score
        numbers = [number(row.elo), half(row.se, 0), f"{score.games:,}", percent(score.share, score.games)]
        table.add_row(f"{rank}", _row(shown(place.seat.label)), *numbers, _row(shown(place.note)))
    return table


def _playing(progress: Progress, now: float) -> list[RenderableType]:
    """Who plays, the longest first."""
    return [
        _row(
            f"{'given out' if pair.given else 'playing'} {max(0.0, now - pair.since):,.0f} s"
            f"  {shown(pair.first)} – {shown(pair.second)}  {shown(pair.pool)}"
        )
        for pair in sorted(progress.playing, key=lambda pair: pair.since)
    ]


def _verdicts(progress: Progress) -> list[RenderableType]:
    many = len(progress.standings) > 1
    return [
        _row(f"{shown(pool)}: {shown(text)}" if many else shown(text), "bold cyan")
        for pool, text in progress.verdicts.items()
    ]


def _counts(progress: Progress) -> Iterable[tuple[str, str, str]]:
    """How games ended, and whose faults: what it is, the counts, a style."""
    if progress.terminations:
        ends = progress.terminations.most_common()
        yield "ended by: ", ", ".join(f"{shown(what)} {count:,}" for what, count in ends), ""
    if progress.faults:
        most = sorted(progress.faults.items(), key=lambda item: (-item[1], item[0]))
        words = [f"{shown(who)} {shown(what)} {count:,}" for (who, what), count in most[:MOST_FAULTY]]
        if len(most) > MOST_FAULTY:
            words.append(f"and {len(most) - MOST_FAULTY} more")
        yield "faults: ", ", ".join(words), "red"


def _at_most(rows: list[RenderableType], room: int, what: str) -> list[RenderableType]:
    if len(rows) <= room:
        return rows
    return [*rows[: max(0, room - 1)], _row(f"… {len(rows) - max(0, room - 1)} more {what}", "dim")]


def shares(wanted: list[int], room: int) -> list[int]:
    """Divide `room` fairly: no share exceeds what is wanted, and the others get what one does not want."""
    fair, left = [0] * len(wanted), max(0, room)
    for done, place in enumerate(sorted(range(len(wanted)), key=lambda place: wanted[place])):
        fair[place] = min(wanted[place], left // (len(wanted) - done))
        left -= fair[place]
    return fair


def shown(text: str) -> str:
    """A text from outside without what would move the cursor, turn the line around or hide its width."""
    return replace_unprintable(text[:_LONGEST]).translate(_SELECTORS)


def number(value: float) -> str:
    """Elo, whole; `-` where there is none."""
    return f"{value:.0f}" if math.isfinite(value) else "-"


def percent(share: float, games: int) -> str:
    """Of a share of points; nothing without games."""
    return f"{share:.1%}" if games else ""


def duration(seconds: float) -> str:
    """`0:07`, `1:02:03`, `3 d 04:05`."""
    if not math.isfinite(seconds):
        return "?"
    minutes, second = divmod(max(0, round(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days:,} d {hour:02d}:{minute:02d}"
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


# --- lines for a log -------------------------------------------------------------------------------------------------


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
        """Write lines for what is new."""
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
    words = headline(progress)[1:]
    if progress.tune:
        words += [progress.tune.summary.partition(";")[0]]
        words += [
            f"{name} {value} ± {half}" if half else f"{name} {value}" for name, _, value, half, _ in progress.tune.rows
        ]
        words += [shown(text) for text in progress.verdicts.values()]
        return " · ".join(words)
    for pool, lines in progress.standings.items():
        if pool in progress.verdicts:
            words.append(f"{shown(pool)}: {shown(progress.verdicts[pool])}")
        elif lines and lines[0].score.games:
            best = lines[0]
            error = f" ± {half(best.row.se, 0)}" if best.row.se else ""
            words.append(f"{shown(pool)}: {shown(best.seat.label)} {number(best.row.elo)}{error}")
    return " · ".join(words)
