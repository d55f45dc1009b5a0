"""What the record of a match says beside the board and to completion: who plays, the ply, the clocks; asks nobody."""

import shlex

from protocol.drawing.scene import clean
from protocol.messages import Reply
from protocol.records import Party, Record
from referee.console.journey import Ask, Journey, Where, facts_of_scene
from referee.console.knowledge import Bot
from referee.play.clock import Control, Kind
from referee.play.engine import parse_status
from referee.play.outcome import EngineFailed
from referee.play.seating import HUMAN
from referee.play.words import BUILT_IN

HISTORY, STATUS = "ggp-history", "ggp-status"
_NAME = 16  # characters of a bot's name


class Caption:
    """About the match of one journey, as far as its record was read; whoever wants more of it reads it again."""

    def __init__(self, journey: Journey) -> None:
        self._journey = journey

    def lines(self, history: Reply | None, status: Reply | None, scene: Reply | None) -> tuple[str, ...]:
        """A line for each side, and where we are; None is what the engine was not asked."""
        if history is None or not history.ok:
            return ()
        at = self._journey.see(history, facts_of_scene(scene))
        if not at.known:
            return ("another game than the match",)
        return tuple(map(clean, caption(self._journey.record, at, _colours(status))))

    def ask(self, ask: Ask) -> tuple[str, ...]:
        """The same, of an engine that may be waited for."""
        return self.lines(ask(HISTORY), ask(STATUS), ask("ggp-scene"))

    @property
    def of(self) -> str:
        """The match in a few words."""
        start = self._journey.record.start
        return clean(f"{start.game}, {' against '.join(party.name[:_NAME] for party in start.bots)}")

    def plies(self) -> tuple[str, ...]:
        """What led to each place of the match, from the start on."""
        return ("the start", *(clean(f"{ply.colour} {ply.move}") for ply in self._journey.record.plies))

    def bots(self) -> tuple[Bot, ...]:
        """Who may be asked or play: built-in ones, those of the match, a human."""
        known = {name: Bot(name, name, "built in") for name in BUILT_IN}
        for seat, party in enumerate(self._journey.record.start.bots, 1):
            if party.command and party.command != HUMAN:
                bot = Bot(shlex.quote(_word(party)), _word(party), clean(f"seat {seat} of the match"))
                known[bot.word] = bot
        return (*known.values(), Bot(HUMAN, HUMAN, "you, at this terminal", human=True))


def caption(record: Record, at: Where, colours: dict[int, str]) -> list[str]:
    """`black one  9.882 s left` for each side, then `ply 17 of 63: black D5  0.412 s`; `colours` by seat, if known."""
    plies = record.plies[: at.ply]
    near = record.plies[at.ply : at.ply + 1] or plies[-1:]  # whose turn it is, or was at last
    for ply in near if not colours else ():
        colours = _both(ply.seat, ply.colour)
    left = _full_time(record.start.control)
    left |= {ply.seat: ply.left for ply in plies if ply.left is not None}
    lines = []
    for seat in sorted((1, 2), key=lambda seat: colours.get(seat, "")):
        time = f"  {left[seat] / 1000:.3f} s left" if seat in left else ""
        lines.append(f"{colours.get(seat, f'seat {seat}')} {record.start.bots[seat - 1].name[:_NAME]}{time}")
    where = f"ply {at.ply} of {len(record.plies)}" + ("" if record.end else " so far")
    if at.aside:
        return [*lines, f"off the record after {where}"]
    return [*lines, where + "".join(f": {ply.colour} {ply.move}  {ply.ms / 1000:.3f} s" for ply in plies[-1:])]


def _colours(status: Reply | None) -> dict[int, str]:
    """Which colour each seat has now; {} where the engine does not say, as when the game is over."""
    try:
        said = parse_status(status.text) if status and status.ok else None
    except EngineFailed:
        return {}
    return _both(said.seat, said.to_play) if said else {}


def _both(seat: int, colour: str) -> dict[int, str]:
    """Both seats' colours by one of them; {} for nobody's."""
    other = {"black": "white", "white": "black"}.get(colour)
    return {seat: colour, 3 - seat: other} if other and seat in (1, 2) else {}


def _full_time(control: str) -> dict[int, int]:
    """ms that each seat begins with; {} where there is no limit."""
    try:
        read = Control.parse(control)
    except ValueError:  # another referee's words
        return {}
    return {} if read.kind is Kind.NONE else dict.fromkeys((1, 2), read.main or read.period)


def _word(party: Party) -> str:
    """What starts it again under its name."""
    return party.command if party.command.partition(":")[0] == party.name else f"{party.name}={party.command}"
