"""The words of cutechess and fastchess on the command line of `ggp match`: understood, or refused with ours."""

from pathlib import Path

import pytest

from ggp.referee.cli.foreign_options import translate
from ggp.referee.cli.match import main
from ggp.referee.match.bot_spec import WordError
from ggp.referee.match.clock import TimeControl
from ggp.referee.ratings.sprt import PRESETS, Hypotheses, read_hypotheses
from tests.support.codes import raises

BOTS = ("yugo", "random", "greedy")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("-each tc=10+0.1", "--time 10+0.1"),
        ("--each tc=40/60 timemargin=100 yugo", "--time 40/60 --margin 100 yugo"),
        ("-tc 5+0.05", "--time 5+0.05"),
        ("-tc=5+0.05", "--time 5+0.05"),
        ("-concurrency 8", "--jobs 8"),
        ("-rounds 50 -repeat -recover", "--games 100"),
        ("-repeat 2 -games 4 --quiet", "--quiet --games 4"),
        ("-rounds 5 -games 4", "--games 20"),
        ("-each tc=1:30+1", "--time 90+1"),
        ("-each tc=0:30.5", "--time 30.5"),
        ("-each tc=inf", "--time none"),
        ("-each tc=0+5", "--time 5+5"),
        ("-each tc=40/1:30", "--time 40/90"),
        ("-each tc=0/10+0.1", "--time 10+0.1"),
        ("-each tc=:30", "--time 30"),
        ("-tc inf", "--time none"),
        ("-tc=2:00", "--time 120"),
        ("-engine cmd=x tc=0:10+0.1 go", "go x=x --bot x,time=10+0.1"),
        ("-engine cmd=./b/x dir=/srv/a go", "go x=/srv/a/b/x --bot x,cwd=/srv/a"),
        ("-engine cmd=gnugo dir=/srv/a go", "go gnugo=gnugo --bot gnugo,cwd=/srv/a"),
        ("-engine cmd=/b/x dir=/srv/a go", "go x=/b/x --bot x,cwd=/srv/a"),
        ("-rounds x", "--games x"),
        ("-games=3 -- -tc 1", "--games 3 -- -tc 1"),
        ("-ratinginterval 10", "--interval 10"),
        ("-wait 500 --quiet", "--bot *,wait=0.5 --quiet"),
        ("-each st=5 nodes=9 ponder", "--time 5/move --bot *,nodes=9,ponder=true"),
        ("-each option.Threads=2 proto=gtp", "--bot *,options.Threads=2"),
        ("-engine cmd=./new name=new -engine cmd=random go", "go new=./new random=random"),
        (
            "-engine cmd=./a name=A tc=5+0.1 nodes=10 dir=nets restart=on ponder -engine cmd=./a tc=inf option.x=1 go",
            "go A=./nets/a --bot A,time=5+0.1,nodes=10,cwd=nets,restart=true,ponder=true "
            "a=./a --bot a,time=none,options.x=1",
        ),
        ("-engine cmd=x st=2 -engine cmd=x restart=auto go", "go x=x --bot x,time=2/move x-2=x"),
        ("-engine cmd=greedy:playouts=5 restart=off go", "go greedy=greedy:playouts=5 --bot greedy,restart=false"),
        ("-sprt elo0=0 elo1=5 alpha=0.05 beta=0.1 --quiet", "--sprt elo0=0,elo1=5,alpha=0.05,beta=0.1 --quiet"),
        ("--sprt gate", "--sprt gate"),
        ("--sprt elo0=nan elo1=5 new=x old=y", "--sprt elo0=nan,elo1=5 new=x old=y"),
        ("--resign winrate=0.1 plies=4 a=mcts b=mcts", "--resign winrate=0.1,plies=4 a=mcts b=mcts"),
        ("-draw movenumber=10 movecount=2 score=5 a=x", "--draw after=20,plies=4,score=5 a=x"),
        ("-openings file=b.txt order=random a=x b=y", "--openings b.txt,order=random a=x b=y"),
        ("-each tc=5+0.1 a=x b=y", "--time 5+0.1 a=x b=y"),
        ("-srand 7 -use-affinity", "--seed 7"),
        ("--engine ./engine go", "--engine ./engine go"),
        ("elo0=random elo1=greedy", "elo0=random elo1=greedy"),
        ("-- -tc", "-- -tc"),
    ],
)
def test_a_word_becomes_ours(theirs: str, ours: str) -> None:
    assert translate(theirs.split()) == ours.split()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("-engine name=new", "cmd=COMMAND"),
        ("-engine cmd=:", "cmd=COMMAND"),
        ("-engine name=!!! cmd=:", "cmd=COMMAND"),
        ("-engine", "cmd=COMMAND"),
        ("-each tc=40/60+1", "write 40/60 or 60+1"),
        ("-engine cmd=./a tc=40/60+1", "write 40/60 or 60+1"),
        ("-debug", "--log DIR"),
        ("-noswap", "exchange the seats"),
        ("-resultformat per-color", "there is no option -resultformat"),
        ("-engine cmd=./bot depth=3", "command line"),
        ("-engine cmd=./bot timemargin=50", "--margin"),
        ("-engine cmd=./bot proto=uci", "adapter"),
        ("-each cmd=./bot", "-engine cmd="),
        ("-pgnout games.pgn", "--record"),
        ("-openings file=", "file=FILE"),
        ("-openings file=book.pgn format=pgn", "file=FILE"),
        ("-maxmoves 100", "--max-plies"),
        ("-each depth=2", "command line"),
        ("-each proto=uci", "adapter"),
        ("-tournament gauntlet", "--gauntlet"),
    ],
)
def test_another_word_is_refused_with_ours(words: str, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    with raises(WordError, "other-word") as error:
        translate(words.split())
    assert named in str(error.value)
    assert main([*BOTS, *words.split()]) == 2 and capsys.readouterr().err.count("\n") == 1


def test_files_among_the_arguments_are_those_of_dir(tmp_path: Path) -> None:
    (tmp_path / "my bot.py").touch()
    quoted = f"'{tmp_path}/my bot.py'"
    for words in (["cmd=python", "arg=my bot.py", "arg=--fast"], ["cmd=python 'my bot.py' --fast"]):
        found = translate(["-engine", *words, "name=x", f"dir={tmp_path}", "go"])
        assert f"x=python {quoted} --fast" in found


def test_a_name_that_is_given_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("-engine cmd=x name=a -engine cmd=y name=a", "-engine cmd=a -engine cmd=y name=a"):
        with raises(WordError, "two-names"):
            translate(words.split())
    assert main(["yugo", "x=random", "x=greedy"]) == 2
    assert capsys.readouterr().err == "ggp match: two bots are called x: give them different names\n"


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        *[("1:30+1", "90+1"), ("5m", "300"), ("1h30m+2s", "5400+2"), ("inf", "none"), ("0+5", "5+5")],
        *[("40/2:00", "40/120"), ("0/10+0.1", "10+0.1"), ("0/0+2", "2+2"), ("0/60", "60"), (":30", "30")],
        *[("40/:30", "40/30"), (":30.5+1", "30.5+1")],
    ],
)
def test_another_programs_time_control_is_answered_with_ours(
    text: str, ours: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*BOTS, "--time", text]) == 2
    assert capsys.readouterr().err.endswith(f": write {ours}\n")
    assert str(TimeControl.parse(ours)) == ours


@pytest.mark.parametrize("text", ["0:00", "0/0", ":0", "0/0:00+0"])
def test_a_time_control_without_time_is_not_answered_with_another(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*BOTS, "--time", text]) == 2
    assert "write" not in capsys.readouterr().err


def test_the_words_of_a_test() -> None:
    assert read_hypotheses("elo0=0 elo1=5") == Hypotheses(0, 5)
    assert read_hypotheses("elo0=-3,elo1=1,alpha=0.1,beta=0.2,model=logistic") == Hypotheses(
        -3, 1, 0.1, 0.2, "logistic"
    )
    assert read_hypotheses("gate") is PRESETS["gate"]


@pytest.mark.parametrize(
    "text", ["elo0=0", "elo0=5 elo1=0", "elo0=x elo1=1", "elo0=0 elo1=5 elo1=6", "model=big elo0=0 elo1=5", "often"]
)
def test_no_words_of_a_test(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BOTS, "--sprt", text]) == 2
    assert capsys.readouterr().err.startswith("ggp match: --sprt")


@pytest.mark.parametrize(
    "words",
    [
        ("--sprt", "gate", "--games", "5"),
        ("third=random", "--sprt", "gate"),
        ("human",),
        ("--gauntlet", "missing"),
        ("--log", "logs", "--log-stderr", "logs"),
    ],
)
def test_options_that_do_not_go_together(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BOTS, *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
