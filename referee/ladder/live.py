"""The progress of a run: a live table on a terminal, lines for a log, and the summary at the end."""

import contextlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

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
from ggp.referee.ladder.tune import TUNE_HEADS, TuneState
from ggp.referee.ratings.scale import half
from ggp.referee.ratings.standings import Standing
from ggp.referee.terminal import on_terminal, spelled

OFTEN = 2  # drawings a second at the most: one may take 25 ms
MOST_NAME = 40  # cells of a bot
MOST_RATED = 50  # bots of a pool in the summary
MOST_FAULTY = 20  # in the summary
_LONGEST = 400  # characters of a text from outside that are looked at
_TITLE = 24  # characters of the ladder's name that are shown
_SELECTORS = dict.fromkeys([*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])  # terminals disagree on their width


@contextlib.contextmanager
def live_table(console: Console, now: Callable[[], float]) -> Iterator[Callable[[Progress], None]]:
    """Show the table of a run on a terminal until the block ends; call the function it gives to update the table.

    Only these calls and the end draw, in the thread that feeds the workers. `now` is a monotonic clock, in seconds.
    """
    shown, drawn, size = Progress(""), float("-inf"), console.size

    def settle() -> None:
        """Clear the screen if the terminal changed its size, which breaks the rows on it."""
        nonlocal size
        if console.size != size:
            size = console.size
            console.control(Control(ControlType.CLEAR, ControlType.HOME))

    def update(progress: Progress) -> None:
        nonlocal shown, drawn
        shown, moment = progress, now()
        if moment - drawn >= 1 / OFTEN:
            drawn = moment
            settle()
            live.refresh()

    live = Live(
        console=console,
        auto_refresh=False,
        transient=True,
        # What goes to a file must not come to the terminal instead.
        redirect_stdout=on_terminal(sys.stdout),
        redirect_stderr=on_terminal(sys.stderr),
        # A row stays above the table, and one is where the cursor goes before the table is taken away.
        get_renderable=lambda: compose(shown, console.height - 2, now()),
    )
    live.start()
    try:
        yield update
    finally:
        settle()
        live.stop()


def compose(progress: Progress, height: int, now: float) -> RenderableType:
    """Return the run in at most `height` rows; on a small terminal what matters most."""
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
    room = height - sum(map(len, blocks)) - gaps
    blocks[2] = _tune(progress.tune, room) if progress.tune else _standings(progress, room)
    gap = [] if tight else [Text()]
    rows = [row for block in blocks if block for row in [*gap, *block]][len(gap) :]
    return Group(*rows)


def final_summary(progress: Progress) -> RenderableType:
    """Return the summary at the end of a run: standings, verdicts, how games ended, who was at fault."""
    rows: list[RenderableType] = [_row(" · ".join(headline(progress)), "bold"), *_verdicts(progress)]
    if progress.tune:
        rows += [Text(), *_tune(progress.tune, len(progress.tune.rows) + 2)]
    for pool, table in progress.standings.items() if not progress.tune else ():
        rows += [Text(), _pool(pool, table.rows[:MOST_RATED])]
        if len(table.rows) > MOST_RATED:
            rows.append(_row(f"… {len(table.rows) - MOST_RATED:,} more", "dim"))
        rows.append(_row(shown(table.about()), "dim"))
    counts = Table.grid()
    for what, text, style in _counts(progress):
        counts.add_row(what, Text(spelled(text)), style=style)
    plies = f"{progress.plies:,} plies in {duration(progress.seconds)}"
    return Group(*rows, Text(), counts, _row(f"{progress.games:,} games in this run, {plies}", "dim"))


# --- the rows of each part -------------------------------------------------------------------------------------------


def headline(progress: Progress) -> list[str]:
    """Return the run in few words, the ladder's name first."""
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


def _tune(state: TuneState, room: int) -> list[RenderableType]:
    """Return the parameters, as many as fit, and how far the tune is."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for place, head in enumerate(TUNE_HEADS):
        table.add_column(head, justify="right" if 0 < place < len(TUNE_HEADS) - 1 else "left", no_wrap=True)
    for row in state.rows[: max(0, room - 2)]:
        table.add_row(*(spelled(shown(cell)) for cell in row))
    return [table, _row(state.summary, "dim")] if room > 2 else [_row(state.summary, "dim")]


def _standings(progress: Progress, room: int) -> list[RenderableType]:
    """Return as many pools as get three rows each: their heads, as many bots as fit, and what zero is."""
    pools = list(progress.standings.items())
    count = min(len(pools), max(1, room // 3))
    more = [_row(f"pools not shown: {len(pools) - count}", "dim")] if count < len(pools) else []
    wanted = [2 + len(table.rows) for _, table in pools[:count]]
    rows: list[RenderableType] = []
    for (pool, table), fair in zip(pools, shares(wanted, room - len(more)), strict=False):
        lines = table.rows
        best = lines if len(lines) < fair else lines[: max(0, fair - 2)]
        if fair > 0:
            rows.append(_pool(pool, best))
        if len(best) < len(lines) and fair > 1:
            rows.append(_row(f"… {len(lines) - len(best):,} more", "dim"))
        elif 1 + len(lines) < fair:
            rows.append(_row(shown(table.about()), "dim"))
    return [*rows, *more]


def _pool(pool: str, lines: Sequence[Standing]) -> Table:
    """Return the standings of a pool. On a narrow terminal names and notes are cut."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("", justify="right", style="dim", no_wrap=True)
    table.add_column(_row(shown(pool), "bold not dim"), max_width=MOST_NAME)
    for head, width in (("Elo", 5), ("±", 4), ("games", 7), ("score", 6)):
        table.add_column(spelled(head), justify="right", min_width=width, no_wrap=True)
    table.add_column("", style="italic yellow")
    for rank, place in enumerate(lines, 1):
        numbers = [number(place.elo), half(place.se, 0), f"{place.games:,}", place.percent]
        table.add_row(f"{rank}", _row(shown(place.name)), *numbers, _row(shown(place.note)))
    return table


def _playing(progress: Progress, now: float) -> list[RenderableType]:
    """Return the pairs that are being played, the longest first."""
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
    """Yield how games ended and who was at fault: what it is, the counts, a style."""
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
    """Return a text from outside without what would move the cursor, turn the line around or hide its width."""
    return replace_unprintable(text[:_LONGEST]).translate(_SELECTORS)


def number(value: float) -> str:
    """Return Elo as a whole number, or `-` for infinity."""
    return f"{value:.0f}" if math.isfinite(value) else "-"


def duration(seconds: float) -> str:
    """Return seconds as `0:07`, `1:02:03` or `3 d 04:05`."""
    if not math.isfinite(seconds):
        return "?"
    minutes, second = divmod(max(0, round(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days:,} d {hour:02d}:{minute:02d}"
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


# --- lines for a log -------------------------------------------------------------------------------------------------


def log_lines(say: Callable[[str], None], every: float = 60.0) -> Callable[[Progress], None]:
    """Show the run as lines, for --quiet and without a terminal: the result takes the progress, `say` each new line.

    There is a line every `every` seconds of the run, and each time a tenth of its games is done; one for every
    message; one for every kind of fault of every bot when it happens first.
    """
    said, tenth, messages, faults = 0.0, -1, 0, set[tuple[str, str]]()

    def update(progress: Progress) -> None:
        nonlocal said, tenth, messages
        for message in progress.messages[messages:]:
            say(shown(message))
        messages = len(progress.messages)
        for who, what in sorted(progress.faults.keys() - faults):
            say(f"fault: {shown(who)} {shown(what)}")
        faults.update(progress.faults.keys())
        before, tenth = tenth, _tenths(progress)
        if progress.seconds - said >= every or before not in (-1, tenth):
            said = progress.seconds
            say(status_line(progress))

    return update


def _tenths(progress: Progress) -> int:
    """Return how many tenths of the games of this run are done, 0 to 10."""
    if progress.target is None:
        return 0
    wanted = progress.target - (progress.stored - progress.games)
    return min(10, 10 * progress.games // wanted) if wanted > 0 else 10


def status_line(progress: Progress) -> str:
    """Return the run, its tests and who leads each pool: `120 of 200 games · … · yugo: greedy 120 ± 35`."""
    words = headline(progress)[1:]
    if progress.tune:
        words += [progress.tune.summary.partition(";")[0]]
        words += [
            f"{name} {value} ± {half}" if half else f"{name} {value}" for name, _, value, half, _ in progress.tune.rows
        ]
        words += [shown(text) for text in progress.verdicts.values()]
        return " · ".join(words)
    for pool, table in progress.standings.items():
        if pool in progress.verdicts:
            words.append(f"{shown(pool)}: {shown(progress.verdicts[pool])}")
        elif table.rows and table.rows[0].games:
            best = table.rows[0]
            error = f" ± {half(best.se, 0)}" if best.se else ""
            words.append(f"{shown(pool)}: {shown(best.name)} {number(best.elo)}{error}")
    return " · ".join(words)
