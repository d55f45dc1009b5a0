"""`ggp verify` and `ggp export`: replay, comparison, other forms, broken records."""

from pathlib import Path

import pytest

from ggp.engines.registry import Registry
from ggp.engines.service import make_responder
from ggp.engines.session import Session
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import CommandFailed
from ggp.protocol.messages import Reply
from ggp.protocol.records import Record, gtp_script, read_records
from ggp.protocol.regression import RegressionVerdict, judge, parse
from ggp.protocol.responder import Responder
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.cli.export import main as main_export
from ggp.referee.cli.verify import main as main_verify
from ggp.referee.match.engine import Engine
from ggp.referee.match.player import fixed_handicap
from ggp.referee.match.record_forms import sgf
from ggp.referee.match.replay import verify
from tests.support.chaos import chaos
from tests.support.memory_match import BUDGETS, MemoryMatch, MemoryPeer, bot
from tests.support.memory_session import MemorySession
from tests.support.series import make_setup, play


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four matches: two of yugo, one of go, one that was forfeited."""
    path = tmp_path_factory.mktemp("records") / "games"
    lines = []
    for setup, numbers in (
        (make_setup("yugo,size=4", "random:seed=1", "random:seed=2"), (0, 1)),
        (make_setup("go,size=4", "random:seed=1", "random:seed=2"), (0,)),
        (make_setup("yugo,size=4", chaos("fault=illegal,move=2"), "random"), (0,)),
    ):
        lines += play(setup, numbers).kept
    path.write_bytes(b"".join(lines))
    return path


@pytest.mark.slow
def test_unreadable_files_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text").write_text("hello\n", encoding="utf-8")
    with (tmp_path / "long").open("wb") as long:
        long.truncate(100_000_000)
    for name, reason in (
        ("none", "No such file"),
        ("", "Is a directory"),
        ("text", "line 1"),
        ("long", "line 1: longer"),
    ):
        for command in (main_verify, main_export):
            assert command([str(tmp_path / name)]) == 2
            assert reason in capsys.readouterr().err
    assert main_verify([str(tmp_path / "text"), "--engine", "./nothing"]) == 2


def test_json_lines_are_the_record_itself(file: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main_export([str(file)]) == 0
    assert capfdbinary.readouterr().out == file.read_bytes()


def test_a_script_brings_any_engine_to_the_result(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for record in read_records(file.read_bytes().splitlines(keepends=True)):
        assert main_export([f"{file}#{record.start.match}", "--format", "gtp"]) == 0
        session = MemorySession(record.start.game)
        *_, last = [session(line) for line in capsys.readouterr().out.splitlines()]
        assert record.end is not None
        if record.end.termination == "rules":
            assert record.end.result in last
    assert main_export([f"{file}#nobody-1"]) == 2


@pytest.mark.slow
def test_go_is_exported_as_every_viewer_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "go"
    setup = make_setup("go,size=9,handicap=3,komi=0.5", "black=random:seed=1", "white=random:seed=2")
    path.write_bytes(b"".join(play(setup, (0,)).kept))
    assert main_export([str(path), "--format", "sgf"]) == 0
    tree = capsys.readouterr().out
    for text in ("(;FF[4]CA[UTF-8]", "PB[black]PW[white]", "GM[1]SZ[9]KM[0.5]", "HA[3]AB[cg][gc][cc]PL[W];W["):
        assert text in tree
    (tmp_path / "go.sgf").write_text(tree, encoding="utf-8")
    (record,) = read_records(path.read_bytes().splitlines(keepends=True))
    read, replayed = MemorySession("go"), MemorySession("go")
    read(f"loadsgf {tmp_path / 'go.sgf'}")
    for line in gtp_script(record).splitlines()[:-1]:
        replayed(line)
    assert read("showboard") == replayed("showboard")


@pytest.mark.parametrize(
    ("changes", "forms"),
    [
        ({"start_options": {"size": "x"}}, ["sgf"]),
        ({"start_options": {"size": "2\nquit"}}, ["sgf", "gtp"]),
        ({"ply1_move": "A1\nquit"}, ["sgf", "gtp"]),
        ({"ply1_move": "nowhere"}, ["sgf"]),
    ],
)
def test_a_record_that_is_no_game_is_not_exported(
    changes: dict[str, object], forms: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd").write_bytes(_wrong(_record(), **changes).lines())
    for form in forms:
        assert main_export([str(tmp_path / "odd"), "--format", form]) == 2
        assert f"cannot be written as {form}" in capsys.readouterr().err


def test_a_control_that_is_unknown_does_not_matter_to_a_replay() -> None:
    assert run_blocking(verify(_wrong(_record(), start_control="blitz"), _engine())) is None


def test_sgf_of_other_games_is_private_and_escaped() -> None:
    record = _wrong(_record(), start_game="taigo", ply1_move="0,-1/1,-1", end_result="", start_match="a]b\\")
    tree = sgf(record)
    for text in ("GN[a\\]b\\\\]", "RE[Void]", "GM[100]XG[taigo]XO[komi=0.5 size=2];XB[0,-1/1,-1]BL[10];XW[B2]WL[10]"):
        assert text in tree
    lists = _wrong(_record(), ply3_move="dead:", ply4_move="dead:")
    assert ";XB[dead:]BL[10]C[black says dead:];XW[dead:]WL[10]C[white says dead:]" in sgf(lists)
    assert ";B[ab]BL[10];W[ba]WL[10]" in sgf(lists)


def test_places_and_an_output_file(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, *_ = read_records(file.read_bytes().splitlines(keepends=True))
    out = tmp_path / "out"
    assert main_export([f"{file}#{two.start.match}"] * 2 + ["-o", str(out)]) == 0
    assert out.read_bytes() == two.lines() * 2 and list(tmp_path.iterdir()) == [out]
    assert main_export([f"{file}@3", "--format", "gtp", "-o", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:-1] == [f"ggp-play {ply.colour} {ply.move}" for ply in one.plies[:3]]
    for words, reason in (
        ([f"{file}#none"], "has no match none"),
        ([f"{file}@999"], "has plies 0 to"),
        ([str(file), "-o", "/nowhere/x"], "cannot write /nowhere/x"),
        ([str(tmp_path / "none"), "-o", str(out)], "No such file"),
    ):
        assert main_export(words) == 2
        assert reason in capsys.readouterr().err
    assert out.read_bytes() == two.lines() * 2


def test_a_regression_test_passes_on_the_engine_and_fails_on_another(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the project's own reader of such tests: every ply is one, and the result."""
    for record in read_records(file.read_bytes().splitlines(keepends=True)):
        assert main_export([f"{file}#{record.start.match}", "--format", "tst"]) == 0
        steps = parse(capsys.readouterr().out).steps
        session = MemorySession("go")
        verdicts = []
        for step in steps:
            answer = session.answer(step.command)
            verdicts.append(judge(step, Reply(answer[0] == "=", answer[1:].lstrip("0123456789").strip())))
        by_rules = record.end is not None and record.end.termination == "rules"
        assert verdicts == [RegressionVerdict.NONE, *[RegressionVerdict.PASS] * (len(record.plies) + by_rules)]
        assert judge(steps[1], Reply(True, "move=Z1 phase=play to_play=white seat=2 ply=1")) is RegressionVerdict.FAIL


@pytest.mark.parametrize("size", range(7, 26))
def test_handicap_points_are_the_engines(size: int) -> None:
    for stones in range(2, 10 if size % 2 and size > 7 else 5):
        placed = MemorySession(f"go size={size}")(f"fixed_handicap {stones}")
        assert sorted(fixed_handicap(size, stones)) == sorted(placed.split())


def _record() -> Record:
    lines = MemoryMatch("go size=2 komi=0.5", bot(["A1", "pass"]), bot(["B2", "pass"])).run().record.lines()
    return next(read_records(lines.splitlines(keepends=True)))


def _wrong(record: Record, **changes: object) -> Record:
    """The record with changed fields, in JSON words: `ply2_move`, `end_hash`."""
    import msgspec

    whole = msgspec.to_builtins(record)
    for name, value in changes.items():
        where, _, key = name.partition("_")
        if not key:
            whole[where] = value
            continue
        (whole["plies"][int(where[3:]) - 1] if where.startswith("ply") else whole[where])[key] = value
    return msgspec.convert(whole, Record)


def _engine(**handlers: object) -> Engine:
    responder = make_responder(Session(Registry()))
    table = {**responder._handlers, **{name.replace("ggp_", "ggp-"): handler for name, handler in handlers.items()}}
    engine = Engine(MemoryPeer(Responder("ggp-engine", "0", table), PeerRole.ENGINE), "memory", BUDGETS)  # type: ignore[arg-type]
    run_blocking(engine.start())
    return engine


@pytest.mark.parametrize(
    ("changes", "ply", "problem"),
    [
        ({"ply2_move": "A1"}, 2, "the record says A1, the engine: illegal move"),
        ({"ply2_move": "b2"}, 2, "the record says b2, the engine calls it B2"),
        ({"ply2_seat": 1}, 2, "the record says seat 1 (white), the engine seat 2 (white), play"),
        ({"end_result": "B+9"}, None, "the record says B+9, the engine says W+0.5"),
        ({"end_hash": "0" * 16}, None, "the record ends at hash 0000000000000000, the engine at"),
        ({"end_plies": 3}, None, "the record claims 3 plies, but holds 4"),
        ({"start_options": {"size": "99"}}, 0, "the engine refuses the game"),
    ],
)
def test_deviations_are_named(changes: dict[str, object], ply: int | None, problem: str) -> None:
    assert run_blocking(verify(_record(), _engine(), deep=True)) is None
    assert run_blocking(verify(_wrong(_record(), end=None), _engine())) is None  # it was cut off
    found = run_blocking(verify(_wrong(_record(), **changes), _engine()))
    assert found is not None and problem in found.what and found.ply == ply and not found.failed
    assert found.who == ("engine" if ply == 0 else "record")
    board = {0: "", 2: "  A B\n2 . . 2\n1(X). 1\n  A B", None: "  A B\n2 . O 2\n1 X . 1\n  A B"}[ply]
    assert found.board == board


def _fail(arguments: list[str]) -> str:
    raise CommandFailed("illegal move: not here")


SAME = "phase=play to_play=black seat=1 ply=0"


@pytest.mark.parametrize(
    ("handlers", "ply", "problem"),
    [
        ({}, None, ""),
        (
            {"ggp_legal_moves": lambda arguments: "A1 C9 pass"},
            0,
            "legal for the engine only: A2 B1 B2; legal for the other",
        ),
        ({"ggp_history": lambda arguments: "1 black A1"}, None, "the engines return different histories"),
        ({"ggp_play": _fail}, 1, "A1: the other engine says illegal move: not here"),
        (
            {"ggp_play": lambda arguments: "nonsense"},
            1,
            "the other engine answers `ggp-play black A1` with `= nonsense`",
        ),
        ({"ggp_play": lambda arguments: "move=a1 " + SAME}, 1, "the other engine calls A1 a1"),
        (
            {"ggp_play": lambda arguments: "move=A1 " + SAME},
            1,
            "the engine says seat 2 (white), play, the other engine seat 1",
        ),
        (
            {"ggp_new": lambda arguments: "phase=play to_play=white seat=1 ply=0"},
            0,
            "the engine says seat 1 (black), play, the other engine seat 1 (white), play",
        ),
        (
            {"ggp_score": lambda arguments: '{"black": {"total": 9}, "white": {"total": 1}}'},
            None,
            "the other engine 9 to 1",
        ),
        ({"ggp_score": lambda arguments: "[" * 5000}, None, "the other engine's ggp-score has a different form"),
        ({"ggp_hash": lambda arguments: "0" * 16}, 0, "the other engine's 0000000000000000"),
        ({"ggp_undo": lambda arguments: SAME}, 4, "after undo the other engine is at seat 1 (black), play, hash"),
        ({"ggp_undo": _fail}, 4, "the other engine answers `ggp-undo` with `? illegal move: not here`"),
    ],
)
def test_another_engine_is_compared_ply_by_ply(handlers: dict[str, object], ply: int | None, problem: str) -> None:
    found = run_blocking(verify(_record(), _engine(), _engine(**handlers), deep=True))
    assert found is None if not problem else found is not None and problem in found.what
    assert found is None or (found.who, found.ply) == ("other", ply)
