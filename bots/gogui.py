"""A bot under GoGui: it starts the game of its command line, knows its rules, and answers `genmove` click by click.

GoGui names no game, and knows only points and passes; ggp.engines.session says what they mean under `--gogui`.
"""

from collections.abc import Callable, Sequence

from ggp.engines.gogui_input import follow, is_whole, point_of, word_cells
from ggp.engines.history import GameHistory
from ggp.engines.session import Session
from ggp.protocol.errors import CommandFailed

OPTION = "--gogui"
SWAP, BID = "swap-sides", "bid:"


def split_words(words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Split a command line into the bot's own words and `GAME name=value …` after `--gogui`.

    The game ends before the next word that begins with `-`.

    Raises:
        ValueError: The game is missing.
    """
    before = list(words[: words.index("--")]) if "--" in words else list(words)
    if OPTION not in before:
        return list(words), ()
    start = before.index(OPTION) + 1
    end = next((number for number in range(start, len(before)) if before[number].startswith("-")), len(before))
    if start == end:
        raise ValueError(f"{OPTION} needs a game, as in {OPTION} yugo size=9")
    return [*words[: start - 1], *words[end:]], tuple(words[start:end])


class Clicks:
    """A translator from moves to points and passes.

    A move of several cells takes several clicks. It is chosen at the first click.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._plan: tuple[GameHistory, int, str] | None = None  # the move being entered, with its game and ply
        self._swapped = 0  # number of plies right after this bot's own `swap-sides`

    def next(self, colour: str, choose: Callable[[], str]) -> str:
        """Play the next click for `colour` and return it, or `resign`.

        Args:
            colour: The colour.
            choose: Returns a legal, canonical move.

        Raises:
            CommandFailed: There is no click; nothing has changed.
        """
        line = self._session.need()
        cells = self._session.entry.cells_in_order(line)
        self._check_seat(line)
        move = self._planned(line, cells) or choose()
        if move == "resign":
            return move
        if cells and not _leads_to(line, cells, move):  # a person has begun another move for the bot
            move = next(legal for legal in line.state.legal_moves() if _leads_to(line, cells, legal))
        click, ply = self._click(line, cells, move), len(line.plies)
        self._session.play(colour, click)
        self._plan = (line, len(line.plies), move)
        if move == SWAP and len(line.plies) > ply:
            self._swapped = len(line.plies)
        return click

    def _check_seat(self, line: GameHistory) -> None:
        """Refuse the first `genmove` after the bot's own swap.

        GoGui then asks for the wrong colour, and the refusal tells the person why.
        """
        if self._swapped and self._swapped == len(line.plies) and line.plies[-1][2] == SWAP:
            self._swapped = 0
            if line.state.seat != line.plies[-1][0]:
                mine = "Black" if line.state.to_play == "white" else "White"
                raise CommandFailed(
                    f"the bot swapped sides and is now {mine}: set Game > Computer Color > {mine}, and make your move"
                )

    def _planned(self, line: GameHistory, cells: tuple[str, ...]) -> str:
        """Return the move being clicked, or "" before the first click and after a click elsewhere."""
        if not cells or self._plan is None:
            return ""
        before, ply, move = self._plan
        same = before.game is line.game and ply == len(line.plies)
        return move if same and move in line.state.legal_moves() and _leads_to(line, cells, move) else ""

    def _click(self, line: GameHistory, cells: tuple[str, ...], move: str) -> str:
        if not cells and move == self._session.pass_means(line.state):
            return "pass"
        if move.startswith("dead:"):
            return "pass"  # no dead stones, because GoGui cannot enter a list
        words = {word: cell for cell, word in word_cells(line).items()}
        if move.startswith(BID) and move not in words:  # the bid is larger than the number of rows
            move = max(words, key=lambda word: int(word.removeprefix(BID)))
        if move in words:
            return point_of(line.game, words[move])
        if not line.game.compound:
            return point_of(line.game, move)
        if is_whole(line.game, move, cells):
            return "pass"
        point = point_of(line.game, min(follow(line.game, move, cells)))
        if not point:
            raise CommandFailed(f"the bot chose {move[:100]}, which is outside the part of the board that GoGui shows")
        return point


def _leads_to(line: GameHistory, cells: tuple[str, ...], move: str) -> bool:
    if move in line.game.words:
        return False
    return is_whole(line.game, move, cells) or bool(follow(line.game, move, cells))
