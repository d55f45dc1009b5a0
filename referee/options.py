"""Types of options that click does not have."""

from typing import Any

import click


class NumberRange(click.FloatRange):
    """A number of a range. For click, NaN is one of every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value} is no number.", param, ctx)
        return number
