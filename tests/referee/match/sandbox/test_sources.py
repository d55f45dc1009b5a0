"""Two processes that ask for the same source build it once; the build is kept whole and read-only, or not at all."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ggp.referee.match.sandbox import sources
from ggp.referee.match.sandbox.levels import Level, Sandbox
from ggp.referee.match.sandbox.machine import Machine
from ggp.referee.match.sandbox.sources import Build, BuildOrder, Source, for_building, is_current, make, read_source
from ggp.referee.match.sandbox.unpack import SourceRefused
from tests.support import ROOT
from tests.support.archives import files, member, pack
from tests.support.cli import wait_until

RULE = "bot: bot.in\n\tcp bot.in bot\n\tchmod +x bot\n"


@dataclass
class Ended:
    how: str = ""
    output: bytes = b""


class Runs:
    """In place of the sandbox: runs the command as it is, and counts."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def __call__(self, argv: list[str], **how: Any) -> Ended:
        self.asked.append({"argv": argv, **how})
        ran = subprocess.run(
            argv,
            cwd=how["folder"],
            env={"PATH": os.environ["PATH"]},  # a make of ours would tell this one that it is a part of it
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return Ended(f"exit status {ran.returncode}" if ran.returncode else "", ran.stdout)


@pytest.fixture(autouse=True)
def writable_again(tmp_path: Path) -> Iterator[None]:
    yield
    for path in [tmp_path, *tmp_path.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def source_of(folder: Path, build: str = "make", **more: str) -> Source:
    path = files(folder / "bot", [("Makefile", RULE), ("bot.in", "#!/bin/sh\n"), *more.items()])
    return read_source(path, build, 60, folder / "club.builds")


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "club.builds").iterdir())


@pytest.mark.needs("make")
def test_what_is_built_is_read_only_and_every_user_may_run_it(tmp_path: Path) -> None:
    source, run = source_of(tmp_path), Runs()
    before = os.umask(0o077)
    try:
        assert make(source, Sandbox(memory=99), run) == ""
    finally:
        os.umask(before)
    folder = Path(source.folder)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "bot", folder / "bot.in")] == [
        *(0o555, 0o555),
        0o444,
    ]
    assert left(tmp_path) == [source.digest, "lock"] and source.is_built
    (asked,) = run.asked
    assert asked["argv"] == [shutil.which("make")] and asked["writable"] and asked["seconds"] == 60
    assert asked["sandbox"] == Sandbox(memory=99)
    assert make(source, Sandbox(), run) == "" and len(run.asked) == 1, "it is there"


@pytest.mark.parametrize(
    ("asked", "missing", "level"),
    [
        ("none", False, "strict"),
        ("default", False, "strict"),
        ("strict", True, "strict"),  # and is refused with the remedy
        ("default", True, "default"),
        ("none", True, "default"),
    ],
)
def test_sources_are_built_as_strictly_as_can_be(asked: Level, missing: bool, level: Level) -> None:
    machine = Machine({}, {"memory": ("no cgroup", "run as root")} if missing else {})
    allow = ("network", "read:/opt/sdk", "gpu", "variable:CC", "ponder")
    assert for_building(Sandbox(asked, allow, memory=99), machine) == Sandbox(
        level, ("read:/opt/sdk", "variable:CC"), memory=99
    )


def test_a_source_without_a_command_is_kept_as_it_is(tmp_path: Path) -> None:
    source, run = source_of(tmp_path, ""), Runs()
    assert make(source, Sandbox(), run) == "" and run.asked == []
    assert (Path(source.folder) / "bot.in").read_text(encoding="utf-8") == "#!/bin/sh\n"


@pytest.mark.needs("make")
def test_a_failed_build_leaves_its_last_lines_and_its_output(tmp_path: Path) -> None:
    broken = "all:\n\t@seq 100\n\t@echo no such header: board.h\n\t@exit 1\n"
    source = source_of(tmp_path, Makefile=broken)
    reason = make(source, Sandbox(), Runs())
    assert reason.startswith("the build failed (exit status 2): make: *** [Makefile:4: all] Error 1 | no such header: ")
    assert not source.is_built and left(tmp_path) == [f"{source.digest}.log", "lock"]
    assert (tmp_path / "club.builds" / f"{source.digest}.log").read_text(encoding="utf-8").startswith("1\n2\n")


def test_what_a_build_says_cannot_command_a_terminal(tmp_path: Path) -> None:
    source = source_of(tmp_path, "sh -c 'printf \"\\033]0;x\\007\\n\"; exit 3'")
    assert make(source, Sandbox(), Runs()) == r"the build failed (exit status 3): \x1b]0;x\x07"


def test_a_refused_source_leaves_nothing(tmp_path: Path) -> None:
    path = pack(tmp_path / "bot.tar.gz", (member("Makefile"), b""), member("disk", "block device"))
    source, run = read_source(path, "make", 60, tmp_path / "club.builds"), Runs()
    assert make(source, Sandbox(), run) == ("the source cannot be used: 'disk' is a device or a pipe: remove it")
    assert left(tmp_path) == ["lock"] and run.asked == []


def test_content_and_command_make_the_digest_not_place_and_time(tmp_path: Path) -> None:
    one, two = source_of(tmp_path / "1"), source_of(tmp_path / "2")
    assert one.digest == two.digest != source_of(tmp_path / "1", "make -j2").digest
    assert source_of(tmp_path / "2", "make  ").digest == one.digest
    (tmp_path / "1" / "bot" / "bot.in").write_text("other", encoding="utf-8")
    assert not is_current(one) and source_of(tmp_path / "1", Makefile="other").digest != one.digest


def test_a_source_that_changed_since_it_was_read_is_not_built(tmp_path: Path) -> None:
    source, run = source_of(tmp_path), Runs()
    (tmp_path / "bot" / "bot.in").write_text("other", encoding="utf-8")
    assert "it changed while it was read" in make(source, Sandbox(), run)
    assert run.asked == [] and not source.is_built


@pytest.mark.parametrize(
    ("name", "build", "problem"),
    [
        ("none.tar.gz", "", "does not exist: check the path"),
        ("bot.zip", "", "is neither a folder nor a .tar.gz file: pack it as one"),
        ("bot.tar.gz", "'make", "is not a command line: no closing quotation"),
        ("bot.tar.gz", "no-such-make", "the build program 'no-such-make' is not in PATH: install it"),
    ],
)
def test_what_cannot_be_a_source(tmp_path: Path, name: str, build: str, problem: str) -> None:
    for there in ("bot.zip", "bot.tar.gz"):
        (tmp_path / there).write_bytes(b"")
    with pytest.raises(SourceRefused) as caught:
        read_source(tmp_path / name, build, 60, tmp_path / "club.builds")
    assert problem in str(caught.value)


def test_what_is_neither_file_nor_folder_nor_link_is_not_kept(tmp_path: Path) -> None:
    source = source_of(tmp_path, "sh -c 'mkfifo pipe; mkdir a; ln -s / root; chmod 0 bot.in a; chmod u+s Makefile'")
    assert make(source, Sandbox(), Runs()) == ""
    folder = Path(source.folder)
    assert sorted(path.name for path in folder.iterdir()) == ["Makefile", "a", "bot.in", "root"]
    assert stat.S_IMODE((folder / "Makefile").stat().st_mode) == 0o444
    assert stat.S_IMODE(Path("/").stat().st_mode) != 0o444, "no link is followed"


@pytest.mark.slow
def test_folders_as_deep_as_a_path_is_long_are_removed(tmp_path: Path) -> None:
    source = source_of(tmp_path, "sh -c 'for i in $(seq 1500); do mkdir d && cd d; done; true'")
    assert make(source, Sandbox(), Runs()) == "the build failed: it created folders nested more than 100 levels deep"
    assert left(tmp_path) == ["lock"]


@pytest.mark.slow
def test_a_build_that_fills_the_disk_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_BUILT", 10 << 20)
    source = source_of(tmp_path, "sh -c 'while :; do head -c 1000000 /dev/zero >> fill; sleep 0.01; done'")
    assert make(source, Sandbox(), Runs()) == "the build failed: it created more than 100000 files or 10 MiB"
    assert left(tmp_path) == ["lock"]


@pytest.mark.slow
def test_a_build_does_not_hide_what_it_makes_in_deep_folders(tmp_path: Path) -> None:
    """It is ended while it runs."""
    deep = "sh -c 'for i in $(seq 200); do mkdir d && cd d; done; exec sleep 1000'"
    said = make(source_of(tmp_path, deep), Sandbox(), Runs())
    assert said == "the build failed: it created folders nested more than 100 levels deep"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (10 << 30, 6 << 30, "it wrote more than 2048 MiB to the disk"),
        (1 << 30, 200 << 20, "the disk has less than 256 MiB left"),
    ],
)
def test_a_build_does_not_fill_the_disk_with_files_without_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, after: int, said: str
) -> None:
    """Removed files that it has open are in no folder, but their room is missing."""
    free = [before, after]
    monkeypatch.setattr(sources, "_free", lambda folder: free[0] if len(free) == 1 else free.pop(0))
    assert make(source_of(tmp_path, "sleep 1000"), Sandbox(), Runs()) == f"the build failed: {said}"


def test_a_folder_that_a_build_closes_is_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(os, "scandir", closed)
    assert sources._Size(tmp_path)._too_much() == "it created a folder that cannot be read: Permission denied"


# -- processes that build ----------------------------------------------------------------------------------------------

BUILDER = """\
import json, subprocess, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from ggp.referee.match.sandbox.levels import Sandbox
from ggp.referee.match.sandbox.sources import Source, make
from tests.referee.match.sandbox.test_sources import Runs
print(make(Source(**json.loads(sys.argv[1])), Sandbox(), Runs()))
"""


def builder(source: Source) -> "subprocess.Popen[str]":
    """A process that builds it without a sandbox."""
    words = [sys.executable, "-c", BUILDER.format(root=str(Path(__file__).parents[3])), json.dumps(asdict(source))]
    return subprocess.Popen(words, stdout=subprocess.PIPE, encoding="utf-8", process_group=0)


@pytest.mark.slow
def test_two_that_want_the_same_build_it_once(tmp_path: Path) -> None:
    source = source_of(tmp_path, f"sh -c 'echo x >> {tmp_path}/times; sleep 1; touch bot'")
    assert [one.communicate(timeout=60)[0] for one in [builder(source) for _ in range(3)]] == ["\n"] * 3
    assert (tmp_path / "times").read_text(encoding="utf-8") == "x\n" and left(tmp_path) == [source.digest, "lock"]


@pytest.mark.slow
@pytest.mark.parametrize("when", ["unpacking", "building"])
def test_a_killed_builder_leaves_nothing_that_is_used(tmp_path: Path, when: str) -> None:
    """The next one begins from nothing, and removes what is left."""
    source = source_of(tmp_path, f"sh -c 'touch half; [ -e {tmp_path}/go ] || sleep 1000'")
    seen = Path(source.folder).with_suffix(".new") / ("half" if when == "building" else "")
    first = builder(source)
    wait_until(seen.exists)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert not source.is_built
    (tmp_path / "go").touch()
    (seen.parent if when == "building" else seen).joinpath("left").touch()
    second = builder(source)
    assert second.communicate(timeout=60)[0] == "\n"
    assert source.is_built and left(tmp_path) == [source.digest, "lock"]
    assert not (Path(source.folder) / "left").exists()


@pytest.mark.slow
@pytest.mark.needs("make")
def test_a_build_is_a_process_of_its_own(tmp_path: Path) -> None:
    source = source_of(tmp_path)
    build = Build(source, Sandbox("default"))
    try:
        assert build.wait(60) == "" and source.is_built
    finally:
        build.stop()


@pytest.mark.slow
def test_a_build_that_is_stopped_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    source = source_of(tmp_path, "sleep 1234567")
    build = Build(source, Sandbox("default"))
    began = time.monotonic()
    wait_until(lambda: (Path(source.folder).with_suffix(".new") / "bot.in").exists())
    assert build.wait(0) is None
    build.stop()
    assert time.monotonic() - began < 60
    wait_until(lambda: subprocess.run(["pgrep", "-f", "sleep 1234567"], stdout=subprocess.DEVNULL).returncode == 1)
    assert left(tmp_path) == ["lock"]


UNDIVIDED = """
import os, sys
from ggp.referee.match.sandbox import machine, sources, start
here = machine.this_machine()
lesser = machine.describe("", here.landlock, here.seccomp, 0, (), {})
machine.this_machine = start.this_machine = lambda: lesser
start._user = lambda *words: 0  # as if it had a user of its own, without whom nothing is built there
sys.exit(sources.main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.needs("root")
def test_what_a_build_leaves_running_is_ended_before_its_folder_is_sealed(tmp_path: Path) -> None:
    """Without a process namespace, too: it would exchange what we are changing for links."""
    source = source_of(tmp_path, "setsid -f sleep 1234568")
    order = msgspec.json.encode(BuildOrder(source, Sandbox("default"), os.getpid())).decode()
    words = [sys.executable, "-c", UNDIVIDED, order]
    ran = subprocess.run(words, stdout=subprocess.PIPE, encoding="utf-8", cwd=ROOT, timeout=60)
    assert json.loads(ran.stdout) == {"reason": ""}
    assert subprocess.run(["pgrep", "-fx", "sleep 1234568"], stdout=subprocess.DEVNULL).returncode == 1
