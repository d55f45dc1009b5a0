"""The outside of the project holds: contracts, sizes, packaging, and a Makefile that says what is missing.

Whether the documentation is true is in test_docs.
"""

import json
import os
import re
import shutil
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tests.support.cli import Ran, run_in

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("protocol", "engines", "referee", "bots")
FOLDERS = ("ggp", *PACKAGES, "tests", "docs", ".ci")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file())
PYTHONS = [path for path in FILES if path.suffix == ".py"]
PRODUCT = [path for path in PYTHONS if path.relative_to(ROOT).parts[0] in PACKAGES]
SOURCES = [path for path in FILES if path.suffix in {".py", ".hpp", ".cpp", ".c", ".sh"}]
PROSE = [path for path in FILES if path.suffix in {".md", ".txt", ".tst", ".json", ".pyi"} or path.name == "run"]
FRONT = [
    "Makefile",
    "pyproject.toml",
    "CMakeLists.txt",
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]


def test_the_top_level_is_what_a_newcomer_is_told() -> None:
    listed = _run(["git", "ls-files"]).out
    top = {name.partition("/")[0] for name in listed.splitlines()} or {path.name for path in ROOT.iterdir()}
    assert top >= {"pyproject.toml", "README.md", *PACKAGES, "tests", "docs"}
    folders = {name for name in top if (ROOT / name).is_dir() and not name.startswith(".")}
    assert folders - {"build", "dist", "games"} == {*PACKAGES, "tests", "docs", "ggp"}


def test_the_import_names_are_links_to_the_folders() -> None:
    assert {path.name for path in (ROOT / "ggp").iterdir()} - {"__pycache__"} == {"__init__.py", "py.typed", *PACKAGES}
    for name in PACKAGES:
        assert (ROOT / "ggp" / name).readlink() == Path("..", name)


def test_the_environment_finds_modules_in_the_project_and_not_around_it() -> None:
    program = "import sys; print(*sys.path, sep='\\n')"
    found = _run([sys.executable, "-P", "-c", program]).out.splitlines()
    assert [path for path in found if ROOT.is_relative_to(path)] in ([str(ROOT)], [])


@pytest.mark.slow
def test_every_tool_sees_each_module_once(tmp_path: Path) -> None:
    linted = _run([str(Path(sys.executable).with_name("ruff")), "check", "--show-files"]).out.split()
    assert len(linted) == len({Path(name).resolve() for name in linted})
    assert {*map(str, PRODUCT)} <= {*linted}
    checked = _run([sys.executable, "-m", "mypy", "-v", "--no-incremental", "-p", "ggp.protocol.drawing"])
    parsed = re.findall(r"Parsing (\S*/protocol/drawing/\S+)", checked.err)
    assert parsed and len(parsed) == len({Path(name).resolve() for name in parsed})
    measured = tmp_path / "coverage.json"
    runner = [sys.executable, "-m", "coverage"]
    data = f"--data-file={tmp_path / 'data'}"
    assert _run([*runner, "run", data, "--source=ggp.protocol.drawing", "-m", "ggp.protocol.drawing.svg"]).status == 0
    assert _run([*runner, "json", data, "-q", "-o", str(measured)]).status == 0
    files = [(ROOT / name).resolve() for name in json.loads(measured.read_text(encoding="utf-8"))["files"]]
    assert sorted(files) == sorted((ROOT / "protocol" / "drawing").glob("*.py"))


def test_import_contracts_hold() -> None:
    result = _run([str(Path(sys.executable).with_name("lint-imports")), "--no-cache"])
    assert result.status == 0, result.out + result.err
    assert "0 broken" in result.out


def test_names_say_what_a_file_is() -> None:
    vague = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
    assert [path for path in SOURCES if vague & set(path.stem.lower().split("_"))] == []


def test_every_module_says_what_it_is() -> None:
    silent = [
        path
        for path in PYTHONS
        if (text := path.read_text(encoding="utf-8")).strip() and not re.match(r'(#!.*\n)?r?"""\S', text)
    ]
    assert silent == []


def test_nothing_is_left_open() -> None:
    words = "|".join(["TO" + "DO", "FIX" + "ME", "Not" + "Implemented" + "Error"])
    words += "|pragma: no " + r"cover|\bmark\.(?:sk" + "ip|xf" + "ail)"
    assert [path for path in SOURCES if re.search(words, path.read_text(encoding="utf-8"))] == []


def test_no_machine_is_named() -> None:
    folder = re.escape(str(ROOT)) + "|" + "|".join(["/ro" + "ot/", "/ho" + r"me/\w+", "/wo" + r"rk/\w+"])
    hosts = r"pypi" + r"\.org|python" + r"hosted\.org"
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in [*SOURCES, *PROSE, *(ROOT / name for name in FRONT)]
        if (match := re.search(f"{folder}|{hosts}", path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_packaging_states_its_ranges() -> None:
    project = PROJECT["project"]
    assert project["requires-python"] == ">=3.11"
    for requirement in project["dependencies"]:
        assert re.fullmatch(r"[a-z0-9-]+>=[\d.]+,<[\d.]+", requirement), requirement
    for extra in (*project["optional-dependencies"].values(), *PROJECT["dependency-groups"].values()):
        for requirement in extra:
            assert re.fullmatch(r"[a-z._-]+(\[.*\])?>=[\d.]+(,<[\d.]+)?", requirement), requirement


def test_every_dependency_earns_its_place() -> None:
    imported = {
        match.group(1)
        for path in PRODUCT
        for match in re.finditer(r"^\s*(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    module_of = {"pyzmq": "zmq", "prompt-toolkit": "prompt_toolkit"}
    names = [re.split(r"[>\[]", requirement)[0] for requirement in PROJECT["project"]["dependencies"]]
    assert [name for name in names if module_of.get(name, name) not in imported] == []


def test_every_entry_point_loads() -> None:
    groups = {"console_scripts": PROJECT["project"]["scripts"], **PROJECT["project"]["entry-points"]}
    for group, points in groups.items():
        for name, value in points.items():
            loaded = EntryPoint(name, value, group).load()
            if group == "ggp.games":
                assert loaded.name == name
            else:
                assert callable(loaded), value


def test_the_license_is_the_one_that_is_declared() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["project"]["license"] == "MIT"
    assert text.startswith("MIT License\n\nCopyright (c) 2026 General Game Protocol contributors")
    assert 'THE SOFTWARE IS PROVIDED "AS IS"' in text


def test_the_changelog_begins_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (\S+)", text, re.MULTILINE)
    assert sections[0] in (PROJECT["project"]["version"], "Unreleased")
    newest = text.split("\n## ")[1]
    assert re.search(r"^- \S", newest, re.MULTILINE), "say what is new"


def test_make_lists_its_targets() -> None:
    listed = _run(["make"]).out.splitlines()
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert phony is not None
    assert [line.split()[1] for line in listed] == phony.group(1).split()
    assert all(len(line.split(maxsplit=2)) == 3 for line in listed)


def test_ci_runs_what_the_readme_names() -> None:
    script = ROOT / ".ci" / "run"
    text = script.read_text(encoding="utf-8")
    assert os.access(script, os.X_OK)
    assert _run(["bash", "-n", str(script)]).status == 0
    assert "set -euo pipefail" in text
    assert all(f" {package}" in text.replace("(", " ") for package in ("gnugo", "python3-dev", "python3-venv", "g++"))
    assert text.index("make check") < text.index("make test")


# --- make setup, when something is missing: one line that names the package, and nothing is made ----------------------


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A checkout as `make setup` first meets it, in a folder with a blank in its name."""
    fresh = tmp_path / "fresh clone"
    (fresh / "engines" / "core").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "CMakeLists.txt"):
        shutil.copy(ROOT / name, fresh / name)
    return fresh


def _python_without(folder: Path, word: str) -> Path:
    """An interpreter that fails on one-liners that hold `word`."""
    return _executable(folder / "python3", f'case "$2" in *{word}*) exit 1 ;; esac\nexec "{sys.executable}" "$@"')


def _executable(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def _problem(fresh: Path, *arguments: str, path: str | None = None) -> str:
    """Return the line that `make setup` prints before make says that it stops."""
    before = sorted(fresh.rglob("*"))
    result = _run(["make", "setup", *arguments], folder=fresh, path=path)
    assert result.status != 0
    assert sorted(fresh.rglob("*")) == before, "nothing is made before all is there"
    line, stopped = (result.out + result.err).splitlines()
    assert stopped.startswith("make: ***")
    return line


def test_an_old_python_is_named(fresh: Path, tmp_path: Path) -> None:
    line = _problem(fresh, f"PYTHON={_executable(tmp_path / 'python3', 'echo 3.9')}")
    assert "3.11 or newer is needed" in line and "is 3.9" in line and "apt-get install python3.11 " in line


@pytest.mark.parametrize("python", ["/nowhere/python3", "/bin/true", "no-such-python"])
def test_a_missing_python_is_named(fresh: Path, python: str) -> None:
    line = _problem(fresh, f"PYTHON={python}")
    assert f"{python} does not run" in line and "apt-get install python3 " in line


def test_a_missing_venv_module_is_named(fresh: Path, tmp_path: Path) -> None:
    line = _problem(fresh, f"PYTHON={_python_without(tmp_path, 'ensurepip')}")
    assert "venv module" in line and "apt-get install python3-venv" in line


def test_missing_headers_are_named(fresh: Path, tmp_path: Path) -> None:
    line = _problem(fresh, f"PYTHON={_python_without(tmp_path, 'Python.h')}")
    assert "headers" in line and "apt-get install python3-dev" in line


def test_a_missing_compiler_is_named(fresh: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "make", "find", "cat"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    line = _problem(fresh, f"PYTHON={sys.executable}", path=str(tools))
    assert "C++20 compiler" in line and "apt-get install g++" in line


def test_a_compiler_without_cpp20_is_named(fresh: Path, tmp_path: Path) -> None:
    old = _executable(tmp_path / "g++", "echo unrecognized command-line option >&2; exit 1")
    line = _problem(fresh, f"PYTHON={sys.executable}", f"CXX={old}")
    assert str(old) in line and "apt-get install g++" in line


@pytest.mark.slow
def test_make_play_goes_on(tmp_path: Path) -> None:
    """Without a terminal: lines, then the standings. The ladder file is the user's from then on."""
    bins = f"BIN={Path(sys.executable).parent}"
    makefile = str(ROOT / "Makefile")
    for games in (4, 8):
        result = _run(["make", "-f", makefile, "-o", "setup", "play", bins, f"GAMES={games}"], folder=tmp_path)
        assert result.status == 0, result.out + result.err
        assert "greedy-50" in result.out and "Worth trying next" in result.out
        counted = re.search(r"(\d+) games$", result.out, re.MULTILINE)
        assert counted is not None and int(counted[1]) >= games
        assert "\x1b" not in result.out + result.err and " games" in result.err
        with (tmp_path / "games" / "play.toml").open("a", encoding="utf-8") as file:
            file.write("# mine\n")
    assert (tmp_path / "games" / "play.toml").read_text(encoding="utf-8").count("# mine") == 2
    (tmp_path / "games" / "play.toml").write_text("[pool.a]\n", encoding="utf-8")
    result = _run(["make", "-f", makefile, "-o", "setup", "play", bins], folder=tmp_path)
    assert result.status != 0 and "games/play.toml: " in result.err and result.out == ""


@pytest.mark.long
def test_make_play_in_a_fresh_copy(tmp_path: Path) -> None:
    """From nothing, with an empty environment, in a folder with a blank in its name; twice is quick."""
    copy = _fresh_copy(tmp_path)
    for games in (4, 8):
        result = _run(["make", "play", f"GAMES={games}"], folder=copy, path="/usr/bin:/bin")
        assert result.status == 0, result.out + result.err
        assert "random" in result.out and "greedy-5" in result.out
        assert (copy / "games" / "play.db").stat().st_size > 0
        assert len(re.findall(r"^  \.venv/bin/ggp ", result.out, re.MULTILINE)) == 4
    assert "Setting up" not in result.out
    (copy / ".venv" / ".ready").write_text("3.8 /elsewhere\n", encoding="utf-8")  # made by another Python, or moved
    (copy / ".venv" / "left over").touch()
    result = _run(["make", "setup"], folder=copy, path="/usr/bin:/bin")
    assert result.status == 0 and "Setting up" in result.out
    assert not (copy / ".venv" / "left over").exists()


def _fresh_copy(folder: Path) -> Path:
    """The project as a clone has it, in a folder with a blank in its name."""
    copy = folder / "fresh clone"
    made = shutil.ignore_patterns("__pycache__", "*.so", ".*_cache")
    for name in (*FOLDERS, *FRONT):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=made)
        else:
            shutil.copy(ROOT / name, copy / name)
    return copy


def _run(command: list[str], *, folder: Path = ROOT, path: str | None = None) -> Ran:
    """Run with an environment of its own: what the test run's `make` exports must not reach it."""
    program = shutil.which(command[0], path=os.environ["PATH"]) or command[0]
    return run_in(folder, program, *command[1:], PATH=path or os.environ["PATH"], HOME=str(folder), LC_ALL="C.UTF-8")


def test_what_is_to_be_installed_can_be() -> None:
    """The package is on no index, so its extras are no remedy for a user of a wheel."""
    named = re.compile(r"general-game-protocol\[|pip install '?\"?\.\[")
    assert [path for path in PRODUCT if named.search(path.read_text(encoding="utf-8"))] == []
    assert [
        path for path in PROSE if path.suffix == ".md" and "general-game-protocol[" in path.read_text(encoding="utf-8")
    ] == []
