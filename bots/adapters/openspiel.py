"""`ggp bot openspiel --agent mcts:1000`: any bot of OpenSpiel, `pyspiel.Bot`, at the games of `ggp engine openspiel`.

`--agent module:make_bot` calls `make_bot(game, player)` of that module, found as Python finds it from the current
folder, for each game and player; the bot hears of the other's actions (`inform_action`) and is asked by `step`.
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
  mcts:N                 OpenSpiel's tree search with N simulations a move (the default: mcts:1000)
  random                 OpenSpiel's random bot
  MODULE:FUNCTION        your own: FUNCTION(game, player) of the Python module MODULE gives a pyspiel.Bot
"""
_MEMORY = 256  # MB for the tree of mcts
_MOST = 10_000_000  # simulations
_MCTS = re.compile(r"mcts(?::([0-9]{1,8}))?")
_OWN = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")

Make = Callable[[Any, int, int], Any]
"""(pyspiel.Game, player, seed) -> pyspiel.Bot."""


def main(words: Sequence[str], engines: Sequence[str] = ()) -> None:
    """Serve stdin. `engines` are not asked, because the rules are here. Raises OptionError."""
    agent, seed = read_command(words)
    load("openspiel", "pyspiel", "open_spiel")
    from ggp.engines.adapters.openspiel import OpenSpielRegistry

    make, chance = _maker(agent), BotRng(seed)
    seat = OpenSpielSeat(make, chance)
    name = f"openspiel-{agent.partition(':')[0]}"
    run(seat.choose, name=name, seed=seat.begin_match, registry=OpenSpielRegistry(), words=())


def read_command(words: Sequence[str]) -> tuple[str, int]:
    """Return the agent and the seed of the command line. Raises OptionError."""
    agent, rest = "mcts:1000", list[str]()
    for name, value in flags_in(words, FLAGS):
        if name:
            agent = value
            _check(agent)
        else:
            rest.append(value)
    return agent, int(parse_options("openspiel", OPTIONS, rest)["seed"])


class OpenSpielSeat:
    """A bot that plays the moves of a pyspiel.Bot, which hears of every action that it did not choose."""

    def __init__(self, make: Make, chance: BotRng) -> None:
        self._make, self._chance = make, chance
        self._bot: Any = None
        self._of: tuple[str, int] = ("", -1)  # the game with its parameters, and the player
        self._known: list[int] = []  # actions that the bot knows of

    def begin_match(self, seed: int) -> None:
        """Begin with a new bot, whose random numbers come from the match's seed."""
        self._chance.begin_match(seed)
        self._bot = None

    def choose(self, position: Position) -> str:
        """Return the bot's move. Raises what the bot raises, and ValueError for an illegal action."""
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
    """Raise OptionError if this is not the name of an agent."""
    tree = _MCTS.fullmatch(agent)
    if tree and 1 <= int(tree[1] or 1000) <= _MOST:
        return
    if agent != "random" and (tree or not _OWN.fullmatch(agent)):
        raise OptionError(f"openspiel: --agent {agent[:60]!r}: write mcts:1000, random or MODULE:FUNCTION")


def _maker(agent: str) -> Make:
    """Return what makes the agent. Raises OptionError if its module or function does not exist."""
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
    except (Exception, SystemExit) as error:  # a module of the author's may fail in any way
        said = " ".join(str(error).split())[:300]
        raise OptionError(f"openspiel: --agent {agent}: {type(error).__name__}: {said}") from None
    if not callable(made):
        raise OptionError(f"openspiel: --agent {agent}: {module} has no function {name}")
    return lambda game, player, seed: _own(made, game, player, seed)


@contextlib.contextmanager
def _output_on_stderr() -> Iterator[None]:
    """Send what is printed in here to stderr, even by programs that are started: stdout belongs to the conversation."""
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
    """Make the author's bot; Python's own random numbers begin with the seed."""
    random.seed(seed)
    return made(game, player)
