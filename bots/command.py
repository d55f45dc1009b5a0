"""`ggp bot NAME [name=value …]`: run a built-in bot on stdin and stdout; without a name, list the bots.

`ggp bot --check` starts no bot: it reads a JSON array of such command lines and reports the problem of each.
"""

import json
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import takewhile
from typing import Any

from ggp.bots.gogui import OPTION, split_words
from ggp.bots.options import BAD_USAGE, ENGINE, parse_options, split_engines
from ggp.engines.command import complete_game
from ggp.engines.game import Option, OptionError
from ggp.protocol.errors import CommandFailed

BOTS = {
    "random": "chooses among all legal moves with equal probability",
    "greedy": "tries every move with a few random games, one ply deep, within its time",
    "mcts": "searches a tree of random games, with options for playouts, time and threads",
    "oneshot": "starts your program for every move: see ggp bot oneshot --help",
    "llm": "asks a language model for every move: see ggp bot llm --help",
    "mcp": "lets an agent play through the Model Context Protocol: see ggp bot mcp --help",
    "uci": "plays chess with a UCI engine: see ggp bot uci --help",
    "openspiel": "plays OpenSpiel's games with a bot of OpenSpiel: see ggp bot openspiel --help",
}
ADAPTERS = ("llm", "mcp", "openspiel", "uci")  # bots in ggp.bots.adapters
OWN_OPTIONS = ("oneshot", *ADAPTERS)  # bots that parse their own command line
USAGE = "Usage: ggp bot NAME [name=value …] [--engine COMMAND|URL] [--gogui GAME [name=value …]]"
GOGUI = """\
  --engine COMMAND|URL          Also play the games of this engine, which knows their rules. May be repeated.
  --gogui GAME [name=value …]   Play this game under GoGui, and answer genmove with points and passes."""


def main(argv: list[str]) -> int:
    """Run a bot until `quit` or the end of input. Return the exit status: 2 for an invalid command line."""
    if argv == ["--check"]:
        print(json.dumps([find_problem(words) for words in json.load(sys.stdin)]))
        return 0
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE, "", *(f"  {name:11}{text}" for name, text in BOTS.items()), "", GOGUI, sep="\n")
        return 0
    name = argv[0]
    if name not in BOTS:
        print(f"ggp bot: {_unknown(name)}", file=sys.stderr)
        return BAD_USAGE
    try:
        words, engines = split_engines(split_words(argv[1:])[0])  # ggp.bots.sdk.run reads the game
    except ValueError as error:
        print(f"ggp bot: {error}", file=sys.stderr)
        return BAD_USAGE
    module = _module(name)
    if {"-h", "--help"} & {*takewhile(lambda word: word != "--", words)}:
        usage = getattr(module, "USAGE", "[name=value …]")
        print(_help(name, usage, module.OPTIONS), getattr(module, "HELP", ""), sep="", end="")
        return 0
    try:
        module.main(words, engines)
    except (OptionError, CommandFailed) as error:
        print(f"ggp bot: {error}", file=sys.stderr)
        return BAD_USAGE
    return 0


def complete(before: Sequence[str], typed: str) -> list[str]:
    """Return the possible next words of the command line, for a shell's completion."""
    if not before:
        return [*BOTS, "--help"]
    if before[0] not in BOTS:
        return []
    if OPTION in before:
        game = before[before.index(OPTION) + 1 :]
        return [] if any(word.startswith("-") for word in (*game, typed)) else complete_game(game)
    if typed.startswith("-"):
        return [*getattr(_module(before[0]), "FLAGS", ()), ENGINE, OPTION, "--help"]
    given = {word.partition("=")[0] for word in before[1:]}
    options = _module(before[0]).OPTIONS
    return [f"{option.name}=" for option in options if option.name not in given]


def find_problem(words: Sequence[str]) -> tuple[str, str] | None:
    """Return why `ggp bot WORDS` would not start, as ("command" or "options", one line), or None if it would."""
    name = words[0]
    if name not in BOTS:
        return "command", _unknown(name)
    try:
        words, _ = split_engines(words[1:])
        module = _module(name)
        module.read_command(words) if name in OWN_OPTIONS else parse_options(name, module.OPTIONS, words)
    except ValueError as error:
        return "options", str(error)
    return None


def _module(name: str) -> Any:
    return import_module(f"ggp.bots.adapters.{name}" if name in ADAPTERS else f"ggp.bots.{name}")


def _unknown(name: str) -> str:
    near = get_close_matches(name, BOTS, 1)
    guess = f"; did you mean {near[0]}?" if near else ""
    return f"unknown bot: {name[:40]}; known bots: {' '.join(BOTS)}{guess}"


def _help(name: str, words: str, options: tuple[Option, ...]) -> str:
    rows = "".join(f"  {o.name:10}{o.type:6}{o.default:12}{o.domain}\n" for o in options)
    listed = f"\noptions: name, type, default, domain\n{rows}" if options else ""
    usage = f"Usage: ggp bot {name} {words} [--engine COMMAND|URL] [--gogui GAME [name=value …]]"
    return f"{usage}\n\n{BOTS[name].partition(':')[0]}\n{listed}\n{GOGUI}\n"
