"""A report as plain values, for --json; the field's counts have the names that a reader of GoGui's summary knows."""

from protocol.regression import Verdict
from referee.regress.running import FileReport, Outcome

COUNTED = {
    Verdict.PASS: "pass",
    Verdict.UNEXPECTED_PASS: "unexpected_pass",
    Verdict.EXPECTED_FAIL: "expected_fail",
    Verdict.FAIL: "unexpected_fail",
    Verdict.ERROR: "error",
}


def as_facts(reports: list[FileReport], command: str) -> dict[str, object]:
    """JSON values; seconds are rounded to microseconds."""
    return {
        "command": command,
        "files": [_file(report) for report in reports],
        "total": {name: sum(report.count(verdict) for report in reports) for verdict, name in COUNTED.items()},
    }


def _file(report: FileReport) -> dict[str, object]:
    return {
        "file": str(report.path),
        "name": report.name,
        "version": report.version,
        "tests": report.tests,
        **{name: report.count(verdict) for verdict, name in COUNTED.items()},
        "seconds": round(report.seconds, 6),
        "cpu_seconds": round(report.cpu, 6),
        "trouble": report.trouble,
        "exit": report.exit,
        "stderr": report.stderr,
        "commands": [_outcome(outcome) for outcome in report.outcomes],
    }


def _outcome(outcome: Outcome) -> dict[str, object]:
    expected, reply = outcome.step.expectation, outcome.reply
    return {
        "line": outcome.step.line,
        "command": outcome.step.command,
        "expected": None if expected is None else expected.text,
        "verdict": COUNTED.get(outcome.verdict, "none"),
        "ok": None if reply is None else reply.ok,
        "answer": None if reply is None else reply.text,
        "seconds": round(outcome.seconds, 6),
        "why": outcome.why,
    }
