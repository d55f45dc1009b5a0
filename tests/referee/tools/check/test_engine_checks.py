"""`ggp check` on engines: ours pass, and for every step an engine with one mistake fails."""

import json
import re
from collections.abc import Callable

import pytest

from ggp.engines.game import Game
from ggp.engines.registry import Registry
from ggp.protocol.commands import Who
from ggp.protocol.conformance import CheckVerdict, catalogue
from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import Handler
from tests.support.checked_peer import Mistake, engine_peer, failing, judged
from tests.support.memory_match import MemoryPeer
from tests.third_party import auction, pie, tictactoe

GAME = "yugo size=3"
STEPS = ("2.4", "2.6", "2.7", "3.2", "3.3", "3.4")
Change = Callable[[str], str]


def answers(name: str, change: Change) -> Mistake:
    """The command's answer is changed."""
    return lambda handlers: {name: lambda arguments: change(handlers[name](arguments))}


def says(name: str, text: str) -> Mistake:
    return answers(name, lambda said: text)


def hears(name: str, change: Callable[[list[str]], list[str]]) -> Mistake:
    """The command acts on other arguments than it was given."""
    return lambda handlers: {name: lambda arguments: handlers[name](change(arguments))}


def both(*mistakes: Mistake) -> Mistake:
    return lambda handlers: {name: new for mistake in mistakes for name, new in mistake(handlers).items()}


def forgives(name: str, text: str = "") -> Mistake:
    """What should be refused is said to be done."""

    def mistake(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
        def handler(arguments: list[str]) -> str:
            try:
                return handlers[name](arguments)
            except CommandFailed:
                return text

        return {name: handler}

    return mistake


def refuses(name: str, *words: str, text: str = "no") -> Mistake:
    """Refused if the arguments hold one of the words; always, without words. Or for another text."""

    def mistake(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
        def handler(arguments: list[str]) -> str:
            if not words or set(words) & {*arguments}:
                raise CommandFailed(text)
            return handlers[name](arguments)

        return {name: handler}

    return mistake


def other_words(name: str, text: str) -> Mistake:
    """Failures have another text."""

    def mistake(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
        def handler(arguments: list[str]) -> str:
            try:
                return handlers[name](arguments)
            except CommandFailed:
                raise CommandFailed(text) from None

        return {name: handler}

    return mistake


def clumsy(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
    """An illegal move takes the last one back."""

    def handler(arguments: list[str]) -> str:
        try:
            return handlers["ggp-play"](arguments)
        except CommandFailed:
            if handlers["ggp-history"]([]).count("\n") > 3:
                handlers["ggp-undo"]([])
            raise

    return {"ggp-play": handler}


def forgetful(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
    """Every other game has other hashes."""
    games: list[int] = []

    def new(arguments: list[str]) -> str:
        games.append(1)
        return handlers["ggp-new"](arguments)

    def digits(arguments: list[str]) -> str:
        text = handlers["ggp-hash"](arguments)
        return text if len(games) % 2 else text[::-1]

    return {"ggp-new": new, "ggp-hash": digits}


def lower(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
    """Moves in lower case are illegal."""

    def handler(arguments: list[str]) -> str:
        if any(re.fullmatch("[a-z][0-9]+", word) for word in arguments):
            raise CommandFailed("illegal move")
        return handlers["ggp-play"](arguments)

    return {"ggp-play": handler}


def any_colour(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
    """It says whose turn it is, and accepts a move of either side."""

    def handler(arguments: list[str]) -> str:
        turn = re.search("to_play=(black|white)", handlers["ggp-status"]([]))
        return handlers["ggp-play"]([turn[1], *arguments[1:]] if turn else arguments)

    return {"ggp-play": handler}


def undo_leaves_one(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
    def handler(arguments: list[str]) -> str:
        if arguments and handlers["ggp-history"]([]).count("\n") == int(arguments[0]) - 1 > 0:
            return handlers["ggp-undo"]([str(int(arguments[0]) - 1)])
        return handlers["ggp-undo"](arguments)

    return {"ggp-undo": handler}


def undo_all(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
    """More than there are: all are taken back."""

    def handler(arguments: list[str]) -> str:
        try:
            return handlers["ggp-undo"](arguments)
        except CommandFailed:
            lines = [line for line in handlers["ggp-history"]([]).split("\n") if line]
            return handlers["ggp-undo"]([str(len(lines))]) if lines else handlers["ggp-undo"](["1"])

    return {"ggp-undo": handler}


def keeps_stones(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
    """clear_board leaves what there is, once there is something."""
    return {"clear_board": lambda arguments: ""}


def after_the_end(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
    """There is always a legal move, even when the game is over."""
    return {"ggp-legal_moves": lambda arguments: handlers["ggp-legal_moves"](arguments) or "pass"}


def loose_new(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
    """What it cannot read in ggp-new it takes for the default."""

    def handler(arguments: list[str]) -> str:
        try:
            return handlers["ggp-new"](arguments)
        except CommandFailed:
            return handlers["ggp-new"](arguments[:1])

    return {"ggp-new": handler}


def turned(text: str) -> str:
    return " ".join(reversed(text.split(" ")))


def final(said: str) -> str:
    return json.dumps({**json.loads(said), "final": "perhaps"})


MISTAKES: dict[str, tuple[Mistake, set[str]]] = {
    "2.4.2": (other_words("boardsize", "too large"), {"2.4.2", "3.4.5"}),
    "2.4.3": (other_words("play", "no"), {"2.4.3"}),
    "2.4.4": (other_words("undo", "nothing to undo"), {"2.4.4"}),
    "2.6.2": (refuses("play", "BLACK", text="illegal move"), {"2.6.2"}),
    "2.6.3": (refuses("play", "a1", text="illegal move"), {"2.6.3"}),
    "2.6.4": (hears("play", lambda words: [words[0], words[1].replace("I5", "A1")]), {"2.6.4"}),
    "2.6.5": (hears("play", lambda words: [words[0], words[1].replace("resign", "A1")]), {"2.6.5"}),
    "2.7.1": (refuses("boardsize", "3"), {"2.7.1", "3.4.5"}),
    "2.7.2": (refuses("komi", "-3.5"), {"2.7.2", "3.4.4"}),
    "2.7.3": (keeps_stones, {"2.7.3", "3.4.2"}),
    "3.2.1": (answers("ggp-undo", lambda text: text.replace("phase=", "phase ")), {"3.2.1"}),
    "3.2.2": (answers("ggp-new", lambda text: text.replace("ply=0", "ply=1")), {"3.2.2", "3.2.3"}),
    "3.2.3": (answers("ggp-play", lambda text: text.replace("ply=3", "ply=4")), {"3.2.3"}),
    "3.2.4": (answers("ggp-play", lambda text: text.replace("result=", "outcome=")), {"3.2.4"}),
    "3.2.5": (answers("ggp-status", lambda text: text + " mood=good"), {"3.2.5"}),
    "3.3.1": (answers("ggp-play", lambda text: text.replace("move=A", "move=a")), {"3.3.1", "3.3.7"}),
    "3.3.2": (lower, {"3.3.2"}),
    "3.3.3": (any_colour, {"3.3.3"}),
    "3.3.4": (answers("ggp-legal_moves", turned), {"3.3.4"}),
    "3.3.5": (answers("ggp-legal", lambda text: text.replace("true", "false")), {"3.3.5"}),
    "3.3.6": (clumsy, {"3.3.6"}),
    "3.3.7": (answers("ggp-history", lambda text: text.replace("1 black", "2 black")), {"3.3.7", "3.4.3"}),
    "3.3.8": (answers("ggp-hash", lambda text: text.upper() + "0"), {"3.3.8"}),
    "3.3.9": (undo_leaves_one, {"3.3.9", "3.3.10"}),
    "3.3.10": (undo_all, {"3.3.10"}),
    "3.3.11": (forgetful, {"3.3.11", "3.3.9"}),
    "3.3.12": (answers("ggp-score", final), {"3.3.12"}),
    "3.3.13": (answers("ggp-scene", lambda text: text[:-1]), {"3.3.13"}),
    "3.3.14": (says("ggp-perft", "1"), {"3.3.14"}),
    "3.3.15": (after_the_end, {"3.3.15"}),
    "3.3.16": (answers("ggp-options", lambda text: text.replace("int", "integer")), {"3.3.16"}),
    "3.3.17": (refuses("ggp-new", "size=2"), {"3.3.17"}),
    "3.3.18": (loose_new, {"3.3.18"}),
    "3.3.19": (says("ggp-rules", ""), {"3.3.19", "3.3.23"}),
    "3.3.20": (answers("ggp-playouts", lambda text: text.replace("games=2", "games=3")), {"3.3.20"}),
    "3.3.22": (
        hears("ggp-new", lambda words: words[:1] if words[1:] in (["size=2"], ["size=25"]) else words),
        {"3.3.22"},
    ),
    "3.3.23": (hears("ggp-rules", lambda words: words[:1]), {"3.3.23"}),
    "3.4.1": (answers("final_score", lambda text: text + ".0"), {"3.4.1"}),
    "3.4.2": (refuses("clear_board"), {"3.4.2", "2.7.1"}),
    "3.4.3": (answers("play", lambda text: "played"), {"3.4.3"}),
    "3.4.4": (refuses("komi", "1e1"), {"3.4.4"}),
    "3.4.5": (other_words("boardsize", "too large"), {"3.4.5", "2.4.2"}),
    "3.4.6": (says("showboard", ""), {"3.4.6"}),
    "3.4.7": (forgives("fixed_handicap"), {"3.4.7"}),
}
# Those about all games or about go, and the one that needs a service.
ELSEWHERE = {"3.3.21", "2.4.5", "7.1.1"}


def test_a_right_engine_passes() -> None:
    found = judged(engine_peer, Who.ENGINE, *STEPS, games=(GAME,))
    assert [one for one in found if one.verdict is CheckVerdict.FAIL] == []
    passed = {one.check.number for one in found if one.verdict is CheckVerdict.PASS}
    assert passed >= set(MISTAKES)


@pytest.mark.parametrize("number", MISTAKES)
def test_an_engine_with_one_mistake_fails_its_step(number: str) -> None:
    mistake, expected = MISTAKES[number]
    assert number in expected
    assert failing(lambda: engine_peer(mistake), Who.ENGINE, *STEPS, games=(GAME,)) == expected


def test_every_step_of_engines_has_a_failing_engine() -> None:
    assert {check.number for check in catalogue(Who.ENGINE) if check.script and check.number[0] != "2"} <= set(
        MISTAKES
    ) | ELSEWHERE


def test_a_game_that_is_listed_must_begin() -> None:
    mistake = answers("ggp-games", lambda text: "chess\nyugo")
    assert "3.3.21" in failing(lambda: engine_peer(mistake), Who.ENGINE, "3.3.21")


def test_a_missing_file_cannot_be_loaded() -> None:
    mistake = other_words("loadsgf", "no such file")
    assert failing(lambda: engine_peer(mistake), Who.ENGINE, "2.4", games=("go size=5",)) == {"2.4.5"}
    assert failing(engine_peer, Who.ENGINE, "2.4", games=("go size=5",)) == set()


def test_games_with_a_single_board_may_refuse_every_boardsize() -> None:
    class Third(Registry):
        def names(self) -> list[str]:
            return [module.GAME.name for module in (auction, pie, tictactoe)]

        def load(self, name: str) -> Game:
            games: list[Game] = [auction.GAME, pie.GAME, tictactoe.GAME]
            return next(game for game in games if game.name == name)

    def start() -> MemoryPeer:
        return engine_peer(registry=Third())

    for name in Third().names():
        assert failing(start, Who.ENGINE, *STEPS, games=(name,)) == set(), name
