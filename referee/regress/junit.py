"""The report as JUnit's XML, which every build server reads: a suite a file, a case a test."""

import re
from xml.etree import ElementTree

from protocol.printed import INVISIBLE
from protocol.regression import Verdict
from referee.regress.running import FileReport, Outcome
from referee.regress.table import expected_text

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
        failures=str(report.count(Verdict.FAIL)),
        errors=str(report.count(Verdict.ERROR) + bool(report.trouble)),
        skipped=str(report.count(Verdict.EXPECTED_FAIL)),
        time=f"{report.seconds:.6f}",
    )
    for outcome in cases:
        suite.append(_case(report, outcome))
    if report.trouble:
        case = ElementTree.SubElement(suite, "testcase", name="the program", classname=_valid(str(report.path)))
        error = ElementTree.SubElement(case, "error", message=_valid(report.trouble))
        error.text = _valid(f"{report.exit}\n{report.stderr}".strip())
    return suite


def _case(report: FileReport, outcome: Outcome) -> ElementTree.Element:
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
        kind = "failure" if outcome.verdict is Verdict.FAIL else "error"
        ElementTree.SubElement(case, kind, message=_valid(said.split("\n")[0])).text = _valid(said)
    elif outcome.verdict is Verdict.EXPECTED_FAIL:
        ElementTree.SubElement(case, "skipped", message=_valid(f"expected to fail: {said}".split("\n")[0]))
    else:
        ElementTree.SubElement(case, "system-out").text = _valid(f"{outcome.verdict}: {outcome.got}")
    return case


def _valid(text: str) -> str:
    return INVISIBLE.sub("\ufffd", _FORBIDDEN.sub("\ufffd", text))
