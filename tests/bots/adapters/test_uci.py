"""`ggp bot uci`: engines of chess as bots, what UCI says put into the game's words, and engines that go wrong."""

import json
import os
import random
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ggp.bots.adapters.uci import UciBot, _start, read_command
from ggp.bots.adapters.uci_dialogue import EngineGone, UciEngine, UciOption, read_info, read_option
from ggp.bots.command import complete, find_problem
from ggp.bots.sdk import Bot
from ggp.engines.game import OptionError
from ggp.protocol.records import read_records
from ggp.protocol.responder import Responder
from tests.support import ROOT
from tests.support.cli import ggp, ggp_in_process

SMALL = [sys.executable, str(ROOT / "tests" / "support" / "uci_engine.py")]
ENGINE = shlex.join([sys.executable, "-m", "ggp.engines", "openspiel"])
STOCKFISH = next(
    (str(path) for path in (Path("/usr/games/stockfish"), Path("/usr/bin/stockfish")) if path.exists()), ""
)
SPIEL = pytest.mark.needs("pyspiel")


def uci(*words: str) -> list[str]:
    return [sys.executable, "-m", "ggp.bots", "uci", *words]


# -- lines of UCI


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", {}),
        (
            "depth 7 seldepth 9 nodes 500 nps 1000 time 5",
            {"depth": 7, "seldepth": 9, "nodes": 500, "nps": 1000, "time": 5},
        ),
        ("score cp -31 lowerbound pv e2e4 e7e5", {"cp": -31, "pv": ["e2e4", "e7e5"]}),
        ("score mate -3 wdl 0 0 1000", {"mate": -3, "wdl": [0, 0, 1000]}),
        ("score cp 5 score mate 2", {"mate": 2}),
        ("string score cp 900 pv a2a3", {}),
        ("currmove e2e4 currmovenumber 1 hashfull 3", {"hashfull": 3}),
        ("depth x nodes", {}),
        ("score banana 3 depth 2", {"depth": 2}),
        ("wdl 1 2", {}),
        ("wdl a b c depth 2", {"depth": 2}),
        ("pv", {"pv": []}),
        (f"nodes {'9' * 40}", {}),
    ],
)
def test_info(line: str, said: dict[str, Any]) -> None:
    assert read_info(line.split()) == said


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("name Hash type spin default 16 min 1 max 64", UciOption("Hash", "spin", 1, 64)),
        ("name Skill Level type spin default 20 min 0 max 20", UciOption("Skill Level", "spin", 0, 20)),
        (
            "name Style type combo default Solid var Solid var Very Risky",
            UciOption("Style", "combo", choices=("Solid", "Very Risky")),
        ),
        ("name Clear Hash type button", UciOption("Clear Hash", "button")),
        ("name", UciOption("", "string")),
    ],
)
def test_options(line: str, option: UciOption) -> None:
    assert read_option(line.split()) == option


def test_words_of_the_command_line() -> None:
    words = ["nodes=500", "--option", "Skill Level=3", "--option=Clear Hash", "--", "stockfish", "--x"]
    limits, options, command = read_command(words)
    assert limits == {"nodes": 500, "depth": 0, "movetime": 0}
    assert options == {"Skill Level": "3", "Clear Hash": ""} and command == ["stockfish", "--x"]
    assert find_problem(["uci", *words]) is None


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--"],
        ["stockfish"],
        ["--option", "--", "stockfish"],
        ["--option", "=3", "--", "stockfish"],
        ["--option", "A=\n", "--", "stockfish"],
        ["--frob", "--", "stockfish"],
        ["nodes=x", "--", "stockfish"],
        ["speed=3", "--", "stockfish"],
        ["nodes=1", "nodes=2", "--", "stockfish"],
    ],
)
def test_bad_words_are_one_line(words: list[str]) -> None:
    problem = find_problem(["uci", *words])
    assert problem is not None and "\n" not in problem[1]
    ran = ggp_in_process("bot", "uci", *words)
    assert (ran.status, ran.err) == (2, f"ggp bot: {problem[1]}\n")


def test_its_options_are_completed() -> None:
    assert {"nodes=", "depth=", "movetime="} <= {*complete(["uci"], "")} and "--option" in complete(["uci"], "--")


def test_without_openspiel_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.bots.adapters.find_spec", lambda name: None)
    ran = ggp_in_process("bot", "uci", "--", "cat")
    text = "ggp bot: uci: pyspiel is not installed: run pip install open_spiel\n"
    assert (ran.status, ran.err) == (2, text)


@SPIEL
@pytest.mark.slow
def test_an_engine_that_ends_at_its_first_option_ends_in_lines(tmp_path: Path) -> None:
    program = tmp_path / "engine"
    program.write_text(
        "#!/bin/sh\nread line\necho option name A type string\nexec 0<&-\necho uciok\nexit 4\n", encoding="utf-8"
    )
    program.chmod(0o755)
    ran = ggp("bot", "uci", "--option", "A=b", "--", str(program))
    assert ran.status == 1 and "Traceback" not in ran.err and ran.err.count("\n") < 5, ran.err


@pytest.mark.slow
def test_a_program_among_debian_s_games_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mychess"
    program.write_text("#!/bin/sh\nread line\necho id name Found\necho uciok\nread line\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr("ggp.bots.engine_client._GAMES", str(tmp_path))
    engine = _start(["mychess"])
    engine.close()
    assert engine.name == "Found"


# -- an engine


@pytest.fixture
def engine() -> Iterator[UciEngine]:
    running = UciEngine(SMALL)
    yield running
    running.close()


@SPIEL
@pytest.mark.slow
def test_options_are_checked_before_any_is_set(engine: UciEngine, tmp_path: Path) -> None:
    assert engine.name == "Small 1.0"
    for values, text in (
        ({"Skil Level": "3"}, "Small 1.0 has no option Skil Level; did you mean Skill Level"),
        ({"Skill Level": "21"}, "Skill Level must be a number from 0 to 20"),
        ({"Skill Level": "--5"}, "Skill Level must be a number from 0 to 20"),
        ({"Skill Level": "x"}, "Skill Level must be a number from 0 to 20"),
        ({"Style": "Wild"}, "Style must be one of Solid, Very Risky"),
        ({"Ponder": "yes"}, "Ponder must be true or false"),
        ({"Ponder": "true", "Frob": "1"}, "no option Frob"),
    ):
        with pytest.raises(OptionError, match=text):
            engine.set_options(values)
    engine.set_options({"skill level": "3", "Style": "very risky", "Clear Hash": "", "Book File": "a b.bin"})
    engine.new_game()


@SPIEL
@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("dies", "ended: exit status 3"),
        ("crashes", "ended: killed by SIGSEGV"),
        ("hangs", "does not answer with bestmove"),
        ("deaf", "closed its output"),
        ("chatters", "does not answer with bestmove"),
        ("endless", "wrote a line of more than 65536 bytes"),
    ],
)
def test_what_went_wrong_with_an_engine_is_one_line(fault: str, text: str) -> None:
    running = UciEngine([*SMALL, fault, "0"])
    try:
        running.new_game()
        with pytest.raises(EngineGone) as gone:
            running.search("position startpos", "go nodes 1", 2.0 if fault == "chatters" else 5.0)
    finally:
        running.close()
    assert text in str(gone.value) and "\n" not in str(gone.value)
    last = {"dies": "info string no memory left", "chatters": "info string still here"}
    assert gone.value.tail[-1] == last.get(fault, "readyok")


@pytest.mark.slow
def test_what_is_no_engine_of_uci_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineGone, match="ended: exit status 0"):
        UciEngine(["true"])
    monkeypatch.setattr("ggp.bots.adapters.uci_dialogue.START", 0.3)
    for command in (["cat"], ["yes"]):
        with pytest.raises(EngineGone, match="does not answer with uciok"):
            UciEngine(command)


# -- the bot


class UciTalk:
    """The bot in this process: lines in, answers out."""

    def __init__(self, engine: UciEngine, **limits: int) -> None:
        import pyspiel

        from ggp.engines.adapters.openspiel import OpenSpielRegistry

        uci = UciBot(engine, pyspiel, {"nodes": 0, "depth": 0, "movetime": 0, **limits})
        self.bot = Bot(uci.choose, games=("chess",), analysis=True, told=uci.told, registry=OpenSpielRegistry())
        self._responder = Responder("talk", "1", {**self.bot.handlers(), "kata-set-param": uci.set_param})

    def __call__(self, line: str) -> str:
        self._responder.receive(line.encode() + b"\n")
        answer = self._responder.next_answer()
        assert answer is not None
        return answer.decode().removesuffix("\n\n")


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the engine was told."""
    path = tmp_path / "told"
    monkeypatch.setenv("UCI_LOG", str(path))
    return path


def goes(told: Path) -> list[str]:
    return [line for line in told.read_text(encoding="utf-8").splitlines() if line.startswith("go")]


@SPIEL
@pytest.mark.slow
def test_clocks_and_limits_are_said_in_uci(told: Path) -> None:
    engine = UciEngine(SMALL)
    talk = UciTalk(engine)
    talk("ggp-new chess")
    assert talk("genmove black") == "= h4"
    talk("play white e5")
    talk("ggp-clock black=9000 white=8000 increment=100")
    talk("genmove black")
    talk("play white e4")
    talk("ggp-clock black=9000 white=8000 moves=7")
    talk("genmove black")
    talk("play white e3")
    talk("ggp-clock black=0 white=8000 period=3000 periods=2")
    talk("genmove black")
    assert talk("kata-set-param maxVisits 500") == "=" and talk("kata-set-param maxVisits x").startswith("?")
    assert talk("kata-set-param frob 1").startswith("? unknown parameter")
    talk("undo")
    talk("genmove black")
    talk("ggp-new chess")
    talk("play black e4")
    talk("kata-set-param maxVisits 7")
    talk("ggp-clock black=9000 white=8000")
    talk("genmove white")
    engine.close()
    clocks = ["wtime 9000 btime 8000 winc 100 binc 100", "wtime 9000 btime 8000 winc 0 binc 0 movestogo 7"]
    limits = ["movetime 1000", *clocks, "movetime 2400", "nodes 500", "nodes 7"]
    assert goes(told) == [f"go {limit}" for limit in limits]
    lines = told.read_text(encoding="utf-8").splitlines()
    assert lines.count("ucinewgame") == 2 and lines[-1] == "quit" and "position startpos moves e2e4" in lines


@SPIEL
@pytest.mark.slow
def test_what_the_engine_says_is_the_analysis() -> None:
    engine = UciEngine([*SMALL, "noise", "0"])
    talk = UciTalk(engine)
    talk("ggp-new chess")
    for colour, move in (("black", "e4"), ("white", "d5"), ("black", "exd5"), ("white", "Nf6")):
        assert talk(f"play {colour} {move}") == "="
    first, _, second = talk("ggp-genmove_analyze black").partition("\n")
    engine.close()
    kept = json.loads(second)
    assert kept == {
        "depth": 2,
        "nodes": 77,
        "nps": 1000,
        "wdl": [300, 500, 200],
        "winrate": 0.55,
        "score": 0.31,
        "pv": [first.removeprefix("= ")],
    }


@SPIEL
@pytest.mark.slow
@pytest.mark.parametrize("fault", ["illegal", "none"])
def test_a_move_that_is_none_is_refused_and_not_played(fault: str) -> None:
    engine = UciEngine([*SMALL, fault, "0"])
    talk = UciTalk(engine)
    talk("ggp-new chess")
    chosen = "e2e5" if fault == "illegal" else "(none)"
    assert talk("genmove black") == f"? Small 1.0 chose {chosen}, which is not a legal move here"
    assert talk.bot.line is not None and talk.bot.line.plies == []
    engine.close()


@SPIEL
@pytest.mark.slow
def test_every_move_has_its_words() -> None:
    """Random games: castling, promotion, captures en passant, moves that differ in case alone."""
    import pyspiel

    from ggp.engines.adapters.openspiel import OpenSpielRegistry

    game = OpenSpielRegistry().load("chess")
    bot = UciBot(object(), pyspiel, {})  # type: ignore[arg-type]
    chance, seen = random.Random(3), set[str]()
    for _ in range(20):
        state: Any = game.new({"chess960": "false"})
        while state.phase != "over" and state.ply < 300:
            words = bot._words(state)
            assert sorted(words.values()) == state.legal_moves() and len(words) == len({*words.values()})
            seen.update(words)
            state.play(chance.choice(state.legal_moves()))
    assert {"e1g1", "e8c8"} & seen and any(len(word) == 5 and word[4] == "q" for word in seen)


@SPIEL
@pytest.mark.slow
def test_a_crash_is_the_bots_fault_with_the_last_words_of_its_engine() -> None:
    ran = ggp(
        *("match", "--engine", ENGINE, "chess", shlex.join(uci("--", *SMALL, "crashes", "4")), "random"),
        *("--games", "2", "--json", "--jobs", "1"),
    )
    assert ran.status == 0, ran.err
    assert "disconnected" in ran.out and "killed by SIGSEGV" in ran.out + ran.err


@SPIEL
@pytest.mark.slow
def test_two_engines_play_and_it_passes_every_check(tmp_path: Path) -> None:
    record = tmp_path / "games.jsonl"
    noisy = shlex.join(uci("--option", "Skill Level=3", "--", *SMALL, "noise", "0"))
    ran = ggp(
        *("match", "--engine", ENGINE, "chess", shlex.join(uci("--", *SMALL)), noisy),
        *("--games", "2", "--record", str(record)),
    )
    assert ran.status == 0 and "ended by: rules 2" in ran.out, ran
    for found in read_records(record.read_bytes().splitlines(keepends=True)):
        assert found.start.bots[0].program == "Small 1.0" and json.loads(found.plies[0].analysis)["pv"]
    ran = ggp("check", "--game", "chess", "--judge", ENGINE, "--json", "--timeout", "60", "--", *uci("--", *SMALL))
    assert ran.status == 0 and ran.json["usable"], ran.out


@SPIEL
@pytest.mark.slow
def test_the_engine_ends_with_the_bot() -> None:
    bot = subprocess.Popen(uci("--", *SMALL), stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
    assert bot.stdin and bot.stdout
    bot.stdin.write("name\n")
    bot.stdin.flush()
    assert bot.stdout.readline() == "= Small 1.0\n"
    children = Path(f"/proc/{bot.pid}/task/{bot.pid}/children").read_text(encoding="utf-8").split()
    bot.communicate()
    assert bot.returncode == 0
    assert children and not any(_runs(int(pid)) for pid in children)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# -- against the engine itself


def direct_game(nodes: tuple[int, int], opening: list[str]) -> list[str]:
    """UCI's moves of a game that two engines play without us, from an opening on, by fixed nodes."""
    import pyspiel

    programs = [
        subprocess.Popen([STOCKFISH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", bufsize=1)
        for _ in nodes
    ]
    try:
        for program in programs:
            tell(program, "uci", "setoption name UCI_ShowWDL value true", "ucinewgame", "isready")
            hear(program, "readyok")
        state = pyspiel.load_game("chess").new_initial_state()
        moves = list[str]()
        for move in opening:
            state.apply_action(state.parse_move_to_action(move))
            moves.append(move)
        while not state.is_terminal():
            turn = len(moves) % 2
            tell(programs[turn], f"position startpos moves {' '.join(moves)}", f"go nodes {nodes[turn]}")
            move = hear(programs[turn], "bestmove").split()[1]
            state.apply_action(state.parse_move_to_action(move))
            moves.append(move)
        return moves
    finally:
        for program in programs:
            program.send_signal(signal.SIGKILL)
            program.communicate()


def tell(program: "subprocess.Popen[str]", *lines: str) -> None:
    assert program.stdin
    program.stdin.write("".join(f"{line}\n" for line in lines))
    program.stdin.flush()


def hear(program: "subprocess.Popen[str]", word: str) -> str:
    assert program.stdout
    for line in program.stdout:
        if line.startswith(word):
            return line
    raise AssertionError(f"it ended before {word}")


@SPIEL
@pytest.mark.needs("stockfish")
@pytest.mark.long
def test_forty_games_at_fixed_nodes_are_those_of_a_direct_dialogue(tmp_path: Path) -> None:
    import pyspiel

    record = tmp_path / "games.jsonl"
    bots = [shlex.join(uci(f"nodes={nodes}", "--", STOCKFISH)) for nodes in (2000, 300)]
    ran = ggp(
        *("match", "--engine", ENGINE, "chess", *bots, "--games", "40", "--openings", "4"),
        *("--restart", "--record", str(record), "--seed", "5"),
        seconds=1800,
    )
    assert ran.status == 0, ran.err
    for found in read_records(record.read_bytes().splitlines(keepends=True)):
        state = pyspiel.load_game("chess").new_initial_state()
        played, words = list[str](), dict[str, int]()
        from ggp.engines.adapters.openspiel_words import MoveWords

        table = MoveWords(state.get_game())
        for ply in found.plies:
            words = {word: action for word, (action, _) in table.table(state).items()}
            action = words[ply.move]
            played.append(pyspiel.chess.action_to_move(action, state.board()).to_lan())
            state.apply_action(action)
        first = found.start.bots[0].command
        nodes = (2000, 300) if "nodes=2000" in first else (300, 2000)
        assert played == direct_game(nodes, played[: len(found.start.opening)])
