"""What a mistyped word was probably meant to be, and how click's errors say so. Pure."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from protocol.printed import without_passwords

if TYPE_CHECKING:
    import click  # the caller has imported it already

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
