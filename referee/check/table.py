"""What the scripts share: how a game is begun, and what may be played first. It judges nothing."""

from referee.check.talk import Answer, Surprise, Talk
from referee.check.trial import NotPrepared, Trial


async def begin(trial: Trial, talk: Talk) -> None:
    """A new game: `ggp-new` of the first game, or plain GTP's three commands. Raises NotPrepared."""
    for line in lines_of(trial, trial.games[0]):
        try:
            answer = await talk.ask(line)
        except Surprise as surprise:
            raise NotPrepared(f"`{line}` was not answered: {await trial.why(surprise)}") from None
        if not answer.ok and is_needed(trial, line):
            raise NotPrepared(refusal(trial, line, answer))


def refusal(trial: Trial, line: str, answer: Answer) -> str:
    """Why a game does not begin: `komi is unknown`, or what it answers to that line."""
    name = line.split()[0]
    if name not in trial.commands or "unknown" in answer.text.lower():
        return f"{name} is unknown"
    return f"`{line}` is refused: {answer.text[:100] or '(no reason)'}"


def is_needed(trial: Trial, line: str) -> bool:
    """Whether no game begins while that line is refused. A bot that lists no `komi` plays without knowing it."""
    return not line.startswith("komi ") or "komi" in trial.commands


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
