"""Tunes as ladders: their files, their schedules under disturbances, real bots, kills, a cluster, faults."""

import contextlib
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ggp.referee.ladder.config import read_ladder
from ggp.referee.ladder.store.model import Format, FormatKind, Pair, PairResult, PairScore, PoolEntry
from ggp.referee.ladder.tune import WINDOW, FaultWindow, TuneState, tuned_bot
from ggp.referee.match.bot_spec import version_of
from ggp.referee.ratings.spsa import Parameter, TunedValue, TunePlan, Values
from tests.support.cli import Ggp, Ran, ggp, marked, wait_until
from tests.support.dask_cluster import DaskCluster
from tests.support.ladders import check_whole, games_stored, open_store, results, write, wrong
from tests.support.schedule_runs import Disturbance, ScheduleStore, TrueStrengths, run

PARAM = "[param.x]\nstart = 2\nmin = 0\nmax = 20\nstep = 1\n"
POOL = '[pool.main]\ngame = "yugo,size=3"\ncontrol = "none"\nopenings = 1\n'
BOT = '[bot.mine]\ncommand = "greedy:playouts={x}"\n'
TUNE = '[format]\nkind = "tune"\n'
FILE = TUNE + PARAM + POOL + BOT


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_file(tmp_path: Path) -> None:
    ladder = read_ladder(write(tmp_path, FILE.replace("step = 1", "step = 1\ninteger = true")))
    plan = ladder.format.plan
    assert plan == TunePlan((Parameter("x", 2, 0, 20, 1, whole=True),), 1000, 4, 8, 0.04)
    assert [bot.name for bot in ladder.bots] == ["plus", "minus", "tuned", "start"]
    assert len({bot.version for bot in ladder.bots}) == 4
    assert ladder.format.bots == ("tuned", "start") and ladder.format.check


def test_other_programs_plans_and_seeds_are_other_tunes(tmp_path: Path) -> None:
    def versions(text: str) -> set[str]:
        return {bot.version for bot in read_ladder(write(tmp_path, text)).bots}

    first = versions(FILE)
    assert versions(FILE) == first
    for text in (
        FILE.replace("step = 1", "step = 2"),
        FILE.replace("start = 2", "start = 3"),
        f"seed = 2\n{FILE}",
        FILE.replace(TUNE, f"{TUNE}iterations = 400\n"),
        FILE.replace("greedy:playouts={x}", "greedy:playouts={x},seed=2"),
    ):
        assert not versions(text) & first
    assert versions(FILE.replace(TUNE, f'{TUNE}check = false\npreset = "big"\n')) == first, "the test is not the tune"


def test_parameters_in_options_and_environment(tmp_path: Path) -> None:
    bot = '[bot.mine]\ncommand = "greedy"\noptions = { playouts = "{x}" }\nenvironment = { Y = "a{y}" }\n'
    ladder = read_ladder(write(tmp_path, TUNE + PARAM + PARAM.replace("param.x", "param.y") + POOL + bot))
    assert ladder.template is not None and ladder.format.plan is not None
    made = tuned_bot(ladder.template, ladder.format.plan, "plus", (7.0, 0.5))
    assert made.command == "greedy:playouts=7" and made.argv[-1] == "playouts=7"
    assert made.environment == (("Y", "a0.5"),) and made.name == "plus" and made.version == version_of(made)


def test_a_program_that_changed_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "bot.py"
    script.write_text("1", encoding="utf-8")
    ladder = read_ladder(write(tmp_path, TUNE + PARAM + POOL + '[bot.mine]\ncommand = "python3 bot.py {x}"\n'))
    assert ladder.template is not None and ladder.format.plan is not None
    before = tuned_bot(ladder.template, ladder.format.plan, "plus", (7.0,))
    assert before.version == version_of(before)
    script.write_text("2!", encoding="utf-8")
    after = tuned_bot(ladder.template, ladder.format.plan, "plus", (7.0,))
    assert after.version != version_of(after)


@pytest.mark.parametrize(
    ("text", "key", "problem"),
    [
        (FILE.replace("{x}", "{y}"), "bot.mine.command", "there is no parameter 'y': add [param.y], or remove it"),
        (
            FILE.replace("param.x", "param.playouts").replace("{x}", "{playout}"),
            "bot.mine.command",
            "there is no parameter 'playout': did you mean playouts?",
        ),
        (FILE.replace("{x}", "5"), "param.x", "is not used: write {x} into the command, options or environment"),
        (TUNE + POOL + BOT, "param", "there is none: add a table [param.NAME], and write {NAME} into the command"),
        (FILE.replace("max = 20", "max = -1"), "param.x.max", "is -1, and min is 0: write more than min"),
        (FILE.replace("min = 0", "min = nan"), "param.x.min", "nan is not a number from"),
        (FILE.replace("start = 2", "start = 21"), "param.x.start", "is 21, outside of 0 to 20: write a value between"),
        (FILE.replace("step = 1", "step = 0"), "param.x.step", "is 0: write how far it is moved to both sides"),
        (FILE.replace("step = 1", "step = 21"), "param.x.step", "is 21, more than from min to max: write less"),
        (FILE.replace("step = 1", "step = nan"), "param.x.step", "nan is not a number from"),
        (FILE.replace("step = 1", 'step = "1"'), "param.x.step", "'1' is not a number from"),
        (FILE.replace("step = 1\n", ""), "param.x.step", "is missing: write a number"),
        (FILE.replace("step = 1", "step = 0.4\ninteger = true"), "param.x.step", "is 0.4: an integer needs 0.5"),
        (FILE.replace("min = 0", "min = 0.5\ninteger = true"), "param.x.min", "is 0.5, and integer is true"),
        (FILE.replace("param.x", 'param."a b"'), 'param."a b"', "'a b' is not a name of letters, digits and _"),
        (FILE.replace(TUNE, f"{TUNE}iterations = 1001\n"), "format.iterations", "no multiple of the 4 chains: write"),
        (FILE.replace(TUNE, f"{TUNE}chains = 17\n"), "format.chains", "17 is not a whole number from 1 to 16"),
        (FILE.replace(TUNE, f"{TUNE}rounds = 3\n"), "format.rounds", "is no key of format tune"),
        (FILE + BOT.replace("mine", "other"), "bot", "a tune is of one bot, and there are 2: leave one [bot.NAME]"),
        (FILE + POOL.replace("main", "b").replace("size=3", "size=4"), "pool", "a tune plays in one pool"),
        (FILE.replace(TUNE, ""), "param", 'is of a tune: write kind = "tune" into [format], or remove [param.x]'),
        (FILE.replace("greedy:playouts={x}", "tcp://127.0.0.1:4000"), "bot.mine.command", "a tuned bot is started"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_tune(tmp_path: Path, text: str, key: str, problem: str) -> None:
    error = wrong(tmp_path, text)
    assert error.key == key and problem in str(error)


# -- schedules --------------------------------------------------------------------------------------------------------


SEATS = [PoolEntry(id, name, name, f"v{id}") for id, name in enumerate(("plus", "minus", "tuned", "start"), 1)]


class TunedStrengths(TrueStrengths):
    """Bots whose best value is 6; what a pair plays, the schedule says, and its games follow from its number."""

    def __init__(self, store: "TuneStore", best: float = 6.0, forfeits: float = 0.0) -> None:
        super().__init__(forfeits=forfeits)
        self.store, self.best = store, best
        self.seen: dict[int, tuple[Values, Values]] = {}

    def play(self, pair: Pair) -> PairResult:
        tune = self.store.schedule_now.tune
        assert tune is not None
        if tune.concerns(pair):
            values = tune.values(pair.first, pair.number), tune.values(pair.second, pair.number)
        else:
            values = tune.tuned, tune.plan.start
        assert self.seen.setdefault(pair.number, values) == values, "a pair plays the same values, whatever happened"
        self.elo = {
            id: -4 * (one[0] - self.best) ** 2 for id, one in zip((pair.first, pair.second), values, strict=True)
        }
        return super().play(pair)


class TuneStore(ScheduleStore):
    """Remembers the schedule that was read last."""

    def schedule(self, seed: int = 7):  # type: ignore[no-untyped-def]
        self.schedule_now = super().schedule(seed)
        return self.schedule_now

    def past(self):  # type: ignore[no-untyped-def]
        return replace(super().past(), results=tuple(self.results[n] for n in sorted(self.results)))


def played(disturbance: Disturbance | None = None, **more: object) -> TuneStore:
    plan = TunePlan((Parameter("x", 2, 0, 20, 1),), 50, 4, 8, 0.8)
    form = Format(FormatKind.TUNE, 200, bots=("tuned", "start"), elo1=50, plan=plan)
    store = TuneStore(replace(form, **more), list(SEATS), TrueStrengths())  # type: ignore[arg-type]
    store.bots = TunedStrengths(store)
    run(store, 10_000, disturbance)
    return store


def test_a_tune_comes_near_the_optimum_and_the_test_says_so() -> None:
    store = played()
    schedule = store.schedule()
    assert schedule.tune is not None and schedule.tune.finished
    (found,) = schedule.tune.estimates()
    assert found.half is not None and abs(found.value - 6) < min(2, found.half)
    assert schedule.verdict is not None and schedule.verdict.state == "H1"
    assert schedule.finished.startswith("H1 is accepted after")
    kinds = [(pair.first, pair.second) for pair in store.pairs]
    assert kinds[:200] == [(1, 2)] * 200 and set(kinds[200:]) == {(3, 4)}


@pytest.mark.parametrize("seed", range(5))
def test_kills_and_orders_change_no_pair_and_no_value(seed: int) -> None:
    quiet = played()
    store = played(Disturbance(workers=6, kill=0.02, seed=seed))
    assert store.results.keys() >= {n for n in quiet.results if n < 200}
    assert all(store.results[n].points == quiet.results[n].points for n in range(200))
    assert isinstance(store.bots, TunedStrengths) and isinstance(quiet.bots, TunedStrengths)
    assert all(store.bots.seen[n] == quiet.bots.seen[n] for n in range(200))
    one, other = store.schedule(), quiet.schedule()
    assert one.tune and other.tune and one.tune.history == other.tune.history
    assert one.verdict == other.verdict


def test_without_a_test() -> None:
    store = played(check=False)
    assert len(store.pairs) == 200
    schedule = store.schedule()
    assert schedule.due() is None and schedule.finished == "all 200 iterations are played"
    assert schedule.verdict is None


def test_void_pairs_move_nothing() -> None:
    plan = TunePlan((Parameter("x", 2, 0, 20, 1),), 5, 4, 8, 0.8)
    store = TuneStore(
        Format(FormatKind.TUNE, 9, bots=("tuned", "start"), plan=plan), list(SEATS), TrueStrengths(void=1.0)
    )
    run(store, 1000)
    schedule = store.schedule()
    assert schedule.tune is not None and schedule.tune.silent == 20 and schedule.tune.tuned == (2,)
    assert schedule.due() is None and "the tuned values are those of the start" in schedule.finished


def test_a_forfeit_is_a_loss(tmp_path: Path) -> None:
    plan = TunePlan((Parameter("x", 2, 0, 20, 1),), 5, 4, 8, 0.8)
    store = TuneStore(
        Format(FormatKind.TUNE, 9, bots=("tuned", "start"), check=False, plan=plan), list(SEATS), TrueStrengths()
    )
    schedule = store.schedule()
    batch = schedule.due()
    assert batch is not None
    schedule.add(store.issue(0, batch))
    assert schedule.tune is not None
    lost = PairScore(1, 2, forfeit_losses=1), PairScore(2, 1, forfeit_wins=1)
    schedule.fix(PairResult(0, 0, 1, 2, 0.0, lost))
    assert schedule.tune.known == 1 and schedule.tune.silent == 0
    assert (schedule.tune.estimates()[0].value - 2) * schedule.tune.probe_of(0).signs[0] < 0


# -- faults -----------------------------------------------------------------------------------------------------------


def test_too_many_faults() -> None:
    window = FaultWindow()
    for _ in range(WINDOW // 4):
        assert "does not start, with x=3" in window.add_unplayable("plus does not start", "x=3")
    assert window.add_unplayable("plus does not start", "x=3") == "", "some are told, not all"
    assert window.too_many == (
        "12 of the last 20 games ended by a fault, the last: plus does not start, with x=3: "
        "mend the bot or narrow the bounds of its parameters"
    )


# -- real processes ---------------------------------------------------------------------------------------------------

SIMULATED = '''\
"""A bot whose strength is known: the further x is from 6, the more often it resigns at its first move."""
import random, sys
x, seed, moves = float(sys.argv[1]), 0, 0
if x > {broken}:
    sys.exit("x is too large")
for line in sys.stdin:
    words = line.split()
    number = words.pop(0) if words and words[0].isdigit() else ""
    command = words[0] if words else ""
    if command == "set_random_seed":
        seed = int(words[1])
    answer = {{
        "protocol_version": "2", "name": "simulated", "version": "1",
        "list_commands": "play\\ngenmove\\nggp-new\\nset_random_seed",
    }}.get(command, "")
    if command == "ggp-new":
        moves = 0
    if command == "genmove":
        chance = random.Random(f"{{seed}} {{moves}}")
        moves += 1
        answer = "resign" if moves == 1 and chance.random() < min(0.9, (x - 6) ** 2 / 16) else "pass"
    print(f"={{number}} {{answer}}\\n", flush=True)
    if command == "quit":
        break
'''


def write_tune(folder: Path, iterations: int = 24, broken: float = 1e9, form: str = "") -> Path:
    """A tune of the simulated bot on Go, where both may pass."""
    (folder / "bot.py").write_text(SIMULATED.format(broken=broken), encoding="utf-8")
    file = folder / "tune.toml"
    file.write_text(
        f'{TUNE}iterations = {iterations}\npreset = "big"\npairs = 20\n{form}\n{PARAM}'
        "[budget]\nquit = 0.2\ngrace = 0.2\n"
        '[pool.main]\ngame = "go,size=5"\ncontrol = "none"\n'
        '[bot.mine]\ncommand = "python3 -S bot.py {x}"\n',
        encoding="utf-8",
    )
    return file


def tuned(file: Path, *words: str, seconds: float = 300) -> Ran:
    return ggp("tune", str(file), "--jobs", "2", "--no-pin", "--json", *words, seconds=seconds)


@pytest.mark.slow
def test_a_tune_of_real_bots(tmp_path: Path) -> None:
    file = write_tune(tmp_path, iterations=80)
    ran = tuned(file, "--svg", str(tmp_path / "plot.svg"))
    assert ran.status == 0, ran.err
    (x,) = ran.json["parameters"]
    assert ran.json["played"] == 80 and ran.json["verdict"]["state"] in ("H1", "inconclusive")
    assert 3 < x["tuned"] < 10 and abs(x["tuned"] - 6) <= x["half"]
    assert ran.json["history"][0]["values"] == {"x": 2} and ran.json["history"][-1]["iterations"] == 80
    assert ran.json["command"].startswith("python3 -S bot.py ") and not ran.json["faults"]
    assert "<svg" in (tmp_path / "plot.svg").read_text(encoding="utf-8")
    check_whole(file)
    shown = ggp("tune", str(file), "--show", "--json")
    assert shown.status == 0 and shown.json["parameters"] == ran.json["parameters"]
    text = ggp("tune", str(file), "--show").out
    assert "80 of 80 iterations in 4 chains" in text and "against the start: " in text and "|" in text
    pair = ggp("ladder", "pair", "tuned", "start", str(file))
    assert pair.status == 0 and "LLR" in pair.out
    for key in list(results(file))[:2]:
        with open_store(file) as store:
            assert '"command":"python3 -S bot.py ' in (store.record(key) or b"").decode(), (
                "the values are in the record"
            )


@pytest.mark.slow
def test_killed_and_resumed(tmp_path: Path) -> None:
    """Whole process trees are killed at random instants; games and values are those of a quiet run."""
    chance = random.Random(3)
    for name in ("quiet", "disturbed"):
        (tmp_path / name).mkdir()
    quiet, disturbed = write_tune(tmp_path / "quiet", 40), write_tune(tmp_path / "disturbed", 40)
    for _ in range(5):
        running = Ggp("tune", str(disturbed), "--jobs", "2", "--no-pin", "--quiet")
        before, until = games_stored(disturbed), time.monotonic() + 60
        while games_stored(disturbed) < before + 2 and running.process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(chance.random() * 0.2)
        _kill(running)
    one, other = tuned(quiet), tuned(disturbed)
    assert one.status == other.status == 0, other.err
    for what in ("parameters", "history", "command", "verdict", "played"):
        assert one.json[what] == other.json[what], what
    assert results(quiet) == results(disturbed)
    check_whole(disturbed)


def _kill(running: Ggp) -> None:
    """Every process of it at once, as a power cut would."""
    for pid in marked(running.mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    running.process.communicate(timeout=120)
    wait_until(lambda: not running.running())


@pytest.mark.slow
def test_on_a_cluster(tmp_path: Path) -> None:
    """The same values as on this machine."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    here, there = write_tune(tmp_path / "here"), write_tune(tmp_path / "there")
    with DaskCluster(tmp_path) as dask:
        for _ in range(2):
            dask.add_worker()
        ran = ggp("tune", str(there), "--cluster", dask.url, "--json", seconds=300)
    assert ran.status == 0, ran.err
    assert ran.json["parameters"] == tuned(here).json["parameters"]


@pytest.mark.slow
def test_values_that_break_the_bot(tmp_path: Path) -> None:
    """It says which, goes on while they are few, and ends when they are many; it never takes them for play."""
    few = write_tune(tmp_path, iterations=24, broken=5, form="check = false")
    ran = tuned(few)
    assert ran.status == 0 and 0 < ran.json["without_result"] < 24, ran.err
    told = [text for text in ran.json["messages"] if "x is too large" in text]
    assert told and all("fault: does not start: " in text and ", with x=" in text for text in told)
    with open_store(few) as store:
        assert not any(seat.suspended for pool in store.pools() for seat in store.seats(pool.id))
    (tmp_path / "all").mkdir()
    ran = tuned(write_tune(tmp_path / "all", broken=0.5))
    assert ran.status == 1 and "of the last 20 games ended by a fault" in ran.json["failed"]
    assert "mend the bot or narrow the bounds" in ran.err
    assert ran.json["parameters"][0]["tuned"] == 2, "nothing was learnt"


@pytest.mark.slow
def test_a_constant_of_mcts(tmp_path: Path) -> None:
    """More playouts are better: a tune of them goes up."""
    file = tmp_path / "tune.toml"
    file.write_text(
        f'{TUNE}iterations = 40\nrate = 1.0\npreset = "big"\npairs = 20\n'
        "[param.playouts]\nstart = 20\nmin = 2\nmax = 200\nstep = 15\ninteger = true\n"
        '[pool.main]\ngame = "yugo,size=4"\ncontrol = "none"\nopenings = 1\n'
        '[bot.mcts]\ncommand = "mcts:playouts={playouts}"\n',
        encoding="utf-8",
    )
    ran = tuned(file)
    assert ran.status == 0, ran.err
    (playouts,) = ran.json["parameters"]
    assert playouts["tuned"] > 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (FILE, "bot.mine.options: playouts=0: playouts must be an integer of 1"),
        (FILE.replace("step = 1", "step = -1"), "param.x.step: is -1: write how far it is moved"),
        (POOL + '[bot.a]\ncommand = "random"\n[bot.b]\ncommand = "greedy"\n', "format.kind: is not tune"),
        (FILE.replace("yugo", "yugoo"), "the engine does not know the game 'yugoo'"),
    ],
)
def test_what_is_refused_before_a_game(tmp_path: Path, text: str, problem: str) -> None:
    ran = ggp("tune", str(write(tmp_path, text)))
    assert ran.status == 2 and len(ran.err.splitlines()) == 1 and problem in ran.err
    assert not list(tmp_path.glob("*.db"))


@pytest.mark.slow
def test_nothing_to_show_yet(tmp_path: Path) -> None:
    ran = ggp("tune", str(write_tune(tmp_path)), "--show")
    assert ran.status == 1 and len(ran.err.splitlines()) == 1


def test_values_that_still_move_have_no_error_and_no_command() -> None:
    plan = TunePlan((Parameter("x", 2, 0, 20, 1),), 50, 4, 8, 0.4)
    early = TuneState(plan, 17, 0, (TunedValue(5.96, 0.88),), ((0, (2.0,)), (17, (5.96,))))
    assert early.moving and early.rows[0][2:4] == ("5.96", "") and "still moving" in early.summary
    assert "±" not in early.summary.replace("no ± yet", "")
    for late in (replace(early, settled=True), replace(early, known=200)):
        assert not late.moving and late.rows[0][3] == "0.88" and "± is 95 %" in late.summary
