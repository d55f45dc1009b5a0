"""The catalogue of compliance checks cites every rule, and the table of commands has each command once."""

import re

import pytest

from ggp.protocol.commands import COMMANDS, LOBBIES, PLAIN_BOT, REFEREES, TABLE, Level, Who, commands_of, required
from ggp.protocol.conformance import RULES, Demand, RuleSource, catalogue, rule_of
from tests.support import ROOT

KINDS = [(Who.ENGINE, True), (Who.BOT, True), (Who.BOT, False)]


@pytest.mark.parametrize(("who", "native"), KINDS)
def test_every_step_has_a_rule_a_remedy_and_a_number_of_its_own(who: Who, native: bool) -> None:
    steps = catalogue(who, game="toy", native=native)
    assert len({check.number for check in steps}) == len(steps)
    for check in steps:
        assert re.fullmatch(r"[2-57]\.\d+\.\d+", check.number) and check.remedy, check
        assert rule_of(check.number).number == check.rule
        assert bool(check.script) != bool(check.sent or check.how == "end of input"), check
        assert check.demand is not Demand.NATIVE or check.source is RuleSource.GGP, check
    framing = [[int(word) for word in check.number.split(".")] for check in steps if check.number[0] == "2"]
    assert framing == sorted(framing)
    assert {check.number[0] for check in steps} == set("237" if who is Who.ENGINE else "245")


def test_the_steps_about_a_game_need_one() -> None:
    def numbers(who: Who, game: str = "", native: bool = True) -> set[str]:
        return {check.number for check in catalogue(who, game=game, native=native)}

    assert numbers(Who.ENGINE, "toy") - numbers(Who.ENGINE) == {f"3.1.{number}" for number in range(1, 10)}
    assert numbers(Who.BOT, "toy") - numbers(Who.BOT) == {"4.1.1", "4.1.2", "4.1.3"}
    assert numbers(Who.BOT, "toy", native=False) == numbers(Who.BOT, native=False)
    demands = {check.demand for who, native in KINDS for check in catalogue(who, game="toy", native=native)}
    assert demands == {*Demand}


def test_no_rule_is_missing() -> None:
    """Each of 2.1 to 2.14, and every other that is cited, has checks; or says why none can be."""
    checked = {check.rule for who in (Who.ENGINE, Who.BOT) for check in catalogue(who, game="toy")}
    assert {f"2.{number}" for number in range(1, 15)} <= {rule.number for rule in RULES}
    for rule in RULES:
        assert (rule.number in checked) != bool(rule.unchecked), rule
    assert {rule.number for rule in RULES if rule.unchecked} == {f"2.{number}" for number in range(9, 15)}


def test_every_rule_is_in_the_specification() -> None:
    page = (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8")
    heads = [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in re.findall("^#+ (.*)$", page, re.M)]
    assert {rule.anchor for rule in RULES} <= {*heads}
    numbers = re.findall(r"^ ?(\d+)\. \S.*\n   ", page, re.M)
    assert {rule.number for rule in RULES if rule.number.startswith("2.")} == {f"2.{number}" for number in numbers}


# -- the table of commands


def test_the_table_has_one_row_for_each_command_and_kind_of_program() -> None:
    assert len(TABLE) == len(COMMANDS)
    assert all(row.engine or row.bot or row.referee or row.lobby for row in COMMANDS)
    assert all(row.help and not row.help.endswith(".") for row in COMMANDS)
    assert set(PLAIN_BOT) <= set(TABLE)


def test_the_required_commands_of_each_kind_of_program() -> None:
    foreign = """name version protocol_version known_command list_commands quit ggp-version ggp-games ggp-options
        ggp-new ggp-play ggp-status ggp-legal_moves ggp-history"""
    native = """name version list_commands known_command quit ggp-new play genmove"""
    assert set(required(Who.ENGINE)) == set(foreign.split())
    assert set(required(Who.BOT)) == set(native.split())
    assert TABLE["ggp-hash"].engine is Level.RECOMMENDED and TABLE["genmove"].engine is None


def test_a_referee_answers_about_matches_what_an_engine_answers_about_its_game() -> None:
    rows = {row.name: row for row in commands_of(Who.REFEREE)}
    assert len(rows) == len(commands_of(Who.REFEREE))
    assert rows["ggp-history"].arguments == "KEY" and not TABLE["ggp-history"].arguments
    assert set(REFEREES) <= set(TABLE) and set(required(Who.REFEREE)) < set(rows)
    assert {row.name for row in commands_of(Who.BOT)} >= set(required(Who.BOT))
    lobby = {row.name: row for row in commands_of(Who.LOBBY)}
    assert set(LOBBIES) <= set(TABLE) and set(required(Who.LOBBY)) < set(lobby)
    assert lobby["ggp-bots"] == LOBBIES["ggp-bots"] != rows["ggp-bots"]
