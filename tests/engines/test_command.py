"""Engines as processes: the command line, both kinds of connection, faults, and what a start may cost."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.engines.command import USAGE, UsageError, main, parse_arguments
from ggp.engines.game import Game, Options
from ggp.engines.registry import Registry
from ggp.protocol.commands import Who
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.zmq import Dealer
from tests.support.checked_peer import failed_checks
from tests.support.memory_session import MemorySession
from tests.support.raw_peer import RawPeer
from tests.third_party import tictactoe

ENGINE = [sys.executable, "-m", "ggp.engines"]


def run(arguments: list[str], lines: str | bytes = "") -> subprocess.CompletedProcess[bytes]:
    data = lines if isinstance(lines, bytes) else lines.encode()
    return subprocess.run([*ENGINE, *arguments], input=data, capture_output=True, timeout=120)


@pytest.mark.slow
def test_a_session_on_stdin() -> None:
    done = run(["yugo", "size=5"], "1 ggp-status\n\n# nothing\nggp-play b c3\nPLAY\n7 quit\nname\n")
    assert done.stdout == (
        b"=1 phase=play to_play=black seat=1 ply=0\n\n"
        b"= move=C3 phase=play to_play=white seat=2 ply=1\n\n"
        b"? unknown command\n\n=7\n\n"
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
def test_end_of_input_ends_it_silently() -> None:
    done = run([])
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.slow
def test_ggp_engine_is_the_same_program() -> None:
    command = [str(Path(sys.executable).with_name("ggp")), "engine", "go", "size=9"]
    done = subprocess.run(command, input=b"ggp-status\n", capture_output=True, timeout=120)
    assert done.stdout == b"= phase=play to_play=black seat=1 ply=0\n\n" and done.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["chess"], "unknown game: chess; known games: go"),
        (["yugo", "size=1"], "size=1: size must be an integer of 2..25"),
        (["yugo", "9"], "9 is not an option: write name=value"),
        (["--frobnicate"], "unknown argument: --frobnicate; try ggp engine --help"),
        (["--bind"], "--bind needs a URL, such as tcp://127.0.0.1:5555"),
        (["--bind", "http://localhost"], "cannot listen at http://localhost"),
        (["--bind=tcp://0.0.0.0:1"], "cannot listen at tcp://0.0.0.0:1"),
        (["--bind", "tcp://127.0.0.1:port"], "cannot listen at tcp://127.0.0.1:port"),
        (["chess", "--bind", "tcp://127.0.0.1:*"], "unknown game: chess"),
    ],
)
def test_bad_arguments_are_one_clear_line_and_status_2(arguments: list[str], line: str) -> None:
    done = run(arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    error = done.stderr.decode()
    assert error.startswith(f"ggp engine: {line}") and error.count("\n") == 1


def test_arguments_in_any_order(capsys: pytest.CaptureFixture[str]) -> None:
    read = parse_arguments(["--gogui", "yugo", "--bind", "tcp://127.0.0.1:5555", "size=5"])
    assert (read.game, read.bind, read.gogui) == (("yugo", "size=5"), "tcp://127.0.0.1:5555", True)
    assert parse_arguments(["--bind=ipc:///tmp/x"]).bind == "ipc:///tmp/x"
    with pytest.raises(UsageError):
        parse_arguments(["--bind="])
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == USAGE + "\n"


@pytest.mark.slow
def test_gogui_is_reported_to_the_session() -> None:
    assert run(["yugo", "--gogui"], "play b pass\nggp-history\n").stdout == b"=\n\n= 1 black button\n\n"


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "game"), [([], "yugo"), (["--gogui"], "go")])
def test_it_conforms_to_every_numbered_rule(arguments: list[str], game: str) -> None:
    assert failed_checks([*ENGINE, *arguments], Who.ENGINE, game) == []


@pytest.mark.slow
def test_an_interrupt_ends_it() -> None:
    with RawPeer([*ENGINE, "yugo"]) as peer:
        assert peer.ask("ggp-version") == "1"
        peer.process.send_signal(signal.SIGINT)
        assert peer.exit_status() == 130
        assert peer.stderr == b""


@pytest.mark.slow
def test_a_start_imports_nothing_that_a_match_does_not_need() -> None:
    heavy = ["asyncio", "click", "rich", "zmq", "msgspec", "json", "random", "hashlib", "dataclasses", "inspect"]
    heavy += [
        "importlib.metadata",
        "email",
        "pathlib",
        "argparse",
        "subprocess",
        "ggp.engines.games.go",
        "ggp.referee",
        "ggp.bots",
    ]
    program = (
        "import sys, ggp.engines.command\n"
        "ggp.engines.command.main(['yugo'])\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], input=b"ggp-play b E5\n", capture_output=True, timeout=120)
    assert done.stdout.startswith(b"= move=E5") and done.stderr == b"[]\n"


@pytest.mark.slow
def test_lines_beyond_the_bounds_and_bytes_of_every_kind_leave_the_game_alone() -> None:
    every = bytes(byte for byte in range(256) if byte not in b"\n#")
    lines = b"ggp-play b " + b"x" * 100_000 + b"\nggp-play b " + every + b"\n" + every + b"\nggp-status\n"
    answers = run(["yugo", "size=5"], lines).stdout.split(b"\n\n")
    assert answers[0] == b"? line too long"
    assert answers[1].startswith(b"? ") and answers[2] == b"? unknown command"
    assert answers[3] == b"= phase=play to_play=black seat=1 ply=0"


class BrokenState(tictactoe.TicTacToeState):
    """A game with a bug: it changes the board, then stumbles."""

    def make(self, move: str) -> None:
        super().make(move)
        if move == "C3":
            raise RuntimeError("a bug\n\nof the game's")


class BrokenGame(Game):
    name = "broken"
    rules = "none"

    def new(self, options: Options) -> BrokenState:
        return BrokenState(misere=False)


class BrokenRegistry(Registry):
    def load(self, name: str) -> BrokenGame:
        return BrokenGame()


def test_a_bug_in_a_game_is_an_internal_error_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    session = MemorySession("broken", registry=BrokenRegistry())
    session.play("A1")
    for line in ("ggp-play white C3", "play white C3", "gogui-play_sequence w A2 b C3"):
        assert session.fails(line).startswith("internal error: RuntimeError: a bug\n")
    seen = capsys.readouterr()
    assert seen.out == "" and seen.err.count("Traceback") == 3
    assert session.play("A2").startswith("move=A2")


@pytest.fixture
def service() -> Iterator[str]:
    """The address of `ggp engine yugo size=5 --bind` on a free port."""
    with RawPeer([*ENGINE, "yugo", "size=5", "--bind", "tcp://127.0.0.1:*"]) as peer:
        peer.wait_for(lambda: peer.stderr.endswith(b"\n"))
        found = re.fullmatch(r"ggp engine: listening at (tcp://127\.0\.0\.1:\d+)\n", peer.stderr.decode())
        assert found
        yield found[1]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["ipc", "unix"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_service_that_is_ended_removes_its_socket_file(
    tmp_path: Path, scheme: str, number: signal.Signals, status: int
) -> None:
    with RawPeer([*ENGINE, "yugo", "--bind", f"{scheme}://{tmp_path}/engine"]) as peer:
        peer.wait_for(lambda: peer.stderr.endswith(b"\n"))
        assert (tmp_path / "engine").is_socket()
        peer.process.send_signal(number)
        assert peer.process.wait(120) == status
        assert [*tmp_path.iterdir()] == [] and b"Traceback" not in peer.stderr


def exchange(dealer: Dealer, line: str) -> str:
    """One command and its whole answer, each one message."""
    run_blocking(dealer.write(line.encode() + b"\n", dealer.now() + 10))
    return run_blocking(dealer.read(dealer.now() + 10)).decode()


@pytest.mark.slow
def test_every_peer_has_a_session_of_its_own(service: str) -> None:
    first, second = Dealer(service), Dealer(service)
    try:
        assert exchange(first, "1 ggp-play b C3") == "=1 move=C3 phase=play to_play=white seat=2 ply=1\n\n"
        assert exchange(second, "ggp-status") == "= phase=play to_play=black seat=1 ply=0\n\n"
        assert exchange(second, "ggp-new go size=9") == "= phase=play to_play=black seat=1 ply=0\n\n"
        assert exchange(second, "ggp-play b J9") == "= move=J9 phase=play to_play=white seat=2 ply=1\n\n"
        assert exchange(first, "ggp-history") == "= 1 black C3\n\n"
        assert exchange(first, "quit") == "=\n\n"
        assert exchange(first, "ggp-history") == "=\n\n"  # a new session, with the game of the command line
        assert exchange(second, "ggp-history") == "= 1 black J9\n\n"
    finally:
        first.close()
        second.close()
