"""What lies in the folder where the referee is started is not taken for its own programs or for Python's library."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.cli import PYTHON, run_in
from tests.support.ladders import write_ladder

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
HOSTILE = ("ggp", "bots", "engines", "json", "random", "select", "zlib")
TAKEN = "import pathlib\npathlib.Path(__file__).with_suffix('.taken').touch()\nraise SystemExit('the wrong file')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with modules that report their import and end the program."""
    for name in HOSTILE:
        (tmp_path / f"{name}.py").write_text(TAKEN, encoding="utf-8")
    return tmp_path


def test_a_match(folder: Path) -> None:
    words = ("match", "yugo,size=3", "random", "greedy:playouts=2", "--games", "2", "--json", "--quiet")
    ran = json.loads(_run(folder, *words))
    assert ran["games"] == 2 and set(ran["terminations"]) <= {"rules", "resignation"}


def test_a_ladder(folder: Path) -> None:
    write_ladder(folder, "random", "greedy:playouts=2")
    ran = json.loads(_run(folder, "ladder", "run", "--games", "6", "--jobs", "1", "--json"))
    assert (ran["failed"], ran["faults"]) == ("", []) and ran["stored"] >= 6


def test_a_bot_finds_the_modules_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("NAME = 'a bot'\n", encoding="utf-8")
    (tmp_path / "my_bot.py").write_text(
        "import beside\nfrom ggp import run\nrun(lambda position: position.legal_moves()[0], name=beside.NAME)\n",
        encoding="utf-8",
    )
    bot = f"{PYTHON} my_bot.py"
    ran = json.loads(_run(tmp_path, "match", "yugo,size=3", bot, "random", "--games", "2", "--json", "--quiet"))
    assert ran["bots"][0]["faults"] == {} and ran["games"] == 2


def test_the_folder_can_be_taken_by_python(folder: Path) -> None:
    """What is guarded against does happen: without -P these files come first."""
    ran = run_in(folder, sys.executable, "-m", "ggp.bots", "random")
    assert ran.status != 0 and list(folder.glob("*.taken"))


def _run(folder: Path, *words: str) -> str:
    """What `ggp` prints there, once it is sure that no file of the folder was imported."""
    ran = run_in(folder, BIN / "ggp", *words)
    assert ran.status == 0, ran.out + ran.err
    assert list(folder.glob("*.taken")) == []
    return ran.out
