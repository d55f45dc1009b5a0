"""Running of commands: exit status, usage errors, and suggestions for misspelled words."""

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from ggp.protocol.errors import LocalProtocolError, Problem

if TYPE_CHECKING:
    from pathlib import Path

    import click  # imported where it is used: `ggp engine` and `ggp bot` start without it

BAD_USAGE = 2
_STARTERS = {f"ggp {word}" for word in ("verify", "export", "import", "show", "check", "console")}
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def run_command(
    command: "click.Command", name: str, argv: list[str], failures: tuple[type[Exception], ...] = ()
) -> int:
    """Run a command, and return its exit status.

    An error is one line on stderr. Processes that a bot or engine leaves behind are killed with the command.

    Args:
        command: The command.
        name: The name as the user typed it, such as `ggp verify`.
        argv: The arguments.
        failures: Exceptions that mean exit status 1.

    Returns:
        The command's own status, 2 for a usage error or a Problem, 1 for one of `failures`, 130 after Ctrl-C.
    """
    import click

    from ggp.protocol.transports.subreaper import adopting_orphans

    try:
        orphans = adopting_orphans() if name in _STARTERS else contextlib.nullcontext()
        # Not `command.main`, which exits on a closed pipe instead of raising BrokenPipeError.
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
    """Create the folder that an option names, if it does not exist, and return its absolute path; "" for None.

    Raises:
        UsageError: It cannot be created.
    """
    import click

    if path is None:
        return ""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.UsageError(f"{option} {path}: {error.strerror}: name a folder that can be created") from None
    return str(path.absolute())


@contextlib.contextmanager
def opened(
    output: str | None,
    refused: "type[click.ClickException] | None" = None,
    failed: "type[click.ClickException] | None" = None,
) -> Iterator[BinaryIO]:
    """Open a file that appears only when it is complete; None or `-` is stdout.

    Args:
        output: The name of the file.
        refused: The error if the file cannot be opened; by default ClickException.
        failed: The error if it cannot be written later; by default ClickException. No file appears then.
    """
    from pathlib import Path

    from click import ClickException

    from ggp.protocol.safe_files import replacing

    if output in (None, "-"):
        yield sys.stdout.buffer
        return
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(replacing(Path(str(output))))
        except OSError as error:
            what = f"cannot write {output}: {error.strerror}: name another file"
            raise (refused or ClickException)(what) from None
        try:
            with stack.pop_all():
                yield file
        except BrokenPipeError:
            raise
        except OSError as error:
            what = f"cannot write {output}: {error.strerror}: free some space or name another file"
            raise (failed or ClickException)(what) from None


# -- suggestions ----------------------------------------------------------------------------------------


_SHORTEST = 3  # letters that suffice to complete a word


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word closest to what was typed, or the only one that begins with it, or "".

    At most two letters may differ, because a suggestion that is not similar would mislead.
    """
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
    """Return an error's message without passwords.

    For an unknown option the suggestion is ours, because click suggests any option that shares enough letters.
    """
    from click import NoSuchOption

    from ggp.protocol.printed import without_passwords

    if isinstance(error, NoSuchOption):
        parameters = error.ctx.command.params if error.ctx is not None else []
        close = nearest(error.option_name, [name for each in parameters for name in (*each.opts, *each.secondary_opts)])
        error = NoSuchOption(error.option_name, possibilities=[close] if close else None, ctx=error.ctx)
    return without_passwords(error.format_message())


def _slips(one: str, two: str) -> int:
    """Return the optimal string alignment distance: letters added, omitted, replaced, or neighbours exchanged."""
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
