"""Our games as games of OpenSpiel, so that its algorithms run on them: `register()`, then `load_game("ggp_yugo")`.

OpenSpiel needs the numbers of all actions and of the longest game's plies in advance, as 32-bit integers. This excludes
Taigo, whose board is unbounded; Go from 5x5 on, whose longest game under superko has more plies; and `agreement=on`,
where a move may be any list of dead stones. Players are seats: player 0 is seat 1, whichever colour it has. The winner
gets 1, the loser -1.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel

from ggp.engines.game import Game, Options, OptionValue, State, read_options, shortest
from ggp.engines.registry import Registry

PREFIX = "ggp_"
LARGEST_GO = 4  # points on a side

_LONGEST: Mapping[str, Callable[[int], int]] = {
    "go": lambda cells: 2 * 3**cells,  # no board comes twice
    "laido": lambda cells: cells,
    "stigmergy": lambda cells: 5 * cells,
    "taugo": lambda cells: cells,  # every turn except a pass fills an empty point
    "yugo": lambda cells: cells * cells + cells,  # kings stay, and between two new kings pawns only fill points
}
"""The most plies that change a board of so many cells; a pass may come before each."""
_OTHERS = 10  # other plies: passes at the end, a bid, a swap, the button
_KINDS = {"king": 2}  # first plane of the tensor for these pieces; all others use 0 and 1


def register() -> list[str]:
    """Register our games and return their names in OpenSpiel. Idempotent."""
    registry, known = Registry(), set(pyspiel.registered_names())
    names = [name for name in registry.names() if name in _LONGEST]
    for name in names:
        if PREFIX + name not in known:
            kind = _type_of(registry.load(name))
            pyspiel.register_game(kind, _class_of(registry.load(name), kind))
    return [PREFIX + name for name in names]


def actions_of(game: Game, options: Options) -> list[str]:
    """Return every move that can occur in the game, sorted. An action's number is its index."""
    state = game.new(options)
    cells = [(cell["at"], cell["x"], cell["y"]) for cell in state.scene()["cells"]]
    words = {at for at, _, _ in cells} | {word for word in game.words if not word.endswith(":")}
    words |= set(state.legal_moves())  # includes all bids
    if game.compound:
        words |= _runs({(x, y): at for at, x, y in cells})
    return sorted(words)


class OurRules:
    """A game with its options and actions. Copies are the same object; it is pickled as its name and options."""

    def __init__(self, name: str, parameters: Mapping[str, Any]) -> None:
        """Load the game.

        Raises:
            OptionError: The options are impossible.
            ValueError: OpenSpiel cannot play with these options.
        """
        self.game, self.parameters = Registry().load(name), dict(parameters)
        words = [f"{option}={_text(value)}" for option, value in parameters.items()]
        self.options = read_options(self.game, words)
        if self.options.get("agreement") == "on":
            raise ValueError(f"{name} with agreement=on has too many possible moves: leave it off")
        if name == "go" and int(self.options["size"]) > LARGEST_GO:
            raise ValueError(f"games of go from 5x5 on are too long for OpenSpiel: use size=2 to size={LARGEST_GO}")
        self.words = actions_of(self.game, self.options)
        self.numbers = {word: number for number, word in enumerate(self.words)}
        self.cells = [cell["at"] for cell in self.game.new(self.options).scene()["cells"]]

    def __deepcopy__(self, memo: dict[int, Any]) -> "OurRules":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return OurRules, (self.game.name, self.parameters)


class OurPosition:
    """The content of a state, which OpenSpiel clones by deep copy and saves by pickling."""

    def __init__(self, rules: OurRules, moves: Sequence[str] = (), inner: State | None = None) -> None:
        self.rules, self.moves = rules, list(moves)
        self.inner = inner or rules.game.new(rules.options)
        for move in moves if inner is None else ():
            self.inner.play(move)

    def __deepcopy__(self, memo: dict[int, Any]) -> "OurPosition":
        return OurPosition(self.rules, self.moves, self.inner.copy())

    def __reduce__(self) -> tuple[Any, ...]:
        return OurPosition, (self.rules, self.moves)


class GameOfOurs(pyspiel.Game):  # type: ignore[misc]
    """One of our games with its options, as OpenSpiel's Game."""

    def __init__(self, rules: OurRules, kind: Any) -> None:
        info = pyspiel.GameInfo(
            num_distinct_actions=len(rules.words),
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=2 * _LONGEST[rules.game.name](len(rules.cells)) + _OTHERS,
        )
        super().__init__(kind, info, rules.parameters)
        self.rules = rules

    def new_initial_state(self, state: Any = None) -> "StateOfOurs":
        """Return the first position."""
        return StateOfOurs(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "PiecesObserver":
        """Return an observer of the pieces."""
        return PiecesObserver(self.rules)


class StateOfOurs(pyspiel.State):  # type: ignore[misc]
    """A position of one of our games, as OpenSpiel's State."""

    def __init__(self, game: GameOfOurs) -> None:
        super().__init__(game)
        self.position = OurPosition(game.rules)

    @property
    def inner(self) -> State:
        """Return the position as a State of ggp.engines.game."""
        return self.position.inner

    def current_player(self) -> int:
        """Return the number of the player to act."""
        seat = self.inner.seat
        return seat - 1 if seat else int(pyspiel.PlayerId.TERMINAL)

    def is_terminal(self) -> bool:
        """Return True if the game is over."""
        return self.inner.phase == "over"

    def returns(self) -> list[float]:
        """Return 1 for the winner, -1 for the loser, 0 for a draw."""
        winner = self.inner.winner
        return [0.0, 0.0] if not winner else [1.0, -1.0] if winner == 1 else [-1.0, 1.0]

    def _legal_actions(self, player: int) -> list[int]:
        numbers = self.position.rules.numbers
        return sorted(numbers[move] for move in self.inner.legal_moves())

    def _apply_action(self, action: int) -> None:
        self.position.moves.append(self.inner.play(self.position.rules.words[action]))

    def _action_to_string(self, player: int, action: int) -> str:
        return self.position.rules.words[action]

    def __str__(self) -> str:
        from ggp.protocol.drawing import scene, text

        drawn = scene.as_scene(self.inner.scene())
        return "\n".join([text.draw(drawn), *text.describe(drawn)])


class PiecesObserver:
    """An observer with five planes: black and white pieces, black and white kings, and 1s if Black is to move."""

    def __init__(self, rules: OurRules) -> None:
        self._places = {at: number for number, at in enumerate(rules.cells)}
        self.tensor = np.zeros(5 * len(self._places), np.float32)
        self.dict = {"observation": self.tensor.reshape(5, len(self._places))}

    def set_from(self, state: StateOfOurs, player: int) -> None:
        """Fill the planes from a position."""
        planes = self.dict["observation"]
        planes.fill(0)
        for piece in state.inner.scene()["pieces"]:
            plane = _KINDS.get(piece["kind"], 0) + (piece["colour"] == "white")
            planes[plane, self._places[piece["at"]]] = 1
        planes[4].fill(state.inner.to_play == "black")

    def string_from(self, state: StateOfOurs, player: int) -> str:
        """Return the position as text."""
        return str(state)


def _type_of(game: Game) -> Any:
    return pyspiel.GameType(
        short_name=PREFIX + game.name,
        long_name=game.name.capitalize(),
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=False,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={option.name: _value(option.name, game) for option in game.options},
    )


def _value(name: str, game: Game) -> OptionValue:
    """Return the default as a parameter of OpenSpiel; for Go's board this is the largest possible size."""
    if (game.name, name) == ("go", "size"):
        return LARGEST_GO
    option = next(option for option in game.options if option.name == name)
    return option.parse(option.default)


def _class_of(game: Game, kind: Any) -> type[GameOfOurs]:
    """Return the class that OpenSpiel calls with the parameters.

    It must be a class: OpenSpiel releases it only after the interpreter has ended, which would crash with a function.
    """
    defaults = {option.name: _value(option.name, game) for option in game.options}

    class Registered(GameOfOurs):
        def __init__(self, params: Mapping[str, Any] | None = None) -> None:
            super().__init__(OurRules(game.name, defaults | dict(params or {})), kind)

    return Registered


def _text(value: object) -> str:
    return shortest(value) if isinstance(value, float) else str(value)


def _runs(cells: Mapping[tuple[float, float], str]) -> set[str]:
    """Return every straight row of neighbouring cells in both directions, as `D5+D6+D7`."""
    found = set()
    for x, y in cells:
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            run, at = [cells[x, y]], (x + dx, y + dy)
            while at in cells:
                run.append(cells[at])
                found.add("+".join(run))
                at = at[0] + dx, at[1] + dy
    return found
