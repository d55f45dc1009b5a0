"""What a check found, for people, programs and build servers. It judges nothing."""

import json
from collections.abc import Callable
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from protocol.conformance import Demand, Source, Verdict, rule_of
from referee.check.trial import Found

PAGE = "docs/reference/protocol.md"
_CLIP = 240  # bytes shown of one side of an exchange
_HEADS = {"2": "Framing", "3": "Engine commands", "4": "Bot commands", "5": "Clocks", "7": "ZeroMQ"}
_MARKS = {
    Verdict.PASS: ("ok", "green"),
    Verdict.FAIL: ("FAIL", "bold red"),
    Verdict.NOT_TRIED: ("?", "yellow"),
    Verdict.NOT_APPLICABLE: ("-", "dim"),
}
_MISSED = (Verdict.FAIL, Verdict.NOT_TRIED)
_FAILURES = (Demand.REQUIRED, Demand.FORFEIT)  # what is a failure for a build server


def usable(found: list[Found]) -> bool:
    """Whether the referee can use the program: no required step failed, and none was left untried."""
    return not any(one.verdict in _MISSED and one.check.demand is Demand.REQUIRED for one in found)


def loses_games(found: list[Found]) -> bool:
    """Whether a step failed that loses the game in which that happens."""
    return any(one.verdict is Verdict.FAIL and one.check.demand is Demand.FORFEIT for one in found)


def count(found: list[Found], source: Source) -> tuple[int, int]:
    """How many of the steps that apply passed, of those that are the draft's or ours."""
    judged = [one for one in found if one.check.source is source and one.verdict is not Verdict.NOT_APPLICABLE]
    return sum(one.verdict is Verdict.PASS for one in judged), len(judged)


def summary(found: list[Found]) -> list[str]:
    """The verdict."""
    gtp, ggp = count(found, Source.GTP), count(found, Source.GGP)
    answer = "no" if not usable(found) else "yes, but it loses games" if loses_games(found) else "yes"
    return [
        f"usable by the referee: {answer}",
        f"GTP 2: {gtp[0]} of {gtp[1]}",
        f"native GGP: {ggp[0]} of {ggp[1]}",
        *(
            ["no game was played: name one with --game, and an engine that knows it with --judge"]
            if any(one.check.number == "4.1.4" and one.verdict is Verdict.NOT_APPLICABLE for one in found)
            else ()
        ),
    ]


def to_change(found: list[Found]) -> list[str]:
    """The last lines: what was not tried and why, then the failures with what to change, the most needed first."""
    failures = [one for one in found if one.verdict is Verdict.FAIL]
    lines = []
    for cause, steps in _grouped(found, Verdict.NOT_TRIED, lambda one: one.note).items():
        others = len(steps) + len(failures) == len(found) > 1
        lines.append(f"not tried: {cause}: {'all other steps' if others else _numbers(steps)}")
    if failures:
        lines.append(f"failed: {len(failures)} {'step' if len(failures) == 1 else 'steps'}; what to change:")
    for demand in Demand:
        steps = [one for one in failures if one.check.demand is demand]
        for remedy, same in _grouped(steps, Verdict.FAIL, lambda one: one.remedy).items():
            lines.append(f"  {_numbers(same)} [{demand}]: {remedy}")
    return lines


def print_report(found: list[Found], quiet: bool, everything: bool) -> None:
    """On stdout, in colours where they are wanted; `everything`: the steps that passed or do not apply, too."""
    from rich.console import Console  # only who is read by people waits for it
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    shown = [one for one in found if everything or one.verdict is Verdict.FAIL]
    for section, group in groupby([] if quiet else shown, key=lambda one: one.check.number.partition(".")[0]):
        console.print(Text(f"{section}. {_HEADS[section]}", style="bold"))
        for one in group:
            mark, style = _MARKS[one.verdict]
            demand = f" [{one.check.demand}]" if one.verdict is Verdict.FAIL else ""
            note = f" ({_note(one)})" if one.note and one.verdict is not Verdict.FAIL else ""
            console.print(
                Text.assemble((f"  {mark:4} ", style), f"{one.check.number:7}{one.check.title}{demand}{note}")
            )
            if one.verdict is Verdict.FAIL:
                for line in details(one):
                    console.print(Text(f"         {line}"))
    for line in summary(found):
        console.print(Text(line, style="bold"))
    for line in to_change(found):
        console.print(Text(line))


def _note(one: Found) -> str:
    return f"not tried: {one.note}" if one.verdict is Verdict.NOT_TRIED else one.note


def _grouped(found: list[Found], verdict: Verdict, key: Callable[[Found], str]) -> dict[str, list[Found]]:
    """The steps with that verdict by what they have in common, in order."""
    groups: dict[str, list[Found]] = {}
    for one in found:
        if one.verdict is verdict:
            groups.setdefault(key(one), []).append(one)
    return groups


def _numbers(found: list[Found]) -> str:
    return " ".join(one.check.number for one in found)


def details(one: Found) -> list[str]:
    """What was sent, came back and was expected, where it is written, and what to change."""
    rule = rule_of(one.check.number)
    return [
        f"sent      {shown(one.sent)}",
        f"got       {shown(one.got)}",
        f"expected  {one.expected}",
        *([f"where     {one.note}"] if one.note else []),
        f"rule      {rule.number} ({one.check.source}): {rule.text}; {PAGE}#{rule.anchor}",
        *([f"change    {one.remedy}"] if one.remedy else []),
    ]


def shown(data: bytes) -> str:
    """Bytes as a line of text: escapes, clipped in the middle."""
    if not data:
        return "(nothing)"
    if len(data) > _CLIP:
        left = len(data) - _CLIP
        return f"{_escaped(data[: _CLIP // 2])} … {left} bytes … {_escaped(data[-_CLIP // 2 :])}"
    return _escaped(data)


def as_json(program: str, who: str, found: list[Found]) -> str:
    """One object; bytes as text with escapes."""
    gtp, ggp = count(found, Source.GTP), count(found, Source.GGP)
    return json.dumps(
        {
            "program": program,
            "as": who,
            "usable": usable(found),
            "loses_games": loses_games(found),
            "gtp": {"passed": gtp[0], "of": gtp[1]},
            "ggp": {"passed": ggp[0], "of": ggp[1]},
            "steps": [_row(one) for one in found],
        },
        indent=1,
    )


def as_junit(program: str, found: list[Found]) -> str:
    """JUnit XML, as build servers read it: a failed step that is required or loses games is a failure, any other that
    did not pass is skipped."""
    rows = []
    for one in found:
        name = quoteattr(f"{one.check.number} {one.check.title}")
        group = quoteattr(f"{program}.{one.check.number.partition('.')[0]}")
        text = escape("\n".join(details(one)))
        if one.verdict is Verdict.PASS:
            inside = ""
        elif one.verdict is Verdict.FAIL and one.check.demand in _FAILURES:
            inside = f"<failure message={quoteattr(one.expected)}>{text}</failure>"
        elif one.verdict is Verdict.FAIL:
            inside = (
                f"<skipped message={quoteattr(f'{one.check.demand}: {one.expected}')}/><system-out>{text}</system-out>"
            )
        else:
            inside = f"<skipped message={quoteattr(_note(one))}/>"
        rows.append(f"  <testcase classname={group} name={name}>{inside}</testcase>")
    failures = sum(one.verdict is Verdict.FAIL and one.check.demand in _FAILURES for one in found)
    head = f'<testsuite name={quoteattr(f"ggp check {program}")} tests="{len(found)}" failures="{failures}">'
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *rows, "</testsuite>", ""])


def _row(one: Found) -> dict[str, str]:
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
        "link": f"{PAGE}#{rule.anchor}",
        "remedy": one.remedy,
    }


def _escaped(data: bytes) -> str:
    return repr(data)[2:-1].replace("\\'", "'")
