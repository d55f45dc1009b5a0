"""Bots that dial in to a lobby, many in one process: `python -m tests.support.dialled_bots URL[,URL] FOLDER NAME …`.

They run until the end of input, speak the frames themselves (PROTOCOL §7), without our transport, and play at random,
each move after THINK s. With a FOLDER they dial again when their connection ends. In it are their keys (NAME.key) and
the server's (server.pub); each bot logs there, as lines of JSON, the moves that it said and the results that it was
sent (NAME.seen).
"""

import contextlib
import heapq
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from zlib import crc32

import msgpack
import zmq
from zmq.utils.monitor import recv_monitor_message

from ggp.bots.position import Position
from ggp.bots.random import make_choose
from ggp.bots.rng import BotRng
from ggp.bots.sdk import Bot
from ggp.protocol.responder import Responder
from ggp.protocol.transports.keys import KeyPair, read_pair

THINK = "GGP_TEST_THINK"


@dataclass
class Dialled:
    """One bot: its socket, and the answers it gives. `byes`: the reasons of its goodbyes."""

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
    watched: bool = False,
) -> Dialled:
    """A bot on a connection of its own; `watched`: with heartbeats, one attempt, and a monitor of its end."""
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    if watched:
        socket.setsockopt(zmq.RECONNECT_IVL, -1)
        socket.setsockopt(zmq.HEARTBEAT_IVL, 5000)
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 15000)
        socket.get_monitor_socket(zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED)
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
    """Answer for all of them until `stop` is set."""
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
        program = [sys.executable, "-m", "tests.support.dialled_bots", url, "", *names]
        self.process = subprocess.Popen(program, stdin=subprocess.PIPE, env={**os.environ, THINK: str(think)})

    def cut(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()


WAIT = 1.0  # seconds before the next try, at most


class ReconnectingBot:
    """One bot through all its connections."""

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]", url: str, folder: Path, name: str) -> None:
        self.name = name
        self.bot: Dialled | None = None
        self.monitor: zmq.Socket[bytes] | None = None
        self._context, self._urls = context, cycle(url.split(","))
        self._pair, self._server = (
            read_pair(folder / f"{name}.key"),
            (folder / "server.pub").read_text(encoding="utf-8"),
        )
        self._seen = (folder / f"{name}.seen").open("a", buffering=1, encoding="utf-8")

    def dial(self) -> None:
        url = next(self._urls)
        self.bot = dial(self._context, url, self.name, pair=self._pair, server_key=self._server, watched=True)
        self.monitor = self.bot.socket.get_monitor_socket()
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
            with contextlib.suppress(zmq.Again):  # the connection was lost, and it is not known yet
                self.bot.socket.send_multipart([b"R", said], zmq.NOBLOCK)
        if line.partition(b"ggp-result ")[1]:
            self.note("told", line.decode().split()[-1])

    def note(self, what: str, text: str) -> None:
        self._seen.write(json.dumps([what, text]) + "\n")


def serve_reconnecting(bots: Sequence[ReconnectingBot], stop: threading.Event, think: float) -> None:
    """Answer for all of them until told to stop; a move takes at most `think` s."""
    chance = random.Random(bots[0].name)
    due: list[tuple[float, int, ReconnectingBot, Dialled | None, bytes]] = []
    number = 0

    def later(seconds: float, bot: ReconnectingBot, line: bytes) -> None:
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


def main(url: str, folder: str, *names: str) -> None:
    stop = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.MAX_SOCKETS, len(names) + 100)
    think = float(os.environ.get(THINK, 0))
    if folder:
        serve_reconnecting([ReconnectingBot(context, url, Path(folder), name) for name in names], stop, think)
    else:
        serve([dial(context, url, name, think=think) for name in names], stop)
    context.destroy(linger=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
