"""`ggp connect`, as its user runs it: bots of every kind of behaviour on one end, a small lobby on the other."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from protocol.dialling import Bye, Hello
from protocol.transports.keys import KeyPair, new_pair, write_pair
from referee.lobby.connect_command import main
from referee.lobby.lent import LINES_AT_ONCE, LONGEST_LINE, Said
from tests.ggp_command import Ggp, wait_until
from tests.small_lobby import PATIENCE, SmallLobby

# Starts in 20 ms, and does what it is told. `once` in its folder: it has run before.
BOT = """#!{python} -SE
import os, sys, time
def say(text): sys.stdout.write(text); sys.stdout.flush()
print("I am a bot", file=sys.stderr, flush=True)
if "greet" in sys.argv: say("hello there\\n")
if "dies-again" in sys.argv:
    if os.path.exists("once"): sys.exit("no second time")
    open("once", "w").close()
while line := sys.stdin.readline():
    words = line.split()
    head = "=" + (words.pop(0) if words[0].isdigit() else "")
    name = words[0]
    if name == "name": say(head + " Plain Bot\\n\\n")
    elif name == "list_commands": say(head + " name quit " + ("" if "plain" in sys.argv else "ggp-new") + "\\n\\n")
    elif name == "die": os._exit(3)
    elif name == "complain": print("Error: my fault", file=sys.stderr, flush=True); os._exit(1)
    elif name == "slow":
        open("asked", "w").close()
        while not os.path.exists("go"): time.sleep(0.01)
        say(head + " slow\\n\\n")
    elif name == "pieces":
        for char in head + " a\\nb\\n\\n": say(char); time.sleep(0.001)
    elif name == "huge": say(head + " " + "x" * 1100000 + "\\n\\n")
    elif name == "twice": say(head + " a\\n\\n" + head + " b\\n\\n")
    elif name == "flood":
        for number in range(5000): print("line", number, file=sys.stderr)
        sys.stderr.flush(); say(head + "\\n\\n")
    elif name == "deaf":
        say(head + "\\n\\n")
        while not os.path.exists("go"): time.sleep(0.01)
    elif name == "quit": say(head + "\\n\\n"); break
    else: say(head + " " + " ".join(words) + "\\n\\n")
"""
Run = Callable[..., Ggp]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Starts `ggp connect URL … -- bot WORDS` in a folder of its own."""
    bot = tmp_path / "bot"
    bot.write_text(BOT.replace("{python}", sys.executable))
    bot.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return lambda url, *options, words=(): Ggp("connect", url, *options, "--", "./bot", *words)


@pytest.fixture
def lobby() -> Iterator[SmallLobby]:
    with SmallLobby() as small:
        yield small


def end(ggp: Ggp, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
    os.kill(ggp.process.pid, number)
    return ggp.wait()


def test_commands_go_in_and_answers_come_out(run: Run, lobby: SmallLobby) -> None:
    ggp = run(lobby.url)
    assert lobby.hello() == Hello("Plain-Bot")
    assert lobby.ask("7 add 1") == "=7 add 1"
    assert lobby.ask("pieces") == "= a\nb"
    for number in range(200):
        lobby.say(f"{number} echo {number}")
    assert [lobby.answer() for _ in range(200)] == [f"={number} echo {number}" for number in range(200)]
    status, out, err = end(ggp)
    assert lobby.bye() == "its author ended it"
    assert status == 0 and out == "" and "connected" in err and "I am a bot" in err


def test_the_name_and_a_plain_bots_game(run: Run, lobby: SmallLobby) -> None:
    ggp = run(lobby.url, "--name", "dot", "--quiet", words=("plain", "greet"))
    assert lobby.hello() == Hello("dot", ("go",))
    assert lobby.ask("name") == "= Plain Bot"
    status, out, err = end(ggp, signal.SIGINT)
    assert (status, out, err) == (130, "", "")


@pytest.mark.parametrize("good", [True, False])
def test_keys(run: Run, tmp_path: Path, good: bool) -> None:
    server, mine = new_pair(), new_pair()
    write_pair(tmp_path / "ggp.key", mine)
    (tmp_path / "server.pub").write_text(server.public if good else mine.public)
    with SmallLobby(server) as lobby:
        ggp = run(lobby.url, "--key", "ggp.key", "--server-key", "server.pub", "--json")
        if good:
            assert lobby.hello() == Hello("Plain-Bot")
        else:
            assert lobby.message(1.0) is None
        _, out, _ = end(ggp)
    events = [json.loads(line)["event"] for line in out.splitlines()]
    assert events[:2] == (["started", "up"] if good else ["started", "lost"])


def test_a_lobby_that_was_gone_is_found_again_and_late_answers_are_not_for_it(run: Run, tmp_path: Path) -> None:
    with SmallLobby() as lobby:
        url = lobby.url
        ggp = run(url)
        lobby.hello()
        lobby.say("slow")
        wait_until((tmp_path / "asked").exists)
    time.sleep(0.3)
    with SmallLobby(url=url) as lobby:
        assert lobby.hello() == Hello("Plain-Bot")
        lobby.say("1 echo again")
        (tmp_path / "go").touch()
        assert lobby.answer() == "=1 echo again"
        assert end(ggp)[0] == 0


def test_a_bot_that_ends_is_started_again_on_a_connection_of_its_own(run: Run, lobby: SmallLobby) -> None:
    ggp = run(lobby.url)
    lobby.hello()
    for command, ended in (("die", "exit status 3"), ("complain", "exit status 1: Error: my fault")):
        lobby.say(command)
        assert lobby.hello() == Hello("Plain-Bot")
        assert lobby.ask("echo") == "= echo", ended
    assert len(set(lobby.routes)) == 3 and lobby.byes == []
    _, _, err = end(ggp)
    assert "the bot ended: exit status 3" in err and "exit status 1: Error: my fault" in err


def test_a_bot_that_cannot_be_started_again_is_said_to_have_ended(run: Run, lobby: SmallLobby, tmp_path: Path) -> None:
    ggp = run(lobby.url, words=("dies-again",))
    lobby.hello()
    lobby.say("die")
    assert lobby.bye() == "the bot ended: exit status 1: no second time"
    (tmp_path / "once").unlink()
    assert lobby.hello() == Hello("Plain-Bot")
    assert end(ggp)[0] == 0


def test_a_bot_that_ends_again_and_again_is_given_a_rest(run: Run, lobby: SmallLobby) -> None:
    ggp = run(lobby.url)
    for _ in range(3):
        lobby.hello()
        lobby.say("die")
    assert lobby.bye() == "the bot ended: exit status 3"
    assert lobby.hello() == Hello("Plain-Bot")
    assert end(ggp)[0] == 0


@pytest.mark.parametrize(
    ("command", "said"), [("huge", "an answer is at most 1048576 bytes"), ("twice", "what nobody asked")]
)
def test_a_bot_that_breaks_the_protocol_is_started_again(run: Run, lobby: SmallLobby, command: str, said: str) -> None:
    ggp = run(lobby.url)
    lobby.hello()
    lobby.say(command)
    if command == "twice":
        assert lobby.answer() == "= a"
    lobby.hello()
    assert said in end(ggp)[2]


def test_a_bot_that_does_not_read_is_started_again(run: Run, lobby: SmallLobby) -> None:
    ggp = run(lobby.url)
    lobby.hello()
    assert lobby.ask("deaf") == "="
    for _ in range(100):
        lobby.say("x" * 60_000)
    lobby.hello()
    assert "does not read what it is asked" in end(ggp)[2]


def test_what_a_slow_bot_is_asked_arrives_in_full(run: Run, lobby: SmallLobby, tmp_path: Path) -> None:
    ggp = run(lobby.url)
    lobby.hello()
    assert lobby.ask("deaf") == "="
    for number in range(30):
        lobby.say(f"{number} {'x' * 20_000}")
    time.sleep(0.3)
    (tmp_path / "go").touch()
    assert [lobby.answer() for _ in range(30)] == [f"={number} {'x' * 20_000}" for number in range(30)]
    assert end(ggp)[0] == 0


def test_stderr_arrives_but_not_all_of_a_flood(run: Run, lobby: SmallLobby) -> None:
    ggp = run(lobby.url, "--quiet")
    lobby.hello()
    assert lobby.ask("flood") == "=" and lobby.ask("echo") == "= echo"
    give_up = time.monotonic() + PATIENCE
    while not any("were left out" in line for line in lobby.stderr) and time.monotonic() < give_up:
        assert lobby.ask("echo") == "= echo"
        time.sleep(0.05)
    assert "line 0" in lobby.stderr and len(lobby.stderr) < 200
    assert end(ggp)[2] == ""


def test_who_is_replaced_ends(run: Run, lobby: SmallLobby) -> None:
    ggp = run(lobby.url)
    lobby.hello()
    lobby.send(Bye("replaced: by another connection"))
    status, _, err = ggp.wait()
    assert status == 1 and "took this one's place" in err


def test_what_the_lobby_says_goodbye_for_is_shown(run: Run, lobby: SmallLobby) -> None:
    ggp = run(lobby.url)
    lobby.hello()
    lobby.send(Bye("the name dot is another owner's"))
    lobby.hello()
    assert "the lobby said goodbye: the name dot is another owner's" in end(ggp)[2]


def test_lines_of_stderr_are_cut_and_counted() -> None:
    said = Said()
    said.add(b"a\nb\x1b[31m\n" + b"x" * 5000)
    assert said.lines(0.0) == ["a", "b[31m"]
    said.add(b"y\n" * 500)
    lines = said.lines(0.0)
    assert lines[0] == "x" * LONGEST_LINE and said.last == "y" and len(lines) <= LINES_AT_ONCE
    assert said.lines(10.0) == [f"({500 - len(lines)} lines of stderr were left out)"]


LOOSE = KeyPair("0" * 40, "0" * 40)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tcp://127.0.0.1:5555"], "Missing argument"),
        (["127.0.0.1:5555", "--", "true"], "write tcp://host:port"),
        (["tcp://10.1.1.1:5555", "--", "true"], "--key FILE and --server-key are needed"),
        (["tcp://10.1.1.1:5555", "--key", "loose.key", "--", "true"], "chmod 600 loose.key"),
        (["tcp://10.1.1.1:5555", "--key", "none.key", "--", "true"], "ggp keys new none.key"),
        (["tcp://10.1.1.1:5555", "--server-key", "short", "--", "true"], "neither a public key"),
        (["tcp://127.0.0.1:5555", "--name", "a\nb", "--", "true"], "printable"),
        (["tcp://127.0.0.1:5555", "--", "./none"], "./none does not exist"),
        (["tcp://127.0.0.1:5555", "--", "sh", "-c", "echo my fault >&2; exit 4"], "exit status 4: my fault"),
        (["tcp://127.0.0.1:5555", "--nonsense", "--", "true"], "No such option"),
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pair(Path("loose.key"), LOOSE)
    Path("loose.key").chmod(0o644)
    assert main(words) == 2
    out, err = capfd.readouterr()
    assert out == "" and len(err.splitlines()) == 1 and said in err
