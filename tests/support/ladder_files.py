"""Small ladder files for tests, and what is said of bad ones. No test is in here."""

from pathlib import Path

import pytest

from referee.ladder.config import read_ladder
from referee.ladder.toml_file import ConfigError

POOL = '[pool.small]\ngame = "yugo,size=7"\n'
PAIR = '[bot.a]\ncommand = "random"\n[bot.b]\ncommand = "greedy"\n'
FILE = POOL + PAIR


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "club.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def wrong(folder: Path, text: str | bytes) -> ConfigError:
    """The error of the file: one line that begins with its name, then the key."""
    path = write(folder, text)
    with pytest.raises(ConfigError) as caught:
        read_ladder(path)
    error = caught.value
    assert "\n" not in str(error)
    assert str(error).startswith(f"{path}: {error.key}: " if error.key else f"{path}: ")
    return error
