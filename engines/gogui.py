"""The ruler commands by which GoGui learns an unknown game (PROTOCOL §3, "GoGui ruler"), and its menu entries.

`gogui-rules_legal_moves` lists `pass` exactly if `play COLOUR pass` is accepted, because GoGui keeps every pass it
sends in its game tree. Under `--gogui`, a pass means Session.pass_means; without it, `play B pass` is a pass or
illegal, as for every other controller. `ggp-play` is always strict. A turn that is being entered cell by cell
(ggp.engines.gogui_input) is shown here and by `showboard`; the `ggp-` commands know only whole plies.
"""

from ggp.engines.game import Scene
from ggp.engines.gogui_input import place, point_of, word_cells
from ggp.engines.scene import pieces_by_cell
from ggp.engines.session import Handler, Session, checked, syntax_error
from ggp.protocol.errors import CommandFailed

MAX_SEQUENCE = 20_000  # words
MENU = """\
gfx/Marks and status/gogui-rules_board_gfx
string/Score/final_score
string/Score details/ggp-score
string/Side to move/gogui-rules_side_to_move
string/Result/gogui-rules_final_result
hstring/History/ggp-history
hstring/Rules/ggp-rules"""
"""Entries of GoGui's Analyze window: only commands that change nothing.

GoGui sends them to the playing program, never to the ruler. It would not notice moves made by them, so the two games
would differ."""
_DECIDES = {"bid": "to bid", "choose": "to choose a side", "agree": "to name the dead stones"}
"""The task of the side to act, by phase. In other phases its task is to move."""


def handlers(session: Session) -> dict[str, Handler]:
    """Return this module's commands."""
    ruler = Ruler(session)
    return checked(
        {
            "gogui-rules_game_id": (0, 0, lambda arguments: session.need().game.name.capitalize()),
            "gogui-rules_board_size": (0, 0, ruler.board_size),
            "gogui-rules_board": (0, 0, ruler.board),
            "gogui-rules_legal_moves": (0, 0, ruler.legal_moves),
            "gogui-rules_side_to_move": (0, 0, ruler.side_to_move),
            "gogui-rules_final_result": (0, 0, ruler.final_result),
            "gogui-rules_captured_count": (0, 0, ruler.captured_count),
            "gogui-rules_board_gfx": (0, 0, ruler.board_gfx),
            "gogui-play_sequence": (0, MAX_SEQUENCE, ruler.play_sequence),
            "gogui-analyze_commands": (0, 0, lambda arguments: MENU),
        }
    )


class Ruler:
    """The handlers. A command that fails changes nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def board_size(self, arguments: list[str]) -> str:
        """Answer the number of rows and columns, with `hex` for hexagonal cells."""
        size, hexagons = self._size(self._scene())
        return f"{size} hex" if hexagons else str(size)

    def board(self, arguments: list[str]) -> str:
        """Return rows from the top, as GoGui's square or rhombus of that size: X O pieces, `.` a cell, `?` no cell."""
        game, scene = self._session.need().game, self._scene()
        size, hexagons = self._size(scene)
        rows = [["." if game.window else "?"] * size for _ in range(size)]
        pieces = pieces_by_cell(scene)
        low = size - scene["board"]["height"]  # A1 stays in the lower left corner
        for cell in scene["cells"]:
            piece = pieces.get(cell["at"])
            sign = {"black": "X", "white": "O"}[piece["colour"]] if piece else "."
            if not hexagons:
                rows[low + cell["y"]][cell["x"]] = sign
            elif point := point_of(game, cell["at"]):
                column, row = place(point)
                rows[size - 1 - row][column] = sign
        return "\n".join(map("".join, rows))

    def legal_moves(self, arguments: list[str]) -> str:
        """Return the points that `play` accepts, then `pass` if it accepts that; "" after the end.

        For compound moves under `--gogui`, these are the points that may come next.
        """
        line = self._session.need()
        if self._session.gogui and line.game.compound:
            cells = self._session.entry.next_cells(line)
        else:
            cells = {cell["at"] for cell in line.state.scene()["cells"]}.intersection(line.state.legal_moves())
        if self._session.gogui and not self._session.entry.cells_in_order(line):
            cells |= word_cells(line).keys()
        last = ["pass"] if self._session.may_pass() else []
        return " ".join([*sorted(filter(None, (point_of(line.game, cell) for cell in cells))), *last])

    def side_to_move(self, arguments: list[str]) -> str:
        """Return the side to move, or after the end the opponent of the last player.

        GoGui reads anything but `black` and `white` as white.
        """
        line = self._session.need()
        if line.state.phase != "over":
            return line.state.to_play
        return "white" if line.plies and line.plies[-1][1] == "black" else "black"

    def final_result(self, arguments: list[str]) -> str:
        """Answer the result, or `undecided` before the end."""
        return self._session.need().state.result or "undecided"

    def captured_count(self, arguments: list[str]) -> str:
        """Return the numbers of captured white and black pieces; GoGui expects White's first."""
        black, white = self._session.need().state.captured()
        return f"{white} {black}"

    def board_gfx(self, arguments: list[str]) -> str:
        """Mark special pieces with squares, the last ply with a circle, and controlled territory.

        The status comes below.
        """
        scene = self._scene()
        special = [entry["at"] for entry in scene["pieces"] if entry["glyph"] not in "XO"]
        status = [entry["text"] for entry in scene["tokens"]]
        if (plies := self._session.need().plies) and plies[-1][2] == "swap-sides":
            status.append("The sides were swapped")
        turn = f"{scene['to_play']} {_DECIDES.get(scene['phase'], 'to move')}"
        status.append(f"Game over: {scene['result']}" if scene["result"] else turn)
        marks = [(colour.upper(), controlled(scene, colour)) for colour in ("black", "white")]
        marks += [("SQUARE", special), ("CIRCLE", scene["last"])]
        game = self._session.need().game
        named = [(name, list(filter(None, (point_of(game, cell) for cell in cells)))) for name, cells in marks]
        lines = [f"{name} {' '.join(points)}" for name, points in named if points]
        return "\n".join([*lines, f"TEXT {', '.join(status)}"])

    def play_sequence(self, arguments: list[str]) -> str:
        """Play `COLOUR MOVE COLOUR MOVE …`: all of them, or none if one is illegal."""
        line = self._session.need()
        if len(arguments) % 2:
            raise syntax_error("gogui-play_sequence")
        trial = line.taken_back(0)
        entry = self._session.entry.on(trial, line)
        for number, (colour, move) in enumerate(zip(arguments[::2], arguments[1::2], strict=True), 1):
            try:
                self._session.play_on(trial, entry, colour, move)
            except CommandFailed as error:
                raise CommandFailed(f"{error} (move {number} of the sequence)") from None
        self._session.line, self._session.entry = trial, entry
        return ""

    def _size(self, scene: Scene) -> tuple[int, bool]:
        """Return the number of rows and columns that GoGui shows, and True if its cells are hexagons."""
        window = self._session.need().game.window
        return window or max(scene["board"]["width"], scene["board"]["height"]), scene["board"]["kind"] != "square"

    def _scene(self) -> Scene:
        line = self._session.need()
        return self._session.entry.drawn(line, line.scene())


def controlled(scene: Scene, colour: str) -> list[str]:
    """Return the cells that a side controls; GoGui's BLACK and WHITE mark them as territory."""
    return [entry["at"] for entry in scene.get("control", []) if entry["colour"] == colour]
