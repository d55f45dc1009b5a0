"""Reports of a check: text for people, JSON for programs, JUnit XML for build servers."""

import json
from collections.abc import Callable, Iterator
from itertools import groupby

from ggp.protocol.conformance import CheckVerdict, Demand, RuleSource, rule_of
from ggp.protocol.printed import counted
from ggp.referee.terminal import rich_console
from ggp.referee.tools import junit
from ggp.referee.tools.check.trial import StepResult

_PAGE = "docs/reference/protocol.md"
_CLIP = 240  # bytes shown of one side of an exchange
_HEADS = {"2": "Framing", "3": "Engine commands", "4": "Bot commands", "5": "Clocks", "7": "ZeroMQ"}
_MARKS = {
    CheckVerdict.PASS: ("ok", "green"),
    CheckVerdict.FAIL: ("FAIL", "bold red"),
    CheckVerdict.NOT_TRIED: ("?", "yellow"),
    CheckVerdict.NOT_APPLICABLE: ("-", "dim"),
}
_FAILURES = (Demand.REQUIRED, Demand.FORFEIT)  # failures for a build server


def usable(found: list[StepResult]) -> bool:
    """Return True if the referee can use the program: every required step was tried and passed."""
    missed = (CheckVerdict.FAIL, CheckVerdict.NOT_TRIED)
    return not any(one.verdict in missed and one.check.demand is Demand.REQUIRED for one in found)


def loses_games(found: list[StepResult]) -> bool:
    """Return True if a failed step would forfeit the game in which it happens."""
    return any(one.check.demand is Demand.FORFEIT for one in _failed(found))


def _failed(found: list[StepResult]) -> list[StepResult]:
    return [one for one in found if one.verdict is CheckVerdict.FAIL]


def _count(found: list[StepResult], source: RuleSource) -> tuple[int, int]:
    """Return how many steps of this source passed, and how many apply."""
    judged = [one for one in found if one.check.source is source and one.verdict is not CheckVerdict.NOT_APPLICABLE]
    return sum(one.verdict is CheckVerdict.PASS for one in judged), len(judged)


# -- Text.


def print_report(found: list[StepResult], quiet: bool, everything: bool) -> None:
    """Print the report. With `everything`, include steps that passed or do not apply."""
    from rich.text import Text  # imported for output to people only

    console = rich_console(soft_wrap=True)
    shown = [one for one in found if everything or one.verdict is CheckVerdict.FAIL]
    for section, group in groupby([] if quiet else shown, key=lambda one: one.check.number.partition(".")[0]):
        console.print(Text(f"{section}. {_HEADS[section]}", style="bold"))
        for one in group:
            failed = one.verdict is CheckVerdict.FAIL
            mark, style = _MARKS[one.verdict]
            note = f" [{one.check.demand}]" if failed else f" ({_note(one)})" if one.note else ""
            console.print(Text.assemble((f"  {mark:4} ", style), f"{one.check.number:7}{one.check.title}{note}"))
            for line in _details(one) if failed else ():
                console.print(Text(f"         {line}"))
    for line in _summary(found):
        console.print(Text(line, style="bold"))
    for line in to_change(found):
        console.print(Text(line))


def _summary(found: list[StepResult]) -> Iterator[str]:
    gtp, ggp = _count(found, RuleSource.GTP), _count(found, RuleSource.GGP)
    answer = "no" if not usable(found) else "yes, but it loses games" if loses_games(found) else "yes"
    yield f"usable by the referee: {answer}"
    yield f"GTP 2: {gtp[0]} of {gtp[1]}"
    yield f"native GGP: {ggp[0]} of {ggp[1]}"
    if any(one.check.number == "4.1.4" and one.verdict is CheckVerdict.NOT_APPLICABLE for one in found):
        yield "no game was played: name one with --game, and an engine that knows it with --judge"


def to_change(found: list[StepResult]) -> list[str]:
    """Return the last lines: steps not tried and why, then what to change for failures, required ones first."""
    failures, untried = _failed(found), [one for one in found if one.verdict is CheckVerdict.NOT_TRIED]
    lines = []
    for cause, steps in _grouped(untried, lambda one: one.note).items():
        others = len(steps) + len(failures) == len(found) > 1
        lines.append(f"not tried: {cause}: {'all other steps' if others else _numbered(steps)}")
    if failures:
        lines.append(f"failed: {counted(len(failures), 'step')}; what to change:")
    for demand in Demand:
        same_demand = [one for one in failures if one.check.demand is demand]
        for remedy, steps in _grouped(same_demand, lambda one: one.remedy).items():
            lines.append(f"  {_numbered(steps)} [{demand}]: {remedy}")
    return lines


def _grouped(steps: list[StepResult], key: Callable[[StepResult], str]) -> dict[str, list[StepResult]]:
    groups: dict[str, list[StepResult]] = {}
    for one in steps:
        groups.setdefault(key(one), []).append(one)
    return groups


def _numbered(steps: list[StepResult]) -> str:
    return " ".join(one.check.number for one in steps)


def _note(one: StepResult) -> str:
    return f"not tried: {one.note}" if one.verdict is CheckVerdict.NOT_TRIED else one.note


def _details(one: StepResult) -> list[str]:
    """Return the bytes sent and received, what was expected, the rule, and the remedy."""
    rule = rule_of(one.check.number)
    return [
        f"sent      {shown(one.sent)}",
        f"got       {shown(one.got)}",
        f"expected  {one.expected}",
        *([f"where     {one.note}"] if one.note else []),
        f"rule      {rule.number} ({one.check.source}): {rule.text}; {_PAGE}#{rule.anchor}",
        *([f"change    {one.remedy}"] if one.remedy else []),
    ]


def shown(data: bytes) -> str:
    """Return bytes as a line of text: escaped, and shortened in the middle."""
    if len(data) > _CLIP:
        half = _CLIP // 2
        return f"{_escaped(data[:half])} … {len(data) - _CLIP} bytes … {_escaped(data[-half:])}"
    return _escaped(data) or "(nothing)"


def _escaped(data: bytes) -> str:
    return repr(data)[2:-1].replace("\\'", "'")


# -- JSON and JUnit XML.


def as_json(program: str, who: str, found: list[StepResult], inside_alone: list[str] | None = None) -> str:
    """Return a JSON object; bytes are text with escapes."""
    gtp, ggp = _count(found, RuleSource.GTP), _count(found, RuleSource.GGP)
    facts = {
        "program": program,
        "as": who,
        "usable": usable(found),
        "loses_games": loses_games(found),
        "gtp": {"passed": gtp[0], "of": gtp[1]},
        "ggp": {"passed": ggp[0], "of": ggp[1]},
        **({} if inside_alone is None else {"inside_alone": inside_alone}),
        "steps": [_row(one) for one in found],
    }
    return json.dumps(facts, indent=1)


def _row(one: StepResult) -> dict[str, str]:
    rule = rule_of(one.check.number)
    return {
        "number": one.check.number,
        "title": one.check.title,
        "demand": one.check.demand,
        "source": one.check.source,
        "verdict": one.verdict,
        "sent": _escaped(one.sent[:4096]),
        "got": _escaped(one.got[:4096]),
        "expected": one.expected,
        "note": one.note,
        "rule": rule.text,
        "link": f"{_PAGE}#{rule.anchor}",
        "remedy": one.remedy,
    }


def as_junit(program: str, found: list[StepResult]) -> bytes:
    """Return JUnit XML. A failed step that is required or loses games is a failure, any other is skipped."""
    return junit.written(junit.suite(f"ggp check {program}", [_case(program, one) for one in found]))


def _case(program: str, one: StepResult) -> junit.Case:
    case = junit.Case(f"{one.check.number} {one.check.title}", f"{program}.{one.check.number.partition('.')[0]}")
    if one.verdict is CheckVerdict.PASS:
        return case
    if one.verdict is not CheckVerdict.FAIL:
        return case._replace(kind="skipped", message=_note(one))
    text = "\n".join(_details(one))
    if one.check.demand in _FAILURES:
        return case._replace(kind="failure", message=one.expected, text=text)
    return case._replace(kind="skipped", message=f"{one.check.demand}: {one.expected}", text=text)
