"""What engines are asked beside a walk: their options, GTP's view of a game, and sessions that must not mix."""

from referee.check.forms import adds_up, beyond, ends_of, is_result, read_option, read_status
from referee.check.gtp import has_sizes
from referee.check.talk import Talk
from referee.check.trial import Trial
from referee.check.walk import walk

_MOST = 8  # values of one option that are tried


async def options(trial: Trial) -> None:
    """The table of each game, and that ggp-new obeys it."""
    talk = await trial.talk()
    for line in trial.games:
        game = line.split(" ")[0]
        trial.at, trial.where = "3.3.21", game
        answer = await talk.ask(f"ggp-new {game}")
        trial.hold("3.3.21", answer.ok, "a success: ggp-games lists it")
        trial.at = "3.3.16"
        answer = await talk.ask(f"ggp-options {game}")
        rows = [read_option(row) for row in answer.text.split("\n")] if answer.text else []
        if not trial.hold("3.3.16", answer.ok and None not in rows, "`name type default domain`, the default in it"):
            continue
        table = [row for row in rows if row is not None]
        for name, kind, _, domain in table:
            await _one_option(trial, talk, game, name, kind, domain)
        await _size_counts(trial, talk, game, table)
        await _texts(trial, talk, game)
    if "ggp-rules" not in trial.commands:
        trial.omit("it lists no ggp-rules", "3.3.19")
    if "ggp-playouts" not in trial.commands:
        trial.omit("it lists no ggp-playouts", "3.3.20")
    trial.omit("no game has an option size", "3.3.22")


async def _one_option(trial: Trial, talk: Talk, game: str, name: str, kind: str, domain: str) -> None:
    trial.at = "3.3.17"
    values = ends_of(kind, domain)
    for value in values[:_MOST]:
        answer = await talk.ask(f"ggp-new {game} {name}={value}")
        # Two options may exclude each other (a handicap on a small board), but a size stands alone.
        alone = name == "size" or not any(word in answer.text for word in ("size", "board"))
        trial.hold("3.3.17", answer.ok or not alone, f"a success: {value} is in {domain}")
    trial.at = "3.3.18"
    await talk.ask(f"ggp-new {game}")
    before = await _present(talk)
    last = values[0]
    wrong = [f"{name}={value}" for value in beyond(kind, domain)]
    for words in (*wrong, f"{name}=", f"{name}={last} {name}={last}", "no-such-option=1", "just-a-word"):
        answer = await talk.ask(f"ggp-new {game} {words}")
        trial.hold("3.3.18", not answer.ok, "a failure")
        if not answer.ok and await _present(talk) != before:
            trial.hold("3.3.18", False, f"the game as it was before `ggp-new {game} {words}`")


async def _size_counts(trial: Trial, talk: Talk, game: str, table: list[tuple[str, str, str, str]]) -> None:
    domain = next((row[3] for row in table if row[0] == "size"), "")
    if not domain:
        return
    trial.at = "3.3.22"
    seen = set()
    sizes = ends_of("int", domain)[:2]
    for size in sizes:
        await talk.ask(f"ggp-new {game} size={size}")
        answer = await talk.ask("ggp-scene" if "ggp-scene" in trial.commands else "ggp-legal_moves")
        seen.add(answer.text)
    trial.hold("3.3.22", len(seen) == len(sizes), "another board for another size")


async def _texts(trial: Trial, talk: Talk, game: str) -> None:
    if "ggp-rules" in trial.commands:
        trial.at = "3.3.19"
        answer = await talk.ask(f"ggp-rules {game}")
        trial.hold("3.3.19", answer.ok and len(answer.text) > 20, "the rules")
    if "ggp-playouts" in trial.commands:
        trial.at = "3.3.20"
        await talk.ask(f"ggp-new {game}")
        before = await _present(talk)
        answer = await talk.ask("ggp-playouts 2 7")
        trial.hold("3.3.20", answer.ok and adds_up(answer.text, 2), "games=2 and as many wins and draws")
        trial.hold("3.3.20", await _present(talk) == before, "the position as it was before the playouts")


async def views(trial: Trial) -> None:
    """GTP's commands on the same state."""
    talk = await trial.talk()
    for line in trial.games:
        trial.at, trial.where = "3.4.2", line
        if not (await talk.ask(f"ggp-new {line}")).ok:
            continue
        at_first = await _present(talk)
        move = (await talk.ask("ggp-legal_moves")).text.split(" ")[0]
        if trial.wants("3.4.3") and _has(trial, "3.4.3", "play", "undo"):
            await _play_and_undo(trial, talk, move, at_first)
        if _has(trial, "3.4.2", "clear_board"):
            trial.at = "3.4.2"
            await talk.ask(f"ggp-play black {move}")
            answer = await talk.ask("clear_board")
            same = await _present(talk) == at_first
            trial.hold("3.4.2", answer.ok and answer.text == "" and same, "an empty success, and the game as it began")
        if _has(trial, "3.4.4", "komi"):
            trial.at = "3.4.4"
            for number in ("7", "0", "6.5", "-3.5", "1e1"):
                trial.hold("3.4.4", (await talk.ask(f"komi {number}")).ok, "a success")
            for word in ("many", ""):
                trial.hold("3.4.4", not (await talk.ask(f"komi {word}")).ok, "a failure: that is no number")
        if _has(trial, "3.4.6", "showboard"):
            trial.at = "3.4.6"
            trial.hold("3.4.6", (await talk.ask("showboard")).text.strip() != "", "a board")
        if _has(trial, "3.4.1", "final_score"):
            trial.at = "3.4.1"
            answer = await talk.ask("final_score")
            right = is_result(answer.text) if answer.ok else answer.text == "cannot score"
            trial.hold("3.4.1", right, "a result for the position as it stands, or `? cannot score`")
        await _sizes(trial, talk, line)
        await _only_for_go(trial, talk, line.split(" ")[0])


async def _play_and_undo(trial: Trial, talk: Talk, move: str, at_first: tuple[str, ...]) -> None:
    trial.at = "3.4.3"
    status = read_status(at_first[0])
    seat = "1" if isinstance(status, str) else str(status.seat)
    answer = await talk.ask(f"play b {move}")
    trial.hold("3.4.3", answer.ok and answer.text == "", "an empty success")
    history = await talk.ask("ggp-history")
    trial.hold("3.4.3", history.text == f"{seat} black {move}", f"`= {seat} black {move}`")
    answer = await talk.ask("undo")
    right = answer.ok and await _present(talk) == at_first
    trial.hold("3.4.3", right, "an empty success, and the game as it began")


async def _sizes(trial: Trial, talk: Talk, line: str) -> None:
    if not _has(trial, "3.4.5", "boardsize"):
        return
    trial.at = "3.4.5"
    await talk.ask(f"ggp-new {line}")
    before = await _present(talk)
    answer = await talk.ask("boardsize 1000")
    refused = not answer.ok and answer.text == "unacceptable size"
    trial.hold("3.4.5", refused and await _present(talk) == before, "`? unacceptable size`, and the game goes on")
    if "gogui-rules_board_size" in trial.commands and await has_sizes(talk, line.split(" ")[0]):
        size = (await talk.ask("gogui-rules_board_size")).text.split(" ")[0]
        trial.hold("3.4.5", (await talk.ask(f"boardsize {size}")).ok, f"a success: the board's size is {size}")


async def _only_for_go(trial: Trial, talk: Talk, game: str) -> None:
    trial.at = "3.4.7"
    for line in ("fixed_handicap 2", "set_free_handicap D4 E5", "loadsgf /nonexistent.sgf"):
        if line.split()[0] in trial.commands and game != "go":
            trial.hold("3.4.7", not (await talk.ask(line)).ok, f"a failure: {game} is not go")
    trial.omit("it lists none of them, or go only", "3.4.7")


async def sessions(trial: Trial) -> None:
    """Two connections to one service."""
    if not trial.remote:
        return trial.omit("a process has one session; --connect checks a service", "7.1.1")
    trial.at = "7.1.1"
    one = await trial.talk()
    await one.ask(f"ggp-new {trial.games[0]}")
    other = trial.start()
    try:
        two = Talk(other.channel.transport, trial.patience, trial.first)
        answer = await two.ask("ggp-status")
        trial.hold("7.1.1", not answer.ok, "`? no game: use ggp-new`, from a second connection")
        await two.ask(f"ggp-new {trial.games[-1]}")
        move = (await two.ask("ggp-legal_moves")).text.split(" ")[0]
        await two.ask(f"ggp-play black {move}")
        answer = await one.ask("ggp-history")
        trial.hold("7.1.1", answer.ok and answer.text == "", "an empty history: the move was the other session's")
    finally:
        await other.stop()
    return None


async def _present(talk: Talk) -> tuple[str, ...]:
    """The game at hand."""
    return tuple([(await talk.ask(line)).text for line in ("ggp-status", "ggp-history", "ggp-legal_moves")])


def _has(trial: Trial, number: str, *names: str) -> bool:
    missing = [name for name in names if name not in trial.commands]
    if missing:
        trial.omit(f"it lists no {missing[0]}", number)
    return not missing


SCRIPTS = {"walk": walk, "options": options, "views": views, "sessions": sessions}
