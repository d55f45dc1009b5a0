"""Key pairs in files: made for their owner only, read back, and every file that is none refused with the remedy."""

from pathlib import Path

import pytest
import zmq
from zmq.utils import z85

from protocol.transports.keys import KeyFileError, KeyPair, is_key, new_pair, read_pair, read_public, write_pair


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
    with pytest.raises(KeyFileError, match="is there already"):
        write_pair(file, new_pair())
    assert read_pair(file) == pair
    with pytest.raises(KeyFileError, match=r"cannot write .*: No such file"):
        write_pair(tmp_path / "no" / "my.key", pair)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o777])
def test_a_pair_that_others_may_read_is_refused(tmp_path: Path, pair: KeyPair, mode: int) -> None:
    file = tmp_path / "my.key"
    write_pair(file, pair)
    file.chmod(mode)
    with pytest.raises(KeyFileError, match=rf"mode {mode:03o}\): chmod 600 {file}"):
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
    ("text", "said"),
    [
        ("", "holds no secret key"),
        ("secret = 1", "holds no secret key"),
        ('secret = "x"', "holds no secret key"),
        ("{public}\n", "holds only the public half of a pair: the secret half is needed"),
        ('public = "{public}"', "holds only the public half of a pair: the secret half is needed"),
        ('secret = "{secret}"', "not that of the secret one"),
        ('public = "{secret}"\nsecret = "{secret}"', "not that of the secret one"),
        ("= =", "not as ggp keys new writes it"),
        ("\udcff", "not as ggp keys new writes it"),
        ("#" * 5000, "more than 4096 bytes"),
    ],
)
def test_a_file_that_holds_no_pair_is_refused(tmp_path: Path, pair: KeyPair, text: str, said: str) -> None:
    file = tmp_path / "my.key"
    filled = text.replace("{public}", pair.public).replace("{secret}", pair.secret)
    file.write_bytes(filled.encode("utf-8", "surrogateescape"))
    file.chmod(0o600)
    with pytest.raises(KeyFileError, match=said) as caught:
        read_pair(file)
    assert pair.secret not in str(caught.value)


def test_the_public_half_is_said_to_be_one_whoever_may_read_it(tmp_path: Path, pair: KeyPair) -> None:
    file = tmp_path / "my.pub"
    file.write_text(pair.public)
    file.chmod(0o644)
    with pytest.raises(
        KeyFileError, match=r"my\.pub holds only the public half .* which is in the file that ggp keys new"
    ):
        read_pair(file)
    with pytest.raises(KeyFileError, match="is a public key: the secret half is needed"):
        read_pair(Path("0" * 40))


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match=r"none\.key does not exist: ggp keys new .*none\.key"):
        read_pair(tmp_path / "none.key")
    with pytest.raises(KeyFileError, match="neither a public key"):
        read_public(str(tmp_path / "none.key"))
    with pytest.raises(KeyFileError, match="Is a directory"):
        read_public(str(tmp_path))
    with pytest.raises(KeyFileError, match="null byte"):
        read_public("a\0b")


def test_a_public_key_alone(tmp_path: Path, pair: KeyPair) -> None:
    file = tmp_path / "server.pub"
    file.write_text(f"  {pair.public}\n")
    assert read_public(str(file)) == pair.public
    file.write_text(f'public = "{pair.public}"\n')
    assert read_public(str(file)) == pair.public
    file.write_text('public = "short"\n')
    with pytest.raises(KeyFileError, match="holds no public key"):
        read_public(str(file))


def test_zeromq_takes_the_pair(pair: KeyPair) -> None:
    assert zmq.curve_public(pair.secret.encode()).decode() == pair.public
