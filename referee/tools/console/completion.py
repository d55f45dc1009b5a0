"""Completion, as a pure function of the text before the cursor and of what is known about the peer."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from ggp.protocol.commands import TABLE, CommandRow
from ggp.referee.tools.console.own_commands import OwnCommand

LIST, GAMES, MOVES, OPTIONS = "list_commands", "ggp-games", "ggp-legal_moves", "ggp-options"
_ANSWERS = {"MOVE": MOVES, "GAME": GAMES, "OPTION": OPTIONS}  # by kind of argument: the question that lists the words
_SEGMENTS = re.compile("[+/]")  # between the parts of a compound move
_DEAD = "dead:"


class PeerKind(StrEnum):
    """The kind of a peer, according to the commands that it lists."""

    ENGINE = "engine"
    BOT = "bot"
    REFEREE = "referee"
    UNKNOWN = "peer"


class KnownOption(NamedTuple):
    """An option of a game: a line of `ggp-options`."""

    name: str
    type: str
    default: str
    domain: str


class BotWord(NamedTuple):
    """A bot that a command can name: the word, in quotes if it needs them, and its help."""

    word: str
    help: str = ""


@dataclass(slots=True)
class PeerInfo:
    """Facts about the peer. An empty field is unknown."""

    commands: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    stones: tuple[str, ...] = ()  # the occupied cells
    games: tuple[str, ...] = ()
    options: dict[str, tuple[KnownOption, ...]] = field(default_factory=dict)  # by game
    own: Mapping[str, OwnCommand] = field(default_factory=dict)  # the commands of the console
    bots: tuple[BotWord, ...] = ()
    plies: tuple[str, ...] = ()  # descriptions of the plies of the main line, the start first

    @property
    def kind(self) -> PeerKind:
        """Return the kind of the peer."""
        if not self.commands:
            return PeerKind.UNKNOWN
        if "ggp-play" in self.commands:
            return PeerKind.ENGINE
        return PeerKind.BOT if "genmove" in self.commands else PeerKind.REFEREE

    def learn(self, question: str, text: str) -> None:
        """Take the peer's answer to a question."""
        name, *rest = question.split()
        words = tuple(dict.fromkeys(text.split()))
        if name == LIST:
            self.commands = tuple(sorted(words))
        elif name == MOVES:
            self.moves = tuple(sorted(words, key=_natural))
        elif name == GAMES:
            self.games = words
        elif name == OPTIONS:
            rows = [line.split(maxsplit=3) for line in text.splitlines()]
            self.options[rest[0]] = tuple(KnownOption(*row, *[""][len(row) - 3 :]) for row in rows if len(row) > 2)


def _natural(move: str) -> list[tuple[bool, int, str]]:
    """Return the key for natural order: A2 before A10, bid:9 before bid:10."""
    parts = re.findall(r"\d+|\D+", move)
    return [(part[0].isdigit(), int(part) if part[0].isdecimal() else 0, part) for part in parts]


class CompletionChoice(NamedTuple):
    """A replacement for the last `length` characters, with its help."""

    text: str
    length: int
    help: str = ""


class _Argument(NamedTuple):
    """A line being typed: the command with its mark, the complete arguments, the start of the next one and its kind."""

    mark: str
    name: str
    before: list[str]
    typed: str
    kind: str


def complete(text: str, known: PeerInfo) -> list[CompletionChoice]:
    """Return every continuation of the text before the cursor."""
    at = _find(text, known)
    typed = at.typed
    if at.kind == "MOVE":
        return _dead(typed, known.stones) if typed.lower().startswith(_DEAD) else _moves(typed, known.moves)
    if at.kind == "OPTION":
        return _options(typed, at.before, known)
    if at.kind == "NAME" and not (typed or at.mark):
        return []
    low = typed.lower()
    rows = [row for kind in at.kind.split("|") for row in _rows(kind, at.mark, known)]
    if at.kind in ("BOT", "PLAYER"):  # a command line with blanks is in quotes, even if the user has not typed them
        low = low.lstrip("'\"")
        rows = [row for row in rows if typed != row[0].strip("'")]
    return [
        CompletionChoice(word, len(typed), help)
        for word, help in rows
        if word.lstrip("'").lower().startswith(low) and (word != typed or at.kind == "NAME")
    ]


def agreed(choices: Sequence[CompletionChoice]) -> str:
    """Return the common beginning of the choices."""
    texts = [choice.text for choice in choices]
    first, last = min(texts, default=""), max(texts, default="")
    same = next((at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    return first[:same]


def ends_a_word(choice: str) -> bool:
    """Return True if a blank follows; False if the word continues with a value, another part or a file name."""
    return not choice.endswith(("=", "+", "/", ":", ","))


def needs(text: str, known: PeerInfo) -> tuple[str, ...]:
    """Return the questions whose answers `complete` needs."""
    at = _find(text, known)
    if at.kind in _ANSWERS:
        return (LIST, " ".join([_ANSWERS[at.kind], *at.before[: at.kind == "OPTION"]]))
    return (LIST,) if at.kind == "COMMAND" or (at.kind == "NAME" and not at.mark) else ()


def wants_file(text: str, known: PeerInfo) -> str | None:
    """Return the typed part of a file name; None if the argument is not a file."""
    at = _find(text, known)
    return at.typed if at.kind == "FILE" else None


def hint(text: str, known: PeerInfo) -> str:
    """Return the typed command with its arguments and its help; "" if it is unknown."""
    at = _find(text, known)
    name = at.name or at.typed
    row = known.own.get(name) if at.mark else TABLE.get(name)
    return f"{':' if at.mark else ''}{name} {row.arguments}".rstrip() + f" — {row.help}" if row else ""


def _find(text: str, known: PeerInfo) -> _Argument:
    head = text.lstrip()
    mark = head[:1] if head.startswith((":", "!")) else ""
    *before, typed = head.removeprefix(mark).split(" ")
    before = [word for word in before if word]
    if not mark and before and before[0].isdigit() and before[0].isascii():
        before = before[1:]  # an id
    if not before:
        return _Argument(mark, "", [], typed, "NAME")
    name, *before = before
    row = known.own.get(name) if mark else TABLE.get(name)
    return _Argument(mark, name, before, typed, _kind(row.arguments, len(before)) if row else "")


def _kind(arguments: str, index: int) -> str:
    """Return the kind of an argument according to the usage: MOVE, COLOUR, BOT, PLY, FILE, …, `a|b`."""
    if "NAME=VALUE" in arguments:
        return "OPTION" if index else "GAME"
    words = re.sub(r"[\[\]]", "", arguments).split()
    if "…" in words:  # the words before it repeat
        words = words[: words.index("…")]
        index %= len(words)
    word = words[index] if index < len(words) else ""
    return {"NAME": "COMMAND", "POINT": "MOVE"}.get(word, word)


def _rows(kind: str, mark: str, known: PeerInfo) -> Iterable[tuple[str, str]]:
    """Return the words of a kind with their help."""
    if kind == "NAME" and mark:
        return [(name, _beside(known.own[name])) for name in sorted(known.own)]
    commands = [(name, _beside(TABLE[name]) if name in TABLE else "") for name in known.commands or sorted(TABLE)]
    match kind:
        case "NAME":
            return commands
        case "COMMAND":
            return [*commands, *((f":{name}", "") for name in known.own)]
        case "BOT" | "PLAYER":
            return [bot for bot in known.bots if kind == "PLAYER" or bot.word != "human"]
        case "PLY":
            return [(str(ply), text) for ply, text in enumerate(known.plies)]
        case "GAME":
            return [(game, "") for game in known.games]
        case "COLOUR":
            return [("black", ""), ("white", "")]
    return [] if kind.isupper() else [(kind, "")]


def _beside(row: OwnCommand | CommandRow) -> str:
    return f"{row.arguments} — {row.help}" if row.arguments else row.help


def _moves(typed: str, moves: Sequence[str]) -> list[CompletionChoice]:
    """Return legal moves, ignoring case; for compound moves the next part."""
    low, size = typed.lower(), len(typed)
    heads: dict[str, int] = {}
    for move in moves:
        if move.lower().startswith(low):
            end = _SEGMENTS.search(move, size)
            head = move[: end.end()] if end else move
            heads[head] = heads.get(head, 0) + 1
    if len(heads) == 1 and max(heads.values()) > 1:  # there is only one next part, so offer the parts after it
        (head,) = heads
        return [choice._replace(length=size) for choice in _moves(head, moves)] if head != typed else []
    return [
        CompletionChoice(head, size, f"{count} moves" if count > 1 else "")
        for head, count in heads.items()
        if head != typed
    ]


def _dead(typed: str, stones: Sequence[str]) -> list[CompletionChoice]:
    """Return stones that may follow in a list of dead stones."""
    *named, last = typed[len(_DEAD) :].upper().split(",")
    return [CompletionChoice(stone, len(last)) for stone in stones if stone.startswith(last) and stone not in named]


def _options(typed: str, before: list[str], known: PeerInfo) -> list[CompletionChoice]:
    """Return `name=` for the remaining options, or the values of an option that has only few."""
    game, *given = before
    rows = known.options.get(game, ())
    name, equals, value = typed.partition("=")
    if equals:
        domain = next((row.domain for row in rows if row.name == name), "")
        values = [word for word in domain.split(",") if word and "*" not in word and ".." not in word]
        return [CompletionChoice(word, len(value)) for word in values if word.startswith(value) and word != value]
    taken = {word.partition("=")[0] for word in given}
    return [
        CompletionChoice(f"{row.name}=", len(typed), f"{row.type} {row.domain}, by default {row.default}")
        for row in rows
        if row.name not in taken and row.name.startswith(typed)
    ]
