"""`ggp engine openspiel`: OpenSpiel's games for two players who move in turn, without chance or hidden information.

One adapter serves all of them; no line is specific to one game. Seat 1, which is Black, is the player who acts first. A
player who acts twice in a row plays two plies.
"""

import random
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Self

import pyspiel

from ggp.engines import gtpgo
from ggp.engines.adapters.openspiel_options import Values, check_values, options_of, values_of
from ggp.engines.adapters.openspiel_scene import Drawing, text_of
from ggp.engines.adapters.openspiel_words import MoveWords, string_of
from ggp.engines.game import Game, IllegalMove, Option, Options, Playouts, Policy, Scene, shortest
from ggp.engines.python_state import PlainState
from ggp.engines.registry import GameError, Registry
from ggp.engines.session import Handler, Session, checked
from ggp.protocol.entry_points import version

NAME = "OpenSpiel"
_TYPE = pyspiel.GameType
_EXAMPLES = 3  # legal moves that an error message names


class OpenSpielRegistry(Registry):
    """The games of the installed OpenSpiel that can be played here."""

    def __init__(self) -> None:
        super().__init__()
        self._types = {kind.short_name: kind for kind in pyspiel.registered_games()}

    def names(self) -> list[str]:
        """Return the sorted names of the playable games."""
        return sorted(name for name, kind in self._types.items() if not _why_not(kind))

    def load(self, name: str) -> Game:
        """Return a game by name.

        Raises:
            GameError: There is no such game, or it cannot be played here.
        """
        if name not in self._loaded:
            kind = self._types.get(name)
            if kind is None:
                raise GameError(
                    f"unknown game: {name[:40]}; known games: {' '.join(self.names())}", code="unknown-game"
                )
            if reason := _why_not(kind):
                raise GameError(f"{name} of OpenSpiel cannot be played here: {reason}", code="not-for-two")
            self._loaded[name] = OpenSpielGame(kind)
        return self._loaded[name]


def _why_not(kind: Any) -> str:
    """Return why a game of OpenSpiel cannot be played here, or "" if it can."""
    if kind.dynamics != _TYPE.Dynamics.SEQUENTIAL:
        together = kind.dynamics == _TYPE.Dynamics.SIMULTANEOUS
        return "both players move at the same time" if together else "it is a mean-field game without single players"
    if kind.chance_mode != _TYPE.ChanceMode.DETERMINISTIC:
        return "it has chance, such as dice or cards"
    if kind.information != _TYPE.Information.PERFECT_INFORMATION:
        return "it has hidden information"
    if not kind.min_num_players <= 2 <= kind.max_num_players:
        return f"it is for {kind.min_num_players} to {kind.max_num_players} players, not for two"
    if not kind.default_loadable:
        return "it cannot be loaded without a file or other parameters"
    return ""


class LoadedGame:
    """A game with its parameters, shared by its positions."""

    def __init__(self, name: str, values: Values) -> None:
        self.name = name
        self.game = pyspiel.load_game(name, values)
        self.first: int = self.game.new_initial_state().current_player()
        self.sides = [("black", 1), ("white", 2)] if self.first == 0 else [("white", 2), ("black", 1)]
        self.plain = self.game.max_utility() == 1.0  # whether the returns only show who won
        self.max_plies = int(self.game.max_game_length())
        self.words = MoveWords(self.game)

    @cached_property
    def drawing(self) -> Drawing:
        """Return how positions of this game are drawn."""
        return Drawing(self.game, self.first)

    def result(self, returns: list[float]) -> str:
        """Return the result for OpenSpiel's returns, such as `B+`."""
        margin = returns[self.first] - returns[1 - self.first]
        if margin == 0:
            return "0"
        size = abs(returns[self.first])
        return ("B+" if margin > 0 else "W+") + ("" if (self.plain and size == 1.0) or not size else shortest(size))


class OpenSpielState(PlainState):
    """A position that OpenSpiel keeps. Facts that are read after each ply are attributes, for speed."""

    phase: str = "play"
    to_play: str = "none"
    seat: int = 0
    _player: int

    def __init__(self, loaded: LoadedGame, state: Any) -> None:
        self._loaded, self.inner = loaded, state
        self._table: dict[str, tuple[int, str]] | None = None
        self._look()

    def _look(self) -> None:
        """Update whose turn it is after a change."""
        self._player = player = self.inner.current_player()
        self._table = None
        if player >= 0:
            self.to_play, self.seat = self._loaded.sides[player]
        else:
            self.to_play, self.seat, self.phase = "none", 0, "over"
            self.result = self._loaded.result(self.inner.returns())

    @property
    def max_plies(self) -> int:
        """Return the most plies that a game can have."""
        return self._loaded.max_plies

    def play(self, move: str) -> str:
        """Play a move; see State.play."""
        action, word = self._find(move)
        self.inner.apply_action(action)
        self.ply += 1
        self._look()
        return word

    def why_illegal(self, move: str) -> str:
        """Return the reason why a move is illegal, or ""."""
        try:
            self._find(move)
        except IllegalMove as error:
            return str(error)
        return ""

    def legal_moves(self) -> list[str]:
        """Return the legal moves as words, sorted."""
        return [] if self._player < 0 else sorted(self._legal())

    def actions(self) -> dict[str, int]:
        """Return OpenSpiel's number of each legal move."""
        return {word: action for word, (action, _) in self._legal().items()}

    def strings(self) -> dict[str, str]:
        """Return OpenSpiel's own string of each legal move."""
        return {word: string for word, (_, string) in self._legal().items()}

    def make(self, move: str) -> None:
        """Play a legal move."""
        self.play(move)

    def key(self) -> str:
        """Return OpenSpiel's text of the position."""
        return self.text()

    def text(self) -> str:
        """Return OpenSpiel's text of the position, without colours."""
        return text_of(self.inner)

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.inner = self.inner.clone()
        return twin

    def scene(self) -> Scene:
        """Return the drawing; see State.scene."""
        return self._loaded.drawing.scene(self.inner)

    def groups(self) -> list[list[str]]:
        """Return []: OpenSpiel does not know groups."""
        return []

    def perft(self, depth: int) -> int:
        """Return the number of legal move sequences of that length."""
        return _perft(self.inner, depth)

    def playouts(self, n: int, seed: int, policy: Policy) -> Playouts:
        """Play random games; both policies are uniform here."""
        chance, plies, wins = random.Random(seed), 0, [0, 0, 0]
        for _ in range(n):
            state = self.inner.clone()
            plies += _run_out(state, chance)
            wins["BW0".index(self._loaded.result(state.returns())[0])] += 1
        return Playouts(plies, wins[0], wins[1], wins[2])

    def play_out(self, seed: int, policy: Policy) -> None:
        """Play at random to the end."""
        self.ply += _run_out(self.inner, random.Random(seed))
        self._look()

    def serialized(self) -> str:
        """Return the game and position as text for pyspiel.deserialize_game_and_state."""
        text: str = pyspiel.serialize_game_and_state(self._loaded.game, self.inner)
        return text

    def _quickly(self, player: int, word: str) -> int | None:
        """Find the legal action of a word without making the words of all others. Return None if that fails."""
        inner, words = self.inner, self._loaded.words
        legal = inner.legal_actions()
        if (kept := words.known.get((player, word))) is not None:
            string, actions = kept
            for action in actions:
                if action in legal and inner.action_to_string(player, action) == string:
                    return action
        string = string_of(word)
        if words.word(player, string) != word:
            return None
        try:
            action = inner.string_to_action(player, string)
        except Exception:  # not the string of a legal action
            return None
        if action not in legal or inner.action_to_string(player, action) != string:
            return None
        words.keep(player, word, string, action)
        return int(action)

    def _legal(self) -> dict[str, tuple[int, str]]:
        if self._table is None:
            self._table = self._loaded.words.table(self.inner) if self._player >= 0 else {}
        return self._table

    def _find(self, move: str) -> tuple[int, str]:
        """Return the action that a move means, and its word.

        The first match counts: the word, OpenSpiel's own string, either of them in any letter case, and a string up to
        its `#`, which begins a comment on the wire.

        Raises:
            IllegalMove: No legal move matches, or several do.
        """
        player = self._player
        if player < 0:
            raise IllegalMove("the game is over")
        words = self._loaded.words
        if not words.collides and self._table is None and (action := self._quickly(player, move)) is not None:
            return action, move
        table = self._legal()
        if (found := table.get(move)) is not None:
            return found[0], move
        folded = move.lower()
        tests: tuple[Callable[[str, str], bool], ...] = (
            lambda word, string: string == move,
            lambda word, string: word.lower() == folded,
            lambda word, string: string.lower() == folded,
            lambda word, string: string.partition("#")[0].rstrip() == move,
        )
        for test in tests:
            fitting = [(action, word) for word, (action, string) in table.items() if test(word, string)]
            if len(fitting) == 1:
                return fitting[0]
            if fitting:
                several = " or ".join(word for _, word in fitting[:_EXAMPLES])
                raise IllegalMove(f"{move[:40]} may be {several}: write one of them")
        few = sorted(table)[:_EXAMPLES]
        raise IllegalMove(f"{move[:40]} is not one of the {len(table)} legal moves, such as {' '.join(few)}"[:300])


class OpenSpielGame(Game):
    """A game of OpenSpiel. It keeps the loaded game of given parameters, because every match starts it again."""

    words = ()

    def __init__(self, kind: Any) -> None:
        self.name = str(kind.short_name)
        self._kind = kind
        self._parameters: Mapping[str, Any] = dict(kind.parameter_specification)
        self._loaded: dict[tuple[tuple[str, Any], ...], LoadedGame] = {}

    @cached_property
    def options(self) -> tuple[Option, ...]:  # type: ignore[override]
        """Return the parameters of the game as options."""
        return options_of(self.name, self._parameters)

    @property
    def rules(self) -> str:  # type: ignore[override]
        """Return what OpenSpiel says about the game, as it has no text of the rules."""
        loaded = self._load({})
        state = OpenSpielState(loaded, loaded.game.new_initial_state())
        first = state.legal_moves()[:5]
        own = "; ".join(state.strings()[word] for word in first)
        text = [line for line in state.text().splitlines() if line.strip()]
        return "\n".join(
            [
                f"# {self._kind.long_name}",
                f"The game {self.name} of OpenSpiel {version('open_spiel')}, which has its rules only as code.",
                "Two players move in turn, as the status line says; one may move twice. Seat 1, Black, acts first.",
                f"A game has at most {loaded.max_plies} plies.",
                f"Moves are OpenSpiel's own names of actions: {own}",
                f"As words, without blanks: {' '.join(first)}",
                "The first position:",
                *text,
            ]
        )

    def new(self, options: Options) -> OpenSpielState:
        """Return the first position."""
        values = values_of(self._parameters, options)
        if tuple(values.items()) not in self._loaded:  # checked only once, because every ggp-undo starts the game again
            check_values(self.name, values)
        loaded = self._load(values)
        return OpenSpielState(loaded, loaded.game.new_initial_state())

    def _load(self, values: Values) -> LoadedGame:
        key = tuple(values.items())
        if key not in self._loaded:
            if len(self._loaded) > 20:
                self._loaded.clear()
            self._loaded[key] = LoadedGame(self.name, values)
        return self._loaded[key]


def extend(session: Session, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
    """Return the commands of an engine, with OpenSpiel's versions of some."""

    def need() -> OpenSpielState:
        state = session.need().state
        assert isinstance(state, OpenSpielState)
        return state

    def new(arguments: list[str]) -> str:
        return f"{handlers['ggp-new'](arguments)} max_plies={need().max_plies}"

    def joined(handler: Handler) -> Handler:
        """Accept OpenSpiel's own strings, which have blanks."""
        return lambda words: handler([words[0], " ".join(words[1:])] if len(words) > 2 else words)

    def showboard(arguments: list[str]) -> str:
        state = need()
        if state.scene()["cells"]:
            return handlers["showboard"](arguments)
        lines = [line.rstrip() for line in state.text().splitlines() if line.strip()]
        return "\n" + "\n".join(lines)

    table = {name: handler for name, handler in handlers.items() if name not in gtpgo.NAMES}
    return {
        **table,
        "name": lambda arguments: NAME,
        "version": lambda arguments: version("open_spiel"),
        "ggp-new": new,
        "ggp-play": joined(handlers["ggp-play"]),
        "ggp-legal": lambda words: handlers["ggp-legal"]([" ".join(words)] if words else words),
        "play": joined(handlers["play"]),
        "showboard": showboard,
        **checked(
            {
                "openspiel-state": (0, 0, lambda arguments: _one_line(need().serialized())),
                "openspiel-moves": (0, 0, lambda arguments: _one_line(need().strings())),
            }
        ),
    }


def _one_line(value: object) -> str:
    import json

    return json.dumps(value)


def _perft(state: Any, depth: int) -> int:
    if depth == 0:
        return 1
    if state.is_terminal():
        return 0
    actions = state.legal_actions()
    return len(actions) if depth == 1 else sum(_perft(state.child(action), depth - 1) for action in actions)


def _run_out(state: Any, chance: random.Random) -> int:
    """Play random actions to the end and return their number."""
    plies = 0
    while not state.is_terminal():
        actions = state.legal_actions()
        state.apply_action(actions[int(chance.random() * len(actions))])
        plies += 1
    return plies
