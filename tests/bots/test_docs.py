"""The pages for authors of bots and engines: their commands, typed one after another, do what the pages say.

That links lead somewhere and snippets compile is in test_docs, as for all pages.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.raw_peer import RawPeer

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
TUTORIAL = DOCS / "tutorial" / "your-first-bot.md"
ENGINE = DOCS / "how-to" / "write-an-engine.md"
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """A folder from which the project's files are where they are in a checkout, with the pages' scripts saved."""
    for folder in ("bots", "engines"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "first_bot.py").symlink_to(ROOT / "bots/examples/first_bot.py")
    for page in (TUTORIAL, ENGINE):
        for text in blocks(page, "python"):
            name = re.match(r"# (\w+\.py)\n", text)
            assert name, f"{page.name}: a script needs its name in its first line"
            (tmp_path / name[1]).write_text(text, encoding="utf-8")
    return tmp_path


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in FENCE.findall(page.read_text(encoding="utf-8")) if found == language]


def lines(page: Path) -> list[str]:
    """The command lines of a page."""
    return [line for text in blocks(page, "sh") for line in text.splitlines()]


def run(line: str, workdir: Path) -> str:
    """Type a line in a shell, with few and quick games; stdout and stderr together. Raises if it fails."""
    if line.startswith("ggp match"):
        line = re.sub(r"--games \d+", "--games 2", line) + " --time 2+0.05"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=workdir,
        env={"PATH": path, "LC_ALL": "C.UTF-8", "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}"
    return done.stdout


def test_the_better_bot_of_the_tutorial_is_better(workdir: Path) -> None:
    text = run('ggp match yugo,size=5 old="python simple.py" new="python better.py" --games 2 --json --quiet', workdir)
    assert re.search(r'"new"', text) and re.search(r'"rules": 2', text), text


def test_the_engine_page_runs_from_top_to_bottom(workdir: Path) -> None:
    (service,) = [line for line in lines(ENGINE) if "connect4.py tcp://" in line]
    others = [line for line in lines(ENGINE) if line != service and "my_game" not in line]  # test_starter has those
    words = shlex.split(service.replace(":5555", ":*").replace("engines/", f"{ROOT}/engines/"))
    with RawPeer([sys.executable, *words[1:]]) as peer:
        peer.wait_for(lambda: b"\n" in peer.stderr)
        address = peer.stderr.decode().split()[-1]
        heard = {line: run(line.replace("tcp://127.0.0.1:5555", address), workdir) for line in others}
    matches = [text for line, text in heard.items() if line.startswith("ggp match")]
    assert len(matches) == 3 and all(re.search(r"ended by: rules \d+\n", text) for text in matches)
    checks = [text for line, text in heard.items() if line.startswith("ggp check")]
    assert len(checks) == 2
    for text in checks:
        assert "usable by the referee: yes" in text and re.search(r"native GGP: (\d+) of \1\n", text)
