"""Lines and summaries of records that native code makes, compared with models in Python."""

import json
import random
from collections.abc import Iterator
from hashlib import sha256

import pytest

from ggp.protocol import records
from ggp.protocol._chain import check_plies, make_line, use_instructions
from ggp.protocol.records import (
    FIRST_LINK,
    Chain,
    Event,
    MatchEnded,
    MatchStarted,
    MatchSummary,
    MovePlayed,
    Party,
    RecordError,
    escaped_line,
    read_records,
    read_summary,
)
from tests.support.codes import raises

TEXTS = [
    "",
    "a",
    "D4",
    "black",
    'say "so"',
    "back\\slash",
    "line\nfeed\t",
    "\x01",
    "\x7f",
    "é碁",
    "\u202e",
    "~ ",
    "x" * 70,
]


@pytest.fixture(params=[True, False], ids=["instructions", "plain"])
def sha(request: pytest.FixtureRequest) -> Iterator[None]:
    """SHA-256 by the processor's instructions, where it has them, and without."""
    use_instructions(request.param)
    yield
    use_instructions(True)


def written(*events: Event) -> bytes:
    chain = Chain()
    return b"".join(map(chain.line, events))


def started(match: str = "m", name: str = "a") -> MatchStarted:
    return MatchStarted(
        match=match,
        game="go",
        options={"size": "9"},
        bots=(Party(name=name),) * 2,
        engine=Party(name=name),
        control="1",
    )


def ended(seq: int, match: str = "m") -> MatchEnded:
    return MatchEnded(seq=seq, match=match, result="B+1", winner=1, termination="rules", plies=seq - 1)


def a_match(chance: random.Random, plain: bool = False) -> bytes:
    texts = ["a", "D4", 'say "so"', "x" * 70] if plain else TEXTS
    match = chance.choice(texts)
    plies = [
        MovePlayed(
            seq,
            match,
            chance.choice([0, seq, 2**53 - 1]),
            chance.randrange(3),
            chance.choice(texts),
            chance.choice(texts),
            chance.choice([0, 7, 10, 123456, 2**40]),
            chance.choice([None, None, 0, -1, -20, 9000, 2**53 - 1]),
            chance.choice([*texts, ""]),
        )
        for seq in range(1, chance.randrange(6) + 1)
    ]
    return written(started(match, chance.choice(texts)), *plies, ended(len(plies) + 1, match))


def model_summary(lines: bytes) -> MatchSummary:
    """Return the summary of one whole match, read event by event."""
    found = list(read_records(lines.splitlines(keepends=True)))
    if len(found) != 1 or found[0].end is None:
        raise RecordError(f"the record holds {len(found)} matches, not exactly one complete match")
    first, second = (sum(ply.ms for ply in found[0].plies if ply.seat == seat) for seat in (1, 2))
    return MatchSummary(found[0].start, found[0].end, (first, second))


def model_line(line: bytes, link: bytes) -> tuple[bytes, bytes]:
    """Return the line made again from its values alone, and its link, as the docstring of ggp.protocol.records says."""
    fields = json.loads(line)
    fields.pop("link")
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    link = sha256(link + canonical).digest()
    return escaped_line(b'%b,"link":"%b"}' % (canonical[:-1], link.hex().encode())) + b"\n", link


def summary_of(lines: bytes) -> MatchSummary | str:
    """Return what read_summary and its model both find: a summary, or the text of a RecordError."""
    found: list[MatchSummary | str] = []
    for summarise in (read_summary, model_summary):
        try:
            found.append(summarise(lines))
        except RecordError as error:
            found.append(str(error))
    assert found[0] == found[1], lines
    return found[0]


@pytest.mark.usefixtures("sha")
def test_whole_records_have_the_summary_of_the_model() -> None:
    for seed in range(150):
        assert isinstance(summary_of(a_match(random.Random(seed))), MatchSummary)


def test_changed_records_are_read_as_by_the_model() -> None:
    """A byte changed, added or dropped, lines dropped, doubled, exchanged, or cut off; numbers that mean the same."""
    chance = random.Random(1)
    pieces = [
        b"0",
        b"1",
        b"-",
        b" ",
        b'"',
        b"\\",
        b"\n",
        b"\r",
        b"\n\n",
        b"{",
        b"}",
        b",",
        b"\x00",
        b"\xff",
        b"e1",
        b".0",
    ]
    whole = 0
    for _ in range(600):
        lines = a_match(chance, plain=True)
        at = chance.randrange(len(lines))
        split = lines.splitlines(keepends=True)
        one, two = sorted(chance.randrange(len(split)) for _ in range(2))
        changed = chance.choice(
            [
                lines[:at] + chance.choice(pieces) + lines[at + 1 :],
                lines[:at] + chance.choice(pieces) + lines[at:],
                lines[:at] + lines[at + 1 :],
                lines[:at],
                b"".join(split[:one] + split[one + 1 :]),
                b"".join(split[: one + 1] + split[one:]),
                b"".join([*split[:one], *reversed(split[one : two + 1]), *split[two + 1 :]]),
                lines + lines,
                lines + b"\n",
                lines[:-1],
                lines.replace(b"\n", b"\r\n"),
            ]
        )
        whole += isinstance(summary_of(changed), MatchSummary)
    assert 0 < whole < 300, "some changes, as of a last line feed, are none"


@pytest.mark.usefixtures("sha")
def test_a_line_of_any_length_has_its_link() -> None:
    for size in range(200):
        ply = MovePlayed(1, "m", 1, 2, "black", "D4", 5, None, "x" * size)
        lines = written(started(), ply, ended(2))
        begin = lines.index(b"\n") + 1
        link = Chain()
        link.line(started())
        at, plies, first, second, last = check_plies(lines, begin, b'"m"', link._link)
        assert (plies, first, second) == (1, 0, 5) and lines[at:].startswith(b'{"event":"end"')
        link.line(ply)
        assert last == link._link


def test_a_plain_match_is_read_natively() -> None:
    lines = written(
        started(), *(MovePlayed(seq, "m", seq, seq % 2 + 1, "b", "D4", seq, 9) for seq in (1, 2, 3)), ended(4)
    )
    found = records._plain_summary(lines)
    assert found is not None and found == read_summary(lines) and found.ms == (2, 4)


@pytest.mark.parametrize(
    "changes",
    [
        {"ms": 2**53 - 1},
        {"ply": 2**53 - 1},
        {"left": -(2**62)},
        {"analysis": "x" * 5000},
        {"move": "x" * 4096},
        {"colour": ""},
    ],
)
def test_limits_are_those_of_the_reader(changes: dict[str, object]) -> None:
    values = {"seq": 1, "match": "m", "ply": 1, "seat": 1, "colour": "b", "move": "D4", "ms": 1, **changes}
    lines = written(started(), MovePlayed(**values), ended(2))  # type: ignore[arg-type]
    assert isinstance(summary_of(lines), MatchSummary)
    for old, new in ((b'"seat":1', b'"seat":3'), (b'"ms":', b'"ms":9007199254740992'), (b'"ply":', b'"ply":0')):
        assert isinstance(summary_of(lines.replace(old, new)), str)


def test_too_long_a_text_is_refused_though_its_chain_is_right() -> None:
    for changes in ({"move": "x" * 4097}, {"analysis": "x" * (256 * 1024 + 1)}, {"seat": 3}, {"ms": 2**53}):
        values = {"seq": 1, "match": "m", "ply": 1, "seat": 1, "colour": "b", "move": "D4", "ms": 1, **changes}
        lines = written(started(), MovePlayed(**values), ended(2))  # type: ignore[arg-type]
        said = summary_of(lines)
        assert isinstance(said, str) and said.startswith("line 2: not a record line")


def test_more_or_less_than_a_whole_match_is_refused() -> None:
    whole = written(started(), ended(1))
    for lines in (b"", whole + whole, whole[: whole.index(b"\n") + 1]):
        with raises(RecordError, "bad-record"):
            read_summary(lines)


def test_the_native_check_refuses_what_is_no_place_or_no_link() -> None:
    for begin, link in ((-1, FIRST_LINK), (9, FIRST_LINK), (0, b"short")):
        with pytest.raises(ValueError):
            check_plies(b"lines", begin, b'"m"', link)


@pytest.mark.usefixtures("sha")
def test_lines_are_those_of_the_model() -> None:
    chance = random.Random(26)
    for number in range(200):
        link = FIRST_LINK
        for line in a_match(chance, plain=number % 2 == 0).splitlines(keepends=True):
            modelled, link = model_line(line, link)
            assert line == modelled


def test_a_line_may_be_as_long_as_a_line_of_a_record() -> None:
    empty = len(Chain().line(started(name=""))) - 1
    texts = 3  # of the two bots and the engine
    room, left = divmod(records.MAX_RECORD_LINE - empty, texts)
    longest = Chain().line(started("m" + "x" * left, "y" * room))
    assert len(longest) == records.MAX_RECORD_LINE + 1  # with its LF
    with raises(RecordError, "too-long"):
        Chain().line(started("m" + "x" * (left + 1), "y" * room))


@pytest.mark.parametrize("arguments", [(), (b"{}",), (b"{}", b"short"), (b"{", FIRST_LINK), ("{}", FIRST_LINK)])
def test_the_native_line_refuses_what_is_no_event_or_no_link(arguments: tuple[bytes, ...]) -> None:
    with pytest.raises((ValueError, TypeError)):
        make_line(*arguments)
