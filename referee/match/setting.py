"""The setting of a series (game, options, time control) and its time-outs, and how they are parsed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from ggp.referee.match.clock import NO_LIMIT, SettingError, TimeControl

Seconds = Annotated[float, Meta(ge=0.001, le=3600)]


class Timeouts(Struct, frozen=True, forbid_unknown_fields=True):
    """Time-outs in seconds, apart from the clock (PROTOCOL §5); `[budget]` in configuration files."""

    start: Annotated[Seconds, Meta(description="Launch of a program, until it has named itself and its commands.")] = (
        60.0
    )
    command: Annotated[Seconds, Meta(description="Any other command.")] = 10.0
    new: Annotated[Seconds, Meta(description="A new game.")] = 30.0
    agreement: Annotated[Seconds, Meta(description="A list of dead stones.")] = 30.0
    quit: Annotated[Seconds, Meta(description="The answer to `quit`.")] = 3.0
    grace: Annotated[Seconds, Meta(description="Wait after `quit`, and again after SIGTERM.")] = 1.0
    stall: Annotated[Seconds, Meta(description="Silence after a bot's time is up, before it counts as stalled.")] = 10.0
    move: Annotated[Seconds, Meta(description="A move under the time control `none`.")] = NO_LIMIT / 1000

    @classmethod
    def parse(cls, words: tuple[str, ...]) -> "Timeouts":
        """Parse words of the form `name=seconds`.

        Raises:
            SettingError: A name or a value is invalid.
        """
        names = cls.__struct_fields__
        given: dict[str, float] = {}
        for word in words:
            name, _, text = word.partition("=")
            if name not in names:
                raise SettingError(f"unknown budget {name!r}: write one of {', '.join(names)}")
            try:
                given[name] = float(text)
            except ValueError:
                given[name] = -1.0
            if not 0.001 <= given[name] <= 3600:
                raise SettingError(f"budget {name}={text}: write seconds between 0.001 and 3600")
        return cls(**given)


TIMEOUTS = Timeouts()


@dataclass(frozen=True)
class Setting:
    """A game, the `options` that were given, the `defaults` of all its options, and the time control."""

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
