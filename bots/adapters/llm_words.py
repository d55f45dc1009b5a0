"""The command line of `ggp bot llm`, read and checked. A key never stands in it."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from ggp.bots.adapters.prompts import BOARDS, LEGAL
from ggp.bots.options import flags_in
from ggp.engines.game import OptionError

GIVE_UP = ("forfeit", "resign")
FLAGS = {
    "--model": ("NAME", "the model, as the endpoint names it"),
    "--url": ("BASE", "the endpoint: http://127.0.0.1:8000/v1 or https://…/v1"),
    "--key-env": ("VAR", "the variable of the environment that holds the key"),
    "--legal": ("none|count|list", "what is said of the legal moves; default: count"),
    "--board": ("text|picture|both", "how the board is shown; default: text"),
    "--retries": ("N", "how often an illegal answer is asked again; default: 2"),
    "--give-up": ("forfeit|resign", "what follows when none was legal; default: forfeit"),
    "--max-tokens": ("N", "of one answer; default: as the endpoint has it"),
    "--tokens-per-game": ("N", "the clock by tokens: the game is lost when they are used up"),
    "--temperature": ("T", "default: as the endpoint has it"),
    "--send": ("JSON", "further members of each request, such as '{\"seed\": 1}'"),
    "--seconds": ("S", "the longest wait for one answer; default: 120"),
    "--per-minute": ("N", "requests; default: no limit"),
    "--price": ("IN/OUT", "of a million tokens, to record the cost"),
    "--budget": ("COST", "of all games of this process; needs --price"),
}
SAFE_WAY = (
    "a key in a command line is seen by every user of the machine and kept in records: put it into a variable of the "
    "environment and name that, as in --key-env OPENAI_API_KEY"
)
_KEY_FLAG = re.compile(r"--?(x[-_])?(api[-_]?)?(key|token|secret|password|auth\w*)(=.*)?", re.IGNORECASE | re.DOTALL)
_KEY_LIKE = re.compile(
    r"(?<![A-Za-z0-9])((sk|gsk|xai|pk|rk|hf|ghp|nvapi|r8)[-_][\w-]{12,}|AIza[\w-]{20,}|Bearer\b.*)", re.DOTALL
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
_OURS = ("model", "messages", "stream", "n", "max_tokens", "temperature")
_REACH = 10**9


@dataclass(frozen=True, slots=True)
class LlmWords:
    """What the command line says; 0 is no limit."""

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
        """ "" without --key-env. Raises OptionError where the variable is missing or can be no key."""
        if not self.key_env:
            return ""
        key = environment.get(self.key_env, "").strip()
        if not key:
            raise OptionError(f"llm: the environment has no {self.key_env}: export it before the bot is started")
        if not (key.isascii() and key.isprintable()) or " " in key or len(key) > 4096:
            raise OptionError(f"llm: what {self.key_env} holds is no key: it is one word of ASCII")
        return key

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        if self.price is None:
            return 0.0
        return (tokens_in * self.price[0] + tokens_out * self.price[1]) / 1e6


def read_words(words: Sequence[str]) -> LlmWords:
    """Raises OptionError, in which no word that may be a key is repeated."""
    said = LlmWords()
    given: set[str] = set()
    for name, value in flags_in(words, FLAGS):
        if not name:
            raise _unknown(value.partition("=")[0])
        if _is_key_like(name, value):
            raise OptionError(f"llm: {name}: {SAFE_WAY}")
        if not value:
            raise OptionError(f"llm: {name}: {FLAGS[name][0]} follows")
        if name in given:
            raise OptionError(f"llm: {name} is given twice")
        given.add(name)
        said = replace(said, **{name[2:].replace("-", "_"): _value(name, value)})
    for name, value in (("--model", said.model), ("--url", said.url)):
        if not value:
            raise OptionError(f"llm: {name} is missing, as in ggp bot llm --model qwen3 --url http://127.0.0.1:8000/v1")
    if said.budget and said.price is None:
        raise OptionError("llm: --budget needs --price IN/OUT, of a million tokens")
    return said


def _is_key_like(name: str, value: str) -> bool:
    """A model's name may have such a beginning (`hf-internal-testing/tiny`), but is no key then as a whole."""
    if name == "--model":
        return bool(_KEY_LIKE.fullmatch(value)) and any(char.isdigit() for char in value)
    return bool(_KEY_LIKE.search(value))


def _names_key(value: Any) -> bool:
    """Whether a member of it, at any depth, is called as a key is."""
    if isinstance(value, dict):
        return any(_KEY_FLAG.fullmatch(f"--{name}") or _names_key(each) for name, each in value.items())
    return isinstance(value, list) and any(map(_names_key, value))


def _unknown(name: str) -> OptionError:
    if _KEY_FLAG.fullmatch(name) or _KEY_LIKE.search(name):
        return OptionError(f"llm: {SAFE_WAY}")
    near = get_close_matches(name, FLAGS, 1)
    return OptionError(f"llm: unknown word: {name[:40]}{f'; did you mean {near[0]}?' if near else ''}")


def _value(name: str, text: str) -> Any:
    """Raises OptionError."""
    choices = {"--legal": LEGAL, "--board": BOARDS, "--give-up": GIVE_UP}
    whole = {"--retries": (0, 20), "--max-tokens": (1, _REACH), "--tokens-per-game": (1, _REACH)}
    whole["--per-minute"] = (1, 100_000)
    numbers = {"--temperature": (0.0, 10.0), "--seconds": (0.1, 86_400.0), "--budget": (0.000001, float(_REACH))}
    if name in choices:
        if text not in choices[name]:
            raise OptionError(f"llm: {name} {text[:40]}: it is one of {', '.join(choices[name])}")
        return text
    if name in whole:
        least, most = whole[name]
        if not (text.isascii() and text.isdecimal() and len(text) < 12 and least <= int(text) <= most):
            raise OptionError(f"llm: {name} {text[:40]}: it is a whole number from {least} to {most}")
        return int(text)
    if name in numbers:
        low, high = numbers[name]
        number = _number(text)
        if number is None or not low <= number <= high:
            raise OptionError(f"llm: {name} {text[:40]}: it is a number from {low:g} to {high:g}")
        return number
    if name == "--price":
        prices = [_number(part) for part in text.split("/")]
        if len(prices) != 2 or any(price is None or not 0 <= price <= _REACH for price in prices):
            raise OptionError(f"llm: --price {text[:40]}: it is IN/OUT, what a million tokens cost, such as 0.5/2")
        return tuple(prices)
    checks = {"--url": _url, "--send": _members, "--key-env": _variable, "--model": _model}
    return checks[name](text)


def _number(text: str) -> float | None:
    try:
        number = float(text) if len(text) < 20 else None
    except ValueError:
        return None
    return number if number is not None and number == number and abs(number) <= 10 * _REACH else None


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
        parts = urlsplit("")
    if parts.username is not None or parts.password is not None or parts.query:
        raise OptionError(f"llm: --url: leave out what stands before @ and behind ?: {SAFE_WAY}")
    if parts.scheme not in ("http", "https") or not host or port == 0 or parts.fragment or not text.isprintable():
        raise OptionError(
            f"llm: --url {text[:80]}: it is http:// or https:// with a host, such as http://127.0.0.1:8000/v1"
        )
    return text


def _members(text: str) -> dict[str, Any]:
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, dict):
        raise OptionError("llm: --send: it is a JSON object, such as '{\"seed\": 1}'")
    own = [name for name in members if name in _OURS]
    if own:
        raise OptionError(f"llm: --send: {own[0]} has an option of its own, or is not sent")
    if _names_key(members):
        raise OptionError(f"llm: --send: {SAFE_WAY}")
    return members


def _variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        raise OptionError(f"llm: --key-env: the name of a variable follows, not a key: {SAFE_WAY}")
    return text


def _model(text: str) -> str:
    if not text.isprintable() or len(text) > 200:
        raise OptionError("llm: --model: a name of at most 200 printable characters follows")
    return text
