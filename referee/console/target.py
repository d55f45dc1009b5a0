"""What the console talks to: how it is started, again and again, and the line that is said to it first.

What it is, it is asked itself once it runs (see knowledge).
"""

from collections.abc import Callable
from typing import NamedTuple

from protocol.connection import PeerRole
from protocol.transports.transcript import Sink
from referee.config import Budgets
from referee.play.launch import Peer, Process, Remote, find_program
from referee.play.words import ENGINE, WordError, read_game, read_url


class Target(NamedTuple):
    """`open` starts a peer whose bytes the sink is told, and raises LaunchError; `name` is for people.

    `first` is a command that is sent after every start, "" for none, and `then` are more behind it.
    """

    name: str
    open: Callable[[Sink], Peer]
    first: str = ""
    then: tuple[str, ...] = ()


def read_target(words: tuple[str, ...], command: tuple[str, ...], url: str, budgets: Budgets) -> Target:
    """`GAME name=value …` of our engine, or a command line, or a url; none of them: our engine without a game.

    Raises WordError or LaunchError for what can be seen to be wrong without starting it.
    """
    if sum(map(bool, (words, command, url))) > 1:
        raise WordError("give a GAME, or -- COMMAND, or --connect URL, and not two of them")
    if url:
        return listening(url, PeerRole.BOT, budgets)
    if command:
        return process(" ".join(command), command, PeerRole.BOT, budgets)
    return process("ggp engine", ENGINE, PeerRole.ENGINE, budgets)._replace(first=_new_game(words))


def listening(url: str, role: PeerRole, budgets: Budgets) -> Target:
    """Who listens at an address. Raises WordError."""
    read_url(url)
    return Target(url, lambda sink: Remote(url, role, budgets, sink=sink))


def process(name: str, argv: tuple[str, ...], role: PeerRole, budgets: Budgets) -> Target:
    """A program that is started. Raises LaunchError."""
    find_program(argv[0])
    # Nobody plays against a clock here: a bot may use every core that there is.
    return Target(name, lambda sink: Process(argv, role, budgets, spread=True, sink=sink))


def _new_game(words: tuple[str, ...]) -> str:
    """`ggp-new GAME …`, also for `GAME,name=value` as other commands write it; "" without words."""
    if not words:
        return ""
    game, options = read_game(",".join(words))
    return " ".join(["ggp-new", game, *(f"{name}={value}" for name, value in options.items())])
