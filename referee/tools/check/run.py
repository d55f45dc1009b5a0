"""A whole check: the program's commands and games, then every step in order."""

import re
from contextlib import suppress
from dataclasses import dataclass

from ggp.protocol.commands import Who
from ggp.protocol.conformance import Check, Demand, catalogue
from ggp.protocol.grammar import MAX_LINE
from ggp.referee.match.bot_spec import LaunchError
from ggp.referee.match.diagnosis import FORM
from ggp.referee.match.engine import GameRefused
from ggp.referee.match.outcome import EngineFailed
from ggp.referee.terminal import ShowProgress
from ggp.referee.tools.check import bot_checks, engine_checks, process_checks
from ggp.referee.tools.check.raw_channel import NO_ANSWER, UnexpectedEnd
from ggp.referee.tools.check.trial import CheckContext, StepResult, read_option, refusal

SCRIPTS = {**process_checks.SCRIPTS, **bot_checks.GTP_SCRIPTS, **engine_checks.SCRIPTS, **bot_checks.SCRIPTS}
_SIZES = ("9", "19", "13")  # of go, in the order in which a plain bot is asked for them
_SMALL = 5  # a native bot is asked for a board of this size, if the game has it


@dataclass(frozen=True, slots=True)
class Wanted:
    """`only`: numbers of rules or steps, all if empty. `games`: lines of ggp-new, those it lists if empty."""

    only: tuple[str, ...] = ()
    games: tuple[str, ...] = ()

    def takes(self, number: str) -> bool:
        """Whether a step is to be judged."""
        return not self.only or any(f"{number}.".startswith(f"{only}.") for only in self.only)


async def run_trial(
    trial: CheckContext, wanted: Wanted, progress: ShowProgress = lambda done, total=None, what="": None
) -> list[StepResult]:
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


_START, _BOUNDS = "2.3.13", "2.8.4"
_SILENT = "it writes nothing: flush stdout after each answer; if it loads for longer, give ggp check --start SECONDS"
_WORDY = (
    "what it writes is no whole answer: write = or ?, the text and an empty line, and nothing else, and flush stdout"
)


def _not_started(trial: CheckContext, checks: list[Check], why: str) -> None:
    """The one failure of a program that answers nothing, whichever steps were chosen."""
    step = _BOUNDS if why.startswith("an answer of") else _START
    if not trial.wants(step):
        checks = [*(check for check in catalogue(trial.who) if check.number == step), *checks]
        trial.expect(checks)
    ended, last = trial.last_words()
    cause = trial.silence().cause
    if ended:
        advice = cause or last or f"it ends with {ended} and writes nothing to standard error: run it by hand"
    elif why == NO_ANSWER:
        advice = (cause if cause != FORM else _WORDY) or (_WORDY if trial.talking.got else _SILENT)
    else:
        advice = ""
    trial.hold(step, False, "an answer to `protocol_version`, and to `list_commands`", why, advice)
    trial.skip("it does not start" if ended else f"{step} failed", *[check.number for check in checks])


async def _run_all(trial: CheckContext, checks: list[Check], progress: ShowProgress) -> None:
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


_NEEDS_A_GAME = {"empty", "growth", "words", "case", "board", *engine_checks.SCRIPTS, *bot_checks.SCRIPTS}


def _chosen(trial: CheckContext, wanted: Wanted) -> list[Check]:
    game = trial.games[0].split()[0] if trial.games else ""
    return [check for check in catalogue(trial.who, game=game, native=trial.native) if wanted.takes(check.number)]


async def _get_acquainted(trial: CheckContext, wanted: Wanted) -> str:
    """Learn ids, commands and games; why the program could not be asked, or ""."""
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
    except UnexpectedEnd as surprise:
        return await trial.why(surprise)
    except LaunchError as error:
        return str(error)
    return ""


async def _lacking(trial: CheckContext) -> frozenset[str]:
    """The commands that every program has and this one neither lists nor answers."""
    found = []
    for name, argument in (("protocol_version", ""), ("name", ""), ("known_command", " name")):
        if name not in trial.commands and not (await (await trial.talk()).ask(name + argument)).ok:
            found.append(name)
    return frozenset(found)


async def _games(trial: CheckContext, wanted: Wanted) -> list[str]:
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


async def _for_a_bot(trial: CheckContext, listed: list[str]) -> list[str]:
    """The games that both the judge and the bot know, on a small board if the bot accepts it."""
    judge = trial.judge
    if judge is None:
        return []
    talk, found = await trial.talk(), []
    for game in await judge.games():
        if listed and game not in listed:
            continue
        rows = [row for row in map(read_option, (await judge.option_lines(game)).split("\n")) if row is not None]
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


async def _openings(trial: CheckContext) -> None:
    if trial.judge is None or not trial.games:
        return
    with suppress(GameRefused, EngineFailed):
        await trial.judge.new_game(f"ggp-new {trial.games[0]}")
        trial.openings = await trial.judge.legal_moves()


# -- The checks that are one exchange, which the catalogue holds as data.


LONGEST_MESSAGE = 2 * MAX_LINE  # what ZeroMQ carries of one command; more loses the connection
_NO_GAME = "3.1.4"  # asked of a process without a game
_SOON = 0.3  # seconds in which a wrong answer may go on


async def run_exchange(trial: CheckContext, check: Check) -> None:
    """Judge one check of the catalogue by its exchange."""
    trial.at, trial.where = check.number, ""
    if trial.remote and (check.ends or check.end_input or check.pieces or len(check.sent) > LONGEST_MESSAGE):
        trial.omit("a connection carries whole and short messages, and the service stays", check.number)
        return
    if (
        check.demand is Demand.NATIVE
        and check.source is check.source.GGP
        and check.number[0] == "4"
        and not trial.native
    ):
        trial.omit("it lists no ggp-new", check.number)
        return
    if not trial.ids and check.number in _OF_IDS:
        trial.omit("it echoes no ids: 2.2.1", check.number)
        return
    if check.rule == "4.0":
        await _look_for(trial, check)
        return
    sent, expected = (check.sent, check.expected) if trial.ids else _without_ids(check)
    shown = readable(expected)
    talk = await trial.talk(fresh=check.ends or check.end_input or check.number == _NO_GAME)
    if check.setup and (cause := await _set_up(trial, check)):
        trial.skip(cause, check.number)
        return
    try:
        for piece in [sent[i : i + 1] for i in range(len(sent))] if check.pieces else [sent]:
            await talk.send(piece)
        if check.end_input:
            talk.transport.close_stdin()
        if check.ends or check.end_input:
            got = await talk.until_end(trial.end_patience)
            note = "" if talk.ended else f"it did not end within {trial.end_patience:.0f} s"
            right = talk.ended and re.fullmatch(expected, got) is not None
            trial.hold(check.number, right, f"{shown}, then its end", note)
            await trial.drop()
            return
        got = await (talk.until_synced() if trial.ids else talk.until_right(expected))
        right = re.fullmatch(expected, got) is not None
        if right or not (missing := _missing(trial, check)):
            trial.hold(check.number, right, shown)
        else:
            trial.skip(f"{missing} is unknown", check.number)
    except UnexpectedEnd as surprise:
        await talk.hear(_SOON)
        trial.hold(check.number, False, shown, await trial.why(surprise))
        right = False
    if not right:
        await trial.drop()


async def _look_for(trial: CheckContext, check: Check) -> None:
    """Judge that list_commands has a command: the referee never asks known_command."""
    name = check.sent.split()[1].decode()
    await (await trial.talk()).ask("list_commands")
    listed = bool(trial.commands) if name == "list_commands" else name in trial.commands
    trial.hold(check.number, listed, f"`{name}` among them")


async def _set_up(trial: CheckContext, check: Check) -> str:
    """Send the command that prepares the check; why it failed, or ""."""
    talk, line = trial.talking, check.setup.decode().strip()
    try:
        answer = await talk.ask(line)
    except UnexpectedEnd as surprise:
        cause = f"`{line}` was not answered: {await trial.why(surprise)}"
        await trial.drop()
        return cause
    talk.begin()
    return "" if answer.ok else refusal(trial, line, answer)


# A program that echoes no ids fails these with 2.2.1.
_OF_IDS = frozenset(("2.2.2", "2.2.3", "2.2.9"))


def _without_ids(check: Check) -> tuple[bytes, bytes]:
    """The exchange without ids, unless the check is about ids."""
    if check.rule == "2.2" or check.number == "2.1.3":
        return check.sent, check.expected
    sent = re.sub(rb"(?m)^\d+ (?=[a-z])", b"", check.sent)
    return sent, re.sub(rb"(=|\\\?)\d", rb"\1", check.expected)


_ABOUT = {"2.3.1": "protocol_version", "2.5.1": "known_command"}  # the checks of these commands themselves


def _missing(trial: CheckContext, check: Check) -> str:
    """A command that the check needs and the program does not know, or ""."""
    for name in sorted(trial.lacking):
        if name.encode() in check.sent.split() and _ABOUT.get(check.number) != name:
            return name
    return ""


def readable(pattern: bytes) -> str:
    """A regular expression in readable form."""
    text = pattern.decode("ascii", "backslashreplace")
    text = text.replace(r"\?(?: \S[^\n]*)?\n\n", r"\? …\n\n").replace("7?", "[7]")
    for old, new in ((r"\?", "?"), (r"\n", "⏎"), ("[^⏎]*", "…"), ("(?:.+⏎)*", "…⏎ "), (".+", "…"), (r"\S…", "…")):
        text = text.replace(old, new)
    return text or "nothing"
