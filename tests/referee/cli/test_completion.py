"""Tab in a shell: what `ggp` says may follow, and that bash, zsh and fish put it on the line."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ggp.protocol.entry_points import entry_points
from ggp.referee.cli import completion
from ggp.referee.cli.main import COMPLETE, commands, main
from tests.support import ROOT

BIN = Path(sys.executable).parent


def completed(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The words that bash is offered behind the line; `FILE` or `DIR` where it is to complete these."""
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    capsys.readouterr()
    assert completion.answer("bash_complete") == 0
    rows = [row.partition(",") for row in capsys.readouterr().out.splitlines() if row]
    return [kind.upper() if kind in ("file", "dir") else word for kind, _, word in rows]


def games() -> list[str]:
    return sorted(point.name for point in entry_points("ggp.games"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ggp mat", ["match"]),
        ("ggp help ver", ["verify"]),
        ("ggp ladder stan", ["standings"]),
        ("ggp ladder run ", ["FILE"]),
        ("ggp ladder run --unt", ["--until"]),
        ("ggp keys ro", ["rotate"]),
        ("ggp keys revoke --reg", ["--registry"]),
        ("ggp match yu", ["yugo"]),
        ("ggp match yugo rand", ["random"]),
        ("ggp match yugo random ./my", ["FILE"]),
        ("ggp match --resta", ["--restart"]),
        ("ggp match --record ", ["FILE"]),
        ("ggp console yu", ["yugo"]),
        ("ggp console yugo size=", []),
        ("ggp check --game yu", ["yugo"]),
        ("ggp check -- ./my", ["FILE"]),
        ("ggp export --format sg", ["sgf"]),
        ("ggp show ", ["FILE"]),
        ("ggp connect tc", []),
        ("ggp engine --bi", ["--bind"]),
        ("ggp engine yugo si", ["size="]),
        ("ggp engine docs/gener", ["docs/generate.py"]),
        ("ggp new-", ["new-bot", "new-engine"]),
        ("ggp new-bot --la", ["--language"]),
        ("ggp new-bot --language j", ["java", "js"]),
        ("ggp new-bot --game yu", ["yugo"]),
        ("ggp new-bot my", ["DIR"]),
        ("ggp new-engine --language ", ["py", "c"]),
        ("ggp engine chess ", []),
        ("ggp bot mct", ["mcts"]),
        ("ggp bot mcts playouts=5 thr", ["threads="]),
        ("ggp bot mcts --go", ["--gogui"]),
        ("ggp bot mcts --gogui yu", ["yugo"]),
        ("ggp bot mcts playouts=5 --gogui yugo size=7 ko", ["komi="]),
        ("ggp bot chess ", []),
        ("ggp completion z", ["zsh"]),
    ],
)
def test_what_may_follow(
    line: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert completed(line, monkeypatch, capsys) == words


def test_all_commands_and_all_games_are_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed("ggp ", monkeypatch, capsys) == [*commands(), "help", "completion"]
    assert completed("ggp match ", monkeypatch, capsys) == games()
    offered = completed("ggp engine ", monkeypatch, capsys)
    assert offered[: len(games())] == games() and {*offered[len(games()) :]} == {
        "openspiel",
        "--bind",
        "--gogui",
        "--help",
    }


@pytest.mark.slow
def test_the_command_that_is_typed_is_the_only_one_that_is_imported() -> None:
    code = (
        "import sys; from ggp.referee.cli.completion import answer; answer('bash_complete');"
        "print(*sorted(name for name in sys.modules if name.startswith('ggp.referee.cli.')), file=sys.stderr)"
    )
    given = {**os.environ, "COMP_WORDS": "ggp check --o", "COMP_CWORD": "2"}
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, encoding="utf-8", timeout=120)
    assert (done.stdout, done.stderr) == (
        "plain,--only\n",
        "ggp.referee.cli.check ggp.referee.cli.completion ggp.referee.cli.main\n",
    )


def test_a_shell_that_is_not_known_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["tcsh"], ["bash", "zsh"]):
        assert main(["completion", *words]) == 2
        assert capsys.readouterr().err == ("ggp completion: name a shell: bash, zsh, fish (ggp completion --help)\n")
    assert main(["completion", "--help"]) == 0
    assert 'eval "$(ggp completion bash)"' in capsys.readouterr().out


class Shell:
    """An interactive shell on a terminal without escapes."""

    def __init__(self, home: Path, *argv: str) -> None:
        given = {"HOME": str(home), "TERM": "dumb", "PATH": f"{BIN}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *argv], stdin=slave, stdout=slave, stderr=slave, env={**given, "PS1": "$ "}, cwd=home
        )
        os.close(slave)
        self.said = ""

    def type(self, keys: str, then: str, seconds: float = 60) -> None:
        """Type, and wait until this stands there."""
        at, deadline = len(self.said), time.monotonic() + seconds
        os.write(self.master, keys.encode())
        while then not in self.said[at:]:
            assert time.monotonic() < deadline, f"no {then!r} came: {self.said!r}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.said += os.read(self.master, 65536).decode("utf-8", "replace")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(ggp completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'autoload -Uz compinit; compinit -u -D; eval "$(ggp completion zsh)"'),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.needs(name)) for name in SHELLS])
def test_a_shell_completes_commands_games_bots_options_and_files(name: str, tmp_path: Path) -> None:
    (tmp_path / "yesterday.jsonl").touch()
    argv, script = SHELLS[name]
    shell = Shell(tmp_path, *argv)
    try:
        shell.type(f"{script}; echo read''y\r", "ready")
        for keys, then in _steps():
            shell.type(keys, then)
        shell.type("\x15ggp engine yugo si\t", "size=")  # without a blank behind it
        shell.type("7 ", "7")
        assert "size=7" in shell.said.replace("\b", "")
    finally:
        shell.end()


def _steps() -> Sequence[tuple[str, str]]:
    """Keys, and what the shell adds to them: the rest of each word, and a blank behind it."""
    return [
        ("ggp mat\t", "match "),
        ("yu\t", "yugo "),
        ("gre\t", "greedy "),
        ("--rest\t", "--restart "),
        ("\x15ggp verify yest\t", "yesterday.jsonl "),
    ]


@pytest.mark.slow
@pytest.mark.needs("fish")
def test_fish_completes_them_too(tmp_path: Path) -> None:
    (tmp_path / "yesterday.jsonl").touch()
    lines = ["ggp mat", "ggp match yu", "ggp match yugo gre", "ggp match --rest", "ggp verify yest"]
    script = "; ".join(["ggp completion fish | source", *(f"complete -C '{line}'" for line in lines)])
    given = {**os.environ, "HOME": str(tmp_path), "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        env=given,
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == [
        *("match", "yugo", "greedy", "--restart", "yesterday.jsonl")
    ], done.stderr


def test_completion_is_asked_for_by_the_environment_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(COMPLETE, "bash_complete")
    assert main(["--version"]) == 0  # words that are given are run, as for a script below a completing shell
    assert capsys.readouterr().out.startswith("ggp 0.")
