"""Small ladder files, the errors of wrong ones, and what the store of a ladder that ran holds."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.referee.ladder.config import read_ladder
from ggp.referee.ladder.store.model import FormatKind, StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.toml_file import ConfigError
from tests.support.cli import Ggp

POOL = '[pool.small]\ngame = "yugo,size=7"\n'
PAIR = '[bot.a]\ncommand = "random"\n[bot.b]\ncommand = "greedy"\n'
FILE = POOL + PAIR


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "club.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def wrong(folder: Path, text: str | bytes) -> ConfigError:
    """The error of the file: one line that begins with its name, then the key."""
    path = write(folder, text)
    with pytest.raises(ConfigError) as caught:
        read_ladder(path)
    error = caught.value
    assert "\n" not in str(error)
    assert str(error).startswith(f"{path}: {error.key}: " if error.key else f"{path}: ")
    return error


HEAD = """\
seed = 7
[pool.main]
game = "yugo,size=3"
control = "none"
openings = 1
"""
BOTS = ("random", "greedy:playouts=2", "random:seed=3")


def write_ladder(folder: Path, *bots: str, head: str = HEAD, more: str = "", name: str = "ladder.toml") -> Path:
    """A ladder of these bots, called a, b, c …; each is a command or lines of its section."""
    sections = [
        f"[bot.{chr(97 + index)}]\n" + (bot if "\n" in bot or " = " in bot else f'command = "{bot}"') + "\n"
        for index, bot in enumerate(bots or BOTS)
    ]
    file = folder / name
    file.write_text("\n".join([head, *sections, more]), encoding="utf-8")
    return file


def open_store(file: Path) -> Store:
    """The store of the ladder in that file."""
    return Store.open(f"sqlite:///{file.with_suffix('.db')}")


def games_stored(file: Path) -> int:
    """Return how many games with a result the ladder holds: none before its store is there."""
    try:
        with open_store(file) as store:
            return store.totals().games
    except StoreError:
        return 0


def results(file: Path, pool: str | None = None) -> dict[str, tuple[str, int, str, str, int]]:
    """Every stored match by its key: result, winner, how it ended, whose fault, plies. Times are left out."""
    with open_store(file) as store:
        return {row.key: (row.result, row.winner, row.termination, row.culprit, row.plies) for row in store.games(pool)}


def elos(file: Path, pool: str = "main") -> dict[str, float]:
    """The ratings that the last run kept, by label."""
    with open_store(file) as store:
        row = next(row for row in store.pools() if row.name == pool)
        labels = {seat.id: seat.label for seat in store.seats(row.id)}
        fit = store.fit(row.id)
        assert fit is not None
        return {labels[int(row.name)]: row.elo for row in fit.rows}


def check_whole(file: Path) -> None:
    """Each match is stored once with a whole chain, derived data agree with the records, open pairs are recent."""
    with open_store(file) as store:
        assert store.running() == ""
        keys = [row.key for row in store.games()]
        assert len(keys) == len(set(keys))
        assert store.repair().lines == []
        for pool in store.pools():
            past = store.past(pool.id, FormatKind.LADDER)
            assert all(pair.batch >= past.batches - 2 for pair in store.open_pairs(pool.id))


@contextlib.contextmanager
def running_ladder(file: Path) -> Iterator[Ggp]:
    """Run a ladder with one worker until the block ends, then stop it as by Ctrl-C and check its store."""
    running = Ggp("ladder", "run", str(file), "--quiet", "--jobs", "1")
    yield running
    running.process.send_signal(signal.SIGINT)
    ran = running.wait()
    assert ran.status == 130 and "stopped; the same command resumes" in ran.err and "Traceback" not in ran.err
    check_whole(file)


def first_line(running: Ggp, what: str) -> str:
    """The first line that it says with this in it."""
    assert running.process.stderr is not None
    for line in running.process.stderr:
        if what in line:
            return str(line)
    raise AssertionError(f"it never said {what!r}")
