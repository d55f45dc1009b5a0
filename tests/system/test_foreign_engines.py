"""The example engines in other languages' hands: what a foreign engine must answer, framing, whole games.

Each is judged from outside, by rules written here again where that is short; `ggp match` with them is elsewhere.
"""

import re
import sys
from collections.abc import Callable, Iterator

import pytest
import zmq

from ggp.protocol.commands import Who
from ggp.protocol.conformance import CheckVerdict
from ggp.protocol.connection import PeerRole
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.process import Remote
from ggp.referee.match.setting import Timeouts
from ggp.referee.tools.check.run import run_trial
from ggp.referee.tools.check.trial import Trial
from tests.support import ROOT
from tests.support.checked_peer import exchanges, failed_checks
from tests.support.raw_peer import PATIENCE, RawPeer

CONNECT4 = [sys.executable, str(ROOT / "engines/examples/connect4.py")]
LEGAL_BOT = [sys.executable, str(ROOT / "bots/examples/legal_bot.py")]
Ask = Callable[[str], str]


@pytest.fixture(scope="module")
def connect4() -> Iterator[str]:
    """The address of the running service."""
    with RawPeer([*CONNECT4, "tcp://127.0.0.1:*"]) as peer:
        peer.wait_for(lambda: b"\n" in peer.stderr)
        yield peer.stderr.decode().split()[-1]


class ZmqPeer:
    """A DEALER that asks a service, as any language with a ZeroMQ binding would."""

    def __init__(self, url: str) -> None:
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.RCVTIMEO, int(1000 * PATIENCE))
        self._socket.connect(url)

    def exchange(self, data: bytes) -> bytes:
        self._socket.send(data)
        answer: bytes = self._socket.recv()
        return answer

    def ask(self, line: str) -> str:
        answer = self.exchange(f"7 {line}\n".encode()).decode()
        assert answer[1] == "7" and answer.endswith("\n\n"), answer
        text = answer[2:].strip()
        return text if answer[0] == "=" else f"? {text}"

    def close(self) -> None:
        self._socket.close(linger=0)


@pytest.fixture(params=["hexapawn", "connect4"])
def engine(request: pytest.FixtureRequest, hexapawn: str, connect4: str) -> Iterator[tuple[str, Ask]]:
    """Each of the two engines, by the name of its game and a way to ask it; freshly started or connected."""
    if request.param == "hexapawn":
        with RawPeer([hexapawn]) as peer:
            yield "hexapawn", peer.ask
    else:
        zmq_peer = ZmqPeer(connect4)
        yield "connect4", zmq_peer.ask
        zmq_peer.close()


@pytest.mark.slow
def test_every_check_on_hexapawn(hexapawn: str) -> None:
    assert failed_checks([hexapawn], Who.ENGINE, "hexapawn") == []


@pytest.mark.slow
def test_every_check_on_connect4_on_stdin() -> None:
    assert failed_checks(CONNECT4, Who.ENGINE, "connect4") == []


@pytest.mark.slow
def test_every_check_on_connect4_as_a_service(connect4: str) -> None:
    def dial() -> Remote:
        return Remote(connect4, PeerRole.ENGINE, Timeouts())

    trial = Trial(Who.ENGINE, dial, patience=10.0, first=60.0, remote=True)
    found = run_blocking(run_trial(trial, exchanges(Who.ENGINE, "connect4"), ("connect4",)))
    assert {one.verdict for one in found} <= {CheckVerdict.PASS, CheckVerdict.NOT_APPLICABLE}
    assert sum(one.verdict is CheckVerdict.PASS for one in found) > 30


@pytest.mark.slow
def test_status_lines_tell_the_turn(engine: tuple[str, Ask]) -> None:
    game, ask = engine
    move, reply = {"hexapawn": ("b1B2", "A3B2"), "connect4": ("d", "D")}[game]
    assert ask("ggp-status") == "? no game: use ggp-new"
    assert ask(f"ggp-new {game}") == "phase=play to_play=black seat=1 ply=0"
    assert ask(f"ggp-play black {move}") == f"move={move.upper()} phase=play to_play=white seat=2 ply=1"
    assert ask(f"ggp-play W {reply}") == f"move={reply} phase=play to_play=black seat=1 ply=2"
    assert ask("ggp-history") == f"1 black {move.upper()}\n2 white {reply}"


@pytest.mark.slow
def test_a_refused_command_changes_nothing(engine: tuple[str, Ask]) -> None:
    game, ask = engine
    ask(f"ggp-new {game}")
    before = ask("ggp-status"), ask("ggp-legal_moves"), ask("ggp-history")
    legal = before[1].split()[0]
    for line in (
        f"ggp-play white {legal}",
        "ggp-play black H8H9",
        "ggp-play purple A1A2",
        "ggp-play black",
        "ggp-new chess",
        f"ggp-new {game} size=1000 width=1000",
        f"ggp-new {game} colour=blue",
    ):
        assert ask(line).startswith("? "), line
        assert (ask("ggp-status"), ask("ggp-legal_moves"), ask("ggp-history")) == before


@pytest.mark.slow
def test_options_are_sent_and_obeyed(engine: tuple[str, Ask]) -> None:
    game, ask = engine
    for line in ask(f"ggp-options {game}").split("\n"):
        name, kind, default, domain = line.split()
        least, greatest = map(int, domain.split(".."))
        assert kind == "int" and least <= int(default) <= greatest
        sizes = set()
        for value in (least, greatest):
            assert ask(f"ggp-new {game} {name}={value}") == "phase=play to_play=black seat=1 ply=0"
            sizes.add(ask("ggp-legal_moves"))
        for wrong in (str(least - 1), str(greatest + 1), "", "x"):
            assert ask(f"ggp-new {game} {name}={wrong}").startswith("? ")
        assert (game == "connect4" and name == "height") or len(sizes) == 2


@pytest.mark.slow
def test_illegal_moves_are_refused_in_the_fixed_words(engine: tuple[str, Ask]) -> None:
    """PROTOCOL §2.4: exactly `illegal move`, and a reason after `: `."""
    game, ask = engine
    ask(f"ggp-new {game}")
    for words in ("black Z9", "black pass", "black A1A9", "white A1"):
        assert re.fullmatch(r"\? illegal move(: [^\n]+)?", ask(f"ggp-play {words}")), words
    assert ask("ggp-history") == ""


@pytest.mark.slow
def test_whole_games_with_the_bot_that_asks_the_engine(engine: tuple[str, Ask], hexapawn: str) -> None:
    game, ask = engine
    bot = [*LEGAL_BOT, *([hexapawn] if game == "hexapawn" else CONNECT4)]
    results = set()
    with RawPeer(bot) as black, RawPeer(bot) as white:
        for _ in range(15):
            for peer in (black, white):
                assert peer.ask(f"ggp-new {game}") == ""
            status = ask(f"ggp-new {game}")
            moves: list[str] = []
            while "phase=over" not in status:
                mover, other, colour = (black, white, "black") if len(moves) % 2 == 0 else (white, black, "white")
                legal = ask("ggp-legal_moves").split()
                assert legal == sorted(set(legal))
                moves.append(mover.ask(f"genmove {colour}"))
                assert moves[-1] in legal
                assert other.ask(f"play {colour} {moves[-1]}") == ""
                status = ask(f"ggp-play {colour} {moves[-1]}")
                assert status.startswith(f"move={moves[-1]} ")
            assert ask("ggp-legal_moves") == "" and ask("ggp-play black A1").startswith("? illegal move")
            assert ask("ggp-history").count("\n") == len(moves) - 1
            found = re.search(r" to_play=none seat=0 ply=(\d+) result=(\S+) winner=([012])$", status)
            assert found and int(found[1]) == len(moves)
            assert (found[2], found[3]) in {("B+", "1"), ("W+", "2"), ("0", "0")}
            if found[3] != "0":
                assert int(found[3]) == 1 + (len(moves) - 1) % 2  # in both games the last mover wins
            results.add(found[2])
    assert len(results) >= 2


def test_connect4_knows_lines_in_every_direction_and_a_full_board(connect4: str) -> None:
    peer = ZmqPeer(connect4)
    endings = {
        "A B A B A B A": "result=B+ winner=1",  # upright
        "G A G B G C A D": "result=W+ winner=2",  # level
        "A B B C C D C D D A D": "result=B+ winner=1",  # rising
        "D C C B B A B A A D A": "result=B+ winner=1",  # falling
    }
    for moves, end in endings.items():
        peer.ask("ggp-new connect4")
        for ply, move in enumerate(moves.split()):
            status = peer.ask(f"ggp-play {'bw'[ply % 2]} {move}")
            assert ("phase=over" in status) == (ply == moves.count(" ")), (moves, status)
        assert end in status
    peer.ask("ggp-new connect4 width=4 height=4")
    for ply, move in enumerate("AAACBCCBADDBCDDB"):
        status = peer.ask(f"ggp-play {'bw'[ply % 2]} {move}")
    assert "phase=over to_play=none seat=0 ply=16 result=0 winner=0" in status
    peer.close()


def test_connect4_gives_every_peer_a_game_of_its_own(connect4: str) -> None:
    one, two = ZmqPeer(connect4), ZmqPeer(connect4)
    one.ask("ggp-new connect4")
    assert two.ask("ggp-status") == "? no game: use ggp-new"
    two.ask("ggp-new connect4 width=4")
    one.ask("ggp-play black G")
    assert (one.ask("ggp-history"), two.ask("ggp-history")) == ("1 black G", "")
    assert one.ask("quit") == ""
    assert one.ask("ggp-status") == "? no game: use ggp-new"  # quit ended the session, not the service
    assert two.ask("ggp-legal_moves") == "A B C D"
    one.close()
    two.close()


@pytest.mark.slow
def test_connect4_says_in_one_line_why_it_cannot_listen(connect4: str) -> None:
    in_use = ([connect4], "Address already in use")
    for arguments, reason in (([connect4, connect4], "usage: "), in_use, (["nonsense"], "nonsense")):
        with RawPeer([*CONNECT4, *arguments]) as peer:
            assert peer.exit_status() == 1
            assert reason in peer.stderr.decode() and peer.stderr.count(b"\n") == 1


@pytest.mark.slow
def test_hexapawn_ends_by_the_far_row_and_by_stalemate(hexapawn: str) -> None:
    with RawPeer([hexapawn]) as peer:
        for moves, end in (
            ("A1A2 C3C2 B1C2 B3B2 C2C3", "ply=5 result=B+ winner=1"),
            ("B1B2 A3B2 C1C2 B2B1", "ply=4 result=W+ winner=2"),
            ("A1A2 B3A2 B1A2 C3C2", "ply=4 result=W+ winner=2"),  # Black cannot move
        ):
            peer.ask("ggp-new hexapawn")
            for ply, move in enumerate(moves.split()):
                status = peer.ask(f"ggp-play {'bw'[ply % 2]} {move}")
            assert status.endswith("phase=over to_play=none seat=0 " + end), (moves, status)
