"""The progress of a run: a live table on a terminal, lines for a log, and the summary at the end."""

import math
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import TracebackType

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType, Segment
from rich.style import Style

from protocol.drawing.scene import clean
from referee.ladder.progress import Playing, Progress
from referee.ratings.scale import half

# -- The progress as rows of text that fit a terminal of any size.


Span = tuple[str, str]  # text and the name of its style (live.STYLES)
Row = list[Span]

LEAST_NAME = 8  # cells
MOST_NAME = 40
MOST_RATED = 50  # bots of a pool in the summary
MOST_FAULTY = 20  # in the summary
_LONGEST = 400  # characters of a text from outside that are looked at
_SELECTORS = dict.fromkeys([*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])  # terminals disagree on their width


def compose(progress: Progress, width: int, height: int, now: float) -> list[Row]:
    """At most `height` rows of at most `width` cells: what matters most where there is little room."""
    head = _header(progress, width, bar=height >= 16)
    room = max(0, height - len(head))
    tight = room < 18
    verdicts = _at_most(_verdicts(progress, width), 1 + room // 8)
    playing = _playing(progress.playing, width, room // 5, now)
    ends = [] if tight else _first(_ends(progress, width))
    faults = _first(_faults(progress, width))
    messages = [_message(text, width) for text in progress.messages[-1 if tight else -3 :]]
    below = [part for part in (playing, ends + faults, messages) if part]
    gaps = 0 if tight else len(below) + 1
    left = room - len(verdicts) - sum(len(part) for part in below) - gaps
    rows = head + verdicts + ([] if tight else [[]]) + _standings(progress, width, left)
    for part in below:
        rows += part if tight else [[], *part]
    return rows[:height]


def summarise(progress: Progress, width: int) -> list[Row]:
    """All there is to say at the end of a run, in as many rows as it takes."""
    rows = _header(progress, width, bar=False) + _verdicts(progress, width)
    for pool, lines in progress.standings.items():
        rows += [[], *_pool(progress, pool, width, 1 + MOST_RATED + (len(lines) > MOST_RATED))]
        if pool in progress.zeros and len(lines) >= MOST_RATED:
            rows.append([(cut(shown(progress.zeros[pool]), width), "dim")])
    plies = f"{progress.plies:,} plies in {duration(progress.seconds)}"
    run: Row = [(cut(f"{progress.games:,} games in this run, {plies}", width), "dim")]
    return [*rows, [], *_ends(progress, width), *_faults(progress, width), run]


# --- the rows of each part -------------------------------------------------------------------------------------------


def headline(progress: Progress) -> list[tuple[str, int]]:
    """The run in few words, each with its rank where there is no room for all (0: it stays)."""
    games = f"{progress.stored:,} games"
    if progress.target is not None:
        games = f"{progress.stored:,} of {progress.target:,} games"
    return [
        (shown(progress.ladder), 3),
        (games, 0),
        (f"{progress.games:,} in this run", 5 if progress.games != progress.stored else 6),
        (f"{progress.rate:,.1f} games/s", 1),
        *([(f"{duration(progress.left)} left", 2)] if progress.left is not None else []),
        (f"{duration(progress.seconds)} so far", 4),
    ]


def _header(progress: Progress, width: int, bar: bool) -> list[Row]:
    words = headline(progress)
    while len(words) > 1 and sum(cell_len(word) + 3 for word, _ in words) - 3 > width:
        words.remove(max(words, key=lambda word: word[1]))
    rows: list[Row] = [[(cut(" · ".join(word for word, _ in words), width), "head")]]
    if bar and progress.target:
        filled = min(width, width * progress.stored // progress.target)
        rows.append([("━" * filled, "bar"), ("─" * (width - filled), "dim")])
    return rows


def _standings(progress: Progress, width: int, room: int) -> list[Row]:
    """As many pools as get three rows each, and of each as many bots as there is room for."""
    pools = list(progress.standings.items())
    count = min(len(pools), max(1, room // 3))
    more: list[Row] = [[(cut(f"pools not shown: {len(pools) - count}", width), "dim")]] if count < len(pools) else []
    wanted = [1 + len(lines) + (pool in progress.zeros) for pool, lines in pools[:count]]
    rooms = shares(wanted, room - len(more))
    rows = [row for (pool, _), fair in zip(pools, rooms, strict=False) for row in _pool(progress, pool, width, fair)]
    return rows + more


def _pool(progress: Progress, pool: str, width: int, room: int) -> list[Row]:
    """A row of headings, the best bots, and if there is room what zero is, in at most `room` rows."""
    if room <= 0:
        return []
    lines, zero = progress.standings[pool], progress.zeros.get(pool, "")
    shown_lines = lines if len(lines) < room else lines[: max(1, room - 2)]
    place = len(str(max(1, len(lines))))
    columns = [("Elo", 6), ("±", 5), ("games", 9), ("score", 7)]
    while columns and place + 1 + LEAST_NAME + sum(cells for _, cells in columns) > width:
        columns.pop()
    longest = max([cell_len(shown(line.label)) for line in shown_lines] + [cell_len(shown(pool))])
    name = max(1, min(longest, MOST_NAME, width - place - 1 - sum(cells for _, cells in columns)))
    heads = "".join(f"{head:>{cells}}" for head, cells in columns)
    rows: list[Row] = [[(" " * (place + 1), ""), (padded(pool, name), "pool"), (heads, "dim")]]
    rest = width - place - 1 - name - sum(cells for _, cells in columns) - 2
    for rank, line in enumerate(shown_lines, 1):
        numbers = [number(line.elo), half(line.se, 0), f"{line.games:,}", percent(line.share, line.games)]
        cells = "".join(f"{text:>{cells}}" for text, (_, cells) in zip(numbers, columns, strict=False))
        row = [(f"{rank:>{place}} ", "dim"), (padded(line.label, name), ""), (cells, "")]
        if line.note and rest > LEAST_NAME:
            row.append(("  " + cut(shown(line.note), rest), "note"))
        rows.append(row)
    if len(shown_lines) < len(lines):
        rows.append([(cut(f"{'':{place}} … {len(lines) - len(shown_lines):,} more", width), "dim")])
    elif zero and len(rows) < room:
        rows.append([(cut(shown(zero), width), "dim")])
    return rows[:room]


def _playing(playing: list[Playing], width: int, room: int, now: float) -> list[Row]:
    """Who plays, the longest first."""
    if not playing or room < 1:
        return []
    rows: list[Row] = []
    for pair in sorted(playing, key=lambda pair: pair.since):
        seconds = f"{max(0.0, now - pair.since):,.0f} s"
        text = f"{shown(pair.first)} – {shown(pair.second)}  {shown(pair.pool)}"
        state = "given out " if pair.given else "playing "
        room_left = max(1, width - 2 - len(state) - len(seconds))
        rows.append([(state, "dim"), (cut(text, room_left), ""), (f"  {seconds}", "dim")])
        if len(rows) == room:
            break
    if 1 < room < len(playing):
        rows[-1] = [(cut(f"{state}… {len(playing) - room + 1} more", width), "dim")]
    return rows


def _verdicts(progress: Progress, width: int) -> list[Row]:
    many = len(progress.standings) > 1
    return [
        [(cut(f"{shown(pool)}: {shown(text)}" if many else shown(text), width), "verdict")]
        for pool, text in progress.verdicts.items()
    ]


def _ends(progress: Progress, width: int) -> list[Row]:
    words = [f"{shown(what)} {count:,}" for what, count in progress.terminations.most_common()]
    return [[(row, "")] for row in wrapped("ended by: ", words, width)] if words else []


def _faults(progress: Progress, width: int) -> list[Row]:
    most = sorted(progress.faults.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{shown(who)} {shown(what)} {count:,}" for (who, what), count in most[:MOST_FAULTY]]
    if len(most) > MOST_FAULTY:
        words.append(f"and {len(most) - MOST_FAULTY} more")
    return [[(row, "fault")] for row in wrapped("faults: ", words, width)] if words else []


def _message(text: str, width: int) -> Row:
    return [(cut(shown(text), width), "message")]


def _first(rows: list[Row]) -> list[Row]:
    """The first of rows that go on: `…` for its last comma."""
    return rows if len(rows) < 2 else [[(rows[0][0][0][:-1] + "…", rows[0][0][1])]]


def _at_most(rows: list[Row], room: int) -> list[Row]:
    if len(rows) <= room:
        return rows
    return [*rows[: room - 1], [(f"… {len(rows) - room + 1} more tests", "dim")]]


def shares(wanted: list[int], room: int) -> list[int]:
    """Divide `room` fairly: no share exceeds what is wanted, and the others get what one does not want."""
    fair, left = [0] * len(wanted), max(0, room)
    for done, place in enumerate(sorted(range(len(wanted)), key=lambda place: wanted[place])):
        fair[place] = min(wanted[place], left // (len(wanted) - done))
        left -= fair[place]
    return fair


# --- text in cells ---------------------------------------------------------------------------------------------------


@lru_cache(4096)
def shown(text: str) -> str:
    """A text from outside without what would move the cursor, turn the line around or hide its width."""
    return clean(text[:_LONGEST]).translate(_SELECTORS)


def cut(text: str, width: int) -> str:
    """At most `width` cells, `…` for the rest."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + "…" if width > 0 else ""


@lru_cache(4096)
def padded(text: str, width: int) -> str:
    """A text from outside in exactly `width` cells."""
    text = cut(shown(text), width)
    return text + " " * (width - cell_len(text))


def wrapped(head: str, words: Iterable[str], width: int) -> list[str]:
    """`head` and the words, commas between them, in rows; a word that is wider than a row is cut."""
    rows, row = list[str](), head
    for word in words:
        text = word if row == head else f", {word}"
        if row != head and cell_len(row) + cell_len(text) + 1 > width:
            rows.append(row + ",")
            row, text = " " * len(head), word
        row += text
    return [cut(text, width) for text in [*rows, row]]


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


class ConsoleRows:
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
    """The table of a run on a terminal, removed at the end. `now` is a monotonic clock, in seconds.

    Only `update` and the end draw; there is no thread. A layout by rich's Table takes 25 ms a drawing instead of 1 ms,
    in the thread that feeds the workers: hence the rows of this module.
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
        """Draw the progress, unless the last drawing is less than an eighth of a second old."""
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

    def _rows(self) -> ConsoleRows:
        # A row stays above the table, and one is where the cursor goes before the table is taken away.
        return ConsoleRows(lambda width: compose(self._progress, width, self._console.height - 2, self._now()))


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
    words = [word for word, _ in headline(progress)[1:]]
    for pool, lines in progress.standings.items():
        if pool in progress.verdicts:
            words.append(f"{shown(pool)}: {shown(progress.verdicts[pool])}")
        elif lines and lines[0].games:
            best = lines[0]
            error = f" ± {half(best.se, 0)}" if best.se else ""
            words.append(f"{shown(pool)}: {shown(best.label)} {number(best.elo)}{error}")
    return " · ".join(words)


def final_summary(progress: Progress) -> ConsoleRows:
    """What is printed when a run ends: standings, verdicts, how games ended, whose faults."""
    return ConsoleRows(lambda width: summarise(progress, width))
