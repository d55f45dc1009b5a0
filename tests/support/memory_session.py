"""An engine in this process that answers lines; the tests of real processes use raw_peer."""

import json
from typing import Any

from ggp.engines.registry import Registry
from ggp.engines.service import make_responder
from ggp.engines.session import Session


class MemorySession:
    """Starts with a game (`yugo size=5`) or without one. `session("…")` is the text of a success."""

    def __init__(self, game: str = "", gogui: bool = False, registry: Registry | None = None) -> None:
        self.session = Session(registry or Registry(), gogui)
        self._responder = make_responder(self.session)
        if game:
            self(f"ggp-new {game}")

    def answer(self, line: str) -> str:
        """The whole answer, with its mark."""
        self._responder.receive(line.encode() + b"\n")
        answer = self._responder.next_answer()
        assert answer is not None and self._responder.next_answer() is None
        assert answer.endswith(b"\n\n") and b"\n\n" not in answer[:-2]
        return answer[:-2].decode()

    def __call__(self, line: str) -> str:
        answer = self.answer(line)
        assert answer.startswith("="), f"{line} was refused: {answer}"
        return answer[2:]

    def fails(self, line: str) -> str:
        """The text of a failure, which must have changed nothing."""
        before = self.picture()
        answer = self.answer(line)
        assert answer.startswith("? "), f"{line} was not refused: {answer}"
        assert self.picture() == before, f"{line} failed and changed something"
        return answer[2:]

    def play(self, moves: str) -> str:
        """Moves without colours, each for the side to act; the last status line."""
        status = self("ggp-status")
        for move in moves.split():
            status = self(f"ggp-play {self.fields()['to_play']} {move}")
        return status

    def fields(self) -> dict[str, str]:
        """The status line as a dict."""
        return dict(pair.split("=", 1) for pair in self("ggp-status").split())

    def scene(self) -> dict[str, Any]:
        """The scene, which is one line."""
        text = self("ggp-scene")
        assert "\n" not in text
        scene: dict[str, Any] = json.loads(text)
        return scene

    def picture(self) -> tuple[str, ...]:
        """Everything visible of the session, and the options of the next game."""
        looks = ("ggp-status", "ggp-history", "ggp-hash", "ggp-scene", "ggp-legal_moves", "ggp-score")
        return (*map(self.answer, looks), str(self.session.options))


def scene_of(game: str, moves: str = "") -> dict[str, Any]:
    """The scene of a game after these moves."""
    session = MemorySession(game)
    session.play(moves)
    return session.scene()
