"""Loads a game from a single Python file that need not be installed: `ggp engine FILE.py`."""

# pathlib takes 4 ms to import
# ruff: noqa: PTH100, PTH110, PTH113, PTH119, PTH120

import os
import re
import sys
from traceback import print_exception
from types import CodeType, ModuleType

from ggp.engines.game import Game
from ggp.engines.registry import GameError
from ggp.protocol.errors import in_words, place_of
from ggp.protocol.input_files import open_input

END = ".py"  # an argument with this ending is a file, not a game
LARGEST = 1024 * 1024  # bytes


def load_file(path: str) -> Game:
    """Return the one Game object of a Python file. The file can import modules from its folder.

    An error in the file's own code leaves its traceback on stderr.

    Raises:
        GameError: The file cannot be read or run, or does not contain exactly one valid game.
    """
    module = _run(path, _compile(path, _read(path)))
    games = list({id(each): each for each in vars(module).values() if isinstance(each, Game)}.values())
    if not games:
        reason = "it contains no game: end it with an instance of your subclass of ggp.engines.game.Game"
        raise GameError(f"{path}: {reason}, such as GAME = MyGame()", code="no-game")
    if len(games) > 1:
        reason = f"it contains {len(games)} games but may contain only one: move the others to separate files"
        raise GameError(f"{path}: {reason}", code="two-games")
    return _checked(path, games[0])


def _read(path: str) -> bytes:
    try:
        if not os.path.isfile(path):
            reason = "this is not a file" if os.path.exists(path) else "there is no such file"
            raise GameError(f"{path}: {reason}: name a Python file that contains a game", code="no-file")
        with open_input(path) as file:
            text = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with NUL
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise GameError(f"{path!r} cannot be read: {reason}", code="no-file") from None
    if len(text) > LARGEST:
        raise GameError(
            f"{path}: it has more than {LARGEST} bytes: name a Python file that contains a game", code="no-file"
        )
    return text


def _compile(path: str, text: bytes) -> CodeType:
    try:
        return compile(text, path, "exec")
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        raise GameError(f"{path}{where}: invalid Python: {error.msg}", code="no-python") from None
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:  # NUL, or too many brackets
        raise GameError(
            f"{path}: invalid Python: {in_words(error) or type(error).__name__}", code="no-python"
        ) from None


def _run(path: str, code: CodeType) -> ModuleType:
    module = ModuleType(os.path.basename(path).removesuffix(END))
    module.__file__ = path
    sys.modules.setdefault(module.__name__, module)  # dataclasses resolve annotations there
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        exec(code, vars(module))
    except SystemExit as end:
        reason = f"it called sys.exit({end.code!r}): put that call under `if __name__ == '__main__':`"
        raise GameError(f"{path}: {reason}", code="file-exits") from None
    except Exception as error:
        print_exception(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))  # without our frame
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        raise GameError(f"{path}: {reason}{place_of(error)}; its traceback is above", code="file-fails") from None
    return module


def _checked(path: str, game: Game) -> Game:
    """Return the game.

    Raises:
        GameError: Its name or its rules are invalid.
    """
    name, rules = getattr(game, "name", None), getattr(game, "rules", None)
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_.-]{1,40}", name) or name.endswith(END):
        reason = f"invalid name {name!r}: set `name` to 1 to 40 letters, digits, `_`, `.` or `-`"
        raise GameError(f"{path}: {reason}", code="bad-name")
    if not isinstance(rules, str):
        raise GameError(f"{path}: {name} has no rules: set `rules` to a text", code="no-rules")
    return game
