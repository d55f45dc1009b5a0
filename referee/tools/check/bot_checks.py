"""The checks of bots: short games against random moves in both seats, judged by an engine; single turns; GTP."""

import random
import re

from ggp.referee.match.engine import AGREE, OVER, Engine, Status
from ggp.referee.match.outcome import BotFault
from ggp.referee.tools.check.raw_channel import RawAnswer, RawChannel
from ggp.referee.tools.check.trial import (
    CheckContext,
    NotPrepared,
    ScriptStopped,
    begin,
    first_moves,
    is_json,
    is_needed,
    lines_of,
    now,
    refusal,
)

PLIES = 120  # of one game; then it is left
SECONDS = 8.0  # of one game
_TIRED = 24  # plies after which our side passes when it may, so that a game of go ends
_SEED = 12345
_COLUMN_I = re.compile(r"(?i)(?<![a-z])i[0-9]")
_WALLS = (("black", -1), ("white", 0))  # columns, counted from the middle one
_WORD = re.compile(r"[^\s]+")


async def play(trial: CheckContext) -> None:
    """A short game in each seat, of each game."""
    judge = _judge(trial)
    for number, line in enumerate(trial.games):
        for seat in (1, 2):
            trial.where = f"{line}, seat {seat}"
            try:
                await _Game(trial, await trial.talk(), judge, line, seat).play(swaps=seat == 1, seed=number)
            except NotPrepared as unprepared:
                trial.skip(str(unprepared), "4.2.1", "4.2.2", "4.2.3", "4.2.4", "4.2.13", "5.2.2")
            except ScriptStopped:  # that game is lost; the next one begins
                continue
    trial.omit("no phase other than play came up", "4.2.4")
    trial.where = ""
    if trial.lists("4.1.5", "ggp-games"):
        talk = await trial.talk()
        for game in (await talk.ask("ggp-games")).text.split():
            await trial.accepts("4.1.5", f"ggp-new {game}", f"a success: ggp-games lists {game}")


class _Game:
    """One game with the bot in `seat`; the judge chooses legal moves for the other."""

    def __init__(self, trial: CheckContext, talk: RawChannel, judge: Engine, line: str, seat: int) -> None:
        self.trial, self.talk, self.judge, self.line, self.seat = trial, talk, judge, line, seat

    async def play(self, swaps: bool, seed: int) -> None:
        trial, chance = self.trial, random.Random(seed)
        trial.at = "4.1.4"
        await self._sit_down()
        status = await self.judge.new_game(f"ggp-new {self.line}")
        deadline = now() + SECONDS
        while status.phase != OVER and status.ply < PLIES and now() < deadline:
            if status.phase == AGREE and not trial.native:
                return await _dead(trial, self.talk)
            if status.seat == self.seat:
                played = await self._its_turn(status)
                if played is None:
                    return None
                status = played
            else:
                status = await self._our_turn(status, chance, swaps)
        return None

    async def _sit_down(self) -> None:
        """Native with one line, plain with three."""
        trial, before = self.trial, self.talk.transport.now()
        for line in lines_of(trial, self.line):
            answer = await self.talk.ask(line, 30.0)
            ready = answer.ok or not is_needed(trial, line)
            if not trial.hold("4.1.4", ready, "a success: the game begins", advice=f"accept `{line}`"):
                raise NotPrepared(refusal(trial, line, answer))
        used = self.talk.transport.now() - before
        trial.hold("5.2.2", used <= 30, "an answer within 30 s", f"{used:.2f} s")

    async def _its_turn(self, status: Status) -> Status | None:
        """None: it resigned."""
        trial = self.trial
        step = "4.2.2" if status.phase == "play" else "4.2.4"
        trial.at = step
        if "ggp-clock" in trial.commands:  # a bot that looks at its clock plays a short game in a short time
            await self.talk.ask("ggp-clock black=2000 white=2000")
        answer = await self.talk.ask(f"genmove {status.to_play}")
        one = answer.ok and _WORD.fullmatch(answer.text.strip()) is not None
        if not trial.hold("4.2.1", one, "one word: a move, or resign"):
            raise ScriptStopped
        move = answer.text.strip()
        if move.lower() == "resign":
            trial.hold(step, True, "")
            return None
        after = await _judged(self.judge, status, move)
        if isinstance(after, str):
            trial.hold(step, False, f"a legal move in the phase {status.phase}", f"the engine says: {after}")
            raise ScriptStopped
        trial.hold(step, True, "")
        return after

    async def _our_turn(self, status: Status, chance: random.Random, swaps: bool) -> Status:
        trial = self.trial
        legal = await self.judge.legal_moves()
        move = chance.choice(legal)
        if "swap-sides" in legal:
            move = "swap-sides" if swaps else next((word for word in legal if word != "swap-sides"), move)
        elif "pass" in legal and (status.ply > _TIRED or legal == ["pass"]):
            move = "pass"
        move, after = await self.judge.play(status.to_play, move)
        trial.at = "4.2.3"
        answer = await self.talk.ask(f"play {status.to_play} {move}")
        if not trial.hold("4.2.3", answer.ok, f"a success: {move} is legal"):
            raise ScriptStopped
        trial.hold("4.2.13", answer.text == "", "an empty success")
        return after


async def turn(trial: CheckContext) -> None:
    """Single turns: new games in between, two commands in one write, commands that must change nothing."""
    judge = _judge(trial)
    talk = await trial.talk()
    trial.at = "4.2.6"
    await begin(trial, talk)
    status, replies = await _opening(trial, judge)
    reply = replies[0]
    lines = f"play {status.to_play} {reply}", f"genmove {await _next(judge, status, reply)}"
    if all(answer.ok for answer in await talk.ask_all(*lines)):
        trial.hold("4.2.6", True, "")
    else:
        seen = bytes(talk.sent), bytes(talk.got)
        await begin(trial, talk)
        if all([(await talk.ask(line)).ok for line in lines]):
            talk = await _blame(trial, talk, "4.2.6", "two successes", seen)
        else:
            trial.omit("the same two fail one by one", "4.2.6")
    await _analyzed(trial, talk)
    trial.at = "4.2.5"
    await begin(trial, talk)
    if await _legal_genmove(trial, talk, judge):
        trial.hold("4.2.5", True, "")
    else:
        seen = bytes(talk.sent), bytes(talk.got)
        talk = await trial.talk(fresh=not trial.remote)
        await begin(trial, talk)
        if await _legal_genmove(trial, talk, judge):
            talk = await _blame(trial, talk, "4.2.5", "a legal first move of the new game", seen)
        else:
            trial.omit("the first move of a first game is wrong, too", "4.2.5")
    trial.at = "4.2.8"
    await begin(trial, talk)
    # To a plain bot of go I5 is no point, and to every native one no-such-move is none.
    wrong = await talk.ask("play black no-such-move")
    also = await talk.ask("play purple pass")
    trial.hold("4.2.8", not wrong.ok and not also.ok, "a failure")
    trial.hold("4.2.8", await _legal_genmove(trial, talk, judge), "a legal move, as if nothing had been said")
    await _undo(trial, talk, judge)
    await _small(trial, talk)


async def _blame(
    trial: CheckContext, talk: RawChannel, number: str, expected: str, seen: tuple[bytes, bytes]
) -> RawChannel:
    """A failure by an earlier exchange: what it did wrong there it did right by itself. Returns a new conversation."""
    talk.sent[:], talk.got[:] = seen
    trial.hold(number, False, expected)
    return await trial.talk(fresh=not trial.remote)


async def _analyzed(trial: CheckContext, talk: RawChannel) -> None:
    if not trial.lists("4.2.11", "ggp-genmove_analyze"):
        return
    await begin(trial, talk)
    answer = await talk.ask("ggp-genmove_analyze black")
    move, _, said = answer.text.partition("\n")
    right = answer.ok and _WORD.fullmatch(move.strip()) is not None and (not said or is_json(said))
    trial.hold("4.2.11", right, "a move, and JSON on the second line")


async def _undo(trial: CheckContext, talk: RawChannel, judge: Engine) -> None:
    if not trial.lists("4.2.7", "undo"):
        return
    await begin(trial, talk)
    status, replies = await _opening(trial, judge)
    one = await talk.ask(f"play {status.to_play} {replies[0]}")
    two = await talk.ask("undo")
    three = await talk.ask(f"play {status.to_play} {replies[0]}")
    trial.hold("4.2.7", one.ok and two.ok and two.text == "" and three.ok, f"{replies[0]} can be played again")


async def _small(trial: CheckContext, talk: RawChannel) -> None:
    if trial.lists("4.2.10", "ggp-result"):
        await begin(trial, talk)
        for result in ("B+3.5", "W+R", "0"):
            await trial.accepts("4.2.10", f"ggp-result {result}")
    trial.at = "4.2.12"
    if "final_status_list" not in trial.commands or trial.native:
        return trial.omit("it lists none, or agrees by genmove", "4.2.12")
    await begin(trial, talk)
    for line in _divided(trial):
        await talk.ask(line)
    await _dead(trial, talk)
    return None


def _divided(trial: CheckContext) -> list[str]:
    """A board of two territories after two passes. GNU Go would play an open board to the end, for many seconds."""
    size = next(int(word[5:]) for word in trial.games[0].split() if word.startswith("size="))
    black, white = (f"{colour} {'ABCDEFGHJKLMNOPQRSTUVWXYZ'[size // 2 + east]}" for colour, east in _WALLS)
    walls = [f"play {wall}{row}" for row in range(1, size + 1) for wall in (black, white)]
    return [*walls, "play black pass", "play white pass"]


async def _dead(trial: CheckContext, talk: RawChannel) -> None:
    if not trial.lists("4.2.12", "final_status_list"):
        return
    answer = await talk.ask("final_status_list dead", 30.0)
    points = all(re.fullmatch(r"[A-HJ-Za-hj-z]\d+", word) for word in answer.text.split())
    trial.hold("4.2.12", answer.ok and points, "points, or an empty success")


async def seed(trial: CheckContext) -> None:
    """The same seed, the same answers."""
    if not trial.lists("4.2.9", "set_random_seed"):
        return
    games: list[list[str]] = []
    for _ in range(2):
        # Caches of earlier games may change what a bot plays, so each has a process of its own.
        talk = await trial.talk(fresh=not trial.remote)
        if not await trial.accepts("4.2.9", f"set_random_seed {_SEED}"):
            return
        games.append(await _alone(trial, talk))
    trial.hold("4.2.9", games[0] == games[1], "the same moves twice", f"{games[0]} and {games[1]}")


async def _alone(trial: CheckContext, talk: RawChannel) -> list[str]:
    """The moves of the bot on both sides, for a few plies."""
    judge = _judge(trial)
    moves: list[str] = []
    await begin(trial, talk)
    status = await judge.new_game(_new(trial))
    while status.phase != OVER and len(moves) < 4:
        answer = await talk.ask(f"genmove {status.to_play}")
        moves.append(answer.text.strip())
        after = await _judged(judge, status, moves[-1])
        if isinstance(after, str):
            break
        status = after
    return moves


async def clock(trial: CheckContext) -> None:
    """The time commands, and a move with little time."""
    trial.at = "5.1.1"
    talk = await trial.talk()
    await begin(trial, talk)
    told = [line for line in _TIMES if line.split()[0] in trial.commands]
    for line in told:
        await trial.accepts("5.1.1", line)
    trial.omit("it lists no command for the time", "5.1.1", "5.1.2")
    if not told:
        return
    trial.at = "5.1.2"
    await begin(trial, talk)
    for line in _LITTLE:
        if line.split()[0] in trial.commands:
            await talk.ask(line)
    before = talk.transport.now()
    answer = await talk.ask("genmove black")
    used = talk.transport.now() - before
    trial.hold("5.1.2", answer.ok and used <= 1.0, "a move within the second that it has", f"{used:.2f} s")


_TIMES = (
    "time_settings 60 0 0",
    "time_settings 60 30 5",
    "time_left black 30 0",
    "time_left white 12 5",
    "kgs-time_settings absolute 60",
    "kgs-time_settings byoyomi 60 10 3",
    "kata-time_settings fischer 60 1",
    "ggp-clock black=60000 white=60000 increment=100",
    "ggp-clock black=60000 white=50000 moves=40",
    "ggp-clock black=0 white=0 period=5000 periods=3",
    "ggp-clock black=60000 white=60000",
)
_LITTLE = (
    "time_settings 1 0 0",
    "kgs-time_settings absolute 1",
    "kata-time_settings absolute 1",
    "time_left black 1 0",
    "ggp-clock black=1000 white=1000",
)


async def _legal_genmove(trial: CheckContext, talk: RawChannel, judge: Engine) -> bool:
    status = await judge.new_game(_new(trial))
    answer = await talk.ask(f"genmove {status.to_play}")
    return await _is_legal(answer, judge, status)


async def _is_legal(answer: RawAnswer, judge: Engine, status: Status) -> bool:
    if not answer.ok:
        return False
    if answer.text.strip().lower() == "resign":
        return True
    return not isinstance(await _judged(judge, status, answer.text.strip()), str)


async def _judged(judge: Engine, status: Status, move: str) -> Status | str:
    """The position after a move, or the engine's reason against it."""
    if not re.fullmatch(r'[!-"$-~]+', move):  # never asked: it is no word, or the engine would read a comment
        return "illegal move: a move is one printable word without #"
    try:
        _, after = await judge.play(status.to_play, move)
    except BotFault as fault:
        return str(fault)
    return after


async def _opening(trial: CheckContext, judge: Engine) -> tuple[Status, list[str]]:
    status = await judge.new_game(_new(trial))
    moves = await judge.legal_moves()
    return status, [move for move in moves if re.fullmatch(r"[A-Z]\d+", move)] or moves


async def _next(judge: Engine, status: Status, move: str) -> str:
    """The side to play after it."""
    _, after = await judge.play(status.to_play, move)
    return after.to_play


def _new(trial: CheckContext) -> str:
    return f"ggp-new {trial.games[0]}"


def _judge(trial: CheckContext) -> Engine:
    assert trial.judge is not None
    return trial.judge


SCRIPTS = {"play": play, "turn": turn, "seed": seed, "clock": clock}


# -- GTP: fixed words, colours and points, boardsize, clear_board, play, undo -----------------------------------------


async def words(trial: CheckContext) -> None:
    """The failures whose text is fixed."""
    talk = await trial.talk()
    await begin(trial, talk)
    if trial.lists("2.4.2", "boardsize"):
        await trial.refuses("2.4.2", "boardsize 1000", "unacceptable size")
        await begin(trial, talk)
    trial.at = "2.4.3"
    point = (await first_moves(trial, talk))[0]
    if trial.lists("2.4.3", "play"):
        await talk.ask(f"play black {point}")
        legal = (await talk.ask("ggp-legal_moves")).text if "ggp-legal_moves" in trial.commands else ""
        if point.lower() in legal.lower().split():
            trial.omit("in this game a move may be made again", "2.4.3")
        else:
            await trial.refuses("2.4.3", f"play white {point}", "illegal move", note=f"{point} is taken", reason=True)
    trial.at = "2.4.4"
    await begin(trial, talk)
    if trial.lists("2.4.4", "undo"):
        await trial.refuses("2.4.4", "undo", "cannot undo")
    if trial.games[0].split()[0] != "go":
        trial.omit("the game is not go", "2.4.5")
    elif trial.lists("2.4.5", "loadsgf"):
        await trial.refuses("2.4.5", "loadsgf /nonexistent/game.sgf", "cannot load file", reason=True)


async def case(trial: CheckContext) -> None:
    """How colours and points are read."""
    if "play" not in trial.commands:
        return trial.omit("it lists no play", "2.6.2", "2.6.3", "2.6.4", "2.6.5")
    talk = await trial.talk()
    for colour in ("b", "B", "black", "Black", "BLACK"):
        await begin(trial, talk)
        point = (await first_moves(trial, talk))[0]
        await trial.accepts("2.6.2", f"play {colour} {point}", note=f"{point} is free")
    trial.at = "2.6.3"
    await begin(trial, talk)
    point = (await first_moves(trial, talk))[0]
    await trial.accepts("2.6.3", f"play black {point.lower()}", f"a success, as for {point}")
    for number, word in (("2.6.4", "I5"), ("2.6.5", "resign")):
        trial.at = number
        await begin(trial, talk)
        if number == "2.6.4" and any(_COLUMN_I.search(move) for move in await first_moves(trial, talk)):
            trial.omit("the points of this game have names of their own", number)
            continue
        await trial.refuses(number, f"play black {word}")
    return None


async def board(trial: CheckContext) -> None:
    """A new board, its komi, and that clear_board clears."""
    missing = [name for name in ("boardsize", "clear_board", "komi", "play") if name not in trial.commands]
    if missing and trial.native:
        return trial.omit(f"it lists no {missing[0]}, and needs none", "2.7.1", "2.7.2", "2.7.3")
    talk = await trial.talk()
    size = await _size(trial, talk)
    if size:
        for line in (f"boardsize {size}", "clear_board", f"boardsize {size}", "clear_board", "clear_board"):
            if not await trial.accepts("2.7.1", line):
                return None
    else:
        trial.omit("there is no size= in the game", "2.7.1")
    if "komi" not in trial.commands:
        trial.skip("komi is unknown", "2.7.2")
    elif trial.wants("2.7.2"):
        for komi in ("0", "7", "6.5", "-3.5"):
            await trial.accepts("2.7.2", f"komi {komi}")
    trial.at = "2.7.3"
    await begin(trial, talk)
    await talk.ask("clear_board")
    point = (await first_moves(trial, talk))[0]
    one = await talk.ask(f"play black {point}")
    await talk.ask("clear_board")
    two = await talk.ask(f"play black {point}")
    trial.hold("2.7.3", one.ok and two.ok, f"a success: {point} is free again")
    return None


async def _size(trial: CheckContext, talk: RawChannel) -> str:
    """The size that boardsize takes for the first game, or ""."""
    if trial.native:
        await begin(trial, talk)
    if "gogui-rules_board_size" in trial.commands and await has_sizes(talk, trial.games[0].split()[0]):
        return (await talk.ask("gogui-rules_board_size")).text.split(" ")[0]
    given = [word[5:] for word in trial.games[0].split() if word.startswith("size=")]
    return (given or [""])[0]


async def has_sizes(talk: RawChannel, game: str) -> bool:
    """Whether an engine's game has an option size; other games may refuse every boardsize."""
    answer = await talk.ask(f"ggp-options {game}")
    return any(line.split(" ")[0] == "size" for line in answer.text.split("\n"))


GTP_SCRIPTS = {"words": words, "case": case, "board": board}
