"""Authentication over real sockets: only valid keys of the registry are accepted, also after failures."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import msgspec
import pytest
import zmq
from msgspec import structs
from zmq.utils import z85
from zmq.utils.monitor import recv_monitor_message

from ggp.protocol.transports.keys import KeyPair, new_pair
from ggp.referee.server.lobby import auth, keys
from ggp.referee.server.lobby.auth import DOMAIN, ENDPOINT, Authenticator, require_keys
from ggp.referee.server.lobby.keys import Book, KeyRegistry, change, read

ALICE, BOB, SERVER = new_pair(), new_pair(), new_pair()
ENDS = (
    zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_DISCONNECTED
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A registry with ALICE's key."""
    path = tmp_path / "keys.json"
    with change(path) as write:
        write(keys.allow(Book(), "alice", "dot", ALICE.public, datetime.now(UTC)))
    return path


class AuthSocket:
    """A ROUTER with keys, and the refusals of its authenticator; everything in this thread."""

    def __init__(self, path: Path, *, running: bool = True) -> None:
        self.refused: list[tuple[str, str, str]] = []  # address, key, reason
        self.on_refusal: Callable[..., object] = lambda *refusal: self.refused.append(refusal)
        self.authenticator = Authenticator(KeyRegistry(path), lambda *refusal: self.on_refusal(*refusal))
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        if running:
            self.authenticator.open(self.context)
        self.router = self.context.socket(zmq.ROUTER)
        require_keys(self.router, SERVER)
        self.url = f"tcp://127.0.0.1:{self.router.bind_to_random_port('tcp://127.0.0.1')}"
        self._clients: zmq.Context[zmq.Socket[bytes]] = zmq.Context()

    def dealer(self, pair: KeyPair | None, server: str = SERVER.public) -> "zmq.Socket[bytes]":
        dealer = self._clients.socket(zmq.DEALER)
        dealer.setsockopt(zmq.RECONNECT_IVL, -1)
        if pair is not None:
            dealer.setsockopt(zmq.CURVE_SERVERKEY, server.encode())
            dealer.setsockopt(zmq.CURVE_PUBLICKEY, pair.public.encode())
            dealer.setsockopt(zmq.CURVE_SECRETKEY, pair.secret.encode())
        return dealer

    def try_to_enter(self, dealer: "zmq.Socket[bytes]", seconds: float = 60.0) -> bool:
        """Connect and answer ZAP requests; whether the handshake succeeded."""
        monitor = dealer.get_monitor_socket(ENDS)
        dealer.connect(self.url)
        give_up = time.monotonic() + seconds
        while not monitor.poll(5):
            self.serve()
            if time.monotonic() > give_up:
                return False
        entered = bool(recv_monitor_message(monitor)["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED)
        dealer.disable_monitor()
        return entered

    def serve(self) -> None:
        while self.authenticator.handle_one():
            continue

    def close(self) -> None:
        self.authenticator.close()
        self._clients.destroy(linger=0)
        self.context.destroy(linger=0)


@pytest.fixture
def router(path: Path) -> Iterator[AuthSocket]:
    opened = AuthSocket(path)
    yield opened
    opened.close()


def test_known_key_is_accepted_and_its_messages_carry_it(router: AuthSocket) -> None:
    dealer = router.dealer(ALICE)
    assert router.try_to_enter(dealer)
    dealer.send_multipart([b"H", b"I am bob"])
    assert router.router.poll(60_000)
    frames = router.router.recv_multipart(copy=False)
    assert [frame.get("User-Id") for frame in frames[1:]] == [ALICE.public] * 2
    assert router.refused == []


def test_missing_or_unknown_key_is_refused(router: AuthSocket) -> None:
    assert not router.try_to_enter(router.dealer(BOB))
    assert not router.try_to_enter(router.dealer(None))
    assert not router.try_to_enter(router.dealer(ALICE, server=BOB.public), 2), "a key for another server"
    stolen = KeyPair(ALICE.public, BOB.secret)
    assert not router.try_to_enter(router.dealer(stolen), 2), "the public half alone proves nothing"
    assert router.refused == [("127.0.0.1", BOB.public, "unknown key")]
    assert not router.router.poll(50)


def test_a_revoked_key_is_refused_at_once(router: AuthSocket, path: Path) -> None:
    assert router.try_to_enter(router.dealer(ALICE))
    with change(path) as write:
        write(keys.revoke(read(path), "alice", datetime.now(UTC))[0])
    assert not router.try_to_enter(router.dealer(ALICE))
    assert router.refused[-1][2] == "revoked key"


def test_without_an_authenticator_every_key_is_refused(path: Path) -> None:
    router = AuthSocket(path, running=False)
    try:
        assert not router.try_to_enter(router.dealer(ALICE), 2)
        assert not router.router.poll(50)
    finally:
        router.close()


def test_once_the_authenticator_is_closed_every_key_is_refused(router: AuthSocket) -> None:
    assert router.try_to_enter(router.dealer(ALICE))
    router.authenticator.close()
    assert router.authenticator.handle_one() is False
    assert not router.try_to_enter(router.dealer(ALICE), 2)


def test_without_a_registry_no_bot_is_admitted(tmp_path: Path) -> None:
    router = AuthSocket(tmp_path / "none.json")
    try:
        assert not router.try_to_enter(router.dealer(ALICE))
    finally:
        router.close()


def test_exception_refuses_the_key_and_the_next_handshake_is_answered(
    router: AuthSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception of the log or of the registry refuses that key only."""

    def burst(*_: object) -> None:
        raise RuntimeError("a callback\nfailed")

    with monkeypatch.context() as patched:
        patched.setattr(KeyRegistry, "find", burst)
        assert not router.try_to_enter(router.dealer(ALICE))
    assert router.refused == [("", "", "internal error: RuntimeError: a callback failed")]
    router.on_refusal = burst
    assert not router.try_to_enter(router.dealer(BOB))
    assert router.try_to_enter(router.dealer(ALICE))


# -- the authenticator alone ------------------------------------------------------------------------------------------


def request(pair: KeyPair = ALICE, **changes: bytes) -> list[bytes]:
    frames = {
        "version": b"1.0",
        "id": b"1",
        "domain": DOMAIN.encode(),
        "address": b"127.0.0.1",
        "identity": b"",
        "mechanism": b"CURVE",
        "key": z85.decode(pair.public.encode()),
    }
    return list((frames | changes).values())


@pytest.fixture
def authenticator(path: Path) -> Authenticator:
    return Authenticator(KeyRegistry(path))


def test_a_client_with_an_expired_key_is_asked_to_try_again(path: Path) -> None:
    """The lobby's clock may be wrong: clients take 500 for trouble that passes, 400 for a refusal that stays."""
    book = keys.read(path)
    when = datetime(2026, 1, 1, tzinfo=UTC)
    expired = tuple(structs.replace(entry, expires=when) for entry in book.keys)
    path.write_bytes(msgspec.json.encode(structs.replace(book, keys=expired)))
    answer = Authenticator(KeyRegistry(path)).answer(request(), 0)
    assert answer is not None and answer[2:5] == [b"500", b"Key expired", b""]


def test_the_answer_has_the_form_of_the_rfc(authenticator: Authenticator) -> None:
    assert authenticator.answer(request(id=b"77"), 0) == [b"1.0", b"77", b"200", b"OK", ALICE.public.encode(), b""]
    assert authenticator.answer(request(BOB), 0) == [b"1.0", b"1", b"400", b"No access", b"", b""]


@pytest.mark.parametrize(
    "frames",
    [
        request(version=b"2.0"),
        request(mechanism=b"NULL"),
        request(mechanism=b"PLAIN"),
        request(domain=b"elsewhere"),
        request(domain=b""),
        request(key=b"x" * 31),
        request(key=b""),
        request()[:-1],
        [*request(), b"more"],
        [b"1.0", b"1"],
    ],
)
def test_a_request_of_another_kind_is_refused(authenticator: Authenticator, frames: list[bytes]) -> None:
    reply = authenticator.answer(frames, 0)
    assert reply is not None and reply[1:3] == [b"1", b"400"] and reply[4:] == [b"", b""]


@pytest.mark.parametrize("frames", [[], [b"1.0"], [b"1.0", b"x" * 256]])
def test_malformed_request_is_dropped(authenticator: Authenticator, frames: list[bytes]) -> None:
    assert authenticator.answer(frames, 0) is None


def test_handshakes_of_a_key_are_limited(path: Path) -> None:
    reasons: list[str] = []
    authenticator = Authenticator(KeyRegistry(path), lambda address, key, reason: reasons.append(reason))
    answers = [reply[2] for _ in range(auth.BURST + 3) if (reply := authenticator.answer(request(), 100.0))]
    assert answers == [b"200"] * auth.BURST + [b"500"] * 3
    later = authenticator.answer(request(), 101.0)
    assert later is not None and later[2] == b"200"
    assert reasons == ["too many handshakes"] * 3


def test_refused_handshakes_do_not_count_against_the_limit(path: Path) -> None:
    """Tries that are refused must not keep the others out for good."""
    authenticator = Authenticator(KeyRegistry(path))
    answers = [authenticator.answer(request(), 100.0 + number / 100) for number in range(6000)]
    let_in = [number for number, reply in enumerate(answers) if reply is not None and reply[2] == b"200"]
    assert len(let_in) == pytest.approx(auth.BURST + 60 * auth.RATE, abs=2) and let_in[-1] > 5800


# -- random requests --------------------------------------------------------------------------------------------------


def mutated(chance: Random) -> list[bytes]:
    """A request with something wrong in it."""
    frames = request(ALICE if chance.random() < 0.5 else BOB)
    for _ in range(1 + int(chance.random() * 3)):
        at = int(chance.random() * (len(frames) + 1))
        dice = chance.random()
        if dice < 0.4 and at < len(frames):
            frames[at] = chance.randbytes(int(chance.random() * 40))
        elif dice < 0.6 and at < len(frames) and frames[at]:
            frames[at] = bytes([int(chance.random() * 256)]) + frames[at][1:]
        elif dice < 0.8:
            frames[at:at] = [b""] * int(1 + chance.random() * 3)
        else:
            del frames[at : at + int(1 + chance.random() * 3)]
    return frames


def _fuzz(authenticator: Authenticator, number: int, seed: int) -> int:
    """How many were accepted: only well-formed requests with ALICE's key."""
    chance, entered, key = Random(seed), 0, z85.decode(ALICE.public.encode())
    for at in range(number):
        frames = mutated(chance)
        reply = authenticator.answer(frames, float(at))
        if reply is None:
            assert len(frames) < 2 or len(frames[1]) > 255
            continue
        assert len(reply) == 6 and reply[1] == frames[1] and reply[2] in (b"200", b"400", b"500")
        if reply[2] == b"200":
            entered += 1
            assert [frames[0], frames[2], *frames[5:]] == [b"1.0", DOMAIN.encode(), b"CURVE", key]
    return entered


def test_any_request_is_answered_or_dropped(authenticator: Authenticator) -> None:
    assert 0 < _fuzz(authenticator, 10_000, 1) < 10_000


@pytest.mark.long
def test_a_million_requests(path: Path) -> None:
    began = time.monotonic()
    reasons: Counter[str] = Counter()
    authenticator = Authenticator(KeyRegistry(path), lambda address, key, reason: reasons.update([reason]))
    entered = _fuzz(authenticator, 1_000_000, 2)
    seconds = time.monotonic() - began
    print(f"1000000 requests in {seconds:.0f} s, {1_000_000 / seconds:.0f}/s, {entered} in: {reasons}")
    assert not any(reason.startswith("internal error") for reason in reasons)


def test_garbage_on_the_zap_socket_blocks_no_handshake(router: AuthSocket) -> None:
    raw = router.context.socket(zmq.DEALER)
    raw.connect(ENDPOINT)
    chance = Random(3)
    for _ in range(300):
        raw.send_multipart(mutated(chance) or [b""])
        raw.send_multipart([b"", *mutated(chance)])
        router.serve()
    assert router.try_to_enter(router.dealer(ALICE))
