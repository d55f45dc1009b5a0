"""Option types that click lacks, and options that many commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ggp.referee.match.sandbox.levels import LEVELS, NONE

_Command = TypeVar("_Command", bound=Callable[..., Any])


class NumberRange(click.FloatRange):
    """A number in a range. Unlike click's FloatRange it rejects NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert a text to a number, and reject NaN."""
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value} is not a number.", param, ctx)
        return number


def sandbox_option(who: str, bare: str | None = None) -> Callable[[_Command], _Command]:
    """Return the option `--sandbox LEVEL`.

    Args:
        who: Who is confined, for the help text.
        bare: The level if the option has no value; None if a value is required.
    """
    more: dict[str, Any] = {"is_flag": False, "flag_value": bare} if bare else {}
    more |= {"metavar": "LEVEL", "help": f"Sandbox for {who}: none, default or strict."}
    return click.option("--sandbox", type=click.Choice(LEVELS), default=NONE, show_default=True, **more)
