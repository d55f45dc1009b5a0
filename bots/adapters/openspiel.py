"""`ggp bot openspiel --agent mcts:1000`: any bot of OpenSpiel (`pyspiel.Bot`), for `ggp engine openspiel`'s games.

`--agent module:make_bot` calls `make_bot(game, player)` of that module for each game and player. Python looks for the
module from the current folder. The bot gets the other player's actions through `inform_action`, and `step` asks it for
its own.
"""

import contextlib
import os
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from ggp.bots.adapters import load
from ggp.bots.options import flags_in, parse_options
from ggp.bots.position import Position
from ggp.bots.rng import BotRng
from ggp.bots.sdk import run
from ggp.engines.game import Option, OptionError

OPTIONS: tuple[Option, ...] = (Option("seed", "int", "0", "0..1000000000"),)
FLAGS = ("--agent",)
USAGE = "[--agent AGENT] [name=value …]"
HELP = """
AGENT is one of
  mcts:N                 OpenSpiel's tree search with N simulations a move (default: mcts:1000)
  random                 OpenSpiel's random bot
  MODULE:FUNCTION        your own bot: FUNCTION(game, player) of the Python module MODULE returns a pyspiel.Bot
"""
_MEMORY = 256  # MB for the tree of mcts
_MOST = 10_000_000  # simulations
_MCTS = re.compile(r"mcts(?::([0-9]{1,8}))?")
_OWN = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")

Make = Callable[[Any, int, int], Any]
"""A function of a pyspiel.Game, a player and a seed that returns a pyspiel.Bot."""


def main(words: Sequence[str], engines: Sequence[str] = ()) -> None:
    """Serve stdin. `engines` are ignored, because OpenSpiel has the rules.

    Raises:
        OptionError: The command line is invalid, or OpenSpiel is not installed.
    """
    agent, seed = read_command(words)
    load("openspiel", "pyspiel", "open_spiel")
    from ggp.engines.adapters.openspiel import OpenSpielRegistry

    make, chance = _maker(agent), BotRng(seed)
    seat = OpenSpielSeat(make, chance)
    name = f"openspiel-{agent.partition(':')[0]}"
    run(seat.choose, name=name, seed=seat.begin_match, registry=OpenSpielRegistry(), words=())


def read_command(words: Sequence[str]) -> tuple[str, int]:
    """Return the agent and the seed of the command line.

    Raises:
        OptionError: It is invalid.
    """
    agent, rest = "mcts:1000", list[str]()
    for name, value in flags_in(words, FLAGS):
        if name:
            agent = value
            _check(agent)
        else:
            rest.append(value)
    return agent, int(parse_options("openspiel", OPTIONS, rest)["seed"])


class OpenSpielSeat:
    """A bot that plays the moves of a pyspiel.Bot, and informs it of every action that it did not choose."""

    def __init__(self, make: Make, chance: BotRng) -> None:
        self._make, self._chance = make, chance
        self._bot: Any = None
        self._of: tuple[str, int] = ("", -1)  # the bot's game with its parameters, and its player
        self._known: list[int] = []  # actions that the bot knows

    def begin_match(self, seed: int) -> None:
        """Begin with a new bot, whose random numbers depend on the match's seed."""
        self._chance.begin_match(seed)
        self._bot = None

    def choose(self, position: Position) -> str:
        """Return the bot's move. Pass on any exception of the bot.

        Raises:
            ValueError: The bot took an illegal action.
        """
        state: Any = position.copy()
        inner = state.inner
        player, game, history = inner.current_player(), inner.get_game(), inner.history()
        if self._bot is None or self._of != (str(game), player) or history[: len(self._known)] != self._known:
            self._chance.begin_ply(position.ply)
            self._bot = self._make(game, player, self._chance.getrandbits(31))
            self._of, self._known = (str(game), player), []
        before = game.new_initial_state()
        for number, taken in enumerate(history):
            if number >= len(self._known):
                self._bot.inform_action(before, before.current_player(), taken)
            before.apply_action(taken)
        action = self._bot.step(inner)
        if action not in inner.legal_actions():
            raise ValueError(f"the agent took action {action!r}, which is not legal")
        self._known = [*history, action]
        string = inner.action_to_string(player, action)
        return str(next(word for word, own in state.strings().items() if own == string))


def _check(agent: str) -> None:
    """Raise OptionError unless this is the name of an agent."""
    tree = _MCTS.fullmatch(agent)
    if tree and 1 <= int(tree[1] or 1000) <= _MOST:
        return
    if agent != "random" and (tree or not _OWN.fullmatch(agent)):
        raise OptionError(f"openspiel: --agent {agent[:60]!r}: write mcts:1000, random or MODULE:FUNCTION")


def _maker(agent: str) -> Make:
    """Return the function that makes the agent.

    Raises:
        OptionError: Its module or function does not exist.
    """
    import pyspiel

    if tree := _MCTS.fullmatch(agent):
        simulations = int(tree[1] or 1000)

        def search(game: Any, player: int, seed: int) -> Any:
            evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
            return pyspiel.MCTSBot(game, evaluator, 2.0, simulations, _MEMORY, True, seed, False)

        return search
    if agent == "random":
        return lambda game, player, seed: pyspiel.make_uniform_random_bot(player, seed)
    module, _, name = agent.partition(":")
    sys.path.insert(0, "")
    try:
        with _output_on_stderr():
            made = getattr(import_module(module), name, None)
    except (Exception, SystemExit) as error:  # the author's module may fail in any way
        said = " ".join(str(error).split())[:300]
        raise OptionError(f"openspiel: --agent {agent}: {type(error).__name__}: {said}") from None
    if not callable(made):
        raise OptionError(f"openspiel: --agent {agent}: {module} has no function {name}")
    return lambda game, player, seed: _own(made, game, player, seed)


@contextlib.contextmanager
def _output_on_stderr() -> Iterator[None]:
    """Redirect output in this context to stderr, even that of started programs: stdout is for the conversation."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _own(made: Callable[[Any, int], Any], game: Any, player: int, seed: int) -> Any:
    """Make the author's bot, after seeding Python's own random numbers."""
    random.seed(seed)
    return made(game, player)
