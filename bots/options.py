"""The command line of a bot: `name=value` for built-in bots, `--connect` and others for scripts of the SDK.

The options of a game are in ggp.engines.game.
"""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import NoReturn

from ggp.engines.game import Option, OptionError

BAD_USAGE = 2
_VALUES = {
    "--connect": ("connect", "tcp://HOST:PORT[,…]", "Dial this lobby, at one of its addresses, and play."),
    "--key": ("key", "FILE", "Your key pair for --connect (see ggp keys new)."),
    "--server-key": ("server_key", "KEY|FILE", "The lobby's public key, for --connect."),
    "--name": ("name", "NAME", "The bot's name at the lobby, for --connect."),
    "--engine": ("engine", "COMMAND|URL", "Also play the games of this engine."),
    "--bind": ("bind", "URL", "Listen at tcp://127.0.0.1:PORT or ipc://FILE."),
}
_NO_CHALLENGES = "--no-challenges"


@dataclass(frozen=True, slots=True)
class ScriptOptions:
    """The options of a script of the SDK.

    Attributes:
        connect: Addresses of a lobby to dial, "" for none.
        key: Key file for the lobby.
        server_key: The lobby's public key.
        name: The bot's name at the lobby.
        challenges: Whether others may challenge it there.
        bind: Address to listen at, "" for none.
        engine: An engine whose games it also plays.
    """

    connect: str = ""
    key: str = ""
    server_key: str = ""
    name: str = ""
    challenges: bool = True
    bind: str = ""
    engine: str = ""

    def with_environment(self, environment: Mapping[str, str]) -> "ScriptOptions":
        """Return the options with GGP_CONNECT, GGP_KEY, GGP_SERVER_KEY and GGP_NAME as defaults, unless it listens."""
        if self.bind:
            return self
        return replace(
            self,
            connect=self.connect or environment.get("GGP_CONNECT", ""),
            key=self.key or environment.get("GGP_KEY", ""),
            server_key=self.server_key or environment.get("GGP_SERVER_KEY", ""),
            name=self.name or environment.get("GGP_NAME", ""),
        )


def read_options(bot: str, words: Sequence[str], said: ScriptOptions) -> ScriptOptions:
    """Return `said`, updated with the options of the command line.

    It exits with status 2 and one line for an unknown word, and with 0 after `--help`.
    """
    found: dict[str, str | bool] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word in ("-h", "--help"):
            print(_usage())
            raise SystemExit(0)
        if word == _NO_CHALLENGES:
            found["challenges"] = False
        elif name in _VALUES:
            value = value if equals else next(rest, "")
            if not value or (not equals and value.startswith("--")):
                example = "needs an address, as in --connect tcp://127.0.0.1:5500"
                _wrong(bot, f"{name} {example if name == '--connect' else f'needs {_VALUES[name][1]}'}")
            found[_VALUES[name][0]] = value
        else:
            near = get_close_matches(name, [*_VALUES, _NO_CHALLENGES, "--help"], 1)
            _wrong(bot, f"unknown argument: {word[:60]}{f'; did you mean {near[0]}?' if near else ''}")
    if "bind" in found and "connect" in found:
        _wrong(bot, "--bind listens and --connect dials: choose one")
    if "bind" in found:
        said = replace(said, connect="")
    return replace(said, **found)  # type: ignore[arg-type]


def _wrong(bot: str, text: str) -> NoReturn:
    print(f"{bot}: {text} ({_script()} --help)", file=sys.stderr)
    raise SystemExit(BAD_USAGE)


def _script() -> str:
    """Return the name of the script that the user started. The bot's name is not a command."""
    return sys.argv[0].rpartition("/")[2]


def _usage() -> str:
    rows = [f"  {f'{word} {value}':28}{text}" for word, (_, value, text) in _VALUES.items()]
    rows += [
        f"  {_NO_CHALLENGES:28}Play only rated games, for --connect.",
        f"  {'--gogui GAME [name=value …]':28}Play this game under GoGui.",
        f"  {'--help':28}Show this text.",
    ]
    head = f"Usage: {_script()} [OPTION …]\n\nA bot of the General Game Protocol. It answers commands on stdin, or:\n"
    tail = "\nThe environment variables GGP_CONNECT, GGP_KEY, GGP_SERVER_KEY and GGP_NAME set the defaults."
    return "\n".join([head, *rows, tail])


def flags_in(words: Sequence[str], flags: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield (`--flag`, value) for these flags, and ("", word) for any other word.

    Both `--flag value` and `--flag=value` are accepted. The value is "" if nothing follows.
    """
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in flags:
            yield name, value if equals else next(rest, "")
        else:
            yield "", word


ENGINE = "--engine"


def split_engines(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a command line into the bot's own words and the values of `--engine`.

    Words after `--` belong to the bot.

    Raises:
        ValueError: `--engine` has no value.
    """
    rest: list[str] = []
    engines: list[str] = []
    given = iter(words)
    for word in given:
        name, equals, value = word.partition("=")
        if word == "--":
            return [*rest, word, *given], engines
        if name != ENGINE:
            rest.append(word)
            continue
        value = value if equals else next(given, "")
        if not value.strip() or (not equals and value.startswith("--")):
            raise ValueError(f"{ENGINE} needs a command line or an address, as in {ENGINE} ./hexapawn")
        engines.append(value)
    return rest, engines


SEED = Option("seed", "int", "0", "0..1000000000")
"""The bot's own seed, 0 for a new one in each process; `set_random_seed` is combined with it (ggp.bots.rng)."""


def parse_options(bot: str, options: Sequence[Option], words: Iterable[str]) -> Mapping[str, int | str]:
    """Return a value for every option.

    Raises:
        OptionError: An option is unknown, repeated or invalid.
    """
    known = {option.name: option for option in options}
    given: dict[str, int | str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise OptionError(f"{bot}: {word[:40]} is not an option: write name=value")
        if name not in known:
            raise OptionError(f"{bot} has no option {name[:40]}; its options are: {' '.join(known) or 'none'}")
        if name in given:
            raise OptionError(f"{bot}: {name} is given twice")
        given[name] = _value(known[name], text)
    return {name: _value(option, option.default) for name, option in known.items()} | given


def _value(option: Option, text: str) -> int | str:
    value = option.parse(text)
    return value if isinstance(value, str) else int(value)
