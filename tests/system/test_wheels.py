"""`make wheels` in a fresh copy: what it makes is whole, and plays in empty environments with nothing else in PATH."""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support import ROOT
from tests.support.cli import run_in

pytestmark = pytest.mark.long

FOLDERS = ("bots", "engines", "protocol", "referee")
MADE = (".git", ".venv", "build", "dist", "games")  # beside the sources


def interpreter(version: str) -> str:
    """A Python of that version, of pyenv or in PATH; "" for none."""
    found = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}"))
    return str(found[-1]) if found else shutil.which(f"python{version}") or ""


PYTHONS = {version: found for version in ("3.11", "3.12", "3.13") if (found := interpreter(version))}
BUILDERS = {version: python for version, python in PYTHONS.items() if version in ("3.11", "3.12")}


def run(*words: str, folder: Path, environment: Mapping[str, str] = {}) -> str:
    """What the command writes to stdout; an AssertionError with everything if it fails."""
    ran = run_in(folder, *words, **environment)
    assert ran.status == 0, (words, ran)
    return ran.out


def test_without_words_those_pythons_are_taken_that_are_there(tmp_path: Path) -> None:
    for name, status in ("python3.11", 0), ("python3.12", 127):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {status}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    path.pop("PYTHONS", None)
    assert "for python in python3.11; do" in run("make", "-n", "wheels", folder=ROOT, environment=path)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of wheels, made by the Pythons that are here."""
    copy = tmp_path_factory.mktemp("wheels") / "copy"
    made = shutil.ignore_patterns("__pycache__", ".*_cache", "*.so")
    shutil.copytree(
        ROOT, copy, ignore=lambda folder, names: {*made(folder, names), *(MADE if folder == str(ROOT) else ())}
    )
    pythons = list(BUILDERS.values())
    run("make", "wheels", f"PYTHON={pythons[0]}", f"PYTHONS={' '.join(pythons)}", folder=copy)
    return copy / "dist"


def wheel_of(dist: Path, version: str) -> Path:
    """The one that this version takes."""
    (wheel,) = dist.glob(f"*-{'cp311-cp311' if version == '3.11' else 'cp312-abi3'}-*.whl")
    return wheel


@pytest.mark.parametrize("version", BUILDERS)
def test_a_wheel_has_the_packages_the_examples_and_nothing_else(version: str, dist: Path) -> None:
    wheel = wheel_of(dist, version)
    assert "manylinux" in wheel.name
    names = ZipFile(wheel).namelist()
    examples = [path for folder in ("bots", "engines") for path in (ROOT / folder / "examples").iterdir()]
    wanted = {f"ggp/{path.relative_to(ROOT)}" for path in examples if path.is_file()}
    wanted |= {f"ggp/referee/tools/templates/{path.name}" for path in (ROOT / "referee/tools/templates").iterdir()}
    assert wanted - {*names} == set()
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"ggp"}
    assert any(re.fullmatch(r"ggp/engines/_core.*\.so", name) for name in names)
    assert any(name.endswith("LICENSE") for name in names)
    sources = [name for name in names if re.search(r"\.(c|cpp|h|hpp|o)$", name) and "/examples/" not in name]
    assert sources == []
    assert sum(info.compress_size for info in ZipFile(wheel).infolist()) < 3_000_000


def environment(folder: Path, version: str, *wheels: Path) -> tuple[Path, dict[str, str]]:
    """Make an environment with these wheels alone; return its programs' folder, and variables with nothing else."""
    run(PYTHONS[version], "-m", "venv", str(folder / "venv"), folder=folder)
    here = folder / "venv" / "bin"
    for wheel in wheels:
        run(str(here / "pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel), folder=folder)
    return here, {"PATH": str(here), "HOME": str(folder), "LC_ALL": "C.UTF-8"}


@pytest.mark.parametrize("version", PYTHONS)
def test_a_wheel_plays_in_an_empty_environment(version: str, dist: Path, tmp_path: Path) -> None:
    here, alone = environment(tmp_path, version, wheel_of(dist, version))
    assert re.fullmatch(r"ggp \d+\.\d+\.\d+\n", run(str(here / "ggp"), "--version", folder=tmp_path, environment=alone))
    words = ("match", "yugo", "random", "greedy:playouts=5", "--games", "2")
    played = run(str(here / "ggp"), *words, folder=tmp_path, environment=alone)
    assert "ended by: rules 2" in played
    run(str(here / "python"), "-c", "import ggp.engines._core", folder=tmp_path, environment=alone)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of others, whose packages have the names of our folders and end every program that imports them."""
    wheel = tmp_path_factory.mktemp("foreign") / "foreign-1.0-py3-none-any.whl"
    files = {f"{name}/__init__.py": f"raise SystemExit('the wrong {name}')\n" for name in FOLDERS}
    files["foreign-1.0.dist-info/METADATA"] = "Metadata-Version: 2.1\nName: foreign\nVersion: 1.0\n"
    files["foreign-1.0.dist-info/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files["foreign-1.0.dist-info/RECORD"] = "".join(f"{name},,\n" for name in files)
    with ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_packages_of_others_with_the_names_of_our_folders_change_nothing(
    first: str, dist: Path, foreign: Path, tmp_path: Path
) -> None:
    version = next(iter(PYTHONS))
    wheels = [wheel_of(dist, version), foreign]
    here, alone = environment(tmp_path, version, *(wheels if first == "ours" else wheels[::-1]))
    (tmp_path / "bot.py").write_text(
        "from ggp import run\nrun(lambda position: position.legal_moves()[-1])\n", encoding="utf-8"
    )
    words = ("match", "yugo,size=5", "python bot.py", "greedy:playouts=5", "--games", "2")
    assert "ended by: rules 2" in run(str(here / "ggp"), *words, folder=tmp_path, environment=alone)
    assert "the wrong bots" in run_in(tmp_path, here / "python", "-c", "import bots").err


def test_the_sdist_has_what_a_wheel_is_built_of(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    names = {name.partition("/")[2] for name in run("tar", "-tzf", str(archive), folder=dist).splitlines()}
    assert {"pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "engines/core/bindings/bind.hpp"} <= names
    assert not [name for name in names if name.startswith((".venv", "build/", "dist/", ".ci"))]
