"""What GTP itself demands of whoever has a board: fixed words, colours and points, boardsize, clear_board, komi."""

from referee.check.table import begin, first_moves
from referee.check.talk import Talk
from referee.check.trial import Trial


async def words(trial: Trial) -> None:
    """The failures whose text is fixed."""
    talk = await trial.talk()
    trial.at = "2.4.2"
    await begin(trial, talk)
    if "boardsize" in trial.commands:
        answer = await talk.ask("boardsize 1000")
        trial.hold("2.4.2", not answer.ok and answer.text == "unacceptable size", "`? unacceptable size`")
        await begin(trial, talk)
    else:
        trial.omit("it lists no boardsize", "2.4.2")
    trial.at = "2.4.3"
    point = (await first_moves(trial, talk))[0]
    if "play" in trial.commands:
        await talk.ask(f"play black {point}")
        answer = await talk.ask(f"play white {point}")
        right = not answer.ok and answer.text.partition(":")[0] == "illegal move"
        trial.hold("2.4.3", right, "`? illegal move`, and perhaps a reason after a colon", f"{point} is taken")
    else:
        trial.omit("it lists no play", "2.4.3")
    trial.at = "2.4.4"
    await begin(trial, talk)
    if "undo" in trial.commands:
        answer = await talk.ask("undo")
        trial.hold("2.4.4", not answer.ok and answer.text == "cannot undo", "`? cannot undo`")
    else:
        trial.omit("it lists no undo", "2.4.4")
    trial.at = "2.4.5"
    plays_go = trial.games[0].split()[0] == "go"
    if "loadsgf" in trial.commands and plays_go:
        answer = await talk.ask("loadsgf /nonexistent/game.sgf")
        right = not answer.ok and answer.text.partition(":")[0] == "cannot load file"
        trial.hold("2.4.5", right, "`? cannot load file`, and perhaps a reason after a colon")
    else:
        trial.omit("it lists no loadsgf" if plays_go else "the game is not go", "2.4.5")


async def case(trial: Trial) -> None:
    """How colours and points are read."""
    steps = ("2.6.2", "2.6.3", "2.6.4", "2.6.5")
    if "play" not in trial.commands:
        return trial.omit("it lists no play", *steps)
    talk = await trial.talk()
    trial.at = "2.6.2"
    for colour in ("b", "B", "black", "Black", "BLACK"):
        await begin(trial, talk)
        point = (await first_moves(trial, talk))[0]
        answer = await talk.ask(f"play {colour} {point}")
        trial.hold("2.6.2", answer.ok, "a success", f"{point} is free")
    trial.at = "2.6.3"
    await begin(trial, talk)
    point = (await first_moves(trial, talk))[0]
    answer = await talk.ask(f"play black {point.lower()}")
    trial.hold("2.6.3", answer.ok, f"a success, as for {point}")
    trial.at = "2.6.4"
    await begin(trial, talk)
    answer = await talk.ask("play black I5")
    trial.hold("2.6.4", not answer.ok, "a failure")
    trial.at = "2.6.5"
    await begin(trial, talk)
    answer = await talk.ask("play black resign")
    trial.hold("2.6.5", not answer.ok, "a failure")
    return None


async def board(trial: Trial) -> None:
    """A new board, its komi, and that clear_board clears."""
    steps = ("2.7.1", "2.7.2", "2.7.3")
    missing = [name for name in ("boardsize", "clear_board", "komi", "play") if name not in trial.commands]
    if missing and trial.native:
        return trial.omit(f"it lists no {missing[0]}, and needs none", *steps)
    talk = await trial.talk()
    trial.at = "2.7.1"
    size = await _size(trial, talk)
    if size:
        for line in (f"boardsize {size}", "clear_board", f"boardsize {size}", "clear_board", "clear_board"):
            if not trial.hold("2.7.1", (await talk.ask(line)).ok, "a success"):
                return None
    else:
        trial.omit("there is no size= in the game", "2.7.1")
    trial.at = "2.7.2"
    if "komi" not in trial.commands:
        trial.skip("komi is unknown", "2.7.2")
    for komi in ("0", "7", "6.5", "-3.5"):
        if trial.wants("2.7.2") and "komi" in trial.commands:
            trial.hold("2.7.2", (await talk.ask(f"komi {komi}")).ok, "a success")
    trial.at = "2.7.3"
    await begin(trial, talk)
    await talk.ask("clear_board")
    point = (await first_moves(trial, talk))[0]
    one = await talk.ask(f"play black {point}")
    await talk.ask("clear_board")
    two = await talk.ask(f"play black {point}")
    trial.hold("2.7.3", one.ok and two.ok, f"a success: {point} is free again")
    return None


async def _size(trial: Trial, talk: Talk) -> str:
    """What boardsize takes for the game at hand."""
    if trial.native:
        await begin(trial, talk)
    if "gogui-rules_board_size" in trial.commands and await has_sizes(talk, trial.games[0].split()[0]):
        return (await talk.ask("gogui-rules_board_size")).text.split(" ")[0]
    given = [word[5:] for word in trial.games[0].split() if word.startswith("size=")]
    return (given or [""])[0]


async def has_sizes(talk: Talk, game: str) -> bool:
    """Whether an engine's game has boards of several sizes; one that has a single board may refuse every boardsize."""
    answer = await talk.ask(f"ggp-options {game}")
    return any(line.split(" ")[0] == "size" for line in answer.text.split("\n"))


SCRIPTS = {"words": words, "case": case, "board": board}
