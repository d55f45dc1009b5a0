"""Bots at the games of an engine of their own: the same methods as at installed games, one process, bounded faults."""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import pytest

from ggp.bots.engine_client import EngineClient
from ggp.bots.foreign_game import EngineRegistry, ForeignState
from ggp.bots.options import split_engines
from ggp.bots.sdk import Bot
from ggp.engines.game import Game, IllegalMove, OptionError
from ggp.engines.registry import Registry
from ggp.protocol.commands import Who
from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import Responder
from ggp.referee.match.bot_spec import knowing, read_bot, read_engine, readable_files
from tests.support import ROOT
from tests.support.checked_peer import failed_checks
from tests.support.cli import PYTHON, ggp

CONNECT4 = f"{PYTHON} {quote(str(ROOT))}/engines/examples/connect4.py"
OURS = f"{PYTHON} -P -m ggp.engines"
pytestmark = pytest.mark.slow


@pytest.fixture
def registries() -> Iterator[list[EngineRegistry]]:
    opened: list[EngineRegistry] = []
    yield opened
    for registry in opened:
        registry.close()


def game_of(registries: list[EngineRegistry], where: str, name: str) -> Game:
    registries.append(EngineRegistry([where]))
    return registries[-1].load(name)


def defaults(game: Game) -> dict[str, int | float | str]:
    return {option.name: option.parse(option.default) for option in game.options}


def test_a_position_says_over_the_wire_what_it_says_at_home(registries: list[EngineRegistry]) -> None:
    """Our own engine asked over the wire, beside the same game in this process, through copies and going back."""
    game, home = game_of(registries, OURS, "yugo"), Registry().load("yugo")
    assert [str(option) for option in game.options] == [str(option) for option in home.options]
    options = {**defaults(home), "size": 5}
    far, near = game.new(options), home.new(options)
    kept = []
    for move in ("swap", "B2", "c3", "D4", "A1"):
        for state in (far, near):
            if move == "swap":
                with pytest.raises(IllegalMove):
                    state.play(move)
        if move != "swap":
            assert far.play(move) == near.play(move)
        kept.append((far.copy(), near.copy()))
    for one, other in (kept[1], kept[-1], kept[0], kept[2]):  # the engine is led back and forth
        assert one.legal_moves() == other.legal_moves()
        assert (one.phase, one.to_play, one.seat, one.ply) == (other.phase, other.to_play, other.seat, other.ply)
        assert one.perft(2) == other.perft(2)
        assert one.playouts(3, 7, "uniform") == other.playouts(3, 7, "uniform")
        assert one.score() == other.score() and one.standing() == other.standing()
        assert {cell for group in one.groups() for cell in group} == {
            cell for group in other.groups() for cell in group
        }
        assert one.why_illegal("Z99") == other.why_illegal("Z99") != "" and one.why_illegal("E5") == ""
    twin = kept[2][0].copy()
    twin.play("D4")
    assert twin.hash() == kept[3][0].hash() != kept[1][0].hash()


def test_an_engine_without_optional_commands_is_enough(registries: list[EngineRegistry]) -> None:
    game = game_of(registries, CONNECT4, "connect4")
    state = game.new({"width": 4, "height": 4})
    with pytest.raises(IllegalMove, match="not a column with room"):
        state.play("Z")
    assert state.play("b") == "B" and state.to_play == "white"  # the engine's own form
    before = state.copy()
    plies, black, white, draws = state.playouts(4, 1, "rollout")
    assert black + white + draws == 4 and plies > 12
    assert state.playouts(4, 1, "rollout") == (plies, black, white, draws)
    assert state.perft(2) == 16 and state.hash() == before.hash()
    state.play_out(3, "uniform")
    assert state.phase == "over" and state.result and state.legal_moves() == []
    assert state.why_illegal("A") == "the game is over"
    assert before.ply == 1 and before.legal_moves() == ["A", "B", "C", "D"]
    assert state.captured() == (0, 0) and state.standing() == "" and before.groups() == [["B1"]]
    for word in ("a b", "", "#", "x" * 9000):
        assert "a move is one word" in state.why_illegal(word)


def test_options_that_cannot_be_are_refused_in_the_engines_words(registries: list[EngineRegistry]) -> None:
    bot = Bot(lambda position: position.legal_moves()[0], registry=EngineRegistry([CONNECT4]))
    responder = Responder("talk", "1", bot.handlers())

    def talk(line: str) -> str:
        responder.receive(line.encode() + b"\n")
        answer = responder.next_answer()
        assert answer is not None
        return answer.decode().strip()

    assert "connect4" in talk("ggp-games").split() and "yugo" in talk("ggp-games").split()
    assert talk("ggp-new connect4 width=99").startswith("? width=99")
    assert talk("ggp-new connect4 width=4 height=4") == "="
    assert [talk("genmove black"), talk("play white B"), talk("genmove b")] == ["= A", "=", "= A"]
    assert talk("play black A").startswith("? illegal move")
    assert talk("undo") == "=" and talk("genmove black") == "= A"


def test_an_engine_that_ends_is_a_refusal_and_the_next_game_starts_it_again(
    registries: list[EngineRegistry], tmp_path: Path
) -> None:
    noted = tmp_path / "pids"
    script = f'echo $$ >> {noted}; exec "$0" "$@"'
    game = game_of(registries, f"sh -c '{script}' {CONNECT4}", "connect4")
    options = {"width": 4, "height": 4}
    state = game.new(options)
    os.kill(int(noted.read_text(encoding="utf-8").split()[-1]), 9)
    with pytest.raises(CommandFailed, match=r"the engine .* fails"):
        state.play("zz")
    with pytest.raises(CommandFailed):
        state.play("a")
    fresh = game.new(options)
    assert fresh.play("a") == "A" and len(noted.read_text(encoding="utf-8").split()) == 2
    with pytest.raises(CommandFailed):
        state.perft(3)


def test_an_engine_that_refuses_what_it_listed_plays_the_next_game(registries: list[EngineRegistry]) -> None:
    """The answers behind the refusal are not taken for those of the next game."""
    wrong = f"{PYTHON} -m tests.support.foreign_engine wrong refuses 2"
    game = game_of(registries, wrong, "yugo")
    options = {**defaults(game), "size": 3}
    state = game.new(options)
    state.play(state.legal_moves()[0])
    with pytest.raises(CommandFailed, match=r"refuses .*, which it listed"):
        state.play(state.legal_moves()[0])
        state.perft(1)
    fresh = game.new(options)
    moves = fresh.legal_moves()
    assert fresh.play(moves[1]) == moves[1]
    assert (fresh.phase, fresh.to_play, fresh.ply) == ("play", "white", 1)
    assert fresh.legal_moves() == [moves[0], *moves[2:]]


@pytest.mark.parametrize(
    "status",
    ["to_play=black seat=x ply=0 phase=play", "to_play=black seat=1 ply=0 phase=over winner=b", "phase=play"],
)
def test_numbers_that_are_none_are_one_line(registries: list[EngineRegistry], tmp_path: Path, status: str) -> None:
    file = tmp_path / "engine.py"
    file.write_text(ODD.format(status=status), encoding="utf-8")
    game = game_of(registries, f"{PYTHON} {file}", "odd")
    with pytest.raises(CommandFailed, match="the engine's status line is invalid"):
        assert game.new({}).seat


def test_a_hash_or_a_count_that_is_none_is_one_line(registries: list[EngineRegistry], tmp_path: Path) -> None:
    file = tmp_path / "engine.py"
    file.write_text(ODD.format(status="phase=play to_play=black seat=1 ply=0"), encoding="utf-8")
    state = game_of(registries, f"{PYTHON} {file}", "odd").new({})
    with pytest.raises(CommandFailed, match="the engine's ggp-hash is not a number: 'many'"):
        state.hash()
    with pytest.raises(CommandFailed, match="the engine's ggp-perft is not a number: 'many'"):
        state.perft(2)


ODD = """import sys
said = {{"ggp-games": "odd", "ggp-hash": "many", "ggp-perft": "many", "ggp-new": "{status}", "ggp-status": "{status}",
        "ggp-options": "", "ggp-legal_moves": "a b", "protocol_version": "2", "ggp-version": "1"}}
said["list_commands"] = "\\n".join([*said, "list_commands", "ggp-play", "undo", "quit"])
for line in sys.stdin:
    print("=", said.get(line.split()[0], ""), end="\\n\\n", flush=True)
"""


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("no-such-engine", "there is no such program"),
        ("'", "is not a valid command line"),
        ("true", "does not answer like an engine"),
        (f"{PYTHON} {quote(str(ROOT))}/bots/examples/legal_bot.py {OURS}", "it is not an engine"),
        ("tcp://127.0.0.1:99999", "a port of 1..65535"),
    ],
)
def test_what_is_no_engine_is_one_line_and_status_2(where: str, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        EngineClient(where)
    ran = ggp("bot", "random", "--engine", where)
    assert ran.status == 2 and reason in ran.err and ran.err.count("\n") == 1 and ran.out == ""


def test_the_word_engine_needs_one() -> None:
    assert split_engines(["a=1", "--engine", "x y", "--engine=z", "--", "--engine"]) == (
        ["a=1", "--", "--engine"],
        ["x y", "z"],
    )
    for words in (["--engine"], ["--engine", "--gogui"], ["--engine="]):
        with pytest.raises(ValueError, match="needs a command line or an address"):
            split_engines(words)


@pytest.mark.parametrize("bot", ["random", "greedy", "mcts"])
def test_every_check_of_a_bot_passes_at_a_foreign_game(bot: str) -> None:
    command = [sys.executable, "-P", "-m", "ggp.bots", bot, "--engine", CONNECT4]
    assert failed_checks(command, Who.BOT, "go") == []


def test_built_in_bots_sit_down_at_a_foreign_game_by_themselves() -> None:
    ran = ggp(
        *("match", "--engine", CONNECT4, "connect4,width=4,height=4", "random:seed=1", "greedy:playouts=2,seed=1"),
        *("mcts:playouts=20,seed=1", "random:seed=2", "--games", "2"),
    )
    assert ran.status == 0, ran.err
    assert "rules" in ran.out and "of 12 games" in ran.out


def test_a_listening_engine_serves_them_too() -> None:
    import socket
    import subprocess

    from tests.support.cli import free_port, wait_until

    port = free_port()
    url = f"tcp://127.0.0.1:{port}"
    with subprocess.Popen([*CONNECT4.split(), url], stderr=subprocess.DEVNULL) as service:
        try:

            def is_up() -> bool:
                with socket.socket() as probe:
                    return probe.connect_ex(("127.0.0.1", port)) == 0

            wait_until(is_up)
            ran = ggp("match", "--engine", url, "connect4,width=4,height=4", "random", "random", "--games", "4")
        finally:
            service.kill()
    assert ran.status == 0 and "rules 4" in ran.out, ran.err


def test_a_random_game_that_does_not_end_is_given_up(
    registries: list[EngineRegistry], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggp.bots.foreign_game._MOST_PLIES", 5)
    state = game_of(registries, CONNECT4, "connect4").new({"width": 7, "height": 6})
    with pytest.raises(CommandFailed, match="does not end within 5 plies"):
        state.playouts(1, 1, "uniform")


def test_states_share_nothing(registries: list[EngineRegistry]) -> None:
    game = game_of(registries, CONNECT4, "connect4")
    one = game.new({"width": 4, "height": 4})
    other = one.copy()
    assert isinstance(one, ForeignState) and isinstance(other, ForeignState)
    one.play("A")
    other.play("B")
    assert (one.ply, other.ply) == (1, 1) and one.hash() != other.hash()


def test_without_a_drawing_a_match_may_have_a_thousand_plies_at_least(tmp_path: Path) -> None:
    """A game may begin with few moves and have many later."""
    record = tmp_path / "r.jsonl"
    without = f"{PYTHON} -m tests.support.foreign_engine without ggp-scene"
    ran = ggp("match", "--engine", without, "yugo,size=2", "random", "random", "--games", "1", "--record", str(record))
    assert ran.status == 0, ran.err
    assert json.loads(record.read_text(encoding="utf-8").split("\n")[0])["max_plies"] == 20 * 50


def test_bots_of_ladders_and_lobbies_know_the_engines_of_their_pools() -> None:
    ours, url = read_engine(None), read_engine("tcp://127.0.0.1:5555")
    own = read_engine(CONNECT4)
    bot, program = read_bot("greedy:playouts=2"), read_bot("cat")
    assert knowing(bot, ours) == bot and knowing(program, own) == program
    words = knowing(bot, ours, own, url, own).argv
    added = ["--engine", CONNECT4, "--engine", url.url]
    place = words.index("--engine")
    assert list(words[place : place + 4]) == added and (*words[:place], *words[place + 4 :]) == bot.argv
    said = read_bot(f"{PYTHON} -P -m ggp.bots random --engine mine")
    assert knowing(said, own) == said


def test_a_bot_in_a_sandbox_may_read_the_engine_that_it_starts(tmp_path: Path) -> None:
    """The engine lies in a folder that is neither the project's nor the current one."""
    engine = tmp_path / "another folder" / "connect4.py"
    engine.parent.mkdir()
    engine.write_bytes((ROOT / "engines/examples/connect4.py").read_bytes())
    record = tmp_path / "r.jsonl"
    ran = ggp(
        *("match", "--engine", shlex.join([sys.executable, str(engine)]), "connect4,width=4,height=4"),
        *("random", "random", "--games", "2", "--sandbox", "default", "--record", str(record)),
    )
    assert ran.status == 0 and "rules 2" in ran.out, ran


def test_files_of_the_engine_that_a_bot_starts_are_its_own(tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.touch()
    program = sys.executable
    for words in (["--engine", f"{program} {engine}"], [f"--engine={program} {engine}"], ["--engine", "sh engine.py"]):
        assert str(engine) in readable_files((program, *words), tmp_path), words
    bad = ("--engine", "'", "--engine", "tcp://127.0.0.1:1", "--engine", "no-such-program", "--engine")
    assert readable_files((program, *bad, "--", "--engine", f"x {engine}"), None) == readable_files((program,), None)


def test_an_engine_that_cannot_be_reached_costs_its_games_alone_where_it_is_optional(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A bot of a lobby plays in several pools, each of which may have an engine that its sandbox keeps from it."""
    with pytest.raises(OptionError, match="no such program"):
        EngineRegistry(["/no/such/engine"])
    registry = EngineRegistry(["/no/such/engine"], optional=True)
    assert "yugo" in registry.names() and registry.load("yugo").name == "yugo"
    assert "/no/such/engine" in (said := capsys.readouterr().err) and "its games are left out" in said
    registry.close()
