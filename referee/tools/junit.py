"""JUnit XML, which every build server reads: a suite of test cases."""

import re
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree

from ggp.protocol.printed import INVISIBLE

# "Char ::= #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]" (XML 1.0, 2.2)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(NamedTuple):
    """One case of a suite.

    Attributes:
        kind: "failure", "error" or "skipped"; "" if it passed.
        message: One line about the failure, or why it was skipped.
        text: The text shown with it.
        more: Further attributes, such as its file and line.
    """

    name: str
    group: str
    kind: str = ""
    message: str = ""
    text: str = ""
    more: tuple[tuple[str, str], ...] = ()


def suite(name: str, cases: Iterable[Case], **more: str) -> ElementTree.Element:
    """Return a suite with the counts of its cases and further attributes."""
    cases = list(cases)
    kinds = [case.kind for case in cases]
    counts = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    numbers = {head: str(kinds.count(kind)) for head, kind in counts.items()}
    found = ElementTree.Element("testsuite", {"name": valid(name), "tests": str(len(cases)), **numbers, **more})
    for case in cases:
        words = {"name": case.name, "classname": case.group, **dict(case.more)}
        element = ElementTree.SubElement(found, "testcase", {key: valid(word) for key, word in words.items()})
        if case.kind:
            ElementTree.SubElement(element, case.kind, message=valid(case.message))
        if case.text:
            inside = element[0] if case.kind in ("failure", "error") else ElementTree.SubElement(element, "system-out")
            inside.text = valid(case.text)
    return found


def written(root: ElementTree.Element) -> bytes:
    """Return the document in UTF-8."""
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def valid(text: str) -> str:
    """Replace characters that XML forbids, and invisible ones."""
    return INVISIBLE.sub("\ufffd", _FORBIDDEN.sub("\ufffd", text))
