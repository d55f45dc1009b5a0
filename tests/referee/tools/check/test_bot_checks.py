"""`ggp check` on native and plain bots: correct bots pass, and for every step a bot with one mistake fails."""

import re
from collections.abc import Callable

import pytest

from ggp.protocol.commands import Who
from ggp.protocol.conformance import CheckVerdict, catalogue
from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import Handler
from ggp.referee.tools.check.report import loses_games, to_change, usable
from tests.referee.tools.check.test_engine_checks import answers, refuses, says
from tests.support.checked_peer import Mistake, bot_peer, failing, judged, plain_peer
from tests.support.cli import ggp_in_process
from tests.support.memory_match import MemoryPeer

GAME = ("yugo size=3",)
STEPS = ("4.1", "4.2", "5.1", "5.2")


def second(name: str, text: str) -> Mistake:
    """From its second answer in a game on, it says something else."""

    def mistake(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
        turns = [0]

        def new(arguments: list[str]) -> str:
            turns[0] = 0
            return handlers["ggp-new"](arguments)

        def handler(arguments: list[str]) -> str:
            turns[0] += 1
            return text if turns[0] > 1 else handlers[name](arguments)

        return {"ggp-new": new, name: handler}

    return mistake


def keeps_the_game(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
    """ggp-new in the middle of a game of one move is said to be done, and is not."""
    played = [0]

    def new(arguments: list[str]) -> str:
        if played[0] == 1:
            return ""
        played[0] = 0
        return handlers["ggp-new"](arguments)

    def genmove(arguments: list[str]) -> str:
        played[0] += 1
        return handlers["genmove"](arguments)

    return {"ggp-new": new, "genmove": genmove}


def seedless(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
    """It plays another move in every process."""
    games.append(1)
    return {"genmove": second("genmove", f"R{len(games)}")(handlers)["genmove"]} if len(games) % 2 else {}


games: list[int] = []


def loud(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
    """A failed play plays something."""

    def play(arguments: list[str]) -> str:
        if "no-such-move" in arguments:
            handlers["play"](["black", "A1"])
            raise CommandFailed("illegal move")
        return handlers["play"](arguments)

    return {"play": play}


Mistakes = dict[str, tuple[Mistake, set[str]]]
NATIVE: Mistakes = {
    "4.1.4": (refuses("ggp-new", "yugo"), {"4.1.4", "4.1.1", "4.1.5"}),
    "4.1.5": (answers("ggp-games", lambda text: text + "\nchess"), {"4.1.5"}),
    "4.2.1": (second("genmove", "two words"), {"4.2.1"}),
    "4.2.2": (second("genmove", "Z9"), {"4.2.2"}),
    "4.2.3": (refuses("play", "pass", "button"), {"4.2.3"}),
    "4.2.7": (lambda handlers: {"undo": lambda arguments: ""}, {"4.2.7"}),
    "4.2.8": (loud, {"4.2.8"}),
    "4.2.10": (refuses("ggp-result"), {"4.2.10"}),
    "4.2.11": (says("ggp-genmove_analyze", "A1\n{"), {"4.2.11"}),
    "4.2.13": (answers("play", lambda text: "ok"), {"4.2.13"}),
    "5.1.1": (refuses("ggp-clock", "moves=40"), {"5.1.1"}),
}
PLAIN: Mistakes = {
    "4.2.12": (says("final_status_list", "no stones are dead"), {"4.2.12"}),
}
ELSEWHERE = {"4.2.4", "4.2.5", "4.2.6", "4.2.9", "5.1.2", "5.2.1", "5.2.2", "5.2.3"}


@pytest.mark.parametrize(("start", "mistakes", "games"), [(bot_peer, NATIVE, GAME), (plain_peer, PLAIN, ())])
def test_a_right_bot_passes(start: Callable[[], MemoryPeer], mistakes: Mistakes, games: tuple[str, ...]) -> None:
    found = judged(start, Who.BOT, *STEPS, games=games)
    assert [one for one in found if one.verdict is CheckVerdict.FAIL] == []
    assert {one.check.number for one in found if one.verdict is CheckVerdict.PASS} >= set(mistakes)


@pytest.mark.parametrize("number", [*NATIVE, *PLAIN])
def test_a_bot_with_one_mistake_fails_its_step(number: str) -> None:
    native = number in NATIVE
    mistake, expected = (NATIVE if native else PLAIN)[number]
    assert number in expected
    start, games = (bot_peer, GAME) if native else (plain_peer, ())
    assert failing(lambda: start(mistake), Who.BOT, *STEPS, games=games) == expected


def test_a_failed_preparation_leaves_steps_untried_and_names_the_cause() -> None:
    """Seven steps failed of a bot that refused `komi`, with advice about ids, order, flushing and reading."""
    found = judged(lambda: plain_peer(refuses("komi", text="unknown command")), Who.BOT, "2", "4", "5")
    assert {one.check.number for one in found if one.verdict is CheckVerdict.FAIL} == {"2.7.2", "4.1.4"}
    assert next(one.remedy for one in found if one.check.number == "4.1.4") == "accept `komi 7`"
    untried = {one.check.number: one.note for one in found if one.verdict is CheckVerdict.NOT_TRIED}
    assert set(untried) >= {"2.3.11", "2.4.3", "2.6.2", "2.7.3", "4.2.1", "4.2.2", "4.2.5", "4.2.6", "5.1.1"}
    assert set(untried.values()) == {"komi is unknown"}
    assert not usable(found)
    assert [line for line in to_change(found) if "komi is unknown" in line] == [
        f"not tried: komi is unknown: {' '.join(untried)}"
    ]


def test_a_plain_bot_that_lists_no_komi_plays_without_it() -> None:
    found = judged(lambda: plain_peer(lambda handlers: {"komi": None}), Who.BOT, "2", "4", "5")
    assert {one.check.number for one in found if one.verdict is CheckVerdict.FAIL} == {"4.0.7"}
    assert [(one.check.number, one.note) for one in found if one.verdict is CheckVerdict.NOT_TRIED] == [
        ("2.7.2", "komi is unknown")
    ]
    assert usable(found)


def test_a_program_without_known_command_fails_the_steps_about_it_alone() -> None:
    def out(data: bytes) -> bytes:
        return re.sub(rb"(?m)^=(\d*) (true|false)$", rb"?\1 ???", data).replace(b"known_command\n", b"")

    found = judged(lambda: plain_peer(out=out), Who.BOT, "2", "4.0")
    assert {one.check.number for one in found if one.verdict is CheckVerdict.FAIL} == {"2.5.1"}
    untried = {one.check.number: one.note for one in found if one.verdict is CheckVerdict.NOT_TRIED}
    assert set(untried) >= {"2.1.7", "2.5.3", "2.5.7"} and {*untried.values()} == {"known_command is unknown"}
    assert usable(found)


def test_a_bot_that_never_moves_passes_the_steps_on_reading() -> None:
    found = judged(lambda: bot_peer(refuses("genmove")), Who.BOT, "4.2", games=GAME)
    assert {one.check.number for one in found if one.verdict is CheckVerdict.FAIL} == {"4.2.1", "4.2.8"}
    assert usable(found) and loses_games(found)


def test_every_step_of_bots_has_a_failing_bot() -> None:
    assert {check.number for check in catalogue(Who.BOT) if check.script and check.number[0] != "2"} <= set(
        NATIVE
    ) | set(PLAIN) | ELSEWHERE


def test_phases_other_than_play_are_checked() -> None:
    for game in ("laido size=3", "go size=5 agreement=on"):
        found = judged(bot_peer, Who.BOT, "4.2", games=(game,))
        assert [one for one in found if one.verdict is CheckVerdict.FAIL] == [], game
    found = judged(bot_peer, Who.BOT, "4.2.4", games=("stigmergy size=3",))
    assert [one.verdict for one in found] == [CheckVerdict.PASS]
    mistake = answers("genmove", lambda text: "C3" if text.startswith(("bid", "keep", "swap")) else text)
    assert failing(lambda: bot_peer(mistake), Who.BOT, "4.2", games=("stigmergy size=3",)) >= {"4.2.4"}


def test_a_new_game_in_the_middle_of_one() -> None:
    assert "4.2.5" in failing(lambda: bot_peer(keeps_the_game), Who.BOT, "4.2.5", "4.2.6", games=GAME)


def test_a_plain_bot_names_the_dead_of_a_divided_board() -> None:
    """GNU Go takes 12 s of CPU for an empty one of 9x9, and then is late on a busy machine: a false alarm."""

    def divided(handlers: dict[str, Handler]) -> dict[str, Handler | None]:
        played: list[list[str]] = []

        def play(arguments: list[str]) -> str:
            played.append(arguments)
            return handlers["play"](arguments)

        def clear(arguments: list[str]) -> str:
            played.clear()
            return handlers["clear_board"](arguments)

        def dead(arguments: list[str]) -> str:
            return "" if len(played) == 2 * 9 + 2 else "no"

        return {"play": play, "clear_board": clear, "final_status_list": dead}

    found = judged(lambda: plain_peer(divided), Who.BOT, "4.2.12")
    assert [one.verdict for one in found] == [CheckVerdict.PASS]


@pytest.mark.parametrize(("said", "number"), [(b"thinking\n= ", "2.3.5"), (b"=98 ", "2.2.10")], ids=["junk", "an id"])
def test_a_mistake_in_the_answer_to_genmove_fails_its_step(said: bytes, number: str) -> None:
    """The steps of framing ask no bot for a move; the controller of a match would meet it there."""

    def out(data: bytes) -> bytes:
        return re.sub(rb"\A= (?=[A-Z]\d+\n)", said, data)

    assert failing(lambda: bot_peer(out=out), Who.BOT, "2.2.1", "2.2.10", "2.3.5", "4.2", games=GAME) == {number}


def test_two_commands_in_one_write() -> None:
    """Whoever reads a line a read loses the second."""

    def start() -> MemoryPeer:
        peer = bot_peer()
        answer = peer.channel.transport.answer  # type: ignore[attr-defined]
        peer.channel.transport.answer = lambda data: answer(data.split(b"\n")[0] + b"\n")  # type: ignore[attr-defined]
        return peer

    assert failing(start, Who.BOT, "4.2.6", games=GAME) == {"4.2.6"}


def test_a_seed_that_changes_nothing() -> None:
    games.clear()
    assert failing(lambda: bot_peer(seedless), Who.BOT, "4.2.9", games=GAME) == {"4.2.9"}


@pytest.mark.parametrize(
    ("number", "seconds"), [("5.1.2", 1.2), ("5.2.1", 61.0), ("5.2.2", 31.0)], ids=["move", "start", "game"]
)
def test_a_slow_bot_fails_its_steps(number: str, seconds: float) -> None:
    assert failing(lambda: bot_peer(seconds=seconds), Who.BOT, number, games=GAME) == {number}
    assert failing(bot_peer, Who.BOT, number, games=GAME) == set()


def test_the_sandbox_without_a_level_is_the_usual_one() -> None:
    ran = ggp_in_process("check", "--sandbox", "--", "./no-such-bot")
    assert ran.status == 2 and "./no-such-bot" in ran.err and "--sandbox" not in ran.err, ran
