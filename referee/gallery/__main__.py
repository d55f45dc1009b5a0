"""`python -m referee.gallery`: the gallery's process. A line of JSON on stdin says what it is to do; it ends with its
input, so with the lobby. What is to be told goes to stdout, a JSON object a line."""

import asyncio
import os
import resource
import signal
import sys
from pathlib import Path

import msgspec

from protocol.errors import AddressError
from protocol.transports.keys import KeyFileError, read_pair
from referee.gallery.gallery import Gallery
from referee.gallery.orders import Orders
from referee.gallery.shelf import Shelf
from referee.gallery.stage import Stage
from referee.lobby.journal import Journal

_NICE = 10  # whoever plays goes before whoever looks on
_MEMORY = 4 << 30  # bytes of address space: if a stranger finds a way to more, the gallery ends and not the host


def main() -> int:
    """The exit status: 1 if there cannot be a gallery, told on stdout."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the lobby's to end us
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    journal = Journal(as_json=True, write=_say)
    try:
        asyncio.run(_run(orders, journal))
    except (AddressError, KeyFileError) as error:
        journal.tell("gallery", "cannot", reason=str(error))
        return 1
    return 0


async def _run(orders: Orders, journal: Journal) -> None:
    """Raises AddressError, KeyFileError."""
    asyncio.get_running_loop().set_exception_handler(journal.unhandled)
    pair = read_pair(Path(orders.server_key)) if orders.server_key else None

    def refuse(word: str, address: str, reason: str) -> None:
        journal.trouble(asyncio.get_running_loop().time(), "spectator", word, address, reason=reason)

    def open_stage(gallery: Gallery) -> Stage:
        return Stage(orders.url, pair, orders.connections, gallery, refuse, journal.fault)

    gallery = Gallery(orders.ladder, Path(orders.folder), Shelf(orders.store), open_stage, journal.fault)
    gallery.open()
    journal.tell("gallery", "open", url=gallery.stage.url)
    await _end_of_input()
    await gallery.close()


async def _end_of_input() -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def look() -> None:
        try:
            data = os.read(0, 4096)
        except OSError:
            data = b""
        if not data:
            loop.remove_reader(0)
            ended.set()

    loop.add_reader(0, look)
    await ended.wait()


def _say(line: str) -> None:
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:  # the lobby does not read it any more
        return


if __name__ == "__main__":
    sys.exit(main())
