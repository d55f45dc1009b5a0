"""`ggp keys new|public|list|…`: makes and shows key pairs, and edits the registry of a lobby."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import msgspec

from ggp.protocol.transports.keys import new_pair, read_public, write_pair
from ggp.referee.command_line import BAD_USAGE, HELP, run_command
from ggp.referee.server.lobby import keys as granting
from ggp.referee.server.lobby.keys import Book, KeyEntry, change, now, read
from ggp.referee.terminal import TextTable, escape_unprintable, say, show

REGISTRY = "keys.json"
_UNITS = {"m": 60, "h": 3600, "d": 86400}
_registry = click.option(
    "--registry",
    type=click.Path(path_type=Path),
    default=REGISTRY,
    show_default=True,
    envvar="GGP_KEYS",
    metavar="FILE",
    help="The lobby's registry; also the environment's GGP_KEYS.",
)
_quiet = click.option("-q", "--quiet", is_flag=True, help="Write only problems to stderr.")


def main(argv: list[str]) -> int:
    """`ggp keys COMMAND …`; the exit status."""
    if not argv:
        run_command(keys, "ggp keys", ["--help"])
        return BAD_USAGE
    return run_command(keys, "ggp keys", argv)


@click.group("keys", context_settings=HELP, epilog="Exit status: 0, or 2 for invalid input.")
def keys() -> None:
    """Key pairs, and the registry of a lobby.

    A bot's author makes a pair with `ggp keys new` and sends its public half to the operator of the lobby, who allows
    it with `ggp keys allow`. A running lobby notices every change.
    """


@keys.command("new")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--server", is_flag=True, help="A pair for a lobby.  [default: for a bot's author]")
@_quiet
def new(file: Path | None, server: bool, quiet: bool) -> int:
    """Make a key pair and print its public half.

    FILE is ggp.key by default, or server.key with --server. Only you may read it.
    """
    path = file or Path("server.key" if server else "ggp.key")
    pair = new_pair()
    write_pair(path, pair)
    click.echo(pair.public)
    if not quiet:
        click.echo(f"{path} is secret: keep it, and share only the line above.", err=True)
        use = (
            "Bots' authors need it: ggp connect … --server-key"
            if server
            else "Who runs the lobby: ggp keys allow OWNER/BOT"
        )
        click.echo(f"{use} '{pair.public}'", err=True)
    return 0


@keys.command("public")
@click.argument("file", type=click.Path(path_type=Path), required=False, default=Path("ggp.key"))
def public(file: Path) -> int:
    """Print the public half of a key pair.

    The lobby's operator needs it. FILE is ggp.key by default.
    """
    click.echo(read_public(str(file)))
    return 0


@keys.command("list")
@_registry
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def list_keys(registry: Path, as_json: bool) -> int:
    """List the allowed keys: owners, bots, dates, limits."""
    book, when = read(registry), now()
    if as_json:
        rows = [{"valid": entry.refusal(when) is None, **msgspec.to_builtins(entry)} for entry in book.keys]
        click.echo(json.dumps({"keys": rows, "limits": msgspec.to_builtins(book.limits)}, indent=1))
        return 0
    sheet = TextTable(("owner", "bots", "key", "state"), frozenset({"owner", "bots", "key", "state"}))
    for entry in sorted(book.keys, key=lambda entry: (entry.owner, entry.bots, entry.created)):
        sheet.add(entry.owner, " ".join(entry.bots), entry.key, _state(entry, when))
    show(sheet)
    for owner, limits in sorted(book.limits.items()):
        words = " ".join(f"{name}={value}" for name, value in msgspec.to_builtins(limits).items())
        say(escape_unprintable(f"limits of {owner}: {words}"))
    return 0


@keys.command("allow")
@click.argument("name", metavar="OWNER/BOT")
@click.argument("key", metavar="PUBLIC-KEY|FILE")
@_registry
@_quiet
def allow(name: str, key: str, registry: Path, quiet: bool) -> int:
    """Allow a key to speak for a bot of an owner.

    The registry is created if there is none. A key may speak for several bots of one owner, and a bot may have
    several keys, one for each machine.
    """
    owner, slash, bot = name.partition("/")
    if not slash:
        raise click.UsageError(f"{name}: write OWNER/BOT, as in alice/{name}")
    public = read_public(key)
    with change(registry) as write:
        write(granting.allow(_present(registry), owner, bot, public, now()))
    _echo(quiet, f"{name} is allowed with {public}")
    return 0


@keys.command("revoke")
@click.argument("what", metavar="OWNER/BOT|OWNER|PUBLIC-KEY")
@_registry
@_quiet
def revoke(what: str, registry: Path, quiet: bool) -> int:
    """Revoke a key, all keys of a bot, or all keys of an owner.

    A running lobby ends their connections.
    """
    with change(registry) as write:
        book, hit = granting.revoke(read(registry), what, now())
        write(book)
    for entry in hit:
        _echo(quiet, f"{what} is revoked: {entry.owner} ({' '.join(entry.bots)}), {entry.key}")
    return 0


@keys.command("rotate")
@click.argument("what", metavar="OWNER/BOT|OWNER|PUBLIC-KEY")
@click.argument("key", metavar="NEW-PUBLIC-KEY|FILE")
@click.option("--grace", default="7d", show_default=True, help="How long the old key is valid: 30m, 12h, 7d, 0.")
@_registry
@_quiet
def rotate(what: str, key: str, grace: str, registry: Path, quiet: bool) -> int:
    """Replace a key by a new one.

    The old key remains valid for the grace.
    """
    public, time_left = read_public(key), _duration(grace)
    with change(registry) as write:
        when = now()
        book, replaced = granting.rotate(read(registry), what, public, when, time_left)
        write(book)
    bots = " ".join(f"{replaced[0].owner}/{bot}" for entry in replaced for bot in entry.bots)
    _echo(quiet, f"{bots} is allowed with {public}; the old key is valid until {when + time_left:%Y-%m-%d %H:%M} UTC")
    return 0


@keys.command("limit")
@click.argument("owner")
@click.argument("words", metavar="NAME=NUMBER…", nargs=-1, required=True)
@_registry
@_quiet
def limit(owner: str, words: tuple[str, ...], registry: Path, quiet: bool) -> int:
    """Change the limits of an owner.

    They hold for all its bots together: connections, matches at once, messages and bytes a second; `default` is the
    lobby's own.
    """
    changes = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise click.UsageError(f"{word}: write NAME=NUMBER, as in connections=5")
        changes[name] = value
    with change(registry) as write:
        write(granting.limit(read(registry), owner, changes))
    _echo(quiet, f"limits of {owner}: {' '.join(words)}")
    return 0


def _present(registry: Path) -> Book:
    """Read the registry. A missing file is an empty one."""
    return read(registry) if registry.exists() else Book()


def _state(entry: KeyEntry, when: datetime) -> str:
    if entry.revoked is not None:
        return f"revoked {_day(entry.revoked)}"
    if entry.expires is None:
        return f"since {_day(entry.created)}"
    return f"{'until' if entry.expires > when else 'ended'} {_day(entry.expires)}"


def _day(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d}"


def _duration(text: str) -> timedelta:
    if text == "0":
        return timedelta()
    found = re.fullmatch(r"(\d{1,5})([mhd])", text)
    if found is None:
        raise click.UsageError(f"--grace {text[:40]}: write 30m, 12h, 7d or 0")
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]])


def _echo(quiet: bool, text: str) -> None:
    if not quiet:
        click.echo(text, err=True)
