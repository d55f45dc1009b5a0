"""`make wheels` in a fresh copy: what it makes is whole, and plays in empty environments with nothing else in PATH."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.long

VERSIONS = ("3.11", "3.12", "3.13")
NOT_COPIED = (".git", ".venv", "build", "dist", "games", "__pycache__", ".*_cache", "*.so")


def interpreter(version: str) -> str | None:
    """A Python of that version, in PATH or of pyenv."""
    named = shutil.which(f"python{version}")
    found = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}"))
    for program in [*([named] if named else []), *map(str, found)]:
        ran = subprocess.run([program, "-c", "import venv, ensurepip"], capture_output=True, check=False)
        if ran.returncode == 0:
            return program
    return None


def run(*words: str, folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """What the command writes to stdout; an AssertionError with everything if it fails."""
    done = subprocess.run(
        words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of wheels, made by the Pythons that are here."""
    copy = tmp_path_factory.mktemp("wheels") / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_COPIED))
    pythons = [python for version in ("3.11", "3.12") if (python := interpreter(version))]
    audit = interpreter("3.11") or interpreter("3.12")
    assert pythons and audit, "no Python 3.11 or 3.12 with venv"
    told = run("make", "wheels", f"PYTHON={audit}", f"PYTHONS={' '.join(pythons)}", folder=copy)
    assert "0 ABI version mismatches and 0 ABI violations found" in told or not interpreter("3.12"), told
    return copy / "dist"


def wheel_of(dist: Path, version: str) -> Path | None:
    """The one that this version takes."""
    tag = "cp311-cp311" if version == "3.11" else "cp312-abi3"
    return next(iter(sorted(dist.glob(f"*-{tag}-*.whl"))), None)


@pytest.mark.parametrize("version", ["3.11", "3.12"])
def test_a_wheel_has_the_packages_the_examples_and_no_sources_of_the_core(version: str, dist: Path) -> None:
    wheel = wheel_of(dist, version)
    if wheel is None:
        pytest.skip(f"no Python {version} is here to build it")
    assert "manylinux" in wheel.name
    names = ZipFile(wheel).namelist()
    examples = [path for folder in ("bots", "engines") for path in (ROOT / folder / "examples").iterdir()]
    wanted = {str(path.relative_to(ROOT)) for path in examples if path.is_file()}
    wanted |= {f"referee/starter/templates/{path.name}" for path in (ROOT / "referee/starter/templates").iterdir()}
    assert wanted - {*names} == set()
    sources = [name for name in names if re.search(r"\.(c|cpp|h|hpp)$", name) and "/examples/" not in name]
    assert sources == []
    assert sum(info.compress_size for info in ZipFile(wheel).infolist()) < 3_000_000


@pytest.mark.parametrize("version", VERSIONS)
def test_a_wheel_plays_in_an_empty_environment(version: str, dist: Path, tmp_path: Path) -> None:
    python, wheel = interpreter(version), wheel_of(dist, version)
    if python is None or wheel is None:
        pytest.skip(f"Python {version} with venv is not here, or none that builds its wheel")
    run(python, "-m", "venv", str(tmp_path / "venv"), folder=tmp_path)
    here = tmp_path / "venv" / "bin"
    run(str(here / "pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel), folder=tmp_path)
    alone = {"PATH": str(here), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    assert re.fullmatch(r"ggp \d+\.\d+\.\d+\n", run(str(here / "ggp"), "--version", folder=tmp_path, environment=alone))
    words = ("match", "yugo", "random", "greedy:playouts=5", "--games", "2")
    played = run(str(here / "ggp"), *words, folder=tmp_path, environment=alone)
    assert "ended by: rules 2" in played
    run(str(here / "python"), "-c", "import engines._core", folder=tmp_path, environment=alone)


def test_the_sdist_has_what_a_wheel_is_built_of(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    listed = subprocess.run(["tar", "-tzf", str(archive)], capture_output=True, text=True, check=True).stdout
    names = {name.partition("/")[2] for name in listed.splitlines()}
    assert {"pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "engines/core/bindings/bind.hpp"} <= names
    assert not [name for name in names if name.startswith((".venv", "build/", "dist/", ".ci"))]
