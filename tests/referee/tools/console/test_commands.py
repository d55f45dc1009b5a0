"""The commands for the position on an engine: moves, variations, comments, bots side by side, graph, replay, faults."""

import shlex
import sys
from pathlib import Path

import pytest

from ggp.protocol.records import read_records
from ggp.protocol.regression import parse
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.bot_spec import LaunchError, WordError
from ggp.referee.tools.console.bots import draw_graph
from ggp.referee.tools.console.dialogue import Exchange, read_bots, read_target
from ggp.referee.tools.console.own_commands import ConsoleError
from tests.support.chaos import chaos
from tests.support.cli import PYTHON
from tests.support.codes import raises
from tests.support.memory_console import MATCHES, memory_console, typed
from tests.support.terminal import CTRL_C, CTRL_D, ENTER, TAB, Terminal

# A bot of the protocol in few lines: it says what it was asked, plays the first of its moves, and may have no undo.
BOT = """import json, sys
words, moves = sys.argv[1:], []
LIST = "name version list_commands known_command quit ggp-new play genmove ggp-genmove_analyze".split()
LIST += [] if "no-undo" in words else ["undo"]
for line in sys.stdin:
    name, *rest = line.split()
    print(line.strip(), file=sys.stderr, flush=True)
    if name == "ggp-genmove_analyze":
        if "crash" in words: sys.exit(3)
        if "hang" in words: sys.stdin.read()
        answer = next((word for word in words if word[0] in "ABC"), "pass")
        moves.append(answer)
        said = {"winrate": 0.25, "score": 1.5, "depth": 4, "visits": 9, "pv": ["A1"] * 60}
        print("= " + answer + "\\n" + ("nonsense" if "nonsense" in words else json.dumps(said)) + "\\n", flush=True)
        continue
    answer = {"list_commands": "\\n".join(LIST), "name": "tiny", "version": "1"}.get(name, "")
    if name == "refuse" or (name == "undo" and "bad-undo" in words): print("? cannot undo\\n", flush=True); continue
    print(("= " + answer if answer else "=") + "\\n", flush=True)
    if name == "quit": break
"""


FIVE = "yugo size=5 komi=7 handicap=0 agreement=off"
THREE = "ggp-new yugo size=3 komi=7 handicap=0 agreement=off"


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    """The command line of the small bot."""
    (tmp_path / "tiny.py").write_text(BOT, encoding="utf-8")
    return f"{PYTHON} {tmp_path / 'tiny.py'}"


def test_moves_variations_and_comments() -> None:
    console = memory_console()
    assert typed(console, ":A1", ":B2 button", ":move c3") == [
        "ply 1 of 1: black A1",
        "ply 3 of 3: black button",
        "ply 4 of 4: white C3",
    ]
    assert typed(console, ":back 3", ":C1", ":comment a try", ":tree") == [
        "ply 1 of 4: black A1",
        "ply 2a, which leaves ply 1 of 4: white C1",
        "ply 2a, which leaves ply 1 of 4: the comment is kept",
        "1 A1  2 B2  3 button  4 C3\na, which leaves ply 1: [2a C1*]",
    ]
    assert typed(console, ":goto -1", ":goto a", ":moves", ":moves 2a") == [
        "ply 4 of 4: white C3",
        "ply 2a, which leaves ply 1 of 4: white C1\na try",
        "1 A1  [2 C1]",
        "2a white C1\ncomment: a try",
    ]
    assert typed(console, ":comment", ":comment -", ":comment") == [
        "a try",
        "ply 2a, which leaves ply 1 of 4: the comment is removed",
        "no comment: type :comment TEXT to write one",
    ]
    with raises(ConsoleError, "ply-refused") as refused:
        typed(console, ":B1 A1 C3")
    assert str(refused.value) == "ply 4, white A1: illegal move: A1 is occupied"
    assert typed(console, ":info")[0].endswith("ply 3a, which leaves ply 1 of 4: black B1")


def test_what_is_typed_to_the_engine_is_in_the_tree() -> None:
    """Also what was taken back before the console looked."""
    console = memory_console()
    typed(console, "ggp-play black A1", "ggp-play white B2", "ggp-undo", "play w c1", "7 undo", "ggp-play w C3", "undo")
    assert typed(console, ":tree", ":goto b") == [
        "[1 A1]  2 B2\na, which leaves ply 1: 2a c1\nb, which leaves ply 1: 2b C3",
        "ply 2b, which leaves ply 1 of 2: white C3",
    ]
    typed(console, "clear_board", "ggp-play black B1", "ggp-new yugo size=3")
    assert typed(console, ":tree")[0].endswith("\nc, which leaves ply 0: 1c B1")
    typed(console, "ggp-new yugo size=5", "ggp-play black E5", "ggp-undo", "ggp-play black D4")
    assert typed(console, ":tree", ":info") == [
        "1 E5\na, which leaves ply 0: [1a D4]",
        f"{FIVE}\nthe tree: 2 plies, 1 variation\nply 1a, which leaves ply 0 of 1: black D4",
    ]


@pytest.mark.parametrize(
    "lacks", [(), ("ggp-undo",), ("ggp-scene",), ("ggp-undo", "ggp-history", "ggp-scene")], ids=str
)
def test_lesser_engines(lacks: tuple[str, ...]) -> None:
    console = memory_console("ggp-new yugo size=3", *lacks)
    typed(console, ":A1 B2 C3", ":back 2", ":C1", "ggp-play black C2", ":goto 2")
    assert typed(console, ":tree", ":goto a", ":moves") == [
        "1 A1  [2 B2]  3 C3\na, which leaves ply 1: 2a C1  3a C2",
        "ply 3a, which leaves ply 1 of 3: black C2",
        "1 A1  2 C1  [3 C2]",
    ]
    typed(console, ":goto 0", ":A2")
    assert typed(console, ":moves") == ["[1 A2]"]


def test_no_game_and_no_engine() -> None:
    console = memory_console("")
    for line in (":back", ":tree", ":ask greedy", ":goto 0", ":save x.sgf"):
        with raises(ConsoleError, "no-game"):
            typed(console, line)
    with pytest.raises(ConsoleError, match=r"there is no :zz; :help lists them"):
        typed(console, ":zz")
    with pytest.raises(ConsoleError, match=r"did you mean :tree\?"):
        typed(console, ":tre")
    other = memory_console("", "ggp-play")
    for line in (":back", ":ask", ":C3"):
        with pytest.raises(ConsoleError) as failed:
            typed(other, line)
        assert "ggp-play" in str(failed.value) or "there is no :C3" in str(failed.value)
    assert ":ask" not in typed(other, ":help")[0] and ":ask" in typed(console, ":help")[0]


@pytest.mark.slow
def test_bots_side_by_side(tiny: str) -> None:
    console = memory_console(bots=read_bots(["random", f"tiny={tiny} B2", f"odd={tiny} C9", f"mute={tiny} nonsense"]))
    typed(console, ":A1")
    head, *rows = typed(console, ":ask 1")[0].split("\n")
    assert head.split() == ["bot", "move", "winrate", "score", "depth", "playouts", "time", "pv"] and len(rows) == 6
    assert rows[1].split()[:6] == ["tiny", "B2", "25.0", "%", "+1.5", "4"] and rows[1].endswith("…")
    assert max(map(len, rows)) <= 100
    assert rows[4] == "odd: C9: illegal: C9 is not on the board: the board is 3x3" and rows[3].startswith(
        "mute    pass"
    )
    assert rows[5] == "mute: pass: illegal: the button must be taken before a pass"
    assert (
        typed(console, ":eval")[0]
        .split("\n")[2]
        .startswith("tiny (white): B2  25.0 %, +1.5, depth 4, 9 playouts, pv A1 A1")
    )
    hint = typed(console, ":hint tiny")[0].split("\n")
    assert hint[0].startswith("tiny: B2, ") and hint[1] == "win rate: 25.0 %"
    assert typed(console, ":answer tiny")[0].split("\n")[1] == "ply 2 of 2: white B2"
    assert typed(console, ":moves 2")[0].split("\n")[1] == "win rate: 25.0 %"
    with raises(ConsoleError, "illegal-move"):
        typed(console, ":answer odd")
    assert typed(console, ":moves") == ["1 A1  [2 B2]"]
    console.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "undone"),
    [([], ["undo", "undo"]), (["no-undo"], None), (["bad-undo"], None)],
    ids=lambda words: " ".join(words or []),
)
def test_a_bot_is_kept_in_step(tiny: str, words: list[str], undone: list[str] | None) -> None:
    """With undo it hears what has changed; without, or if it refuses, it is set up anew."""
    console = memory_console(bots=read_bots([" ".join([tiny, "B2", *words])]))
    (bot,) = console.bots
    typed(console, ":A1 C2 C3", ":ask", ":C1")
    peer = console.adviser._running[bot].player.peer
    heard = peer.stderr_tail().splitlines()
    before = [THREE, "play black A1", "play white C2", "play black C3"]
    assert heard[-5:] == [*before, "ggp-genmove_analyze white"]
    typed(console, ":ask")
    again = peer.stderr_tail().splitlines()[len(heard) :]
    anew = [*before, "play white C1"]
    end = "ggp-genmove_analyze black"
    if undone is None:
        assert again == [*(["undo"] if "bad-undo" in words else []), *anew, end]
    else:
        assert again == ["undo", "play white C1", end]
    typed(console, ":back", ":ask")
    last = peer.stderr_tail().splitlines()[len(heard) + len(again) :]
    assert last[-1] == "ggp-genmove_analyze white" and (last[:2] == undone if undone else anew[0] in last)
    console.close()


@pytest.mark.slow
def test_a_bot_at_fault_is_a_line_and_starts_again(tiny: str) -> None:
    console = memory_console(bots=read_bots([f"tiny={tiny} B2", f"crash={tiny} crash", chaos("fault=refuse")]))
    said = typed(console, ":ask")[0].split("\n")
    assert said[1].startswith("tiny") and "exit status 3" in said[2] and said[2].startswith("crash: disconnected: ")
    assert said[3].startswith("chaos: ") and len(said) == 4
    with raises(ConsoleError, "disconnected") as failed:
        typed(console, ":hint crash")
    assert "\n" not in str(failed.value)
    assert "tiny: " in typed(console, ":bots")[0] and ", running" in typed(console, ":bots")[0].split("\n")[0]
    assert typed(console, ":restart tiny") == ["tiny will be started again when it is next asked"]
    assert ", running" not in typed(console, ":bots")[0].split("\n")[0]
    assert typed(console, ":hint")[0].startswith("tiny: B2, ")
    assert typed(console, ":bots greedy")[0].split("\n")[-1] == "greedy: greedy"
    with raises(ConsoleError, "cannot-start"):
        typed(console, ":bots greedy:nonsense=1", ":hint greedy-5")
    console.close()


@pytest.mark.slow
def test_ctrl_c_ends_the_wait_and_keeps_what_was_said(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    console = memory_console(bots=read_bots([f"tiny={tiny} B2", "random"]))
    asked = run_blocking

    def interrupted(question: object) -> object:
        if console.cursor.here().evaluations:
            monkeypatch.setattr("ggp.referee.tools.console.bots.run_blocking", asked)
            question.close()  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        return asked(question)  # type: ignore[arg-type]

    monkeypatch.setattr("ggp.referee.tools.console.bots.run_blocking", interrupted)
    said = typed(console, ":ask")[0].split("\n")
    assert said[1].startswith("tiny  B2") and said[2] == "interrupted" and len(said) == 3
    assert typed(console, ":hint random")[0].startswith("random: ")
    console.close()


@pytest.mark.slow
def test_the_graph_along_a_line(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = memory_console(bots=read_bots([f"tiny={tiny} pass"]))
    typed(console, ":A1 B2 C3", ":back")
    with raises(ConsoleError, "no-evaluation"):
        typed(console, ":graph")
    assert typed(console, ":graph tiny 1")[0].split("\n") == [
        "tiny: Black's win rate",
        "100 % |",
        "      | : :",
        " 50 % | # #",
        "      | # #",
        "      |:#:#",
        "  0 % |####",
        "  ply    ^",
        "       0 to 3; ^ is ply 2",
    ]
    assert typed(console, ":moves", ":graph")[0] == "1 A1  [2 B2]  3 C3"
    assert typed(console, ":graph mcts:playouts=20 0.1")[0].startswith("mcts: Black's win rate")
    with raises(ConsoleError, "no-evaluation"):
        typed(console, ":graph random")
    console.close()


def test_bars() -> None:
    assert draw_graph({0: 0.0, 1: 1.0, 3: 0.5}, 3, 3, 80, plain=False) == [
        "100 % │ █",
        "      │ █",
        " 50 % │ █",
        "      │ █ █",
        "      │ █ █",
        "  0 % │▁█ █",
        "  ply     ^",
        "       0 to 3; ^ is ply 3",
    ]
    many = draw_graph(dict.fromkeys(range(400), 0.5), 399, 399, 50, plain=True)
    assert max(map(len, many)) <= 50 and many[-1] == "       0 to 399, 10 plies a bar; ^ is ply 399"


def test_a_replay_in_its_own_time_or_another(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("ggp.referee.tools.console.commands.time.sleep", waited.append)
    console = memory_console(match=MATCHES[0])
    assert typed(console, ":goto 4", ":replay") == ["ply 4 of 6: white C3", "ply 6 of 6: white pass"]
    assert waited == [0.007, 0.007] and "5 black pass  0.007 s" in capsys.readouterr().out
    assert typed(console, ":replay 7x", ":goto 5", ":replay 0.5")[2] == "ply 6 of 6: white pass"
    assert waited[2:] == [0.001] * 6 + [0.5]

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ggp.referee.tools.console.commands.time.sleep", interrupt)
    assert typed(console, ":goto 1", ":replay")[1] == "ply 1 of 6: black A1"
    with raises(ConsoleError, "no-ply"):
        typed(memory_console(), ":replay")


def test_the_commands() -> None:
    console = memory_console(match=MATCHES[0])
    assert typed(console, ":goto 2", ":forward", ":back 2", ":moves", ":moves -1") == [
        "ply 2 of 6: white B2",
        "ply 3 of 6: black button",
        "ply 1 of 6: black A1",
        "[1 A1]  2 B2  3 button  4 C3  5 pass  6 pass",
        "6 white pass  0.007 s, 1.000 s left",
    ]
    assert typed(console, ":info")[0].split("\n") == [
        "match m-1: yugo size=3, time control 10",
        "seat 1: one (random), 0.021 s used",
        "seat 2: two (random), 0.021 s used",
        "result: W+7.5, rules, two won, 6 plies",
        "",
        "ply 1 of 6: black A1",
    ]
    assert typed(console, ":why A1", ":why B2") == ["A1 is illegal: A1 is occupied", "B2 is legal"]
    score = typed(console, ":score")[0].splitlines()
    assert score[0].split()[:2] == ["total", "territory"] and score[3] == "the game is not over"
    assert [line.split()[0] for line in score[1:3]] == ["black", "white"]
    assert typed(console, ":live")[0].startswith("the match is over: ")
    said = typed(console, ":score")[0]
    assert "final" not in said and said.count("\n") == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("goto", "usage"),
        ("goto x", "no-ply"),
        ("goto 99", "no-ply"),
        ("goto 3b", "no-ply"),
        ("back x", "usage"),
        ("back 0", "no-ply"),
        ("forward 0", "usage"),
        ("forward 1 2", "usage"),
        ("moves 7", "no-ply"),
        ("moves !", "no-ply"),
        ("why", "usage"),
        ("move", "usage"),
        ("move A1", "ply-refused"),
        ("Z9", "ply-refused"),
        ("replay soon", "usage"),
        ("replay 0x", "usage"),
        ("comment " + "x" * 10_001, "usage"),
        ("save x.sgf main", "usage"),
        ("save x.jsonl all", "usage"),
        ("eval", "no-evaluation"),
        ("eval greedy", "usage"),
        ("graph", "no-evaluation"),
        ("graph greedy", "no-evaluation"),
        ("graph 5", "usage"),
        ("ask", "no-bot"),
        ("ask nobody", "no-answer"),
        ("ask human", "no-human"),
        ("hint", "usage"),
        ("hint a b c", "usage"),
        ("answer random soon", "bad-control"),
        ("bots nobody", "bad-word"),
        ("fork random", ""),
        ("play random", ""),
        ("restart nobody", "usage"),
    ],
)
def test_invalid_commands_are_reported(words: str, code: str) -> None:
    console = memory_console(match=MATCHES[0])
    typed(console, ":goto 3")
    with pytest.raises(ConsoleError) as failed:
        typed(console, f":{words}")
    assert failed.value.code == (code or ConsoleError.code) or not code
    assert "\n" not in str(failed.value)
    assert typed(console, ":back") == ["ply 2 of 6: white B2"]


def test_words_of_the_game_are_played_or_refused_with_the_reason() -> None:
    console = memory_console("ggp-new stigmergy size=3")
    with raises(ConsoleError, "ply-refused") as refused:
        typed(console, ":keep-sides")
    assert "bid" in str(refused.value)
    with raises(ConsoleError, "usage") as usage:
        typed(console, ":move")
    assert str(usage.value) == "write :move MOVE, as in :move bid:0, or :bid:0"
    assert typed(console, "keep-sides") == ["unknown command"]
    assert console.how_to_play("7 keep-sides") == "keep-sides is a move: type :keep-sides to play it"
    assert console.how_to_play("D4") == "if D4 is a move, type :D4 to play it"
    assert not any(map(console.how_to_play, ("foo", "ggp-status", "play b D4", "keep-sides now", "", "7")))
    assert typed(console, ":bid:3", ":keep-sides")[1].endswith("white keep-sides")
    assert memory_console("ggp-new yugo size=3", "ggp-play").how_to_play("pass") == ""


def test_the_dialogue_is_saved_as_a_transcript(tmp_path: Path) -> None:
    console = memory_console("ggp-new yugo size=5")
    said = typed(console, "ggp-play black C3", "foo", f"!save {tmp_path}/t.tst")
    assert said[2] == f"{tmp_path}/t.tst written: 3 commands"
    script = parse((tmp_path / "t.tst").read_text(encoding="utf-8"))
    assert [step.command for step in script.steps] == ["1 ggp-new yugo size=5", "2 ggp-play black C3", "3 foo"]


@pytest.mark.slow
def test_forks_of_a_live_position(tmp_path: Path) -> None:
    path = tmp_path / "fork.jsonl"
    console = memory_console(bots=read_bots(["random", "other=random"]))
    said = typed(console, ":A1", f":fork record={path}")[1]
    assert said.split("\n")[-1] == f"record: {path}"
    (record,) = read_records(path.read_bytes().splitlines(keepends=True))
    assert record.start.opening == ("A1",) and [bot.name for bot in record.start.bots] == ["random", "other"]
    assert typed(console, ":play random other 2")[0].startswith("random ")
    with raises(ConsoleError, "usage"):
        typed(memory_console(), ":fork")


def test_the_words_of_the_command_line() -> None:
    words: tuple[str, ...] = ("yugo", "size=5", "old=random", "greedy:playouts=5", "komi=bid", "random")
    target = read_target(words, (), "")
    assert target.first == "ggp-new yugo size=5 komi=bid" and [bot.name for bot in target.bots] == [
        "old",
        "greedy",
        "random",
    ]
    command = f"mine={shlex.quote(sys.executable)} -c pass"
    target = read_target(("go,size=9", command, "random", "random"), ("cat",), "")
    assert [bot.name for bot in target.bots] == ["mine", "random-2", "random-3"] and target.engine.argv == ("cat",)
    assert read_target(("go",), (), "ipc:///tmp/x").engine.url == "ipc:///tmp/x"
    for words, code in ((("yugo", "nonsense"), "bad-word"), (("yugo", "size="), "bad-word"), (("yu go",), "bad-word")):
        with raises(WordError, code):
            read_target(words, (), "")
    with raises(LaunchError, "cannot-launch"):
        read_target(("yugo", "./nothing now"), (), "")


def test_a_mistyped_command_is_named_at_once_while_an_answer_is_due() -> None:
    """Whether it is a move is not asked then."""
    console = memory_console()
    console.dialogue.pending.append(Exchange("genmove black"))
    with pytest.raises(ConsoleError, match=r"there is no :restrat; did you mean :restart\?"):
        typed(console, ":restrat")
    assert [exchange.sent for exchange in console.dialogue.pending] == ["genmove black"]


def _hangs(terminal: Terminal) -> bool:
    return any(line.rstrip().endswith("tiny.py hang") and " console " not in line for line in terminal.running())


@pytest.mark.slow
def test_a_session_on_a_terminal(tiny: str, tmp_path: Path) -> None:
    """The board follows, Tab completes bots, Ctrl-C ends a hung one, and a saved tree is opened again."""
    words = ("console", "yugo", "size=5", "greedy:playouts=5", f"tiny={tiny} B2", f"hung={tiny} hang")
    with Terminal(*words, home=tmp_path, columns=120, rows=60) as terminal:
        terminal.wait_for("5 . . . . . 5")
        terminal.type(f":C3{ENTER}")
        terminal.expect("ply 1 of 1: black C3")
        terminal.wait_for("3 . .(X). . 3")
        terminal.type(f":ask greedy tiny 1{ENTER}")
        terminal.expect("bot     move  winrate  score  depth  playouts")
        terminal.type(f":ans{TAB}ti{TAB}{ENTER}")
        terminal.expect("ply 2 of 2: white B2")
        terminal.wait_for("2 .(O). . . 2")
        terminal.type(f":hint hung{ENTER}")
        terminal.wait_for(lambda rows: _hangs(terminal))
        terminal.settle(1)
        terminal.type(CTRL_C)
        terminal.expect("interrupted")
        assert not _hangs(terminal)
        terminal.type(f":back{ENTER}")
        terminal.expect("ply 1 of 2: black C3")
        terminal.type(f"ggp-play white D4{ENTER}")
        terminal.expect("= move=D4")
        terminal.type(f":graph greedy 0.1{ENTER}")
        terminal.expect("█")
        terminal.type(f":save {tmp_path}/a.sgf{ENTER}")
        terminal.expect("a.sgf written: 3 plies, 1 variation")
        terminal.settle()
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    with Terminal("console", "--match", f"{tmp_path}/a.sgf@1", "greedy", home=tmp_path) as terminal:
        terminal.wait_for("3 . .(X). . 3")
        terminal.type(f":goto a{ENTER}:quit{ENTER}")
        terminal.expect("ply 2a, which leaves ply 1 of 2: white D4")
        assert terminal.end() == 0
