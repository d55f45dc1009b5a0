"""Key pairs in files: made for their owner only, read back, and every file that is none refused with the remedy."""

from pathlib import Path

import pytest
import zmq
from zmq.utils import z85

from ggp.protocol.transports.keys import KeyFileError, KeyPair, is_key, new_pair, read_pair, read_public, write_pair
from tests.support.codes import raises


@pytest.fixture
def pair() -> KeyPair:
    return new_pair()


def test_a_pair_is_written_for_its_owner_and_read_back(tmp_path: Path, pair: KeyPair) -> None:
    file = tmp_path / "my.key"
    write_pair(file, pair)
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_pair(file) == pair
    assert read_public(str(file)) == read_public(pair.public) == pair.public
    assert pair.secret not in repr(pair) and pair.public in repr(pair)


def test_no_key_is_overwritten(tmp_path: Path, pair: KeyPair) -> None:
    file = tmp_path / "my.key"
    write_pair(file, pair)
    with raises(KeyFileError, "exists"):
        write_pair(file, new_pair())
    assert read_pair(file) == pair
    with raises(KeyFileError, "cannot-write"):
        write_pair(tmp_path / "no" / "my.key", pair)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o777])
def test_a_pair_that_others_may_read_is_refused(tmp_path: Path, pair: KeyPair, mode: int) -> None:
    file = tmp_path / "my.key"
    write_pair(file, pair)
    file.chmod(mode)
    with raises(KeyFileError, "unsafe-mode"):
        read_pair(file)
    assert read_public(str(file)) == pair.public


def test_a_public_key_never_looks_like_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    made = iter([(b"-" + b"a" * 39, b"s" * 40), (b"b" * 40, b"t" * 40)])
    monkeypatch.setattr(zmq, "curve_keypair", lambda: next(made))
    assert new_pair() == KeyPair("b" * 40, "t" * 40)


def test_what_a_key_is() -> None:
    assert is_key("0" * 40) and is_key(z85.encode(b"\xff" * 32).decode())
    assert not is_key("#" * 40), "more than 32 bits hold"
    assert not is_key("0" * 39) and not is_key("0" * 41) and not is_key("0" * 39 + "~") and not is_key("0" * 39 + "\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "no-secret-key"),
        ("secret = 1", "no-secret-key"),
        ('secret = "x"', "no-secret-key"),
        ("{public}\n", "no-secret-key"),
        ('public = "{public}"', "no-secret-key"),
        ('secret = "{secret}"', "key-mismatch"),
        ('public = "{secret}"\nsecret = "{secret}"', "key-mismatch"),
        ("= =", "not-a-key-file"),
        ("\udcff", "not-a-key-file"),
        ("#" * 5000, "too-long"),
    ],
)
def test_a_file_that_holds_no_pair_is_refused(tmp_path: Path, pair: KeyPair, text: str, code: str) -> None:
    file = tmp_path / "my.key"
    filled = text.replace("{public}", pair.public).replace("{secret}", pair.secret)
    file.write_bytes(filled.encode("utf-8", "surrogateescape"))
    file.chmod(0o600)
    with raises(KeyFileError, code) as caught:
        read_pair(file)
    assert pair.secret not in str(caught.value)


def test_the_public_half_is_no_pair(tmp_path: Path, pair: KeyPair) -> None:
    file = tmp_path / "my.pub"
    file.write_text(pair.public, encoding="utf-8")
    file.chmod(0o644)
    for path in (file, Path("0" * 40)):
        with raises(KeyFileError, "no-secret-key"):
            read_pair(path)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with raises(KeyFileError, "no-such-file"):
        read_pair(tmp_path / "none.key")
    with raises(KeyFileError, "no-public-key"):
        read_public(str(tmp_path / "none.key"))
    with raises(KeyFileError, "cannot-read"):
        read_public(str(tmp_path))
    with raises(KeyFileError, "cannot-read"):
        read_public("a\0b")


def test_a_public_key_alone(tmp_path: Path, pair: KeyPair) -> None:
    file = tmp_path / "server.pub"
    file.write_text(f"  {pair.public}\n", encoding="utf-8")
    assert read_public(str(file)) == pair.public
    file.write_text(f'public = "{pair.public}"\n', encoding="utf-8")
    assert read_public(str(file)) == pair.public
    file.write_text('public = "short"\n', encoding="utf-8")
    with raises(KeyFileError, "no-public-key"):
        read_public(str(file))


def test_zeromq_takes_the_pair(pair: KeyPair) -> None:
    assert zmq.curve_public(pair.secret.encode()).decode() == pair.public
