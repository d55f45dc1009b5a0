"""The pictures of the rules pages, drawn by way of scenes from the table in examples."""

import re
from collections.abc import Sequence

from docs.examples import EXAMPLES, Example
from ggp.engines.game import Game, read_options
from ggp.engines.history import GameHistory
from ggp.protocol.drawing import svg
from ggp.protocol.drawing.scene import as_scene
from ggp.referee.ratings.bradley_terry import Counts
from ggp.referee.ratings.ratings import rate
from ggp.referee.ratings.scale import Z95


def examples_of(game: Game) -> list[Example]:
    """The game's examples, in the order of its page."""
    return [example for example in EXAMPLES if example.game == game.name]


def position(game: Game, example: Example) -> GameHistory:
    """Play the example's moves through the engine. Raises IllegalMove if one of them is illegal."""
    line = GameHistory(game, read_options(game, example.options.split()))
    for move in example.moves.split():
        line.play(line.state.to_play, move)
    return line


def picture(game: Game, example: Example) -> str:
    """The SVG."""
    return svg.draw(as_scene(position(game, example).scene()), title=f"{game.name}: {example.title}")


# Games of a short ladder: first seat, second seat, wins, ties and losses of the first.
LADDER = (
    ("greedy-50", "greedy-20", 9, 0, 3),
    ("greedy-20", "greedy-50", 4, 0, 8),
    ("greedy-20", "greedy-5", 10, 0, 2),
    ("greedy-5", "greedy-20", 3, 0, 9),
    ("greedy-5", "random", 11, 0, 1),
    ("random", "greedy-5", 1, 0, 11),
)
_BLANK = "\u00a0"  # programs that draw SVG make one blank of several
_LINE, _LETTER, _BOARD, _EDGE = 24, 14, 330, 16  # of the screenshot: units


def screenshot(board: str) -> str:
    """An SVG of standings, rated from LADDER, beside a board that is an SVG."""
    rated = rate(Counts.of(LADDER))
    lines = ["#  bot           Elo     ±"]
    for place, row in enumerate(rated.standings(), 1):
        lines.append(f"{place}  {row.name:<10} {row.elo:>6.0f} {Z95 * row.se:>5.0f}")
    lines += ["", f"{sum(sum(row[2:]) for row in LADDER)} games, ± is 95 %", "ggp ladder standings"]
    left = _EDGE + max(map(len, lines)) * _LETTER * 0.61 + _EDGE
    size = f'x="{left:.0f}" y="{_EDGE}" width="{_BOARD}" height="{_BOARD}"'
    width, height = round(left + _BOARD + _EDGE), _BOARD + 2 * _EDGE
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            "<title>The standings of a ladder and a board</title>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            f'<g font-family="monospace" font-size="{_LETTER}" fill="#1b2027">',
            *(
                f'<text x="{_EDGE}" y="{_EDGE + _LINE * (at + 1)}">{line.replace(" ", _BLANK)}</text>'
                for at, line in enumerate(lines)
            ),
            "</g>",
            re.sub(r' width="\d+" height="\d+"', f" {size}", board.strip(), count=1),
            "</svg>",
            "",
        ]
    )


def with_pictures(rules: str, examples: Sequence[Example]) -> str:
    """Return the rules with each example at the end of its section. Raises ValueError for an unknown section."""
    parts = re.split(r"(?m)^(?=#{2,3} )", rules.strip() + "\n")
    headings = [part.splitlines()[0].lstrip("# ") for part in parts]
    for example in examples:
        at = headings.index(example.section)
        alt = f"{example.game}: {example.title[0].lower()}{example.title[1:]}"
        parts[at] = (
            f"{parts[at].rstrip()}\n\n![{alt}](pictures/{example.name}.svg)\n\n*{example.title}.* {example.caption}\n\n"
        )
    return "".join(parts).rstrip() + "\n"
