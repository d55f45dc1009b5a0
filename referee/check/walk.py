"""A random game on an engine, to its end, with everything asked on the way that must agree with everything else."""

import random
import re
from itertools import pairwise

from protocol.drawing.scene import DrawingError, read_scene
from referee.check.forms import PHASES, Status, ends_right, is_result, is_score, read_status
from referee.check.talk import Answer, Talk
from referee.check.trial import Stopped, Trial

PLIES = 400  # no further, though the game go on
SEED = 1
_SAMPLE = 4  # moves asked of ggp-legal at one position
_OFTEN = 6  # plies between the dearer questions
NONSENSE = ("no-such-move", "A0", "Z99Z99")
_NEEDED = {
    "3.3.5": "ggp-legal",
    "3.3.8": "ggp-hash",
    "3.3.9": "ggp-undo",
    "3.3.10": "ggp-undo",
    "3.3.12": "ggp-score",
    "3.3.13": "ggp-scene",
    "3.3.14": "ggp-perft",
}
OTHER = {"black": "white", "white": "black"}


async def walk(trial: Trial) -> None:
    """Every game that it lists."""
    for number, name in _NEEDED.items():
        if name not in trial.commands:
            trial.omit(f"it lists no {name}", number)
    for game in trial.games:
        await _Walk(trial, await trial.talk(), game).play()


class _Walk:
    """One game. The methods are in the order in which they are asked."""

    def __init__(self, trial: Trial, talk: Talk, game: str) -> None:
        self.trial, self.talk, self.game = trial, talk, game
        self.history: list[str] = []
        self.moves: list[tuple[str, str]] = []
        self.chance = random.Random(SEED)

    async def play(self) -> None:
        first = await self._begin()
        opening = await self._position()
        status = first
        while status.phase != "over" and len(self.moves) < PLIES:
            status = await self._ply(status)
        if status.phase == "over":
            await self._after_the_end()
        else:
            self.trial.omit(f"the random game was not over after {PLIES} plies", "3.3.15")
        end = await self._position()
        await self._replay(end)
        await self._undo(opening)

    async def _begin(self) -> Status:
        self._at("3.2.2", "")
        answer = await self.talk.ask(f"ggp-new {self.game}")
        status = self._status(answer)
        start = (status.ply, status.seat, status.to_play) == (0, 1, "black")
        self._hold("3.2.2", start, "seat=1 to_play=black ply=0")
        return status

    async def _ply(self, status: Status) -> Status:
        dearly = status.ply % _OFTEN == 0
        self._at("3.3.4", f"ply {status.ply}")
        legal = await self._legal(status)
        if dearly:
            await self._look(status, legal)
            await self._refusals(status, legal)
        move = self._choose(status, legal)
        written = move.lower() if status.ply % 2 else move
        self._at("3.3.1", f"ply {status.ply}")
        answer = await self.talk.ask(f"ggp-play {status.to_play} {written}")
        if not answer.ok and written != move:
            self._hold("3.3.2", False, f"a success, as for {move}")
            answer = await self.talk.ask(f"ggp-play {status.to_play} {move}")
        else:
            self._hold("3.3.2", True, "")
        if not self._hold("3.3.1", answer.ok, f"a success: {move} was listed"):
            raise Stopped
        after = self._status(answer)
        given = move != "dead:" or after.move.startswith("dead:")
        self._hold("3.3.1", (after.move == move or move == "dead:") and given, f"move={move} at the beginning")
        self._hold("3.3.1", answer.text.startswith("move="), "move= at the beginning")
        self._hold("3.2.3", after.ply == status.ply + 1, f"ply={status.ply + 1}")
        self._hold("3.2.4", ends_right(after), "result= and winner= if the phase is over, and only then")
        self.history.append(f"{status.seat} {status.to_play} {after.move}")
        self.moves.append((status.to_play, after.move))
        if dearly:
            said = await self.talk.ask("ggp-status")
            self._hold("3.2.5", said.text == answer.text.partition(" ")[2], f"`= {answer.text.partition(' ')[2]}`")
            answer = await self.talk.ask("ggp-history")
            self._hold("3.3.7", answer.text.split("\n") == self.history, f"last line `{self.history[-1]}`")
        return after

    async def _legal(self, status: Status) -> list[str]:
        answer = await self.talk.ask("ggp-legal_moves")
        moves = answer.text.split(" ") if answer.text else []
        order = all(one.encode() < two.encode() for one, two in pairwise(moves))
        self._hold("3.3.4", answer.ok and order and all(moves), "moves, one blank between them, sorted, none twice")
        if not self._hold("3.3.4", bool(moves), "a legal move, for the game is not over"):
            raise Stopped
        return moves

    async def _look(self, status: Status, legal: list[str]) -> None:
        ask, commands = self.talk.ask, self.trial.commands
        if "ggp-score" in commands:
            self._at("3.3.12")
            answer = await ask("ggp-score")
            self._hold(
                "3.3.12", answer.ok and is_score(answer.text, False), '{"black": {"total": …}, …, "final": false}'
            )
        if "ggp-scene" in commands:
            self._at("3.3.13")
            self._scene(await ask("ggp-scene"))
        if "ggp-perft" in commands and status.phase != "agree":
            self._at("3.3.14")
            answer = await ask("ggp-perft 1")
            self._hold("3.3.14", answer.text == str(len(legal)), str(len(legal)))
        if "ggp-legal" in commands:
            self._at("3.3.5")
            for move in self.chance.sample(legal, min(_SAMPLE, len(legal))):
                answer = await ask(f"ggp-legal {move}")
                self._hold("3.3.5", answer.ok and answer.text == "true", f"`= true`, for {move} is listed")
            answer = await ask(f"ggp-legal {NONSENSE[0]}")
            self._hold("3.3.5", answer.ok and answer.text.startswith("false"), "`= false` and the reason")

    def _scene(self, answer: Answer) -> None:
        try:
            read_scene(answer.text)
            wrong = "" if answer.ok else "a failure"
        except DrawingError as error:
            wrong = str(error)
        self._hold("3.3.13", not wrong, "a scene", wrong)

    async def _refusals(self, status: Status, legal: list[str]) -> None:
        """What must be refused, and what must be as it was after each."""
        self._at("3.3.6", f"ply {status.ply}")
        before = await self._position()
        played = [move for _, move in self.moves if move not in legal and move != "dead:"]
        for move in (*NONSENSE, *played[-2:], "resign"):
            if status.phase == "agree" or move in legal:
                continue
            answer = await self.talk.ask(f"ggp-play {status.to_play} {move}")
            words = not answer.ok and answer.text.startswith("illegal move")
            self._hold("3.3.6", words, "`? illegal move` and the reason")
        self._at("3.3.3", f"ply {status.ply}")
        answer = await self.talk.ask(f"ggp-play {OTHER[status.to_play]} {legal[0]}")
        if not self._hold("3.3.3", not answer.ok, f"a failure: {status.to_play} is to play"):
            raise Stopped
        if await self._position() != before:
            self._hold("3.3.6", False, "the same position, history and moves as before the refused ones")
            raise Stopped

    async def _position(self) -> tuple[str, ...]:
        """All that tells positions apart."""
        lines = ["ggp-status", "ggp-history", "ggp-legal_moves"]
        if "ggp-hash" in self.trial.commands:
            lines.append("ggp-hash")
        answers = [await self.talk.ask(line) for line in lines]
        if len(answers) == 4:
            digits = re.fullmatch(r"[0-9a-f]{16}", answers[3].text) is not None
            self._hold("3.3.8", answers[3].ok and digits, "16 hex digits, lower case")
        return tuple(answer.text for answer in answers)

    async def _after_the_end(self) -> None:
        self._at("3.3.15", "after the end")
        answer = await self.talk.ask("ggp-legal_moves")
        self._hold("3.3.15", answer.ok and answer.text == "", "an empty success")
        for colour, move in (("black", self.moves[0][1]), ("white", self.moves[-1][1])):
            answer = await self.talk.ask(f"ggp-play {colour} {move}")
            self._hold("3.3.15", not answer.ok, "a failure: the game is over")
        if "ggp-score" in self.trial.commands:
            self._at("3.3.12")
            answer = await self.talk.ask("ggp-score")
            self._hold("3.3.12", answer.ok and is_score(answer.text, True), '{"black": {…}, …, "final": true}')
        if "ggp-scene" in self.trial.commands:
            self._at("3.3.13")
            self._scene(await self.talk.ask("ggp-scene"))
        if "final_score" in self.trial.commands:
            self._at("3.4.1")
            answer = await self.talk.ask("final_score")
            self._hold("3.4.1", answer.ok and is_result(answer.text), "`B+3.5`, `W+1`, `B+` or `0`")

    async def _replay(self, end: tuple[str, ...]) -> None:
        """The same moves from the beginning; the pieces of the last position must be the same."""
        self._at("3.3.11", "the same moves again")
        await self.talk.ask(f"ggp-new {self.game}")
        for colour, move in self.moves:
            answer = await self.talk.ask(f"ggp-play {colour} {move}")
            if not self._hold("3.3.11", answer.ok, f"a success, as when {move} was played first"):
                raise Stopped
        self._hold("3.3.11", await self._position() == end, "the same status, history, moves and hash as before")

    async def _undo(self, opening: tuple[str, ...]) -> None:
        if "ggp-undo" not in self.trial.commands:
            return
        count = len(self.moves)
        self._at("3.3.10", "after the walk")
        before = await self._position()
        answer = await self.talk.ask(f"ggp-undo {count + 1}")
        self._hold("3.3.10", not answer.ok and answer.text == "cannot undo", "`? cannot undo`")
        if not self._hold("3.3.10", await self._position() == before, "the same position as before"):
            raise Stopped
        self._at("3.3.9", "after the walk")
        if count > 1:
            self._status(await self.talk.ask("ggp-undo"))
            self._status(await self.talk.ask(f"ggp-undo {count - 1}"))
        else:
            self._status(await self.talk.ask("ggp-undo 1"))
        self._hold("3.3.9", await self._position() == opening, f"what there was at first: {' | '.join(opening)[:200]}")
        answer = await self.talk.ask("ggp-undo")
        self._hold("3.3.10", not answer.ok and answer.text == "cannot undo", "`? cannot undo`")

    def _choose(self, status: Status, legal: list[str]) -> str:
        """At random; what ends games is taken now and then, so that random ones end."""
        last = [move for move in legal if move in ("pass", "button")]
        if last and status.ply > 60 and self.chance.random() < 0.5:
            return self.chance.choice(last)
        return self.chance.choice(legal)

    def _status(self, answer: Answer) -> Status:
        status = read_status(answer.text) if answer.ok else "a failure"
        if isinstance(status, str):
            self._hold("3.2.1", False, f"a status line: {status}; phases are {', '.join(PHASES)}")
            raise Stopped
        self._hold("3.2.1", True, "")
        return status

    def _at(self, number: str, where: str | None = None) -> None:
        self.trial.at = number
        if where is not None:
            self.trial.where = ", ".join(part for part in (self.game, where) if part)

    def _hold(self, number: str, right: bool, expected: str, note: str = "") -> bool:
        return self.trial.hold(number, right, expected, note)
