"""Checks of a process: slow starts, partial lines, floods, slow readers, and all kinds of ends."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

from ggp.protocol.grammar import MAX_ANSWER, MAX_ANSWER_LINES
from ggp.referee.tools.check.raw_channel import RawAnswer, UnexpectedEnd
from ggp.referee.tools.check.trial import Trial, now

FLOOD = 10_000  # lines
SLOW = 3_000  # answers that stay unread for a while
GAMES = 200
_UNREAD = 2_000  # questions whose answers exceed a pipe, so not all can be written before it is closed
_GAMES_SECONDS = 20.0  # for all games together, because a bot may take half a minute for each
_QUIET = 0.4  # seconds of listening for unsolicited output
_MOST_GROWTH = 64  # MiB
_MOST_DESCRIPTORS = 20
# How a session ends: the step, what ends it, and how the process must then end ("" for any way).
_ENDS = (
    ("2.5.8", "quit", "exit status 0"),
    ("2.5.9", "end of input", "exit status 0"),
    ("2.5.10", "end of input in mid-line", "exit status"),
    ("2.5.11", "both ends closed", ""),
    ("2.5.12", "SIGTERM", ""),
)


async def start(trial: Trial) -> None:
    """Check the first answer, however long the program loads, and that there is no other output."""
    trial.at = "2.3.4"
    talk = await trial.open(fresh=True)
    answer = await trial.ask("protocol_version", trial.first)
    trial.seconds_to_start = talk.started
    trial.hold("2.3.4", answer.raw[:1] in (b"=", b"?"), "the answer, and nothing before it")
    trial.hold("2.3.13", True, "")
    in_time = talk.started <= 60
    trial.hold("5.2.1", in_time, "an answer within 60 s", f"{talk.started:.2f} s" if in_time else "")
    trial.at = "2.3.12"
    talk.begin()
    await talk.hear(_QUIET)
    unasked = talk.untaken.lstrip(b"\r\n")[:1] in (b"=", b"?")
    trial.hold("2.3.12", not unasked, "nothing: no command was sent")
    trial.hold("2.3.5", talk.in_order() or unasked, "nothing")


async def halves(trial: Trial) -> None:
    """Send half a line, pause while nothing may arrive, and send the rest with half of the next line."""
    if trial.remote:
        return trial.omit("a connection carries only complete lines", "2.3.6")
    talk = await trial.open()
    whole = await trial.ask("protocol_version")
    talk.begin()
    await talk.send(b"protocol_ver")
    early = await talk.hear(0.15)
    await talk.send(b"sion\nprotocol_")
    one = await talk.answer()
    await talk.hear(0.15)
    await talk.send(b"version\n")
    two = await talk.answer()
    right = one.raw == two.raw == whole.raw and not early
    trial.hold("2.3.6", right, "the answer to protocol_version twice, each after its complete line")
    return None


async def names(trial: Trial) -> None:
    """Check names, versions and the list of commands."""
    await trial.open()

    def tidy(answer: RawAnswer) -> bool:
        words = [line.strip() for line in answer.text.split("\n")]
        return answer.ok and all(re.fullmatch(r"\S+", word) for word in words) and len({*words}) == len(words)

    def short(answer: RawAnswer) -> bool:
        return len(answer.raw) <= MAX_ANSWER and answer.text.count("\n") < MAX_ANSWER_LINES

    await trial.expect("2.3.7", "list_commands", tidy, "one name per line, without duplicates")
    await trial.expect("2.8.4", "list_commands", short, "at most 1 MiB and 10,000 lines")
    for line in ("name", "version"):

        def one_line(answer: RawAnswer, line: str = line) -> bool:
            text = answer.text.strip()
            # A version may be empty: "versions are free to have any form", and some programs have none.
            return answer.ok and "\n" not in text and (line == "version" or bool(text))

        await trial.expect("2.3.8", line, one_line, "one line of text")
    if "known_command" in trial.lacking:
        return trial.skip("known_command is unknown", "2.5.7")
    for word in sorted(trial.commands):
        expected = f"`= true`, because {word} is listed"
        if not await trial.expect(
            "2.5.7", f"known_command {word}", lambda a: a.ok and a.text.strip() == "true", expected
        ):
            break
    return None


async def empty(trial: Trial) -> None:
    """Check the form of an empty success, with a command that has an empty answer."""
    await trial.open()
    line = next((line for line in ("clear_board", "ggp-result B+R") if line.split()[0] in trial.commands), "")
    if not line:
        return trial.omit("it lists no command with an empty answer", "2.3.11")
    await trial.begin()
    await trial.expect("2.3.11", line, lambda answer: answer.raw == b"=\n\n", "`=` and two LFs")
    return None


async def flood(trial: Trial) -> None:
    """Send more commands in one write than a pipe holds. Each must be answered, in order."""
    await trial.open()
    count = FLOOD if not trial.remote else 50  # a service keeps a bounded queue for each peer
    lines = b"".join(b"%d known_command quit\n" % number for number in range(1, count + 1))
    await _answered(trial, "2.3.9", lines, count, lambda answer, n: not trial.ids or answer.id == n)


async def slow(trial: Trial) -> None:
    """Let unread answers fill the pipe. The program must wait and lose none."""
    if trial.remote:
        return trial.omit("a service may drop a peer that does not read", "2.3.10")
    await trial.open()
    one = await trial.ask("list_commands")
    count = min(SLOW, max(20, 400_000 // len(one.raw)))
    trial.talk.begin()
    lines = b"list_commands\n" * count
    await _answered(trial, "2.3.10", lines, count, lambda answer, _: answer.raw == one.raw, pause=0.3)
    return None


async def _answered(
    trial: Trial, number: str, lines: bytes, count: int, right: Callable[[RawAnswer, int], bool], pause: float = 0.0
) -> None:
    """Check that all commands of one write are answered; the report shows the first wrong answer."""
    talk = trial.talk
    await talk.send(lines)
    talk.sent[:] = lines[:60] + b"..."
    time.sleep(pause)
    for command in range(1, count + 1):
        answer = await talk.answer()
        if not right(answer, command):
            talk.got[:] = answer.raw
            trial.hold(number, False, f"the answer to command {command} of {count}", "read late" if pause else "")
            return await trial.drop()
        if command % 200 == 0:
            sent = bytes(talk.sent)
            talk.begin()  # right answers need not be kept
            talk.sent[:] = sent
    trial.hold(number, True, "")
    return None


async def leave(trial: Trial) -> None:
    """Check every way in which a session ends, each with its own process."""
    for number, end, how in _ENDS:
        trial.at = "5.2.3" if end == "quit" else number
        talk = await trial.open(fresh=True)
        await trial.ask("protocol_version")
        if not trial.pid:
            return trial.omit("it is a service that we did not start", "2.5.13", "5.2.3", *(one[0] for one in _ENDS))
        talk.begin()
        match end:
            case "quit":
                before = now()
                await trial.ask("quit")
                trial.hold("5.2.3", now() - before <= 3.0, "an answer within 3 s")
            case "end of input":
                talk.transport.close_stdin()
            case "end of input in mid-line":
                await talk.send(b"protocol_ver")
                talk.transport.close_stdin()
            case "both ends closed":
                await talk.send(b"list_commands\n" * _UNREAD)
                talk.transport.close()
            case "SIGTERM":
                os.kill(trial.pid, signal.SIGTERM)
        await _leaves(trial, number, how)
        if number in ("2.5.8", "2.5.10"):
            trial.hold("2.5.13", not _group(trial.pid), "no process left in its group", f"after {end}")
    await trial.drop()
    return None


async def _leaves(trial: Trial, number: str, how: str) -> None:
    """Check that the program ends in this way."""
    trial.at = number
    deadline = now() + trial.patience
    while not (ended := trial.peer.exited(0.02)) and now() < deadline:
        try:
            await trial.talk.hear(0.02)  # a full pipe would block it
        except UnexpectedEnd:
            break
    exact = how == "exit status 0"
    right = ended == how if exact else ended != "" and ended.startswith(how)
    trial.hold(number, right, how if exact else "an end of the process", ended or "it still runs")


async def growth(trial: Trial) -> None:
    """Check memory and descriptors after many new games. Only large growth is a failure."""
    await trial.open()
    if not trial.pid:
        return trial.omit("it is a service that we did not start", "2.8.5")
    await _games(trial, 20, _GAMES_SECONDS / 2)  # loading on first use does not count as growth
    before = _memory(trial.pid), _descriptors(trial.pid)
    games = await _games(trial, GAMES, _GAMES_SECONDS)
    after = _memory(trial.pid), _descriptors(trial.pid)
    fewer = f", {games} games in {_GAMES_SECONDS:.0f} s" if games < GAMES else ""
    note = f"{before[0]:.1f} -> {after[0]:.1f} MiB, {before[1]} -> {after[1]} descriptors{fewer}"
    right = after[0] - before[0] <= _MOST_GROWTH and after[1] - before[1] <= _MOST_DESCRIPTORS
    trial.hold("2.8.5", right, f"at most {_MOST_GROWTH} MiB and {_MOST_DESCRIPTORS} descriptors more", note)
    return None


async def _games(trial: Trial, count: int, seconds: float) -> int:
    """Begin up to `count` games in `seconds`, and return how many were begun."""
    deadline, games = now() + seconds, 0
    while games < count and now() < deadline:
        await trial.begin()
        games += 1
    return games


def _group(leader: int) -> list[int]:
    """Return the processes that are still in the program's group, without its leader."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) != leader and os.getpgid(int(folder.name)) == leader:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def _memory(pid: int) -> float:
    """Return the resident memory in MiB."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def _descriptors(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


SCRIPTS = {
    "start": start,
    "halves": halves,
    "names": names,
    "empty": empty,
    "flood": flood,
    "slow": slow,
    "leave": leave,
    "growth": growth,
}
