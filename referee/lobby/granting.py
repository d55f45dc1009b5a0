"""What may be done to the registry of keys: allow, revoke, rotate, limit; pure functions from Book to Book.

Reading and writing the file is keys, the command line keys_command. Nothing is ever taken out: a key that was
revoked stays, so that it cannot come back by mistake.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from referee.lobby.keys import OWNER_OR_BOT, Book, Entry, Limits, RegistryError

MOST = 10**12


def allow(book: Book, owner: str, bot: str, key: str, when: datetime) -> Book:
    """Let the key speak for the owner's bot; a key that he has already speaks for one bot more."""
    for name in (owner, bot):
        if not OWNER_OR_BOT.fullmatch(name):
            raise RegistryError(f"a name has 1 to 40 letters, digits, `_`, `.` or `-`, not {name[:60]!r}")
    taken = next((entry.owner for entry in book.keys if bot in entry.bots and entry.owner != owner), None)
    if taken is not None:
        raise RegistryError(f"the bot {bot} is {taken}'s: choose another name")
    present = next((entry for entry in book.keys if entry.key == key), None)
    if present is None:
        new = Entry(key=key, owner=owner, bots=(bot,), created=when)
        return Book((*book.keys, new), book.limits)
    if present.owner != owner:
        raise RegistryError(f"that key is {present.owner}'s: every owner makes a key of his own (ggp keys new)")
    if (refusal := present.refusal(when)) is not None:
        raise RegistryError(f"that is a {refusal}: make a new one (ggp keys new)")
    if bot in present.bots:
        raise RegistryError(f"that key speaks for {owner}/{bot} already")
    return _with(book, present, bots=(*present.bots, bot))


def revoke(book: Book, what: str, when: datetime) -> tuple[Book, list[Entry]]:
    """Nobody gets in any more with a key, any key of OWNER/BOT, or any of OWNER; the entries it hit.

    A key that speaks for other bots too goes on speaking for those when OWNER/BOT is revoked.
    """
    entries = select(book, what, when)
    bot = "" if entries[0].key == what else what.partition("/")[2]
    for entry in entries:
        left = tuple(name for name in entry.bots if name != bot)
        book = _with(book, entry, bots=left) if bot and left else _with(book, entry, revoked=when)
    return book, entries


def rotate(book: Book, what: str, key: str, when: datetime, grace: timedelta) -> tuple[Book, list[Entry]]:
    """A new key takes the place of what `what` selects, which is valid for `grace` more; the entries it replaces."""
    if any(entry.key == key for entry in book.keys):
        raise RegistryError("that key is in the registry already: make a new one (ggp keys new)")
    entries = select(book, what, when)
    if len({entry.owner for entry in entries}) != 1:
        raise RegistryError(f"{what} is not one owner's: rotate key by key")
    bots = tuple(dict.fromkeys(bot for entry in entries for bot in entry.bots))
    until = when + grace
    for entry in entries:
        book = _with(book, entry, expires=min(until, entry.expires) if entry.expires else until)
    return Book((*book.keys, Entry(key=key, owner=entries[0].owner, bots=bots, created=when)), book.limits), entries


def limit(book: Book, owner: str, words: Mapping[str, str]) -> Book:
    """Change an owner's limits: name -> a whole number, or `default`."""
    if not any(entry.owner == owner for entry in book.keys):
        raise RegistryError(f"there is no owner {owner[:60]}; {_names(book)}")
    own = book.limits.get(owner, Limits())
    for name, text in words.items():
        if name not in Limits.__struct_fields__:
            raise RegistryError(f"there is no limit {name[:60]!r}: {' '.join(Limits.__struct_fields__)}")
        own = msgspec.structs.replace(own, **{name: _bound(name, text)})
    others = {name: limits for name, limits in book.limits.items() if name != owner}
    return Book(book.keys, others | ({owner: own} if own != Limits() else {}))


def select(book: Book, what: str, when: datetime) -> list[Entry]:
    """The valid keys that a word means: a key, OWNER/BOT or OWNER. Raises RegistryError if there is none."""
    meant = [entry for entry in book.keys if entry.key == what]
    if not meant:
        owner, slash, bot = what.partition("/")
        meant = [entry for entry in book.keys if entry.owner == owner and (not slash or bot in entry.bots)]
    valid = [entry for entry in meant if entry.refusal(when) is None]
    if not meant:
        raise RegistryError(f"{what[:60]} is neither a key here nor OWNER/BOT nor OWNER; {_names(book)}")
    if not valid:
        raise RegistryError(f"{what[:60]} has no valid key any more")
    return valid


def _with(book: Book, entry: Entry, **changes: object) -> Book:
    new = msgspec.structs.replace(entry, **changes)
    return Book(tuple(new if old.key == entry.key else old for old in book.keys), book.limits)


def _bound(name: str, text: str) -> int | None:
    if text == "default":
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 13 and int(text) <= MOST):
        raise RegistryError(f"{name} is a whole number, or `default`, not {text[:40]!r}")
    return int(text)


def _names(book: Book) -> str:
    names = sorted({f"{entry.owner}/{bot}" for entry in book.keys for bot in entry.bots})
    return f"there are {' '.join(names[:10])}{' …' if len(names) > 10 else ''}" if names else "nobody is there yet"
