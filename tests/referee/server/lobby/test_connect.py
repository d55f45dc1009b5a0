"""`ggp serve` and `ggp connect` together, with keys: bots on stdin play over the network, also past a killed server."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ggp.protocol.transports.keys import KeyPair
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.sandbox.levels import Sandbox
from ggp.referee.match.setting import Timeouts
from ggp.referee.server.lobby.connect import BotEnded, BotProcess
from ggp.referee.server.lobby.keys import change, now, read, revoke
from tests.support.cli import Ggp, ggp, wait_until
from tests.support.codes import raises
from tests.support.lobby_server import LobbyProcess, key_files, lobby_file
from tests.system.test_lobby_return import under_way

pytestmark = pytest.mark.slow

GGP = (sys.executable, "-m", "ggp.referee.cli")
BOTS = (sys.executable, "-m", "ggp.bots")


def connect(folder: Path, url: str, name: str, server: KeyPair, *bot: str) -> Ggp:
    more = ("--key", str(folder / f"{name}.key"), "--server-key", server.public, "--name", name, "--quiet")
    return Ggp("connect", url, *more, "--", *bot)


def test_connected_bots_play_on_after_the_server_was_killed(tmp_path: Path) -> None:
    server_pair = key_files(tmp_path, a="ann", b="bob")["server"]
    file = lobby_file(tmp_path, keys=True)
    server = LobbyProcess(file)
    random = connect(tmp_path, server.url, "a", server_pair, *BOTS, "random")
    greedy = connect(tmp_path, server.url, "b", server_pair, *BOTS, "greedy", "playouts=2")
    server.wait_for("game", 2)
    assert {one["owner"] for one in server.events("joined")} == {"ann", "bob"}
    server.kill()
    again = LobbyProcess(file)
    again.wait_for("game", 2)
    for one in (random, greedy):
        one.process.terminate()
        assert one.process.wait(60) == 0
    assert again.end().status == 0
    with Store.open(f"sqlite:///{tmp_path}/club.db") as store:
        rows = list(store.games())
    assert {row.termination for row in rows} <= {"rules", "resignation", "disconnected"}
    told = [one["match"] for run in (server, again) for one in run.events("game")]
    assert len(set(told)) == len(told) and set(told) <= {row.key for row in rows}


def test_bot_that_ends_at_once_is_reported(tmp_path: Path) -> None:
    ran = ggp("connect", "tcp://127.0.0.1:9", "--", sys.executable, "-c", "")
    assert ran.status == 2
    assert ran.err == "ggp connect: the bot does not start: the peer's output ended; exit status 0\n"


@pytest.mark.needs("strict")
def test_a_strict_bot_is_stopped_while_it_has_nothing_to_answer() -> None:
    """It shares its core with its opponent, whose clock nothing credits in a lobby."""
    bot = BotProcess((*BOTS, "random"), Timeouts(), sandbox=Sandbox("strict"))
    try:
        state = next(path for path in freezers(bot) if path.exists())
        assert state.read_text(encoding="utf-8") not in RUNS
        for command in (b"name\n", b"version\n"):
            bot.write(command)
        assert state.read_text(encoding="utf-8") in RUNS
        answers = list[bytes]()
        wait_until(lambda: answers.extend(bot.read()) or len(answers) == 2, 60)  # type: ignore[func-returns-value]
        wait_until(lambda: state.read_text(encoding="utf-8") not in RUNS, 60)
    finally:
        bot.stop()


RUNS = ("THAWED\n", "0\n")  # in version 1 and 2


def freezers(bot: BotProcess) -> list[Path]:
    groups = bot._process._child.groups
    assert groups is not None
    return [Path(path, name) for path in groups.paths for name in ("freezer.state", "cgroup.freeze")]


@pytest.mark.parametrize(("last", "heard"), [("=2 C", []), ("=2 D1", []), ("=2 D1\\n", [b"=2 D1\n\n"])])
def test_an_answer_that_the_bots_end_cuts_does_not_reach_the_lobby(last: str, heard: list[bytes]) -> None:
    handshake = "for answer in '=1 2', '=2 half', '=3 play genmove': input(); print(answer + '\\n', flush=True)\n"
    bot = BotProcess(
        (sys.executable, "-c", f"import os\n{handshake}input(); os.write(1, b'{last}'); os._exit(3)"), Timeouts()
    )
    try:
        bot.write(b"2 genmove black\n")
        answers = list[bytes]()
        with raises(BotEnded, "bot-ended") as ended:
            while True:
                answers += bot.read()
                time.sleep(0.01)
        assert answers == heard
        assert str(ended.value) == "exit status 3" + ("" if heard else f", in the middle of an answer: {last}")
    finally:
        bot.stop()


SLOW = "import sys, time\nfrom ggp.bots.sdk import run\n" + (
    "def choose(position):\n    time.sleep(0.05)\n    return position.legal_moves()[0]\n"
    "run(choose, name='slow', games=('yugo',))\n"
)


@pytest.mark.parametrize("by_itself", [False, True])
def test_ctrl_c_finishes_the_game_and_starts_no_other(tmp_path: Path, by_itself: bool) -> None:
    """As from a terminal: the signal goes to the foreground group, which a bot of `ggp connect` is not part of."""
    server = LobbyProcess(lobby_file(tmp_path, pool="openings = 0"))
    script = tmp_path / "slow.py"
    script.write_text(SLOW, encoding="utf-8")
    stays = Ggp("connect", server.url, "--name", "stays", "--quiet", "--", *BOTS, "random")
    leaves: subprocess.Popen[str] = subprocess.Popen(
        [sys.executable, str(script), "--connect", server.url, "--name", "leaves"]
        if by_itself
        else [*GGP, "connect", server.url, "--name", "leaves", "--", sys.executable, str(script)],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True,
    )  # fmt: skip
    try:
        match = under_way(tmp_path, 6)
        os.killpg(leaves.pid, signal.SIGINT)
        _, err = leaves.communicate(timeout=120)
    finally:
        leaves.kill()
    assert leaves.returncode == 130 and "send the signal again" in err
    (game,) = server.wait_for("game")
    assert game["match"] == match and game["word"] in ("rules", "resignation") and "culprit" not in game, game
    assert [one["word"] for one in server.events("left") if one["bot"] == "leaves"] == ["leaving"]
    stays.process.send_signal(signal.SIGTERM)
    assert stays.process.wait(60) == 0, "without a game it leaves at once"
    assert not server.events("void") and len(server.events("game")) == 1
    server.end()


def test_lasting_refusals_are_not_retried(tmp_path: Path) -> None:
    """Each program that dials prints the reason and ends with status 2."""
    pairs = key_files(tmp_path, a="ann", b="bob")
    (tmp_path / "a.pub").write_text(pairs["a"].public, encoding="utf-8")
    with change(tmp_path / "keys.json") as write:
        write(revoke(read(tmp_path / "keys.json"), "bob", now())[0])
    server = LobbyProcess(lobby_file(tmp_path, keys=True, more='[bot.house]\ncommand = "random"\n'))
    script = tmp_path / "bot.py"
    script.write_text(SLOW, encoding="utf-8")

    def keys(key: str, server_key: str) -> tuple[str, ...]:
        return ("--key", str(tmp_path / key), "--server-key", server_key)

    right = pairs["server"].public
    cases: list[tuple[tuple[str, ...], str, str]] = [
        (keys("a.key", right), "other", "this key speaks for a, not for 'other'"),
        (keys("a.key", right), "house", "house is a bot of the lobby's own: choose another name"),
        (keys("b.key", right), "b", "ask its operator whether"),
        (keys("a.key", pairs["a"].public), "a", "the key in --server-key is probably not this server's"),
        (keys("a.pub", right), "a", "holds only a public key"),
        ((), "a", "add --key FILE and --server-key KEY"),
    ]
    started = [
        (said, Ggp("connect", server.url, *more, "--name", name, "--", *BOTS, "random"))
        for more, name, said in cases[::2]
    ]
    words = [[sys.executable, str(script), "--connect", server.url, *more, "--name", name] for more, name, _ in cases]
    scripts = [
        (case[2], subprocess.Popen(line, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8"))
        for case, line in zip(cases[1::2], words[1::2], strict=True)
    ]
    started += [(said, Ggp("challenge", server.url, *more)) for more, name, said in cases[2:] if name != "other"]
    for said, running in started:
        ran = running.wait(120)
        assert ran.status == 2 and said in ran.err and "Traceback" not in ran.err, ran
    for said, process in scripts:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 2 and said in err and "Traceback" not in err, err
    assert server.end().status == 0
