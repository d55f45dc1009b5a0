r"""Regression transcripts in the format of GNU Go and GoGui: parse, judge, write and update them.

    # Black must connect.
    loadsgf games/ko.sgf 12
    10 genmove b
    #? [A3|B4]*

A line is a command, a comment or blank. `#? [PATTERN]` after a command gives the expected answer. `!` at the start of
the pattern negates it; `*` after the bracket marks a test that is expected to fail; `&` means that the answer is
ignored (see "Test suites" in GNU Go's documentation, regress.awk, and GoGui's Regress.java). As in GoGui, the pattern
must match the whole answer, `.` and `[^x]` match line ends too, blanks around the answer are ignored, and a refusal is
a failure whatever the pattern is. A command with an id is a test even without `#?`: it must not be refused.

One extension is ours, because the common format cannot express it: `#? [\? illegal move]` expects the refusal `?
illegal move`.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from math import prod
from typing import NamedTuple

import regex

from ggp.protocol.errors import in_words
from ggp.protocol.grammar import clean_line, parse_command
from ggp.protocol.messages import Reply

MAX_FILE = 16 * 1024 * 1024  # characters of a transcript
MAX_SECONDS = 2.0  # processor time for matching one pattern
MAX_PATTERN = 1_000_000  # characters of a pattern, which take some seconds to compile
MAX_REPETITIONS = 100_000  # the product of nested repeat counts, because the compiler expands them
_REFUSAL = re.compile(r"\\\? ?")
_BLANKS = " \t\n"
_EXPECTED = re.compile(r"\[(.*)\]\s*([&*]*)")
_DIALECT = regex.DOTALL | regex.MULTILINE | regex.VERSION0
_COUNT = re.compile(r"(\))?\{(?:[0-9]*,)?([0-9]+),?\}")
_RECURSION = re.compile(r"\(\?(?:R\)|&|P>|[0-9])")  # it would fill the memory before the time limit
_SPECIAL = frozenset("\\.[]{}()*+?^$|")
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}


class TranscriptError(ValueError):
    """An invalid transcript; `what` is wrong in line `line`, counted from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")
        self.what = what
        self.line = line


class PatternError(ValueError):
    """A pattern that is invalid or exceeds a limit; str() says on one line what is wrong."""


class RegressionVerdict(StrEnum):
    """The result of one command, as in GoGui's summary; capitals mean an unexpected result."""

    PASS = "pass"
    UNEXPECTED_PASS = "PASS"
    EXPECTED_FAIL = "fail"
    FAIL = "FAIL"
    ERROR = "error"  # a command that is not a test was refused, so later results are meaningless
    NONE = "none"  # answered, and the answer was not tested


class Expectation(NamedTuple):
    """A `#?` line; `text` is the part between the brackets. None means no brackets: any success passes."""

    line: int
    text: str | None
    pattern: regex.Pattern[str] | None = None
    negated: bool = False
    refusal: bool = False
    fails: bool = False  # known to fail
    ignored: bool = False


class Step(NamedTuple):
    """One command, as it is sent without LF, and the answer expected; `line` counts from 1."""

    line: int
    command: str
    id: int | None
    expectation: Expectation | None = None

    @property
    def is_test(self) -> bool:
        """Return True if the command has an expectation or an id."""
        return self.expectation is not None or self.id is not None


class Script(NamedTuple):
    """A transcript: every line of the file without its LF, and the parsed steps."""

    lines: tuple[str, ...]
    steps: tuple[Step, ...]


def parse(text: str) -> Script:
    """Parse a transcript whose lines end with LF.

    Raises:
        TranscriptError: The transcript is invalid.
    """
    if len(text) > MAX_FILE:
        raise TranscriptError(1, f"the transcript has {len(text)} characters; at most {MAX_FILE} are allowed")
    lines = tuple(text.split("\n"))
    steps: list[Step] = []
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if line.startswith("#?"):
            if not steps or steps[-1].expectation is not None:
                raise TranscriptError(number, "a #? line must follow a command, and each command may have only one")
            steps[-1] = steps[-1]._replace(expectation=_parse_expectation(number, line[2:].strip()))
        elif command := clean_line(line.encode("utf-8", "surrogateescape")):
            steps.append(Step(number, command, parse_command(command).id))
    return Script(lines, tuple(steps))


def judge(step: Step, reply: Reply | None) -> RegressionVerdict:
    """Return the verdict on a reply. None means no reply, which always counts as a failure.

    Raises:
        TranscriptError: The pattern takes too long to match.
    """
    expected = step.expectation
    if reply is None:
        return RegressionVerdict.FAIL if step.is_test else RegressionVerdict.ERROR
    if expected is not None and expected.ignored:
        return RegressionVerdict.NONE
    passed = _is_expected(expected, reply)
    if not step.is_test:
        return RegressionVerdict.NONE if passed else RegressionVerdict.ERROR
    if expected is not None and expected.fails:
        return RegressionVerdict.UNEXPECTED_PASS if passed else RegressionVerdict.EXPECTED_FAIL
    return RegressionVerdict.PASS if passed else RegressionVerdict.FAIL


def write(dialogue: Iterable[tuple[str, Reply]]) -> str:
    """Return a transcript of these commands that expects exactly these replies.

    The commands are numbered from 1. Lines that get no answer are left out.
    """
    out: list[str] = []
    for command, reply in dialogue:
        if line := clean_line(command.encode("utf-8", "backslashreplace")):
            words = line.split(" ", 1) if parse_command(line).id is not None else ["", line]
            out.append(f"{len(out) + 1} {words[1].strip()}\n{format_expectation(reply)}\n")
    return "\n".join(out)


def format_expectation(reply: Reply) -> str:
    """Return the `#?` line that expects exactly `reply`."""
    text = escape(reply.text.strip(_BLANKS))
    if not reply.ok:
        return f"#? [\\? {text}]"
    for sign, harmless in (("!", "[!]"), ("\\?", "[?]")):  # unescaped, they would negate, or expect a refusal
        if text.startswith(sign):
            text = harmless + text.removeprefix(sign)
    return f"#? [{text}]"


def update(script: Script, answers: Mapping[Step, Reply], passed: Collection[Step] = ()) -> str:
    """Return the transcript with new expectations.

    Each step in `answers` will expect exactly that answer, and each step in `passed` loses its `*`. All other lines and
    line ends stay as they are.
    """
    lines = list(script.lines)
    after: dict[int, str] = {}
    for step in script.steps:
        expected = step.expectation
        if step in answers:
            end = "\r" if script.lines[step.line - 1].endswith("\r") else ""
            text = format_expectation(answers[step]) + end
            if expected is None:
                after[step.line] = text
            else:
                lines[expected.line - 1] = text
        elif step in passed and expected is not None and expected.fails:
            lines[expected.line - 1] = _without_mark(script.lines[expected.line - 1])
    out = []
    for number, line in enumerate(lines, 1):
        out.append(line)
        if number in after:
            out.append(after[number])
    return "\n".join(out)


def compile_pattern(pattern: str) -> regex.Pattern[str]:
    """Compile a pattern of the `regex` package; `.` matches any character, `^` and `$` match at every line.

    Raises:
        PatternError: The pattern is invalid, recursive or repeats more than MAX_REPETITIONS times.
    """
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"it has more than {MAX_PATTERN} characters: {pattern[:80]}")
    counts = [(behind, int(count[:9]) or 1) for behind, count in _COUNT.findall(pattern)]
    nested, single = [count for behind, count in counts if behind], [count for behind, count in counts if not behind]
    if prod(nested) * max(single, default=1) > MAX_REPETITIONS:
        raise PatternError(f"it repeats more than {MAX_REPETITIONS} times: {pattern[:80]}")
    if _RECURSION.search(pattern):
        raise PatternError(f"recursive patterns are not supported: {pattern[:80]}")
    try:
        return regex.compile(pattern, _DIALECT)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise PatternError(f"{in_words(error)}: {pattern[:80]}") from None


def matches(pattern: regex.Pattern[str], text: str) -> bool:
    """Return True if the whole text matches the pattern.

    Raises:
        PatternError: Matching takes more than MAX_SECONDS.
    """
    try:
        return pattern.fullmatch(text, timeout=MAX_SECONDS) is not None
    except (TimeoutError, MemoryError):
        raise PatternError(f"it takes more than {MAX_SECONDS:g} s to match: {pattern.pattern[:80]}") from None


def escape(text: str) -> str:
    """Return a one-line pattern that matches exactly `text` in Java, awk and this module."""
    return "".join(map(_escape_char, text))


def _escape_char(char: str) -> str:
    if char in _SPECIAL:
        return f"\\{char}"
    if char in _NAMED:
        return _NAMED[char]
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else char


def _parse_expectation(number: int, rest: str) -> Expectation:
    if not rest:
        return Expectation(number, None)
    found = _EXPECTED.fullmatch(rest)
    if found is None:
        raise TranscriptError(
            number, f"invalid expectation (write #? [PATTERN], optionally with * or & after it): {rest[:80]}"
        )
    text, marks = found[1].strip(), found[2]
    pattern, negated = text.removeprefix("!"), text.startswith("!")
    refusal = _REFUSAL.match(pattern)
    try:
        compiled = compile_pattern(pattern[refusal.end() :] if refusal else pattern)
    except PatternError as error:
        raise TranscriptError(number, str(error)) from None
    return Expectation(number, text, compiled, negated, refusal is not None, "*" in marks, "&" in marks)


def _is_expected(expected: Expectation | None, reply: Reply) -> bool:
    if expected is None or expected.pattern is None:
        return reply.ok
    if expected.refusal:
        return (not reply.ok and _matches(expected, reply.text)) != expected.negated
    return reply.ok and _matches(expected, reply.text) != expected.negated


def _matches(expected: Expectation, text: str) -> bool:
    """Match the text without surrounding blanks, as other programs do.

    If that fails, match the unchanged text, because a pattern may include layout.
    """
    assert expected.pattern is not None
    bare = text.strip(_BLANKS)
    try:
        return matches(expected.pattern, bare) or (bare != text and matches(expected.pattern, text))
    except PatternError as error:
        raise TranscriptError(expected.line, str(error)) from None


def _without_mark(line: str) -> str:
    bracket, end = line.rindex("]") + 1, len(line.rstrip())
    return line[:bracket] + line[bracket:end].replace("*", "") + line[end:]
