"""How the commands that read a ladder's store run: options they share, errors in one line, the exit status."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from referee.ladder.toml_section import ConfigError
from referee.ladder.views.source import Trouble, ViewError
from referee.spelling import message_of
from referee.store.errors import StoreError

TROUBLE, BAD_USAGE = 1, 2
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
EPILOGUE = """\b
LADDER is a ladder's file (ladder.toml, the default), its store (ladder.db), or
the URL of one (sqlite:///…, postgresql+psycopg://…). A running ladder may be
looked at.
"""

Command = TypeVar("Command", bound=Callable[..., Any])


def run_view(command: click.Command, argv: list[str]) -> int:
    """The exit status: 1 for a store or an output that cannot be used now, 2 for a command line that cannot be.

    A closed pipe is left to the caller as BrokenPipeError.
    """
    name = f"ggp ladder {command.name}"
    try:
        with command.make_context(name, list(argv)) as context:
            return int(command.invoke(context) or 0)
    except click.exceptions.Exit as end:  # of --help
        return end.exit_code
    except ViewError as error:
        click.echo(f"{name}: {message_of(error)}", err=True)
    except Trouble as error:
        click.echo(f"{name}: {message_of(error)}", err=True)
        return TROUBLE
    except click.ClickException as error:
        click.echo(f"{name}: {message_of(error)} ({name} --help)", err=True)
    except ConfigError as error:
        click.echo(f"{name}: {error}", err=True)
    except StoreError as error:
        click.echo(f"{name}: {error}", err=True)
        return TROUBLE
    except (click.Abort, KeyboardInterrupt):
        return 130
    return BAD_USAGE


def words(text: str) -> Callable[[Command], Command]:
    """The words of the command line; which of them is the ladder, source.split says."""
    return click.argument("words", metavar=text, nargs=-1)


def pool_option(command: Command) -> Command:
    """--pool NAME"""
    return click.option("--pool", "pool_name", metavar="NAME", help="Only this pool.")(command)


def json_option(command: Command) -> Command:
    """--json"""
    return click.option("--json", "as_object", is_flag=True, help="One JSON object on stdout.")(command)
