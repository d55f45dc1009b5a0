"""Texts that exceed Python's own limits are refused in our words, which say what is wrong with the text."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.errors import CodedError, in_words
from ggp.protocol.records import read_records
from ggp.protocol.transports.keys import read_public
from ggp.referee.ladder.store.database import read_options
from ggp.referee.ladder.toml_file import read_toml
from ggp.referee.server.lobby import keys

DEEP, HUGE = b"[" * 100_000, b"9" * 5000


def toml(path: Path, data: bytes) -> None:
    path.write_bytes(b"x = " + data)
    read_toml(path)


def key(path: Path, data: bytes) -> None:
    path.write_bytes((b"x = " + data)[:4000])
    read_public(str(path))


def registry(path: Path, data: bytes) -> None:
    path.write_bytes(b'{"keys": ' + data)
    path.chmod(0o600)
    keys.read(path)


def record(path: Path, data: bytes) -> None:
    list(read_records([b'{"bots":' + data]))


def scene(path: Path, data: bytes) -> None:
    read_scene('{"cells": ' + data.decode())


def options(path: Path, data: bytes) -> None:
    read_options(data.decode(), "main")


@pytest.mark.parametrize("data", [DEEP, HUGE], ids=["nested", "digits"])
@pytest.mark.parametrize("read", [toml, key, registry, record, scene, options])
def test_no_message_is_pythons(read: Callable[[Path, bytes], None], data: bytes, tmp_path: Path) -> None:
    with pytest.raises((CodedError, DrawingError)) as error:
        read(tmp_path / "file", data)
    said = str(error.value)
    assert not any(word in said for word in ("recursion", "sys.set_int", "integer string", "4300"))


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError) as huge:
        int("9" * 5000)
    assert in_words(huge.value) == "it holds a number of more than 4,300 digits"
    assert in_words(RecursionError("maximum recursion depth exceeded")) == "it is nested too deeply"
    assert in_words(MemoryError()) == "it does not fit into memory"
    assert in_words(ValueError("anything else")) == "anything else"
