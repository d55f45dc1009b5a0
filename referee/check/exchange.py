"""Puts the checks that are one exchange, as data say, to the program; a process is shared where that is safe."""

import re

from protocol.conformance import Check, Demand
from protocol.grammar import MAX_LINE
from referee.check.table import refusal
from referee.check.talk import Surprise
from referee.check.trial import Trial

LONGEST_MESSAGE = 2 * MAX_LINE  # what ZeroMQ carries of one command; more loses the connection
_SOON = 0.3  # seconds in which a wrong answer may go on


async def run_exchange(trial: Trial, check: Check) -> None:
    """Judge one check by sending what it says."""
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
    talk = await trial.talk(fresh=check.ends or check.end_input or _about_a_game(check))
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
    except Surprise as surprise:
        await talk.hear(_SOON)
        trial.hold(check.number, False, shown, await trial.why(surprise))
        right = False
    if not right:
        await trial.drop()


async def _look_for(trial: Trial, check: Check) -> None:
    """A command that the referee needs: it looks for it in list_commands, and never asks known_command."""
    name = check.sent.split()[1].decode()
    await (await trial.talk()).ask("list_commands")
    listed = bool(trial.commands) if name == "list_commands" else name in trial.commands
    trial.hold(check.number, listed, f"`{name}` among them")


async def _set_up(trial: Trial, check: Check) -> str:
    """Send the command that prepares the check; why it could not be prepared, or ""."""
    talk, line = trial.talking, check.setup.decode().strip()
    try:
        answer = await talk.ask(line)
    except Surprise as surprise:
        cause = f"`{line}` was not answered: {await trial.why(surprise)}"
        await trial.drop()
        return cause
    talk.begin()
    return "" if answer.ok else refusal(trial, line, answer)


# Checks that a program which echoes no ids has failed with 2.2.1.
_OF_IDS = frozenset(("2.2.2", "2.2.3", "2.2.9"))


def _without_ids(check: Check) -> tuple[bytes, bytes]:
    """What is sent and expected of a program that echoes no ids: the same question without one, unless it is about
    ids."""
    if check.rule == "2.2" or check.number == "2.1.3":
        return check.sent, check.expected
    sent = re.sub(rb"(?m)^\d+ (?=[a-z])", b"", check.sent)
    return sent, re.sub(rb"(=|\\\?)\d", rb"\1", check.expected)


_ABOUT = {"2.3.1": "protocol_version", "2.5.1": "known_command"}  # the checks of these commands themselves


def _missing(trial: Trial, check: Check) -> str:
    """A command that the check takes for granted and the program does not know, "" if there is none."""
    for name in sorted(trial.lacking):
        if name.encode() in check.sent.split() and _ABOUT.get(check.number) != name:
            return name
    return ""


def readable(pattern: bytes) -> str:
    """A regular expression as a person reads it."""
    text = pattern.decode("ascii", "backslashreplace")
    text = text.replace(r"\?(?: \S[^\n]*)?\n\n", r"\? …\n\n").replace("7?", "[7]")
    for old, new in ((r"\?", "?"), (r"\n", "⏎"), ("[^⏎]*", "…"), ("(?:.+⏎)*", "…⏎ "), (".+", "…"), (r"\S…", "…")):
        text = text.replace(old, new)
    return text or "nothing"


def _about_a_game(check: Check) -> bool:
    """Asked of a process without a game."""
    return check.number == "3.1.4"
