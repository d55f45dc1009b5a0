"""Print the results of `ggp regress`: one row per file, then each unexpected result and its place."""

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from rich.table import Table
from rich.text import Text

from ggp.protocol.printed import INVISIBLE
from ggp.protocol.regression import RegressionVerdict
from ggp.protocol.safe_files import replace_file
from ggp.referee.terminal import rich_console, visible
from ggp.referee.tools.regress.run import CommandOutcome, FileReport, file_names

_WIDE = 1000  # columns
_SHOWN = 400  # characters of an answer
HEADS = {
    RegressionVerdict.FAIL: "FAIL",
    RegressionVerdict.EXPECTED_FAIL: "fail",
    RegressionVerdict.UNEXPECTED_PASS: "PASS",
    RegressionVerdict.PASS: "pass",
    RegressionVerdict.ERROR: "error",
}


def show(reports: list[FileReport], quiet: bool) -> None:
    """On stdout. `quiet`: the unexpected results alone, and no word if there are none."""
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


def expected_text(outcome: CommandOutcome) -> str:
    """Return the answer that the transcript expects, as it is written there."""
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
        table.add_row(visible(str(report.path)), *_cells([report]), style="red" if report.bad else "")
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


def _details(report: FileReport, outcome: CommandOutcome) -> str:
    what = {RegressionVerdict.FAIL: "unexpected FAIL", RegressionVerdict.UNEXPECTED_PASS: "unexpected PASS"}.get(
        outcome.verdict, "refused"
    )
    lines = [
        f"{report.path}:{outcome.step.line}: {what}: {outcome.step.command} ({outcome.seconds * 1000:.1f} ms)",
        f"  expected {expected_text(outcome)}",
        f"  got      {_cut(outcome.got)}",
    ]
    if outcome.why and outcome.reply is not None:
        lines.append(f"  {outcome.why}")
    return visible("\n".join(lines))


def _trouble(report: FileReport) -> str:
    unasked = sum(outcome.unasked for outcome in report.outcomes)
    lines = [f"{report.path}: {report.trouble}" + (f"; {report.exit}" if report.exit else "")]
    if unasked:
        lines.append(f"  {unasked} commands were not asked")
    lines += [f"  stderr: {line}" for line in report.stderr.splitlines()[-10:]]
    return visible("\n".join(lines))


def _last_line(reports: Iterable[FileReport]) -> str:
    reports = list(reports)
    counts = {verdict: sum(report.count(verdict) for report in reports) for verdict in HEADS}
    tests = sum(report.tests for report in reports)
    passes = counts[RegressionVerdict.PASS] + counts[RegressionVerdict.UNEXPECTED_PASS]
    errors = f", {counts[RegressionVerdict.ERROR]} refused commands" if counts[RegressionVerdict.ERROR] else ""
    return (
        f"{passes}/{tests} passes, {counts[RegressionVerdict.UNEXPECTED_PASS]} unexpected passes, "
        f"{counts[RegressionVerdict.FAIL]} unexpected failures{errors}"
    )


def _cut(text: str) -> str:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
    return shown.replace("\n", "\n           ")


# -- A static summary to read, as gogui-regress writes one: an index with a row a file, a page a file wit


_SHOWN_HTML = 20_000  # characters of an answer
_WORDS = {
    RegressionVerdict.FAIL: "unexpected failure",
    RegressionVerdict.EXPECTED_FAIL: "expected failure",
    RegressionVerdict.UNEXPECTED_PASS: "unexpected pass",
    RegressionVerdict.PASS: "pass",
    RegressionVerdict.ERROR: "refused",
    RegressionVerdict.NONE: "",
}


def write_pages(folder: Path, reports: list[FileReport], command: str) -> None:
    """index.html and a page a file, in `folder`, which is made. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{name}.html" if name != "index" else "index_.html" for name in file_names(r.path for r in reports)]
    replace_file(folder / "index.html", _index(reports, names, command).encode())
    for report, name in zip(reports, names, strict=True):
        replace_file(folder / name, _file_page(report, command).encode())


def _index(reports: list[FileReport], names: list[str], command: str) -> str:
    from ggp.referee.server.web.pages import render  # Jinja2

    heads = [("file", "w"), ("tests",), *((HEADS[verdict], "", _WORDS[verdict]) for verdict in HEADS)]
    heads += [("s", "", "seconds of the clock"), ("cpu s", "", "seconds of the processor")]
    rows = [(str(report.path), name, _counts([report])) for report, name in zip(reports, names, strict=True)]
    if len(reports) > 1:
        rows.append(("total", "", _counts(reports)))
    return render("regress.html", command=command, programs=_programs(reports), heads=heads, rows=rows)


def _programs(reports: list[FileReport]) -> str:
    return ", ".join(dict.fromkeys(f"{report.name} {report.version}".strip() for report in reports))


def _counts(reports: list[FileReport]) -> list[tuple[str, bool]]:
    """The numbers of a row, and whether each is bad."""
    kinds = [None, *HEADS, None, None]
    return [
        (cell.strip("·"), cell != "·" and kind in (RegressionVerdict.FAIL, RegressionVerdict.ERROR))
        for cell, kind in zip(_cells(reports), kinds, strict=True)
    ]


def _file_page(report: FileReport, command: str) -> str:
    from ggp.referee.server.web.pages import render  # Jinja2

    return render(
        "regress_file.html",
        report=report,
        command=command,
        programs=_programs([report]),
        words=_WORDS,
        expected_text=expected_text,
        shown=_shown_html,
    )


def _shown_html(text: str) -> str:
    return text if len(text) <= _SHOWN_HTML else f"{text[:_SHOWN_HTML]}… ({len(text)} characters)"


# -- The report as JUnit's XML, which every build server reads: a suite a file, a case a test.


# "Char ::= #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]" (XML 1.0, 2.2)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(reports: list[FileReport]) -> bytes:
    """UTF-8. An expected failure counts as skipped, an unexpected pass as passed."""
    suites = ElementTree.Element("testsuites", name="ggp regress")
    for report in reports:
        suites.append(_suite(report))
    text: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return text


def _suite(report: FileReport) -> ElementTree.Element:
    cases = [outcome for outcome in report.outcomes if outcome.step.is_test or outcome.bad]
    suite = ElementTree.Element(
        "testsuite",
        name=_valid(str(report.path)),
        tests=str(len(cases) + bool(report.trouble)),
        failures=str(report.count(RegressionVerdict.FAIL)),
        errors=str(report.count(RegressionVerdict.ERROR) + bool(report.trouble)),
        skipped=str(report.count(RegressionVerdict.EXPECTED_FAIL)),
        time=f"{report.seconds:.6f}",
    )
    for outcome in cases:
        suite.append(_case(report, outcome))
    if report.trouble:
        case = ElementTree.SubElement(suite, "testcase", name="the program", classname=_valid(str(report.path)))
        error = ElementTree.SubElement(case, "error", message=_valid(report.trouble))
        error.text = _valid(f"{report.exit}\n{report.stderr}".strip())
    return suite


def _case(report: FileReport, outcome: CommandOutcome) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        name=_valid(outcome.step.command),
        classname=_valid(str(report.path)),
        file=_valid(str(report.path)),
        line=str(outcome.step.line),
        time=f"{outcome.seconds:.6f}",
    )
    said = f"expected {expected_text(outcome)}, got: {outcome.got}"
    if outcome.bad:
        kind = "failure" if outcome.verdict is RegressionVerdict.FAIL else "error"
        ElementTree.SubElement(case, kind, message=_valid(said.split("\n")[0])).text = _valid(said)
    elif outcome.verdict is RegressionVerdict.EXPECTED_FAIL:
        ElementTree.SubElement(case, "skipped", message=_valid(f"expected to fail: {said}".split("\n")[0]))
    else:
        ElementTree.SubElement(case, "system-out").text = _valid(f"{outcome.verdict}: {outcome.got}")
    return case


def _valid(text: str) -> str:
    return INVISIBLE.sub("\ufffd", _FORBIDDEN.sub("\ufffd", text))
