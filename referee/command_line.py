"""How a sub-command of click runs under our rules: one line for what is wrong, the exit status returned.

What the commands are, the entry points say (see cli).
"""

import contextlib
from pathlib import Path

import click

from protocol.errors import LocalProtocolError
from protocol.orphans import adopting_orphans
from referee.play.launch import LaunchError
from referee.play.words import WordError
from referee.spelling import message_of

BAD_USAGE = 2
# Commands that start engines and bots, one after another, in their own process and nothing else.
_STARTERS = {f"ggp {word}" for word in ("verify", "bisect", "export", "import", "show", "check", "console")}
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def run_command(command: click.Command, name: str, argv: list[str], *errors: type[Exception]) -> int:
    """The exit status: the command's own, 2 for a command line or a file that cannot be, 130 after Ctrl-C.

    `name` as the user typed it (`ggp verify`). What the command raises of `errors` is a line on stderr, too; its
    str() says what to do. What a program leaves behind that the command starts is ended with the command.
    """
    try:
        with adopting_orphans() if name in _STARTERS else contextlib.nullcontext():
            return int(command.main(argv, prog_name=name, standalone_mode=False) or 0)
    except click.UsageError as error:
        click.echo(f"{name}: {message_of(error)} ({name} --help)", err=True)
    except click.ClickException as error:
        click.echo(f"{name}: {message_of(error)}", err=True)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except (WordError, LaunchError, LocalProtocolError) as error:
        click.echo(f"{name}: {error}", err=True)
    except errors as error:
        click.echo(f"{name}: {error}", err=True)
    return BAD_USAGE


def make_folder(option: str, path: Path | None) -> str:
    """The absolute path of the folder that an option names, made if it is not there; "" for none. Raises UsageError."""
    if path is None:
        return ""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.UsageError(f"{option} {path}: {error.strerror}: name a folder that can be made") from None
    return str(path.absolute())
