"""`ggp COMMAND …`: finds the command among the installed ones and runs it; `ggp --help` and `ggp help COMMAND`.

Commands are entry points of the group `ggp.commands`, callables (argv) -> exit status, so engines and bots bring
their own and no command waits for the imports of another. The help text below is here for the same reason.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, cast

from ggp.protocol.entry_points import entry_points, version
from ggp.protocol.errors import LocalProtocolError, Problem
from ggp.protocol.standard_streams import OutputError, run_program

if TYPE_CHECKING:
    from pathlib import Path

    import click  # imported where it is used: `ggp engine` and `ggp bot` start without it


GROUP = "ggp.commands"
COMPLETION = "completion"  # the command that also answers the shell's completion script
COMPLETE = "_GGP_COMPLETE"  # set by the shell's completion script
BAD_USAGE = 2
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
        "bisect": "find the ply at which two versions of a bot play differently",
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
    """The installed commands in the order of the help, and a line about each, "" for one that is not ours."""
    names = {point.name for point in entry_points(GROUP)} - {COMPLETION}
    known = {name: line for section in SECTIONS.values() for name, line in section.items() if name in names}
    return {**known, **dict.fromkeys(sorted(names - {*known}), "")}


def _run(name: str, argv: list[str]) -> int:
    return run_installed("ggp", GROUP, name, argv, lambda: [*commands(), "help", COMPLETION])


def run_installed(program: str, group: str, name: str, argv: list[str], known: Callable[[], Iterable[str]]) -> int:
    """The exit status of a command that is an entry point; BAD_USAGE, with the nearest known name, if there is none."""
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


# -- running a command of click -------------------------------------------------------------------------


# Commands that start engines and bots, one after another, in their own process and nothing else.
_STARTERS = {f"ggp {word}" for word in ("verify", "bisect", "export", "import", "show", "check", "console")}
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def run_command(
    command: "click.Command", name: str, argv: list[str], failures: tuple[type[Exception], ...] = ()
) -> int:
    """The exit status: the command's own, 2 for a usage error or a Problem, 1 for one of `failures`, 130 after Ctrl-C.

    `name` as the user typed it (`ggp verify`). An error is a line on stderr. Processes that a program leaves behind
    are ended with the command.
    """
    import click

    from ggp.protocol.transports.subreaper import adopting_orphans

    try:
        orphans = adopting_orphans() if name in _STARTERS else contextlib.nullcontext()
        # Not `command.main`: it ends the process where a pipe is closed, instead of raising BrokenPipeError.
        with orphans, command.make_context(name, list(argv)) as context:
            return int(command.invoke(context) or 0)
    except click.exceptions.Exit as end:  # of --help
        return end.exit_code
    except failures as error:
        click.echo(f"{name}: {error}", err=True)
        return 1
    except click.UsageError as error:
        click.echo(f"{name}: {message_of(error)} ({name} --help)", err=True)
    except click.ClickException as error:
        click.echo(f"{name}: {message_of(error)}", err=True)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except (Problem, LocalProtocolError) as error:
        click.echo(f"{name}: {error}", err=True)
    return BAD_USAGE


def make_folder(option: str, path: "Path | None") -> str:
    """The absolute path of the folder that an option names, made if it is not there; "" for none. Raises UsageError."""
    import click

    if path is None:
        return ""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.UsageError(f"{option} {path}: {error.strerror}: name a folder that can be made") from None
    return str(path.absolute())


# -- suggestions ----------------------------------------------------------------------------------------


_SHORTEST = 3  # letters of a beginning that is completed


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is the fewest slips of the keyboard away, or the only one that begins like it; "" if none is
    near: a suggestion that has little in common with what was typed misleads."""
    typed, names = word.lower(), sorted(known)
    letters = len(typed.lstrip("-:"))
    slips = {name: _slips(typed, name.lower()) for name in names}
    most = 0 if letters < 2 else 1 if letters < 6 else 2
    close = min(names, key=lambda name: slips[name], default="")
    if close and slips[close] <= most:
        return close
    longer = [name for name in names if letters >= _SHORTEST and name.lower().startswith(typed)]
    return longer[0] if len(longer) == 1 else ""


def message_of(error: "click.ClickException") -> str:
    """The message of an error without passwords, with our suggestion for an option that does not exist; click's go by
    common letters."""
    from click import NoSuchOption

    from ggp.protocol.printed import without_passwords

    if isinstance(error, NoSuchOption):
        parameters = error.ctx.command.params if error.ctx is not None else []
        close = nearest(error.option_name, [name for each in parameters for name in (*each.opts, *each.secondary_opts)])
        error = NoSuchOption(error.option_name, possibilities=[close] if close else None, ctx=error.ctx)
    return without_passwords(error.format_message())


def _slips(one: str, two: str) -> int:
    """Letters added, left out, replaced, or two neighbours exchanged: the optimal string alignment distance."""
    last: list[int] = []
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, b in enumerate(two, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b)))
            if i > 1 and j > 1 and a == two[j - 2] and b == one[i - 2]:
                row[j] = min(row[j], last[j - 2] + 1)
    return row[-1]


if __name__ == "__main__":
    sys.exit(main())
