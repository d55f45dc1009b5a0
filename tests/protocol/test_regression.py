"""Regression transcripts: what a line means, every verdict, and that what is written is read as what was meant."""

import contextlib
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.protocol import regression
from ggp.protocol.grammar import clean_line, format_reply, parse_reply
from ggp.protocol.messages import Reply
from ggp.protocol.regression import (
    PatternError,
    RegressionVerdict,
    Script,
    Step,
    TranscriptError,
    compile_pattern,
    escape,
    judge,
    matches,
    parse,
    update,
    write,
)

SUITE = """\
# Black must connect.\r
loadsgf games/ko.sgf 12

10 genmove b   # a comment
#? [A3|B4]*

20 genmove w
  #?  [!C3]
30 reg_genmove b
#?
40 showboard
"""


def only(text: str) -> Step:
    (step,) = parse(text).steps
    return step


def verdict(expectation: str, reply: Reply | None, command: str = "1 genmove b") -> RegressionVerdict:
    return judge(only(f"{command}\n{expectation}"), reply)


def test_the_lines_of_a_suite() -> None:
    script = parse(SUITE)
    assert "\n".join(script.lines) == SUITE
    assert [(step.line, step.command, step.id, step.is_test) for step in script.steps] == [
        (2, "loadsgf games/ko.sgf 12", None, False),
        (4, "10 genmove b", 10, True),
        (7, "20 genmove w", 20, True),
        (9, "30 reg_genmove b", 30, True),
        (11, "40 showboard", 40, True),
    ]
    first, second, third = (step.expectation for step in script.steps[1:4])
    assert first is not None and (first.line, first.text, first.fails, first.negated) == (5, "A3|B4", True, False)
    assert second is not None and (second.text, second.fails, second.negated) == ("!C3", False, True)
    assert third is not None and (third.text, third.pattern) == (None, None)
    assert parse("") == Script(("",), ())


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("#? [A1]", 1, "must follow a command"),
        ("name\n#? [a]\n#? [b]", 3, "may have only one"),
        ("name\n\n#? A1", 3, "#? [PATTERN]"),
        ("name\n#? [A1] or so", 2, "#? [PATTERN]"),
        ("name\n#? [A(1]", 2, "missing )"),
        ("x" * (regression.MAX_FILE + 1), 1, "at most"),
    ],
)
def test_what_cannot_be_read_says_where(text: str, line: int, what: str) -> None:
    with pytest.raises(TranscriptError, match=rf"^line {line}: ") as caught:
        parse(text)
    assert caught.value.line == line and what in str(caught.value)


@pytest.mark.parametrize(
    ("expectation", "reply", "expected"),
    [
        ("#? [A3|B4]", Reply(True, "B4"), RegressionVerdict.PASS),
        (
            "#? [A3|B4]",
            Reply(True, "B45"),
            RegressionVerdict.FAIL,
        ),  # the whole answer, where awk's ^A3|B4$ would be content
        ("#? [A3|B4]*", Reply(True, "B5"), RegressionVerdict.EXPECTED_FAIL),
        ("#? [A3|B4]*", Reply(True, "A3"), RegressionVerdict.UNEXPECTED_PASS),
        ("#? [A3|B4] *", Reply(True, "A3"), RegressionVerdict.UNEXPECTED_PASS),
        ("#? [!A3]", Reply(True, "A3"), RegressionVerdict.FAIL),
        ("#? [!A3]", Reply(True, "A4"), RegressionVerdict.PASS),
        ("#? [!A3]", Reply(False, "A4"), RegressionVerdict.FAIL),  # a refusal is no move
        ("#? [!A3]*", Reply(True, "A3"), RegressionVerdict.EXPECTED_FAIL),
        ("#? [ A3 ]", Reply(True, "A3"), RegressionVerdict.PASS),
        ("#? [.*]", Reply(False, "cannot score"), RegressionVerdict.FAIL),
        (r"#? [\? cannot score]", Reply(False, "cannot score"), RegressionVerdict.PASS),
        (r"#? [\? cannot score]", Reply(True, "cannot score"), RegressionVerdict.FAIL),
        (r"#? [\? cannot score]", Reply(False, "cannot undo"), RegressionVerdict.FAIL),
        (r"#? [!\? .*]", Reply(False, "cannot undo"), RegressionVerdict.FAIL),
        (r"#? [!\? .*]", Reply(True, "7"), RegressionVerdict.PASS),
        (r"#? [\?]", Reply(False), RegressionVerdict.PASS),
        ("#? []", Reply(True), RegressionVerdict.PASS),
        ("#? []", Reply(True, "x"), RegressionVerdict.FAIL),
        ("#?", Reply(True, "x"), RegressionVerdict.PASS),
        ("#?", Reply(False, "x"), RegressionVerdict.FAIL),
        ("", Reply(True, "x"), RegressionVerdict.PASS),
        ("", Reply(False, "x"), RegressionVerdict.FAIL),
        ("#? [A3]&", Reply(True, "x"), RegressionVerdict.NONE),
        ("#? [A3]&", Reply(False, "x"), RegressionVerdict.NONE),
        ("#? [A3]&", None, RegressionVerdict.FAIL),
        ("#? [A3]", None, RegressionVerdict.FAIL),
        ("#? [A3]*", None, RegressionVerdict.FAIL),
        ("#? [A B.*X]", Reply(True, "\n A B\n  X "), RegressionVerdict.PASS),
        (r"#? [\n A B\n  X]", Reply(True, "\n A B\n  X"), RegressionVerdict.PASS),
        (r"#? [\s*A B\n  X]", Reply(True, "\n A B\n  X"), RegressionVerdict.PASS),
        (r"#? [!\n A B\n  X]", Reply(True, "\n A B\n  X"), RegressionVerdict.FAIL),
    ],
)
def test_every_verdict(expectation: str, reply: Reply | None, expected: RegressionVerdict) -> None:
    assert verdict(expectation, reply) is expected


def test_a_command_without_an_id_is_no_test_but_may_not_be_refused() -> None:
    assert judge(only("loadsgf x.sgf"), Reply(True)) is RegressionVerdict.NONE
    assert judge(only("loadsgf x.sgf"), Reply(False, "cannot load file")) is RegressionVerdict.ERROR
    assert judge(only("loadsgf x.sgf"), None) is RegressionVerdict.ERROR
    assert judge(only("name\n#? [x]"), Reply(True, "y")) is RegressionVerdict.FAIL


def test_a_pattern_without_end_is_refused_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regression, "MAX_SECONDS", 0.05)
    step = only("1 name\n#? [(a|aa)+$b]")
    with pytest.raises(TranscriptError, match=r"line 2: it takes more than 0.05 s to match: \(a\|aa\)\+\$b$"):
        judge(step, Reply(True, "a" * 200))


ANSWERS = st.builds(
    lambda ok, text: Reply(ok, text),
    st.booleans(),
    st.text(st.sampled_from("aA1 !?[]\\*+|(){}.^$#&\n\tü\u2028\x85\U000e0001\ud7ff"), max_size=12).map(
        lambda text: "\n".join(line for line in text.split("\n") if line)
    ),
)


@given(st.lists(st.tuples(st.sampled_from(["name", "12 name", "showboard x", "# none", "7 8"]), ANSWERS), max_size=4))
def test_what_passed_is_written_so_that_only_the_same_answers_pass(dialogue: list[tuple[str, Reply]]) -> None:
    script = parse(write(dialogue))
    asked = [(command, reply) for command, reply in dialogue if clean_line(command.encode())]
    assert [step.id for step in script.steps] == [*range(1, len(asked) + 1)]
    for step, (command, reply) in zip(script.steps, asked, strict=True):
        assert step.command.split()[1] == command.removeprefix("12 ").removeprefix("7 ").split()[0]
        read = parse_reply(format_reply(reply)[:-2])
        assert read is not None and judge(step, read) is RegressionVerdict.PASS
        assert judge(step, reply._replace(ok=not reply.ok)) is RegressionVerdict.FAIL
        assert judge(step, reply._replace(text=f"{reply.text}x")) is RegressionVerdict.FAIL
        assert judge(step, reply._replace(text=f"x{reply.text}")) is RegressionVerdict.FAIL


def test_a_transcript_as_it_is_written() -> None:
    dialogue = [("boardsize 5", Reply(True)), ("3 play b A9", Reply(False, "illegal move: A9 (a|b)"))]
    assert write(dialogue) == "1 boardsize 5\n#? []\n\n2 play b A9\n#? [\\? illegal move: A9 \\(a\\|b\\)]\n"
    assert write([("board", Reply(True, "\n A\n1 ."))]) == "1 board\n#? [A\\n1 \\.]\n"
    assert write([("ask", Reply(True, "!A1")), ("ask", Reply(True, "? A1"))]) == (
        "1 ask\n#? [[!]A1]\n\n2 ask\n#? [[?] A1]\n"
    )
    assert write([]) == ""


def test_expectations_are_changed_and_nothing_else() -> None:
    script = parse(SUITE)
    setup, first, second, third, last = script.steps
    assert update(script, {}) == SUITE
    changed = update(
        script,
        {setup: Reply(True), second: Reply(True, "D4"), last: Reply(False, "no board")},
        passed=[first, third, last],
    )
    assert changed == SUITE.replace("ko.sgf 12\n", "ko.sgf 12\n#? []\n").replace("[A3|B4]*", "[A3|B4]").replace(
        "  #?  [!C3]", "#? [D4]"
    ).replace("40 showboard\n", "40 showboard\n#? [\\? no board]\n")
    windows = "1 name\r\n#? [a*b]*&\r\n2 version\r\n"
    read = parse(windows)
    assert update(read, {read.steps[1]: Reply(True, "1.0")}, passed=[read.steps[0]]) == (
        "1 name\r\n#? [a*b]&\r\n2 version\r\n#? [1\\.0]\r\n"
    )


def test_a_step_without_an_expectation_has_no_mark_to_lose() -> None:
    script = parse("1 name\n")
    assert update(script, {}, passed=script.steps) == "1 name\n"


# -- patterns -------------------------------------------------------------------------------------------

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
def test_a_pattern_matches_what_pythons_own_matches(pattern: str, texts: list[str]) -> None:
    ours = compile_pattern(pattern)
    python = re.compile(pattern, re.DOTALL | re.MULTILINE)
    for text in texts:
        if not text and r"\B" in pattern:
            continue  # Python before 3.14 did not find \B in an empty text
        assert matches(ours, text) == (python.fullmatch(text) is not None), (pattern, text)


@given(st.text(max_size=20), st.text(max_size=20))
def test_an_escaped_text_matches_itself_alone(text: str, other: str) -> None:
    ours = compile_pattern(escape(text))
    assert matches(ours, text) and matches(ours, other) == (text == other)
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
        ("(1 A3|B3)", "B3", "1 B3"),
        ("a|", "", "b"),
        ("(){99}x", "x", "y"),
        (r"\$", "$", ""),
        (r"[\d-]", "-", "a"),
        ("[b-d]+", "bcd", "a"),
        ("^a$\n^b$", "a\nb", "ab"),
        (r"\w\B\w\b", "ab", "a "),
        (".{19}\n" * 19, ("x" * 19 + "\n") * 19, "x" * 19),
        ("(?:.{19}\n){19}", ("x" * 19 + "\n") * 19, "x" * 19),
    ],
)
def test_forms_of_the_field(pattern: str, yes: str, no: str) -> None:
    compiled = compile_pattern(pattern)
    assert matches(compiled, yes) and not matches(compiled, no)


UNREAD = (
    r"a) (a [a [ [b-a] * a|+ \1 \x6 \u12g4 \q a\ [[:digit:] [[:nix:]] a{100001} a{9999999999999} a{0,100001} a{3,2} "
    r"a{2}{3} (?R) (a(?1)?)b (?P<x>a(?&x)?) ((a{99}){99}){99} (a{0,999}+){999}?"
)


@pytest.mark.parametrize("pattern", [*UNREAD.split(), "(" * 9999 + ")" * 9999, "a" * 1_000_001])
def test_a_pattern_that_is_wrong_or_unbounded_is_refused_in_one_line(pattern: str) -> None:
    with pytest.raises(PatternError) as refused:
        compile_pattern(pattern)
    assert len(str(refused.value)) < 200 and "\n" not in str(refused.value)


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a+)+b", "(a|a)*b", "(a|aa)+$b", "(.*a){20}b", "(((a?){9}){50})b"])
def test_a_match_ends_within_its_time(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regression, "MAX_SECONDS", 0.1)
    before = time.process_time()
    with contextlib.suppress(PatternError):
        assert not matches(compile_pattern(pattern), "a" * 2000)
    assert time.process_time() - before < 2
