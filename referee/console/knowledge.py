"""What the console knows of its peer: what it is, its commands, the game's legal moves. Each is asked for when it is
first needed, and again only after a change of the position. Nothing here waits.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from protocol.connection import PeerRole
from protocol.messages import Reply
from referee.console.dialogue import Dialogue
from referee.console.own import Own
from referee.console.trail import CHANGING

LIST, GAMES, MOVES, OPTIONS = "list_commands", "ggp-games", "ggp-legal_moves", "ggp-options"


class Kind(StrEnum):
    """What a peer is, by the commands that it lists."""

    ENGINE = "engine"
    BOT = "bot"
    REFEREE = "referee"
    UNKNOWN = "peer"


class Option(NamedTuple):
    """A game's option as `ggp-options` says it."""

    name: str
    type: str
    default: str
    domain: str


class Bot(NamedTuple):
    """A bot that may be named: the word as it is typed, quoted if need be, and as it is read; or a human."""

    word: str
    plain: str
    help: str = ""
    human: bool = False


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What completion may draw on; empty is what is not known (yet)."""

    commands: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    stones: tuple[str, ...] = ()
    games: tuple[str, ...] = ()
    options: Mapping[str, tuple[Option, ...]] = field(default_factory=dict)
    own: Mapping[str, Own] = field(default_factory=dict)
    bots: tuple[Bot, ...] = ()
    plies: tuple[str, ...] = ()  # what led to each place of a match, the start first

    @property
    def kind(self) -> Kind:
        if not self.commands:
            return Kind.UNKNOWN
        if "ggp-play" in self.commands:
            return Kind.ENGINE
        return Kind.BOT if "genmove" in self.commands else Kind.REFEREE


class Learner:
    """Keeps `known` up to date by questions on a dialogue; what was asked and is not answered is not asked again."""

    def __init__(self, dialogue: Dialogue, own: Iterable[Own]) -> None:
        self.known = Knowledge(own={row.name: row for row in own})
        self._dialogue = dialogue
        self._asked: set[str] = set()
        self._generation = 0
        self.changes = 0  # of the position, since the peer was started

    def learn(self, questions: Iterable[str]) -> bool:
        """Ask what is not known yet; whether something that would help is still to come.

        While somebody waits for an answer nothing is asked: it would come behind that.
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
        """A command was answered: whether the position may be another one. Then its legal moves are not known."""
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
        """The cells with something on them, as the last drawing of the position had them."""
        self.known = replace(self.known, stones=tuple(stones))

    def see_match(self, bots: tuple[Bot, ...], plies: tuple[str, ...]) -> None:
        """What the record of a match tells, which no peer changes."""
        self.known = replace(self.known, bots=bots, plies=plies)

    def forget_all(self) -> None:
        """Another peer, perhaps another program."""
        self._generation += 1
        self.changes = 0
        self._asked.clear()
        self.known = Knowledge(own=self.known.own, bots=self.known.bots, plies=self.known.plies)

    def note_commands(self, reply: Reply) -> None:
        """The peer was asked on another way what it lists."""
        self._learned(LIST, [], reply.text)

    def _note(self, question: str) -> Callable[[Reply], None]:
        return partial(self._heard, question, self._generation)

    def _heard(self, question: str, generation: int, reply: Reply) -> None:
        """An answer has come; it does not count if the peer or the position is another one meanwhile."""
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
            if self.known.kind is Kind.ENGINE:
                self._dialogue.channel.connection.peer = PeerRole.ENGINE
        elif name == MOVES:
            self.known = replace(self.known, moves=tuple(sorted(words, key=_natural)))
        elif name == GAMES:
            self.known = replace(self.known, games=words)
        elif name == OPTIONS:
            rows = [line.split() for line in text.splitlines()]
            options = tuple(Option(row[0], row[1], row[2], " ".join(row[3:])) for row in rows if len(row) > 2)
            self.known = replace(self.known, options={**self.known.options, rest[0]: options})


def _natural(move: str) -> list[tuple[bool, int, str]]:
    """The order that people expect: A2 before A10, bid:9 before bid:10."""
    parts = re.findall(r"\d+|\D+", move)
    return [(part[0].isdigit(), int(part) if part[0].isdecimal() else 0, part) for part in parts]
