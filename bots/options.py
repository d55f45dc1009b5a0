"""A bot's own options, `name=value` words after its name; not those of a game (engines.game has them)."""

from collections.abc import Iterable, Mapping, Sequence

from engines.game import Option, OptionError

SEED = Option("seed", "int", "0", "0..1000000000")
"""0: another seed for every process. What `set_random_seed` says of a match is combined with it (bots.chance)."""


def parse_options(bot: str, options: Sequence[Option], words: Iterable[str]) -> Mapping[str, int | str]:
    """The words -> a value for every option. Raises OptionError, which names the bot's options."""
    known = {option.name: option for option in options}
    given: dict[str, int | str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise OptionError(f"{bot}: {word[:40]}: write options as name=value")
        if name not in known:
            raise OptionError(f"{bot} has no option {name[:40]}; it has: {' '.join(known) or 'none'}")
        if name in given:
            raise OptionError(f"{bot}: {name} is given twice")
        given[name] = _value(known[name], text)
    return {name: _value(option, option.default) for name, option in known.items()} | given


def _value(option: Option, text: str) -> int | str:
    value = option.parse(text)
    return value if isinstance(value, str) else int(value)
