"""The GTP commands that only go has: handicap stones, and loading a game record (read by sgf)."""

import os
import stat

from engines import sgf
from engines.game import Game, IllegalMove, OptionError, OptionValue
from engines.line import Line
from engines.session import Handler, Session, checked, read_count, syntax_error
from protocol.errors import CommandFailed

NAMES = frozenset({"fixed_handicap", "set_free_handicap", "loadsgf"})
MAX_FILE = 1024 * 1024
MAX_MOVE = 10**6


def handlers(session: Session) -> dict[str, Handler]:
    """The table of this file's commands; to a game that is not go they are unknown."""
    commands = GoCommands(session)
    table = {
        "fixed_handicap": (1, 1, commands.fixed_handicap),
        "set_free_handicap": (0, sgf.MAX_POINTS, commands.set_free_handicap),
        "loadsgf": (1, 2, commands.loadsgf),
    }
    return {name: _go_only(session, handler) for name, handler in checked(table).items()}


class GoCommands:
    """The handlers. Each that fails has changed nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def fixed_handicap(self, arguments: list[str]) -> str:
        """The stones of the option `handicap`; answers their points. They go with the next `clear_board`."""
        line = self._empty_board()
        number = arguments[0]
        if not number.isascii() or not number.isdigit():
            raise syntax_error("fixed_handicap")
        try:
            handicap = {"handicap": int(number) if len(number) < 4 and number != "0" else -1}
            new = Line(line.game, {**line.options, **handicap})
        except OptionError:
            raise CommandFailed("invalid number of stones") from None
        self._session.line = new
        return " ".join(point for (point,) in _single_stones(new))

    def set_free_handicap(self, arguments: list[str]) -> str:
        line = self._empty_board()
        try:
            if len(arguments) < 2:
                raise ValueError("at least two points")
            self._session.line = Line(line.game, line.options, arguments)
        except ValueError as error:
            raise CommandFailed(f"bad vertex list: {str(error)[:300]}") from None
        return ""

    def loadsgf(self, arguments: list[str]) -> str:
        """The main line, up to but not including the given move (the first is 1); the whole of it by default."""
        line = self._session.need()
        until = read_count("move number", arguments[1], 1, MAX_MOVE) - 1 if len(arguments) > 1 else MAX_MOVE
        try:
            record = sgf.read(_read_file(arguments[0]))
            options = {**self._session.options, **_options(line.game, record)}
            loaded = play_record(line.game, options, record, until)
        except (sgf.SgfError, OSError, OptionError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise CommandFailed(f"cannot load file: {reason}") from None
        self._session.line = loaded
        self._session.options = options
        return ""

    def _empty_board(self) -> Line:
        line = self._session.need()
        if line.plies or line.state.groups():
            raise CommandFailed("board not empty")
        return line


def play_record(game: Game, options: dict[str, OptionValue], record: sgf.Record, until: int) -> Line:
    """The record as a line of play. Raises SgfError for what the rules do not allow."""
    try:
        line = Line(game, {**options, "handicap": 0}, record.handicap)
    except (OptionError, ValueError) as error:
        raise sgf.SgfError(f"handicap: {error}") from None
    for number, (colour, move) in enumerate(record.moves[:until], 1):
        if line.state.phase == "over" and move == "pass":
            continue  # servers write down a third pass
        try:
            line.play(colour, move, any_turn=True)
        except IllegalMove as error:
            raise sgf.SgfError(f"move {number}, {colour} {move}: {error}") from None
    return line


def _options(game: Game, record: sgf.Record) -> dict[str, OptionValue]:
    size = game.boardsize(record.size)
    if size is None:
        raise sgf.SgfError(f"the board is {record.size}x{record.size}")
    komi = None if record.komi is None else game.komi(record.komi)
    return {**size, "handicap": 0} if komi is None else {**size, "handicap": 0, "komi": komi}


def _read_file(path: str) -> bytes:
    """The bytes of a regular file within bounds. Raises OSError, SgfError; never waits for a pipe or a device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise sgf.SgfError("not a regular file")
        if status.st_size > MAX_FILE:
            raise sgf.SgfError(f"larger than {MAX_FILE} bytes")
        return os.read(descriptor, MAX_FILE)
    finally:
        os.close(descriptor)


def _single_stones(line: Line) -> list[list[str]]:
    return line.state.groups()


def _go_only(session: Session, handler: Handler) -> Handler:
    def answer(arguments: list[str]) -> str:
        if not session.need().game.setup:
            raise CommandFailed("unknown command")
        return handler(arguments)

    return answer
