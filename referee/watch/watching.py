"""Looks on: chooses the match to be shown, follows it, goes on to another one when it has ended."""

import time
from collections.abc import Callable

import click

from protocol.drawing.scene import clean
from protocol.records import MatchEnded
from protocol.spectating import Over, State
from protocol.transports.spectator import Again, Down, Happened, Missing, NoSuch, Seen, Sight, Spectator, Up
from referee.watch.shown import Shown, find, listing, newest
from referee.watch.views import OFTEN, View

PATIENCE = 10.0  # seconds in which a lobby is to say what is under way, where somebody waits for just that
_WAIT = 1.0


class Watching:
    """`word` means one match, whose end is the end; else one after another is shown, of `bot` if it is named."""

    def __init__(self, there: Spectator, shown: Shown, view: View, word: str = "", bot: str = "") -> None:
        self._there, self._shown, self._view = there, shown, view
        self._word, self._bot = word, bot
        self._known = False  # what is under way
        self._over = False
        self._until = 0.0  # so long the end of a match is shown

    def run(self) -> None:
        """Until the one match has ended, or for ever. Raises ClickException, Ambiguous."""
        self._there.follow_ladder()
        while not (self._over and time.monotonic() >= self._until):
            self._choose()
            sight = self._there.read(1 / OFTEN if self._until > time.monotonic() or self._shown.match else _WAIT)
            if sight is not None:
                self._take(sight)
            self._view.draw()

    def _choose(self) -> None:
        shown = self._shown
        if not self._known or self._over or time.monotonic() < self._until:
            return
        if self._word:
            if not shown.match:
                self._show(find(self._word, shown.roll))
        elif (not shown.match or shown.end) and (match := newest(shown.roll, self._bot)) and match != shown.match:
            self._show(match)

    def _show(self, match: str) -> None:
        self._shown.choose(match)
        try:
            self._there.follow(match)
        except ValueError:
            raise self._nowhere(match) from None

    def _take(self, sight: Sight) -> None:
        shown, view = self._shown, self._view
        match sight:
            case Seen(_, event):
                shown.take(event)
                view.event(event)
                if isinstance(event, MatchEnded):
                    self._until = time.monotonic() + view.linger
                    self._over = bool(self._word)
            case Again():
                shown.choose(shown.match)
                view.again()
            case Missing(_, number):
                view.tell(f"events from {number} on were lost on the way and are asked for")
            case NoSuch(match):
                if self._word:
                    raise self._nowhere(match)
                shown.choose("")
            case Happened(news):
                self._known = True
                if isinstance(news, Over):
                    shown.results.append(news)
                    self._given_up(news)
                if not isinstance(news, State):
                    view.news(news)
            case Up():
                shown.trouble = ""
                view.tell(f"connected to {shown.url}")
            case Down(reason):
                shown.trouble = f"{_trouble(shown.url, reason)} (trying again)"
                view.tell(shown.trouble)

    def _given_up(self, over: Over) -> None:
        """A match without an end."""
        if over.head.match == self._shown.match and over.termination == "dropped":
            self._view.tell(f"{over.head.match} was given up: its bots did not come back")
            self._there.leave(over.head.match)
            self._shown.choose("")
            self._over = bool(self._word)

    def _nowhere(self, match: str) -> click.ClickException:
        return click.ClickException(f"{self._shown.url} knows no match {clean(match)}\n{listing(self._shown.roll)}")


def list_matches(there: Spectator, say: Callable[[str], None]) -> None:
    """What is under way, once. Raises ClickException if nobody says so in time."""
    there.follow_ladder()
    until, reason = time.monotonic() + PATIENCE, "no answer"
    while (left := until - time.monotonic()) > 0:
        sight = there.read(left)
        if isinstance(sight, Happened):
            say(listing(there.roll, most=10_000))
            return
        if isinstance(sight, Down):
            reason = sight.reason
    raise click.ClickException(_trouble(there.url, reason))


def _trouble(url: str, reason: str) -> str:
    return "; ".join(filter(None, (f"{url}: {reason}", _REMEDIES.get(reason))))


_REMEDIES = {
    "nobody listens there": "is the lobby running (ggp serve), with this address as lobby.watch?",
}
