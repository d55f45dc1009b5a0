"""The two values that travel on the wire: a Command and its Reply; not their text (see grammar)."""

from typing import NamedTuple


class Command(NamedTuple):
    """What a controller asks: `[id] name [arguments]`.

    `id` is 0..2**31-1 or None; `name` and each argument are non-empty words without blanks.
    """

    name: str
    arguments: tuple[str, ...] = ()
    id: int | None = None


class Reply(NamedTuple):
    """What the peer answers: `=[id] text` (ok) or `?[id] text`; `text` holds no empty line."""

    ok: bool
    text: str = ""
    id: int | None = None
