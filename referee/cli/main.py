"""`ggp COMMAND …`: finds the command among the installed ones and runs it; `ggp --help` and `ggp help COMMAND`.

Commands are entry points of the group `ggp.commands`, callables (argv) -> exit status, so engines and bots bring
their own and no command waits for the imports of another. The help text below is here for the same reason.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterable
from typing import cast

from ggp.protocol.entry_points import entry_points, version
from ggp.protocol.standard_streams import OutputError, run_program
from ggp.referee.command_line import BAD_USAGE, nearest

GROUP = "ggp.commands"
COMPLETION = "completion"  # the command that also answers the shell's completion script
COMPLETE = "_GGP_COMPLETE"  # set by the shell's completion script
SECTIONS: dict[str, dict[str, str]] = {
    "Play": {
        "match": "play a series of games between two bots",
        "openings": "make books of balanced openings",
        "engine": "run a rules engine on stdin and stdout, or as a service",
        "bot": "run a built-in bot on stdin and stdout",
    },
    "Begin": {
        "new-bot": "make a folder with a bot in your language, a ladder and a Makefile",
        "new-engine": "make a folder with the engine of a small game, to be changed into yours",
    },
    "Ladders": {
        "ladder": "play a ladder or a tournament of bots, and show its results",
        "tune": "find the values of a bot's parameters that play best",
        "rate": "rate bots by the results in files",
        "sprt": "judge a sequential test between two versions",
        "web": "show a ladder in a browser: standings, matches, live boards",
    },
    "Servers": {
        "serve": "run a lobby, which bots dial in to",
        "connect": "connect a bot on stdin and stdout to a lobby",
        "challenge": "have two bots of a lobby play, unrated",
        "keys": "make, allow and revoke keys for a lobby",
        "watch": "watch the matches of a lobby while they are played",
        "referee": "play matches or a ladder, and answer commands meanwhile",
    },
    "Debugging": {
        "console": "talk to an engine, a bot or a referee; step through a match",
        "check": "check that a bot or an engine obeys the protocol",
        "doctor": "say how far this machine can confine bots, and what else slows games",
        "tap": "run a program and record its dialogue",
        "regress": "run regression tests on a program",
    },
    "Records": {
        "show": "draw a position of a match",
        "verify": "replay matches and compare them with their records",
        "export": "write matches as SGF, GTP scripts, tests or JSON lines",
        "import": "turn SGF files and GTP scripts into records",
    },
}


# Shortages of the host that a command could not wait for.
_REMEDIES = {
    errno.EMFILE: "raise the limit on open files, as in `ulimit -n 1024`, and repeat the command",
    errno.ENFILE: "end other programs, or raise fs.file-max",
    errno.EAGAIN: "raise the limit on processes and threads, as in `ulimit -u 4096`, or end other programs",
    errno.ENOMEM: "free some memory, and repeat the command",
}


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit status."""
    return run_program("ggp", lambda: _run_here(argv))


def _run_here(argv: list[str] | None) -> int:
    """Run one command on a machine that may be short of resources: then one line says so. Returns the exit status."""
    try:
        return _main(argv)
    except OSError as error:
        if isinstance(error, OutputError) or error.errno not in _REMEDIES:
            raise
        remedy = _REMEDIES[error.errno]
        print(f"ggp: this machine is short of resources ({error.strerror}): {remedy}", file=sys.stderr)
    except RuntimeError as error:
        if str(error) != "can't start new thread":
            raise
        print(f"ggp: this machine is short of resources ({error}): {_REMEDIES[errno.EAGAIN]}", file=sys.stderr)
    return 1


def _main(argv: list[str] | None) -> int:
    words = sys.argv[1:] if argv is None else argv
    if argv is None and os.environ.get(COMPLETE):
        return _run(COMPLETION, [])
    if not words or words[0] in ("-h", "--help") or words == ["help"]:
        print(_help())
        return 0 if words else BAD_USAGE
    if words[0] == "--version":
        print(f"ggp {version('general-game-protocol')}")
        return 0
    if words[0] == "help":
        return _main(["--help"] if words[1] == "help" else [*words[1:], "--help"])
    return _run(words[0], words[1:])


def commands() -> dict[str, str]:
    """Return the installed commands in the order of the help with a line about each, "" for foreign ones."""
    names = {point.name for point in entry_points(GROUP)} - {COMPLETION}
    known = {name: line for section in SECTIONS.values() for name, line in section.items() if name in names}
    return {**known, **dict.fromkeys(sorted(names - {*known}), "")}


def _run(name: str, argv: list[str]) -> int:
    return run_installed("ggp", GROUP, name, argv, lambda: [*commands(), "help", COMPLETION])


def run_installed(program: str, group: str, name: str, argv: list[str], known: Callable[[], Iterable[str]]) -> int:
    """Run a command that is an entry point. Return its exit status, or BAD_USAGE with a suggestion if it is unknown."""
    found = next((point for point in entry_points(group) if point.name == name), None)
    if found is None:
        close = nearest(name, known())
        meant = f"; did you mean {close}?" if close else ""
        print(f"{program}: there is no command {name!r}{meant}; {program} --help lists them", file=sys.stderr)
        return BAD_USAGE
    return cast("Callable[[list[str]], int]", found.load())(argv)


def _help() -> str:
    installed = commands()
    lines = [
        "Usage: ggp COMMAND …",
        "",
        "The General Game Protocol: a referee, rules engines and bots that play board games.",
    ]
    others: dict[str, str] = {name: line for name, line in installed.items() if not line}
    sections = {**SECTIONS, "Others": others}
    for title, section in sections.items():
        rows = [f"  {name:11}{line}".rstrip() for name, line in section.items() if name in installed]
        lines += ["", f"{title}:", *rows] if rows else []
    return "\n".join(
        [
            *lines,
            "",
            "ggp help COMMAND      what a command does, as ggp COMMAND --help",
            "ggp completion SHELL  print the script by which bash, zsh or fish completes these words",
            "ggp --version         which version this is",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
