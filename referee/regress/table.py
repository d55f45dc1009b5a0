"""What `ggp regress` prints: a row a file, then every unexpected result with its place. It judges nothing."""

from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from protocol.regression import Verdict
from referee.regress.running import FileReport, Outcome

_WIDE = 1000  # columns
_SHOWN = 400  # characters of an answer
HEADS = {
    Verdict.FAIL: "FAIL",
    Verdict.EXPECTED_FAIL: "fail",
    Verdict.UNEXPECTED_PASS: "PASS",
    Verdict.PASS: "pass",
    Verdict.ERROR: "error",
}


def show(reports: list[FileReport], quiet: bool) -> None:
    """On stdout. `quiet`: the unexpected results alone, and no word if there are none."""
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = _WIDE  # whoever reads it from a pipe wants each row whole
    if not quiet:
        console.print(_table(reports))
    for report in reports:
        for outcome in report.outcomes:
            if (outcome.bad or outcome.verdict is Verdict.UNEXPECTED_PASS) and not outcome.unasked:
                console.print(Text(_details(report, outcome)), style="" if outcome.bad else "green")
        if report.trouble:
            console.print(Text(_trouble(report)), style="red")
    if not quiet:
        console.print(escape(_last_line(reports)))


def expected_text(outcome: Outcome) -> str:
    """What the transcript wants, in its words."""
    expected = outcome.step.expectation
    if expected is None or expected.text is None:
        return "any answer but a refusal"
    return f"[{expected.text}]"


def _table(reports: list[FileReport]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("file", overflow="fold")
    for head in ("tests", *HEADS.values(), "s", "cpu s"):
        table.add_column(head, justify="right")
    for report in reports:
        table.add_row(_plain(str(report.path)), *_cells([report]), style="red" if report.bad else "")
    if len(reports) > 1:
        table.add_row("total", *_cells(reports), style="bold")
    return table


def _cells(reports: list[FileReport]) -> list[str]:
    counts = [sum(report.count(verdict) for report in reports) for verdict in HEADS]
    return [
        str(sum(report.tests for report in reports)),
        *(str(count) if count else "·" for count in counts),
        f"{sum(report.seconds for report in reports):.2f}",
        f"{sum(report.cpu for report in reports):.2f}",
    ]


def _details(report: FileReport, outcome: Outcome) -> str:
    what = {Verdict.FAIL: "unexpected FAIL", Verdict.UNEXPECTED_PASS: "unexpected PASS"}.get(outcome.verdict, "refused")
    lines = [
        f"{report.path}:{outcome.step.line}: {what}: {outcome.step.command} ({outcome.seconds * 1000:.1f} ms)",
        f"  expected {expected_text(outcome)}",
        f"  got      {_cut(outcome.got)}",
    ]
    if outcome.why and outcome.reply is not None:
        lines.append(f"  {outcome.why}")
    return _plain("\n".join(lines))


def _trouble(report: FileReport) -> str:
    unasked = sum(outcome.unasked for outcome in report.outcomes)
    lines = [f"{report.path}: {report.trouble}" + (f"; {report.exit}" if report.exit else "")]
    if unasked:
        lines.append(f"  {unasked} commands were not asked")
    lines += [f"  stderr: {line}" for line in report.stderr.splitlines()[-10:]]
    return _plain("\n".join(lines))


def _last_line(reports: Iterable[FileReport]) -> str:
    reports = list(reports)
    counts = {verdict: sum(report.count(verdict) for report in reports) for verdict in HEADS}
    tests = sum(report.tests for report in reports)
    passes = counts[Verdict.PASS] + counts[Verdict.UNEXPECTED_PASS]
    errors = f", {counts[Verdict.ERROR]} refused commands" if counts[Verdict.ERROR] else ""
    return (
        f"{passes}/{tests} passes, {counts[Verdict.UNEXPECTED_PASS]} unexpected passes, "
        f"{counts[Verdict.FAIL]} unexpected failures{errors}"
    )


def _cut(text: str) -> str:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
    return shown.replace("\n", "\n           ")


def _plain(text: str) -> str:
    """What a program wrote may not steer the terminal."""
    return "".join(char if char.isprintable() or char == "\n" else f"\\x{ord(char):02x}" for char in text)
