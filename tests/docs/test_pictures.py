"""The worked examples of the rules pages: what their captions claim holds on the engine, and every page shows some."""

import re

import pytest

from docs.examples import EXAMPLES, Example
from docs.pictures import position
from ggp.engines.registry import Registry
from tests.support import ROOT
from tests.support.memory_session import MemorySession

GAMES = ROOT / "docs" / "reference" / "games"
SHOWN = [example for example in EXAMPLES if example.game in Registry().names()]


@pytest.mark.parametrize("example", SHOWN, ids=lambda example: example.name)
def test_what_an_example_claims_holds(example: Example) -> None:
    state = position(Registry().load(example.game), example).state
    assert [move for move in example.legal.split() if state.why_illegal(move)] == []
    assert [move for move in example.illegal.split() if not state.why_illegal(move)] == []
    if example.standing:
        assert (state.result or state.standing()) == example.standing


@pytest.mark.parametrize("game", Registry().names())
def test_every_game_has_pictures_that_its_rules_in_text_do_not_need(game: str) -> None:
    page = (GAMES / f"{game}.md").read_text(encoding="utf-8")
    shown = re.findall(r"^!\[[^\]]+\]\((pictures/[\w-]+\.svg)\)$", page, re.MULTILINE)
    assert len(shown) >= 2 and len(set(shown)) == len(shown)
    assert all((GAMES / path).read_text(encoding="utf-8").startswith("<svg ") for path in shown)
    assert "](" not in MemorySession()(f"ggp-rules {game}")


def test_every_example_has_a_name_of_its_own() -> None:
    assert len({example.name for example in EXAMPLES}) == len(EXAMPLES)
