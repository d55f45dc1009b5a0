"""A bot made with the kit: what its function sees, and what it says when that function is wrong."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from ggp.bots.options import ScriptOptions, read_options
from ggp.bots.sdk import Bot, Choose, NoMove, Position
from ggp.engines.game import State
from ggp.protocol.commands import Who
from ggp.protocol.responder import Responder
from tests.support.checked_peer import failed_checks
from tests.support.cli import Client
from tests.support.raw_peer import RawPeer


class SdkTalk:
    """A bot without a process: lines in, answers out."""

    def __init__(
        self,
        choose: Choose,
        games: tuple[str, ...] = (),
        analysis: bool = False,
        seed: Callable[[int], object] | None = None,
    ) -> None:
        self.bot = Bot(choose, games=games, analysis=analysis, seed=seed)
        self._responder = Responder("talk", "1", self.bot.handlers())

    def __call__(self, line: str) -> str:
        self._responder.receive(line.encode() + b"\n")
        answer = self._responder.next_answer()
        assert answer is not None and self._responder.next_answer() is None
        return answer.decode().removesuffix("\n\n")


def first_legal(position: Position) -> str:
    return position.legal_moves()[0]


def saying(move: str) -> Choose:
    return lambda position: move


def test_it_plays_and_is_reported_moves() -> None:
    talk = SdkTalk(first_legal)
    assert talk("ggp-new yugo size=5 komi=0") == "="
    assert talk("genmove black") == "= A1"
    assert talk("play white a2") == "="
    assert talk("genmove b") == "= A3"
    line = talk.bot.line
    assert line and line.plies == [(1, "black", "A1"), (2, "white", "A2"), (1, "black", "A3")]


def test_the_position_tells_everything() -> None:
    seen: list[Position] = []

    def choose(position: Position) -> str:
        seen.append(position)
        return "C3"

    talk = SdkTalk(choose)
    talk("ggp-new yugo size=5")
    talk("play black B2")
    talk("ggp-clock black=100 white=20000 increment=10")
    assert talk("genmove white") == "= C3"
    (position,) = seen
    assert (position.colour, position.to_play, position.seat, position.ply) == ("white", "white", 2, 1)
    assert (position.game, position.options["size"], position.plies[0]) == ("yugo", 5, (1, "black", "B2"))
    assert position.clock == 20_000 and 0 < (position.budget or 0) < 2_000
    assert (position.phase, position.result, position.winner) == ("play", "", 0)


def test_a_position_is_a_state_of_its_own() -> None:
    seen: list[Position] = []

    def choose(position: Position) -> str:
        seen.append(position)
        bare: State = position.copy()
        assert position.play("d4") == "D4" and bare.ply == 1 and bare.play("D4") == "D4"
        same: State = position
        for state in (same, bare):
            assert state.ply == 2 and state.why_illegal("D4") and "D4" not in state.legal_moves()
            assert state.hash() == bare.hash() and state.perft(1) == len(state.legal_moves())
            assert state.score() == bare.score() and state.standing() == "0"
            assert state.scene() == bare.scene() and sorted(state.groups()) == [["C3"], ["D4"]]
            assert state.captured() == (0, 0) and sum(state.playouts(3, 1, "uniform")[1:]) == 3
        return "B2"

    talk = SdkTalk(choose)
    talk("ggp-new go size=5 komi=0")
    talk("play black C3")
    assert talk("genmove white") == "= B2"
    assert seen[0].colour == "white" and seen[0].to_play == "black"  # it played on, for itself only


def test_a_function_that_raises_refuses_and_shows_why(capsys: pytest.CaptureFixture[str]) -> None:
    def choose(position: Position) -> str:
        raise ZeroDivisionError("no time\n\nfor this")

    talk = SdkTalk(choose)
    talk("ggp-new yugo")
    place = f"({__file__}, line {choose.__code__.co_firstlineno + 1})"
    assert talk("genmove black") == f"? the bot failed: ZeroDivisionError: no time for this {place}"
    assert "Traceback" in capsys.readouterr().err
    assert talk.bot.line and not talk.bot.line.plies


@pytest.mark.parametrize(
    ("move", "reason"),
    [
        ("A1", "illegal move, 'A1': "),
        ("pass", "illegal move, 'pass': "),
        ("banana\n\n", "illegal move, 'banana\\\\n\\\\n': "),
        (None, "None, which is not text"),
        ("", "illegal move, '': "),
    ],
)
def test_an_illegal_move_is_not_sent(move: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    talk = SdkTalk(saying(move))
    talk("ggp-new yugo")
    talk("play black A1")
    answer = talk("genmove white")
    assert answer.startswith("? the bot chose ") and reason.replace("\\\\", "\\") in answer
    assert reason.replace("\\\\", "\\") in capsys.readouterr().err
    assert talk.bot.line and len(talk.bot.line.plies) == 1


def test_a_function_without_a_move_says_why_and_what_it_thought(capsys: pytest.CaptureFixture[str]) -> None:
    def choose(position: Position) -> str:
        position.analysis["tried"] = 3
        raise NoMove("three answers,\nno move")

    talk = SdkTalk(choose, analysis=True)
    talk("ggp-new yugo size=5")
    assert talk("genmove black") == "? three answers, no move"
    assert talk("ggp-genmove_analyze black") == '? three answers, no move\n{"tried": 3}'
    assert capsys.readouterr().err == 2 * "three answers, no move\n"
    assert talk("play black A1") == "="


def test_it_hears_of_games_and_their_results() -> None:
    heard: list[tuple[str, str]] = []
    bot = Bot(first_legal, told=lambda *words: heard.append(words))
    responder = Responder("talk", "1", bot.handlers())
    responder.receive(b"ggp-new yugo size=5\nggp-new yugo size=x\nggp-result B+1\n")
    while responder.next_answer():
        pass
    assert heard == [("ggp-new", "yugo size=5"), ("ggp-result", "B+1")]


def test_it_may_resign() -> None:
    talk = SdkTalk(saying("resign"))
    talk("ggp-new yugo")
    assert talk("genmove black") == "= resign"


def test_after_the_game_it_passes() -> None:
    talk = SdkTalk(first_legal)
    talk("ggp-new yugo size=3")
    for line in ("play black button", "play white pass", "play black pass"):
        assert talk(line) == "="
    assert [talk("genmove black"), talk("genmove white"), talk("ggp-result 0")] == ["= pass", "= pass", "="]


def test_dead_groups_are_asked_of_the_function() -> None:
    phases: list[str] = []

    def choose(position: Position) -> str:
        phases.append(position.phase)
        return "pass" if position.phase == "play" else "dead:c3"

    talk = SdkTalk(choose)
    talk("ggp-new go size=5 agreement=on")
    for line in ("play black C3", "genmove white", "play black pass"):
        talk(line)
    assert talk("genmove white") == "= dead:C3"
    assert talk("play black dead:C3") == "="
    assert phases == ["play", "agree"] and talk("final_status_list dead") == "= C3"


def test_it_plays_only_the_games_that_it_names() -> None:
    talk = SdkTalk(first_legal, games=("yugo",))
    assert talk("ggp-games") == "= yugo"
    assert talk("ggp-new go") == "? this bot plays yugo, not go"
    assert talk("ggp-new").startswith("? syntax error")
    assert talk("genmove black") == "? no game: use ggp-new"
    assert talk("boardsize 9") == "? no game: use ggp-new"
    assert set(SdkTalk(first_legal)("ggp-games")[2:].split()) >= {"go", "yugo"}


def test_a_refused_game_leaves_the_old_one() -> None:
    talk = SdkTalk(first_legal)
    talk("ggp-new yugo size=5")
    assert talk("ggp-new yugo size=99").startswith("? ")
    assert talk("ggp-new chess").startswith("? ")
    assert talk("genmove black") == "= A1" and talk.bot.line and talk.bot.line.options["size"] == 5


def test_it_plays_plain_gtp_as_gogui_speaks_it() -> None:
    talk = SdkTalk(first_legal)
    for line in ("boardsize 9", "clear_board", "komi 6.5", "time_settings 600 0 0", "play b E5"):
        assert talk(line) == "="
    assert talk("genmove w") == "= A1"
    assert talk("genmove w") == "= A2"  # out of turn, as plain GTP may
    assert talk("undo") == "=" and talk("undo") == "="
    assert talk("time_left b 30 0") == "=" and talk("time_left b soon 0").startswith("? syntax error")
    assert talk("final_score") == "= B+74.5" and talk("final_status_list dead") == "="
    assert "X" in talk("showboard")
    assert talk("boardsize 26") == "? unacceptable size"
    assert talk("clear_board") == "=" and set(talk("fixed_handicap 2").split()) == {"=", "C3", "G7"}
    assert talk.bot.line and talk.bot.line.game.name == "go"


def test_it_places_as_many_free_handicap_stones_as_it_is_asked_for() -> None:
    """GTP 2 draft 2, the tournament subset: at least two, fewer than the board has points, on an empty board."""
    talk = SdkTalk(first_legal)
    talk("boardsize 9")
    assert set(talk("place_free_handicap 4").split()) == {"=", "C3", "G3", "C7", "G7"}
    assert talk("showboard").count("X") >= 4 and talk("genmove white").startswith("= ") and talk("undo") == "="
    assert talk("place_free_handicap 4") == "? board not empty" and talk("undo") == "? cannot undo"
    talk("clear_board")
    for size, number in ((5, 3), (2, 3), (9, 80), (19, 12)):
        talk(f"boardsize {size}")
        points = talk(f"place_free_handicap {number}").split()[1:]
        assert len(set(points)) == len(points) == number
        talk("clear_board")
        assert talk(f"set_free_handicap {' '.join(points)}") == "=", "a controller tells the opponent so"
    for wrong in ("1", "0", "361", "9" * 400):
        talk("clear_board")
        assert talk(f"place_free_handicap {wrong}") == "? invalid number of stones"
    for wrong in ("", "two", "-2", "2 3", "2.0"):
        assert talk(f"place_free_handicap {wrong}").startswith("? syntax error")
    assert talk("play w A1") == "=" and talk("place_free_handicap 2") == "? board not empty"
    talk("ggp-new yugo")
    assert talk("place_free_handicap 2") == "? unknown command"


@pytest.mark.parametrize("chosen", ["pass", "resign", "Z99", "C3", "dead:"])
def test_what_is_no_free_point_is_replaced_where_handicap_stones_are_chosen(chosen: str) -> None:
    talk = SdkTalk(lambda position: chosen)
    talk("boardsize 7")
    points = talk("place_free_handicap 20").split()[1:]
    assert len(set(points)) == 20 and talk("known_command place_free_handicap") == "= true"


def test_reg_genmove_does_not_play_and_answers_the_same_again() -> None:
    """GTP 2 draft 2, the regression subset."""
    chance = Random()

    def choose(position: Position) -> str:
        return chance.choice(position.legal_moves())

    talk = SdkTalk(choose, seed=chance.seed)
    talk("boardsize 19")
    answers = {talk("reg_genmove b") for _ in range(20)}
    assert len(answers) == 1 and talk("undo") == "? cannot undo"
    assert talk("reg_genmove w") in answers, "out of turn, as genmove"
    talk("set_random_seed 7")
    answer = talk("reg_genmove b")
    assert talk("reg_genmove b") == answer not in answers
    talk("set_random_seed 7")
    assert talk("genmove b") == answer and talk("undo") == "="
    assert talk("reg_genmove").startswith("? syntax error")
    assert SdkTalk(lambda position: "resign")("reg_genmove b") == "= resign"
    assert SdkTalk(lambda position: "Z99")("reg_genmove b").startswith("? the bot chose an illegal move")
    assert SdkTalk(first_legal, games=("yugo",))("reg_genmove b") == "? no game: use ggp-new"


def test_yugo_is_never_played_out_of_turn() -> None:
    talk = SdkTalk(first_legal)
    talk("ggp-new yugo")
    assert talk("genmove white") == "? it is black's turn"
    assert talk("genmove").startswith("? syntax error") and talk("genmove pink").startswith("? syntax error")


def test_clocks_that_cannot_be_read_change_nothing() -> None:
    talk = SdkTalk(first_legal)
    assert talk("ggp-clock black=1000 white=2000") == "="
    assert talk("ggp-clock black=soon").startswith("? syntax error")
    assert talk.bot.times.left("black") == 1000


def test_analysis_goes_out_as_json_when_it_is_offered() -> None:
    def choose(position: Position) -> str:
        position.analysis.update(winrate=0.5, visits=3, best={"A1"})
        return "A1"

    talk = SdkTalk(choose, analysis=True)
    talk("ggp-new yugo")
    assert talk("ggp-genmove_analyze black").startswith('= A1\n{"winrate": 0.5, "visits": 3, "best": "')
    assert talk("ggp-genmove_analyze").startswith("? syntax error: write ggp-genmove_analyze")
    assert SdkTalk(first_legal)("ggp-genmove_analyze black") == "? unknown command"


SCRIPT = """\
from ggp.bots.sdk import Position, run

def choose(position: Position) -> str:
    print("thinking about", position.colour)
    return position.legal_moves()[0]

run(choose{arguments})
"""


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., list[str]]:
    """A bot's file, and the command that runs it."""

    def write(arguments: str = "") -> list[str]:
        path = tmp_path / "my_bot.py"
        path.write_text(SCRIPT.replace("{arguments}", arguments), encoding="utf-8")
        return [sys.executable, str(path)]

    return write


@pytest.mark.slow
def test_run_is_one_line_and_print_is_harmless(script: Callable[..., list[str]]) -> None:
    with RawPeer(script()) as peer:
        assert [peer.ask("name"), peer.ask("version")] == ["my_bot", "1"]
        assert peer.ask("ggp-new yugo") == "" and peer.ask("genmove black") == "A1"
        assert peer.ask("quit") == ""
        assert peer.until_end() == b"" and peer.exit_status() == 0
        assert peer.stderr == b"thinking about black\n"
    with RawPeer(script(', name="Deep Thought", version="42"')) as peer:
        assert [peer.ask("name"), peer.ask("version")] == ["Deep Thought", "42"]
        peer.close_stdin()
        assert peer.until_end() == b"" and peer.exit_status() == 0 and not peer.stderr


CALLING = """
import subprocess
from ggp.bots.sdk import Position, run

def choose(position: Position) -> str:
    subprocess.run(["sh", "-c", "wc -c; echo done"], check=True)
    return position.legal_moves()[0]

run(choose)
"""


@pytest.mark.slow
@pytest.mark.parametrize("errors", ["", " 2>&-"])
def test_programs_that_it_calls_neither_hear_nor_disturb_the_conversation(errors: str, tmp_path: Path) -> None:
    """Nor do libraries in other languages, which know nothing of sys.stdout."""
    bot = tmp_path / "calling.py"
    bot.write_text(CALLING, encoding="utf-8")
    with RawPeer(["sh", "-c", f'exec "$@"{errors}', "sh", sys.executable, str(bot)]) as peer:
        peer.send(b"1 ggp-new yugo size=5\n2 genmove black\n3 name\n4 quit\n")
        assert peer.until_end() == b"=1\n\n=2 A1\n\n=3 calling\n\n=4\n\n"
        assert peer.exit_status() == 0 and bytes(peer.stderr) == (b"" if errors else b"0\ndone\n")


@pytest.mark.slow
def test_an_interrupt_ends_it_without_a_traceback(script: Callable[..., list[str]]) -> None:
    with RawPeer(script()) as peer:
        assert peer.ask("name") == "my_bot"
        peer.process.send_signal(2)
        assert peer.exit_status() == 130 and not peer.stderr


@pytest.mark.slow
def test_it_passes_every_check(script: Callable[..., list[str]]) -> None:
    assert failed_checks(script(), Who.BOT, "yugo") == []


@pytest.mark.slow
def test_its_types_are_known_outside_the_project(tmp_path: Path) -> None:
    bot = SCRIPT.replace("{arguments}", "").replace("legal_moves()[0]", "legal_move")
    (tmp_path / "my_bot.py").write_text(bot, encoding="utf-8")
    mypy = [sys.executable, "-m", "mypy", "my_bot.py"]
    said = subprocess.run(mypy, cwd=tmp_path, stdout=subprocess.PIPE, encoding="utf-8", check=False).stdout
    assert '"Position" has no attribute "legal_move"' in said.splitlines()[0]


# -- the words of a script -------------------------------------------------------------------------------------------


def test_the_words_of_a_script_win_and_the_environment_fills_in() -> None:
    assert read_options("dot", [], ScriptOptions("U", "k")) == ScriptOptions("U", "k")
    told = read_options(
        "dot", ["--connect", "V", "--server-key=K=", "--no-challenges", "--name", "n"], ScriptOptions("U", "k")
    )
    assert told == ScriptOptions("V", "k", "K=", "n", challenges=False)
    environment = {"GGP_CONNECT": "E", "GGP_NAME": "n", "GGP_KEY": "f"}
    assert ScriptOptions().with_environment(environment) == ScriptOptions("E", "f", name="n")
    assert ScriptOptions("U", name="m").with_environment(environment) == ScriptOptions("U", "f", name="m")
    assert read_options("dot", ["--bind", "B"], ScriptOptions("U")).with_environment(environment) == ScriptOptions(
        bind="B"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--conect", "U"], "unknown argument: --conect; did you mean --connect?"),
        (["yugo"], "unknown argument: yugo"),
        (["-l3"], "unknown argument: -l3"),
        (["--key"], "--key needs FILE"),
        (["--key", "--connect"], "--key needs FILE"),
        (["--name="], "--name needs NAME"),
        (["--bind", "B", "--connect", "U"], "--bind listens and --connect dials: choose one"),
    ],
)
def test_a_word_that_is_not_known_ends_the_script(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["bots/dot.py", *words])
    with pytest.raises(SystemExit) as ended:
        read_options("The dot", words, ScriptOptions())
    out, err = capsys.readouterr()
    assert ended.value.code == 2 and out == "" and err == f"The dot: {said} (dot.py --help)\n"


def test_a_script_says_what_it_understands(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bots/dot.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        read_options("The dot", ["--help"], ScriptOptions())
    out, err = capsys.readouterr()
    assert out.startswith("Usage: dot.py [OPTION …]\n")
    words = ("--connect", "--key", "--server-key", "--name", "--no-challenges", "--bind", "GGP_CONNECT")
    assert ended.value.code == 0 and err == "" and all(word in out for word in words)


@pytest.mark.slow
def test_a_script_that_listens_has_a_conversation_with_each_connection(script: Callable[..., list[str]]) -> None:
    running = subprocess.Popen(
        [*script(), "--bind", "tcp://127.0.0.1:*"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8"
    )
    assert running.stderr is not None
    try:
        url = running.stderr.readline().strip().removeprefix("my_bot: listening at ")
        with closing(Client(url)) as one, closing(Client(url)) as other:
            assert one.ask("ggp-new yugo size=5") == "" and one.ask("genmove black") == "A1"
            assert other.refused("ggp-status") == "unknown command" and other.refused("undo") == "cannot undo"
        running.terminate()
        assert running.wait(60) == 143
    finally:
        running.kill()
        running.communicate()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"), [(["--bind", "tcp://0.0.0.0:1"], "without keys only"), (["-x"], "unknown argument")]
)
def test_what_is_wrong_with_the_words_is_one_line(
    script: Callable[..., list[str]], words: list[str], said: str
) -> None:
    ran = subprocess.run(
        [*script(), *words], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60
    )
    assert ran.returncode == 2 and ran.stdout == "" and said in ran.stderr and len(ran.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_script_with_words_of_its_own_gives_the_others(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(
        "import argparse\nfrom ggp.bots.sdk import run\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--level')\nown, others = parser.parse_known_args()\n"
        "run(lambda position: position.legal_moves()[0], version=own.level, words=others)\n",
        encoding="utf-8",
    )
    with RawPeer([sys.executable, str(path), "--level", "3"]) as peer:
        assert peer.ask("version") == "3"
    ran = subprocess.run(
        [sys.executable, path, "--level", "3", "--levle", "4"], capture_output=True, encoding="utf-8", timeout=60
    )
    assert ran.returncode == 2 and "own: unknown argument: --levle" in ran.stderr
