"""A static summary to read, as gogui-regress writes one: an index with a row a file, a page a file with every answer.

Every page stands alone: nothing is loaded, nothing runs, and what a program answered is never markup.
"""

from collections.abc import Sequence
from pathlib import Path

from protocol.regression import Verdict
from protocol.safe_files import replace_file
from referee.ladder.report.markup import Content, Head, Markup, el, joined, table
from referee.ladder.report.page import facts_list, page
from referee.regress.running import FileReport, Outcome
from referee.regress.several import file_names
from referee.regress.table import HEADS, expected_text

_SHOWN = 20_000  # characters of an answer
_WORDS = {
    Verdict.FAIL: "unexpected failure",
    Verdict.EXPECTED_FAIL: "expected failure",
    Verdict.UNEXPECTED_PASS: "unexpected pass",
    Verdict.PASS: "pass",
    Verdict.ERROR: "refused",
    Verdict.NONE: "",
}


def write_pages(folder: Path, reports: list[FileReport], command: str) -> None:
    """index.html and a page a file, in `folder`, which is made. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{name}.html" if name != "index" else "index_.html" for name in file_names(r.path for r in reports)]
    replace_file(folder / "index.html", _index(reports, names, command).encode())
    for report, name in zip(reports, names, strict=True):
        replace_file(folder / name, _file_page(report, command).encode())


def _index(reports: list[FileReport], names: list[str], command: str) -> str:
    heads = [Head("file", words=True), Head("tests"), *(Head(HEADS[v], title=_WORDS[v]) for v in HEADS)]
    heads += [Head("s", title="seconds of the clock"), Head("cpu s", title="seconds of the processor")]
    rows: list[Sequence[Content]] = [
        [el("a", str(report.path), href=name), *_counts([report])] for report, name in zip(reports, names, strict=True)
    ]
    if len(reports) > 1:
        rows.append(["total", *_counts(reports)])
    about = facts_list([("command", command), ("program", _programs(reports))])
    return page("Regression tests", [el("h1", "Regression tests"), about, table("A row a file.", heads, rows)])


def _programs(reports: list[FileReport]) -> str:
    return ", ".join(dict.fromkeys(f"{report.name} {report.version}".strip() for report in reports))


def _counts(reports: list[FileReport]) -> list[Content]:
    cells: list[Content] = [sum(report.tests for report in reports)]
    for verdict in HEADS:
        count = sum(report.count(verdict) for report in reports)
        bad = count and verdict in (Verdict.FAIL, Verdict.ERROR)
        cells.append(el("strong", count, class_="bad") if bad else count or "")
    cells += [f"{sum(report.seconds for report in reports):.2f}", f"{sum(report.cpu for report in reports):.2f}"]
    return cells


def _file_page(report: FileReport, command: str) -> str:
    heads = [Head("line"), Head("command", words=True), Head("answer", words=True), Head("expected", words=True)]
    heads += [Head("", words=True), Head("ms")]
    about = facts_list(
        [
            ("command", command),
            ("program", _programs([report])),
            ("seconds", f"{report.seconds:.2f}"),
            ("cpu seconds", f"{report.cpu:.2f}"),
            ("ended by", report.trouble),
            ("exit", report.exit),
        ]
    )
    body: list[Content] = [el("h1", str(report.path)), about]
    if report.stderr:
        body += [el("h2", "The end of stderr"), _lines(report.stderr)]
    body.append(table("Every command and its answer.", heads, [_row(outcome) for outcome in report.outcomes], 1))
    return page(str(report.path), body, el("a", "all files", href="index.html"))


def _row(outcome: Outcome) -> list[Content]:
    word = _WORDS[outcome.verdict]
    surprise = outcome.bad or outcome.verdict is Verdict.UNEXPECTED_PASS
    return [
        outcome.step.line,
        el("code", outcome.step.command),
        _lines(outcome.got),
        el("code", expected_text(outcome)) if outcome.step.is_test else "",
        el("strong", word, class_="bad" if outcome.bad else None) if surprise else word,
        f"{outcome.seconds * 1000:.1f}" if outcome.reply is not None else "",
    ]


def _lines(text: str) -> Markup:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
    return el("pre", joined(shown.split("\n"), "\n")) if shown else Markup()
