"""The games of a GTP script or transcript: `boardsize`, `komi`, `play …`, or `ggp-new`, `ggp-play …`.

Questions are passed over; a `genmove` counts if its answer stands below it. Whether moves are legal: see imported.
"""

import re
from collections.abc import Iterator

from referee.archive.found import MAX_MOVES, CannotImport, Found, FoundMove

_COLOURS = {"b": "black", "black": "black", "w": "white", "white": "white"}
_BEGINS = ("clear_board", "ggp-new")
_NOT_HELD = ("set_free_handicap", "place_free_handicap", "loadsgf")
_MOVES = ("play", "ggp-play", "genmove", "ggp-genmove_analyze", "kgs-genmove_cleanup")
_KNOWN = (*_BEGINS, *_MOVES, "boardsize", "komi", "fixed_handicap")


def script_games(data: bytes) -> Iterator[Found | CannotImport]:
    """Every game of the script in its order. Raises CannotImport when it is none."""
    reader, seen = _Reader(), False
    for number, (name, words, answer) in enumerate(_commands(data.decode("utf-8", "replace")), 1):
        seen = seen or name in _KNOWN
        if not seen and number > 1000:
            break
        if answer.startswith("?"):
            continue
        if name in _BEGINS and (found := reader.game()):
            yield found
        reader.take(name, words, answer)
    if not seen:
        raise CannotImport(
            "neither SGF (it does not begin with (;) nor a script of GTP (no boardsize, play, ggp-new …)"
        )
    if found := reader.game():
        yield found


class _Reader:
    """The game so far."""

    def __init__(self) -> None:
        self._options: dict[str, str] = {}
        self._begin("go", {})

    def _begin(self, game: str, options: dict[str, str]) -> None:
        self._game, self._options = game, options
        self._moves: list[FoundMove] = []
        self._problem = ""

    def take(self, name: str, words: list[str], answer: str) -> None:
        if name == "clear_board":
            self._begin("go", {key: value for key, value in self._options.items() if key in ("size", "komi")})
        elif name == "ggp-new" and words:
            self._begin(words[0], dict(word.split("=", 1) for word in words[1:] if "=" in word))
        elif name in ("boardsize", "komi", "fixed_handicap") and words:
            self._options[{"boardsize": "size", "fixed_handicap": "handicap"}.get(name, name)] = words[0]
        elif name in _NOT_HELD:
            self._problem = self._problem or f"`{name}` sets up a position, and a record holds moves only"
        elif name in ("undo", "ggp-undo"):
            count = int(words[0]) if words and words[0].isdigit() and len(words[0]) < 6 else 1
            del self._moves[max(0, len(self._moves) - count) :]
        elif name in _MOVES and words and not self._problem:
            self._move(name, words, answer)

    def _move(self, name: str, words: list[str], answer: str) -> None:
        colour = _COLOURS.get(words[0].lower())
        move = (
            words[1] if name.endswith("play") and len(words) > 1 else (re.sub(r"^=\d*", "", answer).split() or [""])[0]
        )
        if colour is None or not move:
            self._problem = f"`{' '.join([name, *words])[:60]}` names no {'move' if colour else 'colour'}"
        elif len(self._moves) >= MAX_MOVES:
            self._problem = f"it has more than {MAX_MOVES} moves"
        elif move.lower() != "resign":
            self._moves.append(FoundMove(colour, move))

    def game(self) -> Found | CannotImport | None:
        """None if nothing was played."""
        if self._problem and not self._moves:
            return CannotImport(self._problem)
        if not self._moves:
            return None
        return Found(self._game, dict(self._options), tuple(self._moves), problem=self._problem)


def _commands(text: str) -> Iterator[tuple[str, list[str], str]]:
    """Name, arguments and the first line of the answer, "" if none stands there."""
    command: list[str] = []
    answer = ""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        if line[0] in "=?":
            answer = answer or line
            continue
        if command:
            yield command[0], command[1:], answer
        command, answer = words[1:] if words[0].isdigit() else words, ""
    if command:
        yield command[0], command[1:], answer
