"""The file of a lobby: what it says about addresses."""

import tomllib
from pathlib import Path

import pytest

from ggp.referee.ladder.session import cut_off
from ggp.referee.ladder.toml_file import ConfigError
from ggp.referee.server.lobby.config import LobbyFile, example, lobby_of


def _lobby(tmp_path: Path, **keys: str) -> LobbyFile:
    values = tomllib.loads(example("club.toml"))
    values["lobby"] = {"keys": True, **keys}
    return lobby_of(values, tmp_path / "club.toml")


@pytest.mark.parametrize("listen", ["tcp://0.0.0.0:7711", "tcp://*:7711", "tcp://[::]:7711"])
def test_a_wildcard_without_an_address_is_warned_about(tmp_path: Path, listen: str) -> None:
    warning = _lobby(tmp_path, listen=listen).warning
    assert warning.startswith("lobby.address: ") and listen in warning and "tcp://HOST:PORT" in warning
    assert not _lobby(tmp_path, listen=listen, address="tcp://club.example:7711").warning


@pytest.mark.parametrize("listen", ["tcp://127.0.0.1:7711", "tcp://192.0.2.1:7711", "tcp://[::1]:7711"])
def test_an_address_of_this_machine_needs_no_other(tmp_path: Path, listen: str) -> None:
    assert not _lobby(tmp_path, listen=listen).warning


@pytest.mark.parametrize("address", ["club.example:7711", "tcp://club.example", "http://club.example:80"])
def test_an_address_that_is_none(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError) as failed:
        _lobby(tmp_path, address=address)
    assert failed.value.key == "lobby.address"


ENGINE = "tcp://127.0.0.1:5555"
FOUR = {"four": {"game": "connect4", "control": "300+5", "engine": ENGINE}}


def _with_four(tmp_path: Path, allow: list[str]) -> LobbyFile:
    values = tomllib.loads(example("club.toml"))
    values["pool"] |= FOUR
    values["sandbox"]["allow"] = allow
    return lobby_of(values, tmp_path / "club.toml")


def _cut_off(lobby: LobbyFile) -> list[str]:
    return [line for bot in lobby.ladder.bots for line in cut_off(bot, lobby.ladder.pools).values()]


def test_an_engine_that_a_sandbox_forbids_costs_a_bot_that_pool_alone(tmp_path: Path) -> None:
    lobby = _with_four(tmp_path, [])
    lines = _cut_off(lobby)
    assert [line.partition(":")[0] for line in lines] == ["bot.random", "bot.greedy"]
    assert all("pool four" in line and ENGINE in line and 'allow = ["network"]' in line for line in lines)
    others = tuple(pool.name for pool in lobby.ladder.pools if pool.name != "four")
    assert [local.entrant.pools for local in lobby.local] == [others] * 2
    assert not any(ENGINE in local.entrant.start.argv for local in lobby.local), "it does not dial an engine in vain"
    free = _with_four(tmp_path, ["network"])
    assert not _cut_off(free)
    assert [local.entrant.pools for local in free.local] == [(*others, "four")] * 2
    assert all(("GGP_ENGINES_OPTIONAL", "1") in local.entrant.start.environment for local in free.local)
