"""A match with a seed can be repeated: whatever a bot played before, it draws the same again. No clock runs here."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ggp.bots.sdk import Bot
from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import Responder
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.series import SeriesConfig
from tests.support.chaos import CHAOS, chaos
from tests.support.memory_match import MemoryMatch, bot, plain
from tests.support.raw_peer import RawPeer
from tests.support.series import make_setup, play

BY_THE_DAY = ("ms", "left", "started", "ended", "link", "suspect")
NUMBERED = ("detail", "diagnostics")  # these have the running numbers of commands
TURNS = "genmove b\ngenmove w\n" * 8
ANY_FAULT = chaos("fault=any,ms=1")


def said(words: Sequence[str], *seeds: int) -> list[bytes]:
    """All that a bot says in a game after each of these seeds, in one process."""
    games = []
    with RawPeer(words if words[0] == "env" else [sys.executable, "-m", "ggp.bots", *words]) as peer:
        for seed in seeds:
            peer.send(f"1 set_random_seed {seed}\n2 ggp-new yugo size=5\n{TURNS}3 version\n".encode())
            peer.wait_for(lambda: b"\n\n=3 1\n\n" in peer.heard)
            games.append(bytes(peer.heard))
            peer.heard.clear()
    return games


def records(setup: SeriesConfig, *numbers: int) -> dict[str, list[dict[str, Any]]]:
    """The record of each match, played in that order at one table, without what the time of day decides."""
    came = play(setup, numbers)
    assert came.suspended is None
    lines = [[json.loads(line) for line in record.splitlines()] for record in came.kept]
    kept = [
        [{name: it[name] for name in it if name not in (*BY_THE_DAY, *NUMBERED)} for it in match] for match in lines
    ]
    return {str(match[0]["match"]): match for match in kept}


@pytest.mark.slow
@pytest.mark.parametrize("words", [["random"], ["random", "seed=5"], ["greedy", "playouts=2"]], ids=" ".join)
def test_what_a_bot_draws_depends_on_the_seed_alone(words: list[str]) -> None:
    seven, eight, again, most = said(words, 7, 8, 7, 2**31 - 1)
    assert seven == again != eight
    assert said(words, 2**31 - 1, 7) == [most, seven]


@pytest.mark.slow
def test_a_bots_own_seed_makes_it_another_bot() -> None:
    assert said(["random", "seed=5"], 7) != said(["random", "seed=6"], 7) != said(["random"], 7)


@pytest.mark.slow
def test_chaos_chooses_the_game_of_its_fault_by_chance() -> None:
    words = [*CHAOS, "fault=resign", "game=3"]
    forwards = said(words, *range(60))
    assert said(words, *reversed(range(60))) == forwards[::-1]
    assert 8 < sum(b"resign" in game for game in forwards) < 33  # 20 expected
    assert all(b"resign" in game for game in said([*words[:-1], "game=1"], 1, 2, 3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "one", "two"), [("yugo,size=4", ANY_FAULT, "random"), ("go,size=5", "greedy:playouts=2", ANY_FAULT)]
)
def test_matches_are_the_same_in_any_order(game: str, one: str, two: str) -> None:
    setup = replace(make_setup(game, one, two, time="none"), seeded=True, openings=2)
    forwards, backwards = records(setup, *range(8)), records(setup, *reversed(range(8)))
    assert forwards == backwards
    assert len({str(match[1:-1]) for match in forwards.values()}) == len(forwards)
    faults = {match[-1]["termination"] for match in forwards.values()}
    assert len(faults) > 1, "chaos did nothing that it could forget"


@pytest.mark.slow
def test_without_seeds_nothing_is_promised() -> None:
    setup = make_setup("yugo,size=5", "random", "random")
    assert records(setup, 0) != records(setup, 0)


@pytest.mark.slow
@pytest.mark.needs("gnugo")
def test_gnugo_plays_the_same_match_again_if_it_is_started_again() -> None:
    """Kept, it does not: caches of earlier games change its moves, whatever the seed."""
    command = "gnugo --mode gtp --level 1 --chinese-rules --positional-superko"
    gnugo = BotSpec("gnugo", command, tuple(command.split()), restart=True)
    setup = replace(make_setup("go,size=7,agreement=on", gnugo, "random", time="none"), seeded=True)
    forwards = records(setup, *range(4))
    assert records(setup, *reversed(range(4))) == forwards
    assert len({str(match[1:-1]) for match in forwards.values()}) == 4


def test_both_dialects_are_reported_before_the_game_and_in_one_write() -> None:
    done: dict[str, Any] = {"set_random_seed": lambda arguments: ""}
    match = MemoryMatch("go size=9", bot(["pass"], **done), plain(["pass"], **done), seeds=(7, 8))
    native, simple = match.run().peers
    assert native.lines[4:6] == ["set_random_seed 7", "ggp-new go size=9"]
    assert simple.lines[4:6] == ["set_random_seed 8", "boardsize 9"]
    assert not match.record.end.warnings  # type: ignore[union-attr]


def test_a_bot_may_refuse_its_seed() -> None:
    def refuse(arguments: list[str]) -> str:
        raise CommandFailed("no dice")

    match = MemoryMatch("go size=9", bot(["pass"], set_random_seed=refuse), bot(["pass"]), seeds=(7, 8))
    assert match.run().outcome.result == "W+7.5"
    assert match.record.end and match.record.end.warnings == ("seat1: answers `set_random_seed 7` with `? no dice`",)
    assert not any("set_random_seed" in line for line in match.peers[1].lines)


def test_the_kit_reads_the_seed() -> None:
    told: list[int] = []
    handlers = Bot(lambda position: "pass", seed=told.append).handlers()
    assert "set_random_seed" not in Bot(lambda position: "pass").handlers()
    responder = Responder("seeded", "1", handlers)
    for text in ("0", "2147483647", "2147483648", "-1", "", "1 2", "x", "1" * 5000, "١"):
        responder.receive(f"set_random_seed {text}\n".encode())
        answer = responder.next_answer()
        assert answer and answer.startswith(b"=\n" if text in ("0", "2147483647") else b"? syntax error"), text
    assert told == [0, 2147483647]
