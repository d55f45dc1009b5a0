"""`[format]` of ladder files: what is read, and the one line that is said of what cannot be."""

from pathlib import Path

import pytest

from ggp.referee.ladder.config import read_ladder
from ggp.referee.ladder.store.model import Format, FormatKind
from tests.support.ladders import FILE, write, wrong


@pytest.mark.parametrize(
    ("said", "form"),
    [
        ("", Format()),
        ('kind = "round-robin"', Format(FormatKind.ROUND_ROBIN, pairs=10)),
        ('kind = "round-robin"\npairs = 3', Format(FormatKind.ROUND_ROBIN, pairs=3)),
        ('kind = "gauntlet"\nbots = ["b"]', Format(FormatKind.GAUNTLET, pairs=100, bots=("b",))),
        ('kind = "swiss"\nrounds = 5', Format(FormatKind.SWISS, pairs=1, rounds=5)),
        ('kind = "test"', Format(FormatKind.TEST, pairs=10_000, bots=("a", "b"))),
        (
            'kind = "test"\nbots = ["b", "a"]\nbatch = 8',
            Format(FormatKind.TEST, pairs=10_000, bots=("b", "a"), batch=8),
        ),
        (
            'kind = "test"\npreset = "simplify"',
            Format(FormatKind.TEST, pairs=10_000, bots=("a", "b"), elo0=-15, elo1=5),
        ),
        (
            'kind = "test"\nelo0 = -1\nelo1 = 2.5\nmodel = "logistic"\nalpha = 0.1\nbeta = 0.2',
            Format(FormatKind.TEST, 10_000, 0, ("a", "b"), 0.5, 0, "logistic", -1, 2.5, 0.1, 0.2),
        ),
    ],
)
def test_formats(tmp_path: Path, said: str, form: Format) -> None:
    assert read_ladder(write(tmp_path, f"[format]\n{said}\n{FILE}")).format == form


def test_a_test_knows_the_new_version_by_its_parent(tmp_path: Path) -> None:
    text = '[format]\nkind = "test"\n' + FILE
    assert read_ladder(write(tmp_path, text + 'parent = "a"\n')).format.bots == ("b", "a")
    turned = text.replace('"random"', '"random"\nparent = "b"')
    assert read_ladder(write(tmp_path, turned)).format.bots == ("a", "b")


THIRD = '[bot.c]\ncommand = "random"\n'


@pytest.mark.parametrize(
    ("said", "rest", "key"),
    [
        ('kind = "league"', "", "format.kind"),
        (
            'kind = "swis"',
            "",
            "format.kind",
        ),
        ("kind = 3", "", "format.kind"),
        ("pairs = 3", "", "format.pairs"),
        ('kind = "swiss"\nshare = 0.2', "", "format.share"),
        ('kind = "swiss"\nrounds = 0', "", "format.rounds"),
        ('kind = "gauntlet"', "", "format.bots"),
        ('kind = "gauntlet"\nbots = []', "", "format.bots"),
        ('kind = "gauntlet"\nbots = ["z"]', "", "format.bots"),
        ('kind = "gauntlet"\nbots = ["a", "a"]', "", "format.bots"),
        ('kind = "gauntlet"\nbots = ["a", "b"]', "", "format.bots"),
        ('kind = "test"', THIRD, "format.bots"),
        ('kind = "test"\nbots = ["a", "b", "c"]', THIRD, "format.bots"),
        ('kind = "test"\nbots = ["c", "a"]', THIRD, "pool.small"),
        ('kind = "test"\npreset = "gates"', "", "format.preset"),
        ('kind = "test"\npreset = "gate"\nelo1 = 5', "", "format.preset"),
        ('kind = "test"\nelo0 = 5', "", "format.elo1"),
        ('kind = "test"\nelo0 = 5\nelo1 = 5', "", "format"),
        ('kind = "test"\nelo0 = nan\nelo1 = 5', "", "format.elo0"),
        ('kind = "test"\nalpha = 0', "", "format.alpha"),
        ('kind = "test"\nalpha = 0.5\nbeta = 0.5', "", "format"),
        ('kind = "test"\nmodel = "davidson"', "", "format.model"),
    ],
)
def test_invalid_formats(tmp_path: Path, said: str, rest: str, key: str) -> None:
    assert wrong(tmp_path, f"[format]\n{said}\n{FILE}{rest}").key == key


def test_a_gauntlet_in_two_pools(tmp_path: Path) -> None:
    rest = '[pool.big]\ngame = "yugo"\n[bot.c]\ncommand = "random"\n[bot.d]\ncommand = "random"\n'
    ladder = read_ladder(write(tmp_path, f'[format]\nkind = "gauntlet"\nbots = ["a"]\n{FILE}{rest}'))
    assert ladder.format.bots == ("a",)


def test_a_gauntlet_needs_a_named_bot_in_every_pool(tmp_path: Path) -> None:
    text = '[format]\nkind = "gauntlet"\nbots = ["a"]\n' + FILE + 'pools = ["big"]\n' + THIRD
    text = text.replace('"random"', '"random"\npools = ["small"]', 1) + '[bot.d]\ncommand = "random"\n'
    error = wrong(tmp_path, text + '[pool.big]\ngame = "yugo"\n')
    assert error.key == "format.bots" and "pool big" in str(error)
