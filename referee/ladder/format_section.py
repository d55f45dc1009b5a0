"""Reads `[format]` of a ladder file, and holds it against who is in a pool. It schedules nothing."""

from collections.abc import Sequence
from typing import cast

from referee.ladder.entries import Entrant, Format, Kind, Pool
from referee.ladder.keys import FORMAT, PAIRS
from referee.ladder.toml_section import ConfigError, Section, dotted, nearest, shown
from referee.ratings.sprt import PRESETS, Hypotheses, Model, SprtError


def read_format(top: Section, bots: Sequence[Entrant], pools: Sequence[Pool]) -> Format:
    """The format, which every pool must fit. Raises ConfigError."""
    section = Section(top.file, "format", top.table("format"), FORMAT)
    kind = Kind(section.text("kind"))
    for row in FORMAT:
        if row.kinds and kind not in row.kinds and section.given(row.name):
            raise section.error(row.name, f"format {kind} does not know it, only {', '.join(row.kinds)}: leave it out")
    test = _hypotheses(section)
    form = Format(
        kind=kind,
        pairs=section.whole("pairs") or PAIRS.get(kind, 0),
        rounds=section.whole("rounds") if kind is Kind.SWISS else 0,
        bots=_bots(section, kind, bots),
        share=section.number("share"),
        batch=section.whole("batch"),
        model=test.model,
        elo0=test.elo0,
        elo1=test.elo1,
        alpha=test.alpha,
        beta=test.beta,
    )
    for pool in pools:
        _check_pool(section, form, pool.name, [bot.name for bot in bots if pool.name in bot.pools])
    return form


def _bots(section: Section, kind: Kind, bots: Sequence[Entrant]) -> tuple[str, ...]:
    named = section.names("bots")
    known = [bot.name for bot in bots]
    for name in named:
        if name not in known:
            raise section.error(
                "bots", f"there is no bot {shown(name)}{nearest(name, known)}: enter it, or name another"
            )
    if kind is Kind.GAUNTLET and not named:
        raise section.error("bots", f'is missing: name who meets all others, as in bots = ["{known[0]}"]')
    if kind is Kind.TEST and not named and len(bots) == 2:
        old, new = sorted(bots, key=lambda bot: bot.parent in known)  # stable: without parents the first is new
        return (new.name, old.name) if new.parent == old.name else (old.name, new.name)
    if kind is Kind.TEST and len(named) != 2:
        raise section.error("bots", "a test is between two: name the new version, then the old one")
    return named


def _check_pool(section: Section, form: Format, pool: str, entered: Sequence[str]) -> None:
    there = [name for name in form.bots if name in entered]
    if form.kind is Kind.TEST and sorted(entered) != sorted(form.bots):
        problem = f"a test needs {' and '.join(form.bots)} in it, and nobody else: there are {len(entered)} bots"
        raise ConfigError(section.file, dotted("pool", pool), problem)
    if form.kind is Kind.GAUNTLET and not there:
        raise section.error("bots", f"none of them plays in pool {pool}: enter one there, or remove the pool")
    if form.kind is Kind.GAUNTLET and len(there) == len(entered):
        raise section.error("bots", f"nobody else plays in pool {pool}: leave out one, or enter an opponent")


def _hypotheses(section: Section) -> Hypotheses:
    model = cast("Model", section.text("model"))  # one of the row's choices
    given = [key for key in ("elo0", "elo1", "model") if section.given(key)]
    if section.given("preset") and given:
        raise section.error("preset", f"says {given[0]} already: leave out {given[0]}, or the preset")
    chosen = PRESETS[section.text("preset") or "gate"]
    elo0, elo1 = chosen.elo0, chosen.elo1
    if given:
        for key in ("elo0", "elo1"):
            if not section.given(key):
                raise section.error(key, "is missing: say elo0 and elo1, or a preset alone")
        elo0, elo1 = section.number("elo0"), section.number("elo1")
    try:
        return Hypotheses(elo0, elo1, section.number("alpha"), section.number("beta"), model)
    except SprtError as error:
        raise section.error("", str(error)) from None
