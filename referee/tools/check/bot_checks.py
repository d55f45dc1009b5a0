"""Checks of bots: short games against random moves in both seats, judged by an engine; single turns; GTP."""

import random
import re

from ggp.referee.match.engine import AGREE, OVER, Engine, Status
from ggp.referee.match.outcome import BotFault
from ggp.referee.tools.check.forms import read_json
from ggp.referee.tools.check.raw_channel import RawAnswer
from ggp.referee.tools.check.trial import NotPrepared, ScriptStopped, Trial, empty, fails, now, ok, points_or_all

PLIES = 120  # plies after which a game is abandoned
SECONDS = 8.0  # seconds after which a game is abandoned
_TIRED = 24  # plies after which our side passes whenever it may, so that a game of go ends
_SEED = 12345
_COLUMN_I = re.compile(r"(?i)(?<![a-z])i[0-9]")
_WALLS = (("black", -1), ("white", 0))  # columns, counted from the middle one
_WORD = re.compile(r"[^\s]+")

# -- Short games.


async def play(trial: Trial) -> None:
    """Play a short game in each seat, of each game."""
    for number, line in enumerate(trial.games):
        for seat in (1, 2):
            trial.where = f"{line}, seat {seat}"
            await trial.open()
            try:
                await _play_one(trial, line, seat, number)
            except NotPrepared as unprepared:
                trial.skip(str(unprepared), "4.2.1", "4.2.2", "4.2.3", "4.2.4", "4.2.13", "5.2.2")
            except ScriptStopped:  # this game failed; continue with the next
                continue
    trial.omit("no game had a phase other than play", "4.2.4")
    trial.where = ""
    if trial.lists("4.1.5", "ggp-games"):
        await trial.open()
        for game in (await trial.ask("ggp-games")).text.split():
            await trial.expect("4.1.5", f"ggp-new {game}", ok, f"a success: ggp-games lists {game}")


async def _play_one(trial: Trial, line: str, seat: int, seed: int) -> None:
    """Play one game with the bot in `seat`; the judge chooses legal moves for the other side."""
    chance, judge = random.Random(seed), trial.rules
    trial.at = "4.1.4"
    before = trial.talk.transport.now()
    for command in trial.lines_of(line):
        answer = await trial.ask(command, 30.0)
        ready = answer.ok or not trial.needs(command)
        if not trial.hold("4.1.4", ready, "a success: the game begins", advice=f"accept `{command}`"):
            raise NotPrepared(trial.refusal(command, answer))
    used = trial.talk.transport.now() - before
    trial.hold("5.2.2", used <= 30, "an answer within 30 s", f"{used:.2f} s")
    status = await judge.new_game(f"ggp-new {line}")
    deadline = now() + SECONDS
    while status.phase != OVER and status.ply < PLIES and now() < deadline:
        if status.phase == AGREE and not trial.native:
            return await _dead(trial)
        if status.seat != seat:
            status = await _our_turn(trial, status, chance, swaps=seat == 1)
        elif (after := await _its_turn(trial, status)) is not None:
            status = after
        else:
            return None
    return None


async def _its_turn(trial: Trial, status: Status) -> Status | None:
    """Ask the bot for a move. Return the new status, or None if it resigned."""
    step = "4.2.2" if status.phase == "play" else "4.2.4"
    trial.at = step
    if "ggp-clock" in trial.commands:  # a bot that uses its clock then plays quickly
        await trial.ask("ggp-clock black=2000 white=2000")
    answer = await trial.ask(f"genmove {status.to_play}")
    move = answer.text.strip()
    if not trial.hold("4.2.1", answer.ok and _WORD.fullmatch(move) is not None, "one word: a move, or resign"):
        raise ScriptStopped
    after = None if move.lower() == "resign" else await _judged(trial.rules, status, move)
    if isinstance(after, str):
        trial.hold(step, False, f"a legal move in the phase {status.phase}", f"the engine says: {after}")
        raise ScriptStopped
    trial.hold(step, True, "")
    return after


async def _our_turn(trial: Trial, status: Status, chance: random.Random, swaps: bool) -> Status:
    legal = await trial.rules.legal_moves()
    move = chance.choice(legal)
    if "swap-sides" in legal:
        move = "swap-sides" if swaps else next((word for word in legal if word != "swap-sides"), move)
    elif "pass" in legal and (status.ply > _TIRED or legal == ["pass"]):
        move = "pass"
    move, after = await trial.rules.play(status.to_play, move)
    trial.at = "4.2.3"
    answer = await trial.ask(f"play {status.to_play} {move}")
    if not trial.hold("4.2.3", answer.ok, f"a success: {move} is legal"):
        raise ScriptStopped
    trial.hold("4.2.13", answer.text == "", "an empty success")
    return after


async def _judged(judge: Engine, status: Status, move: str) -> Status | str:
    """Return the position after a move, or the engine's reason against it."""
    if not re.fullmatch(r'[!-"$-~]+', move):  # not sent to the engine: it is not a word, or contains a comment
        return "illegal move: a move is one printable word without #"
    try:
        return (await judge.play(status.to_play, move))[1]
    except BotFault as fault:
        return str(fault)


# -- Single turns.


async def turn(trial: Trial) -> None:
    """Check new games in between, two commands in one write, and commands that must change nothing."""
    await trial.open()
    trial.at = "4.2.6"
    await trial.begin()
    colour, reply = await _opening(trial)
    after = (await trial.rules.play(colour, reply))[1]
    lines = f"play {colour} {reply}", f"genmove {after.to_play}"
    if all(answer.ok for answer in await trial.talk.ask_all(*lines)):
        trial.hold("4.2.6", True, "")
    else:
        seen = _seen(trial)
        await trial.begin()
        by_itself = all([(await trial.ask(line)).ok for line in lines])
        await _blame(trial, "4.2.6", by_itself, "two successes", seen, "the two commands also fail one at a time")
    if trial.lists("4.2.11", "ggp-genmove_analyze"):
        await trial.begin()
        await trial.expect("4.2.11", "ggp-genmove_analyze black", _analyzed, "a move, and JSON on the second line")
    trial.at = "4.2.5"
    await trial.begin()
    if await _legal_genmove(trial):
        trial.hold("4.2.5", True, "")
    else:
        seen = _seen(trial)
        await trial.open(fresh=not trial.remote)
        await trial.begin()
        by_itself, expected = await _legal_genmove(trial), "a legal first move of the new game"
        await _blame(trial, "4.2.5", by_itself, expected, seen, "the first move of the first game is wrong, too")
    trial.at = "4.2.8"
    await trial.begin()
    # No bot knows no-such-move: a plain bot of go accepts only points, a native one only legal moves.
    wrong = await trial.ask("play black no-such-move")
    also = await trial.ask("play purple pass")
    trial.hold("4.2.8", not wrong.ok and not also.ok, "a failure")
    trial.hold("4.2.8", await _legal_genmove(trial), "a legal move, as if nothing had been sent")
    await _undo_and_result(trial)
    trial.at = "4.2.12"
    if "final_status_list" not in trial.commands or trial.native:
        return trial.omit("it lists no final_status_list, or agrees by genmove", "4.2.12")
    await trial.begin()
    for line in _divided(trial.games[0]):
        await trial.ask(line)
    return await _dead(trial)


def _seen(trial: Trial) -> tuple[bytes, bytes]:
    return bytes(trial.talk.sent), bytes(trial.talk.got)


async def _blame(
    trial: Trial, number: str, by_itself: bool, expected: str, seen: tuple[bytes, bytes], otherwise: str
) -> None:
    """Judge a step by an exchange that failed before: the bot fails if the same exchange works `by_itself`."""
    if by_itself:
        trial.talk.sent[:], trial.talk.got[:] = seen
        trial.hold(number, False, expected)
        await trial.open(fresh=not trial.remote)
    else:
        trial.omit(otherwise, number)


def _analyzed(answer: RawAnswer) -> bool:
    move, _, said = answer.text.partition("\n")
    return answer.ok and _WORD.fullmatch(move.strip()) is not None and (not said or read_json(said) is not None)


async def _undo_and_result(trial: Trial) -> None:
    if trial.lists("4.2.7", "undo"):
        await trial.begin()
        colour, reply = await _opening(trial)
        one, two, three = [
            await trial.ask(line) for line in (f"play {colour} {reply}", "undo", f"play {colour} {reply}")
        ]
        trial.hold("4.2.7", one.ok and empty(two) and three.ok, f"{reply} can be played again")
    if trial.lists("4.2.10", "ggp-result"):
        await trial.begin()
        for result in ("B+3.5", "W+R", "0"):
            await trial.expect("4.2.10", f"ggp-result {result}")


def _divided(game: str) -> list[str]:
    """Return moves to two separate territories and two passes. GNU Go would play on for seconds on an open board."""
    size = next(int(word[5:]) for word in game.split() if word.startswith("size="))
    black, white = (f"{colour} {'ABCDEFGHJKLMNOPQRSTUVWXYZ'[size // 2 + east]}" for colour, east in _WALLS)
    walls = [f"play {wall}{row}" for row in range(1, size + 1) for wall in (black, white)]
    return [*walls, "play black pass", "play white pass"]


async def _dead(trial: Trial) -> None:
    if trial.lists("4.2.12", "final_status_list"):
        answer = await trial.ask("final_status_list dead", 30.0)
        points = all(re.fullmatch(r"[A-HJ-Za-hj-z]\d+", word) for word in answer.text.split())
        trial.hold("4.2.12", answer.ok and points, "points, or an empty success")


async def seed(trial: Trial) -> None:
    """Check that the same seed gives the same answers."""
    if not trial.lists("4.2.9", "set_random_seed"):
        return
    games: list[list[str]] = []
    for _ in range(2):
        # Caches of earlier games may change a bot's moves, so each game has its own process.
        await trial.open(fresh=not trial.remote)
        if not await trial.expect("4.2.9", f"set_random_seed {_SEED}"):
            return
        games.append(await _alone(trial))
    trial.hold("4.2.9", games[0] == games[1], "the same moves twice", f"{games[0]} and {games[1]}")


async def _alone(trial: Trial) -> list[str]:
    """Return the bot's moves on both sides, for a few plies."""
    moves: list[str] = []
    await trial.begin()
    status = await trial.rules.new_game(f"ggp-new {trial.games[0]}")
    while status.phase != OVER and len(moves) < 4:
        moves.append((await trial.ask(f"genmove {status.to_play}")).text.strip())
        after = await _judged(trial.rules, status, moves[-1])
        if isinstance(after, str):
            break
        status = after
    return moves


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


async def clock(trial: Trial) -> None:
    """Check the time commands, and a move with little time."""
    trial.at = "5.1.1"
    await trial.open()
    await trial.begin()
    times, little = ([line for line in lines if line.split()[0] in trial.commands] for lines in (_TIMES, _LITTLE))
    for line in times:
        await trial.expect("5.1.1", line)
    if not times:
        return trial.omit("it lists no time command", "5.1.1", "5.1.2")
    trial.at = "5.1.2"
    await trial.begin()
    for line in little:
        await trial.ask(line)
    before = trial.talk.transport.now()
    answer = await trial.ask("genmove black")
    used = trial.talk.transport.now() - before
    trial.hold("5.1.2", answer.ok and used <= 1.0, "a move within its one second", f"{used:.2f} s")
    return None


async def _legal_genmove(trial: Trial) -> bool:
    """Return True if the bot answers genmove in a new game with a legal move."""
    status = await trial.rules.new_game(f"ggp-new {trial.games[0]}")
    answer = await trial.ask(f"genmove {status.to_play}")
    move = answer.text.strip()
    return answer.ok and (move.lower() == "resign" or not isinstance(await _judged(trial.rules, status, move), str))


async def _opening(trial: Trial) -> tuple[str, str]:
    """Return the colour to move in a new game, and a legal first move."""
    status = await trial.rules.new_game(f"ggp-new {trial.games[0]}")
    return status.to_play, points_or_all(await trial.rules.legal_moves())[0]


# -- GTP: fixed texts, colours and points, boardsize, clear_board, play, undo.


async def words(trial: Trial) -> None:
    """Check the failures with a fixed text."""
    await trial.open()
    await trial.begin()
    if trial.lists("2.4.2", "boardsize"):
        await trial.refuses("2.4.2", "boardsize 1000", "unacceptable size")
        await trial.begin()
    trial.at = "2.4.3"
    point = await trial.first_move()
    if trial.lists("2.4.3", "play"):
        await trial.ask(f"play black {point}")
        legal = (await trial.ask("ggp-legal_moves")).text if "ggp-legal_moves" in trial.commands else ""
        if point.lower() in legal.lower().split():
            trial.omit("in this game a move may be repeated", "2.4.3")
        else:
            await trial.refuses("2.4.3", f"play white {point}", "illegal move", f"{point} is taken", reason=True)
    trial.at = "2.4.4"
    await trial.begin()
    if trial.lists("2.4.4", "undo"):
        await trial.refuses("2.4.4", "undo", "cannot undo")
    if trial.games[0].split()[0] != "go":
        trial.omit("the game is not go", "2.4.5")
    elif trial.lists("2.4.5", "loadsgf"):
        await trial.refuses("2.4.5", "loadsgf /nonexistent/game.sgf", "cannot load file", reason=True)


async def case(trial: Trial) -> None:
    """Check how colours and points are read."""
    if "play" not in trial.commands:
        return trial.omit("it lists no play", "2.6.2", "2.6.3", "2.6.4", "2.6.5")
    await trial.open()
    for colour in ("b", "B", "black", "Black", "BLACK"):
        await trial.begin()
        point = await trial.first_move()
        await trial.expect("2.6.2", f"play {colour} {point}", note=f"{point} is free")
    trial.at = "2.6.3"
    await trial.begin()
    point = await trial.first_move()
    await trial.expect("2.6.3", f"play black {point.lower()}", ok, f"a success, as for {point}")
    trial.at = "2.6.4"
    await trial.begin()
    moves = (await trial.ask("ggp-legal_moves")).text if "ggp-legal_moves" in trial.commands else ""
    if _COLUMN_I.search(" ".join([moves, *trial.openings])):
        trial.omit("this game names its points differently", "2.6.4")
    else:
        await trial.expect("2.6.4", "play black I5", fails)
    trial.at = "2.6.5"
    await trial.begin()
    await trial.expect("2.6.5", "play black resign", fails)
    return None


async def board(trial: Trial) -> None:
    """Check a new board, its komi, and clear_board."""
    missing = [name for name in ("boardsize", "clear_board", "komi", "play") if name not in trial.commands]
    if missing and trial.native:
        return trial.omit(f"it lists no {missing[0]}, and does not need it", "2.7.1", "2.7.2", "2.7.3")
    await trial.open()
    size = await _size(trial)
    if size:
        for line in (f"boardsize {size}", "clear_board", f"boardsize {size}", "clear_board", "clear_board"):
            if not await trial.expect("2.7.1", line):
                return None
    else:
        trial.omit("the game has no size=", "2.7.1")
    if "komi" not in trial.commands:
        trial.skip("komi is unknown", "2.7.2")
    elif trial.wants("2.7.2"):
        for komi in ("0", "7", "6.5", "-3.5"):
            await trial.expect("2.7.2", f"komi {komi}")
    trial.at = "2.7.3"
    await trial.begin()
    await trial.ask("clear_board")
    point = await trial.first_move()
    one, _, two = [await trial.ask(line) for line in (f"play black {point}", "clear_board", f"play black {point}")]
    trial.hold("2.7.3", one.ok and two.ok, f"a success: {point} is free again")
    return None


async def _size(trial: Trial) -> str:
    """Return a size that boardsize accepts for the first game, or ""."""
    if trial.native:
        await trial.begin()
    if "gogui-rules_board_size" in trial.commands and await has_sizes(trial, trial.games[0].split()[0]):
        return (await trial.ask("gogui-rules_board_size")).text.split(" ")[0]
    return next((word[5:] for word in trial.games[0].split() if word.startswith("size=")), "")


async def has_sizes(trial: Trial, game: str) -> bool:
    """Return True if an engine's game has the option size; other games may refuse every boardsize."""
    answer = await trial.ask(f"ggp-options {game}")
    return any(line.split(" ")[0] == "size" for line in answer.text.split("\n"))


SCRIPTS = {"play": play, "turn": turn, "seed": seed, "clock": clock}
GTP_SCRIPTS = {"words": words, "case": case, "board": board}
