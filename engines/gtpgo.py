"""The GTP commands that only go has: handicap stones, and loading a game record."""

from typing import cast

from ggp.engines import sgf
from ggp.engines.game import Game, IllegalMove, OptionError, OptionValue, SetupState
from ggp.engines.history import GameHistory, SetUp
from ggp.engines.session import Handler, Session, checked, read_count, syntax_error
from ggp.protocol.errors import CommandFailed
from ggp.protocol.sgf import COLUMNS

NAMES = frozenset({"fixed_handicap", "set_free_handicap", "loadsgf"})
MAX_FILE = 1024 * 1024
MAX_MOVE = 10**6
_LETTERS = {"black": "X", "white": "O", "empty": "."}  # as on the core's board
_OTHER = {"black": "white", "white": "black"}


def handlers(session: Session) -> dict[str, Handler]:
    """Return this module's commands, which are unknown in every game but go."""
    commands = GoCommands(session)
    table = {
        "fixed_handicap": (1, 1, commands.fixed_handicap),
        "set_free_handicap": (0, sgf.MAX_POINTS, commands.set_free_handicap),
        "loadsgf": (1, 2, commands.loadsgf),
    }
    return {name: _go_only(session, handler) for name, handler in checked(table).items()}


class GoCommands:
    """The handlers. A command that fails changes nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def fixed_handicap(self, arguments: list[str]) -> str:
        """Place the stones of the option `handicap` and answer their points. The next `clear_board` removes them."""
        line = self._empty_board()
        number = arguments[0]
        if not number.isascii() or not number.isdigit():
            raise syntax_error("fixed_handicap")
        try:
            handicap = {"handicap": int(number) if len(number) < 4 and number != "0" else -1}
            new = GameHistory(line.game, {**line.options, **handicap})
        except OptionError:
            raise CommandFailed("invalid number of stones") from None
        self._session.line = new
        return " ".join(point for (point,) in new.state.groups())

    def set_free_handicap(self, arguments: list[str]) -> str:
        """Place black stones on the given points, at least two."""
        line = self._empty_board()
        try:
            if len(arguments) < 2:
                raise ValueError("give at least two points")
            self._session.line = GameHistory(line.game, line.options, arguments)
        except ValueError as error:
            raise CommandFailed(f"bad vertex list: {str(error)[:300]}") from None
        return ""

    def loadsgf(self, arguments: list[str]) -> str:
        """Play the main line of a file: all of it, or only the moves before the given move number (from 1).

        The answer is empty, or says before which move on an occupied point it stopped.
        """
        line = self._session.need()
        until = read_count("move number", arguments[1], 1, MAX_MOVE) - 1 if len(arguments) > 1 else MAX_MOVE
        try:
            record = sgf.read(_read_file(arguments[0]))
            options = {**self._session.options, **_options(line.game, record)}
            loaded, stopped = play_record(line.game, options, record, until)
        except (sgf.SgfError, OSError, OptionError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise CommandFailed(f"cannot load file: {reason}") from None
        self._session.line = loaded
        self._session.options = options
        return stopped

    def _empty_board(self) -> GameHistory:
        line = self._session.need()
        if line.plies or line.state.groups():
            raise CommandFailed("board not empty")
        return line


def play_record(
    game: Game, options: dict[str, OptionValue], record: sgf.SgfRecord, until: int
) -> tuple[GameHistory, str]:
    """Play the record up to but not including move `until`, and return the game and a message.

    Playing stops before a move on an occupied point, as in GNU Go, because other programs write such files. The message
    then says so; otherwise it is empty.

    A set-up restarts the game: the position after it is ply 0, where the history for ko rules and `undo` begins. A move
    that the rules forbid (ko, suicide, after the end) restarts the game too, because the standard says "Execute a given
    black move", whether it is legal or not.

    Raises:
        SgfError: A position cannot be set up.
    """
    loading = _Loading(game, {**options, "handicap": 0}, record)
    number = 1
    for step in record.steps:
        match step:
            case sgf.Turn(colour):
                loading.turn(colour)
            case sgf.Stones(colour, points):
                loading.place(colour, points)
            case sgf.Move(colour, at):
                if number > until:
                    loading.turn(colour)
                    break
                try:
                    loading.move(colour, at)
                except IllegalMove as error:
                    return loading.done(), f"stopped before move {number}, {colour} {at}: {error}"
                number += 1
    return loading.done(), ""


class _Loading:
    """A record being played: the game so far, the stones being set up, and whose turn it is."""

    def __init__(self, game: Game, options: dict[str, OptionValue], record: sgf.SgfRecord) -> None:
        self._game, self._options, self._size = game, options, record.size
        self._line = GameHistory(game, options)
        self._board: list[str] | None = None  # the board, if stones were set up since the last move
        self._handicap = record.handicap
        self._next = "white" if record.handicap > 1 else "black"

    def turn(self, colour: str) -> None:
        """Give the turn to this colour."""
        self._next = colour
        if colour == "white":
            self._stand_handicap()

    def place(self, colour: str, points: tuple[str, ...]) -> None:
        """Set up stones, replacing any that are there."""
        board = self._board or list(self._state().board())
        for point in points:
            board[self._index(point)] = _LETTERS[colour]
        self._board = board

    def move(self, colour: str, at: str) -> None:
        """Play a move.

        Raises:
            IllegalMove: The point is occupied.
            SgfError: A position cannot be set up.
        """
        self.turn(colour)
        line = self._begun()
        if at == "pass" and line.state.phase == "over":
            return  # some servers record a third pass
        try:
            line.play(colour, at, any_turn=True)
        except IllegalMove:
            self._force(colour, at)
        self._next = _OTHER[colour]

    def done(self) -> GameHistory:
        """Return the game, with the turn that the record asks for."""
        line = self._begun()
        if line.state.phase != "play" or line.state.to_play == self._next:
            return line
        return GameHistory(self._game, self._options, line.handicap, line.plies, line.set_up, self._next)

    def _begun(self) -> GameHistory:
        """Return the game, restarted if stones were set up."""
        if self._board is not None:
            try:
                self._line = GameHistory(self._game, self._options, set_up=SetUp("".join(self._board), self._next))
            except ValueError as error:
                raise sgf.SgfError(f"the position that is set up is impossible: {error}") from None
            self._board = None
        return self._line

    def _force(self, colour: str, at: str) -> None:
        """Execute a move that the rules forbid, as FF[4] says: remove enemies without liberties, then own stones."""
        board = list(self._state().board())
        if at != "pass":
            point = self._index(at)
            if board[point] != ".":
                raise IllegalMove(f"{at} is occupied")
            board[point] = _LETTERS[colour]
            for near in [*filter(lambda one: board[one] == _LETTERS[_OTHER[colour]], self._beside(point)), point]:
                self._lift_dead(board, near)
        self._board, self._next = board, _OTHER[colour]

    def _lift_dead(self, board: list[str], point: int) -> None:
        """Remove the group at this point if it has no liberty."""
        group, edge = {point}, [point]
        while edge:
            for near in self._beside(edge.pop()):
                if board[near] == ".":
                    return
                if board[near] == board[point] and near not in group:
                    group.add(near)
                    edge.append(near)
        for stone in group:
            board[stone] = "."

    def _stand_handicap(self) -> None:
        """Place the stones of fixed_handicap, as GNU Go does, if HA comes without stones and White is to move."""
        stones, self._handicap = self._handicap, 0
        if stones < 2 or self._board is not None or self._line.plies or self._state().board().strip("."):
            return
        try:
            given = GameHistory(self._game, {**self._options, "handicap": stones})
        except OptionError:  # no fixed points for this number or board
            return
        self._board = list(cast(SetupState, given.state).board())

    def _state(self) -> SetupState:
        return cast(SetupState, self._line.state)

    def _index(self, point: str) -> int:
        """Return the index of a point on the core's board."""
        return COLUMNS.index(point[0]) + (self._size - int(point[1:])) * self._size

    def _beside(self, index: int) -> list[int]:
        row, column = divmod(index, self._size)
        near = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
        return [r * self._size + c for r, c in near if 0 <= r < self._size and 0 <= c < self._size]


def _options(game: Game, record: sgf.SgfRecord) -> dict[str, OptionValue]:
    size = game.boardsize(record.size)
    if size is None:
        raise sgf.SgfError(f"the board is {record.size}x{record.size}")
    komi = None if record.komi is None else game.komi(record.komi)
    return {**size, "handicap": 0} if komi is None else {**size, "handicap": 0, "komi": komi}


def _read_file(path: str) -> bytes:
    """Read a regular file of limited size, without waiting for a pipe or a device."""
    from ggp.protocol.input_files import read_input  # importing pathlib takes longer than starting an engine

    return read_input(path, MAX_FILE)


def _go_only(session: Session, handler: Handler) -> Handler:
    def answer(arguments: list[str]) -> str:
        if not session.need().game.setup:
            raise CommandFailed("unknown command")
        return handler(arguments)

    return answer
