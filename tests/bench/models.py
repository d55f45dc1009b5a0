"""What `ggp bot llm` costs beside its endpoint: the time of a move that is its own, and its memory.

Its own is all between the question and the answer without the endpoint's time for the same request. The endpoint is in
this process, on the machine's other cores if there are any.
"""

import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from tests.support.model_endpoint import ModelEndpoint, legal_moves, naming

MOVES = 60  # of a game


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Rows (what, ms or MiB, unit)."""
    games = 1 if quick else 8
    with ModelEndpoint(_first_legal) as endpoint:
        words = ["llm", "--model", "m", "--url", endpoint.url, "--legal", "list"]
        process = subprocess.Popen(
            [sys.executable, "-m", "ggp.bots", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            _ask(process, "name")
            began, taken = _processor(process.pid), list[float]()
            for _ in range(games):
                _ask(process, "ggp-new yugo size=9")
                for ply in range(MOVES):
                    start = time.perf_counter()
                    _ask(process, f"ggp-genmove_analyze {'white' if ply % 2 else 'black'}")
                    taken.append((time.perf_counter() - start - endpoint.seconds.pop()) * 1e3)
            processor = (_processor(process.pid) - began) / len(taken) * 1e3
            peak = re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8"))
            assert peak is not None
        finally:
            process.kill()
            process.communicate()
    return [
        ("ggp bot llm: a move, without the endpoint's time", median(taken), "ms"),
        ("ggp bot llm: processor time of a move", processor, "ms"),
        ("ggp bot llm: memory", int(peak[1]) / 1024, "MiB"),
    ]


def _first_legal(messages: list[dict[str, Any]]) -> str:
    return naming(legal_moves(messages)[0])


def _ask(process: "subprocess.Popen[bytes]", line: str) -> None:
    assert process.stdin and process.stdout
    process.stdin.write(f"{line}\n".encode())
    process.stdin.flush()
    answer = process.stdout.readline()
    assert answer.startswith(b"="), answer
    while process.stdout.readline() != b"\n":
        pass


def _processor(pid: int) -> float:
    """Seconds that it has used so far, in steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
