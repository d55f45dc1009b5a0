"""Results of regression tests as text, JSON and JUnit XML, and as new expectations in the transcripts."""

from collections.abc import Iterator
from xml.etree import ElementTree

from rich.table import Table
from rich.text import Text

from ggp.protocol.messages import Reply
from ggp.protocol.regression import RegressionVerdict, Step, update
from ggp.protocol.safe_files import replace_file
from ggp.referee.terminal import rich_console, visible
from ggp.referee.tools import junit
from ggp.referee.tools.regress.run import CommandOutcome, FileReport, SuiteFile

_SHOWN = 400  # characters shown of an answer
# Column heads and JSON names.
_COUNTED = {
    RegressionVerdict.FAIL: ("FAIL", "unexpected_fail"),
    RegressionVerdict.EXPECTED_FAIL: ("fail", "expected_fail"),
    RegressionVerdict.UNEXPECTED_PASS: ("PASS", "unexpected_pass"),
    RegressionVerdict.PASS: ("pass", "pass"),
    RegressionVerdict.ERROR: ("error", "error"),
}


def show(reports: list[FileReport], quiet: bool) -> None:
    """Print one row per file, and each unexpected result with its place; only the latter if `quiet`."""
    console = rich_console(soft_wrap=True)
    if not quiet:
        console.print(_table(reports))
    for report in reports:
        for outcome in report.outcomes:
            if (outcome.bad or outcome.verdict is RegressionVerdict.UNEXPECTED_PASS) and not outcome.unasked:
                console.print(Text(_details(report, outcome)), style="" if outcome.bad else "green")
        if report.trouble:
            console.print(Text(_trouble(report)), style="red")
    if not quiet:
        console.print(_last_line(reports))


def _table(reports: list[FileReport]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("file", overflow="fold")
    for head in ("tests", *(head for head, _ in _COUNTED.values()), "s", "cpu s"):
        table.add_column(head, justify="right")
    for report in reports:
        table.add_row(visible(str(report.path)), *_cells([report]), style="red" if report.bad else "")
    if len(reports) > 1:
        table.add_row("total", *_cells(reports), style="bold")
    return table


def _cells(reports: list[FileReport]) -> list[str]:
    return [
        str(sum(report.tests for report in reports)),
        *(str(_count(reports, verdict) or "·") for verdict in _COUNTED),
        f"{sum(report.seconds for report in reports):.2f}",
        f"{sum(report.cpu for report in reports):.2f}",
    ]


def _count(reports: list[FileReport], verdict: RegressionVerdict) -> int:
    return sum(report.count(verdict) for report in reports)


def _details(report: FileReport, outcome: CommandOutcome) -> str:
    kinds = {RegressionVerdict.FAIL: "unexpected FAIL", RegressionVerdict.UNEXPECTED_PASS: "unexpected PASS"}
    kind, milliseconds, got = kinds.get(outcome.verdict, "refused"), outcome.seconds * 1000, outcome.got
    shown = got if len(got) <= _SHOWN else f"{got[:_SHOWN]}… ({len(got)} characters)"
    lines = [
        f"{report.path}:{outcome.step.line}: {kind}: {outcome.step.command} ({milliseconds:.1f} ms)",
        f"  expected {_expected(outcome)}",
        "  got      " + shown.replace("\n", "\n           "),
        *([f"  {outcome.why}"] if outcome.why and outcome.reply is not None else []),
    ]
    return visible("\n".join(lines))


def _expected(outcome: CommandOutcome) -> str:
    """Return the expected answer as the transcript has it."""
    expected = outcome.step.expectation
    return "any answer but a refusal" if expected is None or expected.text is None else f"[{expected.text}]"


def _trouble(report: FileReport) -> str:
    unasked = sum(outcome.unasked for outcome in report.outcomes)
    lines = [f"{report.path}: {report.trouble}" + (f"; {report.exit}" if report.exit else "")]
    if unasked:
        lines.append(f"  {unasked} commands were not sent")
    lines += [f"  stderr: {line}" for line in report.stderr.splitlines()[-10:]]
    return visible("\n".join(lines))


def _last_line(reports: list[FileReport]) -> str:
    surprises, errors = (
        _count(reports, verdict) for verdict in (RegressionVerdict.UNEXPECTED_PASS, RegressionVerdict.ERROR)
    )
    passes, tests = _count(reports, RegressionVerdict.PASS) + surprises, sum(report.tests for report in reports)
    return (
        f"{passes}/{tests} passes, {surprises} unexpected passes, "
        f"{_count(reports, RegressionVerdict.FAIL)} unexpected failures"
        + (f", {errors} refused commands" if errors else "")
    )


def as_facts(reports: list[FileReport], command: str) -> dict[str, object]:
    """Return the results as JSON values. Seconds are rounded to microseconds."""
    return {
        "command": command,
        "files": [_file(report) for report in reports],
        "total": {name: _count(reports, verdict) for verdict, (_, name) in _COUNTED.items()},
    }


def _file(report: FileReport) -> dict[str, object]:
    return {
        "file": str(report.path),
        "name": report.name,
        "version": report.version,
        "tests": report.tests,
        **{name: report.count(verdict) for verdict, (_, name) in _COUNTED.items()},
        "seconds": round(report.seconds, 6),
        "cpu_seconds": round(report.cpu, 6),
        "trouble": report.trouble,
        "exit": report.exit,
        "stderr": report.stderr,
        "commands": [_outcome(outcome) for outcome in report.outcomes],
    }


def _outcome(outcome: CommandOutcome) -> dict[str, object]:
    expected, reply = outcome.step.expectation, outcome.reply
    return {
        "line": outcome.step.line,
        "command": outcome.step.command,
        "expected": None if expected is None else expected.text,
        "verdict": _COUNTED.get(outcome.verdict, ("", "none"))[1],
        "ok": None if reply is None else reply.ok,
        "answer": None if reply is None else reply.text,
        "seconds": round(outcome.seconds, 6),
        "why": outcome.why,
    }


def junit_xml(reports: list[FileReport]) -> bytes:
    """Return JUnit XML with a suite per file and a case per test. An expected failure counts as skipped."""
    suites = ElementTree.Element("testsuites", name="ggp regress")
    for report in reports:
        path = str(report.path)
        cases = [_case(path, outcome) for outcome in report.outcomes if outcome.step.is_test or outcome.bad]
        if report.trouble:
            text = f"{report.exit}\n{report.stderr}".strip()
            cases.append(junit.Case("the program", path, "error", report.trouble, text))
        suites.append(junit.suite(path, cases, time=f"{report.seconds:.6f}"))
    return junit.written(suites)


def _case(path: str, outcome: CommandOutcome) -> junit.Case:
    more = ("file", path), ("line", str(outcome.step.line)), ("time", f"{outcome.seconds:.6f}")
    case = junit.Case(outcome.step.command, path, more=more)
    said = f"expected {_expected(outcome)}, got: {outcome.got}"
    if outcome.bad:
        kind = "failure" if outcome.verdict is RegressionVerdict.FAIL else "error"
        return case._replace(kind=kind, message=said.split("\n")[0], text=said)
    if outcome.verdict is RegressionVerdict.EXPECTED_FAIL:
        return case._replace(kind="skipped", message=f"expected to fail: {said}".split("\n")[0])
    return case._replace(text=f"{outcome.verdict}: {outcome.got}")


# -- New expectations, for --update.


def update_files(reports: list[FileReport], transcripts: list[SuiteFile], every: bool) -> Iterator[str]:
    """Rewrite each file whose expectations change, and yield a line about it. Comments and layout are kept.

    A test that passed unexpectedly loses its mark; one that is expected to fail keeps its expectation.

    Args:
        reports: The results.
        transcripts: The transcripts, in the same order.
        every: Rewrite the expectations of tests that passed, too.

    Raises:
        OSError: A file cannot be written.
    """
    for report, transcript in zip(reports, transcripts, strict=True):
        answers, passed = _changes(report, every)
        text = update(transcript.script, answers, passed)
        if text != transcript.text:
            replace_file(transcript.path, text.encode("utf-8", "surrogateescape"))
            yield f"{transcript.path}: {len(answers)} expectations rewritten, {len(passed)} marks removed"
        if report.trouble:
            yield f"{transcript.path}: commands without an answer keep their expectations: {report.trouble}"


def _changes(report: FileReport, every: bool) -> tuple[dict[Step, Reply], list[Step]]:
    answers: dict[Step, Reply] = {}
    passed: list[Step] = []
    for outcome in report.outcomes:
        if outcome.reply is None:
            continue
        if outcome.bad or (every and outcome.step.is_test and outcome.verdict is RegressionVerdict.PASS):
            answers[outcome.step] = outcome.reply
        elif outcome.verdict is RegressionVerdict.UNEXPECTED_PASS:
            passed.append(outcome.step)
    return answers, passed
