"""Connections to a lobby with real sockets on loopback: reports, messages, reconnections, what remains."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from random import Random

import pytest
import zmq

from ggp.protocol.errors import AddressError
from ggp.protocol.lobby_wire import Bye, Hello, LobbyAnswer, LobbyAsk, Message, Stderr
from ggp.protocol.transports import lobby_dial as dialled
from ggp.protocol.transports.keys import new_pair
from ggp.protocol.transports.lobby_dial import Dial, LeftLobby, LobbyLink, Replaced
from ggp.protocol.transports.zmq import AccessRefused, Handshakes
from tests.support.codes import raises
from tests.support.lobby_socket import PATIENCE, SmallLobby

Told = list[tuple[str, str]]
MINE, SERVER = new_pair(), new_pair()
Dialling = Callable[..., tuple[Dial, Told]]


@pytest.fixture
def lobby() -> Iterator[SmallLobby]:
    with SmallLobby() as small:
        yield small


@pytest.fixture
def dialling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dialling]:
    """Makes a Dial that does not wait long, and the list of what it tells."""
    monkeypatch.setattr(dialled, "FIRST_WAIT", 0.02)
    made: list[Dial] = []

    def make(lobby: LobbyLink, hello: Hello | None = None) -> tuple[Dial, Told]:
        told: Told = []
        dial = Dial(lobby, hello or Hello("dot"), lambda what, why: told.append((what, why)), Random(1))
        made.append(dial)
        return dial, told

    yield make
    for dial in made:
        dial.close()


def until(dial: Dial, done: Callable[[], bool]) -> list[Message]:
    """Poll until it is done; the messages that came."""
    messages: list[Message] = []
    give_up = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < give_up
        dial.poll(0.02)
        while (message := dial.receive()) is not None:
            messages.append(message)
    return messages


def greet(dial: Dial, lobby: SmallLobby) -> None:
    before = len(lobby.routes)
    until(dial, lambda: lobby.message(0.0) is not None and len(lobby.routes) > before)


def test_an_author_sends_no_hello(lobby: SmallLobby) -> None:
    dial = Dial(LobbyLink(lobby.url), None, lambda what, why: None, Random(1))
    until(dial, lambda: dial.up)
    dial.send(LobbyAsk(b"ggp-bots\n"))
    assert lobby.message(PATIENCE) == LobbyAsk(b"ggp-bots\n")
    dial.close()


@pytest.mark.parametrize("keys", [False, True])
def test_hello_commands_answers_goodbye(dialling: Dialling, keys: bool) -> None:
    with SmallLobby(SERVER if keys else None) as lobby:
        where = LobbyLink(lobby.url, MINE, SERVER.public) if keys else LobbyLink(lobby.url)
        dial, told = dialling(where, Hello("dot", ("go", "yugo")))
        assert dial.receive() is None and not dial.up
        greet(dial, lobby)
        assert dial.up and dial.number == 1 and told == [("up", "")]
        lobby.say("name")
        while (message := dial.receive()) is None:
            dial.poll(PATIENCE)
        assert message == LobbyAsk(b"name\n")
        dial.send(Stderr("thinking"))
        dial.send(LobbyAnswer(b"= dot\n\n"))
        assert lobby.answer() == "= dot" and lobby.stderr == ["thinking"]
        dial.close("done")
        assert lobby.bye() == "done"


def test_what_the_caller_watches_wakes_it(dialling: Dialling, lobby: SmallLobby) -> None:
    dial, _ = dialling(LobbyLink(lobby.url))
    greet(dial, lobby)
    reads, writes = os.pipe()
    dial.watch(reads)
    dial.watch(writes, for_writing=True)
    assert dial.poll(None) == [writes]
    dial.forget(writes)
    os.write(writes, b"x")
    assert dial.poll(None) == [reads]
    dial.forget(reads)
    assert dial.poll(0.001) == []
    os.close(reads)
    os.close(writes)


def test_the_next_address_is_dialled_where_one_does_not_answer(dialling: Dialling, lobby: SmallLobby) -> None:
    with SmallLobby() as gone:
        nowhere = gone.url
    dial, told = dialling(LobbyLink(f"{nowhere},{lobby.url},{nowhere}"))
    greet(dial, lobby)
    assert told[-1] == ("up", lobby.url) and dial.url == lobby.url
    assert dial.hello and dial.hello.moves


def test_a_lost_connection_is_made_again_at_its_own_address_first(dialling: Dialling) -> None:
    with SmallLobby() as one, SmallLobby() as other:
        dial, told = dialling(LobbyLink(f"{one.url},{other.url}"))
        until(dial, lambda: dial.up)
        first, second = (one, other) if dial.url == one.url else (other, one)
        first.close()
        until(dial, lambda: dial.up and dial.url == second.url)
        assert second.hello().name == "dot"
    assert [why for what, why in told if what == "lost"][:2] == [
        "the connection was lost",
        "nothing is listening at this address",
    ]


def test_a_bot_goes_to_the_address_that_the_lobby_names_if_it_is_its_own(dialling: Dialling) -> None:
    with SmallLobby() as one, SmallLobby() as other:
        dial, told = dialling(LobbyLink(f"{one.url},{other.url}"))
        until(dial, lambda: dial.up)
        first, second = (one, other) if dial.url == one.url else (other, one)
        assert first.hello().moves
        first.send(Bye(f"moved: {second.url} its session is there"))
        until(dial, lambda: dial.up and dial.url == second.url)
        assert "wait" not in {what for what, _ in told}, "it dials at once"
        second.hello()
        second.send(Bye("moved: tcp://192.0.2.1:7711 to a stranger"))
        until(dial, lambda: ("wait" in {what for what, _ in told}) and dial.up)
        assert dial.url in (one.url, other.url)


def test_a_bot_that_is_sent_to_and_fro_waits(dialling: Dialling) -> None:
    with SmallLobby() as one, SmallLobby() as other:
        dial, told = dialling(LobbyLink(f"{one.url},{other.url}"))
        for _ in range(8):
            until(dial, lambda: dial.up)
            here, there = (one, other) if dial.url == one.url else (other, one)
            here.hello()
            here.send(Bye(f"moved: {there.url}"))
            until(dial, lambda: not dial.up)
        assert "wait" in {what for what, _ in told}


def test_every_address_is_checked() -> None:
    for urls, code in (
        ("tcp://127.0.0.1:1,", "bad-address"),
        ("tcp://127.0.0.1:1,udp://127.0.0.1:2", "bad-address"),
        ("tcp://127.0.0.1:1,tcp://192.0.2.1:7711", "keys-needed"),
    ):
        with raises(AddressError, code):
            LobbyLink(urls)


def test_no_listener_is_tried_again_with_longer_waits(dialling: Dialling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialled, "LONGEST_WAIT", 0.1)
    with SmallLobby() as lobby:
        url = lobby.url
    dial, told = dialling(LobbyLink(url))
    until(dial, lambda: len(told) >= 12)
    assert {what for what, _ in told} == {"lost", "wait"}
    assert ("lost", "nothing is listening at this address") in told
    with SmallLobby(url=url) as lobby:
        greet(dial, lobby)
        assert told[-1] == ("up", "")
        until(dial, lambda: lobby.message(0.0) is None)
    until(dial, lambda: ("lost", "the connection was lost") in told)
    with SmallLobby(url=url) as lobby:
        greet(dial, lobby)
        assert dial.number == 2


def test_a_connection_that_stood_long_makes_the_waits_short_again(
    dialling: Dialling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialled, "SETTLED", 0.0)
    with SmallLobby() as lobby:
        dial, _ = dialling(LobbyLink(lobby.url))
        dial._wait = 1000.0
        greet(dial, lobby)
    until(dial, lambda: not dial.up)
    assert dial._wait == 2 * dialled.FIRST_WAIT


@pytest.mark.parametrize(
    ("key", "server", "codes"),
    [
        (False, True, ("keys-needed",)),
        # Which of the two ends closes first decides whether a try says why.
        (True, False, ("no-keys-asked", "wrong-server-key")),
        (True, True, ("wrong-server-key",)),
    ],
)
def test_keys_that_do_not_fit_are_dialled_in_vain_only_a_few_times(
    dialling: Dialling, key: bool, server: bool, codes: tuple[str, ...]
) -> None:
    """No key where one is asked for, a key where none is, another server's key."""
    with SmallLobby(SERVER if server else None) as lobby:
        dial, told = dialling(LobbyLink(lobby.url, MINE, MINE.public) if key else LobbyLink(lobby.url))
        with raises(AccessRefused, *codes):
            until(dial, lambda: False)
        assert [what for what, _ in told] == ["lost", "wait"] * (len(told) // 2) and len(told) < 2 * Handshakes.MOST


def test_a_server_that_is_no_lobby_is_reported(dialling: Dialling) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:

        def close_one() -> bool:
            with contextlib.suppress(BlockingIOError):
                server.accept()[0].close()
            return False

        server.setblocking(False)
        dial, _ = dialling(LobbyLink(f"tcp://127.0.0.1:{server.getsockname()[1]}"))
        with raises(AccessRefused, "keys-needed"):
            until(dial, close_one)


def test_handshakes_that_fail_once_there_was_a_connection_are_tried_on(dialling: Dialling) -> None:
    """The keys were right, so time may help."""
    with SmallLobby(SERVER) as lobby:
        url = lobby.url
        dial, told = dialling(LobbyLink(url, MINE, SERVER.public))
        greet(dial, lobby)
    with SmallLobby(MINE, url):
        until(dial, lambda: told.count(("lost", "the handshake failed")) > Handshakes.MOST)


@pytest.mark.parametrize("status", [b"400", b"500"])
def test_a_key_that_is_refused_is_not_tried_again_but_where_the_lobby_is_busy(
    dialling: Dialling, status: bytes
) -> None:
    with SmallLobby(SERVER) as lobby:
        zap = lobby.context.socket(zmq.REP)
        zap.bind("inproc://zeromq.zap.01")
        dial, told = dialling(LobbyLink(lobby.url, MINE, SERVER.public))

        def refused() -> bool:
            if zap.poll(0):
                zap.send_multipart([b"1.0", zap.recv_multipart()[1], status, b"no", b"", b""])
            return len(told) > 2

        if status == b"400":
            with raises(AccessRefused, "access-refused"):
                until(dial, refused)
        else:
            until(dial, refused)
            assert told[0] == (
                "lost",
                "the lobby does not accept this key now: it has trouble, or the key comes too often or has expired",
            )


def test_a_permanent_refusal_is_reported_and_ends_the_dialling(dialling: Dialling, lobby: SmallLobby) -> None:
    dial, told = dialling(LobbyLink(lobby.url))
    greet(dial, lobby)
    lobby.send(Bye("refused: this key speaks for dash, not for 'dot'"))
    with raises(AccessRefused, "access-refused"):
        until(dial, lambda: False)
    assert told == [("up", "")] and not dial.up


# -- leaving ----------------------------------------------------------------------------------------------------------


def test_leaving_ends_with_the_goodbye_of_the_lobby(dialling: Dialling, lobby: SmallLobby) -> None:
    dial, _ = dialling(LobbyLink(lobby.url))
    greet(dial, lobby)
    dial.leave("its author ended it")
    dial.leave("once is enough")
    assert lobby.bye() == "leaving: its author ended it"
    lobby.say("genmove black")
    while (message := dial.receive()) is None:
        dial.poll(PATIENCE)
    assert message == LobbyAsk(b"genmove black\n"), "it plays on meanwhile"
    lobby.send(Bye("left: closed by client"))
    with pytest.raises(LeftLobby):
        until(dial, lambda: False)


def test_leaving_in_a_game_survives_a_lost_connection(dialling: Dialling) -> None:
    with SmallLobby() as lobby:
        url = lobby.url
        dial, _ = dialling(LobbyLink(url))
        greet(dial, lobby)
        lobby.say("7 play black D4")
        until(dial, lambda: dial.playing)
        dial.leave("done")
        assert lobby.bye() == "leaving: done"
    until(dial, lambda: not dial.up)
    with SmallLobby(url=url) as lobby:
        greet(dial, lobby)
        assert lobby.bye() == "leaving: done"


def test_leaving_in_a_game_survives_a_restart_of_the_lobby(dialling: Dialling) -> None:
    with SmallLobby() as lobby:
        url = lobby.url
        dial, told = dialling(LobbyLink(url))
        greet(dial, lobby)
        lobby.say("genmove black")
        until(dial, lambda: dial.playing)
        dial.leave("done")
        lobby.send(Bye("the lobby is closing: dial in again later"))
        until(dial, lambda: not dial.up)
        assert ("bye", "the lobby is closing: dial in again later") in told
    with SmallLobby(url=url) as lobby:
        greet(dial, lobby)
        assert lobby.bye() == "leaving: done"
        lobby.send(Bye("left: closed by client"))
        with pytest.raises(LeftLobby):
            until(dial, lambda: False)


@pytest.mark.parametrize("over", ["nothing", "ggp-result B+3", "patience"])
def test_leaving_without_a_connection_waits_only_for_a_game(
    dialling: Dialling, monkeypatch: pytest.MonkeyPatch, over: str
) -> None:
    with SmallLobby() as lobby:
        dial, _ = dialling(LobbyLink(lobby.url))
        greet(dial, lobby)
        for line in ["genmove black", over] if over != "nothing" else ["name"]:
            lobby.say(line)
            while dial.receive() is None:
                dial.poll(1)
    until(dial, lambda: not dial.up)
    if over == "patience":
        monkeypatch.setattr(dialled, "LAST_GAME", 0.1)
    dial.leave("done")
    with pytest.raises(LeftLobby):
        until(dial, lambda: False)


def test_a_bot_that_is_started_again_while_it_leaves_comes_back_to_its_game(
    dialling: Dialling, lobby: SmallLobby, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ggp connect` redials for it, also after a `leave` older than the wait for a lost connection."""
    dial, _ = dialling(LobbyLink(lobby.url))
    greet(dial, lobby)
    lobby.say("genmove black")
    until(dial, lambda: dial.playing)
    dial.leave("done")
    assert lobby.bye() == "leaving: done"
    asked = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: asked + dialled.LAST_GAME + 1)
    dial.redial(Hello("dot"))
    dial.poll(0)
    monkeypatch.undo()
    greet(dial, lobby)
    assert lobby.bye() == "leaving: done"


def test_a_lobby_that_never_answers_is_given_up(dialling: Dialling, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(dialled, "PATIENCE_MS", 100)
    with socket.create_server(("127.0.0.1", 0)) as server:
        dial, told = dialling(LobbyLink(f"tcp://127.0.0.1:{server.getsockname()[1]}"))
        until(dial, lambda: len(told) >= 2)
        assert told[0][0] == "lost"
    dial, told = dialling(LobbyLink("tcp://no-such-host.invalid:5555", MINE, SERVER.public))
    until(dial, lambda: bool(told))
    assert told[0] == ("lost", "no response")


def test_an_address_that_zeromq_refuses_is_reported(dialling: Dialling) -> None:
    dial, told = dialling(LobbyLink("tcp://a b:5555", MINE, SERVER.public))
    dial.poll(0)
    assert told[0] == ("lost", "cannot connect to tcp://a b:5555: Invalid argument")


def test_a_goodbye_is_reported_and_dialled_again(dialling: Dialling, lobby: SmallLobby) -> None:
    dial, told = dialling(LobbyLink(lobby.url))
    greet(dial, lobby)
    lobby.send(Bye("closing"))
    assert until(dial, lambda: not dial.up) == [Bye("closing")]
    assert told[1] == ("bye", "closing") and told[2][0] == "wait"
    greet(dial, lobby)
    assert dial.number == 2


def test_a_message_that_only_bots_send_is_no_order_and_ends_nothing(dialling: Dialling, lobby: SmallLobby) -> None:
    dial, told = dialling(LobbyLink(lobby.url))
    greet(dial, lobby)
    lobby.send(Stderr("x"))
    lobby.say("name")
    came: list[Message] = []
    while len(came) < 2:
        dial.poll(PATIENCE)
        while (message := dial.receive()) is not None:
            came.append(message)
    assert came == [Stderr("x"), LobbyAsk(b"name\n")] and told == [("up", "")]


def test_a_replaced_connection_does_not_redial(dialling: Dialling, lobby: SmallLobby) -> None:
    dial, _ = dialling(LobbyLink(lobby.url))
    greet(dial, lobby)
    lobby.send(Bye("replaced: by 10.0.0.1"))
    with pytest.raises(Replaced, match=r"10\.0\.0\.1"):
        until(dial, lambda: False)
    assert not dial.up


@pytest.mark.parametrize("frames", [[b"C"], [b"X", b""], [b"H", b"\xc1"], [b"C", b"a\n", b""]])
def test_a_lobby_that_breaks_the_protocol_is_left(dialling: Dialling, lobby: SmallLobby, frames: list[bytes]) -> None:
    dial, told = dialling(LobbyLink(lobby.url))
    greet(dial, lobby)
    lobby.send_raw(*frames)
    until(dial, lambda: not dial.up)
    assert "sent an invalid message" in told[1][1]


def test_the_last_words_before_the_connection_is_lost_are_heard(dialling: Dialling) -> None:
    with SmallLobby() as lobby:
        dial, told = dialling(LobbyLink(lobby.url))
        greet(dial, lobby)
        lobby.say("name")
        lobby.send(Bye("closing"))
        give_up = time.monotonic() + PATIENCE
        while dial.up and time.monotonic() < give_up:
            dial._last_words()
        dial._fail("lost")  # as the news of it comes next
    assert [what for what, _ in told] == ["up", "bye", "wait"] and not dial.up


def test_redial_is_a_new_connection_with_a_new_hello(dialling: Dialling, lobby: SmallLobby) -> None:
    dial, _ = dialling(LobbyLink(lobby.url))
    greet(dial, lobby)
    dial.redial(Hello("dash"))
    assert not dial.up
    greet(dial, lobby)
    assert dial.number == 2 and len(set(lobby.routes)) == 2


def test_no_connection_between_hang_up_and_redial(dialling: Dialling, lobby: SmallLobby) -> None:
    dial, told = dialling(LobbyLink(lobby.url))
    greet(dial, lobby)
    dial.hang_up("the bot ended")
    assert lobby.bye() == "the bot ended"
    for _ in range(5):
        dial.poll(0.01)
    assert not dial.up and told == [("up", "")]
    dial.hang_up("again")
    dial.redial(Hello("dot"))
    greet(dial, lobby)


@pytest.mark.slow
def test_a_lobby_that_does_not_read_is_left_but_stderr_is_let_go(
    dialling: Dialling, lobby: SmallLobby, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialled, "SEND_MS", 200)
    dial, told = dialling(LobbyLink(lobby.url))
    greet(dial, lobby)
    big = Stderr("x" * 60_000)
    for _ in range(5000):
        dial.send(big)
    assert dial.up
    while dial.up:
        dial.send(LobbyAnswer(b"= " + b"x" * 60_000 + b"\n\n"))
    assert told[-2] == ("lost", "the lobby does not read its input")
    dial.send(LobbyAnswer(b"= too late\n\n"))


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("localhost:5555", "bad-address"),
        ("tcp://127.0.0.1", "bad-address"),
        ("tcp://127.0.0.1:*", "bad-address"),
        ("tcp://127.0.0.1:0", "bad-address"),
        ("tcp://127.0.0.1:65536", "bad-address"),
        ("tcp://10.0.0.1;127.0.0.1:5555", "bad-address"),
        ("ipc:///tmp/x", "bad-address"),
        ("tcp://lobby.example.org:5555", "keys-needed"),
        ("tcp://10.0.0.1:5555", "keys-needed"),
    ],
)
def test_addresses_that_are_not_dialled(url: str, code: str) -> None:
    with raises(AddressError, code):
        LobbyLink(url)


def test_half_of_the_keys_is_none() -> None:
    for pair, server in ((MINE, ""), (None, SERVER.public)):
        with raises(AddressError, "keys-needed"):
            LobbyLink("tcp://127.0.0.1:5555", pair, server)
    for url in ("tcp://localhost:1", "tcp://[::1]:1", "tcp://127.8.0.1:65535"):
        assert LobbyLink(url).url == url
    assert LobbyLink("ipc:///tmp/x", inside=True).pair is None
