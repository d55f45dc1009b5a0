"""Pictures of positions: what the engine says, each drawn once; an engine that fails costs its picture only."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shlex import quote

import pytest

from ggp.protocol.records import MatchStarted, MovePlayed, Party
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.server.web.boards import BoardError, BoardPool
from tests.support import ROOT
from tests.support.cli import PYTHON

pytestmark = pytest.mark.slow

LESSER = f"{PYTHON} {quote(str(ROOT / 'tests/support/foreign_engine.py'))} without"
MOVES = (("black", "A1"), ("white", "B1"), ("black", "pass"), ("white", "pass"))


def started(game: str = "go", **options: str) -> MatchStarted:
    return MatchStarted(
        match="m1",
        game=game,
        options=options or {"size": "5"},
        bots=(Party(name="one"), Party(name="two")),
        engine=Party(name="engine"),
        control="none",
    )


def plies(moves: tuple[tuple[str, str], ...] = MOVES) -> list[MovePlayed]:
    return [
        MovePlayed(number, "m1", number, 2 - number % 2, colour, move, 0)
        for number, (colour, move) in enumerate(moves, 1)
    ]


@pytest.fixture
def boards() -> Iterator[BoardPool]:
    renderer = BoardPool(read_engine(None), processes=1)
    yield renderer
    renderer.close()


def test_each_position_is_the_engine_s(boards: BoardPool) -> None:
    views = {number: boards.view(started(), plies(), number) for number in (2, 0, 1, 4, 3)}
    assert [views[number].ply for number in range(5)] == list(range(5))
    assert "A1" not in views[1].legal and "A1" in views[0].legal
    assert views[1].status.to_play == "white" and views[1].svg.startswith("<svg")
    assert views[0].svg != views[1].svg != views[2].svg
    assert views[1].score.startswith("{")


def test_rules_are_markdown_and_of_an_engine_without_that_form_its_text(boards: BoardPool) -> None:
    rules = boards.rules("yugo")
    assert rules.markdown and rules.text.startswith("# Yugo\n\n")
    for form in ("plain", "refused"):
        with closing(BoardPool(read_engine(f"{LESSER} rules={form}"), processes=1)) as lesser:
            said = lesser.rules("yugo")
        assert not said.markdown and said.text == "\n".join(line for line in rules.text.split("\n") if line)
    with closing(BoardPool(read_engine(f"{LESSER} ggp-rules"), processes=1)) as silent:
        assert silent.rules("yugo") == ("", False)


def test_a_step_that_was_drawn_is_not_drawn_again(boards: BoardPool) -> None:
    first = boards.view(started(), plies(), 0)
    assert boards.view(started(), plies(), 0) is first
    other = plies((("black", "A1"), ("white", "C1")))
    assert boards.view(started(), other, 1) is boards.view(started(), plies(), 1), "the same position of another match"
    assert boards.view(started(), other, 2).svg != boards.view(started(), plies(), 2).svg


def test_pictures_are_forgotten_where_there_are_too_many() -> None:
    boards = BoardPool(read_engine(None), processes=1, most=5_000)
    first = boards.view(started(), plies(), 0)
    boards.view(started(), plies(), 4)
    assert boards.view(started(), plies(), 0) is not first
    boards.close()


@pytest.mark.parametrize(
    ("engine", "start", "moves"),
    [
        (None, started("chess"), MOVES),
        (None, started(size="999"), MOVES),
        (None, started(), (("black", "A1"), ("white", "A1"))),
        (f"{LESSER} scene=broken", started(), MOVES),
        ("/bin/false", started(), MOVES),
    ],
)
def test_what_cannot_be_drawn_is_said_and_the_next_picture_is_drawn(
    engine: str | None, start: MatchStarted, moves: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    boards = BoardPool(read_engine(engine), processes=1)
    for _ in range(2):
        with pytest.raises(BoardError) as caught:
            boards.view(start, plies(moves), len(moves))
        assert "\n" not in str(caught.value)
    if engine is None:
        assert boards.view(started(), plies(), 1).svg
    boards.close()


def test_each_game_has_its_engine() -> None:
    own = read_engine(f"{PYTHON} {quote(str(ROOT / 'engines/examples/connect4.py'))}")
    boards = BoardPool(read_engine(None), {"connect4": own}, processes=1)
    four, moves = started("connect4", width="4"), plies((("black", "D"), ("white", "D")))
    for _ in range(2):
        assert boards.view(started(), plies(), 1).svg
        assert boards.view(four, moves, 2).scene.last == ["D2"]  # type: ignore[union-attr]
        assert boards.why_illegal(four, moves, 2, "G") == "G is not a column with room; these are A B C D"
    boards.close()


def test_an_engine_without_scenes_still_lists_its_moves() -> None:
    boards = BoardPool(read_engine(f"{LESSER} ggp-scene ggp-score"), processes=1)
    view = boards.view(started(), plies(), 1)
    assert (view.svg, view.score) == ("", "") and "B1" in view.legal
    boards.close()
