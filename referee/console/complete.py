"""Completion as a pure function of the text before the cursor and of what is known; it asks nobody."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from protocol.commands import TABLE
from referee.console.knowledge import GAMES, LIST, MOVES, OPTIONS, Bot, Knowledge
from referee.console.own import Own, Word

COLOURS = ("black", "white")
FILE = "FILE"  # the kind of argument whose choices the disk knows
_MARKS = ":!"
_SEGMENTS = re.compile("[+/]")  # between the parts of a compound move
_DEAD = "dead:"
_KINDS = {
    Word.MOVE: "MOVE",
    Word.COMMAND: "COMMAND",
    Word.FILE: FILE,
    Word.BOT: "BOT",
    Word.PLAYER: "PLAYER",
    Word.PLY: "PLY",
    Word.PLAYED: "PLAYED",
}


class Choice(NamedTuple):
    """What may stand in place of the last `length` characters, and what it is."""

    text: str
    length: int
    help: str = ""


class _Place(NamedTuple):
    """Where the cursor is: the command, the arguments before the one that is being typed, and that one."""

    mark: str
    name: str
    before: list[str]
    typed: str


def complete(text: str, known: Knowledge) -> list[Choice]:
    """Every continuation of the text before the cursor."""
    place = _find_place(text)
    if not place.name:
        return _names(place, known)
    kind = _kind(place, known)
    typed = place.typed
    if kind == "MOVE":
        return _dead(typed, known.stones) if typed.lower().startswith(_DEAD) else _moves(typed, known.moves)
    if kind == "OPTION":
        return _options(typed, place.before, known)
    if kind in ("BOT", "PLAYER"):
        return _bots(typed, [bot for bot in known.bots if kind == "PLAYER" or not bot.human])
    if kind in ("PLY", "PLAYED"):
        plies = enumerate(known.plies)
        rows = [(str(ply), text) for ply, text in plies if ply or kind == "PLY"]
        return [Choice(ply, len(typed), text) for ply, text in rows if ply.startswith(typed) and ply != typed]
    if kind == "COMMAND":
        own = [f":{name}" for name in known.own]
        return _starting(typed, [*_all_commands(known), *own])
    if kind == "GAME":
        return _starting(typed, known.games)
    if kind == "COLOUR":
        return _starting(typed, COLOURS)
    if "|" in kind or kind.startswith("--"):
        return _starting(typed, kind.split("|"))
    return []


def agreed(choices: Sequence[Choice]) -> str:
    """What all of them begin with."""
    texts = [choice.text for choice in choices]
    first, last = min(texts, default=""), max(texts, default="")
    same = next((at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    return first[:same]


def ends_a_word(choice: str) -> bool:
    """Whether a blank follows: not where the same word goes on with a value, a further part or a file's name."""
    return not choice.endswith(("=", "+", "/", ":", ","))


def needs(text: str, known: Knowledge) -> tuple[str, ...]:
    """The questions whose answers `complete` would want."""
    place = _find_place(text)
    if place.mark and not place.name:
        return ()
    if not place.name:
        return (LIST,)
    kind = _kind(place, known)
    if kind == "MOVE":
        return (LIST, MOVES)
    if kind == "GAME":
        return (LIST, GAMES)
    if kind == "OPTION":
        return (LIST, f"{OPTIONS} {place.before[0]}")
    return (LIST,) if kind == "COMMAND" else ()


def wants_file(text: str, known: Knowledge) -> str | None:
    """The beginning of a file's name that is being typed; None: it is something else."""
    place = _find_place(text)
    return place.typed if place.name and _kind(place, known) == FILE else None


def hint(text: str, known: Knowledge) -> str:
    """The command that is being typed with its arguments and its help; "" if nobody knows it."""
    place = _find_place(text)
    name = place.name or place.typed
    if place.mark:
        own = known.own.get(name)
        return f":{name} {own.arguments}".rstrip() + f" — {own.help}" if own else ""
    row = TABLE.get(name)
    return f"{name} {row.arguments}".rstrip() + f" — {row.help}" if row else ""


def _find_place(text: str) -> _Place:
    head = text.lstrip()
    mark = head[:1] if head[:1] in _MARKS and head else ""
    words = head.removeprefix(mark).split(" ")
    *before, typed = [word for word in words[:-1] if word] + [words[-1]]
    if not mark and before and before[0].isdigit() and before[0].isascii():
        before = before[1:]  # an id
    return _Place(mark, before[0] if before else "", before[1:], typed)


def _names(place: _Place, known: Knowledge) -> list[Choice]:
    """Names of commands; after a mark, of the console's own."""
    if place.mark:
        return [Choice(row.name, len(place.typed), _beside(row)) for row in _own(place.typed, known)]
    if not place.typed:
        return []
    names = [name for name in _all_commands(known) if name.startswith(place.typed)]
    return [Choice(name, len(place.typed), _help_of(name)) for name in names]


def _own(typed: str, known: Knowledge) -> list[Own]:
    return [known.own[name] for name in sorted(known.own) if name.startswith(typed)]


def _beside(row: Own) -> str:
    return f"{row.arguments} — {row.help}" if row.arguments else row.help


def _help_of(name: str) -> str:
    row = TABLE.get(name)
    return "" if row is None else f"{row.arguments} — {row.help}" if row.arguments else row.help


def _all_commands(known: Knowledge) -> Iterable[str]:
    """What the peer lists; while that is not known, what there is in the protocol."""
    return known.commands or sorted(TABLE)


def _kind(place: _Place, known: Knowledge) -> str:
    """What the argument at the cursor is: MOVE, COLOUR, BOT, PLY, FILE, … , `a|b`, or something else."""
    if place.mark:
        own = known.own.get(place.name)
        return "" if own is None else _own_kind(own, len(place.before))
    row = TABLE.get(place.name)
    if row is None:
        return ""
    if "NAME=VALUE" in row.arguments:
        return "OPTION" if place.before else "GAME"
    words = re.sub(r"[\[\]]", "", row.arguments).split()
    if "…" in words:  # the words before are given again and again
        repeated = words[: words.index("…")]
        word = repeated[len(place.before) % len(repeated)]
    elif len(place.before) < len(words):
        word = words[len(place.before)]
    else:
        return ""
    return {"NAME": "COMMAND", "POINT": "MOVE"}.get(word, word)


def _own_kind(own: Own, index: int) -> str:
    if index < len(own.words):
        return _KINDS.get(own.words[index], "")
    words = own.arguments.strip("[]").split()
    word = words[index] if index < len(words) else ""
    return word if "|" in word or word.startswith("--") else ""


def _starting(typed: str, words: Iterable[str]) -> list[Choice]:
    low = typed.lower()
    return [
        Choice(word, len(typed), _help_of(word)) for word in words if word.lower().startswith(low) and word != typed
    ]


def _moves(typed: str, moves: Sequence[str]) -> list[Choice]:
    """Legal moves, whatever case was typed; of compound ones the next part."""
    low, size = typed.lower(), len(typed)
    heads: dict[str, int] = {}
    for move in moves:
        if move.lower().startswith(low):
            end = _SEGMENTS.search(move, size)
            head = move[: end.end()] if end else move
            heads[head] = heads.get(head, 0) + 1
    if len(heads) == 1 and max(heads.values()) > 1:  # one part goes on: what may follow is more useful
        (head,) = heads
        return [Choice(choice.text, size, choice.help) for choice in _moves(head, moves)] if head != typed else []
    return [Choice(head, size, f"{count} moves" if count > 1 else "") for head, count in heads.items() if head != typed]


def _dead(typed: str, stones: Sequence[str]) -> list[Choice]:
    """One stone more of a list of dead ones."""
    *named, last = typed[len(_DEAD) :].upper().split(",")
    return [Choice(stone, len(last)) for stone in stones if stone.startswith(last) and stone not in named]


def _bots(typed: str, bots: Sequence[Bot]) -> list[Choice]:
    """A command line with blanks is put in quotes, whether the person began with them or not."""
    low = typed.lstrip("'\"").lower()
    return [
        Choice(bot.word, len(typed), bot.help)
        for bot in bots
        if bot.plain.lower().startswith(low) and bot.word != typed and bot.plain != typed
    ]


def _options(typed: str, before: list[str], known: Knowledge) -> list[Choice]:
    """`name=` of the options that were not given yet, then the values of those that have few."""
    game, *given = before
    rows = known.options.get(game, ())
    name, equals, value = typed.partition("=")
    if equals:
        domain = next((row.domain for row in rows if row.name == name), "")
        values = [word for word in domain.split(",") if word and "*" not in word and ".." not in word]
        return [Choice(word, len(value)) for word in values if word.startswith(value) and word != value]
    taken = {word.partition("=")[0] for word in given}
    return [
        Choice(f"{row.name}=", len(typed), f"{row.type} {row.domain}, by default {row.default}")
        for row in rows
        if row.name not in taken and row.name.startswith(typed)
    ]
