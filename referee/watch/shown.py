"""What is to be seen at the moment: a match as far as it came, what is under way, what ended. No I/O."""

from collections import deque
from dataclasses import dataclass, field

from protocol.drawing.scene import clean
from protocol.records import Event, MatchEnded, MatchStarted, MovePlayed, Record
from protocol.spectating import Head, Over, Roll

LATEST = 5  # results that are remembered


@dataclass(slots=True)
class Shown:
    """`match` is the name of the one that is shown, "" for none; `trouble`: why nothing comes, "" while it does."""

    url: str
    roll: Roll
    match: str = ""
    trouble: str = ""
    start: MatchStarted | None = None
    plies: list[MovePlayed] = field(default_factory=list)
    end: MatchEnded | None = None
    results: deque[Over] = field(default_factory=lambda: deque(maxlen=LATEST))

    def choose(self, match: str) -> None:
        """Show this one from now on."""
        self.match, self.start, self.plies, self.end = match, None, [], None

    def take(self, event: Event) -> None:
        """The next event of the match that is shown."""
        if isinstance(event, MatchStarted):
            self.start, self.plies, self.end = event, [], None
        elif isinstance(event, MovePlayed):
            self.plies.append(event)
        else:
            self.end = event

    @property
    def record(self) -> Record | None:
        """As far as it came; None before it has begun."""
        return Record(self.start, tuple(self.plies), self.end) if self.start else None


class Ambiguous(Exception):
    """A word means no match, or several; str() says which there are."""


def find(word: str, roll: Roll) -> str:
    """The match under way with this name, or whose name holds it; the word itself if there is none: it may have ended.

    Raises Ambiguous.
    """
    if word in roll.matches:
        return word
    found = [name for name in roll.matches if word in name]
    if len(found) > 1:
        raise Ambiguous(f"{clean(word)} may mean {len(found)} matches: name more of it\n{listing(roll)}")
    return found[0] if found else word


def newest(roll: Roll, bot: str) -> str:
    """The match that began last, of this bot if one is named; "" if there is none."""
    heads = [head for head in roll.matches.values() if not bot or bot in head.bots]
    return max(heads, key=lambda head: head.started).match if heads else ""


def listing(roll: Roll, most: int = 50) -> str:
    """The matches under way, newest first, a line each."""
    heads = sorted(roll.matches.values(), key=lambda head: head.started, reverse=True)
    if not heads:
        return "no match is under way"
    more = [f"… {len(heads) - most} more"] if len(heads) > most else []
    return "\n".join([*(about(head) for head in heads[:most]), *more])


def about(head: Head) -> str:
    """A match in a line."""
    game = " ".join([head.game, *(f"{name}={value}" for name, value in head.options.items())])
    return clean(f"{head.match}  {game}  {head.control}  {' - '.join(head.bots)}")


def result(over: Over) -> str:
    """How a match ended, in a line."""
    return clean(f"{over.head.match}  {' - '.join(over.head.bots)}  {over.result or 'void'}, {over.termination}")
