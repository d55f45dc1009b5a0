"""What the scripts share: how a game is begun, and what may be played first. It judges nothing."""

from referee.check.talk import Talk
from referee.check.trial import Stopped, Trial


async def begin(trial: Trial, talk: Talk, number: str = "") -> None:
    """A new game: `ggp-new` of the first game, or plain GTP's three commands. Raises Stopped (noted under number)."""
    number = number or trial.at
    for line in lines_of(trial, trial.games[0]):
        answer = await talk.ask(line)
        if not answer.ok:
            trial.hold(number, False, "a success: the game begins")
            raise Stopped


def lines_of(trial: Trial, game: str) -> list[str]:
    """How a program is told to begin `game`, a line of ggp-new without the command."""
    if trial.native:
        return [f"ggp-new {game}"]
    values = dict(word.split("=") for word in game.split()[1:])
    return [f"boardsize {values['size']}", "clear_board", f"komi {values['komi']}"]


async def first_moves(trial: Trial, talk: Talk) -> list[str]:
    """Legal first moves of the game that has begun, points if there are."""
    if "ggp-legal_moves" in trial.commands:
        answer = await talk.ask("ggp-legal_moves")
        moves = answer.text.split() if answer.ok else []
    elif trial.openings:
        moves = trial.openings
    else:
        moves = ["D4"]
    points = [move for move in moves if move[:1].isupper() and move[1:].isdigit()]
    return points or moves
