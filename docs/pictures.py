"""The pictures of the rules pages, drawn by way of scenes from the table in examples."""

from collections.abc import Mapping, Sequence
from typing import Any

from docs.examples import EXAMPLES, Example
from engines.game import Game, State, read_options
from engines.history import GameHistory
from engines.service import full_scene
from protocol.drawing import svg
from protocol.drawing.scene import as_scene

SIGNS = {"black": "X", "white": "O", "black kings": "#", "white kings": "@"}


def examples_of(game: Game) -> list[Example]:
    """The game's examples, in the order of its page."""
    return [example for example in EXAMPLES if example.game == game.name]


def position(game: Game, example: Example) -> GameHistory:
    """The line of play whose position is drawn."""
    line = GameHistory(game, read_options(game, example.options.split()))
    if example.pieces:
        state: Any = line.state
        state.core.set_up(_board(line.state, example.pieces), example.side)
    for move in example.moves.split():
        line.play(line.state.to_play, move)
    return line


def picture(game: Game, example: Example) -> str:
    """The SVG."""
    return svg.draw(as_scene(full_scene(position(game, example))), title=f"{game.name}: {example.title}")


def section(examples: Sequence[Example]) -> str:
    """The part of a rules page that shows them; empty without any."""
    if not examples:
        return ""
    parts = ["\n## Pictures\n"]
    for example in examples:
        alt = f"{example.game}: {example.title[0].lower()}{example.title[1:]}"
        parts.append(f"### {example.title}\n\n![{alt}](pictures/{example.name}.svg)\n\n{example.caption}\n")
    return "\n".join(parts)


def _board(state: State, pieces: Mapping[str, str]) -> str:
    """The pieces as the core reads a board: a character a cell, `?` for none; on a lattice cells by name."""
    signs = {cell: SIGNS[what] for what, cells in pieces.items() for cell in cells.split()}
    if any("," in cell for cell in signs):
        return " ".join(f"{cell}={sign}" for cell, sign in signs.items())
    scene = state.scene()
    names = {(cell["x"], cell["y"]): cell["at"] for cell in scene["cells"]}
    if scene["board"]["kind"] != "square":
        return "".join(signs.get(name, ".") for name in names.values())
    places = [(x, y) for y in range(scene["board"]["height"]) for x in range(scene["board"]["width"])]
    return "".join(signs.get(names[place], ".") if place in names else "?" for place in places)
