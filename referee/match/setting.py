"""What a series is played under: the game and its options, the control, the budgets; how they are read from words."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from ggp.referee.match.clock import NO_LIMIT, SettingError, TimeControl

Seconds = Annotated[float, Meta(ge=0.001, le=3600)]


class Timeouts(Struct, frozen=True, forbid_unknown_fields=True):
    """The time-outs in seconds, apart from the clock (PROTOCOL §5), as `[budget]` in files."""

    start: Annotated[Seconds, Meta(description="From the launch of a program to its name and commands.")] = 60.0
    command: Annotated[Seconds, Meta(description="Any other command.")] = 10.0
    new: Annotated[Seconds, Meta(description="A new game.")] = 30.0
    agreement: Annotated[Seconds, Meta(description="A list of dead stones.")] = 30.0
    quit: Annotated[Seconds, Meta(description="The answer to `quit`.")] = 3.0
    grace: Annotated[Seconds, Meta(description="After `quit`, and again after SIGTERM.")] = 1.0
    stall: Annotated[Seconds, Meta(description="After its clock, until a silent bot counts as stalled.")] = 10.0
    move: Annotated[Seconds, Meta(description="A move where the control is `none`.")] = NO_LIMIT / 1000

    @classmethod
    def parse(cls, words: tuple[str, ...]) -> "Timeouts":
        """Read words of `name=seconds`. SettingError names the key and what it may be."""
        names = cls.__struct_fields__
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


TIMEOUTS = Timeouts()


@dataclass(frozen=True)
class Setting:
    """A game with the `options` that were given, `defaults` for all it has, and the time control."""

    game: str
    options: dict[str, str]
    defaults: dict[str, str]
    control: TimeControl

    @cached_property
    def new_game(self) -> str:
        """Return the command that begins the game, for engines and native bots."""
        return new_game(self.game, self.options)

    @property
    def values(self) -> dict[str, str]:
        """Return every option with its value."""
        return self.defaults | self.options


def new_game(game: str, options: Mapping[str, str]) -> str:
    """Return `ggp-new GAME name=value …`."""
    return " ".join(["ggp-new", game, *(f"{name}={value}" for name, value in options.items())])
