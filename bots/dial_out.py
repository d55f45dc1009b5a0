"""A bot of the SDK that dials a lobby by itself: commands from a connection in place of stdin. Not what it answers."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from protocol.dialling import Answer, Ask, Hello
from protocol.responder import Responder
from protocol.transports.dial import Dial, Lobby, Replaced
from protocol.transports.keys import KeyFileError, read_pair, read_public
from protocol.transports.zmq import AddressError

REPLACED, BAD_USAGE, INTERRUPTED = 1, 2, 130
_TICK = 1.0  # seconds: Ctrl-C may come just before a wait begins, and is heard after it
_TEXTS = {"up": "connected", "lost": "{}", "bye": "the lobby said goodbye: {}", "wait": "trying again in {} s"}


@dataclass(frozen=True, slots=True)
class Dialled:
    """Where to dial, in words; `name` at the lobby."""

    url: str
    key: str = ""
    server_key: str = ""
    name: str = ""


def read_words(words: Sequence[str]) -> Dialled | None:
    """`--connect URL [--key FILE] [--server-key KEY|FILE] [--name NAME]` among a script's words, or else the
    environment's GGP_CONNECT, GGP_KEY, GGP_SERVER_KEY and GGP_NAME; None if it is to use stdin."""
    found = {name: os.environ.get(f"GGP_{name.upper()}", "") for name in ("connect", "key", "server_key", "name")}
    for word, value in zip(words, [*words[1:], ""], strict=False):
        name = word.removeprefix("--").replace("-", "_")
        if word.startswith("--") and name in found:
            found[name] = value
    return Dialled(found["connect"], found["key"], found["server_key"], found["name"]) if found["connect"] else None


def dial_out(where: Dialled, hello: Hello, make: Callable[[], Responder]) -> int:
    """Answer until `quit`, each connection with a Responder of its own, and dial again for ever; the exit status."""
    try:
        pair = read_pair(Path(where.key)) if where.key else None
        lobby = Lobby(where.url, pair, read_public(where.server_key) if where.server_key else "")
    except (AddressError, KeyFileError) as error:
        print(f"{hello.name}: {error}", file=sys.stderr)
        return BAD_USAGE
    dial = Dial(lobby, hello, _tell, Random())
    try:
        _answer(dial, make)
    except Replaced as error:
        print(f"{hello.name}: another connection of this bot took this one's place: {error}", file=sys.stderr)
        return REPLACED
    except KeyboardInterrupt:
        dial.hang_up("its author ended it")
        return INTERRUPTED
    dial.close("it was told to quit")
    return 0


def _answer(dial: Dial, make: Callable[[], Responder]) -> None:
    number, responder = 0, make()
    while not responder.closed:
        dial.poll(_TICK)
        while not responder.closed and (message := dial.receive()) is not None:
            if isinstance(message, Ask):
                if number != dial.number:
                    number, responder = dial.number, make()
                responder.receive(message.data)
                while (answer := responder.next_answer()) is not None:
                    dial.poll(0)  # what happened while it thought
                    if number == dial.number:  # else nobody waits for this any more
                        dial.send(Answer(answer))


def _tell(what: str, why: str) -> None:
    print(_TEXTS[what].format(why), file=sys.stderr, flush=True)
