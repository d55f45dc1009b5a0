"""Turns of phrase that read like a translation: their numbers may only fall, to zero in the end.

When a count falls, write the new number here. Where one of them is right, leave the number above zero: do not write
around the words.
"""

import re

import pytest

from tests.support import ROOT

SUFFIXES = {".py", ".md", ".hpp", ".cpp", ".c", ".h"}
SOURCES = [
    *ROOT.glob("*.md"),
    *(path for folder in ("protocol", "engines", "referee", "bots", "docs") for path in (ROOT / folder).rglob("*")),
]
TEXT = "\n".join(
    text
    for path in sorted(SOURCES)
    if path.suffix in SUFFIXES and path.name != "CHANGELOG.md"
    if not (text := path.read_text(encoding="utf-8")).startswith("<!-- Generated")
)
COUNTS = {
    r"\bgoes on\b": 70,
    r"\bis none\b": 64,
    r"\bthe same of\b": 4,
    r"\bthat there is not\b": 2,
    r"\balso (?:where|if|when)\b": 7,
    r"\bany more\b": 15,
    r"\bas far as\b": 21,
    r"\bborne with\b": 0,
    r"\b(?:is|are) told\b": 0,
    r'"""(?:Of|By|Whose|Whether|What) ': 91,
}


@pytest.mark.parametrize("pattern", COUNTS)
def test_a_turn_of_phrase_only_goes_out_of_use(pattern: str) -> None:
    assert len(re.findall(pattern, TEXT)) <= COUNTS[pattern]
