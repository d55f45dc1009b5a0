"""`ggp match`: what it prints, keeps and returns; what it does when it is stopped, killed or started again."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ggp.engines.registry import Registry
from ggp.engines.service import make_responder
from ggp.engines.session import Session
from ggp.protocol.records import Record, read_records
from ggp.protocol.responder import Responder
from ggp.protocol.transports.zmq import Service
from ggp.referee.match.series import attempt_of
from tests.support.chaos import chaos
from tests.support.cli import PYTHON, Ggp, Ran, ggp, wait_until
from tests.support.memory_match import bot
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

SMALL = ("match", "yugo,size=3", "random", "random")


def records(path: Path) -> list[Record]:
    return list(read_records(path.read_bytes().splitlines(keepends=True)))


def test_a_series_ends_in_a_table(tmp_path: Path) -> None:
    record = tmp_path / "games"
    ran = ggp(*SMALL, "--games", "4", "--record", str(record))
    assert (ran.status, ran.err) == (0, "")
    for text in (
        "yugo size=3, time 10+0.1",
        "random-1",
        "random-2",
        "seat 1",
        "time used",
        "plies/s",
        "ended by: rules 4",
    ):
        assert text in ran.out
    assert f"record: {record}" in ran.out
    assert re.search(r"black \d, white \d of 4 games", ran.out)
    assert sorted(tmp_path.iterdir()) == [record]  # the side files of live plies have gone


def test_the_result_as_one_object(tmp_path: Path) -> None:
    record = tmp_path / "games"
    ran = ggp(*SMALL[:2], "one=random:seed=1", "two=random:seed=2", "--games", "6", "--json", "--record", str(record))
    result = ran.json
    assert (ran.status, ran.err) == (0, "")
    one, two = result["bots"]
    assert (one["name"], two["name"], result["games"], result["terminations"]) == ("one", "two", 6, {"rules": 6})
    assert one["wins"] == two["losses"] and one["points"] + two["points"] == 6
    assert result["black"]["wins"] + result["white"]["wins"] + result["black"]["draws"] == 6
    for side in ("wins", "draws", "losses", "points"):
        assert one[side] == one["seat1"][side] + one["seat2"][side]
    kept = records(record)
    assert result["plies"] == sum(len(match.plies) for match in kept)
    assert one["wins"] == sum(_winner(match) == "one" for match in kept)
    assert result["cpu_us_per_ply"] > 0 and result["worker_rss_mb"] > 0 and result["seconds"] > 0


def _winner(match: Record) -> str:
    assert match.end is not None
    return match.start.bots[match.end.winner - 1].name if match.end.winner else ""


def test_quiet_says_nothing_and_verbose_everything() -> None:
    assert ggp(*SMALL, "--quiet", "--games", "2") == Ran(0, "", "")
    err = ggp(*SMALL, "--verbose=all", "--games", "1").err
    for line in ("random-1 > 1 protocol_version", "engine < =", "random-2 > ", "ggp-play black", " ply 1 black "):
        assert line in err


def test_verbose_of_one_name_shows_its_dialogue_alone() -> None:
    for name in ("random-2", "engine"):
        lines = ggp(*SMALL, f"--verbose={name}", "--games", "1").err.splitlines()
        assert lines and all(re.match(rf"{name} [<>!] ", line) for line in lines)
    unknown = ggp(*SMALL, "--verbose=random", "--games", "1")
    assert unknown.status == 2 and "write plies, all, engine, random-1 or random-2" in unknown.err


def test_verbose_takes_no_bot_for_its_value() -> None:
    """Of `--verbose GAME` the game is no value, though a value may follow after a blank."""
    shown = ggp("match", "--verbose", *SMALL[1:], "--games", "1").err.splitlines()
    assert shown and all(" ply " in line for line in shown)
    assert "engine < =" in ggp(*SMALL, "--games", "1", "--verbose", "engine").err


def test_a_start_that_fails_prints_no_table() -> None:
    ran = ggp("match", "yugo,size=3", "gone=false", "random", "--games", "2")
    assert ran.status == 1 and ran.out == "" and "gone is suspended: does not start" in ran.err


def test_verbose_shows_each_ply_with_what_its_bot_said(tmp_path: Path) -> None:
    record = tmp_path / "games.jsonl"
    words = ("match", "yugo,size=3", "greedy:playouts=3", "random", "--games", "2", "--record", str(record))
    err = ggp(*words, "--verbose").err
    shown = err.splitlines()
    plies = [ply for match in records(record) for ply in match.plies]
    assert len(shown) == len(plies) and max(map(len, shown)) <= 120
    for line, ply in zip(shown, plies, strict=True):
        assert line.startswith(f"{ply.match} ply {ply.ply} {ply.colour} {ply.move}  {ply.ms / 1000:.3f} s, ")
        assert (" playouts, pv " in line and ", greedy  " in line) == bool(ply.analysis) != line.endswith(", random")


def test_openings_are_the_same_for_a_pair_and_by_the_seed(tmp_path: Path) -> None:
    def openings(name: str, seed: str) -> list[tuple[str, ...]]:
        path = tmp_path / name
        words = ("match", "yugo,size=5", "random", "random", "--games", "4", "--openings", "3", "--quiet")
        assert ggp(*words, "--seed", seed, "--record", str(path)).status == 0
        for match in records(path):
            assert tuple(ply.move for ply in match.plies[:3]) == match.start.opening
            assert not any(move[0].islower() for move in match.start.opening)
        by_key = sorted(records(path), key=lambda match: int(match.start.match.partition("-")[2]))
        assert [match.start.bots[0].name for match in by_key] == ["random-1", "random-2"] * 2
        return [match.start.opening for match in by_key]

    first = openings("a", "7")
    assert first[0] == first[1] != first[2] == first[3]
    assert openings("b", "7") == first != openings("c", "8")


def test_the_same_command_goes_on_where_the_record_ends(tmp_path: Path) -> None:
    record = tmp_path / "games"
    ggp(*SMALL, "--games", "2", "--quiet", "--record", str(record))
    whole = record.read_bytes()
    record.write_bytes(whole + whole[: whole.index(b"\n") + 40])  # a crash in the middle of a match
    ran = ggp(*SMALL, "--games", "6", "--json", "--record", str(record))
    assert "already holds 2 of these 6 matches" in ran.err and "removed " in ran.err
    assert ran.json["games"] == 6 and ran.json["terminations"] == {"rules": 6}
    assert record.read_bytes().startswith(whole)
    assert len({match.start.match for match in records(record)}) == len(records(record)) == 6
    again = ggp(*SMALL, "--games", "6", "--json", "--record", str(record))
    assert again.json["games"] == 6 and again.json["plies"] == 0 and len(records(record)) == 6
    other = ggp(*SMALL, "--games", "2", "--seed", "2", "--json", "--record", str(record))  # another series, same file
    assert other.json["games"] == 2 and len(records(record)) == 8


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_stops_cleanly_and_goes_on(tmp_path: Path, number: signal.Signals, status: int) -> None:
    record = tmp_path / "games"
    slow = chaos("fault=late,ms=60000,move=3,game=2,life=90", "slow")
    words = ("match", "yugo,size=3", slow, "random", "--time", "100", "--record", str(record))
    running = Ggp(*words, "--games", "20", "--jobs", "2", "--json")
    wait_until(lambda: record.exists() and b'"end"' in record.read_bytes(), 120)
    running.process.send_signal(number)
    ran = running.wait()
    assert ran.status == status
    assert "stopped; finished matches are kept" in ran.err and "Traceback" not in ran.err
    assert ran.json["interrupted"] == number and ran.json["games"] == len(records(record)) >= 1
    assert list(tmp_path.glob("*.live-*")) == []


def test_ctrl_c_reaches_the_whole_group_and_still_ends_well(tmp_path: Path) -> None:
    record = tmp_path / "games"
    running = Ggp(*SMALL, "--games", "100000", "--record", str(record), "--json")
    wait_until(lambda: record.exists() and record.stat().st_size > 0, 120)
    os.killpg(running.process.pid, signal.SIGINT)
    ran = running.wait()
    assert ran.status == 130 and "Traceback" not in ran.err
    assert ran.json["games"] == len(records(record)) < 100_000


def test_what_was_finished_outlives_a_kill_9(tmp_path: Path) -> None:
    record = tmp_path / "games"
    words = (*SMALL, "--games", "400", "--record", str(record), "--json", "--jobs", "2")
    running = Ggp(*words)
    wait_until(lambda: record.exists() and record.stat().st_size > 5_000, 120)
    running.process.kill()
    assert running.wait().status == -9  # and none of its processes is left
    assert list(tmp_path.glob("*.live-*"))
    before = len([match for match in records(record) if match.end])
    ran = ggp(*words)
    assert ran.status == 0 and ran.json["games"] == 400
    keys = [match.start.match for match in records(record)]
    assert len(set(keys)) == len(keys) == 400 and 0 < before < 400
    assert sorted(tmp_path.iterdir()) == [record]


def test_a_worker_that_is_killed_is_replaced_and_no_match_is_lost_or_doubled(tmp_path: Path) -> None:
    record = tmp_path / "games"
    running = Ggp(*SMALL, "--games", "2000", "--record", str(record), "--jobs", "2", "--json")
    wait_until(lambda: record.exists() and record.stat().st_size > 0, 120)
    (worker, *_) = _spawned(running.process.pid)
    os.kill(worker, signal.SIGKILL)
    ran = running.wait()
    assert ran.status == 0 and ran.json["games"] == 2000
    torn: list[str] = []  # the worker may have been in the middle of a line
    found = list(read_records(record.read_bytes().splitlines(keepends=True), torn.append))
    keys = [game.start.match for game in found if game.end]
    assert len(torn) <= 1 and len(keys) == len(set(keys)) == 2000


def _spawned(pid: int) -> list[int]:
    """The worker processes of a running `ggp match`."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_progress_is_drawn_on_a_terminal_only_and_without_colour_if_so_wished() -> None:
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "ggp.referee.cli", *SMALL, "--games", "200", "--jobs", "1"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    drawn = b""
    with contextlib.suppress(OSError):  # a terminal whose other end has gone
        while chunk := os.read(ours, 65536):
            drawn += chunk
    os.close(ours)
    out, _ = running.communicate(timeout=120)
    assert running.returncode == 0 and b"ended by: rules 200" in out
    assert re.search(rb"\d+/200 .*random-1 [\d.]+ - [\d.]+ random-2", drawn)
    assert b"\x1b[3" not in drawn  # no colour


def test_games_against_chaos_are_all_accounted_for(tmp_path: Path) -> None:
    record = tmp_path / "games"
    ran = _against_chaos(record, 60)
    assert ran.json["games"] + ran.json["void"] == len(records(record)) >= 60
    assert ran.json["bots"][0]["faults"] and not ran.json["bots"][1]["faults"]


@pytest.mark.long
def test_a_thousand_games_against_chaos(tmp_path: Path) -> None:
    record = tmp_path / "games"
    ran = _against_chaos(record, 1000)
    assert ran.json["games"] == 1000 and ran.json["worker_rss_mb"] < 60
    assert len({match.start.match for match in records(record) if match.end and match.end.result}) == 1000


def _against_chaos(record: Path, games: int) -> Ran:
    words = (
        "match",
        "yugo,size=4",
        chaos("fault=any,ms=300,life=20"),
        "random",
        "--games",
        str(games),
        "--time",
        "0.2",
    )
    short = [word for name in ("stall=0.2", "grace=0.2", "quit=0.5") for word in ("--budget", name)]
    ran = ggp(*words, *short, "--json", "--record", str(record), seconds=600)
    assert ran.status in (0, 1), ran.err
    assert ran.json["games"] == games
    return ran


def test_a_suspended_bot_ends_the_series_with_the_reason() -> None:
    ran = ggp("match", "yugo,size=3", chaos("fault=refuse,when=new"), "random", "--json")
    assert ran.status == 1
    assert ran.json["suspended"] == {"who": "chaos", "reason": "answers `ggp-new yugo size=3` with `? I will not`"}
    assert "chaos is suspended" in ran.err and ran.json["games"] == 0


def test_void_games_of_a_run_before_and_of_this_one_have_keys_of_their_own(tmp_path: Path) -> None:
    record = tmp_path / "games"
    for suspended in (1, 2):
        ran = ggp(
            "match",
            "yugo,size=3",
            chaos("fault=crash,when=new"),
            "random",
            "--games",
            "1",
            "--json",
            "--record",
            str(record),
        )
        assert ran.status == 1 and ran.json["games"] == 0 and ran.json["void"] == 4 * suspended
    keys = [match.start.match for match in records(record)]
    assert [attempt_of(key) for key in keys] == list(range(8)) and len(set(keys)) == 8


@pytest.fixture
def service(request: pytest.FixtureRequest) -> str:  # type: ignore[misc]
    """The url of an engine, or of a bot that always passes, over ZeroMQ."""

    def make() -> Responder:
        return make_responder(Session(Registry())) if request.param == "engine" else bot(lambda colour: "pass")

    listening = Service("tcp://127.0.0.1:*", make)
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            listening.serve_one(50)

    thread = threading.Thread(target=serve)
    thread.start()
    yield listening.url
    ended.set()
    thread.join()
    listening.close()


@pytest.mark.parametrize("service", ["engine"], indirect=True)
def test_an_engine_may_be_anywhere(service: str) -> None:
    assert ggp(*SMALL, "--games", "4", "--engine", service, "--json").json["games"] == 4


@pytest.mark.parametrize("service", ["bot"], indirect=True)
def test_a_bot_may_be_anywhere(service: str) -> None:
    ran = ggp("match", "go,size=3", f"far={service}", "random", "--games", "2", "--json")
    assert ran.status == 0 and ran.json["bots"][0]["name"] == "far" and ran.json["terminations"] == {"rules": 2}


def test_another_engine_may_judge() -> None:
    command = f"{PYTHON} -m ggp.engines"
    assert ggp(*SMALL, "--games", "2", "--engine", command, "--json").json["games"] == 2


DAEMON = """
import os, sys
if os.fork() == 0:
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2): os.dup2(null, descriptor)
    os.execvp("sleep", ["sleep", "600"])
os.execv(sys.executable, [sys.executable, "-m", "ggp.engines"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["match", "verify", "show"])
def test_an_engine_that_leaves_a_daemon_leaves_nothing(tmp_path: Path, command: str) -> None:
    """Neither the engine that is asked about the game first, nor those that judge the matches."""
    program, record = tmp_path / "engine.py", tmp_path / "games.jsonl"
    program.write_text(DAEMON, encoding="utf-8")
    engine = ("--engine", f"{PYTHON} {program}")
    words = {"match": (*SMALL, "--games", "2"), "verify": ("verify", str(record)), "show": ("show", str(record))}
    assert ggp(*words["match"], "--record", str(record)).status == 0
    ran = Ggp(*words[command], *engine)
    assert ran.wait().status == 0
    assert not ran.running()


def test_bots_can_be_started_for_every_game() -> None:
    counting = chaos("fault=crash,when=genmove,game=2")  # it would crash in its second game
    ran = ggp("match", "yugo,size=3", counting, "random", "--games", "4", "--restart", "--json", "--jobs", "1")
    assert ran.json["terminations"] == {"rules": 4}


@pytest.mark.slow
@pytest.mark.needs("gnugo")
def test_gnugo_plays_to_the_end_under_agreement() -> None:
    gnugo = "gnugo --mode gtp --level 1 --never-resign --chinese-rules --positional-superko"
    ran = ggp("match", "go,size=5,agreement=on", gnugo, gnugo, "--games", "2", "--json", "--time", "20")
    assert ran.status == 0 and ran.json["terminations"] == {"rules": 2}, ran.err


RETIRING = """import sys
for line in sys.stdin:
    word = line.split()[:1]
    answer = {"list_commands": "name\\nplay\\ngenmove\\nquit", "name": "MODE", "genmove": "resign"}
    print("= " + answer.get(word[0] if word else "", "") + "\\n", flush=True)
    if word == ["quit"]:
        break
"""


@pytest.mark.slow
def test_a_record_does_not_mix_versions_of_a_program(tmp_path: Path) -> None:
    script, record = tmp_path / "bot.py", tmp_path / "games"
    bots = (f"one={PYTHON} {script}", f"two={PYTHON} {script}")
    words = ("match", "go,size=5", *bots, "--time", "10", "--record", str(record))
    script.write_text(RETIRING, encoding="utf-8")
    assert ggp(*words, "--games", "2", "--quiet").status == 0
    before = record.read_bytes()
    (hash,) = {bot.hash for match in records(record) for bot in match.start.bots}
    assert len(hash) == 12
    assert ggp(*words, "--games", "4", "--quiet").status == 0, "the same program goes on"
    script.write_text(RETIRING.replace("MODE", "new"), encoding="utf-8")
    refused = ggp(*words, "--games", "6")
    assert refused.status == 2 and refused.err.count("\n") == 1
    assert "games of another version of" in refused.err and "--record, or use --mix" in refused.err
    assert record.read_bytes().startswith(before) and len(records(record)) == 4, "nothing was played or lost"
    mixed = ggp(*words, "--games", "6", "--mix", "--json")
    assert mixed.json["games"] == 6
    rated = ggp("rate", str(record))
    assert "one is 2 bots, listed apart" in rated.err and rated.out.count(f"version {hash}") >= 2


@pytest.mark.slow
def test_the_live_line_of_a_test_at_80_columns(tmp_path: Path) -> None:
    bots = ("greedy:playouts=200", "other=greedy:playouts=200")
    words = ("match", "yugo,size=5", *bots, "--games", "60", "--sprt", "elo0=-5 elo1=5")
    with Terminal(*words, "--interval", "4", home=tmp_path, columns=80) as terminal:

        def live() -> list[str]:
            return [row for row in terminal.screen.rows if "━" in row or "──" in row]

        terminal.wait_for("after 4 games")
        terminal.wait_for(lambda rows: any("LLR" in row and "/60  " in row and len(row) < 80 for row in rows))
        terminal.resize(44, 40)
        terminal.wait_for(lambda rows: len(rows[-1]) < 44 and "/60" in rows[-1] and len(live()) == 1)
        assert terminal.end() == 0 and live() == []


CHATTY = """
import sys
for line in sys.stdin:
    number, command = line.split()[:2] if line[:1].isdigit() else ("", line.split()[0])
    if command == "genmove":
        print("thinking hard\\n" * 3 + f"={number} resign\\n", flush=True)
    elif command == "list_commands":
        print(f"={number} name\\nlist_commands\\nboardsize\\nplay\\ngenmove\\nggp-new\\nquit\\n", flush=True)
    else:
        print(f"={number} {'2' if command == 'protocol_version' else ''}\\n", flush=True)
"""


def test_lines_that_are_no_answers_are_counted_in_the_report(tmp_path: Path) -> None:
    script, record = tmp_path / "chatty.py", tmp_path / "games"
    script.write_text(CHATTY, encoding="utf-8")
    words = ("match", "yugo,size=5", f"chatty={PYTHON} {script}", "random", "--games", "4", "--record", str(record))
    for _ in range(2):  # as they are played, and from the record
        ran = ggp(*words)
        assert ran.status == 0 and "skipped" not in ran.err
        assert "skipped 12 lines of chatty that are not answers (the first: thinking hard)" in ran.out.splitlines()
    said = [match.end.warnings for match in records(record) if match.end]
    assert {*said} == {
        (f"seat{seat}: skipped 3 lines that are no answers, the first: thinking hard",) for seat in (1, 2)
    }


def test_the_help_fits_on_two_screens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    ran = ggp("match", "--help")
    assert ran.status == 0 and "--games" in ran.out and len(ran.out.splitlines()) <= 48
