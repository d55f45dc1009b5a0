"""Checks of engines: a random game, options, GTP's view of a game, and sessions that must not mix."""

import random
import re
from itertools import pairwise

from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.rules_text import read_markdown
from ggp.referee.tools.check.bot_checks import has_sizes
from ggp.referee.tools.check.forms import (
    PHASES,
    StatusFields,
    adds_up,
    beyond,
    ends_of,
    ends_right,
    is_result,
    is_score,
    read_option,
    read_status,
)
from ggp.referee.tools.check.raw_channel import RawAnswer, RawChannel
from ggp.referee.tools.check.trial import ScriptStopped, Trial, empty, fails, ok

# -- A random game to its end, with all questions whose answers must agree on the way.

PLIES = 400  # plies after which a game is abandoned
SEED = 1
_SAMPLE = 4  # moves checked with ggp-legal in one position
_OFTEN = 6  # plies between the more expensive questions
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
    """Play every game that the engine lists."""
    for number, name in _NEEDED.items():
        if name not in trial.commands:
            trial.omit(f"it lists no {name}", number)
    for game in trial.games:
        await trial.open()
        await _Walk(trial, game).play()


class _Walk:
    """A walk through one game, with methods in the order of their questions."""

    def __init__(self, trial: Trial, game: str) -> None:
        self.trial, self.game = trial, game
        self.ask, self.hold = trial.ask, trial.hold
        self.history: list[str] = []
        self.moves: list[tuple[str, str]] = []
        self.chance = random.Random(SEED)

    async def play(self) -> None:
        """Play the game to its end, replay it, and undo it."""
        self._at("3.2.2", "")
        status = self._status(await self.ask(f"ggp-new {self.game}"))
        start = (status.ply, status.seat, status.to_play) == (0, 1, "black")
        self.hold("3.2.2", start, "seat=1 to_play=black ply=0")
        opening = await self._position()
        while status.phase != "over" and len(self.moves) < PLIES:
            status = await self._ply(status)
        if status.phase == "over":
            await self._after_the_end()
        else:
            self.trial.omit(f"the random game was not over after {PLIES} plies", "3.3.15")
        end = await self._position()
        await self._replay(end)
        if "ggp-undo" in self.trial.commands:
            await self._undo(opening)

    async def _ply(self, status: StatusFields) -> StatusFields:
        thorough = status.ply % _OFTEN == 0
        self._at("3.3.4", f"ply {status.ply}")
        legal = await self._legal()
        if thorough:
            await self._look(status, legal)
            await self._refusals(status, legal)
        move = self._choose(status, legal)
        written = move.lower() if status.ply % 2 else move
        self._at("3.3.1", f"ply {status.ply}")
        answer = await self.ask(f"ggp-play {status.to_play} {written}")
        if not answer.ok and written != move:
            self.hold("3.3.2", False, f"a success, as for {move}")
            answer = await self.ask(f"ggp-play {status.to_play} {move}")
        else:
            self.hold("3.3.2", True, "")
        if not self.hold("3.3.1", answer.ok, f"a success: {move} was listed"):
            raise ScriptStopped
        after = self._status(answer)
        same = after.move.startswith("dead:") if move == "dead:" else after.move == move
        self.hold("3.3.1", same and answer.text.startswith("move="), f"move={move} at the beginning")
        self.hold("3.2.3", after.ply == status.ply + 1, f"ply={status.ply + 1}")
        self.hold("3.2.4", ends_right(after), "result= and winner= exactly when the phase is over")
        self.history.append(f"{status.seat} {status.to_play} {after.move}")
        self.moves.append((status.to_play, after.move))
        if thorough:
            said = answer.text.partition(" ")[2]
            self.hold("3.2.5", (await self.ask("ggp-status")).text == said, f"`= {said}`")
            answer = await self.ask("ggp-history")
            self.hold("3.3.7", answer.text.split("\n") == self.history, f"last line `{self.history[-1]}`")
        return after

    async def _legal(self) -> list[str]:
        answer = await self.ask("ggp-legal_moves")
        moves = answer.text.split(" ") if answer.text else []
        order = all(one.encode() < two.encode() for one, two in pairwise(moves))
        self.hold(
            "3.3.4", answer.ok and order and all(moves), "sorted moves, separated by one blank, without duplicates"
        )
        if not self.hold("3.3.4", bool(moves), "a legal move, because the game is not over"):
            raise ScriptStopped
        return moves

    async def _look(self, status: StatusFields, legal: list[str]) -> None:
        trial = self.trial
        await self._score_and_scene(over=False)
        if "ggp-perft" in trial.commands and status.phase != "agree":
            await trial.expect("3.3.14", "ggp-perft 1", lambda a: a.text == str(len(legal)), str(len(legal)))
        if "ggp-legal" in trial.commands:
            for move in self.chance.sample(legal, min(_SAMPLE, len(legal))):
                expected = f"`= true`, because {move} is listed"
                await trial.expect("3.3.5", f"ggp-legal {move}", lambda a: a.ok and a.text == "true", expected)
            refused, expected = f"ggp-legal {NONSENSE[0]}", "`= false` and the reason"
            await trial.expect("3.3.5", refused, lambda a: a.ok and a.text.startswith("false"), expected)

    async def _score_and_scene(self, over: bool) -> None:
        if "ggp-score" in self.trial.commands:
            form = f'{{"black": {{"total": …}}, …, "final": {"true" if over else "false"}}}'
            await self.trial.expect("3.3.12", "ggp-score", lambda a: a.ok and is_score(a.text, over), form)
        if "ggp-scene" in self.trial.commands:
            self._at("3.3.13")
            answer = await self.ask("ggp-scene")
            try:
                read_scene(answer.text)
                wrong = "" if answer.ok else "a failure"
            except DrawingError as error:
                wrong = str(error)
            self.hold("3.3.13", not wrong, "a scene", wrong)

    async def _refusals(self, status: StatusFields, legal: list[str]) -> None:
        """Play moves that must be refused and must not change anything."""
        self._at("3.3.6", f"ply {status.ply}")
        before = await self._position()
        possible = {move.lower() for move in legal}  # letter case does not count
        played = [move for _, move in self.moves if move.lower() not in possible and move != "dead:"]
        for move in (*NONSENSE, *played[-2:], "resign"):
            if status.phase != "agree" and move.lower() not in possible:
                line, expected = f"ggp-play {status.to_play} {move}", "`? illegal move` and the reason"
                await self.trial.expect("3.3.6", line, _is_illegal, expected)
        self._at("3.3.3", f"ply {status.ply}")
        line, expected = f"ggp-play {OTHER[status.to_play]} {legal[0]}", f"a failure: it is {status.to_play}'s turn"
        if not await self.trial.expect("3.3.3", line, fails, expected):
            raise ScriptStopped
        if await self._position() != before:
            self.hold("3.3.6", False, "the same position, history and moves as before the refused moves")
            raise ScriptStopped

    async def _position(self) -> tuple[str, ...]:
        """Return the answers that identify the position."""
        present = await _present(self.trial)
        if "ggp-hash" not in self.trial.commands:
            return present
        answer = await self.ask("ggp-hash")
        digits = re.fullmatch(r"[0-9a-f]{16}", answer.text) is not None
        self.hold("3.3.8", answer.ok and digits, "16 hex digits, lower case")
        return (*present, answer.text)

    async def _after_the_end(self) -> None:
        self._at("3.3.15", "after the end")
        await self.trial.expect("3.3.15", "ggp-legal_moves", empty)
        for colour, move in (("black", self.moves[0][1]), ("white", self.moves[-1][1])):
            await self.trial.expect("3.3.15", f"ggp-play {colour} {move}", fails, "a failure: the game is over")
        await self._score_and_scene(over=True)
        if "final_score" in self.trial.commands:
            form = "`B+3.5`, `W+1`, `B+` or `0`"
            await self.trial.expect("3.4.1", "final_score", lambda a: a.ok and is_result(a.text), form)

    async def _replay(self, end: tuple[str, ...]) -> None:
        """Play the same moves from the beginning, and check that the last position is the same."""
        self._at("3.3.11", "the same moves again")
        await self.ask(f"ggp-new {self.game}")
        for colour, move in self.moves:
            again = f"a success, as when {move} was played before"
            if not await self.trial.expect("3.3.11", f"ggp-play {colour} {move}", ok, again):
                raise ScriptStopped
        self.hold("3.3.11", await self._position() == end, "the same status, history, moves and hash as before")

    async def _undo(self, opening: tuple[str, ...]) -> None:
        count = len(self.moves)
        self._at("3.3.10", "after the walk")
        before = await self._position()
        await self.trial.refuses("3.3.10", f"ggp-undo {count + 1}", "cannot undo")
        if not self.hold("3.3.10", await self._position() == before, "the same position as before"):
            raise ScriptStopped
        self._at("3.3.9", "after the walk")
        for line in ("ggp-undo", f"ggp-undo {count - 1}") if count > 1 else ("ggp-undo 1",):
            self._status(await self.ask(line))
        self.hold("3.3.9", await self._position() == opening, f"the initial position: {' | '.join(opening)[:200]}")
        await self.trial.refuses("3.3.10", "ggp-undo", "cannot undo")

    def _choose(self, status: StatusFields, legal: list[str]) -> str:
        """Return a random move; after many plies often one that ends the game."""
        last = [move for move in legal if move in ("pass", "button")]
        if last and status.ply > 60 and self.chance.random() < 0.5:
            return self.chance.choice(last)
        return self.chance.choice(legal)

    def _status(self, answer: RawAnswer) -> StatusFields:
        status = read_status(answer.text) if answer.ok else "a failure"
        if isinstance(status, str):
            self.hold("3.2.1", False, f"a status line: {status}; phases are {', '.join(PHASES)}")
            raise ScriptStopped
        self.hold("3.2.1", True, "")
        return status

    def _at(self, number: str, where: str | None = None) -> None:
        self.trial.at = number
        if where is not None:
            self.trial.where = ", ".join(part for part in (self.game, where) if part)


def _is_illegal(answer: RawAnswer) -> bool:
    return not answer.ok and answer.text.startswith("illegal move")


# -- Options, rules, playouts.

_MOST = 8  # values tried for one option


async def options(trial: Trial) -> None:
    """Check the options of each game, and that ggp-new obeys them."""
    await trial.open()
    for line in trial.games:
        game = line.split(" ")[0]
        trial.where = game
        await trial.expect("3.3.21", f"ggp-new {game}", ok, "a success: ggp-games lists it")
        trial.at = "3.3.16"
        answer = await trial.ask(f"ggp-options {game}")
        rows = [read_option(row) for row in answer.text.split("\n")] if answer.text else []
        if not trial.hold(
            "3.3.16", answer.ok and None not in rows, "`name type default domain`, with the default in the domain"
        ):
            continue
        for name, kind, _, domain in filter(None, rows):
            await _one_option(trial, game, name, kind, domain)
            if name == "size":
                await _size_counts(trial, game, domain)
        await _texts(trial, game)
    if "ggp-rules" not in trial.commands:
        trial.omit("it lists no ggp-rules", "3.3.19", "3.3.23")
    if "ggp-playouts" not in trial.commands:
        trial.omit("it lists no ggp-playouts", "3.3.20")
    trial.omit("no game has an option size", "3.3.22")


async def _one_option(trial: Trial, game: str, name: str, kind: str, domain: str) -> None:
    values = ends_of(kind, domain)
    for value in values[:_MOST]:

        def accepted(answer: RawAnswer) -> bool:
            # Two options may exclude each other (a handicap on a small board), but a size must work alone.
            alone = name == "size" or not any(word in answer.text for word in ("size", "board"))
            return answer.ok or not alone

        await trial.expect("3.3.17", f"ggp-new {game} {name}={value}", accepted, f"a success: {value} is in {domain}")
    trial.at = "3.3.18"
    await trial.ask(f"ggp-new {game}")
    before, last = await _present(trial), values[0]
    wrong = [f"{name}={value}" for value in beyond(kind, domain)]
    for words in (*wrong, f"{name}=", f"{name}={last} {name}={last}", "no-such-option=1", "just-a-word"):
        if await trial.expect("3.3.18", f"ggp-new {game} {words}", fails) and await _present(trial) != before:
            trial.hold("3.3.18", False, f"the game as it was before `ggp-new {game} {words}`")


async def _size_counts(trial: Trial, game: str, domain: str) -> None:
    trial.at = "3.3.22"
    seen, sizes = set(), ends_of("int", domain)[:2]
    for size in sizes:
        await trial.ask(f"ggp-new {game} size={size}")
        seen.add((await trial.ask("ggp-scene" if "ggp-scene" in trial.commands else "ggp-legal_moves")).text)
    trial.hold("3.3.22", len(seen) == len(sizes), "a different board for each size")


async def _texts(trial: Trial, game: str) -> None:
    if trial.lists("3.3.19", "ggp-rules"):
        await trial.expect("3.3.19", f"ggp-rules {game}", lambda a: a.ok and len(a.text) > 20, "the rules")
        answer = await trial.ask(f"ggp-rules {game} json")
        if answer.ok:
            trial.hold("3.3.23", read_markdown(answer.text) is not None, 'one line, {"markdown": "…"}')
        else:
            trial.omit("it does not provide its rules in JSON", "3.3.23")
    if trial.lists("3.3.20", "ggp-playouts"):
        await trial.ask(f"ggp-new {game}")
        before = await _present(trial)
        expected = "games=2, and two wins or draws in total"
        await trial.expect("3.3.20", "ggp-playouts 2 7", lambda a: a.ok and adds_up(a.text, 2), expected)
        trial.hold("3.3.20", await _present(trial) == before, "the position as it was before the playouts")


# -- GTP's view of the game, and sessions.


async def views(trial: Trial) -> None:
    """Check GTP's commands on the same state."""
    await trial.open()
    for line in trial.games:
        trial.at, trial.where = "3.4.2", line
        if not (await trial.ask(f"ggp-new {line}")).ok:
            continue
        at_first = await _present(trial)
        move = (await trial.ask("ggp-legal_moves")).text.split(" ")[0]
        if trial.wants("3.4.3") and trial.lists("3.4.3", "play", "undo"):
            await _play_and_undo(trial, move, at_first)
        if trial.lists("3.4.2", "clear_board"):
            await trial.ask(f"ggp-play black {move}")
            right = empty(await trial.ask("clear_board")) and await _present(trial) == at_first
            trial.hold("3.4.2", right, "an empty success, and the game back at its start")
        if trial.lists("3.4.4", "komi"):
            for number in ("7", "0", "6.5", "-3.5", "1e1"):
                await trial.expect("3.4.4", f"komi {number}")
            for word in ("many", ""):
                await trial.expect("3.4.4", f"komi {word}", fails, "a failure: that is not a number")
        if trial.lists("3.4.6", "showboard"):
            await trial.expect("3.4.6", "showboard", lambda a: a.text.strip() != "", "a board")
        if trial.lists("3.4.1", "final_score"):
            expected = "a result for the current position, or `? cannot score`"
            await trial.expect("3.4.1", "final_score", _is_score_now, expected)
        if trial.lists("3.4.5", "boardsize"):
            await _sizes(trial, line)
        for command in ("fixed_handicap 2", "set_free_handicap D4 E5", "loadsgf /nonexistent.sgf"):
            game = line.split(" ")[0]
            if command.split()[0] in trial.commands and game != "go":
                await trial.expect("3.4.7", command, fails, f"a failure: {game} is not go")
        trial.omit("it lists none of these commands, or only go", "3.4.7")


def _is_score_now(answer: RawAnswer) -> bool:
    return is_result(answer.text) if answer.ok else answer.text == "cannot score"


async def _play_and_undo(trial: Trial, move: str, at_first: tuple[str, ...]) -> None:
    status = read_status(at_first[0])
    seat = "1" if isinstance(status, str) else str(status.seat)
    await trial.expect("3.4.3", f"play b {move}", empty)
    played = f"{seat} black {move}"
    await trial.expect("3.4.3", "ggp-history", lambda a: a.text == played, f"`= {played}`")
    right = empty(await trial.ask("undo")) and await _present(trial) == at_first
    trial.hold("3.4.3", right, "an empty success, and the game back at its start")


async def _sizes(trial: Trial, line: str) -> None:
    await trial.ask(f"ggp-new {line}")
    before = await _present(trial)
    answer = await trial.ask("boardsize 1000")
    refused = not answer.ok and answer.text == "unacceptable size"
    trial.hold(
        "3.4.5", refused and await _present(trial) == before, "`? unacceptable size`, without a change to the game"
    )
    if "gogui-rules_board_size" in trial.commands and await has_sizes(trial, line.split(" ")[0]):
        size = (await trial.ask("gogui-rules_board_size")).text.split(" ")[0]
        await trial.expect("3.4.5", f"boardsize {size}", ok, f"a success: the board's size is {size}")


async def sessions(trial: Trial) -> None:
    """Check that two connections to one service do not mix."""
    if not trial.remote:
        return trial.omit("a process has only one session; use --connect to check a service", "7.1.1")
    trial.at = "7.1.1"
    await trial.open()
    await trial.ask(f"ggp-new {trial.games[0]}")
    other = trial.start()
    try:
        two = RawChannel(other.channel.transport, trial.patience, trial.first)
        answer = await two.ask("ggp-status")
        trial.hold("7.1.1", not answer.ok, "`? no game: use ggp-new`, from a second connection")
        await two.ask(f"ggp-new {trial.games[-1]}")
        move = (await two.ask("ggp-legal_moves")).text.split(" ")[0]
        await two.ask(f"ggp-play black {move}")
        await trial.expect("7.1.1", "ggp-history", empty, "an empty history: the move belongs to the other session")
    finally:
        await other.stop()
    return None


async def _present(trial: Trial) -> tuple[str, ...]:
    """Return the answers about status, history and legal moves."""
    return tuple([(await trial.ask(line)).text for line in ("ggp-status", "ggp-history", "ggp-legal_moves")])


SCRIPTS = {"walk": walk, "options": options, "views": views, "sessions": sessions}
