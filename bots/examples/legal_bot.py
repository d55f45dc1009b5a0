#!/usr/bin/env python3
"""A complete bot in one file: it plays any legal move, in every game that an engine knows. It needs no library.

    run      python3 bots/examples/legal_bot.py ggp engine
    match    ggp match yugo "python3 bots/examples/legal_bot.py" random

It starts the engine of the command line (by default `ggp engine`) and keeps no board. It passes on what it receives,
and plays a random one of the moves that the engine lists. Replace `choose` by something better.
"""

import random
import re
import signal
import subprocess
import sys

TEXTS = {"name": "Legal bot in Python", "version": "1", "protocol_version": "2", "quit": ""}
COMMANDS = sorted([*TEXTS, "genmove", "ggp-games", "ggp-new", "known_command", "list_commands", "play"])
LONGEST = 65536  # bytes of a line, without its end
NO_TEXT = {byte: None for byte in [*range(32), 127] if byte != ord("\t")}  # control characters


def choose(moves: list[str]) -> str:
    """Return one of the legal moves: a point, or pass, swap-sides, bid:7 or dead: if the game asks for that."""
    return random.choice(moves)


class Engine:
    """The process that knows the rules. It ends when its input does, so it never outlives the bot."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line: str) -> tuple[bool, str]:
        """Send a command. Return whether it succeeded, and the text of the answer."""
        to, from_ = self.process.stdin, self.process.stdout
        assert to and from_
        to.write(f"{line}\n".encode("latin-1"))
        to.flush()
        answer = b""
        while not answer.endswith(b"\n\n"):
            read = from_.readline()
            if not read:
                sys.exit(f"the engine ended: {self.process.args!r}")
            answer += read
        return answer.startswith(b"="), answer[1:].strip().decode("latin-1")

    def close(self) -> None:
        """End the engine, and wait for it."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def genmove(engine: Engine, colour: str) -> tuple[bool, str]:
    """Choose a move and play it at the engine. Return whether that succeeded, and the move or the reason."""
    done, moves = engine.ask("ggp-legal_moves")
    if not done:
        return done, moves
    if not moves:
        return True, "pass"  # the game is over
    move = choose(moves.split())
    done, text = engine.ask(f"ggp-play {colour} {move}")  # our own move is not sent to us
    return done, move if done else text


def obey(engine: Engine, name: str, words: list[str]) -> tuple[bool, str]:
    """Run a command. Return whether it succeeded, and the text of the answer."""
    if name in TEXTS:
        return True, TEXTS[name]
    if name == "list_commands":
        return True, "\n".join(COMMANDS)
    if name == "known_command":
        return True, "true" if words and words[0] in COMMANDS else "false"
    if name == "genmove":
        return genmove(engine, " ".join(words))
    if name == "ggp-games":
        return engine.ask("ggp-games")
    if name in ("ggp-new", "play"):
        done, text = engine.ask(" ".join(["ggp-play" if name == "play" else name, *words]))
        return done, "" if done else text
    return False, "unknown command"


def is_id(word: str) -> bool:
    """Return True if a word is an id."""
    return re.fullmatch("[0-9]{1,10}", word) is not None and int(word) < 2**31


def main() -> None:
    """Answer commands until `quit` or the end of input."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # exit silently when the reader is gone
    engine = Engine(sys.argv[1:] or ["ggp", "engine"])
    while (raw := sys.stdin.buffer.readline(LONGEST + 1)).endswith(b"\n") or len(raw) > LONGEST:
        number, name, done, text = "", "", False, "line too long"
        if raw.endswith(b"\n"):
            line = raw.decode("latin-1").translate(NO_TEXT | {ord("\n"): None}).split("#")[0]
            words = line.replace("\t", " ").split(" ")
            words = [word for word in words if word]
            if len(words) > 1 and is_id(words[0]):
                number = words.pop(0)
            if not words:
                continue
            name = words.pop(0)
            done, text = obey(engine, name, words)
        else:
            while raw and not raw.endswith(b"\n"):
                raw = sys.stdin.buffer.readline(LONGEST)
        answer = f"{'=' if done else '?'}{number}{' ' if text else ''}{text}\n\n"
        sys.stdout.buffer.write(answer.encode("latin-1"))
        sys.stdout.buffer.flush()
        if name == "quit":
            break
    engine.close()


if __name__ == "__main__":
    main()
