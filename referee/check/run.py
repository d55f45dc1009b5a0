"""A whole check: who the program is, what it plays, then every step in order. It reads no words and prints nothing."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from protocol.commands import Who
from protocol.conformance import Check, catalogue
from referee.check import bots, engines, gtp, processes
from referee.check.exchange import run_exchange
from referee.check.forms import read_option
from referee.check.talk import NO_ANSWER, Surprise
from referee.check.trial import Found, Trial
from referee.play.engine import GameRefused
from referee.play.launch import LaunchError
from referee.play.outcome import EngineFailed

SCRIPTS = {**processes.SCRIPTS, **gtp.SCRIPTS, **engines.SCRIPTS, **bots.SCRIPTS}
_SIZES = ("9", "19", "13")  # of go, in the order in which a plain bot is asked for them
_SMALL = 5  # a native bot is asked for a board of this size, if the game has it


@dataclass(frozen=True, slots=True)
class Wanted:
    """`only`: numbers of rules or steps, all if empty. `games`: lines of ggp-new, those it lists if empty."""

    only: tuple[str, ...] = ()
    games: tuple[str, ...] = ()


async def run_trial(
    trial: Trial, wanted: Wanted, progress: Callable[[int, int, str], None] = lambda done, total, title: None
) -> list[Found]:
    """Judge the program; a finding for each step, in order. Nothing that it started is left behind."""
    try:
        trial.expect(_chosen(trial, wanted))
        why = await _get_acquainted(trial, wanted)
        checks = _chosen(trial, wanted)
        trial.expect(checks)
        if why:
            _not_started(trial, checks, why)
        else:
            await _run_all(trial, checks, progress)
    finally:
        await trial.drop()
    return trial.findings()


_START, _BOUNDS, KNOWN = "2.3.13", "2.8.4", "known_command"


_SILENT = "it writes nothing: flush stdout after each answer; if it loads for longer, give ggp check --start SECONDS"
_WORDY = (
    "what it writes is no whole answer: write = or ?, the text and an empty line, and nothing else, and flush stdout"
)


def _not_started(trial: Trial, checks: list[Check], why: str) -> None:
    """The one failure of a program that cannot be asked anything, whatever was to be checked."""
    step = _BOUNDS if why.startswith("an answer of") else _START
    if not trial.wants(step):
        checks = [*(check for check in catalogue(trial.who) if check.number == step), *checks]
        trial.expect(checks)
    ended, last = trial.last_words()
    if ended:
        advice = last or f"it ends with {ended} and writes nothing to standard error: run it by hand"
    elif why == NO_ANSWER:
        advice = _WORDY if trial.talking.got else _SILENT
    else:
        advice = ""
    trial.hold(step, False, "an answer to `protocol_version`, and to `list_commands`", why, advice)
    trial.skip("it does not start" if ended else f"{step} failed", *[check.number for check in checks])


async def _run_all(trial: Trial, checks: list[Check], progress: Callable[[int, int, str], None]) -> None:
    done: set[str] = set()
    for index, check in enumerate(checks):
        progress(index, len(checks), check.title)
        if not check.script:
            await run_exchange(trial, check)
        elif check.script not in done:
            done.add(check.script)
            numbers = [other.number for other in checks if other.script == check.script]
            if check.script in _NEEDS_A_GAME and not trial.games:
                trial.omit("no game that it plays is known: name one with --game", *numbers)
            else:
                await trial.run(SCRIPTS[check.script], numbers)
    progress(len(checks), len(checks), "")


_NEEDS_A_GAME = {"empty", "growth", "words", "case", "board", *engines.SCRIPTS, *bots.SCRIPTS}


def _chosen(trial: Trial, wanted: Wanted) -> list[Check]:
    game = trial.games[0].split()[0] if trial.games else ""
    return [check for check in catalogue(trial.who, game=game, native=trial.native) if _wanted(check, wanted)]


def _wanted(check: Check, wanted: Wanted) -> bool:
    return not wanted.only or any(check.number == only or check.number.startswith(only + ".") for only in wanted.only)


async def _get_acquainted(trial: Trial, wanted: Wanted) -> str:
    """Ids, commands, games; why it could not be asked, or ""."""
    try:
        talk = await trial.talk()
        await talk.send(b"1 protocol_version\n")
        answer = await talk.answer()
        trial.ids = answer.raw.lstrip(b"\r\n")[1:2] == b"1"
        trial.seconds_to_start = talk.started
        answer = await talk.ask("list_commands")
        trial.commands = frozenset(answer.text.split())
        trial.native = trial.who is Who.ENGINE or "ggp-new" in trial.commands
        trial.lacking = await _lacking(trial)
        trial.games = await _games(trial, wanted)
        await _openings(trial)
    except Surprise as surprise:
        return await trial.why(surprise)
    except LaunchError as error:
        return str(error)
    return ""


async def _lacking(trial: Trial) -> frozenset[str]:
    """Which of the commands that every program has it neither lists nor answers."""
    found = []
    for name, line in (("protocol_version", "protocol_version"), ("name", "name"), (KNOWN, f"{KNOWN} name")):
        if name not in trial.commands and not (await (await trial.talk()).ask(line)).ok:
            found.append(name)
    return frozenset(found)


async def _games(trial: Trial, wanted: Wanted) -> list[str]:
    if wanted.games:
        return [_with_size(game) if not trial.native else game for game in wanted.games]
    talk = await trial.talk()
    if not trial.native:
        for size in _SIZES:
            if (await talk.ask(f"boardsize {size}")).ok:
                return [f"go size={size} komi=7"]
        return ["go size=9 komi=7"]
    listed: list[str] = []
    if "ggp-games" in trial.commands:
        answer = await talk.ask("ggp-games")
        listed = answer.text.split() if answer.ok else []
    if trial.who is Who.ENGINE:
        return listed
    return await _for_a_bot(trial, listed)


def _with_size(game: str) -> str:
    name, *words = game.split()
    values = {"size": "9", "komi": "7", **dict(word.split("=", 1) for word in words)}
    return " ".join([name, f"size={values['size']}", f"komi={values['komi']}"])


async def _for_a_bot(trial: Trial, listed: list[str]) -> list[str]:
    """Of the games that the judge knows those that the bot begins, on a small board if it takes that."""
    judge = trial.judge
    if judge is None:
        return []
    talk, found = await trial.talk(), []
    for game in await judge.games():
        if listed and game not in listed:
            continue
        options = (await judge._ask(f"ggp-options {game}", trial.patience)).text
        rows = [row for row in map(read_option, options.split("\n")) if row is not None]
        for line in (*_variants(game, rows), game):
            with suppress(GameRefused, EngineFailed):
                await judge.new_game(f"ggp-new {line}")
                if (await talk.ask(f"ggp-new {line}", 30.0)).ok:
                    found.append(line)
                    break
    return found


def _variants(game: str, rows: list[tuple[str, str, str, str]]) -> list[str]:
    names = {row[0] for row in rows}
    small = f"{game} size={_SMALL}" if "size" in names else game
    return [f"{small} agreement=on", small] if "agreement" in names else [small]


async def _openings(trial: Trial) -> None:
    if trial.judge is None or not trial.games:
        return
    with suppress(GameRefused, EngineFailed):
        await trial.judge.new_game(f"ggp-new {trial.games[0]}")
        trial.openings = await trial.judge.legal_moves()
