"""Plain pyzmq bots that dial again whenever they are cut off: `python -m tests.restless_bots URL FOLDER NAME …`.

In FOLDER are their keys (NAME.key) and the server's (server.pub), and there goes what they saw: a line of JSON for each
move they said and each result they were told (NAME.seen). Until the end of input.
"""

import heapq
import json
import os
import random
import sys
import threading
import time
from pathlib import Path

import zmq
from zmq.utils.monitor import recv_monitor_message

from bots.random import make_choose
from bots.rng import BotRng
from bots.sdk import Bot
from protocol.responder import Responder
from protocol.transports.keys import read_pair
from tests.support.dialled_bots import THINK, Dialled

WAIT = 1.0  # seconds before the next try, at most


class Restless:
    """One bot through all its connections."""

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]", url: str, folder: Path, name: str) -> None:
        self.name = name
        self.bot: Dialled | None = None
        self.monitor: zmq.Socket[bytes] | None = None
        self._context, self._url = context, url
        self._pair, self._server = read_pair(folder / f"{name}.key"), (folder / "server.pub").read_text()
        self._seen = (folder / f"{name}.seen").open("a", buffering=1)

    def dial(self) -> None:
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.RECONNECT_IVL, -1)
        socket.setsockopt(zmq.HEARTBEAT_IVL, 5000)
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 15000)
        socket.setsockopt(zmq.CURVE_SERVERKEY, self._server.encode())
        socket.setsockopt(zmq.CURVE_PUBLICKEY, self._pair.public.encode())
        socket.setsockopt(zmq.CURVE_SECRETKEY, self._pair.secret.encode())
        self.monitor = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED)
        socket.connect(self._url)
        bot = Bot(make_choose(BotRng(0)))
        self.bot = Dialled(self.name, socket, Responder("random", "1", bot.handlers()), bot)
        self.bot.hello()

    def hang_up(self) -> None:
        if self.bot and self.monitor:
            self.bot.socket.disable_monitor()
            self.monitor.close(linger=0)
            self.bot.socket.close(linger=0)
        self.bot = self.monitor = None

    def answer(self, line: bytes) -> None:
        assert self.bot
        self.bot.responder.receive(line)
        while (said := self.bot.responder.next_answer()) is not None:
            if b"genmove" in line:
                self.note("said", said.decode().split()[-1])
            self.bot.socket.send_multipart([b"R", said])
        if line.partition(b"ggp-result ")[1]:
            self.note("told", line.decode().split()[-1])

    def note(self, what: str, text: str) -> None:
        self._seen.write(json.dumps([what, text]) + "\n")


def run(url: str, folder: Path, names: list[str], stop: threading.Event) -> None:
    """Answer for all of them until told to stop."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    think = float(os.environ.get(THINK, 0.02))  # seconds for a move, at most
    bots, chance = [Restless(context, url, folder, name) for name in names], random.Random(names[0])
    due: list[tuple[float, int, Restless, Dialled | None, bytes]] = []
    number = 0

    def later(seconds: float, bot: Restless, line: bytes) -> None:
        nonlocal number
        number += 1
        heapq.heappush(due, (time.monotonic() + seconds * chance.random(), number, bot, bot.bot, line))

    for bot in bots:
        later(WAIT, bot, b"")
    while not stop.is_set():
        poller, by_socket = zmq.Poller(), {}
        for bot in bots:
            for socket in (bot.bot.socket, bot.monitor) if bot.bot and bot.monitor else ():
                poller.register(socket, zmq.POLLIN)
                by_socket[socket] = bot
        wait = max(0.0, min(0.1, due[0][0] - time.monotonic())) if due else 0.1
        for socket, _ in poller.poll(int(wait * 1000) + 1):
            bot = by_socket[socket]
            if bot.bot is None:
                continue
            kind, line = (b"", b"") if socket is bot.monitor else bot.bot.socket.recv_multipart()
            if kind == b"C" and b"genmove" in line:
                later(think, bot, line)
            elif kind == b"C":
                bot.answer(line)
            else:  # cut off, or told to go
                if socket is bot.monitor:
                    recv_monitor_message(socket)
                bot.hang_up()
                later(WAIT, bot, b"")
        while due and due[0][0] <= time.monotonic():
            _, _, bot, asked, line = heapq.heappop(due)
            if not line:
                bot.dial()
            elif bot.bot is asked:  # who has another connection since is asked again
                bot.answer(line)
    for bot in bots:
        bot.hang_up()
    context.destroy(linger=0)


def main(url: str, folder: str, *names: str) -> None:
    stop = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    run(url, Path(folder), list(names), stop)


if __name__ == "__main__":
    main(*sys.argv[1:])
