"""What is kept as text stays true: golden playthroughs, perft counts; and every game has them and a model."""

import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import ROOT, TESTS, playthrough
from tests.support.memory_session import MemorySession
from tests.support.model_walk import MODELS
from tests.support.positions import read_options

OURS = sorted(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["ggp.games"]
)
PERFT = TESTS / "rules" / "perft"
QUICK = 5_000
"""Counts up to here are made by the models too in the everyday run; the larger ones by `make test-long`."""


class Count(NamedTuple):
    """The number of legal move sequences of one length after the moves played."""

    game: str
    options: str
    moves: str
    depth: int
    number: int


def counts(game: str) -> list[Count]:
    """What a game's perft file says."""
    path = PERFT / f"{game}.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [[field.strip() for field in line.split("|")] for line in lines if not line.startswith("#")]
    return [
        Count(game, options, moves, depth, int(number))
        for options, moves, numbers in rows
        for depth, number in enumerate(numbers.split(), 1)
        if number != "-"
    ]


def lacking(game: str) -> list[str]:
    """What has still to be written for a game."""
    lines = counts(game)
    proofs = {
        f"a model in tests/rules/models, named in tests/support/model_walk.py: {game}": game in MODELS,
        f"a playthrough tests/rules/playthroughs/{game}-*.txt": any(
            path.stem.split("-")[0] == game for path in playthrough.FILES
        ),
        f"tests/rules/perft/{game}.txt, several positions, depths up to 3 at least": len({line.moves for line in lines})
        > 2
        and {1, 2, 3} <= {line.depth for line in lines},
    }
    return [what for what, there in proofs.items() if not there]


ALL = [count for game in OURS for count in counts(game)]


@pytest.mark.parametrize("game", OURS)
def test_nothing_is_lacking(game: str) -> None:
    assert lacking(game) == []


def test_a_game_without_proofs_is_noticed() -> None:
    assert len(lacking("checkers")) == 3


@pytest.mark.parametrize("path", playthrough.FILES, ids=[path.stem for path in playthrough.FILES])
def test_playthroughs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    game, moves = playthrough.read(text)
    assert game.split()[0] == path.stem.split("-")[0]
    assert playthrough.write(game, moves) == text


@pytest.mark.parametrize("count", ALL, ids=[f"{c.game} {c.options} {c.moves} {c.depth}" for c in ALL])
def test_perft_of_the_engine(count: Count) -> None:
    engine = MemorySession(f"{count.game} {count.options}".strip())
    engine.play(count.moves)
    assert int(engine(f"ggp-perft {count.depth}")) == count.number


SMALL = [count for count in ALL if count.number <= QUICK]
LARGE = [count for count in ALL if count.number > QUICK]


@pytest.mark.parametrize("game", OURS)
def test_perft_of_the_model(game: str) -> None:
    _count_again([count for count in SMALL if count.game == game])


@pytest.mark.long
@pytest.mark.parametrize("game", OURS)
def test_large_perft_of_the_model(game: str) -> None:
    _count_again([count for count in LARGE if count.game == game])


def _count_again(given: list[Count]) -> None:
    assert given
    for count in given:
        model = MODELS[count.game](**read_options(count.options))
        for move in count.moves.split():
            model.play(move)
        assert model.perft(count.depth) == count.number, count
