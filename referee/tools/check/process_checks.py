"""The checks of a process: slow starts, halves of lines, floods, slow readers, ends of every kind."""

import os
import re
import signal
import time
from pathlib import Path

from ggp.protocol.grammar import MAX_ANSWER, MAX_ANSWER_LINES
from ggp.referee.tools.check.raw_channel import RawChannel, UnexpectedEnd
from ggp.referee.tools.check.trial import CheckContext, begin, now

FLOOD = 10_000  # lines
SLOW = 3_000  # answers that are not read for a while
GAMES = 200
_UNREAD = 2_000  # questions whose answers are more than a pipe holds: they cannot all be written before it is closed
_GAMES_SECONDS = 20.0  # for all of them: a bot may take half a minute for each
_QUIET = 0.4  # seconds of listening for unsolicited output
_MOST_GROWTH = 64  # MiB
_MOST_DESCRIPTORS = 20


async def start(trial: CheckContext) -> None:
    """The first answer, however long the program loads, and no other output."""
    trial.at = "2.3.4"
    talk = await trial.talk(fresh=True)
    answer = await talk.ask("protocol_version", trial.first)
    trial.seconds_to_start = talk.started
    trial.hold("2.3.4", answer.raw[:1] in (b"=", b"?"), "the answer, and nothing before it")
    trial.hold("2.3.13", True, "")
    trial.hold("5.2.1", talk.started <= 60, "an answer within 60 s")
    trial.remark("5.2.1", f"{talk.started:.2f} s")
    trial.at = "2.3.12"
    talk.begin()
    await talk.hear(_QUIET)
    trial.hold("2.3.12", talk.untaken.lstrip(b"\r\n")[:1] not in (b"=", b"?"), "nothing: no command was sent")
    trial.hold("2.3.5", talk.in_order() or talk.untaken.lstrip(b"\r\n")[:1] in (b"=", b"?"), "nothing")


async def halves(trial: CheckContext) -> None:
    """Half a line, a pause in which nothing may come, and the rest with half of the next."""
    if trial.remote:
        return trial.omit("a connection carries whole lines", "2.3.6")
    talk = await trial.talk()
    whole = await talk.ask("protocol_version")
    talk.begin()
    await talk.send(b"protocol_ver")
    early = await talk.hear(0.15)
    await talk.send(b"sion\nprotocol_")
    one = await talk.answer()
    await talk.hear(0.15)
    await talk.send(b"version\n")
    two = await talk.answer()
    both = one.raw == two.raw == whole.raw
    trial.hold("2.3.6", both and not early, "the answer to protocol_version twice, each when its line was whole")
    return None


async def names(trial: CheckContext) -> None:
    """Names, versions and the list of commands."""
    talk = await trial.talk()
    trial.at = "2.3.7"
    answer = await talk.ask("list_commands")
    listed = answer.text.split("\n") if answer.text else []
    words = [line.strip() for line in listed]
    tidy = answer.ok and bool(words) and all(re.fullmatch(r"\S+", word) for word in words)
    trial.hold("2.3.7", tidy and len({*words}) == len(words), "a name a line, each once")
    trial.hold(
        "2.8.4",
        len(answer.raw) <= MAX_ANSWER and len(listed) <= MAX_ANSWER_LINES,
        "at most 1 MiB and 10,000 lines",
    )
    trial.at = "2.3.8"
    for line in ("name", "version"):
        answer = await talk.ask(line)
        text = answer.text.strip()
        # A version may be empty: "versions are free to have any form", and some programs have none.
        trial.hold("2.3.8", answer.ok and "\n" not in text and (line == "version" or bool(text)), "one line of text")
    trial.at = "2.5.7"
    if "known_command" in trial.lacking:
        return trial.skip("known_command is unknown", "2.5.7")
    for word in sorted(trial.commands):
        answer = await talk.ask(f"known_command {word}")
        if not trial.hold("2.5.7", answer.ok and answer.text.strip() == "true", f"`= true`, for {word} is listed"):
            break
    return None


async def empty(trial: CheckContext) -> None:
    """The form of an empty success, by a command that answers nothing."""
    talk = await trial.talk()
    line = next((line for line in ("clear_board", "ggp-result B+R") if line.split()[0] in trial.commands), "")
    if not line:
        return trial.omit("no command that it lists answers nothing", "2.3.11")
    await begin(trial, talk)
    answer = await talk.ask(line)
    trial.hold("2.3.11", answer.raw == b"=\n\n", "`=` and two LFs")
    return None


async def flood(trial: CheckContext) -> None:
    """More commands in one write than a pipe holds; each must be answered, in order."""
    talk = await trial.talk()
    count = FLOOD if not trial.remote else 50  # a service keeps a bounded queue for each peer
    lines = b"".join(b"%d known_command quit\n" % number for number in range(1, count + 1))
    echoed = trial.ids
    await talk.send(lines)
    talk.sent[:] = lines[:60] + b"..."
    for number in range(1, count + 1):
        answer = await talk.answer()
        if echoed and answer.id != number:
            talk.show(answer)
            trial.hold("2.3.9", False, f"the answer to command {number}")
            return await trial.drop()
    trial.hold("2.3.9", True, "")
    return None


async def slow(trial: CheckContext) -> None:
    """Unread answers fill the pipe: the program must wait and lose none."""
    if trial.remote:
        return trial.omit("a service may drop a peer that does not read", "2.3.10")
    talk = await trial.talk()
    one = await talk.ask("list_commands")
    count = min(SLOW, max(20, 400_000 // len(one.raw)))
    talk.begin()
    await talk.send(b"list_commands\n" * count)
    talk.sent[:] = b"list_commands\n" * 2 + b"..."
    time.sleep(0.3)
    for number in range(1, count + 1):
        answer = await talk.answer()
        if answer.raw != one.raw:
            talk.show(answer)
            trial.hold("2.3.10", False, f"answer {number} of {count} to be as the first", "half of it was read late")
            return await trial.drop()
        if number % 200 == 1:
            talk.begin()
    trial.hold("2.3.10", True, "")
    return None


async def leave(trial: CheckContext) -> None:
    """Every way in which a session ends, each with a process of its own."""
    steps = ("2.5.8", "2.5.9", "2.5.10", "2.5.11", "2.5.12", "2.5.13", "5.2.3")
    talk = await ready(trial, "5.2.3")
    if not trial.pid:
        return trial.omit("another program started it, and it stays", *steps)
    before = now()
    await talk.ask("quit")
    trial.hold("5.2.3", now() - before <= 3.0, "an answer within 3 s")
    await _leaves(trial, "2.5.8", "exit status 0", "after quit")

    talk = await ready(trial, "2.5.9")
    talk.transport.close_stdin()
    await _leaves(trial, "2.5.9", "exit status 0")

    talk = await ready(trial, "2.5.10")
    await talk.send(b"protocol_ver")
    talk.transport.close_stdin()
    await _leaves(trial, "2.5.10", "exit status", "after the end of input")

    talk = await ready(trial, "2.5.11")
    await talk.send(b"list_commands\n" * _UNREAD)
    talk.transport.close()
    await _leaves(trial, "2.5.11")

    await ready(trial, "2.5.12")
    os.kill(trial.pid, signal.SIGTERM)
    await _leaves(trial, "2.5.12")
    await trial.drop()
    return None


async def _leaves(trial: CheckContext, number: str, how: str = "", group: str = "") -> None:
    """Judge that the program ends, in this way; `group`: and, after that, that no process of its group is left."""
    trial.at = number
    talk, peer, deadline = trial.talking, trial.peer, now() + trial.patience
    while not (ended := peer.exited(0.02)) and now() < deadline:
        try:
            await talk.hear(0.02)  # a full pipe would hold it back
        except UnexpectedEnd:
            break
    right = ended == how if how == "exit status 0" else ended != "" and ended.startswith(how)
    trial.hold(number, right, how if how == "exit status 0" else "that it ends", ended or "it still runs")
    if group:
        trial.hold("2.5.13", not _group(trial), "no process left in its group", group)


async def growth(trial: CheckContext) -> None:
    """Memory and descriptors after many new games: a failure only if they grow much."""
    talk = await trial.talk()
    if not trial.pid:
        return trial.omit("its process is not ours to look at", "2.8.5")
    loaded = now() + _GAMES_SECONDS / 2
    for _ in range(20):  # what is loaded on first use is no growth
        await begin(trial, talk)
        if now() > loaded:
            break
    before = _memory(trial.pid), _descriptors(trial.pid)
    deadline, games = now() + _GAMES_SECONDS, 0
    while games < GAMES and now() < deadline:
        await begin(trial, talk)
        games += 1
    after = _memory(trial.pid), _descriptors(trial.pid)
    fewer = f", {games} games in {_GAMES_SECONDS:.0f} s" if games < GAMES else ""
    note = f"{before[0]:.1f} -> {after[0]:.1f} MiB, {before[1]} -> {after[1]} descriptors{fewer}"
    right = after[0] - before[0] <= _MOST_GROWTH and after[1] - before[1] <= _MOST_DESCRIPTORS
    trial.hold("2.8.5", right, f"less than {_MOST_GROWTH} MiB and {_MOST_DESCRIPTORS} descriptors more", note)
    return None


async def ready(trial: CheckContext, number: str) -> RawChannel:
    """A process that has loaded, with nothing asked, for the step of this number."""
    trial.at = number
    talk = await trial.talk(fresh=True)
    await talk.ask("protocol_version")
    talk.begin()
    return talk


def _group(trial: CheckContext) -> list[int]:
    """The processes, other than its leader, that are still in the program's group."""
    leader, found = trial.pid, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) != leader and os.getpgid(int(folder.name)) == leader:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def _memory(pid: int) -> float:
    """MiB that are resident."""
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
