"""The live table fits every terminal and leaves it as it was; the lines for a log say each thing once."""

import codecs
import io
import os
import pty
import random
import re
import select
import struct
import sys
import termios
from collections import Counter
from fcntl import ioctl
from subprocess import Popen

import pytest
from rich.cells import cell_len
from rich.console import Console

from ggp.protocol.standard_streams import prepare_streams
from ggp.referee.ladder.live import compose, duration, final_summary, live_table, log_lines, shares, status_line
from ggp.referee.ladder.progress import Playing, Progress
from ggp.referee.ratings.standings import RatingTable, Standing
from ggp.referee.terminal import rich_console
from tests.support.terminal import TerminalScreen

HOSTILE = (
    "[bold red]markup[/]",
    "[/]",
    "\x1b[2J\x1b[31mred\x07",
    "line\nbreak\r\ttab",
    "囲碁ロボット囲碁ロボット囲碁ロボット囲碁ロボット",
    "\u202eright to left",
    "e\u0301" * 30,
    "\u2764\ufe0f" * 20,
    "\U0001f469\u200d\U0001f4bb" * 20,
    "x" * 3000,
    "",
    "\udc80surrogate",
)


def place(label: str, elo: float, se: float, games: int, share: float, note: str = "") -> Standing:
    """A line of the standings."""
    return Standing(label, elo, se, games, int(games * share), note=note)


def table(*rows: Standing) -> RatingTable:
    """The standings of a pool."""
    return RatingTable(1, "davidson", 0.0, 0.0, 0.0, rows)


def many(bots: int, pools: int = 1) -> Progress:
    """A run whose every name is one of HOSTILE."""
    chance = random.Random(7)

    def line(rank: int) -> Standing:
        note = chance.choice(["", "anchor", "suspended: \x1b[1m does not start"])
        return place(chance.choice(HOSTILE), 900.0 - rank, 12.3 + rank, 1000 + rank, 0.5, note)

    names = [f"pool {number} {HOSTILE[number % len(HOSTILE)]}" for number in range(pools)]
    return Progress(
        ladder=HOSTILE[0],
        stored=123_456,
        games=3456,
        plies=10**7,
        target=200_000,
        seconds=98_765.4,
        rate=1234.5,
        left=3600.0,
        standings={name: table(*[line(rank) for rank in range(bots)]) for name in names},
        playing=[Playing(names[0], HOSTILE[3], HOSTILE[4], 90.0 - number) for number in range(16)],
        terminations=Counter({"rules": 100_000, "resignation": 20_000, **dict.fromkeys(HOSTILE, 7)}),
        faults=Counter({(who, "illegal_move"): 3 for who in HOSTILE}),
        verdicts=dict.fromkeys(names, "LLR 1.20 of -2.94 … 2.94, continue; \x1b[0m v2 +12 ± 30"),
        messages=[*HOSTILE, "greedy@1f2e is suspended: it does not start"],
    )


@pytest.mark.parametrize("progress", [Progress(""), many(0), many(1), many(12, 3), many(1000), many(40, 30)])
@pytest.mark.parametrize("height", [10, 11, 15, 16, 24, 37, 60])
def test_the_table_fits_every_terminal(progress: Progress, height: int) -> None:
    for width in range(40, 161, 3):
        console = Console(file=io.StringIO(), record=True, width=width, height=height, force_terminal=True)
        console.print(compose(progress, height - 1, 100.0))
        rows = console.export_text().splitlines()
        assert 1 <= len(rows) < height
        assert max(cell_len(row) for row in rows) <= width
        assert all(row.isprintable() for row in rows)
        assert f"{progress.stored:,}" in rows[0]


def test_what_does_not_fit_is_counted() -> None:
    text = drawn(many(1000), 100, 24)
    ranks = [int(row.split()[0]) for row in text.splitlines() if re.match(r" *\d+ .*%", row)]
    assert ranks == list(range(1, len(ranks) + 1))
    assert f"… {1000 - len(ranks)} more" in text
    assert "pools not shown: 2" in drawn(many(5, 30), 80, 60)
    assert "more" not in drawn(Progress("x", standings={"p": table(*[place("one", 0, 1, 2, 0.5)] * 5)}), 80, 24)


def test_every_bot_is_there_when_there_is_room() -> None:
    lines = [place(f"bot{rank}", 100 - rank, 10.0, 4, 0.25) for rank in range(9)]
    text = drawn(Progress("x", standings={"p": table(*lines), "q": table(*lines)}), 80, 40)
    assert all(text.count(f"bot{rank}  ") == 2 for rank in range(9))
    assert "  100   20       4  25.0%" in text


def test_a_note_and_the_longest_pair_are_shown() -> None:
    progress = Progress("x", standings={"p": table(place("one", 0, 1, 2, 0.5, "suspended: does not start"))})
    progress.playing = [Playing("p", "young", "fast", 99.0), Playing("p", "old", "slow", 9.0)]
    text = drawn(progress, 80, 30)
    assert "suspended: does not start" in text
    assert text.index("playing 91 s  old – slow  p") < text.index("playing 1 s  young – fast  p")
    progress.playing = [Playing("p", "old", "slow", 9.0, given=True)]
    text = drawn(progress, 80, 30)
    assert "given out 91 s  old – slow  p" in text and "playing" not in text


def test_shares_are_fair_and_waste_nothing() -> None:
    assert shares([5, 100, 5, 100], 50) == [5, 20, 5, 20]
    assert shares([3, 3], 100) == [3, 3]
    assert shares([9, 9, 9], 10) == [3, 3, 4]
    assert shares([], 10) == [] and shares([4], -1) == [0]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (59.6, "1:00"), (3723, "1:02:03"), (273_900, "3 d 04:05"), (float("inf"), "?"), (-3, "0:00")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(file=(out := io.StringIO()), width=80, height=30, force_terminal=True, color_system="truecolor")
    console.print(compose(many(5), 29, 0.0))
    assert "\x1b[1m" in out.getvalue()
    codes = {code for codes in re.findall(r"\x1b\[([\d;]*)m", out.getvalue()) for code in codes.split(";")}
    assert codes == {"", "0", "1", "2", "3"} - {""}  # bold, dim, italic


def test_an_encoding_without_the_characters_gets_others(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
    prepare_streams()
    rich_console().print(final_summary(many(5)))
    sys.stdout.flush()
    assert "± is 95 %, of the difference to that mean" in raw.getvalue().decode("latin-1")


def test_it_is_drawn_a_few_times_a_second() -> None:
    console = Console(file=(out := io.StringIO()), width=80, height=24, force_terminal=True)
    clock = iter(number / 100 for number in range(10_000))
    progress = Progress("often")
    with live_table(console, lambda: next(clock)) as update:
        for _ in range(200):
            update(progress)
    # Every update reads the clock once, every drawing once more; then the last one, on leaving.
    assert 3 <= out.getvalue().count("often") <= 6


def test_the_last_state_is_drawn_and_taken_away() -> None:
    console = Console(file=(out := io.StringIO()), width=80, height=24, force_terminal=True)
    with live_table(console, lambda: 0.0) as update:
        update(Progress("x", stored=1))
        update(Progress("x", stored=777))
    text = out.getvalue()
    assert "777 games" in text
    screen = TerminalScreen(80, 24)
    screen.write(text)
    assert screen.rows == [""] and screen.cursor_shown


PROGRAM = """
import sys, time
from rich.console import Console
from ggp.referee.ladder.live import live_table
from ggp.referee.ladder.progress import Progress
from tests.referee.ladder.test_live import place, table
progress = Progress("run", stored=5, target=50, standings={"pool": table(*[place("bot", 0, 1, 2, .5)] * 30)})
with live_table(Console(), lambda: progress.stored) as update:  # so that each update is drawn
    for step in range(6):
        update(progress)
        progress.stored += 1
        if step == 2:
            sys.stdin.readline()  # meanwhile the terminal is resized
        print("beside the table", step, flush=True)
        time.sleep(0.02)
    if "fail" in sys.argv:
        raise KeyboardInterrupt
print("after")
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["well", "fail"])
@pytest.mark.parametrize("size", [(12, 44), (40, 120), (24, 60), (24, 80)])
def test_nothing_is_left_of_the_table_whatever_became_of_the_terminal(size: tuple[int, int], end: str) -> None:
    screen = TerminalScreen(80, 24)
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {
        key: value for key, value in os.environ.items() if key not in {"LINES", "COLUMNS", "NO_COLOR", "FORCE_COLOR"}
    }
    command = [sys.executable, "-c", PROGRAM, end]
    child = Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment | {"TERM": "xterm"})
    decoder = codecs.getincrementaldecoder("utf-8")()
    while len(screen.rows) < 24 or not screen.rows[2].startswith("run · 7 of 50 games"):
        assert select.select([ours], [], [], 30)[0], repr(screen.rows)
        screen.write(decoder.decode(os.read(ours, 65536)))
    assert not screen.cursor_shown
    screen.resize(size[1], size[0])
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    os.write(ours, b"\n")
    os.close(theirs)
    text = ""
    while piece := _read(ours):
        text += decoder.decode(piece)
    os.close(ours)
    screen.write(text)
    assert child.wait() == (0 if end == "well" else -2)
    assert screen.cursor_shown
    rows = "\n".join(screen.rows)
    assert "beside the table 5" in rows
    assert ("after" in rows) == (end == "well")
    assert not any(left in rows for left in ("━", " bot ", "games", "more"))


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""


# --- lines for a log -------------------------------------------------------------------------------------------------


def test_a_line_every_while_and_every_tenth() -> None:
    said: list[str] = []
    update = log_lines(said.append, every=60)
    progress = Progress("x", stored=1000, target=1100)  # 100 games are to be played
    for second in range(181):
        progress.seconds = float(second)
        update(progress)
    assert len(said) == 3
    said.clear()
    for _ in range(100):
        progress.games += 1
        progress.stored += 1
        update(progress)
    assert len(said) == 10
    assert said[-1].startswith("1,100 of 1,100 games")


def test_messages_and_kinds_of_faults_are_said_once() -> None:
    said: list[str] = []
    update, progress = log_lines(said.append), Progress("x", messages=["a worker\nwas lost"])
    for count in (1, 2, 3):
        progress.faults["chaos\x1b[1m", "time"] = count
        update(progress)
    progress.messages.append("b")
    update(progress)
    assert said == ["a worker�was lost", "fault: chaos�[1m time", "b"]


def test_a_status_line_names_leaders_and_tests() -> None:
    progress = Progress("x", stored=4, rate=2.0, left=65.0)
    progress.standings = {
        "one": table(place("a", 12.4, 10.0, 4, 0.5)),
        "two": table(),
        "three": table(place("b", 1, 1, 4, 0.5)),
    }
    progress.verdicts = {"three": "H1: better"}
    line = status_line(progress)
    assert (
        line == "4 games · 0 in this run · 2.0 games/s · 1:05 left · 0:00 so far · one: a 12 ± 20 · three: H1: better"
    )


def test_the_summary_says_everything() -> None:
    console = Console(file=io.StringIO(), record=True, width=100)
    console.print(final_summary(many(70)))
    text = console.export_text()
    assert "20 more" in text and "10,000,000 plies in 1 d 03:26" in text
    assert "rules 100,000" in text and "illegal_move 3" in text and "LLR 1.20" in text
    console.print(final_summary(Progress("nothing yet")))
    assert "0 games in this run" in console.export_text()


def drawn(progress: Progress, width: int, height: int) -> str:
    """As it stands on a terminal at second 100, without styles."""
    console = Console(file=io.StringIO(), record=True, width=width, height=height, force_terminal=True)
    console.print(compose(progress, height - 1, 100.0))
    return console.export_text()
