"""Records: reading is the inverse of writing, changes are detected, and the chain can be checked."""

import json
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from ggp.protocol.grammar import BOM
from ggp.protocol.records import (
    MAX_RECORD_LINE,
    Chain,
    Diagnostics,
    Event,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Party,
    Record,
    RecordError,
    RecordReader,
    escaped_line,
    gtp_script,
    moves_of,
    read_records,
)
from tests.support.codes import raises
from tests.support.sample_records import CUT_OFF, END, PLIES, RECORD, START, lines_of, read

# -- there and back -------------------------------------------------------------------------------------------------


def test_a_record_is_read_back_as_it_was() -> None:
    assert read(lines_of(RECORD)) == [RECORD]
    assert [line.count(b"\n") for line in lines_of(RECORD)] == [1] * 5


def test_a_bot_may_have_a_time_control_of_its_own() -> None:
    assert START.controls == ("10+0.1", "10+0.1") and START.time == "10+0.1"
    first, second = START.bots
    odds = structs.replace(START, bots=(first, structs.replace(second, control="5+0.05")))
    assert odds.controls == ("10+0.1", "5+0.05") and odds.time == "10+0.1 against 5+0.05"
    (found,) = read(lines_of(Record(odds, PLIES, END)))
    assert found.start == odds


def test_a_match_is_read_line_by_line_while_it_goes_on() -> None:
    reader = RecordReader()
    for number, line in enumerate(lines_of(RECORD)):
        reader.read(line.rstrip(b"\n"))
        assert reader.record == Record(START, PLIES[:number], END if number == 4 else None)


def test_matches_follow_one_another_and_may_be_cut_off() -> None:
    records = [CUT_OFF, RECORD, Record(START, (), None), RECORD, CUT_OFF]
    assert read(lines_of(*records)) == records
    assert read([]) == []


def test_lines_may_lack_their_lf_and_blank_ones_are_none() -> None:
    assert read([b"\n", *(line[:-1] for line in lines_of(RECORD)), b"", b"  \n"]) == [RECORD]


def test_what_comes_before_a_fault_is_given_first() -> None:
    records = read_records([*lines_of(RECORD), b"junk\n"])
    assert next(records) == RECORD
    with raises(RecordError, "not-a-record"):
        next(records)


def test_a_damaged_match_is_reported_and_the_next_one_read() -> None:
    lines, damage = lines_of(RECORD), list[str]()
    changed = lines[1].replace(b'"ply"', b'"plx"') if b'"ply"' in lines[1] else lines[1][:-3] + b"\n"
    assert changed != lines[1]
    records = read_records([*lines, lines[0], changed, *lines[2:], *lines], damaged=damage.append)
    assert list(records) == [RECORD, RECORD]
    assert len(damage) == 1 and damage[0].startswith("line 7: ")


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
COUNT = st.integers(0, 2**53 - 1)
PARTY = st.builds(Party, name=TEXT, program=TEXT, version=TEXT, command=TEXT, hash=TEXT)
STARTED = st.builds(
    MatchStarted,
    seq=st.just(0),
    match=st.just("m"),
    game=TEXT,
    options=st.dictionaries(TEXT, TEXT, max_size=3),
    bots=st.tuples(PARTY, PARTY),
    engine=PARTY,
    control=TEXT,
    margin=COUNT,
    max_plies=COUNT,
    seed=st.integers(-(2**63), 2**64 - 1),
    opening=st.lists(TEXT, max_size=2).map(tuple),
    referee=TEXT,
    started=TEXT,
)
PLAYED = st.lists(
    st.tuples(COUNT, st.integers(0, 2), TEXT, TEXT, COUNT, st.none() | st.integers(-9, 2**53), TEXT), max_size=4
).map(lambda plies: tuple(MovePlayed(seq, "m", *ply) for seq, ply in enumerate(plies, 1)))
DIAGNOSTICS = st.builds(Diagnostics, dialogue=st.lists(TEXT, max_size=2).map(tuple), stderr=TEXT, exit=TEXT)
ENDED = st.builds(
    MatchEnded,
    seq=COUNT,
    match=st.just("m"),
    result=TEXT,
    winner=st.integers(0, 2),
    termination=TEXT,
    culprit=TEXT,
    detail=TEXT,
    plies=COUNT,
    hash=TEXT,
    suspect=st.booleans(),
    score=TEXT,
    warnings=st.lists(TEXT, max_size=2).map(tuple),
    diagnostics=st.none() | DIAGNOSTICS,
    ended=TEXT,
)


def whole(start: MatchStarted, plies: tuple[MovePlayed, ...], end: dict[str, Any] | None) -> Record:
    return Record(start, plies, MatchEnded(**{**end, "seq": len(plies) + 1}) if end else None)


RECORDS = st.builds(
    whole, STARTED, PLAYED, st.none() | ENDED.map(lambda end: {f: getattr(end, f) for f in end.__struct_fields__})
)


@pytest.mark.slow
@given(st.lists(RECORDS, max_size=3))
def test_any_records_are_read_back_as_they_were(records: list[Record]) -> None:
    assert read(lines_of(*records)) == records


@pytest.mark.slow
@given(RECORDS)
def test_the_chain_can_be_checked_with_json_and_sha256_alone(record: Record) -> None:
    assert_chain(lines_of(record))


def test_the_chain_of_a_record_with_names_of_all_scripts() -> None:
    lines = lines_of(RECORD)
    assert "Zoë".encode() in lines[0] and "碁 𝄞".encode() in lines[0]  # UTF-8, not escapes
    assert_chain(lines)


def assert_chain(lines: list[bytes]) -> None:
    """The chain as the docstring of ggp.protocol.records tells it, worked out without it."""
    link = sha256(b"ggp-record-1").digest()
    for line in lines:
        fields = json.loads(line)
        claimed = fields.pop("link")
        canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        link = sha256(link + canonical).digest()
        assert claimed == link.hex()
        whole = canonical[:-1] + b',"link":"' + claimed.encode() + b'"}\n'
        assert line in (whole, escaped_line(whole)) and not unseen(line.decode())


def unseen(text: str) -> bool:
    """Whether a terminal would obey a character of a line, or turn the reading direction."""
    return any(0x7F <= ord(char) < 0xA0 or char in "\u200e\u200f\u061c\u2028\u202e\u2066" for char in text)


def test_controls_and_marks_that_turn_the_direction_are_escaped() -> None:
    """As \\uXXXX, which is the same value; lines that were written without are read, too."""
    name = "a\x7f\x85\x9b2J\u061c\u200f\u2028\u202e\u2066\ufeffé碁\U000e0041"
    record = whole(msgspec.structs.replace(RECORD.start, bots=(Party(name=name), Party(name="b"))), (), None)
    (line,) = lines_of(record)
    assert rb"a\u007f\u0085\u009b2J\u061c\u200f\u2028\u202e\u2066\ufeff" + "é碁".encode() + rb"\udb40\udc41" in line
    assert_chain([line])
    fields = json.loads(line)
    raw = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    link = f',"link":"{fields["link"]}"'
    older = (raw.replace(link, "")[:-1] + link + "}\n").encode()
    assert name.encode() in older and read([older]) == read([line]) == [record]
    with pytest.raises(RecordError):
        read([line.replace(rb"\u0085", rb"\u0084")])
    with pytest.raises(RecordError):  # no other way to write it
        read([line.replace("é".encode(), rb"\u00e9")])


def test_what_a_line_leaves_out_is_nothing() -> None:
    """Values that are left out are part of the format: to change them would change old records."""
    party = b'{"name":"a"}'
    starts = b'{"bots":[%b,%b],"control":"none","engine":%b,"event":"start","game":"go","match":"m","options":{}' % (
        party,
        party,
        party,
    )
    ends = b'{"diagnostics":{},"event":"end","match":"m","result":"","seq":1,"termination":"t","winner":0'
    lines, link = [], sha256(b"ggp-record-1").digest()
    for body in (starts, ends):
        link = sha256(link + body + b"}").digest()
        lines.append(body + b',"link":"%b"}' % link.hex().encode())
    record = read(lines)[0]
    start, end = record.start, record.end
    assert end is not None and record.lines() == b"".join(line + b"\n" for line in lines)
    assert (start.seq, start.margin, start.max_plies, start.seed) == (0, 50, 0, 0)
    assert (start.opening, start.referee, start.started) == ((), "", "")
    assert start.bots[0] == Party(name="a", program="", version="", command="", hash="")
    assert (end.culprit, end.detail, end.plies, end.hash, end.suspect) == ("", "", 0, "", False)
    assert (end.score, end.warnings, end.ended) == ("", (), "")
    assert end.diagnostics == Diagnostics(dialogue=(), stderr="", exit="")


def test_the_first_link_is_what_the_contract_says() -> None:
    event = MovePlayed(0, "m", 1, 1, "black", "A1", 0)
    canonical = b'{"colour":"black","event":"ply","match":"m","move":"A1","ms":0,"ply":1,"seat":1,"seq":0}'
    link = sha256(sha256(b"ggp-record-1").digest() + canonical).hexdigest()
    assert Chain().line(event) == canonical[:-1] + b',"link":"%b"}\n' % link.encode()


# -- what was changed is noticed ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(5))
def test_a_line_that_was_dropped_is_noticed(number: int) -> None:
    lines = lines_of(RECORD)
    del lines[number]
    if number == 4:  # nothing follows that could tell: it is a match that was cut off
        assert read(lines) == [Record(START, PLIES, None)]
        lines.append(lines[3])  # but not if anything of it follows
    with pytest.raises(RecordError, match=rf"^line {number + 1}: "):
        read(lines)


@pytest.mark.parametrize("number", range(4))
def test_lines_that_changed_places_are_noticed(number: int) -> None:
    lines = lines_of(RECORD)
    lines[number], lines[number + 1] = lines[number + 1], lines[number]
    with pytest.raises(RecordError):
        read(lines)


@pytest.mark.parametrize("number", range(1, 5))
def test_a_line_that_is_there_twice_is_noticed(number: int) -> None:
    lines = lines_of(RECORD)
    lines.insert(number, lines[number])
    with pytest.raises(RecordError):
        read(lines)


def test_a_byte_that_was_changed_anywhere_is_noticed() -> None:
    lines = lines_of(RECORD)
    for number, line in enumerate(lines):
        for place in range(len(line) - 1):
            changed = line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]
            with pytest.raises(RecordError, match=r"^line \d: "):
                read([*lines[:number], changed, *lines[number + 1 :]])


def test_a_line_that_was_cut_short_anywhere_is_noticed() -> None:
    lines = lines_of(RECORD)
    for number, line in enumerate(lines):
        for length in range(1, len(line) - 1):
            with pytest.raises(RecordError, match=r"^line \d: "):
                read([*lines[:number], line[:length] + b"\n", *lines[number + 1 :]])


def test_a_line_that_says_the_same_in_other_bytes_is_noticed() -> None:
    first, *rest = lines_of(RECORD)
    assert json.loads(first)["options"] == {"komi": "6.5", "size": "9"}
    for old, new in (
        (b'"komi":', b'"komi": '),
        (b'"6.5"', rb'"\u0036.5"'),
        (b'{"komi":"6.5","size":"9"}', b'{"size":"9","komi":"6.5"}'),
        (b'"seed":-7', b'"seed":1,"seed":-7'),
    ):
        assert old in first
        with raises(RecordError, "not-canonical"):
            read([first.replace(old, new), *rest])


def test_a_ply_of_another_match_is_noticed_though_its_chain_is_right() -> None:
    chain = Chain()
    lines = [chain.line(event) for event in (START, PLIES[0], MovePlayed(2, "m2", 2, 2, "white", "E5", 1))]
    with raises(RecordError, "out-of-order"):
        read(lines)


@pytest.mark.parametrize("seq", [0, 1, 3])
def test_an_event_out_of_order_is_noticed_though_its_chain_is_right(seq: int) -> None:
    chain = Chain()
    lines = [chain.line(event) for event in (START, PLIES[0], MovePlayed(seq, "m1", 2, 2, "white", "E5", 1))]
    with raises(RecordError, "out-of-order"):
        read(lines)


def test_a_record_begins_with_its_start() -> None:
    late = MatchStarted(**{**{f: getattr(START, f) for f in START.__struct_fields__}, "seq": 1})
    events: list[Event] = [PLIES[0], END, late]
    for event in events:
        with raises(RecordError, "out-of-order"):
            read([Chain().line(event)])


# -- what is no record ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b"[]",
        b"1",
        b"null",
        b'"link"',
        b"name",
        b"\xff",
        b"{",
        b'{"link":1}',
        b'{"link":"x"}',
        b'{"event":"ply","link":"x"}',
        b'{"event":"feast","link":"' + b"0" * 64 + b'"}',
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b',"link":"x"}',
        b'{"a":' + b"9" * 5_000 + b',"link":"x"}',
        b'{"a":1e999,"link":"x"}',
        b'{"a":"\\ud800","link":"x"}',
        b'{"a":"\xff","link":"x"}',
    ],
)
def test_a_line_that_is_none_is_refused_with_its_number(line: bytes) -> None:
    with pytest.raises(RecordError, match=r"^line 3: "):
        read([*lines_of(RECORD)[:2], line + b"\n"])


@given(st.binary(max_size=60) | st.text(max_size=30).map(lambda text: json.dumps({"link": text}).encode()))
@example(b"\xef\xbb\xbf")  # a byte-order mark, which is no part of the text
def test_arbitrary_bytes_raise_only_record_errors(line: bytes) -> None:
    try:
        assert list(read_records([line])) == []
    except RecordError:
        return
    assert not line.removeprefix(BOM).strip()


@pytest.mark.parametrize(
    "event",
    [
        MovePlayed(1, "m1", 1, 3, "black", "D4", 0),
        MovePlayed(1, "m1", -1, 1, "black", "D4", 0),
        MovePlayed(1, "m1", 1, 1, "black", "x" * 5_000, 0),
        MovePlayed(1, "m1", 1, 1, "black", "D4", 2**53),
    ],
)
def test_values_out_of_bounds_are_refused_though_the_chain_is_right(event: MovePlayed) -> None:
    chain = Chain()
    with raises(RecordError, "not-a-record"):
        read([chain.line(START), chain.line(event)])


def test_a_line_is_bounded_when_it_is_written_and_when_it_is_read() -> None:
    chain = Chain()
    lines = [chain.line(START)]
    for text in ("\x00" * 256 * 1024, "x" * 2**20):
        with raises(RecordError, "too-long"):
            chain.line(MovePlayed(1, "m1", 1, 1, "black", "D4", 0, None, text))
    longest = MovePlayed(1, "m1", 1, 1, "black", "D4", 0, None, "ü" * 256 * 1024)
    lines.append(chain.line(longest))
    assert read(lines)[0].plies == (longest,)
    with raises(RecordError, "too-long"):
        read([lines[0], b"x" * (MAX_RECORD_LINE + 1)])


def test_a_line_of_exactly_the_bound_is_written_and_read() -> None:
    def lines(length: int) -> list[bytes]:
        text = "\U0001d11e" * 262_085 + "x" * length  # 4 bytes each, since a text is bounded in characters
        chain = Chain()
        return [chain.line(event) for event in (START, MovePlayed(1, "m1", 1, 1, "black", "D4", 0, None, text))]

    longest = MAX_RECORD_LINE + 1 - len(lines(0)[1])  # with its LF
    assert len(lines(longest)[1]) == MAX_RECORD_LINE + 1
    assert len(read(lines(longest))[0].plies[0].analysis) == 262_085 + longest
    with raises(RecordError, "too-long"):
        lines(longest + 1)


def test_text_that_is_not_unicode_is_refused_when_it_is_written() -> None:
    with raises(RecordError, "not-unicode"):
        Chain().line(MovePlayed(1, "m1", 1, 1, "black", "\udc80", 0))


# -- as a script ----------------------------------------------------------------------------------------------------


def test_a_game_of_go_is_a_script_of_plain_gtp() -> None:
    assert gtp_script(RECORD).splitlines() == [
        "boardsize 9",
        "clear_board",
        "komi 6.5",
        "play black D4",
        "play white pass",
        "play black pass",
        "final_score",
    ]
    assert gtp_script(RECORD).endswith("final_score\n")


def of_game(game: str, options: dict[str, str], *moves: str) -> Record:
    start = MatchStarted(
        **{**{f: getattr(START, f) for f in START.__struct_fields__}, "game": game, "options": options}
    )
    return Record(start, tuple(MovePlayed(i, "m1", i, 1, "black", move, 0) for i, move in enumerate(moves, 1)), None)


def test_a_script_of_go_says_its_handicap_and_the_defaults() -> None:
    assert gtp_script(of_game("go", {"handicap": "3"})).splitlines() == [
        "boardsize 19",
        "clear_board",
        "komi 7.5",
        "fixed_handicap 3",
        "final_score",
    ]
    assert "handicap" not in gtp_script(of_game("go", {"handicap": "0"}))


def test_other_games_and_lists_of_dead_stones_are_scripts_of_ggp() -> None:
    assert gtp_script(of_game("yugo", {"size": "9", "komi": "7"}, "E5", "button")).splitlines() == [
        "ggp-new yugo size=9 komi=7",
        "ggp-play black E5",
        "ggp-play black button",
        "ggp-status",
    ]
    assert (
        gtp_script(of_game("go", {"agreement": "on"}, "pass", "pass", "dead:")).splitlines()[0]
        == "ggp-new go agreement=on"
    )


# -- the moves alone -------------------------------------------------------------------------------------------------


def test_the_moves_of_a_match_are_read_without_the_rest() -> None:
    assert moves_of(RECORD.lines()) == ["D4", "pass", "pass"]
    odd = [structs.replace(PLIES[0], move=move) for move in ('say "a"', "back\\slash", "碁", "\u2028", "")]
    assert moves_of(Record(START, tuple(odd), None).lines()) == [ply.move for ply in odd]
    assert moves_of(b"") == []


@pytest.mark.parametrize("move", [rb"\x", b"\xff", rb"\ud800"])
def test_a_move_that_is_no_text_is_an_error_of_the_record(move: bytes) -> None:
    line = RECORD.lines().replace(b'"move":"D4"', b'"move":"%b"' % move)
    with raises(RecordError, "bad-record"):
        moves_of(line)
