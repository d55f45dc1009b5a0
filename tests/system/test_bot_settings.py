"""What bots are given by their own settings, seen by real processes: in a match, a ladder and a lobby."""

import json
import os
import shlex
import signal
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ggp.protocol.records import Record, read_records
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.cli.verify import main as main_verify
from ggp.referee.ladder.config import read_ladder
from ggp.referee.ladder.session import Watched, WorkerOptions, _read_again
from ggp.referee.ladder.toml_file import ConfigError
from ggp.referee.match.bot_spec import read_bot
from ggp.referee.match.match_runner import MatchRunner
from ggp.referee.records import live_base, playing
from tests.support import TESTS
from tests.support.cli import Ggp, Ran, ggp, wait_until
from tests.support.ladders import open_store
from tests.support.lobby_server import LobbyProcess
from tests.support.series import make_setup

pytestmark = pytest.mark.slow

SECRET = "do-not-keep-me"
NICE = os.getpriority(os.PRIO_PROCESS, 0)
CORES = sorted(os.sched_getaffinity(0))


def telling(file: Path, *words: str) -> str:
    return shlex.join([sys.executable, "-S", "-E", str(TESTS / "support" / "telling_bot.py"), f"to:{file}", *words])


def told(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def processes(file: Path) -> list[dict[str, Any]]:
    return [found for found in told(file) if "cwd" in found]


def play(folder: Path, *words: str, bot: tuple[str, ...] = (), games: int = 2, other: str = "b=random") -> Ran:
    """A match of the telling bot `a`, whose file is `a.txt`, recorded as `games.jsonl`."""
    bots = (f"a={telling(folder / 'a.txt', *bot)}", other)
    record = ("--record", str(folder / "games.jsonl"), "--json")
    return ggp("match", "go,size=5", *bots, "--games", str(games), "--jobs", "1", *record, *words)


def records(folder: Path) -> list[Record]:
    return list(read_records((folder / "games.jsonl").read_bytes().splitlines(keepends=True)))


def test_a_match_gives_a_bot_its_folder_environment_and_niceness(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    ran = play(tmp_path, "--bot", f"a,cwd={tmp_path}/nets,environment.SAID={SECRET},nice=3")
    assert (ran.status, ran.err) == (0, "")
    (process,) = processes(tmp_path / "a.txt")
    assert (process["cwd"], process["said"]) == (str(tmp_path / "nets"), SECRET)
    assert process["nice"] == min(19, NICE + 3)
    assert len(process["cores"]) == 1, "it shares the core of its match"
    text = (tmp_path / "games.jsonl").read_text(encoding="utf-8")
    assert SECRET not in text + ran.out and f"cwd={tmp_path}/nets environment=SAID" in text
    assert main_verify([str(tmp_path / "games.jsonl"), "--quiet"]) == 0


def test_a_value_of_the_environment_is_in_no_log(tmp_path: Path) -> None:
    logs = ("--log", str(tmp_path / "logs"), "--log-stderr", str(tmp_path / "stderr"))
    ran = play(tmp_path, "--bot", f"a,environment.SAID={SECRET}", "--verbose=all", *logs)
    assert ran.status == 0 and processes(tmp_path / "a.txt")[0]["said"] == SECRET
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "a.txt"]
    assert (
        len(kept) >= 3
        and not any(SECRET in path.read_text(encoding="utf-8") for path in kept)
        and SECRET not in ran.err
    )


@pytest.mark.parametrize(("words", "started"), [((), 1), (("--bot", "a,restart=true"), 4), (("--restart",), 4)])
def test_a_bot_is_started_again_for_each_game_if_it_is_to_be(
    tmp_path: Path, words: tuple[str, ...], started: int
) -> None:
    assert play(tmp_path, *words, games=4).status == 0
    assert len(processes(tmp_path / "a.txt")) == started


def test_one_bot_is_kept_where_the_others_are_started_again(tmp_path: Path) -> None:
    other = f"b={telling(tmp_path / 'b.txt')}"
    assert play(tmp_path, "--restart", "--bot", "a,restart=false", games=4, other=other).status == 0
    assert len(processes(tmp_path / "a.txt")) == 1 and len(processes(tmp_path / "b.txt")) == 4


@pytest.mark.parametrize("words", [("--bot", "a,wait=0.4"), ("-wait", "400")])
def test_a_bot_waits_between_games(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert play(tmp_path, *words, games=3).status == 0
    found = [found for found in told(tmp_path / "a.txt") if "line" in found]
    begun = [place for place, one in enumerate(found) if one["line"].startswith("ggp-new")]
    rests = [found[place]["at"] - found[place - 1]["at"] for place in begun[1:]]
    assert len(rests) == 2 and min(rests) >= 0.35


def test_a_move_beyond_the_time_out_of_the_bot_loses(tmp_path: Path) -> None:
    ran = play(tmp_path, "--time", "none", "--bot", "a,budget.move=0.1,budget.stall=20", bot=("slow=0.4",))
    assert ran.status == 0
    ends = [record.end for record in records(tmp_path)]
    assert all(end and (end.termination, end.result[1:]) == ("time", "+T") for end in ends)
    assert [end.culprit for end in ends if end] == ["seat1", "seat2"], "it is the bot's fault in either seat"
    assert all(end.detail.startswith("the answer came ") for end in ends if end)


def test_a_silent_bot_is_stalled_after_its_own_time_outs(tmp_path: Path) -> None:
    other = f"b={telling(tmp_path / 'b.txt', 'slow=0.4')}"
    words = ("--time", "none", "--bot", "a,budget.move=0.1,budget.stall=0.1")
    assert play(tmp_path, *words, bot=("slow=60",), other=other).status == 0
    ends = [record.end for record in records(tmp_path)]
    assert [end and (end.termination, end.culprit) for end in ends] == [("stalled", "seat1"), ("stalled", "seat2")]


def test_the_start_of_one_bot_may_take_longer_or_less_long(tmp_path: Path) -> None:
    ran = play(tmp_path, "--bot", "a,budget.start=0.3", bot=("late=60",))
    assert ran.status == 1 and ran.json["games"] == 0 and ran.json["suspended"]["who"] == "a"
    assert "does not start" in ran.json["suspended"]["reason"]
    ran = play(tmp_path, "--budget", "start=5", "--bot", "a,budget.start=60", bot=("late=6",))
    assert ran.status == 0 and ran.json["games"] == 2


def test_a_bot_that_lists_a_command_for_limits_gets_them(tmp_path: Path) -> None:
    assert play(tmp_path, "--bot", "a,nodes=100,playouts=7", bot=("limits",)).status == 0
    lines = [found["line"] for found in told(tmp_path / "a.txt") if "line" in found]
    said = ["kata-set-param maxVisits 100", "kata-set-param maxPlayouts 7"]
    assert lines[:2] == said, "they are tried before the first game"
    assert lines.count(said[0]) == lines.count(said[1]) == 3 and lines[2:5] == [*said, "ggp-new go size=5"]
    assert all(
        record.start.bots[seat].settings == "nodes=100 playouts=7" for seat, record in enumerate(records(tmp_path))
    )


@pytest.mark.parametrize(
    ("bot", "said"),
    [
        ((), "a.nodes: cannot be limited by nodes: it lists neither kata-set-param nor lz-setoption"),
        (("limits", "refuses"), "a.nodes: answers `kata-set-param maxVisits 5` with `? no such parameter`"),
    ],
)
def test_a_bot_that_takes_no_limit_is_named_before_the_first_game(
    tmp_path: Path, bot: tuple[str, ...], said: str
) -> None:
    """Also where two others could play."""
    words = ("c=random", "--bot", "a,nodes=5")
    ran = play(tmp_path, *words, bot=bot)
    assert ran.status == 2 and said in ran.err and ran.err.count("\n") == 1
    assert not (tmp_path / "games.jsonl").exists()
    file = tmp_path / "club.toml"
    pool = '[pool.main]\ngame = "go,size=5"\n[bot.b]\ncommand = "random"\n'
    file.write_text(
        f"{pool}[bot.a]\ncommand = {json.dumps(telling(tmp_path / 'a.txt', *bot))}\nnodes = 5\n", encoding="utf-8"
    )
    ran = ggp("ladder", "run", str(file), "--games", "2")
    assert ran.status == 2 and said in ran.err and ran.err.count("\n") == 1 and not (tmp_path / "club.db").exists()
    file.write_text(f"[lobby]\nkeys = false\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    ran = ggp("serve", str(file))
    assert ran.status == 2 and said in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize("name", ["nodes", "playouts"])
def test_a_built_in_bot_without_such_an_option(name: str) -> None:
    ran = ggp("match", "go,size=5", "a=random", "b=greedy", "c=greedy", "--bot", f"a,{name}=5")
    assert (
        ran.status == 2
        and f"random has no option {name}; its options are: seed" in ran.err
        and ran.err.count("\n") == 1
    )


# -- cores -----------------------------------------------------------------------------------------------------------


def test_a_bot_that_ponders_has_a_core_of_its_own(tmp_path: Path) -> None:
    other = f"b={telling(tmp_path / 'b.txt')}"
    ran = play(tmp_path, "--bot", "a,ponder=true", other=other)
    if len(CORES) == 1:
        assert ran.status == 2 and "bot a: ponder: a match needs 2 cores, and this machine has 1" in ran.err
        return
    assert ran.status == 0
    (ponders,), (waits,) = processes(tmp_path / "a.txt"), processes(tmp_path / "b.txt")
    assert len(ponders["cores"]) == len(waits["cores"]) == 1 and ponders["cores"] != waits["cores"]
    assert records(tmp_path)[0].start.bots[0].settings == "ponder=true"


def test_bots_that_ponder_never_share_a_core(tmp_path: Path) -> None:
    """Two of three have had the same core when they meet: one of them is started again on another."""
    bots = [
        replace(read_bot(f"{name}={telling(tmp_path / f'{name}.txt')}"), ponder=True, name=name)
        for name in ("a", "b", "c")
    ]
    runner = MatchRunner(lambda record, result: None, most=3, spare=[CORES[0], CORES[-1]])
    for one, two in ((0, 1), (0, 2), (1, 2), (2, 1)):
        setup = make_setup("go,size=5", bots[one], bots[two])
        run_blocking(runner.play(setup, 0))
        cores = [processes(tmp_path / f"{'abc'[bot]}.txt")[-1]["cores"] for bot in (one, two)]
        assert all(len(found) == 1 for found in cores) and (cores[0] != cores[1] or len(CORES) == 1)
    run_blocking(runner.close())
    started = [len(processes(tmp_path / f"{name}.txt")) for name in "abc"]
    assert sum(started) == 4 or len(CORES) == 1


def test_bots_that_ponder_need_workers_here_and_no_more_cores_while_a_ladder_runs(tmp_path: Path) -> None:
    file = tmp_path / "club.toml"
    pool = '[pool.main]\ngame = "go,size=5"\n[bot.b]\ncommand = "random"\n[bot.a]\ncommand = "random"\n'
    file.write_text(pool, encoding="utf-8")
    before = read_ladder(file)
    file.write_text(f"{pool}ponder = true\n", encoding="utf-8")
    after = read_ladder(file)
    assert WorkerOptions(cluster="dask://127.0.0.1:1").placed(before).cores == 1
    with pytest.raises(ConfigError, match=r"bot\.a\.ponder: needs workers on this machine: leave --cluster out"):
        WorkerOptions(cluster="dask://127.0.0.1:1").placed(after)
    with pytest.raises(ConfigError, match="more bots ponder than at the start of the run"):
        _read_again(file, Watched(file), before)
    assert _read_again(file, Watched(file), after).bots[1].start.ponder


def test_too_many_bots_that_ponder(tmp_path: Path) -> None:
    many = str(len(CORES))
    ran = ggp("match", "go,size=5", "a=random", "b=greedy", "--bot", "*,ponder=true", "--jobs", many)
    assert ran.status == 2 and "bot a: ponder: " in ran.err and f"this machine has {many}" in ran.err
    file = tmp_path / "club.toml"
    pool = '[pool.main]\ngame = "go,size=5"\n[bot.b]\ncommand = "random"\n'
    file.write_text(f'{pool}[bot.a]\ncommand = "random"\nponder = true\n', encoding="utf-8")
    ran = ggp("ladder", "run", str(file), "--games", "2", "--jobs", many)
    assert ran.status == 2 and "club.toml: bot.a.ponder: " in ran.err and ran.err.count("\n") == 1
    file.write_text(f"[lobby]\nkeys = false\n{file.read_text(encoding='utf-8')}copies = {many}\n", encoding="utf-8")
    ran = ggp("serve", str(file))
    assert ran.status == 2 and "club.toml: bot.a.ponder: " in ran.err and ran.err.count("\n") == 1


# -- time odds in a ladder, killed and resumed -----------------------------------------------------------------------


def ladder(folder: Path, more: str = 'time = "90"') -> Path:
    file = folder / "club.toml"
    file.write_text(
        '[pool.main]\ngame = "yugo,size=3"\ncontrol = "60"\n'
        f"[bot.a]\ncommand = {json.dumps(sys.executable + ' ' + str(folder / 'slow.py'))}\n{more}\n"
        f'[bot.b]\ncommand = "random"\n',
        encoding="utf-8",
    )
    (folder / "slow.py").write_text(SLOW, encoding="utf-8")
    return file


SLOW = """
import time
from ggp.bots.sdk import run

def choose(position):
    time.sleep(0.2)
    return position.legal_moves()[0]

run(choose)
"""


def test_a_ladder_with_time_odds_goes_on_after_a_kill(tmp_path: Path) -> None:
    file = ladder(tmp_path)
    words = ("ladder", "run", str(file), "--games", "2", "--jobs", "1", "--quiet")
    running = Ggp(*words)
    wait_until(lambda: _plies(file) >= 4, seen=running.running)
    os.killpg(running.process.pid, signal.SIGKILL)
    running.wait()
    ran = ggp(*words)
    assert ran.status == 0, ran.err
    with open_store(file) as store:
        rows = sorted(store.games(), key=lambda row: row.key)
        data = [store.record(row.key) for row in rows]
    assert len(rows) == 2 and {row.termination for row in rows} == {"rules"}
    for lines in data:
        assert lines is not None
        (record,) = read_records(lines.splitlines(keepends=True))
        seat = [bot.name for bot in record.start.bots].index("a") + 1
        assert record.start.control == "60" and record.start.controls[seat - 1] == "90"
        for number, main in ((seat, 90_000), (3 - seat, 60_000)):
            mine = [ply for ply in record.plies if ply.seat == number]
            used = 0
            for ply in mine:
                used += ply.ms
                assert ply.left == main - used
    said = ggp("ladder", "bot", str(file), "a")
    assert "its own       time=90" in said.out, said.out + said.err


def _plies(file: Path) -> int:
    """Of the match that is being played."""
    return max((len(record.plies) for record in playing(live_base(f"sqlite:///{file.with_suffix('.db')}"))), default=0)


def test_a_control_of_its_own_is_another_version_with_its_own_rating(tmp_path: Path) -> None:
    file = tmp_path / "club.toml"
    pool = '[pool.main]\ngame = "yugo,size=3"\ncontrol = "60"\n[bot.b]\ncommand = "random"\n'
    for more in ("", 'time = "5"\n'):
        file.write_text(f'{pool}[bot.a]\ncommand = "random:seed=3"\n{more}', encoding="utf-8")
        assert ggp("ladder", "run", str(file), "--games", "4" if more else "2", "--quiet").status == 0
    rows = ggp("ladder", "standings", str(file), "--all", "--json").json["ratings"]
    names = sorted(row["name"] for row in rows)
    assert len(names) == 3 and names[0] == "a" and names[1].startswith("a@") and names[2] == "b"


def test_records_of_one_name_with_and_without_odds_are_rated_apart(tmp_path: Path) -> None:
    game = ("match", "yugo,size=3", "a=random", "b=random:seed=4", "--games", "4", "--quiet")
    record = ("--record", str(tmp_path / "games.jsonl"))
    assert ggp(*game, *record).status == ggp(*game, *record, "--bot", "a,time=5+1").status == 0
    rows = ggp("rate", str(tmp_path / "games.jsonl"), "--json").json["ratings"]
    assert {row["name"] for row in rows} == {"a", "a time=5+1", "b", "b time=10+0.1"}


# -- a lobby ---------------------------------------------------------------------------------------------------------


def test_local_bots_of_a_lobby_have_settings_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    one, two = (json.dumps(telling(tmp_path / f"{name}.txt", "limits")) for name in "ab")
    file = tmp_path / "club.toml"
    file.write_text(
        '[lobby]\nkeys = false\nlocal_matches = true\nwatch = "none"\nlisten = "tcp://127.0.0.1:0"\npairing = 0.1\n'
        '[pool.main]\ngame = "go,size=5"\ncontrol = "60"\n'
        f'[bot.a]\ncommand = {one}\ntime = "30+1"\ncwd = "nets"\nnice = 4\nrestart = true\nwait = 0.3\nnodes = 9\n'
        f'environment = {{ SAID = "{SECRET}" }}\n'
        f"[bot.b]\ncommand = {two}\n",
        encoding="utf-8",
    )
    server = LobbyProcess(file)
    server.wait_for("game", 4)
    assert server.end().status == 0
    a, b = processes(tmp_path / "a.txt"), processes(tmp_path / "b.txt")
    _, *played = a
    assert {found["nice"] for found in played} == {min(19, NICE + 4)} and {found["nice"] for found in b} == {
        min(19, NICE + 10)
    }
    assert {(found["cwd"], found["said"]) for found in a} == {(str(tmp_path / "nets"), SECRET)}
    assert len(b) == 1 and len(played) >= 4, "one is started again for each game"
    lines = [found for found in told(tmp_path / "a.txt") if "line" in found]
    for pid in {found["pid"] for found in played}:
        mine = [found["line"] for found in lines if found["pid"] == pid]
        if any(line.startswith("genmove") for line in mine):
            assert mine.count("kata-set-param maxVisits 9") == mine.count("ggp-new go size=5") == 1
    begun = [found["at"] for found in lines if found["line"].startswith("ggp-new")]
    assert all(later - earlier >= 0.3 for earlier, later in pairwise(begun))
    with open_store(file) as store:
        data = [store.record(row.key) for row in store.games()]
    for kept in data:
        assert kept is not None and SECRET.encode() not in kept
        (record,) = read_records(kept.splitlines(keepends=True))
        (party,) = (bot for bot in record.start.bots if bot.name == "a")
        assert (party.control, party.settings) == ("30+1", "cwd=nets nodes=9 environment=SAID")
        assert sorted(record.start.controls) == ["30+1", "60"]
    assert time.monotonic() > begun[-1]
