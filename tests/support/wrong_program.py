"""A small GTP program on stdin, of the standard library alone, that misbehaves as a process in one way.

`python -I tests/support/wrong_program.py MISTAKE`; with an unknown one it is correct. It checks no moves.
"""

import os
import signal
import sys
import time

NAMES = ["protocol_version", "name", "version", "list_commands", "known_command", "quit"]
NAMES += ["boardsize", "clear_board", "komi", "play", "genmove"]
WRONG = sys.argv[1] if len(sys.argv) > 1 else ""


def write(text: str) -> None:
    data = text.encode()
    while data:
        data = data[os.write(1, data) :]


def answer(line: bytes) -> bool:
    """False after quit."""
    words = line.decode("latin-1").split()
    number = words.pop(0) if len(words) > 1 and words[0].isdigit() else ""
    name = words[0] if words else ""
    texts = {"protocol_version": "2", "name": "Wrong", "version": "1", "list_commands": "\n".join(NAMES)}
    if name == "quit" and WRONG == "slow quit":
        time.sleep(3.3)
    if name == "clear_board" and WRONG == "leaks":
        os.dup(0)
    if name == "known_command":
        texts[name] = str(words[1:] != [] and words[1] in NAMES).lower()
    ok = name in NAMES
    text = texts.get(name, "") if ok else "unknown command"
    write(f"{'=' if ok else '?'}{number}{' ' if text else ''}{text}\n\n")
    if name == "protocol_version" and WRONG == "chatters":
        write("= by the way\n\n")
    if name == "protocol_version" and WRONG == "talks to itself":
        write("by the way\n")
    return name != "quit"


def main() -> int:
    if WRONG == "greets":
        write("Welcome\n")
    if WRONG == "deaf to SIGTERM":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if WRONG == "has a child" and os.fork() == 0:
        os.close(0)
        os.close(1)
        os.close(2)
        time.sleep(600)
    buffer, going = b"", True
    while going:
        data = os.read(0, 65536)
        if not data:
            break
        *lines, buffer = (buffer + data).split(b"\n")
        if WRONG == "reads are lines":
            lines, buffer = [data.rstrip(b"\n")], b""
        for line in lines[:2000] if WRONG == "drops a flood" else lines:
            if line.strip():
                going = going and answer(line)
    if WRONG == "stays in mid-line" and buffer:
        time.sleep(600)
    if WRONG == "stays at the end" and going:
        time.sleep(600)
    if WRONG == "status 1 at the end" and going:
        return 1
    return 1 if WRONG == "status 1 after quit" and not going else 0


if __name__ == "__main__":
    try:
        status = main()
    except BrokenPipeError:
        if WRONG == "stays when not read":
            time.sleep(600)
        status = 0
    os._exit(status)
