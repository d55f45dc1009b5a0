"""Records for the tests of records: a match that was played, one that was cut off."""

from ggp.protocol.records import (
    Diagnostics,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Party,
    Record,
    read_records,
)

START = MatchStarted(
    match="m1",
    game="go",
    options={"size": "9", "komi": "6.5"},
    bots=(Party(name="Zoë", program="GNU Go", version="3.8", command='gnugo "--mode" gtp'), Party(name="碁 𝄞")),
    engine=Party(name="engine"),
    control="10+0.1",
    seed=-7,
    opening=("D4",),
    started="2026-01-01T00:00:00Z",
)
PLIES = (
    MovePlayed(1, "m1", 1, 1, "black", "D4", 0, 10_000),
    MovePlayed(2, "m1", 2, 2, "white", "pass", 17, None, '{"winrate": 0.5}'),
    MovePlayed(3, "m1", 3, 1, "black", "pass", 1, 9_999),
)
END = MatchEnded(
    seq=4,
    match="m1",
    result="B+3.5",
    winner=1,
    termination="score",
    plies=3,
    hash="0123456789abcdef",
    warnings=("skipped: \t\x01",),
    diagnostics=Diagnostics(dialogue=("> name", "< = #"), stderr="line\nline", exit="exit status 0"),
)
RECORD = Record(START, PLIES, END)
CUT_OFF = Record(START, PLIES[:2], None)


def lines_of(*records: Record) -> list[bytes]:
    return b"".join(record.lines() for record in records).splitlines(keepends=True)


def read(lines: list[bytes]) -> list[Record]:
    return list(read_records(lines))
