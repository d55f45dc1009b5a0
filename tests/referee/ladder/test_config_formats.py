"""`[format]` of ladder files: what is read, and the one line that is said of what cannot be."""

from pathlib import Path

import pytest

from referee.ladder.config import read_ladder
from referee.store.model import Format, FormatKind
from tests.support.ladder_files import FILE, problem, write


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
    ("said", "rest", "line"),
    [
        ('kind = "league"', "", "format.kind: 'league' is none of ladder, round-robin, gauntlet, swiss, test"),
        (
            'kind = "swis"',
            "",
            "format.kind: 'swis' is none of ladder, round-robin, gauntlet, swiss, test: did you mean",
        ),
        ("kind = 3", "", "format.kind: 3 is not one of ladder"),
        ("pairs = 3", "", "format.pairs: format ladder does not know it, only round-robin, gauntlet, swiss, test: "),
        ('kind = "swiss"\nshare = 0.2', "", "format.share: format swiss does not know it, only ladder: leave it out"),
        ('kind = "swiss"\nrounds = 0', "", "format.rounds: 0 is not a whole number from 1 to 1000"),
        ('kind = "gauntlet"', "", 'format.bots: is missing: name who meets all others, as in bots = ["a"]'),
        ('kind = "gauntlet"\nbots = []', "", "format.bots: is empty: "),
        ('kind = "gauntlet"\nbots = ["z"]', "", "format.bots: there is no bot 'z': enter it, or name another"),
        ('kind = "gauntlet"\nbots = ["a", "a"]', "", "format.bots: 'a' is named twice: once is enough"),
        ('kind = "gauntlet"\nbots = ["a", "b"]', "", "format.bots: no other bot plays in pool small: "),
        (
            'kind = "gauntlet"\nbots = ["a"]',
            '[pool.big]\ngame = "yugo"\n[bot.c]\ncommand = "random"\n[bot.d]\ncommand = "random"\n',
            "",
        ),
        ('kind = "test"', THIRD, "format.bots: a test is between two: name the new version, then the old one"),
        ('kind = "test"\nbots = ["a", "b", "c"]', THIRD, "format.bots: a test is between two"),
        ('kind = "test"\nbots = ["c", "a"]', THIRD, "pool.small: a test needs c and a in it, and no other bot: there"),
        ('kind = "test"\npreset = "gates"', "", "format.preset: 'gates' is none of gate, simplify, big: did you mean"),
        ('kind = "test"\npreset = "gate"\nelo1 = 5', "", "format.preset: says elo1 already: leave out elo1, or the"),
        ('kind = "test"\nelo0 = 5', "", "format.elo1: is missing: say elo0 and elo1, or a preset alone"),
        ('kind = "test"\nelo0 = 5\nelo1 = 5', "", "format: elo0 5 must be less than elo1 5"),
        ('kind = "test"\nelo0 = nan\nelo1 = 5', "", "format.elo0: nan is not a number from -2000 to 2000"),
        ('kind = "test"\nalpha = 0', "", "format.alpha: 0 is not a number from 1e-09 to 0.5"),
        ('kind = "test"\nalpha = 0.5\nbeta = 0.5', "", "format: alpha 0.5 and beta 0.5 must be above 0 and together"),
        ('kind = "test"\nmodel = "davidson"', "", "format.model: 'davidson' is none of normalized, logistic, bayes"),
    ],
)
def test_formats_that_cannot_be(tmp_path: Path, said: str, rest: str, line: str) -> None:
    text = f"[format]\n{said}\n{FILE}{rest}"
    if line:
        assert problem(tmp_path, text).startswith(line)
    else:
        read_ladder(write(tmp_path, text))


def test_a_gauntlet_needs_somebody_in_every_pool(tmp_path: Path) -> None:
    text = '[format]\nkind = "gauntlet"\nbots = ["a"]\n' + FILE + 'pools = ["big"]\n' + THIRD
    text = text.replace('"random"', '"random"\npools = ["small"]', 1) + '[bot.d]\ncommand = "random"\n'
    line = problem(tmp_path, text + '[pool.big]\ngame = "yugo"\n')
    assert line == "format.bots: none of them plays in pool big: enter one there, or remove the pool"
