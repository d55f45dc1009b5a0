"""Which games there are: the entry points `ggp.games` of every installed distribution. It knows no game by name."""

import sys

from ggp.engines.game import Game
from ggp.protocol.entry_points import EntryPoint, entry_points
from ggp.protocol.errors import CodedError, place_of

GROUP = "ggp.games"


class GameError(CodedError, LookupError):
    """A game that is not there or cannot be loaded; str() says which there are, or what failed."""

    code = "bad-game"


class Registry:
    """Games by name, each loaded when it is first asked for."""

    def __init__(self, only: Game | None = None) -> None:
        """Create it for the installed games, or `only` for this one."""
        self._only = only
        self._loaded: dict[str, Game] = {only.name: only} if only else {}

    def names(self) -> list[str]:
        """Return the sorted names of all games, and load none of them."""
        return [self._only.name] if self._only else sorted({point.name for point in entry_points(GROUP)})

    def load(self, name: str) -> Game:
        """Return the game of that name. Raises GameError."""
        if name not in self._loaded:
            self._loaded[name] = _load(name, self._find(name))
        return self._loaded[name]

    def _find(self, name: str) -> EntryPoint:
        found = [point for point in entry_points(GROUP) if point.name == name and not self._only]
        if not found:
            raise GameError(f"unknown game: {name[:40]}; there are: {' '.join(self.names())}", code="unknown-game")
        if len(found) > 1:
            owners = " and ".join(point.distribution for point in found)
            reason = f"more than one distribution has a game {name}: {owners}; uninstall one of them"
            raise GameError(reason, code="two-games")
        return found[0]


def _load(name: str, point: EntryPoint) -> Game:
    try:
        game = point.load()
    except Exception as error:  # a foreign module may fail in any way
        from traceback import print_exception

        print_exception(error, file=sys.stderr)
        said = f"{type(error).__name__}: {error}{place_of(error)}"
        raise GameError(f"cannot load game {name} from {point.module}: {said}; its traceback is on stderr") from None
    if not isinstance(game, Game) or game.name != name:
        raise GameError(
            f"cannot load game {name}: {point.module}:{point.attribute} is not an ggp.engines.game.Game of that name"
        )
    return game
