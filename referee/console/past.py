"""`ggp console --match PLACE`: the engine that a match is replayed on as a console's target, and its commands."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

import click

from protocol.connection import PeerRole
from protocol.messages import Reply
from referee.archive.places import Source, open_match
from referee.config import Budgets, Setting
from referee.console.branch import rows as branch_rows
from referee.console.caption import Caption
from referee.console.console import Console
from referee.console.hints import Hints
from referee.console.journey import Journey
from referee.console.own import Own
from referee.console.target import Target, listening, process
from referee.console.travel import rows as travel_rows
from referee.play.clock import Control, Kind
from referee.play.seating import Start
from referee.play.words import ENGINE, WordError


@dataclass
class Past:
    """A match and its engine; `close` ends the bots that were asked for hints."""

    target: Target
    source: Source
    engine: Start
    _hints: list[Hints] = field(default_factory=list)

    def more(self, console: Console) -> Iterable[Own]:
        """The commands of this console that a match brings with it."""

        def ask(line: str) -> Reply:
            return console.dialogue.ask(line, console.timeout)

        journey, hints = Journey(self.source.record, ask, self.source.again), Hints(ask)
        self._hints.append(hints)
        caption = console.match = Caption(journey)
        beside = (lambda: caption.ask(ask)) if sys.stdout.isatty() else tuple[str, ...]
        travel = travel_rows(journey, self.source, ask, click.echo, beside)
        return [*travel, *branch_rows(journey, self.engine, click.echo, hints)]

    def close(self) -> None:
        for hints in self._hints:
            hints.close()


def open_past(place: str, words: tuple[str, ...], command: tuple[str, ...], url: str, budgets: Budgets) -> Past:
    """The place on our engine, or on that of a command line or an address. ClickException, WordError, LaunchError."""
    if words or (command and url):
        raise WordError("--match goes with -- COMMAND or --connect URL of an engine, and not with a GAME")
    source = open_match(place)
    start = source.record.start
    if url:
        target, engine = listening(url, PeerRole.ENGINE, budgets), Start("engine", url, url=url)
    else:
        argv = command or ENGINE
        name = " ".join(command) or "ggp engine"
        target, engine = process(name, argv, PeerRole.ENGINE, budgets), Start("engine", name, argv)
    lines = [f"ggp-play {ply.colour} {ply.move}" for ply in source.record.plies[: source.ply]]
    new_game = Setting(start.game, start.options, {}, Control(Kind.NONE)).new_game
    return Past(target._replace(first=new_game, then=tuple(lines)), source, engine)
