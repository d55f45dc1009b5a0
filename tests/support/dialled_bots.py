"""Bots that dial in to a lobby, many in one process: `python -m tests.dialled_bots URL NAME …`, until the end of input.

They speak the frames themselves (PROTOCOL §7), without our transport, and play at random, each move after THINK s.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from zlib import crc32

import msgpack
import zmq

from bots.position import Position
from bots.random import make_choose
from bots.rng import BotRng
from bots.sdk import Bot
from protocol.responder import Responder
from protocol.transports.keys import KeyPair

THINK = "GGP_TEST_THINK"


@dataclass
class Dialled:
    """One bot: its socket, and the answers it gives. `byes`: why it was let go."""

    name: str
    socket: "zmq.Socket[bytes]"
    responder: Responder
    bot: Bot
    byes: list[str] = field(default_factory=list)

    def hello(self, games: Sequence[str] = ()) -> None:
        self.socket.send_multipart([b"H", msgpack.packb({"ggp": 1, "name": self.name, "games": games})])

    def step(self) -> None:
        """Answer one message."""
        kind, payload = self.socket.recv_multipart()
        if kind == b"B":
            self.byes.append(payload.decode())
        elif kind == b"C":
            self.responder.receive(payload)
            while (answer := self.responder.next_answer()) is not None:
                self.socket.send_multipart([b"R", answer])


def dial(
    context: "zmq.Context[zmq.Socket[bytes]]",
    url: str,
    name: str,
    seed: int = 0,
    think: float = 0.0,
    pair: KeyPair | None = None,
    server_key: str = "",
) -> Dialled:
    """A bot on a connection of its own."""
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    if pair:
        socket.setsockopt(zmq.CURVE_PUBLICKEY, pair.public.encode())
        socket.setsockopt(zmq.CURVE_SECRETKEY, pair.secret.encode())
        socket.setsockopt(zmq.CURVE_SERVERKEY, server_key.encode())
    socket.connect(url)
    at_random = make_choose(BotRng(crc32(f"{name} {seed}".encode())))

    def choose(position: Position) -> str:
        time.sleep(think)
        return at_random(position)

    bot = Bot(choose)
    return Dialled(name, socket, Responder("random", "1", bot.handlers()), bot)


def serve(bots: Sequence[Dialled], stop: threading.Event) -> None:
    """Answer for all of them until told to stop."""
    poller, by_socket = zmq.Poller(), {bot.socket: bot for bot in bots}
    for bot in bots:
        poller.register(bot.socket, zmq.POLLIN)
        bot.hello()
    while not stop.is_set():
        for socket, _ in poller.poll(100):
            by_socket[socket].step()


class DialledBots:
    """The same in a process of its own; `cut` ends it without a word."""

    def __init__(self, url: str, *names: str, think: float = 0.0) -> None:
        program = [sys.executable, "-m", "tests.support.dialled_bots", url, *names]
        self.process = subprocess.Popen(program, stdin=subprocess.PIPE, env={**os.environ, THINK: str(think)})

    def cut(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()


def main(url: str, *names: str) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.MAX_SOCKETS, len(names) + 100)
    stop = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    think = float(os.environ.get(THINK, 0))
    serve([dial(context, url, name, think=think) for name in names], stop)
    context.destroy(linger=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
