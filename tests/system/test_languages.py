"""One bot in ten languages: made with the line at its head, it passes the whole check and plays whole games."""

import os
import re
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from ggp.protocol.commands import Who
from ggp.protocol.conformance import CheckVerdict
from ggp.protocol.connection import PeerRole
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.bot_spec import BotSpec, read_engine
from ggp.referee.match.engine import start_engine
from ggp.referee.match.match_runner import MatchRunner
from ggp.referee.match.process import Process
from ggp.referee.match.setting import Timeouts
from ggp.referee.tools.check.run import run_trial
from ggp.referee.tools.check.trial import Trial
from tests.support import ROOT
from tests.support.cli import wait_until
from tests.support.raw_peer import RawPeer
from tests.support.series import AtTable, make_setup

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "bots" / "examples"
PAGE = ROOT / "docs" / "how-to" / "write-a-bot-in-any-language.md"
LANGUAGES = {
    "C": "legal_bot.c",
    "C++": "legal_bot.cpp",
    "Rust": "legal_bot.rs",
    "Go": "legal_bot.go",
    "Java": "LegalBot.java",
    "JavaScript": "legal_bot.js",
    "Python": "legal_bot.py",
    "Perl": "legal_bot.pl",
    "Lua": "legal_bot.lua",
    "POSIX shell": "legal_bot.sh",
}
TOOLS = {  # beyond those of every Debian and README.md
    "Rust": ("rustc",),
    "Go": ("go",),
    "Java": ("javac", "java"),
    "JavaScript": ("node",),
    "Perl": ("perl",),
    "Lua": ("lua",),
}
EACH = [pytest.param(name, marks=pytest.mark.needs(*TOOLS.get(name, ()))) for name in LANGUAGES]
COMMANDS = [
    *("genmove", "ggp-games", "ggp-new", "known_command", "list_commands"),
    *("name", "play", "protocol_version", "quit", "version"),
]
GAMES = ("stigmergy,size=2", "go,size=3,agreement=on", "laido,size=2")  # bids and sides, dead stones, the pie rule
MORE_GAMES = ("yugo,size=5,agreement=on", "yugo,size=6,handicap=3", "taugo,size=6", "taigo", "stigmergy", "laido")


def head(file: str) -> dict[str, str]:
    """What the first lines say: how to build it, how to run it, a match."""
    text = "".join((EXAMPLES / file).read_text(encoding="utf-8").splitlines(keepends=True)[:12])
    return dict(re.findall(r"^\W*(build|run|match) +(\S.*)$", text, re.MULTILINE))


def made(language: str, folder: Path) -> list[str]:
    """Build the bot as its head says in a folder where the project lies; how to start it there, without its engine."""
    lines = head(LANGUAGES[language])
    (folder / "bots").symlink_to(ROOT / "bots")
    if "build" in lines:
        kept = {"GOCACHE": str(folder / "cache"), "GOFLAGS": "", "GOPATH": str(folder / "go")}
        subprocess.run(["sh", "-c", lines["build"]], cwd=folder, env={**os.environ, **kept}, check=True)
    words = shlex.split(lines["run"])
    assert words[-2:] == ["ggp", "engine"]
    return ["env", "-C", str(folder), *words[:-2]]


def missed(command: list[str], judge: str | None, *games: str) -> list[str]:
    """The steps of `ggp check` that the bot fails."""

    async def run() -> list[str]:
        trial = Trial(Who.BOT, partial(Process, tuple(command), PeerRole.BOT, Timeouts()), 30.0, 60.0)
        trial.judge = await start_engine(read_engine(judge))
        try:
            found = await run_trial(trial, games=games)
        finally:
            await trial.judge.peer.stop()
        assert sum(one.verdict is CheckVerdict.PASS for one in found) >= 75
        return [f"{one.check.number} {one.note}" for one in found if one.verdict is CheckVerdict.FAIL]

    return run_blocking(run())


def play_all(bot: BotSpec, games: tuple[str, ...]) -> None:
    """Two games of each against the built-in random bot, in both seats, with the same processes."""
    came = AtTable()
    table = MatchRunner(came.keep)
    try:
        for number, game in enumerate((*games, *games)):
            run_blocking(table.play(make_setup(game, bot, time="none"), number // len(games)))
    finally:
        run_blocking(table.close())
    assert [one.termination for one in came.played] == ["rules"] * 2 * len(games), came.played
    assert [came.end(number).warnings for number in range(2 * len(games))] == [()] * 2 * len(games)


def leaves_no_process(command: list[str]) -> None:
    """It lists what the others list; killed without warning, it takes its engine with it."""
    with RawPeer(command) as bot:
        assert bot.ask("list_commands").split() == COMMANDS
        assert bot.ask("ggp-new hexapawn") == ""
        group = bot.process.pid
        assert len(members(group)) >= 2
        os.kill(group, signal.SIGKILL)
        bot.process.wait()
        wait_until(lambda: not members(group))


def members(group: int) -> list[str]:
    """Who runs in a process group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(folder.name)) == group and "\nState:\tZ" not in (folder / "status").read_text(
                encoding="utf-8"
            ):
                found.append(folder.name)
        except OSError:
            continue
    return found


@pytest.fixture(autouse=True)
def ggp_in_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


@pytest.mark.parametrize("language", EACH)
def test_it_is_made_with_one_line_passes_every_step_and_plays(language: str, tmp_path: Path, hexapawn: str) -> None:
    command = made(language, tmp_path)
    assert missed([*command, hexapawn], hexapawn) == []
    play_all(BotSpec("bot", "bot", tuple(command)), GAMES)
    leaves_no_process([*command, hexapawn])


@pytest.mark.long
@pytest.mark.parametrize("language", EACH)
def test_it_plays_every_game(language: str, tmp_path: Path) -> None:
    command = made(language, tmp_path)
    assert missed([*command, "ggp", "engine"], None) == []
    play_all(BotSpec("bot", "bot", tuple(command)), MORE_GAMES)


def test_the_page_says_what_the_files_say() -> None:
    rows = re.findall(
        r"^\| ([^|]+) \| \[(\S+)\]\(\S+\) \|[^|]*\| (.*) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [(language, file) for language, file, _, _ in rows] == list(LANGUAGES.items())
    for _, file, build, run in rows:
        lines = head(file)
        assert (build.strip("`"), run.strip("`")) == (lines.get("build", ""), lines["run"])
        assert lines["match"].startswith("ggp match yugo ")
