"""Finds the games: the entry points `ggp.games` of all installed distributions. It knows no game by name."""

import sys

from ggp.engines.game import Game
from ggp.protocol.entry_points import EntryPoint, entry_points
from ggp.protocol.errors import CodedError, place_of

GROUP = "ggp.games"


class GameError(CodedError, LookupError):
    """A game that does not exist or cannot be loaded; str() lists the games or gives the reason."""

    code = "bad-game"


class Registry:
    """A table of games by name. Each is loaded when it is first needed."""

    def __init__(self, only: Game | None = None) -> None:
        """Use the installed games, or only the game given."""
        self._only = only
        self._loaded: dict[str, Game] = {only.name: only} if only else {}

    def names(self) -> list[str]:
        """Return the sorted names of all games without loading any."""
        return [self._only.name] if self._only else sorted({point.name for point in entry_points(GROUP)})

    def load(self, name: str) -> Game:
        """Return the game of that name.

        Raises:
            GameError: There is no such game, or it cannot be loaded.
        """
        if name not in self._loaded:
            self._loaded[name] = _load(name, self._find(name))
        return self._loaded[name]

    def _find(self, name: str) -> EntryPoint:
        found = [point for point in entry_points(GROUP) if point.name == name and not self._only]
        if not found:
            raise GameError(f"unknown game: {name[:40]}; known games: {' '.join(self.names())}", code="unknown-game")
        if len(found) > 1:
            owners = " and ".join(point.distribution for point in found)
            reason = f"more than one distribution has a game {name}: {owners}; uninstall one of them"
            raise GameError(reason, code="two-games")
        return found[0]


def _load(name: str, point: EntryPoint) -> Game:
    try:
        game = point.load()
    except Exception as error:  # somebody else's module may fail in any way
        from traceback import print_exception

        print_exception(error, file=sys.stderr)
        said = f"{type(error).__name__}: {error}{place_of(error)}"
        raise GameError(f"cannot load game {name} from {point.module}: {said}; its traceback is on stderr") from None
    if not isinstance(game, Game) or game.name != name:
        raise GameError(
            f"cannot load game {name}: {point.module}:{point.attribute} is not a ggp.engines.game.Game of that name"
        )
    return game
