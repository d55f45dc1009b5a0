"""A seat for an agent in another thread: the agent calls when it likes, and the bot waits for its move.

The bot's thread has the engine's position only while it waits in `choose`; the agent may then use it, one call at a
time. Between its turns, an agent sees the position of its last turn.
"""

import threading
import time
from typing import Any, NamedTuple

from ggp.bots.adapters.prompts import position_text
from ggp.bots.adapters.turn import fit, seconds_of
from ggp.bots.sdk import NoMove, Position

LONGEST_WAIT = 50.0  # seconds of one wait_for_turn, because clients abandon a call after a minute
_GRACE = 2.0  # seconds beyond its clock; by then the game is lost anyway
_MOST_KEPT = 100  # the most calls of one turn that a record keeps


class SeatError(Exception):
    """A request of the agent that is impossible now; str() tells it what to do."""


class _Turn(NamedTuple):
    position: Position
    kept: dict[str, Any]
    began: float


class AgentSeat:
    """A seat. The bot calls `choose` and `told`; the agent calls all other methods, from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._turn: _Turn | None = None
        self._move = ""
        self._seen = ""  # the position of the last turn, as text
        self._legal: list[str] = []
        self._rules = ""
        self._game = ""
        self._result = ""
        self._unheard = ""  # how a game ended, until the agent has been told
        self._gone = ""  # why there is no agent, or "" while there is one

    # -- the bot's side

    def told(self, command: str, words: str) -> None:
        """Note that a game begins (`ggp-new`) or is over (`ggp-result`)."""
        with self._changed:
            if command == "ggp-new":
                self._game, self._result, self._seen, self._legal, self._rules = words, "", "", [], ""
            else:
                self._result = words
                self._unheard = f"The game is over: {words}"
            self._changed.notify_all()

    def choose(self, position: Position) -> str:
        """Wait for the agent's move and return it.

        Raises:
            NoMove: No move came in time, or the agent has left.
        """
        kept: dict[str, Any] = {"model": "mcp", "answers": []}
        position.analysis = kept
        deadline = time.monotonic() + seconds_of(position, _GRACE)
        with self._changed:
            self._seen, self._legal = position_text(position), position.legal_moves()
            self._rules = position.rules
            self._move, self._turn = "", _Turn(position, kept, time.monotonic())
            self._changed.notify_all()
            try:
                while not self._move:
                    if self._gone:
                        raise NoMove(self._gone)
                    if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                        raise NoMove("the agent made no move in time")
                return self._move
            finally:
                self._turn = None
                fit(kept)

    def linger(self, seconds: float) -> None:
        """Wait until the agent has been told how the game ended, at most `seconds`."""
        with self._changed:
            self._changed.wait_for(lambda: not self._unheard or bool(self._gone), seconds)

    def close(self, reason: str) -> None:
        """Make `choose` fail from now on, because the agent has left."""
        with self._changed:
            self._gone = reason
            self._changed.notify_all()

    # -- the agent's side

    def rules(self) -> str:
        """Return the rules of the current game, and its options."""
        with self._changed:
            self._need_game()
            return f"The game: {self._game}\n\n{self._rules}" if self._rules else self._none_yet()

    def position(self) -> str:
        """Return the position of this turn, or of the last one."""
        with self._changed:
            self._need_game()
            if self._result:
                return f"{self._end()}\n\nYour last position:\n{self._seen}"
            if self._turn is None:
                return f"{self._none_yet()}\n\nYour last position:\n{self._seen}" if self._seen else self._none_yet()
            return self._seen

    def legal_moves(self) -> list[str]:
        """Return the legal moves of this turn.

        Raises:
            SeatError: It is not the agent's turn.
        """
        with self._changed:
            self._need_turn()
            return self._legal

    def why_illegal(self, move: str) -> str:
        """Return the engine's reason, or "" for a legal move.

        Raises:
            SeatError: It is not the agent's turn.
        """
        with self._changed:
            return self._need_turn().position.why_illegal(move.strip())

    def play(self, move: str) -> str:
        """Play a move.

        Raises:
            SeatError: The move is illegal, with the engine's reason, or it is not the agent's turn.
        """
        word = move.strip()
        with self._changed:
            turn = self._need_turn()
            reason = "use the tool resign instead" if word.lower() == "resign" else turn.position.why_illegal(word)
            self._keep(turn, word, reason)
            if reason:
                raise SeatError(f"{word[:80]} is illegal: {reason}")
            return self._answer(word)

    def resign(self) -> str:
        """Resign the game.

        Raises:
            SeatError: It is not the agent's turn.
        """
        with self._changed:
            self._keep(self._need_turn(), "resign", "")
            return self._answer("resign")

    def wait_for_turn(self, seconds: float = LONGEST_WAIT) -> str:
        """Wait until it is the agent's turn, a game is over, or the time is up. Return which of these happened.

        The end of each game is reported once.
        """
        with self._changed:
            self._changed.wait_for(self._has_news, max(0.0, min(seconds, LONGEST_WAIT)))
            if said := self._unheard:
                self._heard()
                return said
            if self._turn and not self._move:
                return f"It is your turn.\n\n{self._seen}"
            return self._gone or "It is not your turn yet: call wait_for_turn again."

    def result(self) -> str:
        """Return how the game ended, or that it has not ended."""
        with self._changed:
            self._need_game()
            self._heard()
            return self._end() if self._result else "The game is not over."

    def _has_news(self) -> bool:
        return bool(self._unheard or self._gone or (self._turn and not self._move))

    def _heard(self) -> None:
        self._unheard = ""
        self._changed.notify_all()

    def _need_game(self) -> None:
        if not self._game:
            raise SeatError("no game has begun yet: call wait_for_turn")

    def _need_turn(self) -> _Turn:
        if self._turn is None or self._move:
            raise SeatError(self._end() if self._result else "it is not your turn: call wait_for_turn")
        return self._turn

    def _none_yet(self) -> str:
        return "It is not your turn: call wait_for_turn."

    def _end(self) -> str:
        return f"The game is over: {self._result}"

    def _answer(self, word: str) -> str:
        self._move = word
        self._changed.notify_all()
        return f"{word} is your move. Call wait_for_turn for the next."

    def _keep(self, turn: _Turn, word: str, reason: str) -> None:
        if len(turn.kept["answers"]) < _MOST_KEPT:
            ms = int((time.monotonic() - turn.began) * 1000)
            illegal = {"illegal": reason[:300]} if reason else {}
            turn.kept["answers"].append({"named": word[:200], "ms": ms, **illegal})
