"""The prompts for a language model: the rules and the form of an answer once, then each position.

All facts come from the engine. No prompt contains a JSON object or a fence with a move in it, so that an answer which
only repeats the prompt names no move.
"""

import base64
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from ggp.bots.adapters import pictures
from ggp.bots.position import Position
from ggp.protocol.drawing import scene as scenes
from ggp.protocol.drawing import svg, text
from ggp.protocol.errors import CommandFailed

LEGAL = ("none", "count", "list")
BOARDS = ("text", "picture", "both")
_EXAMPLES = 6  # moves that show the notation
_MAX_RULES = 24_000  # characters of the rules; longer ones are cut
_MAX_LIST = 24_000  # characters of a list of legal moves or of plies
_OBJECT = re.compile(r'\{\s*"')
FORM = '{"move": "<your move>"}'
_PHASES = {
    "bid": "This is the bidding: name your bid.",
    "choose": "Your opponent has bid: choose a side.",
    "agree": "The game has ended: name the dead stones of both sides, or agree with your opponent's list.",
}


class Prompt(NamedTuple):
    """A prompt: `text` for people and records, and a `picture` as PNG, b"" without one."""

    text: str
    picture: bytes = b""

    @property
    def content(self) -> str | list[dict[str, Any]]:
        """Return the content of a message of the chat completions API."""
        if not self.picture:
            return self.text
        url = f"data:image/png;base64,{base64.b64encode(self.picture).decode()}"
        return [{"type": "text", "text": self.text}, {"type": "image_url", "image_url": {"url": url}}]

    @property
    def said(self) -> dict[str, str]:
        """Return what the record keeps: of a picture only the digest, because the position can be drawn again."""
        picture = {"picture": f"sha256:{sha256(self.picture).hexdigest()}"} if self.picture else {}
        return {"prompt": self.text, **picture}


def system_prompt(position: Position) -> str:
    """Return the rules, and examples of the notation: the same text for every move of a match."""
    game, said = position.game, " ".join(f"{name}={value}" for name, value in position.options.items())
    moves = examples(position.first().legal_moves())
    return "\n".join(
        [
            f"You play {game}{f' with the options {said}' if said else ''}, against an opponent, to win.",
            "",
            "The rules:",
            cut(_without_moves(position.rules), _MAX_RULES),
            "",
            f"A move is one word. In the first position these and others are moves: {' '.join(moves)}",
            "",
            f"End each answer with one JSON object that names your move, in this form: {FORM}",
            'To give the game up, name "resign" instead of a move.',
        ]
    )


def position_prompt(position: Position, legal: str, board: str, tokens: int | None = None) -> Prompt:
    """Describe the position in which the bot is asked.

    Args:
        position: The position; the bot is to move.
        legal: One of LEGAL.
        board: One of BOARDS.
        tokens: Tokens left for the game, None without a limit.
    """
    moves = position.legal_moves()
    lines, picture = _facts(position, moves, board)
    lines += [] if tokens is None else ["", f"Tokens left for this game: {tokens}."]
    if legal == "count":
        lines += ["", f"There are {len(moves)} legal moves."]
    elif legal == "list":
        lines += ["", f"The {len(moves)} legal moves: {cut(' '.join(moves), _MAX_LIST)}"]
    lines += ["", f"Your move? {FORM}"]
    return Prompt("\n".join(lines), picture)


def position_text(position: Position) -> str:
    """Describe the position for an agent that asks for it."""
    moves = position.legal_moves()
    return "\n".join([*_facts(position, moves, "text")[0], "", f"There are {len(moves)} legal moves."])


def _facts(position: Position, moves: Sequence[str], board: str) -> tuple[list[str], bytes]:
    """Return lines about turn, moves, clocks and board, and the board's picture (b"" without one)."""
    lines = [f"You are {position.colour} (seat {position.seat}); ply {position.ply + 1} is yours."]
    if position.phase in _PHASES:
        lines += [_PHASES[position.phase], f"Moves of this phase, for example: {' '.join(examples(moves))}"]
    if position.plies:
        lines += ["", "All moves so far, with their colours, the oldest first:", _plies(position)]
    lines += _clocks(position)
    picture = b""
    drawn = drawing(position)
    if drawn is not None and board != "picture":
        lines += ["", "The board:", text.draw(drawn), *text.describe(drawn)]
    if drawn is not None and board != "text":
        picture = pictures.png(svg.draw(drawn))
        lines += ["", "The picture shows the board."]
    return lines, picture


def refusal_prompt(word: str, reason: str) -> str:
    """Return the prompt after an answer that is not a legal move."""
    if word:
        return f"{cut(word, 200)} is illegal: {_without_moves(reason)}\nAnswer with another move: {FORM}"
    return f"I read no move in your answer: {reason}.\nEnd it with one JSON object: {FORM}"


def examples(moves: Sequence[str]) -> list[str]:
    """Return a few moves from all over the list, and words such as `pass`."""
    words = [move for move in moves if not any(char.isdigit() for char in move)][:2]
    others = [move for move in moves if move not in words]
    step = max(1, len(others) // (_EXAMPLES - len(words)))
    return [*others[step // 2 :: step][: _EXAMPLES - len(words)], *words]


def drawing(position: Position) -> scenes.Scene | None:
    """Return the scene, or None if the engine has none or it cannot be drawn."""
    try:
        return scenes.as_scene(
            {
                "game": position.game,
                "options": dict(position.options),
                **position.scene(),
                "phase": position.phase,
                "to_play": position.to_play,
                "seat": position.seat,
                "ply": position.ply,
            }
        )
    except (scenes.DrawingError, CommandFailed):
        return None


def _without_moves(text: str) -> str:
    """Remove fences and JSON objects from an engine's text, because an answer could name a move by repeating them."""
    return _OBJECT.sub("{'", text.replace("`", "'"))


def cut(said: str, most: int) -> str:
    """Return a text, shortened to `most` characters with a note about the rest."""
    return said if len(said) <= most else f"{said[:most]} … ({len(said) - most} characters more)"


def _plies(position: Position) -> str:
    said = " ".join(
        f"{number}. {colour[0].upper()} {move}" for number, (_, colour, move) in enumerate(position.plies, 1)
    )
    return said if len(said) <= _MAX_LIST else f"… {said[-_MAX_LIST:]}"


def _clocks(position: Position) -> list[str]:
    times = position.times
    if times.black is None or times.white is None:
        return []
    words = [f"Time left: black {times.black / 1000:.1f} s, white {times.white / 1000:.1f} s"]
    words += [f"{times.increment / 1000:g} s are added for each move"] if times.increment else []
    words += [f"for {times.moves} moves"] if times.moves else []
    words += [f"then {times.periods} periods of {times.period / 1000:g} s"] if times.periods else []
    return ["", ", ".join(words) + "."]
