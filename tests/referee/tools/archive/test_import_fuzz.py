"""`ggp import` reads any file within bounds and raises only its documented errors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.engines.registry import Registry
from ggp.engines.service import make_responder
from ggp.engines.session import Session
from ggp.protocol.connection import PeerRole
from ggp.protocol.records import read_records
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.engine import Engine
from ggp.referee.tools.archive.game_files import CannotImport, ImportedGame, script_games, sgf_games
from ggp.referee.tools.archive.import_ import ImportRules, to_record
from tests.support.memory_match import BUDGETS, MemoryPeer

WORDS = [
    *"();[]\\\né",
    "B",
    "W",
    "AB",
    "AW",
    "XB",
    "SZ",
    "KM",
    "HA",
    "RE",
    "XG",
    "XO",
    "CA",
    "aa",
    "tt",
    "9",
    "6.5",
    "go",
    "yugo",
]
SGF = "(;FF[4]CA[UTF-8]GM[1]SZ[9]KM[6.5]HA[2]AB[gc][cg]RE[W+R];W[ee]WL[10](;B[cc];W[];B[tt])(;B[aa]))"
SCRIPT = "boardsize 9\nclear_board\nkomi 6.5\nplay b e5\n=1 ok\n2 genmove w\n=2 C3\nundo\n"
SCRIPT += "ggp-new yugo size=4\nggp-play b A1\n"
text = st.lists(st.sampled_from(WORDS), max_size=30).map("".join)
rules = st.builds(ImportRules, st.booleans(), st.booleans())


def take(data: bytes, how: ImportRules) -> int:
    """How many games became records, each of which is read back."""
    taken = 0
    for read in (sgf_games(data), script_games(data)):
        try:
            for found in read:
                if isinstance(found, ImportedGame):
                    taken += _record(found, how)
        except CannotImport as problem:
            assert str(problem)
    return taken


def _record(found: ImportedGame, how: ImportRules) -> int:
    try:
        record = run_blocking(to_record(found, "m", ENGINE, how)).record
    except CannotImport as problem:
        assert str(problem).isprintable()
        return 0
    (back,) = read_records(record.lines().splitlines(keepends=True))
    assert back == record
    return 1


ENGINE = Engine(MemoryPeer(make_responder(Session(Registry())), PeerRole.ENGINE), "memory", BUDGETS)
run_blocking(ENGINE.start())


def test_control_characters_are_escaped_in_messages() -> None:
    for data in (b"(;SZ[9]AW[\x1b2J])", b"(;SZ[\x1b[2J])", b"play b e5\nplay \x1b[2J c3\n", b"(;SZ[9]\x1b)"):
        with pytest.raises(CannotImport) as problem:
            for found in script_games(data) if data.startswith(b"play") else sgf_games(data):
                if isinstance(found, CannotImport):
                    raise found
                run_blocking(to_record(found, "m", ENGINE, ImportRules()))
        assert str(problem.value).isprintable()


def test_good_files_are_taken() -> None:
    assert take(SGF.encode(), ImportRules()) == 1
    assert take(SCRIPT.encode(), ImportRules()) == 2


@settings(deadline=None, max_examples=60)
@given(
    st.one_of(text.map(str.encode), text.map(lambda part: f"(;{part}[aa];B[cc])".encode()), st.binary(max_size=60)),
    rules,
)
def test_anything_is_read_or_refused(data: bytes, how: ImportRules) -> None:
    take(data, how)
