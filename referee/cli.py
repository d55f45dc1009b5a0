"""`ggp COMMAND …`: finds the command among the installed ones and runs it; `ggp --help` and `ggp help COMMAND`.

Commands are entry points of the group `ggp.commands`, callables (argv) -> exit status, so engines and bots bring
their own and no command waits for the imports of another. The help text below is here for the same reason.
"""

import errno
import os
import sys
from collections.abc import Callable
from typing import cast

from protocol.installed import entry_points, version

GROUP = "ggp.commands"
COMPLETE = "_GGP_COMPLETE"  # set by the shell's completion script
BAD_USAGE = 2
SECTIONS: dict[str, dict[str, str]] = {
    "Play": {
        "match": "play a series of games between two bots",
        "engine": "run a rules engine on stdin and stdout, or as a service",
        "bot": "run a built-in bot on stdin and stdout",
    },
    "Ladders": {
        "ladder": "play a ladder or a tournament of bots, and show its results",
        "rate": "rate bots by the results in files",
        "sprt": "judge a sequential test between two versions",
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
        "tap": "run a program and record its dialogue",
        "regress": "run regression tests on a program",
        "bisect": "find the ply at which two versions of a bot play differently",
    },
    "Records": {
        "show": "draw a position of a match",
        "verify": "replay matches and compare them with their records",
        "export": "write matches as SGF, GTP scripts, tests or JSON lines",
        "import": "turn SGF files and GTP scripts into records",
    },
}


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit status."""
    try:
        status = _main(argv)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed it, as `head` does
        sys.stdout = None
        return 141
    except KeyboardInterrupt:  # before the command could handle it
        return 130
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        sys.stdout = None
        print(f"ggp: cannot write the output: {error.strerror}", file=sys.stderr)
        return 1
    return status


def _main(argv: list[str] | None) -> int:
    words = sys.argv[1:] if argv is None else argv
    if argv is None and os.environ.get(COMPLETE):
        from referee.completion import answer

        return answer(os.environ[COMPLETE])
    if not words or words[0] in ("-h", "--help") or words == ["help"]:
        print(_help())
        return 0 if words else BAD_USAGE
    if words[0] == "--version":
        print(f"ggp {version('general-game-protocol')}")
        return 0
    if words[0] == "help":
        return _main(["--help"] if words[1] == "help" else [*words[1:], "--help"])
    if words[0] == "completion":
        from referee.completion import print_script

        return print_script(words[1:])
    return _run(words[0], words[1:])


def commands() -> dict[str, str]:
    """The installed commands in the order of the help, and a line about each, "" for one that is not ours."""
    names = {point.name for point in entry_points(GROUP)}
    known = {name: line for section in SECTIONS.values() for name, line in section.items() if name in names}
    return {**known, **dict.fromkeys(sorted(names - {*known}), "")}


def _run(name: str, argv: list[str]) -> int:
    found = [point for point in entry_points(GROUP) if point.name == name]
    if not found:
        print(f"ggp: there is no command {name!r}{_nearest(name)}; ggp --help lists them", file=sys.stderr)
        return BAD_USAGE
    command = cast("Callable[[list[str]], int]", found[0].load())
    return command(argv)


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


def _nearest(name: str) -> str:
    from referee.spelling import nearest

    close = nearest(name, [*commands(), "help", "completion"])
    return f"; did you mean {close}?" if close else ""


if __name__ == "__main__":
    sys.exit(main())
