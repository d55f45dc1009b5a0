"""The state of one conversation with an engine: the current game and the options of the next one."""

from collections.abc import Callable, Mapping

from ggp.engines.game import Game, IllegalMove, OptionError, OptionValue, State, read_options
from ggp.engines.gogui_input import GoguiEntry, cell_of, word_cells
from ggp.engines.history import GameHistory
from ggp.engines.registry import GameError, Registry
from ggp.protocol.errors import CommandFailed

Handler = Callable[[list[str]], str]

COLOURS = {"black": "black", "white": "white", "b": "black", "w": "white"}
PASS_MEANS = ("pass", "button", "keep-sides", "bid:0", "dead:")
"""What `pass` means under --gogui: the first of these that is legal."""
MAX_REASON = 300  # characters of a reason, as it may quote input


class Session:
    """The state behind the commands. A method that fails raises CommandFailed and has changed nothing.

    Attributes:
        line: The current game, or None before the first.
        options: The options that `clear_board` will use; GTP's `komi` may set them before a game starts.
    """

    def __init__(self, registry: Registry, gogui: bool = False) -> None:
        self.registry = registry
        self.gogui = gogui
        self.line: GameHistory | None = None
        self.options: dict[str, OptionValue] = {}
        self.entry = GoguiEntry()

    def need(self) -> GameHistory:
        """Return the current game.

        Raises:
            CommandFailed: No game has been started.
        """
        if self.line is None:
            raise CommandFailed("no game: use ggp-new")
        return self.line

    def game(self, name: str) -> Game:
        """Return a game by name.

        Raises:
            CommandFailed: There is no such game.
        """
        try:
            return self.registry.load(name)
        except GameError as error:
            raise CommandFailed(str(error)) from None

    def new(self, name: str, words: list[str]) -> State:
        """Start a game with `name=value` options and return its first position."""
        game = self.game(name)
        try:
            self.start(game, read_options(game, words))
        except OptionError as error:
            raise CommandFailed(str(error)) from None
        return self.need().state

    def start(self, game: Game, options: dict[str, OptionValue]) -> None:
        """Start a game with parsed options.

        Raises:
            OptionError: The options are impossible together.
        """
        self.line = GameHistory(game, options)
        self.options = options
        self.entry = GoguiEntry()

    def play(self, colour: str, move: str) -> None:
        """Play as plain GTP allows, even out of turn in go.

        Under --gogui, compound moves are entered cell by cell, and bids and swaps with a cell
        (ggp.engines.gogui_input). `pass` then ends a compound move or means the first legal move of PASS_MEANS.
        """
        self.play_on(self.need(), self.entry, colour, move)

    def play_on(self, line: GameHistory, entry: GoguiEntry, colour: str, move: str) -> None:
        """Play as `play` does, on another copy of the same game."""
        side = read_colour(colour)
        cells = entry.cells_in_order(line)
        try:
            if self.gogui and not cells:
                move = word_cells(line).get(cell_of(line.game, move), move)
            if self.gogui and line.game.compound:
                move = entry.play(line, side, move)
                if not move:
                    return
            if self.gogui and move.lower() == "pass":
                move = self.pass_means(line.state) or move
            line.play(side, move, any_turn=True)
        except IllegalMove as error:
            raise illegal(move, error) from None
        if cells:
            entry.played(line, cells)

    def pass_means(self, state: State) -> str:
        """Return the move that GoGui's `pass` means, or "" after the end."""
        legal = set(state.legal_moves())
        return next((move for move in PASS_MEANS if move in legal), "")

    def may_pass(self) -> bool:
        """Return True if `play COLOUR pass` is accepted from the side to move."""
        line = self.need()
        if not self.gogui:
            return "pass" in line.state.legal_moves()
        if self.entry.cells_in_order(line):
            return bool(self.entry.whole_move(line))
        return bool(self.pass_means(line.state))

    def undo(self, count: int) -> State:
        """Take back plies of any kind."""
        line = self.need()
        if count > len(line.plies):
            raise CommandFailed("cannot undo")
        self.line = line.taken_back(count)
        self.entry.taken_back(self.line, line.plies[-count][2], cells_too=True)
        return self.line.state

    def undo_play(self) -> None:
        """Take back the last `play`: a ply or, under --gogui, a cell or the `pass` that ended a compound move."""
        line = self.need()
        if self.entry.take_back_cell(line):
            return
        if not line.plies:
            raise CommandFailed("cannot undo")
        self.line = line.taken_back(1)
        self.entry.taken_back(self.line, line.plies[-1][2], cells_too=False)


def read_colour(text: str) -> str:
    """Return `black` or `white` for `b black w white` in any case."""
    colour = COLOURS.get(text) or COLOURS.get(text.lower())
    if colour is None:
        raise CommandFailed(f"syntax error: {text[:40]} is not a colour: write black or white")
    return colour


def read_count(name: str, text: str, least: int, most: int) -> int:
    """Parse a whole number from `least` to `most`."""
    if text.isascii() and text.isdigit() and len(text) <= 20 and least <= int(text) <= most:
        return int(text)
    raise CommandFailed(f"syntax error: {name}: {text[:40]} is not a whole number from {least} to {most}")


def illegal(move: str, reason: Exception) -> CommandFailed:
    """Return GTP's failure `illegal move`, followed by the reason."""
    return CommandFailed(f"illegal move: {why(move, str(reason))}")


def why(move: str, reason: str) -> str:
    """Return the reason, shortened if necessary; `resign` gets its own, as no game knows it."""
    if reason and move.lower() == "resign":
        return "resign is an answer to genmove, not a move"
    return reason[:MAX_REASON]


def syntax_error(name: str) -> CommandFailed:
    """Return a failure that shows how the command is written."""
    from ggp.protocol.commands import TABLE  # imported late, because it is only needed for errors

    return CommandFailed(f"syntax error: write {name} {TABLE[name].arguments}".rstrip())


def checked(handlers: Mapping[str, tuple[int, int, Handler]]) -> dict[str, Handler]:
    """Wrap handlers, given with their least and most number of arguments, so that they refuse any other number."""

    def check(name: str, least: int, most: int, handler: Handler) -> Handler:
        def answer(arguments: list[str]) -> str:
            if not least <= len(arguments) <= most:
                raise syntax_error(name)
            return handler(arguments)

        return answer

    return {name: check(name, *row) for name, row in handlers.items()}
