"""Bots of OpenSpiel in our matches: which agents there are, what they hear, whose fault theirs is."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ggp.bots.adapters.openspiel import OpenSpielSeat, read_command
from ggp.bots.clock import BotClock
from ggp.bots.position import Position
from ggp.bots.rng import BotRng
from ggp.engines.game import OptionError
from ggp.engines.history import GameHistory
from tests.support.cli import PYTHON, ggp

ENGINE = f"{PYTHON} -P -m ggp.engines openspiel"
OWN = """
import pyspiel

class First(pyspiel.Bot):
    def __init__(self, fails):
        pyspiel.Bot.__init__(self)
        self.fails, self.heard = fails, []
    def step(self, state):
        if self.fails and len(state.history()) > 1:
            raise RuntimeError("the policy\\nhas no answer")
        return state.legal_actions()[0]
    def inform_action(self, state, player, action):
        self.heard.append((player, action))

def make_bot(game, player):
    return First(False)

def make_failing(game, player):
    return First(True)
"""


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ([], ("mcts:1000", 0)),
        (["--agent", "mcts:50", "seed=3"], ("mcts:50", 3)),
        (["--agent=my.bots:make_bot"], ("my.bots:make_bot", 0)),
        (["--agent", "random"], ("random", 0)),
    ],
)
def test_the_words_name_an_agent(words: list[str], meant: tuple[str, int]) -> None:
    assert read_command(words) == meant


@pytest.mark.parametrize("words", [["--agent"], ["--agent", "mcts:0"], ["--agent", "a b"], ["level=3"], ["mcts"]])
def test_what_is_no_agent_is_an_error(words: list[str]) -> None:
    with pytest.raises(OptionError):
        read_command(words)


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from ggp.bots import adapters
    from ggp.bots.adapters import openspiel

    monkeypatch.setattr(adapters, "find_spec", lambda name: None)
    with pytest.raises(OptionError, match="pyspiel is not installed: run pip install"):
        openspiel.main([])


@pytest.mark.needs("pyspiel")
def test_a_bot_hears_of_every_action_that_it_did_not_take() -> None:
    from ggp.engines.adapters.openspiel import OpenSpielRegistry

    made: list[Any] = []

    class HearingBot:
        def __init__(self) -> None:
            self.heard: list[tuple[int, int]] = []

        def step(self, state: Any) -> int:
            return int(state.legal_actions()[0])

        def inform_action(self, state: Any, player: int, action: int) -> None:
            self.heard.append((player, action))

    def make(game: Any, player: int, seed: int) -> HearingBot:
        made.append(HearingBot())
        return made[-1]  # type: ignore[no-any-return]

    game = OpenSpielRegistry().load("connect_four")
    line = GameHistory(game, {option.name: option.parse(option.default) for option in game.options})
    seat = OpenSpielSeat(make, BotRng(1))
    line.play("black", "x3")
    for colour in ("white", "black", "white"):
        if colour == "black":
            line.play("black", "x5")
            continue
        line.play("white", seat.choose(Position(line, line.state.copy(), BotClock())))
    assert len(made) == 1 and made[0].heard == [(0, 3), (0, 5)]
    line = line.taken_back(2)
    line.play("black", "x6")
    seat.choose(Position(line, line.state.copy(), BotClock()))
    assert len(made) == 2 and made[1].heard == [(0, 3), (1, 0), (0, 6)]


@pytest.mark.slow
@pytest.mark.needs("pyspiel")
def test_agents_play_a_match_and_a_policy_that_raises_loses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_bots.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    bots = [f"{name}={PYTHON} -m ggp.bots openspiel --agent {agent}" for name, agent in (
        ("tree", "mcts:20"), ("own", "my_bots:make_bot"), ("failing", "my_bots:make_failing")
    )]  # fmt: skip
    ran = ggp("match", "--engine", ENGINE, "connect_four", *bots, "--games", "2", "--json", "--record", "r.jsonl")
    assert ran.status == 0, ran.err
    assert ran.json["terminations"] == {"rules": 2, "refused": 4}
    assert "the bot failed: RuntimeError: the policy has no answer" in Path("r.jsonl").read_text(encoding="utf-8")
    for word, reason in (("nowhere:make", "ModuleNotFoundError"), ("my_bots:nothing", "has no function nothing")):
        refused = ggp("bot", "openspiel", "--agent", word)
        assert refused.status == 2 and reason in refused.err and refused.err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.needs("pyspiel")
def test_a_module_of_the_author_s_speaks_on_stderr_and_fails_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loud = "import os\nprint('= hello\\n')\nos.system('echo from a program')\n"
    (tmp_path / "loud_bots.py").write_text(loud + OWN, encoding="utf-8")
    (tmp_path / "lines_bots.py").write_text("raise ValueError('one\\ntwo')\n", encoding="utf-8")
    (tmp_path / "exit_bots.py").write_text("import sys\nsys.exit(0)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = [sys.executable, "-m", "ggp.bots", "openspiel", "--agent"]
    done = subprocess.run(
        [*words, "loud_bots:make_bot"], input="quit\n", capture_output=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0 and done.stdout == "=\n\n", done
    assert "= hello" in done.stderr and "from a program" in done.stderr
    for module, reason in (("lines_bots", "ValueError: one two"), ("exit_bots", "SystemExit: 0")):
        refused = ggp("bot", "openspiel", "--agent", f"{module}:make")
        assert (refused.status, refused.out, refused.err.count("\n")) == (2, "", 1) and reason in refused.err


@pytest.mark.slow
@pytest.mark.needs("pyspiel")
def test_any_ply_of_a_record_is_written_as_openspiel_reads_it(tmp_path: Path) -> None:
    import pyspiel

    record = str(tmp_path / "r.jsonl")
    played = ggp("match", "--engine", ENGINE, "othello", "random", "random", "--games", "1", "--record", record)
    assert played.status == 0, played.err
    for ply in (0, 7):
        ran = ggp("export", f"{record}@{ply}", "--openspiel")
        game, state = pyspiel.deserialize_game_and_state(ran.out)
        assert game.get_type().short_name == "othello" and len(state.history()) == ply
    assert ggp("export", record, "--openspiel", "--format", "sgf").status == 2
    other = str(tmp_path / "yugo.jsonl")
    ggp("match", "yugo,size=4", "random", "random", "--games", "1", "--record", other)
    refused = ggp("export", other, "--openspiel")
    assert refused.status == 2 and "cannot be written for OpenSpiel: unknown game: yugo" in refused.err
