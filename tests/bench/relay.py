"""A program in the lobby's place that only passes moves on, with the same bots, keys and heartbeats.

It asks two bots in turn for moves, whatever these are, until both pass: no rules, engine, records, ratings, limits or
spectators, and the same `ggp-clock` with every move. It calls pyzmq for each message, where the lobby has a native
module, and has no event loop. `python -m tests.bench.relay SECRET PUBLIC` listens at a free port, whose URL it prints.
"""

import sys
from dataclasses import dataclass

import zmq

from ggp.protocol.transports.zmq import HEARTBEAT_MS, SILENCE_MS

_CLOCK = b"ggp-clock black=600000 white=600000"


@dataclass(slots=True)
class _Bot:
    route: bytes
    number: int = 0  # the id of the last command
    colour: bytes = b""
    passed: bool = False
    asked: bytes = b""  # what the answer to its `genmove` begins with
    opponent: "_Bot | None" = None


def main(secret: str, public: str) -> None:
    """Serve until the process is ended."""
    router: zmq.Socket[bytes] = zmq.Context().socket(zmq.ROUTER)
    router.setsockopt(zmq.CURVE_SERVER, 1)
    router.setsockopt(zmq.CURVE_SECRETKEY, secret.encode())
    router.setsockopt(zmq.CURVE_PUBLICKEY, public.encode())
    router.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
    router.setsockopt(zmq.HEARTBEAT_TIMEOUT, SILENCE_MS)
    router.setsockopt(zmq.BACKLOG, 1000)
    router.bind("tcp://127.0.0.1:*")
    print(bytes(router.getsockopt(zmq.LAST_ENDPOINT)).decode().rstrip("\0"), flush=True)
    bots: dict[bytes, _Bot] = {}
    free: list[_Bot] = []
    while True:
        route, kind, payload = router.recv_multipart()
        if kind == b"H":
            bot = bots[route] = _Bot(route)
            _ask(router, bot, b"list_commands")
            free.append(bot)
            if len(free) == 2:
                _begin(router, free.pop(), free.pop())
            continue
        bot = bots[route]
        if bot.asked and payload.startswith(bot.asked):
            _pass_on(router, bot, payload[len(bot.asked) : -2])


def _begin(router: "zmq.Socket[bytes]", black: _Bot, white: _Bot) -> None:
    black.opponent, white.opponent = white, black
    for bot, colour in ((white, b"white"), (black, b"black")):
        bot.colour, bot.passed, bot.asked = colour, False, b""
        _ask(router, bot, b"ggp-new yugo size=13")
    _ask(router, black, b"genmove black")
    black.asked = b"=%d " % black.number


def _pass_on(router: "zmq.Socket[bytes]", bot: _Bot, move: bytes) -> None:
    opponent = bot.opponent
    assert opponent is not None
    bot.asked, bot.passed = b"", move == b"pass"
    if bot.passed and opponent.passed:
        for one in (bot, opponent):
            _ask(router, one, b"ggp-result B+1")
        _begin(router, opponent, bot)
        return
    _ask(router, opponent, b"play %s %s" % (bot.colour, move), _CLOCK, b"genmove " + opponent.colour)
    opponent.asked = b"=%d " % opponent.number


def _ask(router: "zmq.Socket[bytes]", bot: _Bot, *lines: bytes) -> None:
    for line in lines:
        bot.number += 1
        router.send_multipart([bot.route, b"C", b"%d %s\n" % (bot.number, line)])


if __name__ == "__main__":
    main(*sys.argv[1:])
