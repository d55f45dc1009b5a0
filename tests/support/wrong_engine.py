"""A foreign engine that is ours until a ply, and then dies, falls silent or lies; `lying_engine.py FAULT PLY`."""

import subprocess
import sys
import time

LIES = {"ggp-legal_moves": "A1", "ggp-history": "1 black A1"}


def main() -> None:
    fault, limit = sys.argv[1], int(sys.argv[2])
    engine = subprocess.Popen(
        [sys.executable, "-m", "engines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert engine.stdin and engine.stdout
    plies = 0
    for line in sys.stdin:
        number, _, words = line.strip().partition(" ")
        plies = 0 if words.startswith("ggp-new") else plies + words.startswith("ggp-play")
        if plies >= limit and fault == "dies":
            engine.kill()
            sys.exit("it has had enough")
        if plies >= limit and fault == "hangs":
            time.sleep(3600)
        engine.stdin.write(line)
        engine.stdin.flush()
        answer = ""
        while not answer.endswith("\n\n"):
            answer += engine.stdout.readline()
        if plies >= limit and fault == "lies" and words in LIES:
            answer = f"={number} {LIES[words]}\n\n"
        sys.stdout.write(answer)
        sys.stdout.flush()
        if words == "quit":
            break
    engine.wait()


main()
