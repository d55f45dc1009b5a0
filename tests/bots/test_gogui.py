"""A bot under `--gogui`: it begins with its game, rules it, and answers genmove by points and passes."""

import random
import subprocess
import sys
from collections.abc import Callable

import pytest

from ggp.bots.gogui import split_words
from ggp.bots.sdk import Bot, Choose, Position
from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import Responder
from tests.engines.test_gogui import STARTS
from tests.support.memory_session import MemorySession

LOOKS = ("board", "legal_moves", "side_to_move", "final_result", "captured_count", "board_gfx", "game_id", "board_size")


class GoguiProgram:
    """A bot as GoGui has it: lines in, texts of successes out."""

    def __init__(self, game: str, choose: Choose) -> None:
        self.bot = Bot(choose, game=game.split())
        self._responder = Responder("program", "1", self.bot.handlers())

    def answer(self, line: str) -> str:
        self._responder.receive(line.encode() + b"\n")
        answer = self._responder.next_answer()
        assert answer is not None
        return answer.decode().removesuffix("\n\n")

    def __call__(self, line: str) -> str:
        answer = self.answer(line)
        assert answer.startswith("="), f"{line} was refused: {answer}"
        return answer[2:]

    def history(self) -> list[str]:
        assert self.bot.line
        return [f"{colour} {move}" for _, colour, move in self.bot.line.plies]


def at_random(seed: str) -> Choose:
    chance = random.Random(seed)
    return lambda position: chance.choice(position.legal_moves())


def first_of(*moves: str) -> Choose:
    """The first of these that is legal, else the first legal one."""

    def choose(position: Position) -> str:
        legal = position.legal_moves()
        return next((move for move in moves if move in legal), legal[0])

    return choose


def view(peer: Callable[[str], str]) -> list[str]:
    return [peer(f"gogui-rules_{look}") for look in LOOKS]


@pytest.mark.parametrize("colour", ["black", "white"])
@pytest.mark.parametrize(
    "start",
    [
        pytest.param(start, marks=[pytest.mark.slow] if start.startswith("taigo") else [])
        for start, games in STARTS.items()
        if games > 1
    ],
)
def test_a_person_plays_a_bot_with_an_engine_as_ruler(start: str, colour: str) -> None:
    """What GoGui does: the person's click and the bot's go to both, which see the same board all the time."""
    chance = random.Random(start)
    ruler, bot = MemorySession(start, gogui=True), GoguiProgram(start, at_random(start + colour))
    assert view(bot) == view(ruler)
    while legal := ruler("gogui-rules_legal_moves").split():
        side = ruler("gogui-rules_side_to_move")
        if side == colour:
            answer = bot.answer(f"genmove {side}")
            if answer.startswith("? the bot swapped sides"):
                answer = bot.answer(f"genmove {side}")
            move = answer.removeprefix("= ")
            assert move in legal, answer
        else:
            move = chance.choice(legal)
            bot(f"play {side} {move}")
        ruler(f"play {side} {move}")
        assert view(bot) == view(ruler)
    assert [ply.partition(" ")[2] for ply in ruler("ggp-history").split("\n")] == bot.history()
    assert bot(f"genmove {colour}") == "pass"


def test_a_compound_move_is_chosen_once_and_entered_click_by_click() -> None:
    asked = 0

    def choose(position: Position) -> str:
        nonlocal asked
        asked += 1
        return first_of("D4+D3")(position)

    bot = GoguiProgram("taugo size=8 pie=off", choose)
    bot("gogui-play_sequence b D5 b pass w B2 w pass")
    assert [bot("genmove b") for _ in range(3)] == ["D4", "D3", "pass"]
    assert bot.history()[-1] == "black D4+D3" and asked == 1


def test_it_ends_a_turn_that_a_person_began() -> None:
    bot = GoguiProgram("taigo", first_of())
    bot("play b AA25")
    clicks = []
    while bot("gogui-rules_side_to_move") == "black":
        clicks.append(bot("genmove b"))
    assert clicks[-1] == "pass" and len(bot.history()) == 1 and "0,-1" in bot.history()[0]


def test_undo_in_the_middle_of_its_turn_has_it_choose_again() -> None:
    bot = GoguiProgram("taigo", at_random("undo"))
    first = bot("genmove b")
    bot("undo")
    assert bot("gogui-rules_legal_moves") == MemorySession("taigo", gogui=True)("gogui-rules_legal_moves")
    bot(f"play b {first}")
    while bot("gogui-rules_side_to_move") == "black":
        bot("genmove b")
    assert len(bot.history()) == 1


def test_after_its_own_swap_it_says_once_that_the_person_moves() -> None:
    bot = GoguiProgram("laido size=3", first_of("swap-sides"))
    bot("play b C3")
    assert bot("genmove w") == "C3"
    assert bot.answer("genmove w") == (
        "? the bot swapped sides and is now Black: set Game > Computer Color > Black, and make your move"
    )
    assert bot.history() == ["black C3", "white swap-sides"]
    assert bot("genmove w") != "C3"  # a person who asks for it again gets a move


def test_it_plays_on_after_a_person_swapped() -> None:
    bot = GoguiProgram("laido size=3", first_of("C3"))
    assert bot("genmove b") == "C3"
    bot("play w C3")
    assert bot("genmove w") == "A3"


def test_bids_are_rows_and_sides_are_a_click_or_a_pass() -> None:
    bot = GoguiProgram("stigmergy size=3", first_of("bid:4"))
    assert bot("genmove b")[1] == "4" and bot.history() == ["black bid:4"]
    high = GoguiProgram("stigmergy size=3", first_of("bid:17"))
    high("genmove b")
    assert high.history() == ["black bid:5"]  # GoGui's board has no more rows
    for word, played in (("keep-sides", "pass"), ("swap-sides", "")):
        second = GoguiProgram("stigmergy size=3", first_of(word))
        second("play b A3")
        answer = second("genmove w")
        assert answer == (played or answer) and second.history() == ["black bid:3", f"white {word}"]
    assert second.answer("genmove b").startswith("= ")  # black is its own colour now


def test_words_that_a_pass_means() -> None:
    bot = GoguiProgram("yugo size=3 agreement=on", first_of("button", "pass", "dead:"))
    assert [bot(f"genmove {colour}") for colour in "bwbwb"] == ["pass"] * 5
    assert bot.history()[0] == "black button" and bot("gogui-rules_final_result").startswith("W+")
    lists = GoguiProgram("go size=3 agreement=on", lambda position: "dead:B2" if position.phase == "agree" else "pass")
    lists("play b B2")
    for colour in ("w", "b", "w"):
        assert lists(f"genmove {colour}") == "pass"
    assert lists.history()[-1] == "white dead:"


def test_the_komi_of_the_command_line_holds() -> None:
    bot = GoguiProgram("yugo size=3 komi=3", first_of())
    bot("komi 6.5")
    bot("clear_board")
    assert bot.answer("komi much").startswith("? syntax error")
    assert bot.bot.line and bot.bot.line.options["komi"] == 3
    bid = GoguiProgram("stigmergy size=3", first_of("bid:2"))
    bid("komi 0")
    assert bid("genmove b")[1] == "2"


def test_illegal_moves_and_resignations() -> None:
    assert GoguiProgram("yugo", lambda position: "resign")("genmove b") == "resign"
    bot = GoguiProgram("yugo", lambda position: "Z99")
    assert bot.answer("genmove b").startswith("? the bot chose an illegal move, 'Z99'")
    assert bot.answer("genmove").startswith("? syntax error") and bot.answer("genmove w").startswith("? ")
    assert bot.history() == []


def test_without_gogui_a_bot_of_go_answers_for_its_board() -> None:
    bot = Responder("bot", "1", Bot(first_of()).handlers())
    bot.receive(b"boardsize 5\nplay b C3\ngogui-rules_game_id\ngogui-rules_board\ngogui-analyze_commands\n")
    answers = [(bot.next_answer() or b"").decode() for _ in range(5)]
    assert answers[2:4] == ["= Go\n\n", "= .....\n.....\n..X..\n.....\n.....\n\n"]
    assert "ggp-" not in answers[4] and "play" not in answers[4]


def test_words_of_a_command_line() -> None:
    assert split_words(["playouts=3"]) == (["playouts=3"], ())
    assert split_words(["a=1", "--gogui", "yugo", "size=9"]) == (["a=1"], ("yugo", "size=9"))
    assert split_words(["--gogui", "go", "--", "sh", "--gogui", "x"]) == (["--", "sh", "--gogui", "x"], ("go",))
    assert split_words(["--", "sh", "--gogui"]) == (["--", "sh", "--gogui"], ())
    with pytest.raises(ValueError, match="--gogui"):
        split_words(["--gogui"])
    with pytest.raises(CommandFailed):
        Bot(first_of(), game=["chess"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("random --gogui", "--gogui needs a game, as in --gogui yugo size=9"),
        ("random --gogui yugo size=99", "size"),
        ("random --gogui chess", "chess"),
    ],
)
def test_an_invalid_game_is_reported_at_the_start(words: str, said: str) -> None:
    command = [sys.executable, "-P", "-m", "ggp.bots", *words.split()]
    done = subprocess.run(command, input="", capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
def test_every_built_in_bot_is_a_ruler_of_the_game_that_it_is_given() -> None:
    asked = "gogui-rules_game_id\ngogui-rules_board_size\ngogui-rules_legal_moves\ngenmove b\nquit\n"
    for bot in ("random", "greedy playouts=1", "mcts playouts=5", "oneshot"):
        program = ["--", "echo", "B2"] if bot == "oneshot" else []
        command = [sys.executable, "-P", "-m", "ggp.bots", *bot.split(), "--gogui", "laido", "size=2", *program]
        done = subprocess.run(command, input=asked, capture_output=True, encoding="utf-8", timeout=60)
        answers = done.stdout.split("\n\n")
        assert answers[:3] == ["= Laido", "= 3 hex", "= A2 A3 B1 B2 B3 C1 C2"], done
        assert answers[3].removeprefix("= ") in answers[2].split()
