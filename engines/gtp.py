"""GTP's view of the current game: boardsize, komi, play, undo, showboard, scores. gtpgo has handicap and SGF."""

import re

from ggp.engines.game import MAX_NUMBER, OptionError
from ggp.engines.history import GameHistory
from ggp.engines.session import Handler, Session, checked, syntax_error
from ggp.protocol.errors import CommandFailed

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def handlers(session: Session) -> dict[str, Handler]:
    """Return this module's commands."""
    views = Views(session)
    table = checked(
        {
            "boardsize": (1, 1, views.boardsize),
            "komi": (1, 1, views.komi),
            "play": (2, 2, views.play),
            "undo": (0, 0, views.undo),
            "showboard": (0, 0, views.showboard),
            "final_score": (0, 0, views.final_score),
            "final_status_list": (1, 1, views.final_status_list),
        }
    )
    return {**table, "clear_board": views.clear_board}  # "never fails", so it ignores arguments


class Views:
    """The handlers. A command that fails changes nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def boardsize(self, arguments: list[str]) -> str:
        """Start a new game as `ggp-new` does, with the current options but another size."""
        game = self._session.need().game
        text = arguments[0]
        if not text.removeprefix("-").isdigit() or not text.isascii():
            raise syntax_error("boardsize")
        size = game.boardsize(int(text)) if len(text) < 10 else None
        try:
            if size is not None:
                self._session.start(game, {**self._session.options, **size})
        except OptionError:  # for example, the board is too small for the handicap
            size = None
        if size is None:
            raise CommandFailed("unacceptable size")
        return ""

    def clear_board(self, arguments: list[str]) -> str:
        """Start a new game as `ggp-new` does, with the current options."""
        self._session.start(self._session.need().game, self._session.options)
        return ""

    def komi(self, arguments: list[str]) -> str:
        """Accept any number; the game decides what it means. It applies at once before ply 0, and in go at any time."""
        line = self._session.need()
        value = line.game.komi(_number(arguments[0]))
        if value is None:
            return ""
        if not line.plies or line.game.komi_at_any_time:
            self._session.line = line.with_komi({**line.options, "komi": value})
        self._session.options = {**self._session.options, "komi": value}
        return ""

    def play(self, arguments: list[str]) -> str:
        """Answer `play COLOUR MOVE`."""
        self._session.play(*arguments)
        return ""

    def undo(self, arguments: list[str]) -> str:
        """Answer `undo`."""
        self._session.undo_play()
        return ""

    def showboard(self, arguments: list[str]) -> str:
        """Return the board below an empty first line, which keeps its columns aligned."""
        from ggp.protocol.drawing import scene, text  # imported late, so that an engine starts quickly

        try:
            line = self._session.need()
            drawn = scene.as_scene(self._session.entry.drawn(line, line.scene()))
            lines = [text.draw(drawn), *text.describe(drawn)]
        except scene.DrawingError as error:  # a bug in somebody else's game
            raise CommandFailed(str(error)) from None
        return "\n" + "\n".join(lines).lstrip("\n")

    def final_score(self, arguments: list[str]) -> str:
        """Answer the result, or before the end the result if the game ended now."""
        state = self._session.need().state
        result = state.result if state.phase == "over" else state.standing()
        if not result:
            raise CommandFailed("cannot score")
        return result

    def final_status_list(self, arguments: list[str]) -> str:
        """Return groups, one a line.

        Only groups that both sides agreed on are dead; all stones on the board are alive.
        """
        line = self._session.need()
        wanted = arguments[0].lower()
        if wanted == "alive":
            groups = line.state.groups()
        elif wanted == "dead":
            groups = agreed_dead(line)
        elif wanted == "seki":
            groups = []
        else:
            raise syntax_error("final_status_list")
        return "\n".join(map(" ".join, groups))


def agreed_dead(line: GameHistory) -> list[list[str]]:
    """Return the groups that were removed by agreement with the last ply."""
    lists = [move for _, _, move in line.plies[-2:] if move.startswith("dead:")]
    if line.state.phase != "over" or len(lists) < 2 or lists[0] != lists[1]:
        return []
    dead = set(lists[0].removeprefix("dead:").split(","))
    return [group for group in line.taken_back(2).state.groups() if dead.intersection(group)]


def _number(text: str) -> float:
    """Parse a decimal number of any length and limit it to MAX_NUMBER.

    Larger numbers would decide every game in the same way.
    """
    if re.fullmatch(NUMBER, text) is None:
        raise syntax_error("komi")
    return float(max(-MAX_NUMBER, min(MAX_NUMBER, float(text))))
