"""`ggp COMMAND …`: finds the command among the installed ones and hands over. It knows no command by name.

Commands are entry points of the group `ggp.commands`, callables (argv) -> exit status, so engines and bots bring
their own and nobody waits for the import of another's.
"""

import errno
import sys
from collections.abc import Callable
from typing import cast

from protocol.installed import entry_points, version

GROUP = "ggp.commands"
BAD_USAGE = 2


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit status."""
    words = sys.argv[1:] if argv is None else argv
    if not words or words[0] in ("-h", "--help", "help"):
        print(_help())
        return 0 if words else BAD_USAGE
    if words[0] == "--version":
        print(f"ggp {version('general-game-protocol')}")
        return 0
    return _run(words[0], words[1:])


def _run(name: str, argv: list[str]) -> int:
    found = [point for point in entry_points(GROUP) if point.name == name]
    if not found:
        print(f"ggp: there is no command {name!r}{_nearest(name)}; ggp --help lists them", file=sys.stderr)
        return BAD_USAGE
    try:
        command = cast("Callable[[list[str]], int]", found[0].load())
        status = command(argv)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has seen enough
        sys.stdout = None
        return 141
    except KeyboardInterrupt:  # before the command could see to it
        return 130
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        sys.stdout = None
        print(f"ggp: cannot write the output: {error.strerror}", file=sys.stderr)
        return 1
    return status


def _help() -> str:
    names = sorted({point.name for point in entry_points(GROUP)})
    return "\n".join(
        [
            "Usage: ggp COMMAND …",
            "",
            "The General Game Protocol: a referee, rules engines and bots that play board games.",
            f"Commands: {', '.join(names)}",
            "Each says more with `ggp COMMAND --help`. `ggp --version` says which version this is.",
        ]
    )


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, [point.name for point in entry_points(GROUP)], 1)
    return f"; did you mean {close[0]}?" if close else ""


if __name__ == "__main__":
    sys.exit(main())
