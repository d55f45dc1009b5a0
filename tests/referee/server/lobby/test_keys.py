"""The registry of keys: its file, every change, reading it again, and `ggp keys`."""

import json
import multiprocessing
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from zmq.utils import z85

from ggp.protocol.transports.keys import new_pair, read_pair, write_pair
from ggp.referee.cli.keys import main
from ggp.referee.server.lobby import keys
from ggp.referee.server.lobby import keys as granting
from ggp.referee.server.lobby.auth import KeyAuth
from ggp.referee.server.lobby.keys import Book, KeyEntry, KeyLimits, KeyRegistry, Refusal, RegistryError, change, read
from ggp.referee.server.lobby.log import EventLog
from tests.support.cli import ggp
from tests.support.codes import raises

DAY = datetime(2026, 3, 1, tzinfo=UTC)
A, B, C = (z85.encode(bytes([number]) * 32).decode() for number in (1, 2, 3))


def written(path: Path, book: Book) -> Path:
    with change(path) as write:
        write(book)
    return path


def allowed(*names: tuple[str, str, str]) -> Book:
    book = Book()
    for owner, bot, key in names:
        book = granting.allow(book, owner, bot, key, DAY)
    return book


def code(registry: KeyRegistry) -> str:
    """The code of its problem."""
    assert registry.error is not None and registry.problem
    return registry.error.code


# -- changes ---------------------------------------------------------------------------------------------------------


def test_allow() -> None:
    book = allowed(("alice", "dot", A), ("alice", "dash", A), ("alice", "dot", B), ("bob", "v1.2", C))
    assert [(entry.owner, entry.bots, entry.key) for entry in book.keys] == [
        ("alice", ("dot", "dash"), A),
        ("alice", ("dot",), B),
        ("bob", ("v1.2",), C),
    ]


@pytest.mark.parametrize(
    ("owner", "bot", "key", "code"),
    [
        ("alice", "dot", A, "already-allowed"),
        ("bob", "dot", C, "name-taken"),
        ("bob", "new", A, "shared-key"),
        ("alice", "new", B, "key-invalid"),
        ("a b", "new", C, "bad-name"),
        ("alice", "", C, "bad-name"),
        ("alice", "new\n", C, "bad-name"),
        ("alice", "x" * 41, C, "bad-name"),
    ],
)
def test_allow_refuses_invalid_entries(owner: str, bot: str, key: str, code: str) -> None:
    book, _ = granting.revoke(allowed(("alice", "dot", A), ("alice", "old", B)), B, DAY)
    with raises(RegistryError, code):
        granting.allow(book, owner, bot, key, DAY)


def test_revoke_a_key_a_bot_or_an_owner() -> None:
    book = allowed(("alice", "dot", A), ("alice", "dash", A), ("alice", "dot", B), ("bob", "x", C))
    one, hit = granting.revoke(book, B, DAY)
    assert [entry.key for entry in hit] == [B]
    assert [entry.refusal(DAY) for entry in one.keys] == [None, Refusal.REVOKED, None]
    bot, hit = granting.revoke(book, "alice/dot", DAY)
    assert [entry.key for entry in hit] == [A, B]
    assert bot.keys[0].bots == ("dash",) and bot.keys[0].refusal(DAY) is None
    assert bot.keys[1].refusal(DAY) is Refusal.REVOKED
    owner, hit = granting.revoke(book, "alice", DAY)
    assert [entry.refusal(DAY) for entry in owner.keys] == [Refusal.REVOKED, Refusal.REVOKED, None]
    with raises(RegistryError, "no-valid-key"):
        granting.revoke(owner, "alice", DAY)
    with raises(RegistryError, "no-such-key"):
        granting.revoke(book, "carol", DAY)
    with raises(RegistryError, "no-such-key"):
        granting.revoke(Book(), "carol", DAY)


def test_rotate_gives_the_old_key_a_grace() -> None:
    book, replaced = granting.rotate(
        allowed(("alice", "dot", A), ("alice", "dash", A)), "alice/dot", B, DAY, timedelta(7)
    )
    assert [entry.key for entry in replaced] == [A]
    assert book.keys[1] == KeyEntry(key=B, owner="alice", bots=("dot", "dash"), created=DAY)
    assert book.keys[0].refusal(DAY + timedelta(7, seconds=-1)) is None
    assert book.keys[0].refusal(DAY + timedelta(7)) is Refusal.EXPIRED
    later, _ = granting.rotate(book, "alice", C, DAY, timedelta(30))
    assert later.keys[0].expires == DAY + timedelta(7), "a grace is never made longer"
    at_once, _ = granting.rotate(book, B, C, DAY, timedelta())
    assert at_once.keys[1].refusal(DAY) is Refusal.EXPIRED
    with raises(RegistryError, "duplicate-key"):
        granting.rotate(book, A, B, DAY, timedelta())


def test_limits_default_to_those_of_the_server() -> None:
    book = granting.limit(allowed(("alice", "dot", A)), "alice", {"connections": "4", "bytes": "1000"})
    assert book.limits["alice"].over({"connections": 1, "matches": 2}) == {
        "connections": 4,
        "matches": 2,
        "bytes": 1000,
    }
    book = granting.limit(book, "alice", {"connections": "default"})
    assert book.limits == {"alice": KeyLimits(bytes=1000)}
    assert granting.limit(book, "alice", {"bytes": "default"}).limits == {}
    with raises(RegistryError, "no-such-limit"):
        granting.limit(book, "alice", {"speed": "1"})
    for text in ("-1", "1.5", "9" * 13, "9" * 5000, "²"):
        with raises(RegistryError, "bad-limit"):
            granting.limit(book, "alice", {"bytes": text})
    with raises(RegistryError, "no-such-owner"):
        granting.limit(book, "bob", {"bytes": "1"})


# -- the file ---------------------------------------------------------------------------------------------------------


def test_registry_file_round_trip(tmp_path: Path) -> None:
    book = granting.limit(allowed(("alice", "dot", A), ("bob", "x", B)), "bob", {"matches": "3"})
    path = written(tmp_path / "keys.json", book)
    assert read(path) == book
    path.chmod(0o640)
    written(path, Book())
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(file.name for file in tmp_path.iterdir()) == [".keys.json.lock", "keys.json"]


GOOD = {"key": A, "owner": "alice", "bots": ["dot"], "created": "2026-03-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("", "not-a-registry", ""),
        ("[]", "not-a-registry", ""),
        ("[" * 100_000, "not-a-registry", ""),
        ("\ud800", "not-a-registry", ""),
        ({"keys": [{**GOOD, "key": "short"}]}, "bad-key", "'short'"),
        ({"keys": [GOOD, {**GOOD, "bots": ["b"]}]}, "duplicate-key", A),
        ({"keys": [GOOD, {**GOOD, "key": B, "owner": "bob"}]}, "shared-name", "dot"),
        ({"keys": [{**GOOD, "created": "2026-03-01T00:00:00"}]}, "no-time-zone", A),
        ({"keys": [{**GOOD, "bots": []}]}, "not-a-registry", "bots"),
        ({"keys": [{**GOOD, "owner": "a b"}]}, "not-a-registry", "owner"),
        ({"keys": [{**GOOD, "owner": "a\n"}]}, "not-a-registry", "owner"),
        ({"keys": [{**GOOD, "revokd": "2026-03-01T00:00:00Z"}]}, "not-a-registry", "revokd"),
        ({"limits": {"alice": {"speed": 1}}}, "not-a-registry", "speed"),
        ({"limits": {"alice": {"bytes": -1}}}, "not-a-registry", "bytes"),
    ],
)
def test_invalid_registry_accepts_no_key(tmp_path: Path, text: object, code: str, named: str) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes((text if isinstance(text, str) else json.dumps(text)).encode("utf-8", "surrogatepass"))
    with raises(RegistryError, code):
        read(path)
    registry = KeyRegistry(path)
    assert str(path) in registry.problem and named in registry.problem and len(registry) == 0
    assert registry.find(A) is Refusal.UNKNOWN


def test_unreadable_registry_accepts_no_key(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    assert code(KeyRegistry(path)) == "no-registry"
    assert code(KeyRegistry(tmp_path)) == "cannot-read"
    written(path, allowed(("alice", "dot", A))).chmod(0o646)
    assert code(KeyRegistry(path)) == "unsafe-mode"
    path.write_bytes(b" " * (keys.MOST_BYTES + 1))
    path.chmod(0o644)
    assert code(KeyRegistry(path)) == "too-long"


def test_a_change_is_noticed_and_a_broken_file_changes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "keys.json", allowed(("alice", "dot", A)))
    registry = KeyRegistry(path)
    found = registry.find(A)
    assert isinstance(found, KeyEntry) and found.owner == "alice" and registry.limits("alice") == KeyLimits()
    assert not registry.refresh()
    book = granting.limit(granting.revoke(read(path), A, DAY)[0], "alice", {"matches": "1"})
    written(path, granting.allow(book, "bob", "x", B, DAY))
    assert registry.refresh() and not registry.problem
    assert registry.find(A) is Refusal.REVOKED and isinstance(registry.find(B), KeyEntry)
    assert registry.limits("alice") == KeyLimits(matches=1)
    good = path.read_bytes()
    path.write_text("{", encoding="utf-8")
    assert registry.refresh() and code(registry) == "not-a-registry"
    assert not registry.refresh() and isinstance(registry.find(B), KeyEntry)
    path.unlink()
    assert registry.refresh() and code(registry) == "no-registry"
    assert not registry.refresh() and isinstance(registry.find(B), KeyEntry)
    path.write_bytes(good)
    assert registry.refresh() and not registry.problem


@pytest.mark.parametrize("how", ["removed", "replaced", "truncated"])
@pytest.mark.parametrize("dialled", [False, True], ids=["alone", "after a bot dialled in"])
def test_a_registry_that_is_gone_is_a_line_in_the_log(tmp_path: Path, how: str, dialled: bool) -> None:
    """Whoever notices it first, and the keys of before are in force."""
    path, lines = written(tmp_path / "keys.json", allowed(("alice", "dot", A))), list[str]()
    write_pair(tmp_path / "server.key", new_pair())
    admission = KeyAuth(tmp_path / "server.key", path, EventLog(write=lines.append))
    if how == "removed":
        path.unlink()
    elif how == "replaced":
        (tmp_path / "other").write_bytes(b"another\n")
        (tmp_path / "other").replace(path)
    else:
        os.truncate(path, 10)
    if dialled:
        admission._registry.refresh()  # as the authenticator does
    for _ in range(2):
        admission.changed()
    (line,) = lines
    assert "keys word=problem" in line and str(path) in line and "the keys of before are in force" in line
    assert isinstance(admission._registry.find(A), KeyEntry)


def test_a_key_ends_with_its_grace(tmp_path: Path) -> None:
    book, _ = granting.rotate(allowed(("alice", "dot", A)), A, B, DAY, timedelta(1))
    registry = KeyRegistry(written(tmp_path / "keys.json", book))
    assert isinstance(registry.find(A, DAY), KeyEntry)
    assert registry.find(A, DAY + timedelta(1)) is Refusal.EXPIRED
    assert registry.find(A) is Refusal.EXPIRED and isinstance(registry.find(B), KeyEntry)


def _allow_some(path: Path, first: int, pairs: list[str]) -> None:
    for number, key in enumerate(pairs, first):
        with change(path) as write:
            write(granting.allow(read(path), "alice", f"bot{number}", key, DAY))


@pytest.mark.slow
def test_concurrent_changes_are_all_kept(tmp_path: Path) -> None:
    path = written(tmp_path / "keys.json", Book())
    made = [new_pair().public for _ in range(30)]
    workers = [
        multiprocessing.get_context("fork").Process(target=_allow_some, args=(path, at, made[at : at + 10]))
        for at in (0, 10, 20)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert {entry.key for entry in read(path).keys} == set(made)


def test_locked_registry_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "LOCK_PATIENCE", 0.05)
    path = tmp_path / "keys.json"
    with change(path), raises(RegistryError, "locked"), change(path):
        pass
    with raises(RegistryError, "cannot-write"), change(tmp_path / "none" / "keys.json"):
        pass


def test_failed_write_leaves_the_registry_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "keys.json", allowed(("alice", "dot", A)))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with raises(RegistryError, "cannot-write"):
        written(path, Book())
    assert len(read(path).keys) == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == [".keys.json.lock", "keys.json"]


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_life_of_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GGP_KEYS", "lobby keys.json")
    made = ggp("keys", "new")
    public = made.out.strip()
    assert made.status == 0 and read_pair(Path("ggp.key")).public == public and public in made.err
    assert ggp("keys", "public").out == ggp("keys", "public", "ggp.key").out == made.out
    assert ggp("keys", "new", "--server", "-q").err == "" and Path("server.key").exists()
    assert ggp("keys", "allow", "alice/dot", "ggp.key").status == 0
    ran = ggp("keys", "list", "--json")
    (row,) = ran.json["keys"]
    assert (row["owner"], row["bots"], row["key"], row["valid"]) == ("alice", ["dot"], public, True)
    assert ggp("keys", "limit", "alice", "connections=4").status == 0
    assert ggp("keys", "rotate", "alice/dot", "server.key", "--grace", "2d").err.count("alice/dot") == 1
    assert ggp("keys", "revoke", "alice").err.count("alice is revoked: ") == 2
    shown = ggp("keys", "list").out
    assert "connections=4" in shown and shown.count("revoked") == 2 and public in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("new", "there.key"), "there.key exists"),
        (("list",), "keys.json does not exist"),
        (("allow", "alice", A), "write OWNER/BOT"),
        (("allow", "alice/dot", "none"), "neither a public key"),
        (("revoke", "alice"), "keys.json does not exist"),
        (("rotate", "alice", A, "--grace", "soon"), "write 30m, 12h, 7d or 0"),
        (("limit", "alice", "4"), "write NAME=NUMBER"),
        (("lend",), "No such command"),
    ],
)
def test_invalid_input_prints_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.key").touch()
    assert main(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1 and said in err


def test_no_arguments_print_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "rotate" in capsys.readouterr().out


def test_a_pipe_in_place_of_the_registry_does_not_block_its_reader(tmp_path: Path) -> None:
    """A running lobby reads the file again in its event loop."""
    os.mkfifo(tmp_path / "keys.json", 0o600)
    with raises(RegistryError, "not-a-file"):
        read(tmp_path / "keys.json")
