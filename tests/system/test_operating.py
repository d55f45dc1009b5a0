"""The unit and the container file of docs/operating name only commands, options, paths and numbers that hold."""

import configparser
import gzip
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ggp.protocol.transports.keys import new_pair, write_pair
from ggp.referee.cli.serve import serve
from ggp.referee.server.lobby.config import LobbyFile, read_lobby
from ggp.referee.server.lobby.keys import Book, allow, change, now
from tests.conftest import image_builder
from tests.support import ROOT

FOLDER = ROOT / "docs" / "operating"
MOST_OF_THE_IMAGE = 120_000_000  # bytes, packed as a registry keeps it
MOST_OF_THE_LOBBY = 1.0  # seconds that it takes beside `drain`, and some to spare


@pytest.fixture
def lobby() -> LobbyFile:
    return read_lobby(FOLDER / "lobby.toml")


def unit(name: str = "ggp-lobby.service") -> dict[str, dict[str, str]]:
    read = configparser.RawConfigParser()
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read(FOLDER / name)
    return {name: dict(read[name]) for name in read.sections()}


def instructions() -> list[tuple[str, str]]:
    lines = (FOLDER / "Containerfile").read_text(encoding="utf-8").splitlines()
    words = [line.split(" ", 1) for line in lines if line and line[0] != "#"]
    return [(word, rest) for word, rest in words]


def serves(words: list[str]) -> dict[str, object]:
    """The options of a `ggp serve`, which click takes."""
    command, *rest = words
    assert command == "serve"
    return serve.make_context("serve", rest).params


def test_the_file_serves_the_internet_with_keys(lobby: LobbyFile) -> None:
    assert lobby.keys and urlsplit(lobby.listen).hostname == "0.0.0.0"
    assert {lobby.server_key.parent, lobby.registry.parent} == {FOLDER}, "beside the file, wherever that lies"
    assert [bot.entrant.anchor for bot in lobby.local] == [0, None]


def test_the_unit_waits_for_matches_and_has_room_for_all_connections(lobby: LobbyFile) -> None:
    service = unit()["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert Path(program).name == "ggp"
    options = serves(words)
    assert options["json_logs"] and options["file"] == Path("lobby.toml")
    assert service["WorkingDirectory"] == f"%S/{service['StateDirectory']}"
    assert int(service["TimeoutStopSec"]) > lobby.table.drain + MOST_OF_THE_LOBBY
    assert (service["KillMode"], service["KillSignal"]) == ("mixed", "SIGTERM")
    assert service["RestartPreventExitStatus"] == "2"
    assert int(service["LimitNOFILE"]) > 2 * lobby.table.connections
    assert set(service["RestrictAddressFamilies"].split()) == {"AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"}


def test_the_unit_lets_the_sandbox_find_out_what_it_may_use() -> None:
    """Landlock and seccomp hold without more; what is forbidden fails and ends no process."""
    service, more = unit()["Service"], unit("ggp-lobby-delegated.conf")["Service"]
    assert {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp"} <= {
        *service["SystemCallFilter"].split()
    }
    assert service["SystemCallErrorNumber"] == "EPERM" and service["RestrictNamespaces"] == "yes"
    assert more["Delegate"].split() == ["cpu", "memory", "pids"] and more["ProtectControlGroups"] == "no"
    assert set(more["RestrictNamespaces"].split()) == {"user", "pid", "mnt", "net", "ipc", "uts"}
    assert set(more) - {"Delegate"} <= set(service), "it changes what the unit says"


@pytest.mark.slow
@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("delegated", [False, True])
def test_systemd_takes_the_unit(tmp_path: Path, delegated: bool) -> None:
    ggp = str(Path(sys.executable).parent / "ggp")
    text = (FOLDER / "ggp-lobby.service").read_text(encoding="utf-8").replace("/opt/ggp/bin/ggp", ggp)
    (tmp_path / "ggp-lobby.service").write_text(text, encoding="utf-8")
    if delegated:
        (tmp_path / "ggp-lobby.service.d").mkdir()
        (tmp_path / "ggp-lobby.service.d" / "delegated.conf").write_bytes(
            (FOLDER / "ggp-lobby-delegated.conf").read_bytes()
        )
    assert _verified(tmp_path) == []
    if delegated:  # it is read
        (tmp_path / "ggp-lobby.service.d" / "delegated.conf").write_text("[Service]\nDelegat=yes\n", encoding="utf-8")
        assert "Unknown key" in _verified(tmp_path)[0]


def _verified(folder: Path) -> list[str]:
    """What systemd says of the unit."""
    ran = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(folder / "ggp-lobby.service")],
        capture_output=True,
        encoding="utf-8",
    )
    assert ran.returncode == 0, ran.stderr
    return [line for line in ran.stderr.splitlines() if "ggp-lobby" in line]


@pytest.mark.slow
@pytest.mark.needs("systemd-analyze")
def test_systemd_knows_the_calls_that_the_unit_allows() -> None:
    known = subprocess.run(
        ["systemd-analyze", "syscall-filter", "@known"], capture_output=True, encoding="utf-8", check=True
    )
    said = (
        unit()["Service"]["SystemCallFilter"].split()
        + unit("ggp-lobby-delegated.conf")["Service"]["SystemCallFilter"].split()
    )
    assert {one for one in said if one[0] != "@"} <= {line.strip() for line in known.stdout.splitlines()}


def test_the_container_copies_what_is_there_and_runs_the_same_command(lobby: LobbyFile) -> None:
    all_of = dict(instructions())
    for word, rest in instructions():
        if word == "COPY" and not rest.startswith("--from"):
            assert all((ROOT / source).exists() for source in rest.split()[:-1]), rest
    entry, command = json.loads(all_of["ENTRYPOINT"]), json.loads(all_of["CMD"])
    assert entry == ["ggp"]
    assert serves(command) == serves(shlex.split(unit()["Service"]["ExecStart"])[1:])
    assert int(all_of["EXPOSE"]) == urlsplit(lobby.listen).port
    assert f"http://{serves(command)['metrics']}/metrics" in all_of["HEALTHCHECK"]
    assert all_of["WORKDIR"] == all_of["VOLUME"] and all_of["STOPSIGNAL"] == "SIGTERM"
    assert any("pip install" in rest and "'.[web]'" in rest for _, rest in instructions()), "for ggp web"
    assert re.search(
        rf"useradd .*\b{all_of['USER']}\b", " ".join(rest for word, rest in instructions() if word == "RUN")
    )


class Image:
    """The image of the Containerfile, built by podman, docker or buildah."""

    def __init__(self, builder: str) -> None:
        self._builder = builder
        self._isolation = ["--isolation", "chroot"] if builder == "buildah" else []
        file = ["-q", "-f", str(FOLDER / "Containerfile"), str(ROOT)]
        self._name = self._do("build", *self._isolation, *file).split()[-1]

    def packed(self, file: Path) -> int:
        """Its size in bytes as a registry would hold it, about; `file` is written."""
        if self._builder == "buildah":
            self._do("push", "-q", self._name, f"docker-archive:{file}")
        else:
            self._do("save", "-o", str(file), self._name)
        return len(gzip.compress(file.read_bytes(), 6))

    def run(self, *words: str, fails: bool = False) -> str:
        """What the command prints in a new container; an error if it fails, unless it `fails`."""
        if self._builder != "buildah":
            return self._do("run", "--rm", "--entrypoint", words[0], self._name, *words[1:], fails=fails)
        container = self._do("from", self._name).strip()
        try:
            return self._do("run", *self._isolation, container, "--", *words, fails=fails)
        finally:
            self._do("rm", container)

    def _do(self, *words: str, fails: bool = False) -> str:
        ran = subprocess.run([self._builder, *words], stdout=subprocess.PIPE, encoding="utf-8", check=not fails)
        return ran.stdout


@pytest.mark.long
@pytest.mark.needs("image-builder")
def test_the_image_is_built_and_runs_both_commands(tmp_path: Path) -> None:
    image = Image(image_builder())
    assert image.packed(tmp_path / "image.tar") <= MOST_OF_THE_IMAGE
    assert "rules 2" in image.run("ggp", "match", "yugo,size=5", "random", "greedy:playouts=5", "--games", "2")
    for command in ("serve", "web"):
        image.run("ggp", command, "--help")
    doctor = json.loads(image.run("ggp", "doctor", "--json", fails=True))  # its status tells what is missing
    assert {"files", "network", "other processes"} <= doctor["kept"].keys()
    image.run("python", "-c", "import starlette, uvicorn")


def test_the_commands_of_the_page_make_the_files_that_it_needs(tmp_path: Path) -> None:
    """Keys beside the file are found there, and the file runs up to its router."""
    text = (FOLDER / "lobby.toml").read_text(encoding="utf-8")
    (tmp_path / "lobby.toml").write_text(text, encoding="utf-8")
    lobby = read_lobby(tmp_path / "lobby.toml")
    write_pair(lobby.server_key, new_pair())
    with change(lobby.registry) as write:
        write(allow(Book(), "ann", "dot", new_pair().public, now()))
    from ggp.referee.server.lobby.auth import KeyAuth
    from ggp.referee.server.lobby.log import EventLog

    assert KeyAuth(lobby.server_key, lobby.registry, EventLog(quiet=True)).authenticated


@pytest.mark.parametrize(
    ("first", "start"), [("python3 -m venv", "systemctl enable"), ("podman build", "podman run -d")]
)
def test_the_page_makes_the_keys_before_the_lobby_that_needs_them(first: str, start: str) -> None:
    """Without a registry it does not start."""
    page = (ROOT / "docs" / "how-to" / "run-a-bot-server.md").read_text(encoding="utf-8")
    before = page[page.index(first) : page.index(start)]
    assert "keys new --server" in before and "keys allow" in before
