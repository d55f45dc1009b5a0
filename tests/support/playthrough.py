"""Golden playthroughs: a game as a page of text, written out ply by ply from an engine's answers; no test itself.

    python -m tests.support.playthrough --write     writes every file of tests/rules/playthroughs again
    python -m tests.support.playthrough FILE        prints how a file would look now

A new file needs no more than a line `game: yugo size=5` and its moves, each as `play: B2`; `--write` adds the rest:
the status, the hash and the legal moves before each ply (many as their number and a digest), and the board at the
start and the end. The hashes are the same in every process of one engine version: if they change, the
version must change too.
"""

import hashlib
import sys
from pathlib import Path

from tests.support import TESTS
from tests.support.memory_session import MemorySession

FOLDER = TESTS / "rules" / "playthroughs"
FILES = sorted(FOLDER.glob("*.txt"))
MANY = 12  # legal moves, which are then written as a hash


def read(text: str) -> tuple[str, list[str]]:
    """The game with its options (`yugo size=5`), and the moves."""
    game = next(line for line in text.splitlines() if line.startswith("game: "))
    plays = [line.split()[1] for line in text.splitlines() if line.startswith("play: ")]
    return game.removeprefix("game: "), plays


def write(game: str, moves: list[str]) -> str:
    """The page of that game."""
    engine = MemorySession(game)
    lines = ["# Written by `python -m tests.support.playthrough --write`; see there.", f"game: {game}", *_board(engine)]
    for move in moves:
        lines.append(f"play: {move:<8} {_position(engine)}")
        engine.play(move)
    history = engine("ggp-history").splitlines()
    lines += [
        *_board(engine),
        f"end:  {_position(engine)}",
        f"score: {engine('ggp-score')}",
        "history:",
        *("; ".join(history[at : at + 10]) for at in range(0, len(history), 10)),
    ]
    return "\n".join(lines) + "\n"


def _position(engine: MemorySession) -> str:
    legal = engine("ggp-legal_moves")
    if legal.count(" ") >= MANY:
        legal = f"{len(legal.split())} moves, sha256 {hashlib.sha256(legal.encode()).hexdigest()[:16]}"
    return f"{engine('ggp-status')} hash={engine('ggp-hash')} legal={legal}"


def _board(engine: MemorySession) -> list[str]:
    """A line for each height at which there are cells, from the top; then what lies beside the board."""
    scene = engine.scene()
    glyphs = {piece["at"]: piece["glyph"] for piece in scene["pieces"]}
    rows: dict[str, list[str]] = {}
    for cell in sorted(scene["cells"], key=lambda cell: (cell["y"], cell["x"])):
        rows.setdefault(cell["y"], []).append(glyphs.get(cell["at"], "."))
    beside = "; ".join(token["text"] for token in scene["tokens"])
    return ["", *map(" ".join, rows.values()), f"beside: {beside}"]


def main() -> None:
    """See the module."""
    if sys.argv[1:] == ["--write"]:
        for path in FILES:
            path.write_text(write(*read(path.read_text(encoding="utf-8"))), encoding="utf-8")
        return
    for name in sys.argv[1:]:
        print(write(*read(Path(name).read_text(encoding="utf-8"))), end="")


if __name__ == "__main__":
    main()
