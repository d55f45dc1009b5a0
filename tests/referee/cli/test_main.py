"""Bad input: one clear line that names the remedy, exit status 2, nothing changed. And how words are read."""

import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ggp.protocol.entry_points import entry_points
from ggp.referee.cli.main import main
from ggp.referee.command_line import nearest
from ggp.referee.match.bot_spec import BOTS, LaunchError, WordError, distinct, knowing, read_bot, read_engine, read_game
from ggp.referee.match.record_file import RecordFile
from ggp.referee.match.setting import Timeouts
from tests.support.cli import PYTHON, ggp
from tests.support.codes import raises

BAD = [
    (["chess", "random", "random"], "the engine does not know the game 'chess', only go, laido, "),
    (["yugo,size=99", "random", "random"], "size"),
    (["yugo,colour=red", "random", "random"], "colour"),
    (["yugo,size", "random", "random"], "'size' is not an option: write GAME,name=value"),
    (["yugo,size=3,size=4", "random", "random"], "size is given twice"),
    ([",", "random", "random"], "is not an option"),
    (["", "random", "random"], "does not begin with the name of a game"),
    (["yugo", "random"], "name 2 to 100 bots"),
    (["yugo", "./no-such-bot", "random"], "./no-such-bot does not exist"),
    (["yugo", "no-such-bot --fast", "random"], "no program called 'no-such-bot'"),
    (["yugo", "nosuchbot", "random"], "unknown bot: nosuchbot; known bots: "),
    (["yugo", "random:luck=9", "random"], "luck"),
    (["yugo", "{folder}", "random"], "is a directory, not a program"),
    (["yugo", "{folder}/plain.txt", "random"], "is not executable: chmod +x"),
    (["yugo", "'unclosed", "random"], "no closing quotation"),
    (["yugo", " ", "random"], "BOT is empty"),
    (["yugo", "tcp://nowhere", "random"], "write tcp://HOST:PORT"),
    (["yugo", "random", "random", "--time", "fast"], "unknown time control 'fast': use 10+0.1"),
    (["yugo", "random", "random", "--games", "0"], "--games"),
    (["yugo", "random", "random", "--budget", "nap=3"], "unknown budget 'nap': write one of start,"),
    (["yugo", "random", "random", "--budget", "quit=long"], "budget quit=long: write seconds between"),
    (["yugo", "random", "random", "--engine", "./no-engine"], "./no-engine does not exist"),
    (["yugo", "random", "random", "--engine", "true"], "the engine does not start"),
    (["yugo", "random", "random", "--engine", "{python} -m ggp.bots random"], "does not list ggp-options"),
    (["yugo", "random", "random", "--record", "{folder}"], "Is a directory: name another file"),
    (["yugo", "random", "random", "--record", "{folder}/no/record"], "No such file or directory: name another file"),
    (["yugo", "random", "random", "--record", "{folder}/plain.txt"], "is not a record that can be continued (line 1"),
    (["yugo", "random", "random", "--record", "{folder}/long.txt"], "is not a record that can be continued (line 1"),
    (["yugo", "random", "random", "--no-such-option"], "--no-such-option"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_input_is_said_in_one_line(words: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("what I must not lose\n", encoding="utf-8")
    with (tmp_path / "long.txt").open("wb") as file:
        file.truncate(100_000_000)  # one line of 100 MB
    before = {path: path.stat().st_size for path in tmp_path.iterdir()}
    ran = ggp("match", *(word.format(folder=tmp_path, python=sys.executable) for word in words))
    assert ran.status == 2, ran.err
    assert ran.out == "" and message in ran.err
    assert ran.err.startswith("ggp match: ") and ran.err.count("\n") == 1
    assert {path: path.stat().st_size for path in tmp_path.iterdir()} == before


@pytest.mark.slow
def test_two_may_not_write_one_record(tmp_path: Path) -> None:
    path = tmp_path / "games"
    with RecordFile(path):
        ran = ggp("match", "yugo,size=3", "random", "random", "--record", str(path))
    assert ran.status == 2 and "is being written by another process" in ran.err


@pytest.mark.parametrize(
    ("text", "name", "argv"),
    [
        ("random", "random", ["-P", "-m", "ggp.bots", "random"]),
        ("greedy:playouts=50,seed=3", "greedy", ["-P", "-m", "ggp.bots", "greedy", "playouts=50", "seed=3"]),
        ("one=greedy:playouts=50", "one", ["-P", "-m", "ggp.bots", "greedy", "playouts=50"]),
        ("cat --mode gtp", "cat", ["--mode", "gtp"]),
        ("gnu=cat --mode 'g t p'", "gnu", ["--mode", "g t p"]),
        ("env A=1 sh", "env", ["A=1", "sh"]),
        (f"{PYTHON} bots/my_bot.py --fast", "my_bot", ["bots/my_bot.py", "--fast"]),
    ],
)
def test_a_bot_is_read(text: str, name: str, argv: list[str]) -> None:
    start = read_bot(text)
    assert (start.name, list(start.argv[1:])) == (name, argv)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ggp bot greedy:playouts=50", "greedy"),
        ("ggp bot mcts playouts=50", "mcts"),
        ("/usr/bin/ggp bot random", "random"),
        ("ggp bot oneshot -- sh bots/examples/one_move.sh", "one_move"),
        ("ggp bot uci nodes=50 --option Hash=16 -- /usr/games/stockfish", "stockfish"),
        ("ggp tap -- ./my_bot.py --fast", "my_bot"),
        ("ggp tap -o x.log gnugo --mode gtp", "gnugo"),
        ("ggp tap -o x.log -- ggp bot mcts", "mcts"),
        ("ggp tap --output=x.log -- python3 v2/alice.py", "alice"),
        ("ggp tap greedy:playouts=50", "greedy"),
        ("ggp tap 'one=cat --mode gtp'", "one"),
        ("mine=ggp bot greedy", "mine"),
        ("ggp", "ggp"),
        ("ggp bot", "ggp"),
        ("ggp tap", "ggp"),
        ("ggp engine go", "ggp"),
    ],
)
def test_a_bot_in_a_wrapper_of_ours_has_its_own_name(text: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.referee.match.bot_spec.find_program", str)  # none need be installed
    assert read_bot(text).name == name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("greedy:playouts=5", "greedy --engine 'env A=1 sh' playouts=5"),
        ("ggp bot llm --model m", "bot llm --engine 'env A=1 sh' --model m"),
        ("ggp bot oneshot -- sh x --engine y", "bot oneshot --engine 'env A=1 sh' -- sh x --engine y"),
        ("ggp bot mcts --engine=./mine", "bot mcts --engine=./mine"),
        ("ggp bot", "bot"),
        ("ggp bot --help", "bot --help"),
        ("ggp engine go", "engine go"),
        ("sh x", "x"),
    ],
)
def test_bots_of_ours_get_the_engine_of_the_match(text: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.referee.match.bot_spec.find_program", str)
    bot = read_bot(text)
    argv = knowing(bot, read_engine("env A=1 sh")).argv
    assert list(argv[len(BOTS) :] if argv[: len(BOTS)] == BOTS else argv[1:]) == shlex.split(words)
    assert knowing(bot) == bot


def test_a_bot_at_an_address_is_read() -> None:
    start = read_bot("tcp://127.0.0.1:5555")
    assert (start.name, start.url, start.argv) == ("127.0.0.1-5555", "tcp://127.0.0.1:5555", ())


def test_names_are_made_distinct() -> None:
    assert [start.name for start in distinct(read_bot("random"), read_bot("random"))] == ["random-1", "random-2"]
    assert [start.name for start in distinct(read_bot("a=random"), read_bot("b=random"))] == ["a", "b"]
    assert [start.name for start in distinct(read_bot("random=greedy"), read_bot("random"))] == ["random", "random-2"]
    with raises(WordError, "two-names"):
        distinct(read_bot("x=random"), read_bot("x=greedy"))


def test_a_script_with_windows_line_ends_names_its_interpreter(tmp_path: Path) -> None:
    bot = tmp_path / "a bot"
    for line, named in (
        (b"#!/bin/sh\r\n", "'/bin/sh\\r', which does not exist: sed -i 's/\\r$//' '"),
        (b"#!/usr/bin/env python3\r\n", "'python3\\r', which does not exist: sed"),
        (b"#! /no/such/interpreter -x\n", "its interpreter /no/such/interpreter does not exist"),
    ):
        bot.write_bytes(line + b"exec ggp bot random\r\n")
        bot.chmod(0o755)
        with raises(LaunchError, "cannot-launch") as error:
            read_bot(f"'{bot}'")
        assert named in str(error.value)
    bot.write_bytes(b"#!/bin/sh\nexec ggp bot random\n")
    assert read_bot(f"'{bot}'").argv == (str(bot),)


def test_the_users_folder_is_expanded_in_a_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "bots").mkdir()
    bot = tmp_path / "bots" / "x"
    bot.write_text("#!/bin/sh\n", encoding="utf-8")
    bot.chmod(0o755)
    assert read_bot("a=~/bots/x --net ~/big --not~/here").argv == (str(bot), "--net", f"{tmp_path}/big", "--not~/here")
    assert read_engine("~/bots/x").argv == (str(bot),)
    assert read_bot("~/bots/x").command == "~/bots/x"


def test_a_game_is_read() -> None:
    assert read_game("yugo") == ("yugo", {})
    assert read_game("yugo,size=7,komi=-5") == ("yugo", {"size": "7", "komi": "-5"})
    with pytest.raises(WordError):
        read_game("yugo,size=7#")


def test_budgets_are_read() -> None:
    assert Timeouts.parse(("quit=1.5", "start=5")) == Timeouts(quit=1.5, start=5)


def test_the_help_has_a_line_for_every_command_in_its_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    sections = re.findall(r"^(\w+):\n((?:  .+\n)+)", out, re.MULTILINE)
    assert [title for title, _ in sections] == ["Play", "Begin", "Ladders", "Servers", "Debugging", "Records"]
    listed = re.findall(r"^  ([\w-]+) +\S.*$", out, re.MULTILINE)
    assert sorted([*listed, "completion"]) == sorted(point.name for point in entry_points("ggp.commands"))
    assert max(map(len, out.splitlines())) <= 100
    assert main([]) == 2


def test_help_of_a_command_is_its_option_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["match"], ["ladder", "run"], ["bot", "mcts"], ["engine"], ["completion"]):
        said = []
        for argv in (["help", *words], [*words, "--help"]):
            assert main(argv) == 0
            said.append(capsys.readouterr().out)
        assert said[0] == said[1] != ""
    for argv in (["help"], ["help", "help"], ["help", "--help"]):
        assert main(argv) == 0
        assert capsys.readouterr().out.startswith("Usage: ggp COMMAND")
    assert main(["help", "mach"]) == 2
    assert "did you mean match?" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["--help", "help match", "completion bash", "--version"])
def test_a_reader_that_has_read_enough_is_no_error(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    assert main(words.split()) == 141


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["match", "--sprt"], ""),  # it was `--restart`
        (["match", "--gamse"], "--games"),
        (["match", "--open"], "--openings"),
        (["match", "--x"], ""),
        (["check", "--jason"], "--json"),
        (["ladder", "standings", "--jsn"], "--json"),
        (["ladder", "run", "--untill"], "--until"),
        (["rate", "--ancor"], "--anchor"),
        (["sprt", "--pena"], "--penta"),
        (["keys", "new", "--sever"], "--server"),
    ],
)
def test_an_option_that_does_not_exist_is_answered_with_what_was_meant_or_nothing(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert re.findall(r"Did you mean '?([\w-]+)", err) == ([meant] if meant else []) and err.count("\n") == 1


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("rnu", ["run", "rate"], "run"),
        ("start", ["rate", "restart"], ""),
        ("conect", ["connect", "console"], "connect"),
        ("chalenges", ["challenge"], "challenge"),
        ("stand", ["standings", "show"], "standings"),
        ("st", ["standings"], ""),
        ("re", ["rate", "regress", "referee"], ""),
        ("x", ["a"], ""),
        ("RUN", ["run"], "run"),
        ("", ["run"], ""),
        ("run", [], ""),
    ],
)
def test_the_nearest_word_is_few_slips_away_or_begins_so(word: str, known: list[str], meant: str) -> None:
    assert nearest(word, known) == meant


def test_ggp_names_the_nearest_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mach"]) == 2
    assert capsys.readouterr().err == "ggp: there is no command 'mach'; did you mean match?; ggp --help lists them\n"
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("ggp 0.")


@pytest.mark.slow
def test_ggp_match_helps() -> None:
    ran = ggp("match", "--help")
    assert ran.status == 0 and ran.err == ""
    for text in ("GAME BOT BOT", "yugo,size=7,komi=0", "tcp://host:port", "10+0.1", "--openings", "exit status"):
        assert text in ran.out


@pytest.mark.slow
def test_ggp_engine_waits_for_nothing_of_the_match() -> None:
    code = (
        "import sys; from ggp.referee.cli.main import main; status = main(['engine', 'yugo']);"
        "print([name for name in ('click', 'rich', 'zmq', 'asyncio') if name in sys.modules], file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], input="ggp-status\n", capture_output=True, encoding="utf-8", timeout=120
    )
    assert (done.stdout, done.stderr) == ("= phase=play to_play=black seat=1 ply=0\n\n", "[]\n")
