"""What a series is played under: the game and its options, the control, the budgets; how they are read from words."""

from dataclasses import dataclass, fields
from functools import cached_property

from referee.play.clock import SettingError, TimeControl


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time-outs in seconds, apart from the clock (PROTOCOL §5); all configurable."""

    start: float = 60.0  # from launch to the answers about name and commands
    command: float = 10.0  # any other command
    new: float = 30.0  # a new game
    agreement: float = 30.0  # a list of dead stones
    quit: float = 3.0  # the answer to quit
    grace: float = 1.0  # after quit, and again after SIGTERM
    stall: float = 10.0  # after the clock, before a silent bot counts as stalled

    @classmethod
    def parse(cls, words: tuple[str, ...]) -> "Timeouts":
        """`name=seconds` words -> Budgets. SettingError names the key and what it may be."""
        names = [field.name for field in fields(cls)]
        given: dict[str, float] = {}
        for word in words:
            name, _, text = word.partition("=")
            if name not in names:
                raise SettingError(f"budget {name!r} is none of {', '.join(names)}")
            try:
                given[name] = float(text)
            except ValueError:
                given[name] = -1.0
            if not 0.001 <= given[name] <= 3600:
                raise SettingError(f"budget {name}: {text!r} is no number of seconds between 0.001 and 3600")
        return cls(**given)


@dataclass(frozen=True)
class Setting:
    """A game with the `options` that were given, `defaults` for all it has, and the time control."""

    game: str
    options: dict[str, str]
    defaults: dict[str, str]
    control: TimeControl

    @cached_property
    def new_game(self) -> str:
        """`ggp-new GAME name=value …`, for engines and native bots."""
        return " ".join(["ggp-new", self.game, *(f"{name}={value}" for name, value in self.options.items())])

    @property
    def values(self) -> dict[str, str]:
        """Every option with its value."""
        return self.defaults | self.options
