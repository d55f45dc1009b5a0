"""Puts the checks that are one exchange, as data say, to the program; a process is shared where that is safe."""

import re

from protocol.conformance import Check, Demand
from protocol.grammar import MAX_LINE
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
    shown = readable(check.expected)
    talk = await trial.talk(fresh=check.ends or check.end_input or _about_a_game(check))
    try:
        for piece in [check.sent[i : i + 1] for i in range(len(check.sent))] if check.pieces else [check.sent]:
            await talk.send(piece)
        if check.end_input:
            talk.transport.close_stdin()
        if check.ends or check.end_input:
            got = await talk.until_end(trial.end_patience)
            note = "" if talk.ended else f"it did not end within {trial.end_patience:.0f} s"
            trial.hold(
                check.number, talk.ended and bool(re.fullmatch(check.expected, got)), f"{shown}, then its end", note
            )
            await trial.drop()
            return
        got = await (talk.until_synced() if trial.ids else talk.until_right(check.expected))
        right = trial.hold(check.number, re.fullmatch(check.expected, got) is not None, shown)
    except Surprise as surprise:
        await talk.hear(_SOON)
        trial.hold(check.number, False, shown, await trial.why(surprise))
        right = False
    if not right:
        await trial.drop()


def readable(pattern: bytes) -> str:
    """A regular expression as a person reads it."""
    text = pattern.decode("ascii", "backslashreplace")
    for old, new in ((r"\?", "?"), (r"\n", "⏎"), ("[^⏎]*", "…"), ("(?:.+⏎)*", "…⏎ "), (".+", "…"), (r"\S…", "…")):
        text = text.replace(old, new)
    return text or "nothing"


def _about_a_game(check: Check) -> bool:
    """Asked of a process without a game."""
    return check.number == "3.1.4"
