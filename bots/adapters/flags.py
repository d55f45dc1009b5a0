"""Reads the `--name value` options of an adapter's command line, with click."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from ggp.bots.options import flags_in
from ggp.engines.game import OptionError


def read_flags(bot: str, options: Sequence[click.Option], words: Sequence[str]) -> dict[str, Any]:
    """Return the value of each option by its name.

    Raises:
        OptionError: An option is unknown, repeated or invalid; the message is one line.
    """
    given = Counter(name for name, _ in flags_in(words, flag_names(options)))
    if repeated := [name for name, times in given.items() if name and times > 1]:
        raise OptionError(f"{bot}: {repeated[0]} is given twice")
    try:
        return click.Command(bot, params=[*options], add_help_option=False).make_context(bot, [*words]).params
    except click.MissingParameter as error:
        assert error.param is not None
        option = f"{error.param.opts[0]} {error.param.metavar}"
        raise OptionError(f"{bot}: {error.param.opts[0]} is missing: write {option} (ggp bot {bot} --help)") from None
    except click.UsageError as error:
        raise OptionError(f"{bot}: {' '.join(error.format_message().split())}") from None


def flag_names(options: Sequence[click.Option]) -> tuple[str, ...]:
    """Return the flags of these options, such as `--model`."""
    return tuple(option.opts[0] for option in options)


def flag_lines(options: Sequence[click.Option]) -> str:
    """Return one line of help for each option."""
    return "".join(f"  {f'{option.opts[0]} {option.metavar}':28}{option.help}\n" for option in options)
