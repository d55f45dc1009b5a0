"""The command line of `ggp bot llm`, parsed and checked. It never contains a key."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import click

from ggp.bots.adapters.flags import flag_names, read_flags
from ggp.bots.adapters.prompts import BOARDS, LEGAL
from ggp.bots.options import flags_in
from ggp.engines.game import OptionError

SAFE_WAY = (
    "every user of the machine can see a key in a command line, and records keep it: put it into an environment "
    "variable and name that variable, as in --key-env OPENAI_API_KEY"
)
_KEY_FLAG = re.compile(r"--?(x[-_])?(api[-_]?)?(key|token|secret|password|auth\w*)(=.*)?", re.IGNORECASE | re.DOTALL)
_KEY_LIKE = re.compile(
    r"(?<![A-Za-z0-9])((sk|gsk|xai|pk|rk|hf|ghp|nvapi|r8)[-_][\w-]{12,}|AIza[\w-]{20,}|Bearer\b.*)", re.DOTALL
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
_OURS = ("model", "messages", "stream", "n", "max_tokens", "temperature")
_MOST = 10**9


@dataclass(frozen=True, slots=True)
class LlmOptions:
    """The options of the command line; 0 means no limit."""

    model: str = ""
    url: str = ""
    key_env: str = ""
    legal: str = "count"
    board: str = "text"
    retries: int = 2
    give_up: str = "forfeit"
    max_tokens: int = 0
    tokens_per_game: int = 0
    temperature: float | None = None
    send: dict[str, Any] = field(default_factory=dict)
    seconds: float = 120.0
    per_minute: int = 0
    price: tuple[float, float] | None = None
    budget: float = 0.0

    def key(self, environment: Mapping[str, str] = os.environ) -> str:
        """Return the key, or "" without --key-env.

        Raises:
            OptionError: The variable is missing, or its value cannot be a key.
        """
        if not self.key_env:
            return ""
        key = environment.get(self.key_env, "").strip()
        if not key:
            raise OptionError(f"llm: {self.key_env} is not set: export it before you start the bot")
        if not (key.isascii() and key.isprintable()) or " " in key or len(key) > 4096:
            raise OptionError(f"llm: {self.key_env} does not contain a key, which is one word of ASCII")
        return key

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return the price of these tokens, 0.0 without --price."""
        if self.price is None:
            return 0.0
        return (tokens_in * self.price[0] + tokens_out * self.price[1]) / 1e6


def read_command(words: Sequence[str]) -> LlmOptions:
    """Parse the command line.

    Raises:
        OptionError: It is invalid. The message never repeats a word that may be a key.
    """
    for name, value in flags_in(words, flag_names(LLM_FLAGS)):
        if _is_key_like(name, value) or (not name and _KEY_FLAG.fullmatch(value)):
            raise OptionError(f"llm: {SAFE_WAY}")
    found = {name: value for name, value in read_flags("llm", LLM_FLAGS, words).items() if value is not None}
    options = LlmOptions(**found)
    if options.budget and options.price is None:
        raise OptionError("llm: --budget needs --price IN/OUT, the price of a million tokens")
    return options


def _is_key_like(name: str, value: str) -> bool:
    """Return True if a value looks like a key. A model's name may begin like one (`hf-internal-testing/tiny`)."""
    if name == "--model":
        return bool(_KEY_LIKE.fullmatch(value)) and any(char.isdigit() for char in value)
    return bool(_KEY_LIKE.search(value))


def _names_key(value: Any) -> bool:
    """Return True if a member, at any depth, is named like a key."""
    if isinstance(value, dict):
        return any(_KEY_FLAG.fullmatch(f"--{name}") or _names_key(each) for name, each in value.items())
    return isinstance(value, list) and any(map(_names_key, value))


def _number(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    if value is not None and value != value:  # NaN is within every range
        raise click.BadParameter("nan is not a number")
    return value


def _price(context: click.Context, option: click.Parameter, text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        read, written = (float(part) for part in text.split("/"))
    except ValueError:
        read = written = -1.0
    if not (0 <= read <= _MOST and 0 <= written <= _MOST):
        raise click.BadParameter(f"{text[:40]!r} is not IN/OUT, the price of a million tokens, such as 0.5/2")
    return read, written


def _url(context: click.Context, option: click.Parameter, text: str) -> str:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.username is not None or parts.password is not None or parts.query:
        raise click.BadParameter(f"leave out user, password and query: {SAFE_WAY}")
    if parts.scheme not in ("http", "https") or not host or port == 0 or parts.fragment or not text.isprintable():
        raise click.BadParameter(f"{text[:80]!r} is not an address such as http://127.0.0.1:8000/v1")
    return text


def _members(context: click.Context, option: click.Parameter, text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, dict):
        raise click.BadParameter("write a JSON object, such as '{\"seed\": 1}'")
    if ours := [name for name in members if name in _OURS]:
        raise click.BadParameter(f"{ours[0]} cannot be set here: it has its own option, or must not be sent")
    if _names_key(members):
        raise click.BadParameter(SAFE_WAY)
    return members


def _variable(context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    if text is not None and not _VARIABLE.fullmatch(text):
        raise click.BadParameter(f"write the name of a variable, not a key: {SAFE_WAY}")
    return text


def _model(context: click.Context, option: click.Parameter, text: str) -> str:
    if not text.isprintable() or len(text) > 200:
        raise click.BadParameter("a model's name must have at most 200 printable characters")
    return text


def _option(name: str, metavar: str, text: str, kind: Any = None, check: Any = None) -> click.Option:
    required = name in ("--model", "--url")
    return click.Option([name], metavar=metavar, help=text, type=kind, callback=check, required=required)


_pick, _whole, _real = click.Choice, click.IntRange, click.FloatRange

LLM_FLAGS = (
    _option("--model", "NAME", "Model, as the endpoint names it.", None, _model),
    _option("--url", "BASE", "Endpoint: http://127.0.0.1:8000/v1 or https://…/v1.", None, _url),
    _option("--key-env", "VAR", "Environment variable with the key.", None, _variable),
    _option("--legal", "none|count|list", "What the prompt says about legal moves. Default: count.", _pick([*LEGAL])),
    _option("--board", "text|picture|both", "How to show the board. Default: text.", _pick([*BOARDS])),
    _option("--retries", "N", "Further questions after an illegal answer. Default: 2.", _whole(0, 20)),
    _option(
        "--give-up",
        "forfeit|resign",
        "What to do if no answer was legal. Default: forfeit.",
        _pick(["forfeit", "resign"]),
    ),
    _option("--max-tokens", "N", "Most tokens of one answer. Default: the endpoint's limit.", _whole(1, _MOST)),
    _option("--tokens-per-game", "N", "Tokens for a game, which is lost when they are used up.", _whole(1, _MOST)),
    _option("--temperature", "T", "Sampling temperature. Default: the endpoint's.", _real(0, 10), _number),
    _option("--send", "JSON", "Further members of each request, such as '{\"seed\": 1}'.", None, _members),
    _option("--seconds", "S", "Seconds to wait for one answer. Default: 120.", _real(0.1, 86_400), _number),
    _option("--per-minute", "N", "Most requests a minute. Default: no limit.", _whole(1, 100_000)),
    _option("--price", "IN/OUT", "Price of a million tokens, to record the cost.", None, _price),
    _option(
        "--budget", "COST", "Most cost of all games of this process. Needs --price.", _real(0.000001, _MOST), _number
    ),
)
