"""Bots that are built from sources, in a ladder and in a lobby: a good one plays, hostile ones are left out."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.referee.ladder.store.model import GameRow, StoreError
from tests.support import ROOT
from tests.support.archives import files, member, pack
from tests.support.cli import Ggp, ggp, wait_until
from tests.support.ladders import open_store, write_ladder
from tests.support.lobby_server import LobbyProcess, lobby_file

pytestmark = [pytest.mark.slow, pytest.mark.needs("make")]

GGP = Path(sys.executable).with_name("ggp")
PLAYS = "./bot"
BUILT = "bot: bot.in\n\tcp bot.in bot\n\tchmod 755 bot\n"  # what a compiler does, in a moment
BOT = f"#!/bin/sh\nexec {shutil.which('sh')} -c 'exec {GGP} bot random'\n"
HEAD = '[pool.main]\ngame = "yugo,size=3"\ncontrol = "none"\n'
FAILS = "all:\n\t@echo no such header: board.h; exit 1\n"


@pytest.fixture(autouse=True)
def writable_again(tmp_path: Path) -> Iterator[None]:
    yield
    for path in [tmp_path, *tmp_path.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def good(folder: Path, name: str = "good", **more: str) -> Path:
    source = files(folder / name, [("Makefile", BUILT), ("bot.in", BOT), *more.items()])
    return pack(folder / f"{name}.tar.gz", folder=source)


def bot(source: str, build: str = 'build = "make"', **more: str) -> str:
    return "\n".join([f'command = "{PLAYS}"', f'source = "{source}"', build, *more.values()])


def test_a_good_source_plays_and_five_hostile_ones_do_not(tmp_path: Path) -> None:
    good(tmp_path)
    makefile = (member("Makefile"), BUILT.encode())
    pack(tmp_path / "failing.tar.gz", (member("Makefile"), FAILS.encode()))
    pack(tmp_path / "device.tar.gz", makefile, member("disk", "block device"))
    pack(tmp_path / "outside.tar.gz", makefile, (member("../../etc/cron.d/x"), b"* * * * * root true\n"))
    pack(tmp_path / "link.tar.gz", makefile, member("passwd", "link", to="/etc/passwd"))
    pack(tmp_path / "zeros.tar.gz", makefile, member("zeros", size=1 << 30))
    hostile = ("failing", "device", "outside", "link", "zeros")
    more = "".join(f"[bot.{name}]\n{bot(f'{name}.tar.gz')}\n" for name in hostile)
    file = write_ladder(tmp_path, 'command = "random"', head=HEAD, more=f"[bot.good]\n{bot('good.tar.gz')}\n{more}")

    ran = ggp("ladder", "run", str(file), "--games", "4", "--jobs", "1", "--json")

    assert ran.status == 0 and ran.json["games"] == 4, ran.err
    assert {line["name"]: line["games"] for line in ran.json["pools"]["main"] if line["games"]} == {"a": 4, "good": 4}
    for line in (
        "failing is suspended: the build failed (exit status 2): "
        "make: *** [Makefile:2: all] Error 1 | no such header: board.h",
        "device is suspended: the source cannot be used: 'disk' is a device or a pipe: remove it",
        "outside is suspended: the source cannot be used: '../../etc/cron.d/x' leads outside of its folder",
        "link is suspended: the source cannot be used: 'passwd' leads outside of its folder",
        "zeros is suspended: the source cannot be used: it has more than 10000 files or 512 MiB",
    ):
        assert line in ran.json["messages"]
    builds = [path.name for path in (tmp_path / "ladder.builds").iterdir() if path.is_dir()]
    assert len(builds) == 1, "nothing of the others is left"


def test_a_source_that_was_mended_is_a_new_version_and_plays(tmp_path: Path) -> None:
    files(tmp_path / "mine", [("Makefile", FAILS), ("bot.in", BOT)])
    file = write_ladder(tmp_path, 'command = "random"', bot("mine"), head=HEAD)
    ran = ggp("ladder", "run", str(file), "--games", "2", "--jobs", "1")
    assert ran.status == 1 and "b is suspended: the build failed (exit status 2)" in ran.err
    assert "fewer than two different bots are entered" in ran.err
    files(tmp_path / "mine", [("Makefile", BUILT)])
    assert ggp("ladder", "run", str(file), "--games", "2", "--jobs", "1", "--json").json["games"] == 2
    with open_store(file) as store:
        versions = [seat for seat in store.seats(store.pools()[0].id) if seat.name == "b"]
    assert [bool(seat.suspended) for seat in versions] == [True, False]


def test_a_build_that_succeeds_later_ends_the_suspension(tmp_path: Path) -> None:
    """Its source is the same, so it is the same version: it was given too little time before."""
    files(tmp_path / "mine", [("Makefile", BUILT + "\tsleep 3\n"), ("bot.in", BOT)])
    for seconds, games in ((1, 0), (600, 2)):
        file = write_ladder(tmp_path, 'command = "random"', bot("mine", more=f"build_time = {seconds}"), head=HEAD)
        ran = ggp("ladder", "run", str(file), "--games", "2", "--jobs", "1", "--json")
        assert ran.json["games"] == games, ran.err
        assert ("b is suspended: the build failed (it took more than 1 s)" in ran.err) == (not games)


def test_a_source_that_changes_is_built_beside_the_games(tmp_path: Path) -> None:
    """The version before plays on until the new one is built; then that one plays."""
    files(tmp_path / "mine", [("Makefile", BUILT), ("bot.in", BOT)])
    file = write_ladder(tmp_path, 'command = "random"', bot("mine"), head=HEAD)
    running = Ggp("ladder", "run", str(file), "--jobs", "1", "--quiet")
    try:
        wait_until(lambda: games(file) > 10)
        files(tmp_path / "mine", [("Makefile", BUILT + "\tsleep 3\n")])
        wait_until(lambda: any((tmp_path / "ladder.builds").glob("*.new")), 60)
        before = games(file)
        wait_until(lambda: games(file, latest=True) > 10, 120)
        assert games(file) > before
    finally:
        running.process.send_signal(signal.SIGTERM)
        running.process.communicate(timeout=60)
    events = ggp("ladder", "events", str(file)).out
    assert "replaced" in events


def games(file: Path, latest: bool = False) -> int:
    """That are stored; `latest`: of the second version of b alone."""
    try:
        store = open_store(file)
    except StoreError:  # it is being made
        return 0
    with store:
        versions = {seat.version for pool in store.pools() for seat in store.seats(pool.id) if seat.name == "b"}
        if latest:
            return sum("b" in (row.first, row.second) for row in store.games()) if len(versions) > 1 else 0
        return store.totals().games


def test_a_build_takes_no_longer_than_it_may(tmp_path: Path) -> None:
    files(tmp_path / "mine", [("Makefile", "all:\n\t@echo waiting; sleep 1000\n")])
    file = write_ladder(tmp_path, 'command = "random"', bot("mine", more="build_time = 2"), head=HEAD)
    ran = ggp("ladder", "run", str(file), "--games", "2", "--jobs", "1")
    assert "b is suspended: the build failed (it took more than 2 s): waiting" in ran.err


@pytest.mark.needs("strict")
def test_what_was_built_plays_at_level_strict(tmp_path: Path) -> None:
    """It reads its folder and what is allowed, and may not write there."""
    says = f"#!/bin/sh\necho more > more 2> /dev/null && exit 9\nexec {GGP} bot random\n"
    files(tmp_path / "mine", [("Makefile", BUILT), ("bot.in", says)])
    confined = f'sandbox = "strict"\nallow = ["read:{sys.prefix}", "read:{ROOT}"]'
    file = write_ladder(tmp_path, 'command = "random"', bot("mine", more=confined), head=HEAD)
    ran = ggp("ladder", "run", str(file), "--games", "4", "--jobs", "1", "--json")
    assert ran.status == 0 and ran.json["games"] == 4, ran.err
    assert ran.json["terminations"] == {"rules": 4}


TRIES = """\
cd "$(dirname "$0")"
: > found
cat {secret} >> found 2>&1
echo mine > {outside} 2>> found
{python} -S -c "import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('connected')" >> found 2>&1
kill -9 {victim} 2>> found
setsid sleep {sleep} < /dev/null > /dev/null 2>&1 &
(setsid sleep {sleep} < /dev/null > /dev/null 2>&1 &) &
chmod 4755 bot.in
ln -s {secret} link
cp bot.in bot && chmod 755 bot
"""


def test_a_hostile_build_reaches_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    """Files of others, the network, other processes; what it leaves behind is ended, and has no rights."""
    (tmp_path / "secret").write_text("the secret\n", encoding="utf-8")
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    with socket.create_server(("127.0.0.1", 0)) as server, subprocess.Popen(["sleep", "600"]) as victim:
        text = TRIES.format(
            secret=tmp_path / "secret",
            outside=tmp_path / "outside",
            python=python,
            port=server.getsockname()[1],
            victim=victim.pid,
            sleep=SLEEP,
        )
        files(tmp_path / "mine", [("build.sh", text), ("bot.in", BOT)])
        file = write_ladder(tmp_path, 'command = "random"', bot("mine", build='build = "sh build.sh"'), head=HEAD)
        ran = ggp("ladder", "run", str(file), "--games", "2", "--jobs", "1", "--json")
        assert victim.poll() is None, "it was not killed"
        victim.kill()
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert ran.json["games"] == 2, ran.err
    (folder,) = [path for path in (tmp_path / "ladder.builds").iterdir() if path.is_dir()]
    found = (folder / "found").read_text(encoding="utf-8")
    assert "the secret" not in found and "connected" not in found
    assert not (tmp_path / "outside").exists()
    assert stat.S_IMODE((folder / "bot.in").stat().st_mode) == 0o555
    wait_until(lambda: not sleeping())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_ladder_that_ends_while_it_builds_leaves_nothing_that_runs(tmp_path: Path, number: signal.Signals) -> None:
    """What is left in the folder is removed by the next run, which builds from the beginning."""
    late = BUILT + f"\ttest -e again || sleep {SLEEP}\n"
    files(tmp_path / "mine", [("Makefile", late), ("bot.in", BOT)])
    file = write_ladder(tmp_path, 'command = "random"', bot("mine"), head=HEAD)
    running = Ggp("ladder", "run", str(file), "--jobs", "1")
    try:
        wait_until(sleeping)
        running.process.send_signal(number)
        running.process.communicate(timeout=60)
        wait_until(lambda: not sleeping())
    finally:
        running.process.kill()
    files(tmp_path / "mine", [("again", "")])
    assert ggp("ladder", "run", str(file), "--games", "2", "--jobs", "1", "--json").json["games"] == 2
    assert sorted(path.suffix for path in (tmp_path / "ladder.builds").iterdir()) == ["", ""], "the folder and the lock"


SLEEP = 100_000 + os.getpid()  # a number that no other process sleeps


def sleeping() -> bool:
    return subprocess.run(["pgrep", "-fx", f"sleep {SLEEP}"], stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ('command = "./bot"\nsource = "none.tar.gz"', "bot.b.source: "),
        ('command = "./bot"\nbuild = "make"', "bot.b.build: is of a source: write source, too, or remove it"),
        ('command = "./bot"\nsource = "good.tar.gz"\nbuild = "no-such-make"', "bot.b.build: the build program"),
        ('command = "../bot"\nsource = "good.tar.gz"', "bot.b.command: '../bot' is outside the source folder"),
        ('command = "./bot"\nsource = "."', "bot.b.source: '.' holds "),
        (
            'command = "./bot"\nsource = "pipe.tar.gz"',
            "pipe.tar.gz is neither a folder nor a .tar.gz file: pack it as one",
        ),
        ('command = "tcp://x:1"\nsource = "good.tar.gz"', "bot.b.command: 'tcp://x:1' cannot be built from source"),
        ('command = "./bot"\nsource = "good.tar.gz"\ncwd = "."', "bot.b.cwd: it runs in the folder of its source"),
        ('command = "./bot"\nsource = "good.tar.gz"\nbuild_time = 0', "bot.b.build_time: 0 is not a number from 1"),
    ],
)
def test_what_is_wrong_with_the_keys_is_said_before_anything_begins(tmp_path: Path, lines: str, problem: str) -> None:
    good(tmp_path)
    os.mkfifo(tmp_path / "pipe.tar.gz")
    file = write_ladder(tmp_path, 'command = "random"', lines, head=HEAD)
    ran = ggp("ladder", "run", str(file), "--games", "2")
    assert ran.status == 2 and problem in ran.err and ran.err.count("\n") == 1
    assert not (tmp_path / "ladder.builds").exists()


def test_a_lobby_runs_what_it_built_and_leaves_the_rest_out(tmp_path: Path) -> None:
    good(tmp_path)
    pack(tmp_path / "failing.tar.gz", (member("Makefile"), FAILS.encode()))
    file = lobby_file(tmp_path, lobby="local_matches = true")
    bots = f'[bot.a]\ncommand = "random"\n[bot.good]\n{bot("good.tar.gz")}\n[bot.failing]\n{bot("failing.tar.gz")}\n'
    file.write_text(file.read_text(encoding="utf-8") + bots, encoding="utf-8")
    server = LobbyProcess(file)
    try:
        (failed,) = [event for event in server.events("build") if event["word"] == "failed"]
        assert failed["source"] == "failing" and "no such header: board.h" in failed["reason"]
        wait_until(lambda: len(played(file)) > 1, 120)
    finally:
        server.process.send_signal(signal.SIGTERM)
        server.process.communicate(timeout=120)
    assert {name for row in played(file) for name in (row.first, row.second)} == {"a", "good"}


def played(file: Path) -> list[GameRow]:
    with open_store(file) as store:
        return list(store.games())
