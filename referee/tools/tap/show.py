"""Printing of a recording: each command with its answer and time, the slowest, and a table by command name."""

import shlex
from statistics import median

from rich.console import Console
from rich.text import Text

from ggp.referee import terminal
from ggp.referee.terminal import TextTable, escape_unprintable, rich_console
from ggp.referee.tools.tap.recording import CommandPair, RecordedSession

SLOWEST = 5
_SHOWN = 2000  # characters shown of an answer


def show(sessions: list[RecordedSession]) -> None:
    """Print the sessions on stdout."""
    console = rich_console(soft_wrap=True)
    for session in sessions:
        _show_session(console, session)


def statistics(pairs: list[CommandPair]) -> list[dict[str, object]]:
    """Return a row per command name, the one with the longest total time first. Times are in microseconds."""
    names: dict[str, list[CommandPair]] = {}
    for pair in pairs:
        names.setdefault(pair.name, []).append(pair)
    rows = [_row(name, of_name) for name, of_name in names.items()]
    return sorted(rows, key=lambda row: (-int(str(row["total_us"])), str(row["command"])))


def facts(sessions: list[RecordedSession]) -> list[dict[str, object]]:
    """Return the sessions as JSON values."""
    return [
        {
            "wall": session.wall,
            "program": session.command,
            "pairs": [_pair_facts(session, pair) for pair in session.pairs],
            "commands": statistics(session.pairs),
            "notes": session.notes,
            "stray": session.stray,
        }
        for session in sessions
    ]


def _show_session(console: Console, session: RecordedSession) -> None:
    console.print(Text(escape_unprintable(f"{shlex.join(map(str, session.command))}  {session.wall}")), style="bold")
    for pair in session.pairs:
        console.print(Text(_pair_text(session, pair)))
    for line in session.stray:
        console.print(Text(f"  not an answer: {escape_unprintable(line)}"), style="yellow")
    for _, data in session.stderr:
        for line in data.decode("utf-8", "backslashreplace").splitlines():
            console.print(Text(f"  stderr: {escape_unprintable(line)}"), style="dim")
    for note in session.notes:
        console.print(Text(f"  {escape_unprintable(note)}"), style="dim")
    answered = [pair for pair in session.pairs if pair.reply is not None]
    if answered:
        terminal.show(_table(session))
        console.print("slowest:")
        for pair in sorted(answered, key=lambda pair: -pair.seconds)[:SLOWEST]:
            console.print(Text(f"  {_micro(pair.seconds):>12} µs  {escape_unprintable(pair.command)[:100]}"))


def _pair_text(session: RecordedSession, pair: CommandPair) -> str:
    head = f"{pair.sent - session.began:12.6f}  {escape_unprintable(pair.command)}"
    if pair.reply is None:
        return f"{head}\n              no answer"
    text = pair.reply.text[:_SHOWN]
    mark = "=" if pair.reply.ok else "?"
    lines = "\n                ".join(escape_unprintable(line) for line in text.split("\n"))
    odd = f"\n              {pair.odd}" if pair.odd else ""
    return f"{head}\n              {mark} {lines}  ({_micro(pair.seconds)} µs){odd}"


def _table(session: RecordedSession) -> TextTable:
    heads = {"count": "count", "failed": "?", "median_us": "median µs", "max_us": "max µs", "total_us": "total µs"}
    table = TextTable(("command", *heads.values()), frozenset({"command"}))
    for row in statistics(session.pairs):
        table.add(row["command"], *(row[key] for key in heads))
    return table


def _row(name: str, pairs: list[CommandPair]) -> dict[str, object]:
    times = [_micro(pair.seconds) for pair in pairs if pair.reply is not None] or [0]
    return {
        "command": name,
        "count": len(pairs),
        "failed": sum(pair.reply is not None and not pair.reply.ok for pair in pairs),
        "median_us": round(median(times)),
        "max_us": max(times),
        "total_us": sum(times),
    }


def _pair_facts(session: RecordedSession, pair: CommandPair) -> dict[str, object]:
    reply = pair.reply
    return {
        "at_us": _micro(pair.sent - session.began),
        "command": pair.command,
        "ok": None if reply is None else reply.ok,
        "answer": None if reply is None else reply.text,
        "us": None if reply is None else _micro(pair.seconds),
        "odd": pair.odd,
    }


def _micro(seconds: float) -> int:
    return round(seconds * 1e6)
