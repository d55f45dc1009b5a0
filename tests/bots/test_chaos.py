"""Every fault of the chaos bot does what it says, at the moment that was asked for, and leaves nothing behind."""

import os
import signal
import time

import pytest

from tests.support.chaos import CHAOS, FAULTS, MOMENTS, OPTIONS
from tests.support.raw_peer import RawPeer

pytestmark = pytest.mark.slow

SHORT = 0.25  # seconds in which nothing may come


def chaos(*words: str, start: bool = True) -> RawPeer:
    """A chaos bot that has begun a game of yugo 5x5 (`start`) and will not live long."""
    named = {word.partition("=")[0] for word in words}
    defaults = [word for word in ("seed=1", "life=5") if word.partition("=")[0] not in named]
    peer = RawPeer([*CHAOS, *defaults, *words])
    if start:
        assert peer.ask("ggp-new yugo size=5") == ""
    return peer


def genmove(peer: RawPeer) -> None:
    peer.send(b"7 genmove black\n")


def heard(peer: RawPeer) -> bytes:
    """All that it says, once it has begun and until it is silent for a moment."""
    peer.wait_for(lambda: bool(peer.heard))
    return peer.listen(SHORT)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_without_a_fault_it_behaves() -> None:
    with chaos() as peer:
        assert peer.ask("name") == "chaos"
        assert peer.ask("genmove black")[0] in "ABCDE"
        assert peer.ask("quit") == ""
        assert peer.exit_status() == 0


def test_every_fault_is_tried_here() -> None:
    tried = {word for word in globals() if word.startswith("test_")}
    assert [name for name in FAULTS if not any(f"_{name}_" in f"{word}_" for word in tried)] == []


def test_none_is_no_fault() -> None:
    with chaos("fault=none", "move=0") as peer:
        assert peer.ask("genmove black")[0] in "ABCDE"


def test_late_answers_after_so_many_milliseconds() -> None:
    with chaos("fault=late", "ms=300", "move=2") as peer:
        assert peer.ask("genmove black", patience=60)
        began = time.monotonic()
        assert peer.ask("genmove white")
        assert 0.3 <= time.monotonic() - began < 30
        assert peer.ask("genmove black")


def test_late_at_the_start_is_a_slow_start() -> None:
    began = time.monotonic()
    with chaos("fault=late", "when=start", "ms=400"):
        assert time.monotonic() - began >= 0.4


def test_silent_never_answers_and_leaves_at_the_end() -> None:
    with chaos("fault=silent") as peer:
        genmove(peer)
        peer.send(b"name\n")
        assert peer.listen(SHORT) == b""
        peer.close_stdin()
        assert peer.until_end() == b"" and peer.exit_status() == 0


def test_deaf_does_not_even_read() -> None:
    with chaos("fault=deaf") as peer:
        genmove(peer)
        peer.close_stdin()
        assert peer.listen(SHORT) == b"" and not peer.ended
        os.kill(peer.process.pid, signal.SIGTERM)
        assert peer.exit_status() == -signal.SIGTERM


def test_half_writes_half_a_line() -> None:
    with chaos("fault=half") as peer:
        genmove(peer)
        text = heard(peer)
        assert text.startswith(b"=") and b"\n" not in text and not peer.ended


def test_half_crash_writes_half_a_line_and_exits() -> None:
    with chaos("fault=half_crash", "status=9") as peer:
        genmove(peer)
        heard = peer.until_end()
        assert heard.startswith(b"=") and b"\n" not in heard
        assert peer.exit_status() == 9


def test_last_words_end_with_one_newline() -> None:
    with chaos("fault=last_words", "status=0") as peer:
        genmove(peer)
        heard = peer.until_end()
        assert heard.startswith(b"=7 ") and heard.find(b"\n") == len(heard) - 1
        assert peer.exit_status() == 0


def test_close_stdout_closes_stdout_only() -> None:
    with chaos("fault=close_stdout") as peer:
        genmove(peer)
        assert peer.until_end() == b""
        assert peer.process.poll() is None
        peer.close_stdin()
        assert peer.exit_status() == 0


def test_close_stdin_answers_and_stays() -> None:
    with chaos("fault=close_stdin") as peer:
        assert peer.ask("genmove black")[0] in "ABCDE"
        with pytest.raises(BrokenPipeError):
            for _ in range(100):
                os.write(peer.process.stdin.fileno(), b"name\n")  # type: ignore[union-attr]
                time.sleep(0.01)
        assert peer.process.poll() is None


@pytest.mark.parametrize(("words", "status"), [(["status=3"], 3), (["signal=11"], -11), (["signal=9"], -9)])
def test_crash_exits_with_a_status_or_by_a_signal(words: list[str], status: int) -> None:
    with chaos("fault=crash", "move=2", *words) as peer:
        assert peer.ask("genmove black")
        genmove(peer)
        assert peer.until_end() == b"" and peer.exit_status() == status


def test_complain_says_why_on_stderr() -> None:
    with chaos("fault=complain") as peer:
        genmove(peer)
        assert peer.exit_status() == 70 and b"out of cheese" in peer.stderr


@pytest.mark.parametrize("setsid", ["off", "on"])
def test_fork_exits_but_the_pipes_stay_open(setsid: str) -> None:
    with chaos("fault=fork", "status=0", "life=1", f"setsid={setsid}") as peer:
        genmove(peer)
        peer.process.wait(5)
        assert peer.process.returncode == 0
        assert peer.listen(SHORT) == b"" and not peer.ended
        if setsid == "off":
            os.killpg(peer.process.pid, signal.SIGKILL)
        else:
            with pytest.raises(ProcessLookupError):  # no process is left in the group
                os.killpg(peer.process.pid, signal.SIGKILL)
        peer.until_end(3)  # the child is gone too, at the latest when its life is over


def test_leave_child_plays_on_and_leaves_a_child_with_the_pipes() -> None:
    with chaos("fault=leave_child", "setsid=on", "life=1") as peer:
        assert peer.ask("genmove black") and peer.ask("quit") == ""
        peer.process.wait(5)
        assert peer.process.returncode == 0 and not peer.ended
        peer.until_end(3)


def test_ignore_quit_takes_sigterm() -> None:
    with chaos("fault=ignore_quit") as peer:
        assert peer.ask("genmove black")
        peer.send(b"quit\n")
        peer.close_stdin()
        assert peer.listen(SHORT) == b"" and peer.process.poll() is None
        os.kill(peer.process.pid, signal.SIGTERM)
        assert peer.exit_status() == -signal.SIGTERM


def test_ignore_sigterm_takes_sigkill() -> None:
    with chaos("fault=ignore_sigterm") as peer:
        assert peer.ask("genmove black")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(peer.process.pid, number)
        peer.close_stdin()
        assert peer.listen(SHORT) == b"" and peer.process.poll() is None
        os.kill(peer.process.pid, signal.SIGKILL)
        assert peer.exit_status() == -signal.SIGKILL


def test_flood_stdout_is_followed_by_the_answer() -> None:
    with chaos("fault=flood_stdout", "mb=3") as peer:
        genmove(peer)
        peer.wait_for(lambda: b"\n\n" in peer.heard)
        assert len(peer.heard) > 3_000_000 and b"\n=7 " in peer.heard


def test_flood_stderr_answers_all_the_same() -> None:
    with chaos("fault=flood_stderr", "mb=3") as peer:
        assert peer.ask("genmove black")[0] in "ABCDE"
        peer.wait_for(lambda: peer.stderr_bytes > 3_000_000)


def test_long_line_has_no_newline_for_long() -> None:
    with chaos("fault=long_line", "mb=3") as peer:
        genmove(peer)
        peer.wait_for(lambda: b"\n\n" in peer.heard)
        assert peer.heard.startswith(b"=7 AAA") and peer.heard.index(b"\n") > 3_000_000


def test_many_lines_are_too_many() -> None:
    with chaos("fault=many_lines") as peer:
        genmove(peer)
        assert peer.answer().count("\n") == 20_000


def test_garbage_is_no_answer() -> None:
    with chaos("fault=garbage") as peer:
        genmove(peer)
        text = heard(peer)
        assert text.count(b"\n") == 300 and b"=" not in text and b"?" not in text


def test_chatter_comes_before_the_answer() -> None:
    with chaos("fault=chatter") as peer:
        genmove(peer)
        *junk, answer = peer.answer().split("\n")
        assert len(junk) == 5 and answer.startswith("=7 ")


def test_binary_is_no_text() -> None:
    with chaos("fault=binary") as peer:
        genmove(peer)
        text = heard(peer)
        assert len(text) > 1000 and not text.isascii()


def test_nul_bytes_are_in_the_answer() -> None:
    with chaos("fault=nul") as peer:
        genmove(peer)
        text = heard(peer)
        assert text.replace(b"\0", b"").startswith(b"=7 ") and text.count(b"\0") == len(text) // 2


def test_crlf_ends_every_line() -> None:
    with chaos("fault=crlf", start=False) as peer:
        peer.send(b"name\n")
        assert heard(peer) == b"= chaos\r\n\r\n"


def test_wrong_id_is_another() -> None:
    with chaos("fault=wrong_id") as peer:
        genmove(peer)
        assert peer.answer().startswith("=8 ")
        peer.send(b"name\n3 name\n")
        assert [peer.answer(), peer.answer()] == ["= chaos", "=3 chaos"]


def test_no_ids_are_echoed_ever() -> None:
    with chaos("fault=no_ids", start=False) as peer:
        peer.send(b"1 name\n2 ggp-new yugo\n3 foo\n")
        assert [peer.answer() for _ in range(3)] == ["= chaos", "=", "? unknown command"]


def test_double_answers_twice() -> None:
    with chaos("fault=double") as peer:
        genmove(peer)
        first, second = peer.answer(), peer.answer()
        assert first == second and first.startswith("=7 ")


def test_illegal_is_readable() -> None:
    with chaos("fault=illegal", "move=2") as peer:
        assert peer.ask("genmove black")
        assert peer.ask("play white C3") == ""
        assert peer.ask("genmove black") == "C3"
    with chaos("fault=illegal") as peer:
        assert peer.ask("genmove black") == "Z25"
    with chaos("fault=illegal") as peer:
        assert peer.ask("play black button") == ""
        assert peer.ask("genmove white") == "Z25"


def test_unreadable_is_no_move() -> None:
    with chaos("fault=unreadable") as peer:
        assert peer.ask("genmove black") == "banana!"


def test_empty_is_an_empty_success() -> None:
    with chaos("fault=empty") as peer:
        genmove(peer)
        assert peer.answer() == "=7"


def test_refuse_fails_at_any_moment() -> None:
    with chaos("fault=refuse") as peer:
        assert peer.ask("genmove black") == "? I will not"
    with chaos("fault=refuse", "when=play", "move=2") as peer:
        assert peer.ask("play black C3") == ""
        assert peer.ask("play white D3") == "? I will not"
    with chaos("fault=refuse", "when=new", start=False) as peer:
        assert peer.ask("ggp-new yugo") == "? I will not"


def test_resign_resigns() -> None:
    with chaos("fault=resign", "move=2") as peer:
        assert peer.ask("genmove black") != "resign"
        assert peer.ask("genmove white") == "resign"


def test_moments() -> None:
    with chaos("fault=crash", "status=5", "when=start", start=False) as peer:
        assert peer.exit_status() == 5
    with chaos("fault=crash", "status=5", "when=after") as peer:
        assert peer.ask("genmove black")
        assert peer.exit_status() == 5
    with chaos("fault=crash", "status=5", "when=result", "game=2") as peer:
        assert peer.ask("ggp-result B+1") == "" and peer.ask("ggp-new yugo") == ""
        peer.send(b"ggp-result W+1\n")
        assert peer.exit_status() == 5
    with chaos("fault=silent", "when=quit") as peer:
        peer.send(b"quit\n")
        assert peer.until_end() == b"" and peer.exit_status() == 0
    assert set(MOMENTS) == {"start", "new", "genmove", "after", "play", "result", "quit"}


def test_the_game_and_the_move_are_counted() -> None:
    with chaos("fault=resign", "game=2", "move=2") as peer:
        for game in (1, 2, 3):
            for move in (1, 2, 3):
                answer = peer.ask(f"genmove {'white' if move % 2 == 0 else 'black'}")
                assert (answer == "resign") == ((game, move) == (2, 2))
            peer.ask("ggp-new yugo size=5")
    with chaos("fault=resign", "move=0") as peer:
        assert [peer.ask("genmove b"), peer.ask("genmove w")] == ["resign", "resign"]


def test_any_fault_is_chosen_by_seed() -> None:
    def play(seed: int) -> bytes:
        """What a bot says in four short games, or until its fault ends it."""
        turns = "genmove b\ngenmove w\n" * 8
        with chaos("fault=any", "ms=1", f"seed={seed}", start=False) as peer:
            peer.send("".join(f"ggp-new yugo size=5\n{turns}" for _ in range(4)).encode() + b"quit\n")
            peer.close_stdin()
            return peer.until_end()

    once = [play(seed) for seed in range(1, 5)]
    assert once == [play(seed) for seed in range(1, 5)]
    assert len(set(once)) == 4


def test_nothing_lives_longer_than_it_may() -> None:
    with chaos("fault=deaf", "life=1") as peer:
        genmove(peer)
        assert peer.exit_status(5) == -signal.SIGALRM
    with chaos("fault=ignore_sigterm", "life=1") as peer:
        peer.close_stdin()
        assert peer.exit_status(5) == -signal.SIGALRM
    with chaos("fault=silent", "life=1") as peer:
        genmove(peer)
        assert peer.exit_status(5) == -signal.SIGALRM
        assert not alive(peer.process.pid)


def test_bad_options_are_one_clear_line() -> None:
    for words, reason in (
        (["fault=nonsense"], "fault"),
        (["colour=blue"], "no option colour"),
        (["move=-1"], "0..1000"),
        (["move=1", "move=2"], "twice"),
        (["fault"], "name=value"),
    ):
        with RawPeer([*CHAOS, *words]) as peer:
            assert peer.exit_status() == 2
            assert reason in peer.stderr.decode() and peer.stderr.count(b"\n") == 1 and not peer.heard


def test_help_tells_every_option_fault_and_moment() -> None:
    with RawPeer([*CHAOS, "--help"]) as peer:
        text = peer.until_end().decode()
    for word in (*FAULTS, *MOMENTS, *(option.name for option in OPTIONS)):
        assert f"\n  {word} " in text
