#!/usr/bin/env python3
"""Dials a lobby without using the project: it connects a bot on stdin and stdout to the lobby.

    pip install pyzmq msgpack
    python dialling_bot.py tcp://127.0.0.1:5500 mybot -- ./my_bot yugo

For keys, set GGP_PUBLIC, GGP_SECRET and GGP_SERVER in the environment, 40 characters each. A message has two frames, a
kind and a payload: we send H (hello, a msgpack map), R (an answer) and B (bye); the lobby sends C (a command) and B.
When the connection is lost, say hello again on a new socket and forget the old commands: the lobby sends the position
again. After a goodbye, wait first. `ggp connect` does all this and more.
"""

import os
import subprocess
import sys
import time

import msgpack
import zmq


def answer_of(bot: "subprocess.Popen[bytes]") -> bytes:
    """Return one whole answer: its lines, and the empty line that ends it."""
    answer = b""
    while not answer.endswith(b"\n\n"):
        line = bot.stdout.readline()  # type: ignore[union-attr]
        if not line:
            sys.exit("the bot ended")
        answer += line
    return answer


def main(url: str, name: str, command: list[str]) -> None:
    """Connect the bot to the lobby, again and again."""
    bot = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    wait = 1  # seconds after a goodbye
    while True:
        socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 500)
        socket.setsockopt(zmq.HEARTBEAT_IVL, 5_000)  # so that both sides notice a dead connection
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 15_000)
        if "GGP_SERVER" in os.environ:
            socket.setsockopt_string(zmq.CURVE_SERVERKEY, os.environ["GGP_SERVER"])
            socket.setsockopt_string(zmq.CURVE_PUBLICKEY, os.environ["GGP_PUBLIC"])
            socket.setsockopt_string(zmq.CURVE_SECRETKEY, os.environ["GGP_SECRET"])
        lost = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        socket.connect(url)
        socket.send_multipart([b"H", msgpack.packb({"ggp": 1, "name": name, "games": []})])  # no games: all
        while not lost.poll(0):
            if not socket.poll(1_000):
                continue
            kind, payload = socket.recv_multipart()
            if kind == b"B":
                print(f"the lobby said goodbye: {payload.decode()}", file=sys.stderr)
                if payload.startswith((b"replaced:", b"refused:")):
                    sys.exit(1)  # the bot runs twice, or the lobby refuses it until you change something
                time.sleep(wait)
                wait = min(2 * wait, 60)
                break
            bot.stdin.write(payload)  # type: ignore[union-attr]
            bot.stdin.flush()  # type: ignore[union-attr]
            socket.send_multipart([b"R", answer_of(bot)])
        socket.disable_monitor()
        socket.close()


if __name__ == "__main__":
    if len(sys.argv) < 5 or sys.argv[3] != "--":
        sys.exit("usage: dialling_bot.py tcp://HOST:PORT NAME -- BOT …")
    main(sys.argv[1], sys.argv[2], sys.argv[4:])
