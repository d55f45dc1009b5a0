"""The checks of engines: a random game, options, GTP's view of a game, and sessions that must not mix."""

import random
import re
from itertools import pairwise

from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.rules_text import read_markdown
from ggp.referee.tools.check.bot_checks import has_sizes
from ggp.referee.tools.check.raw_channel import RawAnswer, RawChannel
from ggp.referee.tools.check.trial import (
    PHASES,
    CheckContext,
    ScriptStopped,
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

# -- A random game to its end, and on the way all questions whose answers must agree.


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


async def walk(trial: CheckContext) -> None:
    """Every game that it lists."""
    for number, name in _NEEDED.items():
        if name not in trial.commands:
            trial.omit(f"it lists no {name}", number)
    for game in trial.games:
        await _Walk(trial, await trial.talk(), game).play()


class _Walk:
    """One game, with the methods in the order of their questions."""

    def __init__(self, trial: CheckContext, talk: RawChannel, game: str) -> None:
        self.trial, self.talk, self.game = trial, talk, game
        self._hold = trial.hold
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

    async def _begin(self) -> StatusFields:
        self._at("3.2.2", "")
        answer = await self.talk.ask(f"ggp-new {self.game}")
        status = self._status(answer)
        start = (status.ply, status.seat, status.to_play) == (0, 1, "black")
        self._hold("3.2.2", start, "seat=1 to_play=black ply=0")
        return status

    async def _ply(self, status: StatusFields) -> StatusFields:
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
            raise ScriptStopped
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

    async def _legal(self, status: StatusFields) -> list[str]:
        answer = await self.talk.ask("ggp-legal_moves")
        moves = answer.text.split(" ") if answer.text else []
        order = all(one.encode() < two.encode() for one, two in pairwise(moves))
        self._hold("3.3.4", answer.ok and order and all(moves), "moves, one blank between them, sorted, none twice")
        if not self._hold("3.3.4", bool(moves), "a legal move, for the game is not over"):
            raise ScriptStopped
        return moves

    async def _look(self, status: StatusFields, legal: list[str]) -> None:
        ask, commands = self.talk.ask, self.trial.commands
        await self._score_and_scene(over=False)
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

    async def _score_and_scene(self, over: bool) -> None:
        if "ggp-score" in self.trial.commands:
            self._at("3.3.12")
            answer = await self.talk.ask("ggp-score")
            form = f'{{"black": {{"total": …}}, …, "final": {"true" if over else "false"}}}'
            self._hold("3.3.12", answer.ok and is_score(answer.text, over), form)
        if "ggp-scene" in self.trial.commands:
            self._at("3.3.13")
            answer = await self.talk.ask("ggp-scene")
            try:
                read_scene(answer.text)
                wrong = "" if answer.ok else "a failure"
            except DrawingError as error:
                wrong = str(error)
            self._hold("3.3.13", not wrong, "a scene", wrong)

    async def _refusals(self, status: StatusFields, legal: list[str]) -> None:
        """Moves that must be refused and change nothing."""
        self._at("3.3.6", f"ply {status.ply}")
        before = await self._position()
        possible = {move.lower() for move in legal}  # letter case does not count
        played = [move for _, move in self.moves if move.lower() not in possible and move != "dead:"]
        for move in (*NONSENSE, *played[-2:], "resign"):
            if status.phase == "agree" or move.lower() in possible:
                continue
            answer = await self.talk.ask(f"ggp-play {status.to_play} {move}")
            words = not answer.ok and answer.text.startswith("illegal move")
            self._hold("3.3.6", words, "`? illegal move` and the reason")
        self._at("3.3.3", f"ply {status.ply}")
        answer = await self.talk.ask(f"ggp-play {OTHER[status.to_play]} {legal[0]}")
        if not self._hold("3.3.3", not answer.ok, f"a failure: {status.to_play} is to play"):
            raise ScriptStopped
        if await self._position() != before:
            self._hold("3.3.6", False, "the same position, history and moves as before the refused ones")
            raise ScriptStopped

    async def _position(self) -> tuple[str, ...]:
        """The answers that identify the position."""
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
            await self.trial.refuses("3.3.15", f"ggp-play {colour} {move}", expected="a failure: the game is over")
        await self._score_and_scene(over=True)
        if "final_score" in self.trial.commands:
            self._at("3.4.1")
            answer = await self.talk.ask("final_score")
            self._hold("3.4.1", answer.ok and is_result(answer.text), "`B+3.5`, `W+1`, `B+` or `0`")

    async def _replay(self, end: tuple[str, ...]) -> None:
        """The same moves from the beginning; the last position must be the same."""
        self._at("3.3.11", "the same moves again")
        await self.talk.ask(f"ggp-new {self.game}")
        for colour, move in self.moves:
            again = f"a success, as when {move} was played first"
            if not await self.trial.accepts("3.3.11", f"ggp-play {colour} {move}", again):
                raise ScriptStopped
        self._hold("3.3.11", await self._position() == end, "the same status, history, moves and hash as before")

    async def _undo(self, opening: tuple[str, ...]) -> None:
        if "ggp-undo" not in self.trial.commands:
            return
        count = len(self.moves)
        self._at("3.3.10", "after the walk")
        before = await self._position()
        await self.trial.refuses("3.3.10", f"ggp-undo {count + 1}", "cannot undo")
        if not self._hold("3.3.10", await self._position() == before, "the same position as before"):
            raise ScriptStopped
        self._at("3.3.9", "after the walk")
        if count > 1:
            self._status(await self.talk.ask("ggp-undo"))
            self._status(await self.talk.ask(f"ggp-undo {count - 1}"))
        else:
            self._status(await self.talk.ask("ggp-undo 1"))
        self._hold("3.3.9", await self._position() == opening, f"what there was at first: {' | '.join(opening)[:200]}")
        await self.trial.refuses("3.3.10", "ggp-undo", "cannot undo")

    def _choose(self, status: StatusFields, legal: list[str]) -> str:
        """A random move; after many plies often one that ends the game."""
        last = [move for move in legal if move in ("pass", "button")]
        if last and status.ply > 60 and self.chance.random() < 0.5:
            return self.chance.choice(last)
        return self.chance.choice(legal)

    def _status(self, answer: RawAnswer) -> StatusFields:
        status = read_status(answer.text) if answer.ok else "a failure"
        if isinstance(status, str):
            self._hold("3.2.1", False, f"a status line: {status}; phases are {', '.join(PHASES)}")
            raise ScriptStopped
        self._hold("3.2.1", True, "")
        return status

    def _at(self, number: str, where: str | None = None) -> None:
        self.trial.at = number
        if where is not None:
            self.trial.where = ", ".join(part for part in (self.game, where) if part)


_MOST = 8  # values of one option that are tried


async def options(trial: CheckContext) -> None:
    """The options of each game, and that ggp-new obeys them."""
    talk = await trial.talk()
    for line in trial.games:
        game = line.split(" ")[0]
        trial.where = game
        await trial.accepts("3.3.21", f"ggp-new {game}", "a success: ggp-games lists it")
        trial.at = "3.3.16"
        answer = await talk.ask(f"ggp-options {game}")
        rows = [read_option(row) for row in answer.text.split("\n")] if answer.text else []
        if not trial.hold("3.3.16", answer.ok and None not in rows, "`name type default domain`, the default in it"):
            continue
        table = [row for row in rows if row is not None]
        for name, kind, _, domain in table:
            await _one_option(trial, talk, game, name, kind, domain)
        await _size_counts(trial, talk, game, table)
        await _texts(trial, talk, game)
    if "ggp-rules" not in trial.commands:
        trial.omit("it lists no ggp-rules", "3.3.19", "3.3.23")
    if "ggp-playouts" not in trial.commands:
        trial.omit("it lists no ggp-playouts", "3.3.20")
    trial.omit("no game has an option size", "3.3.22")


async def _one_option(trial: CheckContext, talk: RawChannel, game: str, name: str, kind: str, domain: str) -> None:
    trial.at = "3.3.17"
    values = ends_of(kind, domain)
    for value in values[:_MOST]:
        answer = await talk.ask(f"ggp-new {game} {name}={value}")
        # Two options may exclude each other (a handicap on a small board), but a size stands alone.
        alone = name == "size" or not any(word in answer.text for word in ("size", "board"))
        trial.hold("3.3.17", answer.ok or not alone, f"a success: {value} is in {domain}")
    trial.at = "3.3.18"
    await talk.ask(f"ggp-new {game}")
    before = await _present(talk)
    last = values[0]
    wrong = [f"{name}={value}" for value in beyond(kind, domain)]
    for words in (*wrong, f"{name}=", f"{name}={last} {name}={last}", "no-such-option=1", "just-a-word"):
        answer = await talk.ask(f"ggp-new {game} {words}")
        trial.hold("3.3.18", not answer.ok, "a failure")
        if not answer.ok and await _present(talk) != before:
            trial.hold("3.3.18", False, f"the game as it was before `ggp-new {game} {words}`")


async def _size_counts(
    trial: CheckContext, talk: RawChannel, game: str, table: list[tuple[str, str, str, str]]
) -> None:
    domain = next((row[3] for row in table if row[0] == "size"), "")
    if not domain:
        return
    trial.at = "3.3.22"
    seen = set()
    sizes = ends_of("int", domain)[:2]
    for size in sizes:
        await talk.ask(f"ggp-new {game} size={size}")
        answer = await talk.ask("ggp-scene" if "ggp-scene" in trial.commands else "ggp-legal_moves")
        seen.add(answer.text)
    trial.hold("3.3.22", len(seen) == len(sizes), "another board for another size")


async def _texts(trial: CheckContext, talk: RawChannel, game: str) -> None:
    if trial.lists("3.3.19", "ggp-rules"):
        answer = await talk.ask(f"ggp-rules {game}")
        trial.hold("3.3.19", answer.ok and len(answer.text) > 20, "the rules")
        answer = await talk.ask(f"ggp-rules {game} json")
        if answer.ok:
            trial.hold("3.3.23", read_markdown(answer.text) is not None, 'one line, {"markdown": "…"}')
        else:
            trial.omit("it has no JSON form of its rules", "3.3.23")
    if trial.lists("3.3.20", "ggp-playouts"):
        await talk.ask(f"ggp-new {game}")
        before = await _present(talk)
        answer = await talk.ask("ggp-playouts 2 7")
        trial.hold("3.3.20", answer.ok and adds_up(answer.text, 2), "games=2 and as many wins and draws")
        trial.hold("3.3.20", await _present(talk) == before, "the position as it was before the playouts")


async def views(trial: CheckContext) -> None:
    """GTP's commands on the same state."""
    talk = await trial.talk()
    for line in trial.games:
        trial.at, trial.where = "3.4.2", line
        if not (await talk.ask(f"ggp-new {line}")).ok:
            continue
        at_first = await _present(talk)
        move = (await talk.ask("ggp-legal_moves")).text.split(" ")[0]
        if trial.wants("3.4.3") and trial.lists("3.4.3", "play", "undo"):
            await _play_and_undo(trial, talk, move, at_first)
        if trial.lists("3.4.2", "clear_board"):
            await talk.ask(f"ggp-play black {move}")
            answer = await talk.ask("clear_board")
            same = await _present(talk) == at_first
            trial.hold("3.4.2", answer.ok and answer.text == "" and same, "an empty success, and the game as it began")
        if trial.lists("3.4.4", "komi"):
            for number in ("7", "0", "6.5", "-3.5", "1e1"):
                await trial.accepts("3.4.4", f"komi {number}")
            for word in ("many", ""):
                await trial.refuses("3.4.4", f"komi {word}", expected="a failure: that is no number")
        if trial.lists("3.4.6", "showboard"):
            trial.hold("3.4.6", (await talk.ask("showboard")).text.strip() != "", "a board")
        if trial.lists("3.4.1", "final_score"):
            answer = await talk.ask("final_score")
            right = is_result(answer.text) if answer.ok else answer.text == "cannot score"
            trial.hold("3.4.1", right, "a result for the position as it stands, or `? cannot score`")
        await _sizes(trial, talk, line)
        await _only_for_go(trial, line.split(" ")[0])


async def _play_and_undo(trial: CheckContext, talk: RawChannel, move: str, at_first: tuple[str, ...]) -> None:
    status = read_status(at_first[0])
    seat = "1" if isinstance(status, str) else str(status.seat)
    answer = await talk.ask(f"play b {move}")
    trial.hold("3.4.3", answer.ok and answer.text == "", "an empty success")
    history = await talk.ask("ggp-history")
    trial.hold("3.4.3", history.text == f"{seat} black {move}", f"`= {seat} black {move}`")
    answer = await talk.ask("undo")
    right = answer.ok and await _present(talk) == at_first
    trial.hold("3.4.3", right, "an empty success, and the game as it began")


async def _sizes(trial: CheckContext, talk: RawChannel, line: str) -> None:
    if not trial.lists("3.4.5", "boardsize"):
        return
    await talk.ask(f"ggp-new {line}")
    before = await _present(talk)
    answer = await talk.ask("boardsize 1000")
    refused = not answer.ok and answer.text == "unacceptable size"
    trial.hold("3.4.5", refused and await _present(talk) == before, "`? unacceptable size`, and the game goes on")
    if "gogui-rules_board_size" in trial.commands and await has_sizes(talk, line.split(" ")[0]):
        size = (await talk.ask("gogui-rules_board_size")).text.split(" ")[0]
        await trial.accepts("3.4.5", f"boardsize {size}", f"a success: the board's size is {size}")


async def _only_for_go(trial: CheckContext, game: str) -> None:
    for line in ("fixed_handicap 2", "set_free_handicap D4 E5", "loadsgf /nonexistent.sgf"):
        if line.split()[0] in trial.commands and game != "go":
            await trial.refuses("3.4.7", line, expected=f"a failure: {game} is not go")
    trial.omit("it lists none of them, or go only", "3.4.7")


async def sessions(trial: CheckContext) -> None:
    """Two connections to one service."""
    if not trial.remote:
        return trial.omit("a process has one session; --connect checks a service", "7.1.1")
    trial.at = "7.1.1"
    one = await trial.talk()
    await one.ask(f"ggp-new {trial.games[0]}")
    other = trial.start()
    try:
        two = RawChannel(other.channel.transport, trial.patience, trial.first)
        answer = await two.ask("ggp-status")
        trial.hold("7.1.1", not answer.ok, "`? no game: use ggp-new`, from a second connection")
        await two.ask(f"ggp-new {trial.games[-1]}")
        move = (await two.ask("ggp-legal_moves")).text.split(" ")[0]
        await two.ask(f"ggp-play black {move}")
        answer = await one.ask("ggp-history")
        trial.hold("7.1.1", answer.ok and answer.text == "", "an empty history: the move was the other session's")
    finally:
        await other.stop()
    return None


async def _present(talk: RawChannel) -> tuple[str, ...]:
    """Status, history and legal moves."""
    return tuple([(await talk.ask(line)).text for line in ("ggp-status", "ggp-history", "ggp-legal_moves")])


SCRIPTS = {"walk": walk, "options": options, "views": views, "sessions": sessions}
