"""A scene as lines of characters, for people at a prompt. It knows no game and no protocol."""

from engines.game import Scene
from engines.scene import pieces_by_cell


def draw(scene: Scene) -> str:
    """The board with its labels; pieces by their glyphs, the cells of the last ply in parentheses.

    Works for every kind of board: half a distance is one column, each y is a line of its own.
    """
    places = scene["cells"] + scene["labels"]
    if not scene["cells"]:
        return ""
    rows = {y: number for number, y in enumerate(sorted({place["y"] for place in places}))}
    margin = max((len(label["text"]) for label in scene["labels"]), default=0)
    left = min(place["x"] for place in places)
    origin = max(1, margin - 1)  # the column of what stands leftmost; a cell there may get a parenthesis before it
    if min(cell["x"] for cell in scene["cells"]) > left:
        origin = max(0, margin - 1)
    width = origin + 2 + round(2 * (max(place["x"] for place in places) - left)) + margin
    canvas = [[" "] * width for _ in rows]
    pieces, last = pieces_by_cell(scene), set(scene["last"])
    for cell in scene["cells"]:
        row, column = canvas[rows[cell["y"]]], origin + round(2 * (cell["x"] - left))
        piece = pieces.get(cell["at"])
        row[column] = piece["glyph"] if piece else "."
        if cell["at"] in last:
            row[column - 1], row[column + 1] = "(", ")"
    for label in scene["labels"]:
        column = origin + round(2 * (label["x"] - left))
        text = label["text"]
        start = column - len(text) + 1 if label["x"] < 0 else column  # row numbers lean on the board
        canvas[rows[label["y"]]][start : start + len(text)] = text
    return "\n".join("".join(row).rstrip() for row in canvas)


def describe(scene: Scene) -> list[str]:
    """What lies beside the board and whose turn it is, a line each; the scene has its status (see service)."""
    lines = [entry["text"] for entry in scene["tokens"]]
    if scene["phase"] == "over":
        return [*lines, f"Game over: {scene['result']}"]
    what = {"play": "to move", "agree": "to name the dead stones", "bid": "to bid", "choose": "to choose a side"}
    return [*lines, f"{scene['to_play'].capitalize()} {what[scene['phase']]} (seat {scene['seat']})"]
