"""`ggp serve [LOBBY.toml]`: reads the command line and runs a lobby."""

import os
from pathlib import Path

import click

from ggp.referee.command_line import HELP, run_command
from ggp.referee.server.lobby.log import EventLog

EPILOGUE = """\b
After the first SIGTERM or Ctrl-C the lobby starts no more matches and waits for
the running ones (lobby.drain); the second ends it at once. The next run resumes
unfinished matches, also after kill -9, when both bots reconnect.

\b
The exit status is 0 after a signal; 1 if the store or an engine failed; 2 for an
invalid command line or file.
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return run_command(serve, "ggp serve", argv)


@click.command("serve", epilog=EPILOGUE, context_settings=HELP)
@click.argument("file", metavar="[LOBBY.toml]", default="lobby.toml", type=click.Path(path_type=Path))
@click.option("--init", is_flag=True, help="Write a commented lobby file that runs as it is, and end.")
@click.option("--no-keys", is_flag=True, help="Require no keys: accept every bot, on a loopback address only.")
@click.option("--listen", metavar="URL", help="Listen there instead of at the file's address: tcp://127.0.0.1:7711.")
@click.option("--front", metavar="NAME", default="", help="Run this front of a lobby that has several ([front.NAME]).")
@click.option("--metrics", metavar="HOST:PORT", help="Serve GET /metrics for Prometheus there: 127.0.0.1:9100.")
@click.option("--json-logs", is_flag=True, help="Events as JSON objects on stderr, one a line.")
@click.option("-q", "--quiet", is_flag=True, help="Log problems only.")
def serve(
    file: Path,
    init: bool,
    no_keys: bool,
    listen: str | None,
    front: str,
    metrics: str | None,
    json_logs: bool,
    quiet: bool,
) -> int:
    """A server that bots dial in to: it pairs them, runs the clocks, and rates them as a ladder does.

    It runs the local bots of the file itself."""
    # Here, because numpy reads OPENBLAS_NUM_THREADS when it is loaded, and --help does not need it.
    from ggp.referee.server.lobby.run import run_lobby, write_example

    if init:
        return write_example(file)
    address = _address(metrics) if metrics else None
    return run_lobby(file, no_keys, listen, EventLog(json_logs, quiet), address, front)


def _address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `[::1]:PORT`."""
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) < 65536):
        raise click.UsageError(f"--metrics {text!r} is no address: write HOST:PORT, as 127.0.0.1:9100")
    return host.strip("[]"), int(port)
