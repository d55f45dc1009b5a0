"""The bounded regular expressions: the same language as Python's own where both read a pattern, and always an end."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import regular_expression
from protocol.pattern_syntax import PatternError
from protocol.regular_expression import RegularExpression, escape

ATOMS = r"a b \n . [ab] [^a] [a-c1] []x] [^]x] [a-] [\d\]] \w \W \s \S \d \D ^ $ \b \B \. \x61 \u0062 { a{ \t"
PATTERNS = st.recursive(
    st.sampled_from(ATOMS.split()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,}", "{0,2}", "{0}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=8,
)
TEXTS = st.text(st.sampled_from("ab1 \n.x]-{_"), max_size=6)


@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=5))
def test_it_matches_what_pythons_own_matches(pattern: str, texts: list[str]) -> None:
    own = RegularExpression(pattern)
    python = re.compile(pattern, re.DOTALL | re.MULTILINE)
    for text in texts:
        if not text and r"\B" in pattern:
            continue  # Python before 3.14 did not find \B in an empty text
        assert own.matches(text) == (python.fullmatch(text) is not None), (pattern, text)


@given(st.text(max_size=20), st.text(max_size=20))
def test_an_escaped_text_matches_itself_alone(text: str, other: str) -> None:
    own = RegularExpression(escape(text))
    assert own.literal == text and own.matches(text) and own.matches(other) == (text == other)
    if text.isprintable() or text.isspace():
        assert re.fullmatch(escape(text), text)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("[[:digit:][:upper:]x]+", "1Ax", "a"),
        ("[[:alnum:]_]", "_", "-"),
        ("[[:alpha:]]", "z", "1"),
        ("[[:lower:]]", "z", "Z"),
        ("[[:xdigit:]]", "f", "g"),
        ("[[:punct:]]", "!", "a"),
        ("[[:space:]]", "\n", "a"),
        ("[[:blank:]]", "\t", "\n"),
        ("[[:print:]]", "a", "\n"),
        ("[[:nix:]]", "n]", "z"),  # no class: the set [[:nix: and a bracket
        ("(1 A3|B3)", "B3", "1 B3"),
        ("a{2}{3}", "aaaaaa", "aaaaa"),
        ("a|", "", "b"),
        ("(){99}x", "x", "y"),
        (r"\$", "$", ""),
        (r"[\d-]", "-", "a"),
        ("[b-d]+", "bcd", "a"),
        ("^a$\n^b$", "a\nb", "ab"),
        (r"\w\B\w\b", "ab", "a "),
    ],
)
def test_forms_of_the_field(pattern: str, yes: str, no: str) -> None:
    assert RegularExpression(pattern).matches(yes) and not RegularExpression(pattern).matches(no)


UNREAD = (
    r"a) (a [a [ [a-\d] [b-a] * a|+ (?=a) (?i)a \1 \x6 \u12g4 \q a\ [[:digit:] a{10001} a{999999} a{0,10001} a{3,2}"
)


@pytest.mark.parametrize("pattern", [*UNREAD.split(), "(" * 51 + ")" * 51, "((a{99}){99}){99}"])
def test_what_cannot_be_read_or_bounded_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        RegularExpression(pattern)


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a+)+b", "(a|a)*b", "(a|aa)+$b", "(.*a){20}b", "(((a?){9}){50})b"])
def test_patterns_that_are_catastrophes_elsewhere_end(pattern: str) -> None:
    assert not RegularExpression(pattern).matches("a" * 200)


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_expression, "MAX_WORK", 1000)
    costly = RegularExpression("(a?){100}b?")
    with pytest.raises(PatternError, match="more than 1000 steps"):
        costly.matches("a" * 50)
    assert RegularExpression("a*").matches("a" * 900)
    with pytest.raises(PatternError, match="more than 1000 steps"):
        RegularExpression("a*").matches("a" * 1100)


def test_what_is_kept_to_go_faster_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_expression, "_REMEMBERED", 10)
    assert RegularExpression("(a|b|c)*abc").matches("abcabcabc")
