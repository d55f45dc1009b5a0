"""`ggp ladder run` with real processes: it plays, stops, goes on, and takes changes of its file while it runs."""

import json
import sqlite3
import sys
import time
from pathlib import Path

import pytest

from ggp.referee.ladder.store.model import PoolEntry, StoreError
from tests.support.chaos import chaos_command
from tests.support.cli import PYTHON, Ggp, free_port, ggp, wait_until
from tests.support.ladders import (
    BOTS,
    HEAD,
    check_whole,
    elos,
    first_line,
    games_stored,
    open_store,
    results,
    running_ladder,
    write_ladder,
)
from tests.support.terminal import shown_on_terminal

pytestmark = pytest.mark.slow


def run(file: Path, *words: str) -> dict[str, object]:
    ran = ggp("ladder", "run", str(file), "--json", *words)
    assert ran.status == 0, ran.err
    answer: dict[str, object] = ran.json
    return answer


def versions(file: Path, name: str) -> list[PoolEntry]:
    """The versions of a bot in the only pool, oldest first."""
    with open_store(file) as store:
        seats = store.seats(store.pools()[0].id)
        return sorted((seat for seat in seats if seat.name == name), key=lambda seat: seat.id)


def games_of(file: Path, name: str) -> int:
    """Games of the bot's present version; 0 while there is no store or no such bot."""
    try:
        with open_store(file) as store:
            bots = [seat.id for seat in store.seats(store.pools()[0].id) if seat.label == name]
            return sum(1 for _ in store.games(bot=bots[0], limit=500)) if bots else 0
    except (StoreError, IndexError):
        return 0


def test_it_plays_so_many_games_and_no_more(tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    first = run(file, "--games", "40")
    assert (first["stored"], first["games"]) == (40, 40)
    lines = first["pools"]["main"]  # type: ignore[index]
    assert {line["name"] for line in lines} == {"a", "b", "c"} and sum(line["games"] for line in lines) == 80
    again = run(file, "--games", "40")
    assert (again["stored"], again["games"]) == (40, 0) and "40 games were to be played" in str(again["finished"])
    more = run(file, "--games", "60")
    assert (more["stored"], more["games"]) == (60, 20)
    check_whole(file)


def test_the_same_file_and_seed_play_the_same_games(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = write_ladder(tmp_path / "one"), write_ladder(tmp_path / "two")
    run(one, "--games", "60", "--jobs", "1")
    run(two, "--games", "30", "--jobs", "3")
    run(two, "--games", "60", "--jobs", "2", "--keep", "2")
    assert results(one) == results(two) and elos(one) == pytest.approx(elos(two), abs=1e-6)
    other = write_ladder(tmp_path, head=HEAD.replace("seed = 7", "seed = 8"))
    run(other, "--games", "60")
    assert results(other) != results(one)


def test_it_stops_at_a_signal_and_resumes_and_only_one_process_runs_it(tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    with running_ladder(file) as running:
        wait_until(lambda: games_stored(file) > 20)
        second = ggp("ladder", "run", str(file), "--quiet")
        assert second.status == 1 and str(running.process.pid) in second.err and second.err.count("\n") == 1
    before = games_stored(file)
    assert run(file, "--games", str(2 * before))["stored"] == 2 * before
    running = Ggp("ladder", "run", str(file), "--quiet", "--jobs", "1")
    wait_until(lambda: games_stored(file) > 2 * before)
    running.process.terminate()
    assert running.wait().status == 143


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_games_that_suspended_bots_could_not_play_do_not_count(tmp_path: Path, jobs: str) -> None:
    """Five of seven do not start; so many games as were asked for are played by the others, also in two runs."""
    file = write_ladder(tmp_path, "random", "greedy:playouts=2", *["false"] * 5)
    first = run(file, "--games", "10", "--jobs", jobs)
    assert first["stored"] == 10 and "10 games were to be played, and are" in str(first["finished"])
    assert run(file, "--games", "10", "--jobs", jobs)["games"] == 0
    more = run(file, "--games", "16", "--jobs", jobs)
    assert (more["stored"], more["games"]) == (16, 6)
    check_whole(file)


def test_pairs_that_were_withdrawn_are_no_games(tmp_path: Path) -> None:
    """The daily loop of an author: play, edit the bot, play on. The second version gets its games at once."""
    file = write_ladder(tmp_path, "random", "greedy:playouts=1")
    assert run(file, "--games", "4")["stored"] == 4
    write_ladder(tmp_path, "random", "greedy:playouts=2")
    more = run(file, "--games", "8")
    assert (more["stored"], more["games"], more["finished"]) == (8, 4, "8 games were to be played, and are")
    write_ladder(tmp_path, "random", "greedy:playouts=1")  # the old version comes back
    again = run(file, "--games", "12")
    assert (again["stored"], again["games"]) == (12, 4)
    nothing = run(file, "--games", "12")
    assert nothing["games"] == 0 and "--games 24 plays 12 more" in str(nothing["finished"])
    check_whole(file)


def test_games_are_those_of_the_pools_in_the_file(tmp_path: Path) -> None:
    """Another time control is another pool: the games of the old one are kept, and do not count for --games."""
    file = write_ladder(tmp_path, "random", "greedy:playouts=1")
    run(file, "--games", "6")
    write_ladder(tmp_path, "random", "greedy:playouts=1", head=HEAD.replace('"none"', '"60"'))
    answer = run(file, "--games", "6")
    assert (answer["stored"], answer["games"]) == (6, 6)
    with open_store(file) as store:
        assert store.totals().games == 12


def test_a_pool_that_has_ended_leaves_its_games_to_the_others(tmp_path: Path) -> None:
    """One of the two bots of the second pool does not start, so the first pool plays all."""
    other = HEAD.replace("seed = 7\n", "").replace("main", "lonely").replace("size=3", "size=5")
    bots = ("random", 'command = "greedy"\npools = ["main"]', 'command = "false"\npools = ["lonely"]')
    file = write_ladder(tmp_path, *bots, head=f"{HEAD}{other}")
    answer = run(file, "--games", "10")
    assert answer["stored"] == 10 and answer["finished"] == "10 games were to be played, and are"


def test_pools_share_the_games_by_their_weights(tmp_path: Path) -> None:
    """Stopped and resumed, too: what counts is what the store holds."""
    pools = "".join(f'[pool.p{size}]\ngame = "yugo,size={size}"\ncontrol = "none"\n' for size in (3, 4, 5))
    file = write_ladder(tmp_path, "random", "random:seed=3", head=f"seed = 7\n{pools}weight = 2\n")
    for games in (10, 44, 80):
        run(file, "--games", str(games))
    with open_store(file) as store:
        assert {pool.name: store.counted(pool.id) for pool in store.pools()} == {"p3": 20, "p4": 20, "p5": 40}
    check_whole(file)


def test_a_bot_that_does_not_start_is_suspended_and_the_others_play_on(tmp_path: Path) -> None:
    file = write_ladder(tmp_path, *BOTS, chaos_command("fault=crash,when=start"))
    answer = run(file, "--games", "200")
    assert "d is suspended: does not start" in "\n".join(answer["messages"])  # type: ignore[arg-type]
    lines = {line["name"]: line for line in answer["pools"]["main"]}  # type: ignore[index]
    assert answer["stored"] == 200 and "200 games were to be played, and are" in str(answer["finished"])
    assert "d" not in lines and min(line["games"] for line in lines.values()) > 20
    with open_store(file) as store:
        seat = next(seat for seat in store.seats(store.pools()[0].id) if seat.name == "d")
        assert seat.suspended.startswith("does not start") and not seat.active and seat.entered
    assert ggp("ladder", "readmit", str(file), "d").status == 0
    write_ladder(tmp_path, *BOTS, "random:seed=9")
    answer = run(file, "--games", "400")
    lines = {line["name"]: line for line in answer["pools"]["main"]}  # type: ignore[index]
    assert lines["d"]["games"] > 20
    check_whole(file)


def test_a_bot_without_its_program_is_suspended_and_plays_once_it_is_there(tmp_path: Path) -> None:
    script = tmp_path / "mine"
    file = write_ladder(tmp_path, *BOTS, str(script))
    with running_ladder(file) as running:
        assert f"d is suspended: {script} does not exist" in first_line(running, "is suspended")
        wait_until(lambda: games_stored(file) > 8)
        assert games_of(file, "d") == 0
        script.write_text(f"#!{sys.executable}\nfrom ggp.bots.random import main\nmain(['seed=5'])\n", encoding="utf-8")
        script.chmod(0o755)
        wait_until(lambda: games_of(file, "d") > 0)
    assert [(bool(seat.suspended), seat.active) for seat in versions(file, "d")] == [(True, False), (False, True)]


def test_a_ladder_that_needs_the_missing_program_does_not_begin(tmp_path: Path) -> None:
    file = write_ladder(tmp_path, BOTS[0], str(tmp_path / "mine"))
    ran = ggp("ladder", "run", str(file), "--games", "2")
    assert ran.status == 2 and f"bot.b.command: {tmp_path / 'mine'} does not exist" in ran.err


def test_a_bot_joins_while_it_runs_and_a_broken_file_changes_nothing(tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    with running_ladder(file) as running:
        wait_until(lambda: games_stored(file) > 20)
        file.write_text(file.read_text(encoding="utf-8") + "\n[bot.d]\ncomand = 'random'\n", encoding="utf-8")
        line = first_line(running, "going on as before")
        assert "bot.d.comand" in line and "did you mean command?" in line
        seen = games_stored(file)
        wait_until(lambda: games_stored(file) > seen + 100)
        write_ladder(tmp_path, *BOTS, "random:seed=4")
        wait_until(lambda: games_of(file, "d") > 10)
        write_ladder(tmp_path, BOTS[0], BOTS[1], "random:seed=77", "random:seed=4")  # another version of c
        wait_until(lambda: len(versions(file, "c")) == 2 and games_of(file, "c") > 10)
    with open_store(file) as store:
        kinds = [event.kind for event in store.events()]
        assert kinds.count("joined") == 4 and "replaced" in kinds


def test_a_program_that_changes_is_another_version(tmp_path: Path) -> None:
    script = tmp_path / "bot.py"
    script.write_text("from ggp.bots.random import main\nmain(['seed=5'])\n", encoding="utf-8")
    file = write_ladder(tmp_path, *BOTS, f"python3 {script}")

    file.write_text(
        file.read_text(encoding="utf-8").replace('"python3 ', json.dumps(f"{PYTHON} ")[:-1]), encoding="utf-8"
    )
    with running_ladder(file):
        wait_until(lambda: games_of(file, "d") > 4)
        script.write_text("from ggp.bots.random import main\nmain(['seed=6'])\n", encoding="utf-8")
        wait_until(lambda: len(versions(file, "d")) == 2 and games_of(file, "d") > 4)
    old, new = versions(file, "d")
    assert (new.label, old.label, new.parent) == ("d", f"d@{old.version}", old.id) and not new.suspended


@pytest.mark.long
def test_a_change_of_the_file_waits_for_a_locked_store(tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    with running_ladder(file) as running:
        wait_until(lambda: games_stored(file) > 20)
        connection = sqlite3.connect(file.with_suffix(".db"), isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        write_ladder(tmp_path, *BOTS, "random:seed=4")
        first_line(running, "is locked by another process")
        time.sleep(8)  # until the run has looked at the file: it waits up to 5 s for the store, and looks then
        connection.execute("ROLLBACK")
        connection.close()
        wait_until(lambda: games_of(file, "d") > 10)


@pytest.mark.long  # it waits for a heartbeat; what the store says then, is in test_store_lock
def test_it_ends_when_another_process_has_taken_it_for_dead(tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    running = Ggp("ladder", "run", str(file), "--quiet", "--jobs", "1")
    wait_until(lambda: games_stored(file) > 0)
    connection = sqlite3.connect(file.with_suffix(".db"), isolation_level=None, timeout=60)
    connection.execute("UPDATE run_lock SET host = 'elsewhere', pid = 4711")
    connection.close()
    ran = running.wait()
    assert ran.status == 1 and "lost its lock" in ran.err and "4711 on elsewhere" in ran.err


@pytest.mark.parametrize(
    ("said", "third", "status", "stored", "finished"),
    [
        ('kind = "round-robin"\npairs = 4', BOTS[2], 0, 3 * 4 * 2, "all have met in 4 pairs"),
        ('kind = "gauntlet"\nbots = ["c"]\npairs = 2', "false", 1, 0, "c is not there"),  # nobody is left to play
    ],
)
def test_formats_that_end(tmp_path: Path, said: str, third: str, status: int, stored: int, finished: str) -> None:
    file = write_ladder(tmp_path, *BOTS[:2], third, more=f"[format]\n{said}\n")
    ran = ggp("ladder", "run", str(file), "--json")
    assert (ran.status, ran.json["stored"], ran.json["finished"]) == (status, stored, finished)
    for words in (["--quiet"], []):
        ran = ggp("ladder", "run", str(file), *words)
        assert ran.err.splitlines()[-1] == f"ggp ladder run: over: {finished}"
    assert games_stored(file) == stored
    check_whole(file)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.toml"], "nowhere.toml"),
        (["--until", "soon"], "--until soon: write a time"),
        (["--cluster", "dask://localhost:1", "--jobs", "2"], "do not go with --cluster"),
        (["--games", "0"], "--games"),
        (["--log-stderr", "/dev/null/logs"], "name a folder that can be created"),
        (["--cluster", "dask://localhost:1", "--log-stderr", "logs"], "does not go with --cluster"),
        (["--cluster", "ftp://localhost:1"], "write a cluster as dask://HOST:PORT"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    file = write_ladder(tmp_path)
    given = words if words[0].endswith(".toml") else [str(file), *words]
    ran = ggp("ladder", "run", *given)
    assert ran.status == 2 and said in ran.err and ran.err.count("\n") == 1 and not file.with_suffix(".db").exists()


def test_what_bots_write_to_stderr_is_kept_where_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "club.toml"
    file.write_text(
        '[pool.small]\ngame = "yugo,size=3"\ncontrol = "60"\n'
        f'[bot.crash]\ncommand = "{chaos_command("fault=complain,move=1")}"\n[bot.honest]\ncommand = "random"\n',
        encoding="utf-8",
    )
    run(file, "--games", "4", "--log-stderr", str(tmp_path / "logs"))
    kept = (tmp_path / "logs" / "crash.log").read_text(encoding="utf-8")
    with open_store(file) as store:
        assert all(f"-- match {row.key}" in kept for row in store.games())


def test_what_makes_it_another_ladder_waits_for_another_run(tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    with running_ladder(file) as running:
        wait_until(lambda: games_stored(file) > 10)
        for key, line in (
            ("name", 'name = "another"\nseed = 7'),
            ("seed", "seed = 8"),
            ("store", 'store = "b.db"\nseed = 7'),
        ):
            write_ladder(tmp_path, head=HEAD.replace("seed = 7", line))
            assert f": {key}: cannot change while the ladder runs" in first_line(running, "going on as before")
    assert len({key.partition("-")[0] for key in results(file)}) == 1
    write_ladder(tmp_path)
    assert ggp("ladder", "check", str(file)).status == 0


def test_errors_of_ratings_are_of_all_who_may_play_and_of_no_other(tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    run(file, "--games", "30")
    with open_store(file) as store:
        seats = store.seats(store.pools()[0].id)
        store.suspend(seats[2].id, "it was to be so")  # no run waits for it
    write_ladder(tmp_path, *BOTS, "random:seed=9")  # it has no games yet
    answer = run(file, "--until", "se=45")
    lines = {line["name"]: line for line in answer["pools"]["main"]}  # type: ignore[index]
    assert lines["c"]["se"] > 45 and max(lines[name]["se"] for name in "abd") <= 45
    assert answer["finished"] == "no standard error is above 45 Elo"


def test_sub_commands_are_listed_and_near_misses_named() -> None:
    assert "standings" in ggp("ladder", "--help").out
    assert ggp("ladder").status == 2
    ran = ggp("ladder", "standing")
    assert ran.status == 2 and "did you mean standings?" in ran.err


def test_the_live_table_is_drawn_on_a_terminal(tmp_path: Path) -> None:
    text = "\n".join(shown_on_terminal("ladder", "run", str(write_ladder(tmp_path)), "--games", "100", home=tmp_path))
    assert "100 of 100 games" in text and "games/s" in text and "Next: ggp ladder standings" in text
    assert text.count("\x1b[?25h") >= 1, "the cursor is back"


def test_a_pool_whose_engine_a_sandbox_forbids_costs_a_bot_that_pool_alone(tmp_path: Path) -> None:
    port = free_port()
    url = f"tcp://127.0.0.1:{port}"
    service = Ggp("engine", "yugo", "--bind", url)
    first_line(service, "listening")
    head = HEAD + f'[pool.far]\ngame = "yugo,size=4"\nengine = "{url}"\n[sandbox]\nlevel = "default"\n'
    file = write_ladder(tmp_path, *BOTS[:2], head=head + '[format]\nkind = "round-robin"\npairs = 4\n')
    ran = ggp("ladder", "run", str(file), "--json")
    service.process.terminate()
    assert ran.json["stored"] == 4 * 2
    assert ran.json["finished"] == ("main: all have met in 4 pairs; far: fewer than two different bots are entered"), (
        ran.err
    )
    lines = [line for line in ran.err.splitlines() if "pool far" in line]
    assert [line.split(": ")[1] for line in lines] == ["bot.a", "bot.b"] and all(url in line for line in lines)
    assert "suspended" not in ran.err
    with open_store(file) as store:
        kinds = {event.kind for event in store.events()}
        far = next(row.id for row in store.pools() if row.name == "far")
        assert "suspended" not in kinds and not store.seats(far) and not store.open_pairs(far)


def test_a_swiss_round_is_completed_after_an_edit(tmp_path: Path) -> None:
    head = HEAD + '[format]\nkind = "swiss"\nrounds = 3\n'
    file = write_ladder(tmp_path, "random", "random:seed=1", "random:seed=2", "random:seed=3", head=head)
    run(file, "--games", "2")
    with open_store(file) as store:
        (row,) = store.pools()
        (waits,) = [pair for pair in store.open_pairs(row.id) if pair.batch == 0]
        edited = next(seat.name for seat in store.seats(row.id) if seat.id == waits.first)
    command = f'[bot.{edited}]\ncommand = "random:seed=9"\n'
    text = file.read_text(encoding="utf-8")
    before = text[text.index(f"[bot.{edited}]") :].partition("\n\n")[0]
    file.write_text(text.replace(before, command), encoding="utf-8")
    run(file, "--games", "6")
    more = run(file)
    assert (more["stored"], more["finished"]) == (12, "all 3 rounds are played")
    lines = more["pools"]["main"]  # type: ignore[index]
    assert {line["name"]: line["games"] for line in lines} == dict.fromkeys("abcd", 6)
    check_whole(file)
