"""Small ladder files for tests, and what is said of bad ones. No test is in here."""

from pathlib import Path

import pytest

from referee.ladder.config import read_ladder
from referee.ladder.toml_section import ConfigError

POOL = '[pool.small]\ngame = "yugo,size=7"\n'
PAIR = '[bot.a]\ncommand = "random"\n[bot.b]\ncommand = "greedy"\n'
FILE = POOL + PAIR


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "club.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def problem(folder: Path, text: str | bytes) -> str:
    """What is said of the file, without its name."""
    path = write(folder, text)
    with pytest.raises(ConfigError) as caught:
        read_ladder(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")
