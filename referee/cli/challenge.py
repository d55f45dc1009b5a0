"""`ggp challenge URL POOL MINE THEIRS`: asks a lobby for an unrated series between two bots, and shows its progress."""

import json
import signal
import time
from pathlib import Path

import click

from ggp.protocol.lobby_wire import printable
from ggp.protocol.transports.keys import read_pair, read_public
from ggp.protocol.transports.lobby_dial import LobbyLink, Replaced
from ggp.protocol.transports.signal_fd import Stopped, Stopping
from ggp.referee.command_line import HELP, run_command
from ggp.referee.server.lobby.ordering import ChallengeRefused, NotReached, Ordering, Values, values_of

NOT_PLAYED, INTERRUPTED, TERMINATED = 1, 130, 143
LOOK = 1.0  # seconds between questions about the progress
EPILOGUE = """Exit status: 0 if every pair was played (with --no-wait: is asked for), 1 if it was refused, withdrawn or
ran out of time, or there is no lobby, 2 for a wrong command line or a key that the lobby refuses. Ctrl-C (130) ends the
watching and leaves the challenge: --withdraw ID takes it back."""


def main(argv: list[str]) -> int:
    """The exit status."""
    return run_command(challenge, "ggp challenge", argv)


@click.command("challenge", epilog=EPILOGUE, context_settings=HELP)
@click.argument("url", metavar="tcp://HOST:PORT")
@click.argument("words", metavar="[POOL MINE THEIRS]", nargs=-1)
@click.option("--pairs", type=click.IntRange(1), default=1, show_default=True, help="Pairs of games, seats exchanged.")
@click.option("--key", type=click.Path(path_type=Path), metavar="FILE", help="Your key pair (ggp keys new).")
@click.option("--server-key", metavar="KEY|FILE", help="The lobby's public key.")
@click.option("--withdraw", type=click.IntRange(1), metavar="ID", help="Have no more played of this challenge.")
@click.option("--no-wait", is_flag=True, help="Ask for it, print its id, and leave.")
@click.option("-q", "--quiet", is_flag=True, help="Only the result.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on stdout; of the listing, one object.")
def challenge(
    url: str,
    words: tuple[str, ...],
    pairs: int,
    key: Path | None,
    server_key: str | None,
    withdraw: int | None,
    no_wait: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Have your bot MINE play THEIRS at a lobby, unrated, both sides of each opening of POOL.

    With the address alone: the connected bots, the pools and the open challenges. A challenge waits until both
    bots are connected; the lobby plays it whether this command watches or not.
    """
    if len(words) not in (0, 3):
        raise click.UsageError("name POOL, MINE and THEIRS, or nothing to see what there is")
    if withdraw and words:
        raise click.UsageError("--withdraw ID stands alone")
    if not all(word.isprintable() and word and not set(word) & set(" #") for word in words):
        raise click.UsageError("names of pools and bots hold no blanks and no #")
    lobby = LobbyLink(url, read_pair(key) if key else None, read_public(server_key) if server_key else "")
    with Stopping() as stopping:
        ordering = Ordering(lobby, stopping)
        try:
            if withdraw:
                ordering.ask(f"ggp-withdraw {withdraw}")
                return 0
            if not words:
                return _list(ordering, as_json)
            id = values_of(ordering.ask(f"ggp-challenge {' '.join(words)} pairs={pairs}"))["id"]
            if no_wait:
                click.echo(json.dumps({"event": "asked", "id": int(id)}) if as_json else id)
                return 0
            return _follow(ordering, id, quiet, as_json)
        except (NotReached, ChallengeRefused, Replaced) as error:
            click.echo(f"ggp challenge: {printable(str(error), 1000)}", err=True)
            return NOT_PLAYED
        except Stopped as stopped:
            return INTERRUPTED if stopped.number == signal.SIGINT else TERMINATED
        finally:
            ordering.close()


def _follow(ordering: Ordering, id: str, quiet: bool, as_json: bool) -> int:
    """Show the progress until nothing of it is left to play."""
    if not quiet and not as_json:
        click.echo(f"challenge {id}: Ctrl-C leaves it to the lobby, --withdraw {id} takes it back", err=True)
    shown = ""
    while True:
        values = values_of(ordering.ask(f"ggp-challenge-status {id}", patient=True))
        line = _progress(values)
        over = values["state"] in ("over", "withdrawn")
        if line != shown:
            shown = line
            if as_json:
                print(json.dumps({"event": "over" if over else "progress", **_typed(values)}), flush=True)
            elif not quiet and not over:
                click.echo(line, err=True)
        if over:
            if not as_json:
                click.echo(_result(values))
            if values["state"] == "withdrawn":
                click.echo(f"ggp challenge: withdrawn: {values.get('reason', '')}", err=True)
            return 0 if values["state"] == "over" else NOT_PLAYED
        until = time.monotonic() + LOOK
        while (left := until - time.monotonic()) > 0:
            ordering.wait(left)


def _list(ordering: Ordering, as_json: bool) -> int:
    found = {
        name: [values_of(line) for line in ordering.ask(f"ggp-{name}").split("\n") if line]
        for name in ("pools", "bots", "challenges")
    }
    if as_json:
        click.echo(json.dumps({name: [_typed(one) for one in rows] for name, rows in found.items()}))
        return 0
    for name, rows in found.items():
        click.echo(f"{name}:" if rows else f"{name}: none")
        for one in rows:
            click.echo("  " + (_challenge(one) if name == "challenges" else _words(one)))
    return 0


def _challenge(values: Values) -> str:
    pairs = "1 pair" if values["pairs"] == "1" else f"{values['pairs']} pairs"
    head = f"{values['id']} {values['pool']}: {values['first']} against {values['second']}, {pairs}"
    return f"{head}; {_progress(values)}"


def _words(values: Values) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _progress(values: Values) -> str:
    score = f"+{values['wins']} ={values['draws']} -{values['losses']}"
    why = f": {values['reason']}" if values.get("reason") else ""
    return f"{values['games']} of {2 * int(values['pairs'])} games, {score}, {values['state']}{why}"


def _result(values: Values) -> str:
    wins, draws, losses = (int(values[name]) for name in ("wins", "draws", "losses"))
    void = f", {values['void']} void" if values["void"] != "0" else ""
    return (
        f"{values['first']} {wins + draws / 2:g} : {losses + draws / 2:g} {values['second']}"
        f" (+{wins} ={draws} -{losses} in {values['games']} games{void})"
    )


def _typed(values: Values) -> dict[str, str | int]:
    return {name: int(value) if value.isascii() and value.isdigit() else value for name, value in values.items()}
