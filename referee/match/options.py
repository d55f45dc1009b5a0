"""Types of options that click does not have, and options that many commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ggp.referee.match.sandbox.levels import LEVELS, NONE

_Command = TypeVar("_Command", bound=Callable[..., Any])


class NumberRange(click.FloatRange):
    """A number of a range. For click, NaN is one of every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value} is no number.", param, ctx)
        return number


def sandbox_option(who: str, bare: str | None = None) -> Callable[[_Command], _Command]:
    """Return the option `--sandbox LEVEL`; `who` is confined. `bare`: the level of the option without a word."""
    more: dict[str, Any] = {"is_flag": False, "flag_value": bare} if bare else {}
    more |= {"metavar": "LEVEL", "help": f"Sandbox for {who}: none, default or strict."}
    return click.option("--sandbox", type=click.Choice(LEVELS), default=NONE, show_default=True, **more)
