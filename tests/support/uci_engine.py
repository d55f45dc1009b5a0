"""A small chess engine of UCI, and ways in which engines go wrong: `uci_engine.py [FAULT PLY]`.

It takes the move that wins the most material at once, the last by name among equals; OpenSpiel has the rules.
FAULT, at the first search from that ply on: `dies`, `crashes` (a signal), `hangs`, `deaf` (closes its output),
`illegal`, `none` (no move), `endless` (a line without an end), `chatters` (lines without an end), `noise` (what no
engine should say, then a move). With `silent` it never says `uciok`. With UCI_LOG in the environment it appends to
that file the commands that it gets.
"""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pyspiel

WORTH = {"P": 1, "N": 3, "B": 3, "R": 5, "Q": 9}
HELLO = """\
id name Small 1.0
id author the tests
option name Skill Level type spin default 20 min 0 max 20
option name Style type combo default Solid var Solid var Very Risky
option name Ponder type check default false
option name Clear Hash type button
option name Book File type string default <empty>
uciok"""
NOISE = """\
info
info depth
info depth x nodes -
info score cp
info score banana 3 pv
info wdl 1 2
info string pv e2e4 score cp 900
hello there
info depth 3 seldepth 4 multipv 2 score cp -900 nodes 5 pv a2a3
info depth 2 score cp 31 lowerbound nodes 77 nps 1000 hashfull 0 wdl 300 500 200 time 1 pv """


def material(state: Any) -> int:
    """White's, less black's, in pawns."""
    board = str(state).split()[0]
    return sum(WORTH.get(char.upper(), 0) * (1 if char.isupper() else -1) for char in board)


def read_position(words: list[str]) -> Any:
    state = pyspiel.load_game("chess").new_initial_state()
    for word in words[3:]:
        state.apply_action(state.parse_move_to_action(word))
    return state


def best(state: Any) -> tuple[int, str]:
    sign = 1 if " w " in str(state) else -1
    board = state.board()
    moves = {action: pyspiel.chess.action_to_move(action, board).to_lan() for action in state.legal_actions()}
    return max((sign * material(state.child(action)), move) for action, move in moves.items())


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def misbehave(fault: str) -> None:
    if fault == "dies":
        say("info string no memory left")
        sys.exit(3)
    elif fault == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "hangs":
        time.sleep(3600)
    elif fault == "deaf":
        os.close(1)
        time.sleep(3600)
    elif fault == "illegal":
        say("bestmove e2e5")
    elif fault == "none":
        say("bestmove (none)")
    elif fault == "endless":
        for _ in range(100):
            os.write(1, b"x" * 4096)
        time.sleep(3600)
    elif fault == "chatters":
        while True:
            say("info string still here")


def main(fault: str, ply: int) -> None:
    state = read_position([])
    for line in sys.stdin:
        if log := os.environ.get("UCI_LOG"):
            with Path(log).open("a", encoding="utf-8") as file:
                file.write(line)
        words = line.split()
        if words == ["uci"] and fault != "silent":
            say(HELLO)
        elif words == ["isready"]:
            say("readyok")
        elif words[:1] == ["position"]:
            state = read_position(words)
        elif words[:1] == ["go"]:
            if fault and state.move_number() >= ply:
                misbehave(fault)
                if fault != "noise":
                    continue
            value, move = best(state)
            say(NOISE + move if fault == "noise" else f"info depth 1 score cp {100 * value} nodes 20 pv {move}")
            say(f"bestmove {move} ponder e7e5")
        elif words == ["quit"]:
            return


if __name__ == "__main__":
    main(*(sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 2 else (sys.argv[1] if len(sys.argv) > 1 else "", 0))
