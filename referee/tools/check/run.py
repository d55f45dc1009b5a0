"""A complete check: the program's commands and games, then every step in order."""

import re
from contextlib import suppress

from ggp.protocol.commands import Who
from ggp.protocol.conformance import Check, Demand, RuleSource, catalogue
from ggp.protocol.grammar import MAX_LINE
from ggp.referee.match.bot_spec import LaunchError
from ggp.referee.match.diagnosis import FORM
from ggp.referee.match.engine import GameRefused
from ggp.referee.match.outcome import EngineFailed
from ggp.referee.terminal import ShowProgress
from ggp.referee.tools.check import bot_checks, engine_checks, process_checks
from ggp.referee.tools.check.forms import read_option
from ggp.referee.tools.check.raw_channel import NO_ANSWER, UnexpectedEnd
from ggp.referee.tools.check.trial import StepResult, Trial

SCRIPTS = {**process_checks.SCRIPTS, **bot_checks.GTP_SCRIPTS, **engine_checks.SCRIPTS, **bot_checks.SCRIPTS}
_NEEDS_NO_GAME = ("start", "halves", "names", "flood", "slow", "leave")
_SIZES = ("9", "19", "13")  # sizes of go, in the order in which a plain bot is asked for them
_SMALL = 5  # board size that a native bot is asked for, if the game has the option
_START, _BOUNDS, _NO_GAME = "2.3.13", "2.8.4", "3.1.4"
_SILENT = "it writes nothing: flush stdout after each answer; if it loads slowly, use ggp check --start SECONDS"
_WORDY = "its output is not a complete answer: write = or ?, the text and an empty line, nothing else, and flush stdout"


def takes(only: tuple[str, ...], number: str) -> bool:
    """Return True if a step belongs to these rules or steps; always if there are none."""
    return not only or any(f"{number}.".startswith(f"{each}.") for each in only)


async def run_trial(
    trial: Trial,
    only: tuple[str, ...] = (),
    games: tuple[str, ...] = (),
    progress: ShowProgress = lambda done, total=None, what="": None,
) -> list[StepResult]:
    """Check a program. No process that it started is left running.

    Args:
        trial: The program.
        only: Numbers of rules or steps; all if empty.
        games: Arguments of ggp-new; if empty, the games that the program lists.
        progress: Called before each step.

    Returns:
        A result for each step, in order.
    """
    try:
        trial.choose(_chosen(trial, only))
        why = await _get_acquainted(trial, games)
        checks = _chosen(trial, only)
        trial.choose(checks)
        if why:
            _not_started(trial, checks, why)
        else:
            await _run_all(trial, checks, progress)
    finally:
        await trial.drop()
    return trial.findings()


def _chosen(trial: Trial, only: tuple[str, ...]) -> list[Check]:
    game = trial.games[0].split()[0] if trial.games else ""
    return [check for check in catalogue(trial.who, game=game, native=trial.native) if takes(only, check.number)]


def _not_started(trial: Trial, checks: list[Check], why: str) -> None:
    """Record the single failure of a program that answers nothing, even if another step was chosen."""
    step = _BOUNDS if why.startswith("an answer of") else _START
    if not trial.wants(step):
        trial.choose([*(check for check in catalogue(trial.who) if check.number == step), *checks])
    ended, last = trial.last_words()
    cause = trial.silence().cause
    if ended:
        advice = cause or last or f"it exits with {ended} and writes nothing to standard error: run it by hand"
    elif why == NO_ANSWER:
        advice = (cause if cause != FORM else _WORDY) or (_WORDY if trial.talk.got else _SILENT)
    else:
        advice = ""
    trial.hold(step, False, "an answer to `protocol_version`, and to `list_commands`", why, advice)
    trial.skip("it does not start" if ended else f"{step} failed", *[check.number for check in checks])


async def _run_all(trial: Trial, checks: list[Check], progress: ShowProgress) -> None:
    done: set[str] = set()
    for index, check in enumerate(checks):
        progress(index, len(checks), check.title)
        if not check.script:
            await _run_exchange(trial, check)
        elif check.script not in done:
            done.add(check.script)
            numbers = [other.number for other in checks if other.script == check.script]
            if trial.games or check.script in _NEEDS_NO_GAME:
                await trial.run(SCRIPTS[check.script], numbers)
            else:
                trial.omit("none of its games is known: name one with --game", *numbers)
    progress(len(checks), len(checks), "")


# -- What the program is, and which games it plays.


async def _get_acquainted(trial: Trial, games: tuple[str, ...]) -> str:
    """Learn ids, commands and games. Return why the program could not be asked, or ""."""
    try:
        talk = await trial.open()
        await talk.send(b"1 protocol_version\n")
        answer = await talk.answer()
        trial.ids = answer.raw.lstrip(b"\r\n")[1:2] == b"1"
        trial.seconds_to_start = talk.started
        trial.commands = frozenset((await trial.ask("list_commands")).text.split())
        trial.native = trial.who is Who.ENGINE or "ggp-new" in trial.commands
        trial.lacking = await _lacking(trial)
        trial.games = await _games(trial, games)
        if trial.judge is not None and trial.games:
            with suppress(GameRefused, EngineFailed):
                await trial.judge.new_game(f"ggp-new {trial.games[0]}")
                trial.openings = await trial.judge.legal_moves()
    except UnexpectedEnd as surprise:
        return await trial.why(surprise)
    except LaunchError as error:
        return str(error)
    return ""


async def _lacking(trial: Trial) -> frozenset[str]:
    """Return the commands that every program has, but this one neither lists nor answers."""
    found = []
    for line in ("protocol_version", "name", "known_command name"):
        if (name := line.split()[0]) not in trial.commands:
            await trial.open()
            if not (await trial.ask(line)).ok:
                found.append(name)
    return frozenset(found)


async def _games(trial: Trial, named: tuple[str, ...]) -> list[str]:
    if named:
        return [*named] if trial.native else [_with_size(game) for game in named]
    await trial.open()
    if not trial.native:
        for size in _SIZES:
            if (await trial.ask(f"boardsize {size}")).ok:
                return [f"go size={size} komi=7"]
        return ["go size=9 komi=7"]
    answer = await trial.ask("ggp-games") if "ggp-games" in trial.commands else None
    listed = answer.text.split() if answer and answer.ok else []
    return listed if trial.who is Who.ENGINE else await _for_a_bot(trial, listed)


def _with_size(game: str) -> str:
    name, *words = game.split()
    values = {"size": "9", "komi": "7", **dict(word.split("=", 1) for word in words)}
    return " ".join([name, f"size={values['size']}", f"komi={values['komi']}"])


async def _for_a_bot(trial: Trial, listed: list[str]) -> list[str]:
    """Return the games that both the judge and the bot know, on a small board if the bot accepts it."""
    judge, found = trial.judge, []
    for game in await judge.games() if judge else ():
        if judge is None or (listed and game not in listed):
            continue
        names = {row[0] for row in map(read_option, (await judge.option_lines(game)).split("\n")) if row}
        small = f"{game} size={_SMALL}" if "size" in names else game
        for line in (*([f"{small} agreement=on"] if "agreement" in names else []), small, game):
            with suppress(GameRefused, EngineFailed):
                await judge.new_game(f"ggp-new {line}")
                if (await trial.ask(f"ggp-new {line}", 30.0)).ok:
                    found.append(line)
                    break
    return found


# -- The steps that are one exchange, which the catalogue holds as data.

LONGEST_MESSAGE = 2 * MAX_LINE  # bytes of a command over ZeroMQ; more closes the connection
_SOON = 0.3  # seconds to wait for the rest of a wrong answer
_OF_IDS = ("2.2.2", "2.2.3", "2.2.9")  # for a program that echoes no ids, 2.2.1 covers these
_ABOUT = {"2.3.1": "protocol_version", "2.5.1": "known_command"}  # checks of the commands themselves


async def _run_exchange(trial: Trial, check: Check) -> None:
    """Judge one check of the catalogue by its exchange."""
    trial.at, trial.where = check.number, ""
    if why := _why_not(trial, check):
        return trial.omit(why, check.number)
    if check.rule == "4.0":
        return await _look_for(trial, check)
    sent, expected = (check.sent, check.expected) if trial.ids else _without_ids(check)
    ends = check.how in ("ends", "end of input")
    talk = await trial.open(fresh=ends or check.number == _NO_GAME)
    if check.setup and (cause := await _set_up(trial, check)):
        return trial.skip(cause, check.number)
    shown, right = readable(expected), False
    try:
        for piece in [sent[i : i + 1] for i in range(len(sent))] if check.how == "pieces" else [sent]:
            await talk.send(piece)
        if ends:
            return await _ends(trial, check, expected)
        got = await (talk.until_synced() if trial.ids else talk.until_right(expected))
        right = re.fullmatch(expected, got) is not None
        if right or not (missing := _missing(trial, check)):
            trial.hold(check.number, right, shown)
        else:
            trial.skip(f"{missing} is unknown", check.number)
    except UnexpectedEnd as surprise:
        await talk.hear(_SOON)
        trial.hold(check.number, False, shown, await trial.why(surprise))
    if not right:
        await trial.drop()
    return None


def _why_not(trial: Trial, check: Check) -> str:
    """Return why a check does not apply; "" if it does."""
    if trial.remote and (check.how or len(check.sent) > LONGEST_MESSAGE):
        return "a connection carries only complete, short messages, and the service keeps running"
    ours = check.demand is Demand.NATIVE and check.source is RuleSource.GGP
    if ours and check.number[0] == "4" and not trial.native:
        return "it lists no ggp-new"
    return "it echoes no ids: 2.2.1" if not trial.ids and check.number in _OF_IDS else ""


async def _ends(trial: Trial, check: Check, expected: bytes) -> None:
    """Judge that the program answers and exits."""
    talk, patience = trial.talk, trial.patience + 2 * trial.seconds_to_start  # it may still be loading
    if check.how == "end of input":
        talk.transport.close_stdin()
    await talk.hear(patience)
    right = talk.ended and re.fullmatch(expected, talk.got) is not None
    note = "" if talk.ended else f"it did not exit within {patience:.0f} s"
    trial.hold(check.number, right, f"{readable(expected)}, then its exit", note)
    await trial.drop()


async def _look_for(trial: Trial, check: Check) -> None:
    """Judge that list_commands has a command: the referee never asks known_command."""
    name = check.sent.split()[1].decode()
    await trial.open()
    listed = bool(trial.commands) if name == "list_commands" else name in trial.commands
    await trial.expect(check.number, "list_commands", lambda answer: listed, f"`{name}` among them")


async def _set_up(trial: Trial, check: Check) -> str:
    """Send the command that prepares the check. Return why it failed, or ""."""
    line = check.setup.decode().strip()
    try:
        answer = await trial.ask(line)
    except UnexpectedEnd as surprise:
        cause = f"`{line}` was not answered: {await trial.why(surprise)}"
        await trial.drop()
        return cause
    trial.talk.begin()
    return "" if answer.ok else trial.refusal(line, answer)


def _without_ids(check: Check) -> tuple[bytes, bytes]:
    """Return the exchange without ids, unless the check is about ids."""
    if check.rule == "2.2" or check.number == "2.1.3":
        return check.sent, check.expected
    sent = re.sub(rb"(?m)^\d+ (?=[a-z])", b"", check.sent)
    return sent, re.sub(rb"(=|\\\?)\d", rb"\1", check.expected)


def _missing(trial: Trial, check: Check) -> str:
    """Return a command that the check needs and the program does not know, or ""."""
    asked = check.sent.split()
    return next(
        (name for name in sorted(trial.lacking) if name.encode() in asked and _ABOUT.get(check.number) != name), ""
    )


def readable(pattern: bytes) -> str:
    """Return a regular expression in readable form."""
    text = pattern.decode("ascii", "backslashreplace")
    text = text.replace(r"\?(?: \S[^\n]*)?\n\n", r"\? …\n\n").replace("7?", "[7]")
    for old, new in ((r"\?", "?"), (r"\n", "⏎"), ("[^⏎]*", "…"), ("(?:.+⏎)*", "…⏎ "), (".+", "…"), (r"\S…", "…")):
        text = text.replace(old, new)
    return text or "nothing"
