"""`ggp watch [URL] [MATCH]`: prints the matches of a lobby while they are played."""

import contextlib
import time

import click
import msgspec

from ggp.protocol.printed import escaped
from ggp.protocol.records import Event, MatchEnded, MatchStarted
from ggp.protocol.spectator_wire import Over, Roll, SpectatorState, is_match_id
from ggp.protocol.transports.keys import read_public
from ggp.protocol.transports.spectator import (
    Connected,
    Disconnected,
    EventsMissing,
    LadderNews,
    MatchEvent,
    MatchRestarted,
    MatchUnknown,
    Spectator,
)
from ggp.referee.command_line import HELP, run_command
from ggp.referee.match.analysis import line_of
from ggp.referee.terminal import escape_unprintable

EPILOGUE = """\b
Without MATCH the one that began last is shown, and when it has ended the next.
ggp web draws boards, and on the lobby's machine ggp console --match LOBBY.toml#MATCH.

The exit status is 0; 2 for an unknown match, a bad address, or a server with another key.
"""
PATIENCE = 10.0  # seconds that --list waits for the lobby's list
_REMEDIES = {
    "nothing is listening at this address": "; is the lobby running (ggp serve), with this address as lobby.watch?"
}


def main(argv: list[str]) -> int:
    """The exit status."""
    return run_command(watch, "ggp watch", argv)


@click.command("watch", epilog=EPILOGUE, context_settings=HELP)
@click.argument("words", metavar="[tcp://HOST:PORT] [MATCH]", nargs=-1)
@click.option("--bot", metavar="NAME", default="", help="Only matches of this bot, one after another.")
@click.option("--list", "only_list", is_flag=True, help="List the running matches, and end.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines.")
@click.option("--server-key", metavar="KEY|FILE", help="The lobby's public key, if it is on another machine.")
def watch(words: tuple[str, ...], bot: str, only_list: bool, as_json: bool, server_key: str | None) -> int:
    """Print the matches of a lobby (ggp serve) live: a line for each start, ply and end.

    MATCH is the name of a match, or a part that no other has; also one that has ended.
    """
    urls, names = ([word for word in words if ("://" in word) is is_url] for is_url in (True, False))
    if len(urls) > 1 or len(names) > 1:
        raise click.UsageError("write ggp watch [tcp://HOST:PORT] [MATCH]")
    if names and bot:
        raise click.UsageError("name a MATCH or a --bot, not both")
    key = read_public(server_key) if server_key else ""
    with (
        Spectator(urls[0] if urls else "tcp://127.0.0.1:7712", key) as there,
        contextlib.suppress(KeyboardInterrupt, BrokenPipeError),
    ):
        if only_list:
            click.echo(list_matches(there))
        else:
            _follow(there, names[0] if names else "", bot, as_json)
    return 0


def _follow(there: Spectator, word: str, bot: str, as_json: bool) -> None:
    """Print the match that `word` means, to its end; without a word one match after another, of `bot` if named."""
    there.follow_ladder()
    shown, known, over = "", False, False  # `known`: the list of matches has come
    while not (over and word):
        if known and (over or not shown):
            new = find(word, there.roll) if word else newest(there.roll, bot)
            if new and new != shown:
                if not is_match_id(new):
                    raise _unknown(there, new)
                there.follow(new)
                shown, over = new, False
        update = there.read(1.0)
        match update:
            case MatchEvent(_, event):
                click.echo(escaped(msgspec.json.encode(event).decode()) if as_json else _line(event))
                over = over or isinstance(event, MatchEnded)
            case LadderNews(news):
                known = True
                if as_json and not isinstance(news, SpectatorState):
                    click.echo(escaped(msgspec.json.encode(news).decode()))
                if isinstance(news, Over) and news.termination == "dropped" and news.head.match == shown:
                    click.echo(escape_unprintable(f"{shown} was given up: its bots did not come back"), err=True)
                    there.leave(shown)
                    over = True
            case MatchUnknown(name):
                over = True
                if word:
                    raise _unknown(there, name)
            case MatchRestarted(name):
                click.echo(escape_unprintable(f"{name} was taken up from an earlier ply:"), err=as_json)
            case EventsMissing(_, number):
                click.echo(f"events from {number} on were lost on the way and are asked for", err=True)
            case Connected():
                click.echo(f"connected to {there.url}", err=True)
            case Disconnected(reason):
                click.echo(escape_unprintable(f"{_trouble(there, reason)} (trying again)"), err=True)


def _line(event: Event) -> str:
    if isinstance(event, MatchStarted):
        game = " ".join([event.game, *(f"{name}={value}" for name, value in event.options.items())])
        return escape_unprintable(f"{event.match}: {game}, {event.time}, {' - '.join(bot.name for bot in event.bots)}")
    if isinstance(event, MatchEnded):
        return escape_unprintable(f"{event.match} over: {event.result or 'void'}, {event.termination}")
    left = "" if event.left is None else f"  {event.left / 1000:.3f} s left"
    return escape_unprintable(f"{line_of(event)}{left}")


def _trouble(there: Spectator, reason: str) -> str:
    return f"{there.url}: {reason}{_REMEDIES.get(reason, '')}"


def _unknown(there: Spectator, match: str) -> click.ClickException:
    return click.ClickException(f"{there.url} knows no match {escape_unprintable(match)}\n{listing(there.roll)}")


def find(word: str, roll: Roll) -> str:
    """Return the running match whose name is or contains the word; the word itself if there is none."""
    found = [word] if word in roll.matches else [name for name in roll.matches if word in name]
    if len(found) > 1:
        raise click.ClickException(f"{word!r} may mean {len(found)} matches: name more of it\n{listing(roll)}")
    return found[0] if found else word  # it may have ended


def newest(roll: Roll, bot: str) -> str:
    """Return the match that began last, of this bot if one is named; "" if there is none."""
    heads = [head for head in roll.matches.values() if not bot or bot in head.bots]
    return max(heads, key=lambda head: head.started).match if heads else ""


def listing(roll: Roll, most: int = 50) -> str:
    """List the running matches, newest first, a line each."""
    lines = []
    for head in sorted(roll.matches.values(), key=lambda head: head.started, reverse=True):
        game = " ".join([head.game, *(f"{name}={value}" for name, value in head.options.items())])
        lines.append(escape_unprintable(f"{head.match}  {game}  {head.control}  {' - '.join(head.bots)}"))
    more = [f"… {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join([*lines[:most], *more]) or "no match is under way"


def list_matches(there: Spectator) -> str:
    """Return the list of the running matches. Raises ClickException without an answer in time."""
    there.follow_ladder()
    until, reason = time.monotonic() + PATIENCE, "no answer"
    while (left := until - time.monotonic()) > 0:
        update = there.read(left)
        if isinstance(update, LadderNews):
            return listing(there.roll, most=10_000)
        if isinstance(update, Disconnected):
            reason = update.reason
    raise click.ClickException(_trouble(there, reason))
