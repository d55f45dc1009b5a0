"""A human as a player of a match: asked at a desk (see desk) for each of his plies, with the engine's help. No process.

What he types is a move, a short form of one (see _meant), `resign`, or a question that begins with `:`.
"""

import shutil
import time
from collections.abc import Callable

from protocol.channel import Channel
from protocol.connection import PeerRole
from protocol.drawing import text
from protocol.drawing.scene import DrawingError, clean, read_scene
from protocol.messages import Reply
from protocol.records import Diagnostics, Party
from protocol.responder import Responder
from protocol.transports.memory import Memory
from referee.config import Budgets, Setting
from referee.play.clock import NO_LIMIT, Clock, Kind
from referee.play.desk import Desk, Left, TimeUp
from referee.play.engine import AGREE, Engine
from referee.play.launch import Peer
from referee.play.outcome import Fault, Termination
from referee.play.player import Player
from referee.play.seating import HUMAN, Start

HELP = """A move as the engine writes it, as in D4, or `resign`; Tab completes. The end of input resigns, too.
Ctrl-C drops the match.
:board  the position again        :why MOVE  why a move is not legal
:moves  every legal move          :score     the score as it stands"""
_HINTS = {
    "bid": "Bid the komi: a number, as in 7",
    "choose": "Choose: swap-sides or keep-sides",
    AGREE: "Name the dead stones, as in A1 B2, or `none`",
}
_SHORT = {"choose": {"swap": "swap-sides", "keep": "keep-sides"}, AGREE: {"none": "dead:"}}
_QUESTIONS = (":board", ":help", ":moves", ":score", ":why")
_MOST = 5000  # words that completion is given


class HumanPlayer(Player):
    """One human through all his games; he shares the table's engine, which stands where the match does."""

    def __init__(self, start: Start, engine: Callable[[], Engine], desk: Desk, shows_end: bool = True) -> None:
        """`engine` is asked for anew each time: it may have been replaced. `shows_end`: he is the one who is told."""
        party = Party(name=start.name, program=HUMAN, command=HUMAN)
        super().__init__(_Nobody(), party, frozenset(), Budgets())
        self._engine = engine
        self._desk = desk
        self._shows_end = shows_end
        self._news: list[tuple[str, str]] = []

    async def new_game(self, setting: Setting, seed: int | None = None) -> None:
        """He knows every game."""
        self._news.clear()

    def tell(self, colour: str, move: str) -> None:
        """He reads of it with his next turn."""
        self._news.append((colour, move))

    def check_alive(self) -> None:
        """He is."""

    @property
    def agrees_by_genmove(self) -> bool:
        return True

    async def agree(self, colour: str) -> Reply:
        """His list of dead stones, for which he has all the time he wants."""
        return Reply(True, await self._turn(colour, None, "", AGREE))

    async def genmove(self, colour: str, mine: Clock, other: Clock) -> tuple[Reply, int]:
        """His move and the ms it took. Where no clock runs a move may take longer than a bot's."""
        untimed, began = mine.control.kind is Kind.NONE, time.monotonic()
        deadline = None if untimed else began + mine.left / 1000
        theirs = "" if untimed else f"the other {_shown(other.left / 1000)}"
        reply = Reply(True, await self._turn(colour, deadline, theirs))
        ms = int((time.monotonic() - began) * 1000)
        return reply, min(ms, NO_LIMIT) if untimed else ms

    async def end_game(self, result: str) -> bool:
        """The last position; he can always go on."""
        if self._shows_end and result:
            self._tell_news()
            await self._show(self._engine())
        return True

    def diagnostics(self) -> Diagnostics:
        """A human leaves none."""
        return Diagnostics()

    def _lines_of_a_new_game(self, setting: Setting) -> dict[str, bool]:
        return {}

    def _clock_line(self, colour: str, mine: Clock, other: Clock) -> str:
        return ""

    # -- a turn ----------------------------------------------------------------------------------------------

    async def _turn(self, colour: str, deadline: float | None, theirs: str, phase: str = "") -> str:
        """A legal move or `resign`. Raises Fault when the time is up."""
        engine, desk = self._engine(), self._desk
        proposed = next((move for _, move in self._news[-1:] if move.startswith("dead:")), "")
        self._tell_news()
        await self._show(engine)
        legal = [] if phase == AGREE else await engine.legal_moves()
        phase = phase or _phase(legal)
        if hint := _HINTS.get(phase):
            desk.show(hint + (f"; `agree` to {proposed}" if proposed else ""))
        words = [*legal[:_MOST], *_SHORT.get(phase, {}), *(["agree"] if proposed else []), "resign", *_QUESTIONS]

        def clocks() -> str:
            return f"{self.name} {_shown(deadline - time.monotonic())}, {theirs}" if deadline else ""

        while True:
            try:
                typed = desk.read(f"{colour} ({self.name})> ", words, deadline, clocks)
            except TimeUp:
                raise Fault(Termination.TIME, "there was no move when the time was up") from None
            except Left:
                desk.show("The input has ended: resigned")
                return "resign"
            if typed.startswith(":"):
                await self._answer(typed[1:].split(), engine, legal)
            elif typed.lower() == "resign":
                return "resign"
            elif typed:
                move = proposed if proposed and typed.lower() == "agree" else _meant(typed, phase)
                reason = await engine.why_illegal(move)
                if not reason:
                    return move
                desk.show(f"illegal move: {clean(reason)}")

    def _tell_news(self) -> None:
        for who, move in self._news:
            self._desk.show(f"{who} played {clean(move)}")
        self._news.clear()

    async def _answer(self, words: list[str], engine: Engine, legal: list[str]) -> None:
        """A question between two moves; it changes nothing."""
        show = self._desk.show
        match words:
            case ["board"]:
                await self._show(engine)
            case ["moves"]:
                show(clean(" ".join(legal)) or "every list of dead stones: dead:A1,B2")
            case ["score"]:
                show(clean((await engine.final())[1]) or "the engine tells no score")
            case ["why", move]:
                reason = await engine.why_illegal(move)
                show(clean(f"{move} is illegal: {reason}" if reason else f"{move} is legal"))
            case ["why"]:
                show("write :why MOVE")
            case ["undo", *_]:
                show("a ply of a match is not taken back; `resign` ends it")
            case _:
                show(HELP)

    async def _show(self, engine: Engine) -> None:
        drawn = await engine.scene()
        if not drawn:
            self._desk.show("the engine draws no board; :moves lists what is legal")
            return
        try:
            scene = read_scene(drawn)
        except DrawingError as error:
            self._desk.show(f"the engine's board cannot be drawn: {error}")
            return
        width = shutil.get_terminal_size((text.WIDTH, 24)).columns
        self._desk.show("\n".join(["", text.draw(scene, width), "", *text.describe(scene, width)]))


def _phase(legal: list[str]) -> str:
    """The phase whose moves these are."""
    if "keep-sides" in legal:
        return "choose"
    return "bid" if legal and all(move.startswith("bid:") for move in legal) else "play"


def _meant(typed: str, phase: str) -> str:
    """`7` is `bid:7` where bids are made, `swap` is swap-sides, `A1 B2` or `A1,B2` a list of dead stones."""
    if short := _SHORT.get(phase, {}).get(typed.lower()):
        return short
    if phase == "bid" and typed.lstrip("+-").isdigit():
        return f"bid:{typed}"
    if phase == AGREE and not typed.lower().startswith("dead:"):
        return "dead:" + ",".join(typed.replace(",", " ").upper().split())
    return typed


def _shown(seconds: float) -> str:
    """`1:02:03`, `9:59`, `9.8 s`."""
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


class _Nobody(Peer):
    """The Peer of somebody who is no process."""

    def __init__(self) -> None:
        self.channel = Channel(Memory.of(Responder(HUMAN, "", {})), PeerRole.BOT)

    def exited(self, wait: float = 0) -> str:
        return ""

    def stderr_tail(self) -> str:
        return ""

    def stderr_news(self) -> str:
        return ""

    async def stop(self, kill: bool = False) -> None:
        self.channel.close()
