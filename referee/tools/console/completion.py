"""Completion as a pure function of the text before the cursor and of what is known of the peer."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from ggp.protocol.commands import TABLE
from ggp.protocol.connection import PeerRole
from ggp.protocol.messages import Reply
from ggp.referee.tools.console.dialogue import CHANGING, Dialogue
from ggp.referee.tools.console.own_commands import OwnCommand

# -- knowledge of the peer --------------------------------------------------------------------------------------------


LIST, GAMES, MOVES, OPTIONS = "list_commands", "ggp-games", "ggp-legal_moves", "ggp-options"


class PeerKind(StrEnum):
    """The kind of a peer, by the commands that it lists."""

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
    """A bot that a command can name: the word with quotes if it needs them, and without; or a human."""

    word: str
    plain: str
    help: str = ""
    human: bool = False


@dataclass(frozen=True, slots=True)
class PeerInfo:
    """The knowledge that completion uses; empty if it is unknown."""

    commands: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    stones: tuple[str, ...] = ()
    games: tuple[str, ...] = ()
    options: Mapping[str, tuple[KnownOption, ...]] = field(default_factory=dict)
    own: Mapping[str, OwnCommand] = field(default_factory=dict)
    bots: tuple[BotWord, ...] = ()
    plies: tuple[str, ...] = ()  # what led to each place of a match, the start first

    @property
    def kind(self) -> PeerKind:
        if not self.commands:
            return PeerKind.UNKNOWN
        if "ggp-play" in self.commands:
            return PeerKind.ENGINE
        return PeerKind.BOT if "genmove" in self.commands else PeerKind.REFEREE


class PeerInfoReader:
    """Keeps `known` up to date by questions on a dialogue; an open question is not asked again."""

    def __init__(self, dialogue: Dialogue, own: Iterable[OwnCommand]) -> None:
        self.known = PeerInfo(own={row.name: row for row in own})
        self._dialogue = dialogue
        self._asked: set[str] = set()
        self._generation = 0
        self.changes = 0  # of the position, since the peer was started

    def learn(self, questions: Iterable[str]) -> bool:
        """Ask what is unknown; whether a useful answer is due.

        Asks nothing while an answer to a typed command is due: the new answer would come after it.
        """
        coming = False
        for question in questions:
            name = question.split()[0]
            if question in self._asked or (name != LIST and name not in self.known.commands):
                continue
            if any(not exchange.own for exchange in self._dialogue.pending):
                return False
            if self._dialogue.question(question, self._note(question)):
                self._asked.add(question)
                coming = True
        return coming or any(exchange.own for exchange in self._dialogue.pending)

    def forget(self, line: str) -> bool:
        """Whether an answered command may have changed the position; then the legal moves are unknown."""
        words = line.split()
        name = words[1] if len(words) > 1 and words[0].isdigit() else words[0] if words else ""
        if name in CHANGING:
            self.forget_position()
        return name in CHANGING

    def forget_position(self) -> None:
        self._generation += 1
        self.changes += 1
        self._asked.discard(MOVES)
        self.known = replace(self.known, moves=(), stones=())

    def see_stones(self, stones: Iterable[str]) -> None:
        """Keep the occupied cells of the last drawing."""
        self.known = replace(self.known, stones=tuple(stones))

    def see_match(self, bots: tuple[BotWord, ...], plies: tuple[str, ...]) -> None:
        """Keep the bots and plies of a match, which no peer changes."""
        self.known = replace(self.known, bots=bots, plies=plies)

    def forget_all(self) -> None:
        """Forget what the last peer said: the next may be another program."""
        self._generation += 1
        self.changes = 0
        self._asked.clear()
        self.known = PeerInfo(own=self.known.own, bots=self.known.bots, plies=self.known.plies)

    def note_commands(self, reply: Reply) -> None:
        """Take an answer to list_commands from elsewhere."""
        self._learned(LIST, [], reply.text)

    def _note(self, question: str) -> Callable[[Reply], None]:
        return partial(self._heard, question, self._generation)

    def _heard(self, question: str, generation: int, reply: Reply) -> None:
        """Take an answer, unless the peer or the position has changed since the question."""
        name, *rest = question.split()
        if generation != self._generation:
            if name != MOVES:
                self._asked.discard(question)
        elif reply.ok:
            self._learned(name, rest, reply.text)

    def _learned(self, name: str, rest: list[str], text: str) -> None:
        words = tuple(dict.fromkeys(text.split()))
        if name == LIST:
            self.known = replace(self.known, commands=tuple(sorted(words)))
            if self.known.kind is PeerKind.ENGINE:
                self._dialogue.channel.connection.peer = PeerRole.ENGINE
        elif name == MOVES:
            self.known = replace(self.known, moves=tuple(sorted(words, key=_natural)))
        elif name == GAMES:
            self.known = replace(self.known, games=words)
        elif name == OPTIONS:
            rows = [line.split() for line in text.splitlines()]
            options = tuple(KnownOption(row[0], row[1], row[2], " ".join(row[3:])) for row in rows if len(row) > 2)
            self.known = replace(self.known, options={**self.known.options, rest[0]: options})


def _natural(move: str) -> list[tuple[bool, int, str]]:
    """Natural order: A2 before A10, bid:9 before bid:10."""
    parts = re.findall(r"\d+|\D+", move)
    return [(part[0].isdigit(), int(part) if part[0].isdecimal() else 0, part) for part in parts]


COLOURS = ("black", "white")
FILE = "FILE"  # the kind of argument whose choices the disk knows
_MARKS = ":!"
_SEGMENTS = re.compile("[+/]")  # between the parts of a compound move
_DEAD = "dead:"


class CompletionChoice(NamedTuple):
    """A replacement for the last `length` characters, with its help."""

    text: str
    length: int
    help: str = ""


class _Place(NamedTuple):
    """The command at the cursor, its complete arguments, and the typed part of the next one."""

    mark: str
    name: str
    before: list[str]
    typed: str


def complete(text: str, known: PeerInfo) -> list[CompletionChoice]:
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
        return [CompletionChoice(ply, len(typed), text) for ply, text in rows if ply.startswith(typed) and ply != typed]
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


def agreed(choices: Sequence[CompletionChoice]) -> str:
    """The common beginning of the choices."""
    texts = [choice.text for choice in choices]
    first, last = min(texts, default=""), max(texts, default="")
    same = next((at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    return first[:same]


def ends_a_word(choice: str) -> bool:
    """Whether a blank follows; not if the word continues with a value, a further part or a file's name."""
    return not choice.endswith(("=", "+", "/", ":", ","))


def needs(text: str, known: PeerInfo) -> tuple[str, ...]:
    """The questions whose answers `complete` needs."""
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


def wants_file(text: str, known: PeerInfo) -> str | None:
    """The typed part of a file's name; None if the argument is no file."""
    place = _find_place(text)
    return place.typed if place.name and _kind(place, known) == FILE else None


def hint(text: str, known: PeerInfo) -> str:
    """The typed command with its arguments and its help; "" if it is unknown."""
    place = _find_place(text)
    name = place.name or place.typed
    if place.mark:
        own = known.own.get(name)
        return f":{own.usage} — {own.help}" if own else ""
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


def _names(place: _Place, known: PeerInfo) -> list[CompletionChoice]:
    """Names of commands; after a mark, those of the console."""
    if place.mark:
        return [CompletionChoice(row.name, len(place.typed), _beside(row)) for row in _own(place.typed, known)]
    if not place.typed:
        return []
    names = [name for name in _all_commands(known) if name.startswith(place.typed)]
    return [CompletionChoice(name, len(place.typed), _help_of(name)) for name in names]


def _own(typed: str, known: PeerInfo) -> list[OwnCommand]:
    return [known.own[name] for name in sorted(known.own) if name.startswith(typed)]


def _beside(row: OwnCommand) -> str:
    return f"{row.arguments} — {row.help}" if row.arguments else row.help


def _help_of(name: str) -> str:
    row = TABLE.get(name)
    return "" if row is None else f"{row.arguments} — {row.help}" if row.arguments else row.help


def _all_commands(known: PeerInfo) -> Iterable[str]:
    """The commands that the peer lists; all of the protocol while these are unknown."""
    return known.commands or sorted(TABLE)


def _kind(place: _Place, known: PeerInfo) -> str:
    """The kind of the argument at the cursor: MOVE, COLOUR, BOT, PLY, FILE, …, `a|b`, or another."""
    if place.mark:
        own = known.own.get(place.name)
        return "" if own is None else _own_kind(own, len(place.before))
    row = TABLE.get(place.name)
    if row is None:
        return ""
    if "NAME=VALUE" in row.arguments:
        return "OPTION" if place.before else "GAME"
    words = re.sub(r"[\[\]]", "", row.arguments).split()
    if "…" in words:  # the words before repeat
        repeated = words[: words.index("…")]
        word = repeated[len(place.before) % len(repeated)]
    elif len(place.before) < len(words):
        word = words[len(place.before)]
    else:
        return ""
    return {"NAME": "COMMAND", "POINT": "MOVE"}.get(word, word)


def _own_kind(own: OwnCommand, index: int) -> str:
    words = re.sub(r"[\[\]]", "", own.kinds or own.arguments).split()
    word = words[index] if index < len(words) else ""
    return FILE if word.startswith(FILE) else word


def _starting(typed: str, words: Iterable[str]) -> list[CompletionChoice]:
    low = typed.lower()
    return [
        CompletionChoice(word, len(typed), _help_of(word))
        for word in words
        if word.lower().startswith(low) and word != typed
    ]


def _moves(typed: str, moves: Sequence[str]) -> list[CompletionChoice]:
    """Legal moves in any case of letters; of compound moves the next part."""
    low, size = typed.lower(), len(typed)
    heads: dict[str, int] = {}
    for move in moves:
        if move.lower().startswith(low):
            end = _SEGMENTS.search(move, size)
            head = move[: end.end()] if end else move
            heads[head] = heads.get(head, 0) + 1
    if len(heads) == 1 and max(heads.values()) > 1:  # a single part: the next parts are more useful
        (head,) = heads
        return (
            [CompletionChoice(choice.text, size, choice.help) for choice in _moves(head, moves)]
            if head != typed
            else []
        )
    return [
        CompletionChoice(head, size, f"{count} moves" if count > 1 else "")
        for head, count in heads.items()
        if head != typed
    ]


def _dead(typed: str, stones: Sequence[str]) -> list[CompletionChoice]:
    """The next stone of a list of dead ones."""
    *named, last = typed[len(_DEAD) :].upper().split(",")
    return [CompletionChoice(stone, len(last)) for stone in stones if stone.startswith(last) and stone not in named]


def _bots(typed: str, bots: Sequence[BotWord]) -> list[CompletionChoice]:
    """Bots; a command line with blanks gets quotes, typed or not."""
    low = typed.lstrip("'\"").lower()
    return [
        CompletionChoice(bot.word, len(typed), bot.help)
        for bot in bots
        if bot.plain.lower().startswith(low) and bot.word != typed and bot.plain != typed
    ]


def _options(typed: str, before: list[str], known: PeerInfo) -> list[CompletionChoice]:
    """`name=` of the remaining options, then the values of options that have few."""
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
