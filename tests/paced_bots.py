"""Many bots that dial in, each thinking for the same time: `python -m tests.paced_bots URL COUNT THINK SECONDS`.

Prints one JSON object: moves a second, and how long it takes from a bot's answer to the other bot's question, which is
the way through the lobby and its engine (ms, without the first SETTLE seconds).
"""

import heapq
import json
import random
import sys
import time

import zmq

from tests.dialled_bots import Dialled, dial

SETTLE = 20.0  # seconds until everybody plays


def run(url: str, count: int, think: float, seconds: float) -> dict[str, float]:
    """Play for so long, all bots in this process."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.MAX_SOCKETS, count + 100)
    bots = [dial(context, url, f"bot-{number}") for number in range(count)]
    by_socket, poller, chance = {bot.socket: bot for bot in bots}, zmq.Poller(), random.Random(1)
    for bot in bots:
        poller.register(bot.socket, zmq.POLLIN)
        bot.hello()
    due: list[tuple[float, int, Dialled, bytes]] = []
    sent: dict[int, float] = {}
    took: list[float] = []
    moves = number = 0
    end = time.monotonic() + seconds + SETTLE
    while (now := time.monotonic()) < end:
        wait = (due[0][0] - now) * 1000 if due else 100
        for socket, _ in poller.poll(max(0, min(int(wait) + 1, 100))):
            bot = by_socket[socket]
            kind, line = socket.recv_multipart()
            came = time.monotonic()
            if kind != b"C":
                bot.byes.append(line.decode())
            elif b"genmove" in line:
                before = sent.pop(_position(bot), 0.0)
                if before and came > end - seconds:
                    took.append(came - before)
                number += 1
                heapq.heappush(due, (came + think * chance.uniform(0.5, 1.5), number, bot, line))
            else:
                _answer(bot, line)
        now = time.monotonic()
        while due and due[0][0] <= now:
            _, _, bot, line = heapq.heappop(due)
            _answer(bot, line, sent)
            moves += now > end - seconds
    context.destroy(linger=0)
    took.sort()
    return {
        "moves": moves / seconds,
        "p50": _quantile(took, 0.5),
        "p99": _quantile(took, 0.99),
        "byes": sum(len(bot.byes) for bot in bots),
    }


def _answer(bot: Dialled, line: bytes, sent: dict[int, float] | None = None) -> None:
    bot.responder.receive(line)
    while (answer := bot.responder.next_answer()) is not None:
        if sent is not None:
            sent[_position(bot)] = time.monotonic()
        bot.socket.send_multipart([b"R", answer])


def _position(bot: Dialled) -> int:
    """The same for both bots of a match, and for nobody else: openings and moves are random."""
    line = bot.bot.line
    return hash(tuple(line.plies)) if line else 0


def _quantile(sorted_values: list[float], share: float) -> float:
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))] * 1000 if sorted_values else 0.0


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))))
