"""Rewrites transcripts with what was answered, for --update; comments and layout stay."""

from collections.abc import Iterator

from protocol.messages import Reply
from protocol.regression import Step, Verdict, update
from protocol.safe_files import replace_file
from referee.regress.running import FileReport
from referee.regress.suite import Transcript


def update_files(reports: list[FileReport], transcripts: list[Transcript], every: bool) -> Iterator[str]:
    """Rewrite each file whose expectations change; a line about each. `every`: also of the tests that passed.

    A test that passed unexpectedly loses its mark; one that is expected to fail keeps what it hopes for.
    Raises OSError.
    """
    for report, transcript in zip(reports, transcripts, strict=True):
        answers, passed = _changes(report, every)
        text = update(transcript.script, answers, passed)
        if text != transcript.text:
            replace_file(transcript.path, text.encode("utf-8", "surrogateescape"))
            yield f"{transcript.path}: {len(answers)} expectations rewritten, {len(passed)} marks taken away"
        if report.trouble:
            yield f"{transcript.path}: what was not answered stays as it was: {report.trouble}"


def _changes(report: FileReport, every: bool) -> tuple[dict[Step, Reply], list[Step]]:
    answers: dict[Step, Reply] = {}
    passed: list[Step] = []
    for outcome in report.outcomes:
        if outcome.reply is None:
            continue
        if outcome.bad or (every and outcome.step.is_test and outcome.verdict is Verdict.PASS):
            answers[outcome.step] = outcome.reply
        elif outcome.verdict is Verdict.UNEXPECTED_PASS:
            passed.append(outcome.step)
    return answers, passed
