"""The two messages on the wire as values: Command and Reply. See grammar for their text."""

from typing import NamedTuple


class Command(NamedTuple):
    """A command from the controller: `[id] name [arguments]`.

    `id` is 0..2**31-1 or None. The name and each argument are non-empty and contain no blanks.
    """

    name: str
    arguments: tuple[str, ...] = ()
    id: int | None = None


class Reply(NamedTuple):
    """An answer from the peer: `=[id] text` (ok) or `?[id] text`; the text contains no empty line."""

    ok: bool
    text: str = ""
    id: int | None = None
